"""Debian's package index as a semi-structured knowledge base: packages with descriptions and relations.

Nodes: packages (id: the name), virtual packages, source packages, maintainers, sections and debtags. Relations: the
dependency fields of deb-control(5), maintainer, section, source, and one relation per facet of debtags
(implemented-in, interface, role, works-with ...). An alternative (`a | b`) gives an edge to each; versions and
architectures in dependencies are left out.

The input is a control file, stanzas of `Field: value` separated by blank lines (deb822(5)), or the package lists of
apt on this machine.
"""

from __future__ import annotations

import lzma
import re
import shutil
import subprocess
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from triplecheck.kg.documents import Document
from triplecheck.kg.errors import ReadError, UnavailableError, UserError
from triplecheck.kg.readers.raw import ENTITY_SCHEMA, RELATION_SCHEMA, RawGraph, StringColumns, open_packed
from triplecheck.kg.types import XSD

Stanza = dict[str, str]
"""Values by field name in lower case. Lines of a folded value are joined by newlines, less their first space."""


def read_stanzas(path: Path) -> Iterator[Stanza]:
    """The stanzas of a file, plain or compressed (.gz, .xz, .bz2).

    Raises:
        ReadError: on iteration, if the file cannot be read or a line is not of a control file.
    """
    try:
        with open_packed(path) as source:
            yield from parse_stanzas(source, path)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise ReadError(path, None, getattr(error, "strerror", None) or str(error)) from error


def parse_stanzas(lines: Iterable[bytes], path: Path | str) -> Iterator[Stanza]:
    """The stanzas of lines; `path` is named in errors.

    Raises:
        ReadError: on iteration, at a line that is neither a field nor a continuation line.
    """
    stanza: Stanza = {}
    name = ""
    for number, line in enumerate(lines, 1):
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        if not text.strip():
            if stanza:
                yield stanza
            stanza, name = {}, ""
        elif text[0] in " \t":
            if not name:
                raise ReadError(path, number, "a continuation line without a field before it")
            stanza[name] += "\n" + text[1:]
        else:
            name, colon, value = text.partition(":")
            if not colon or not name or " " in name:
                raise ReadError(path, number, "is not a line of a control file (`Field: value`)")
            name = name.lower()
            stanza[name] = value.strip()
    if stanza:
        yield stanza


# --- apt -----------------------------------------------------------------------------------------
_CAT_FILE = "/usr/lib/apt/apt-helper"  # reads all compressions of apt's lists


def available_packages() -> Iterator[Stanza]:
    """All packages that apt knows (`apt-cache dumpavail`).

    Raises:
        UnavailableError: apt is not installed.
    """
    yield from _stanzas(["apt-cache", "dumpavail"])


def translations() -> Iterator[Stanza]:
    """The English long descriptions that apt has fetched; none if it is configured not to."""
    listed = _run(["apt-get", "indextargets", "--format", "$(FILENAME)", "Created-By: Translations", "Language: en"])
    for path in listed.decode("utf-8", "replace").split("\n"):
        if path:
            yield from _stanzas([_CAT_FILE, "cat-file", path])


def _stanzas(command: list[str]) -> Iterator[Stanza]:
    return parse_stanzas(_run(command).splitlines(), " ".join(command))


def _run(command: list[str]) -> bytes:
    if shutil.which(command[0]) is None:
        raise UnavailableError(
            f"{command[0]} is not installed; download a Packages file from a Debian mirror "
            "(dists/stable/main/binary-amd64/Packages.xz) and pass it with --packages"
        )
    result = subprocess.run(command, capture_output=True, check=False)
    if result.returncode:
        reason = result.stderr.decode("utf-8", "replace").strip()
        raise UnavailableError(f"`{' '.join(command)}` failed with {result.returncode}: {reason}")
    return result.stdout


