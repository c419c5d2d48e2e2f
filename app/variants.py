"""`triplecheck data vary`: harder versions of a set of questions, or of the graph that they are about."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from triplecheck.app.console import printable, stderr, stdout
from triplecheck.app.kb import KbArgument, open_base
from triplecheck.app.progress import reporting, waiting


def vary(
    kb: KbArgument,
    questions: Annotated[Path, typer.Argument(metavar="QUESTIONS", help="JSON lines, as for `triplecheck eval`.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File to write, .jsonl or .jsonl.gz.")],
    variant: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="typo1, typo2, alias, partial, word-order, deleted, homonym, injection, contradiction, foreign or "
            "open-world.",
        ),
    ],
    seed: Annotated[int, typer.Option(metavar="S", help="The same seed does the same.")] = 0,
    kbs: Annotated[Path, typer.Option(metavar="DIR", help="Where a changed knowledge base is built.")] = Path(
        "kbs/variants"
    ),
) -> None:
    """Make questions harder: misspelt names, aliases, homonyms, missing edges, instructions among the facts ...

    Each question says under `variant` what was done to it, and keeps its id. Where the graph is changed,
    another knowledge base is built and named.

    Examples:

        triplecheck data vary kbs/films films.jsonl misspelt.jsonl --variant typo1

        triplecheck data vary kbs/films films.jsonl unanswerable.jsonl --variant deleted
    """
    with waiting(stderr(), "loading"):
        from triplecheck.evals import read_questions, write_questions
        from triplecheck.evals.variants import make_variant
    base = open_base(kb)
    asked = read_questions(questions)
    with reporting(stderr(), f"making {variant}"):
        changed, about = make_variant(variant, asked, base, kbs, seed)
        count = write_questions(changed, out)
    stdout().print(f"{count:,} of {len(asked):,} questions: {printable(str(out))}", soft_wrap=True)
    if about.path != base.path:
        stdout().print(f"about the knowledge base {printable(str(about.path))}", soft_wrap=True)
