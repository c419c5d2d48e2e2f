"""`triplecheck kb build-debian` and `kb build-stark`: knowledge bases from sources that have a form of their own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from triplecheck.app.console import stderr, stdout
from triplecheck.app.kb import table
from triplecheck.app.progress import reporting, waiting

if TYPE_CHECKING:
    from triplecheck.kg.readers.control import Stanza

OutArgument = Annotated[
    Path, typer.Argument(metavar="OUT", help="Directory to write. A knowledge base there is replaced.")
]


def build_debian(
    out: OutArgument,
    packages: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A `Packages` file of a Debian mirror, or what `apt-cache dumpavail` printed; .xz .gz .bz2 looked "
            "through. Default: what apt knows on this machine.",
        ),
    ] = None,
    translation: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A `Translation-en` file of the same release, which holds the long descriptions. Default: apt's own.",
        ),
    ] = None,
) -> None:
    """Build a knowledge base of Debian's packages: descriptions, dependencies, maintainers, sections, tags.

    Both files lie on any mirror: dists/stable/main/binary-amd64/Packages.xz and
    dists/stable/main/i18n/Translation-en.xz. Without long descriptions documents are one line each.

    Examples:

        triplecheck kb build-debian kbs/debian

        triplecheck kb build-debian kbs/debian --packages Packages.xz --translation Translation-en.xz
    """
    with waiting(stderr(), "loading"):
        from triplecheck.kg import build
        from triplecheck.kg.readers import apt
        from triplecheck.kg.readers.control import read_stanzas
        from triplecheck.kg.readers.debian import read_debian
    with reporting(stderr(), "reading") as tell:
        known: list[Stanza] = []
        if translation is not None:
            known = list(read_stanzas(translation))
        elif packages is None:
            known = list(apt.translations())
        raw, documents = read_debian(apt.available_packages() if packages is None else read_stanzas(packages), known)
        sources = [str(path or default) for path, default in ((packages, "apt-cache dumpavail"), (translation, "apt"))]
        kb = build(raw, out, documents=documents, sources=sources, progress=tell)
    stdout().print(table(kb))
    if not known:
        stderr().print("no long descriptions: apt has none here; name a Translation-en file with --translation")


def build_stark(
    folder: Annotated[
        Path,
        typer.Argument(metavar="FOLDER", help="Folder `processed` of a knowledge base of STaRK, or the one above."),
    ],
    out: OutArgument,
    candidates: Annotated[
        list[str] | None,
        typer.Option("--candidates", metavar="TYPE", help="Node type that can be an answer. Repeatable; default: all."),
    ] = None,
) -> None:
    """Build a knowledge base from one of STaRK, as its package stark-qa keeps it on disk.

    Examples:

        triplecheck kb build-stark data/prime/processed kbs/prime

        triplecheck kb build-stark data/mag kbs/mag --candidates paper
    """
    with waiting(stderr(), "loading"):
        from triplecheck.kg import build
        from triplecheck.kg.readers.stark import read_stark
    with reporting(stderr(), "reading") as tell:
        raw, documents = read_stark(folder, candidates or ())
        kb = build(raw, out, documents=documents, sources=[str(folder)], progress=tell)
    stdout().print(table(kb))