# --- the graph -----------------------------------------------------------------------------------
PACKAGE, VIRTUAL, MISSING = "Package", "VirtualPackage", "MissingPackage"
SOURCE, MAINTAINER, SECTION, TAG = "SourcePackage", "Maintainer", "Section", "Tag"
_TYPE_LABELS = {
    PACKAGE: "package",
    VIRTUAL: "virtual package",
    MISSING: "package not in the index",
    SOURCE: "source package",
    MAINTAINER: "maintainer",
    SECTION: "section",
    TAG: "tag",
}
_DEPENDENCIES = {
    "depends": ("depends on", ["requires", "needs"]),
    "pre-depends": ("pre-depends on", []),
    "recommends": ("recommends", []),
    "suggests": ("suggests", []),
    "enhances": ("enhances", []),
    "conflicts": ("conflicts with", []),
    "breaks": ("breaks", []),
    "replaces": ("replaces", []),
    "provides": ("provides", []),
}
_RELATIONS: tuple[tuple[str, str, str | None, list[str]], ...] = (
    ("maintainer", "maintained by", MAINTAINER, ["maintainer"]),
    ("section", "in section", SECTION, ["section"]),
    ("source", "built from", SOURCE, ["source package"]),
    ("installed-size", "installed size", None, ["size in kibibytes"]),
    ("version", "version", None, []),
)
# What follows the name in a dependency: ":any", "(>= 1.2)", "[amd64]", "<!nocheck>".
_PACKAGE_NAME = re.compile(r"\s*([a-zA-Z0-9][a-zA-Z0-9+.\-]*)")


@dataclass
class _PackageRows:
    """Edges and entities collected so far."""

    edges: dict[tuple[str, str, str, str | None], None] = field(default_factory=dict)
    entities: dict[str, dict[str, object]] = field(default_factory=dict)
    facets: set[str] = field(default_factory=set)

    def edge(self, head: str, relation: str, tail: str, datatype: str | None = None) -> None:
        self.edges[head, relation, tail, datatype] = None

    def entity(self, id: str, label: str, type: str, description: str = "", aliases: Iterable[str] = ()) -> None:
        self.entities.setdefault(
            id, {"id": id, "label": label, "description": description, "aliases": list(aliases), "types": [type]}
        )


def read_debian(packages: Iterable[Stanza], translations: Iterable[Stanza] = ()) -> tuple[RawGraph, list[Document]]:
    """The graph of a package index and the description of each package.

    Args:
        packages: stanzas of a `Packages` file or of `apt-cache dumpavail`. The first stanza of a name is used.
        translations: stanzas of a `Translation-en` file with the long descriptions.

    Raises:
        UserError: there is no package among the stanzas.
    """
    described = _descriptions(translations)
    rows = _PackageRows()
    documents = []
    for stanza in packages:
        name = stanza.get("package")
        if not name or name in rows.entities:
            continue
        short, long = _description(stanza, described)
        rows.entity(name, name, PACKAGE, short)
        _relate(name, stanza, rows)
        documents.append(Document(name, name, name, f"{short}\n{long}" if long else short))
    if not documents:
        raise UserError("this index has no packages (no stanza has a field `Package`)")
    _name_the_others(rows)
    return _raw_graph(rows), documents


def _descriptions(translations: Iterable[Stanza]) -> dict[str, str]:
    """Full descriptions by their MD5, which packages refer to."""
    return {
        stanza["description-md5"]: text
        for stanza in translations
        if "description-md5" in stanza and (text := stanza.get("description-en"))
    }


def _description(stanza: Stanza, described: dict[str, str]) -> tuple[str, str]:
    """Synopsis and long description, the latter as paragraphs."""
    own = stanza.get("description-en") or stanza.get("description") or ""
    whole = own if "\n" in own else described.get(stanza.get("description-md5", ""), own)
    short, _, rest = whole.partition("\n")
    paragraphs: list[str] = [""]
    for line in rest.splitlines():
        if line.strip() in ("", "."):
            paragraphs.append("")
        elif line.startswith(" ") or line.lstrip().startswith(("* ", "- ")):
            paragraphs[-1] += "\n" + line.strip()
        else:
            paragraphs[-1] += (" " if paragraphs[-1] else "") + line.strip()
    return short.strip(), "\n".join(text.strip() for text in paragraphs if text.strip())


