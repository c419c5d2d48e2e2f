"""`triplecheck data generate` and `data answer`: questions to rank nodes for, with every right answer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from triplecheck.app.console import stderr, stdout
from triplecheck.app.kb import KbArgument, open_base
from triplecheck.app.progress import reporting, waiting

OutArgument = Annotated[Path, typer.Argument(metavar="OUT", help="File to write, .jsonl or .jsonl.gz.")]


def generate(
    kb: KbArgument,
    out: OutArgument,
    n: Annotated[int, typer.Option("--n", metavar="N", min=1, help="How many questions.")] = 500,
    seed: Annotated[int, typer.Option(metavar="N", help="Which ones: the same seed gives the same questions.")] = 0,
    most_answers: Annotated[
        int, typer.Option("--most-answers", metavar="N", min=1, help="Answers that a question has at most.")
    ] = 20,
    shape: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SHAPE",
            help="one, two (edges of the answer), path (two edges in a row), each also with +words (of its text). "
            "Repeatable: they take turns. Default: a mixture.",
        ),
    ] = None,
) -> None:
    """Make questions from a knowledge base: sampled edges and words of documents, phrased by templates.

    Every node that satisfies a question is among its answers: they are found by the exact solver.

    Examples:

        triplecheck data generate kbs/debian debian.jsonl --n 500 --seed 0

        triplecheck data generate kbs/films two_topics.jsonl --n 200 --shape two
    """
    with waiting(stderr(), "loading"):
        from triplecheck.evals.questions import write_questions
        from triplecheck.evals.retrieval import generate as make
        from triplecheck.evals.retrieval.generate import SHAPES
    with reporting(stderr(), "making questions"):
        written = write_questions(make(open_base(kb), n, seed, most_answers, shape or SHAPES), out)
    stdout().print(f"{written} questions in {out}")


def answer(
    kb: KbArgument,
    out: OutArgument,
    questions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Questions with conditions. Default: those about Debian's packages that come along."
        ),
    ] = None,
) -> None:
    """Compute the answers of questions written by hand, on the release of the data that is at hand.

    Examples:

        triplecheck data answer kbs/debian debian_by_hand.jsonl
    """
    with waiting(stderr(), "loading"):
        from triplecheck.evals.questions import write_questions
        from triplecheck.evals.retrieval import materialise, read_written
        from triplecheck.evals.retrieval.conditions import bundled_path
    with reporting(stderr(), "computing answers"):
        found, without = materialise(open_base(kb), read_written(questions or bundled_path()))
        written = write_questions(found, out)
    stdout().print(f"{written} questions in {out}")
    for id, reason in without.items():
        stderr().print(f"left out {id}: {reason}", soft_wrap=True)
