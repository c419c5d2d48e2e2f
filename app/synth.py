"""`triplecheck synth`: questions with answers and gold paths, made from any knowledge base."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from triplecheck.app import options
from triplecheck.app.console import printable, stderr, stdout
from triplecheck.app.kb import KbArgument, open_base
from triplecheck.app.progress import reporting, waiting


def synth(
    kb: KbArgument,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File to write, .jsonl or .jsonl.gz.")],
    n: Annotated[int, typer.Option("--n", metavar="N", min=1, help="How many questions.")] = 1000,
    seed: Annotated[int, typer.Option(metavar="S", help="The same seed makes the same questions.")] = 0,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="one, two, three (relations in a row), conjunction, count, comparison, superlative or unanswerable. "
            "Repeatable; default: all, in turn.",
        ),
    ] = None,
    most_answers: Annotated[
        int, typer.Option("--most-answers", metavar="N", min=1, help="Answers that a question has at most.")
    ] = 10,
    phrasings: Annotated[int, typer.Option(metavar="N", min=1, help="Wordings of each question.")] = 1,
    typos: Annotated[
        float, typer.Option(metavar="X", min=0, max=1, help="Share of the questions with a misspelt name.")
    ] = 0.0,
    avoid: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="Make none with the topics and answers of a question in this file. Repeatable."
        ),
    ] = None,
    lm: options.LmOption = None,
    role: options.RoleOption = None,
    workers: Annotated[int, typer.Option(metavar="N", min=1, help="Questions worded at once, with --lm.")] = 1,
) -> None:
    """Make questions from a knowledge base: drawn paths, phrased by templates or by a model, with all answers.

    Answers are found by walking the graph and again by the exact solver. With --lm (or --role query=MODEL)
    that model words the questions; what changes a name is not taken. `extractive` has no words of its own:
    templates are used then.

    Examples:

        triplecheck synth kbs/films films.jsonl --n 1000 --seed 0

        triplecheck synth kbs/films films.jsonl --n 1000 --phrasings 3 --lm openai/gpt-4o-mini --workers 8
    """
    from triplecheck.app import config

    roles = None
    with waiting(stderr(), "loading"):
        from triplecheck.evals import read_questions
        from triplecheck.evals.questions import write_questions
        from triplecheck.lms import Roles
        from triplecheck.optimize.synth import KINDS, synthesise

        by_role = config.parse_pairs(role or (), "--role")
        if lm is not None or by_role:
            roles = Roles(by_role=by_role) if lm is None else Roles(lm, by_role)
    with reporting(stderr(), "drawing questions") as tell:
        made = synthesise(
            open_base(kb),
            n,
            seed=seed,
            kinds=kind or KINDS,
            most_answers=most_answers,
            phrasings=phrasings,
            typos=typos,
            avoid=[question for file in avoid or () for question in read_questions(file)],
            roles=roles,
            workers=workers,
            progress=tell,
        )
    written = write_questions(made.questions, out)
    counts = Counter(question.kind for question in made.questions)
    stdout().print(f"{written} questions in {printable(str(out))}", soft_wrap=True)
    stdout().print(", ".join(f"{kind} {count}" for kind, count in counts.items()), soft_wrap=True)
    if roles is not None:
        stdout().print(f"worded by {printable(roles.model('query'))}: {made.paraphrased}", soft_wrap=True)
    if made.exhausted:
        stderr().print(f"the graph gave no more of: {', '.join(made.exhausted)}", soft_wrap=True)