def _relate(name: str, stanza: Stanza, rows: _PackageRows) -> None:
    for relation in _DEPENDENCIES:
        for other in _named(stanza.get(relation, "")):
            if other != name:
                rows.edge(name, relation, other)
    if maintainer := stanza.get("maintainer"):
        label, address = _name_and_address(maintainer)
        id = f"mailto:{address}"
        rows.entity(id, label or address, MAINTAINER)
        rows.edge(name, "maintainer", id)
    if section := stanza.get("section"):
        rows.entity(f"section:{section}", section, SECTION)
        rows.edge(name, "section", f"section:{section}")
    source = stanza.get("source", name).split(" ")[0]
    rows.entity(f"source:{source}", source, SOURCE)
    rows.edge(name, "source", f"source:{source}")
    for tag in _tags(stanza.get("tag", "")):
        facet, _, value = tag.partition("::")
        rows.facets.add(facet)
        rows.entity(tag, value.replace("-", " ").replace(":", ": "), TAG, aliases=[tag])
        rows.edge(name, facet, tag)
    if (size := stanza.get("installed-size", "")).isdecimal():
        rows.edge(name, "installed-size", size, XSD + "integer")
    if version := stanza.get("version"):
        rows.edge(name, "version", version, XSD + "string")


def _name_and_address(maintainer: str) -> tuple[str, str]:
    """The parts of `Name <address>`; the whole text twice if it has another form."""
    inside = maintainer.rstrip().removesuffix(">")
    start = inside.find("<", inside.rfind(">") + 1)
    if start < 0 or inside == maintainer.rstrip():
        return maintainer, maintainer.lower()
    return inside[:start].strip().strip('"'), inside[start + 1 :].lower()


def _named(dependency: str) -> Iterator[str]:
    """The packages that a dependency field names."""
    for clause in dependency.split(","):
        for alternative in clause.split("|"):
            if match := _PACKAGE_NAME.match(alternative):
                yield match[1]


def _tags(text: str) -> Iterator[str]:
    """`a::b`, and `a::{b,c}` for several of one facet."""
    for tag in re.findall(r"[^,\s{]+(?:\{[^{}]*\})?", text):
        facet, _, value = tag.partition("::")
        if not value:
            continue
        for one in value.strip("{}").split(","):
            yield f"{facet}::{one.strip()}"


def _name_the_others(rows: _PackageRows) -> None:
    """Add entities for names in dependencies that no stanza describes."""
    provided = {tail for _, relation, tail, _ in rows.edges if relation == "provides"}
    for _, relation, tail, _ in rows.edges:
        if relation in _DEPENDENCIES and tail not in rows.entities:
            rows.entity(tail, tail, VIRTUAL if tail in provided else MISSING)


def _raw_graph(rows: _PackageRows) -> RawGraph:
    columns = StringColumns(4)
    columns.add(list(rows.edges))
    told = [(id, label, PACKAGE, aliases) for id, (label, aliases) in _DEPENDENCIES.items()]
    told += [(facet, facet.replace("-", " "), TAG, []) for facet in sorted(rows.facets)]
    relations = [
        {"id": id, "label": label, "domain": PACKAGE, "range": range, "aliases": aliases}
        | ({"description": f"facet {id} of debtags"} if id in rows.facets else {})
        for id, label, range, aliases in (*_RELATIONS, *told)
    ]
    return replace(
        RawGraph(*columns.arrays()),
        entities=pa.Table.from_pylist(list(rows.entities.values()), ENTITY_SCHEMA),
        relation_rows=pa.Table.from_pylist(relations, RELATION_SCHEMA),
        type_labels=_TYPE_LABELS,
    )
