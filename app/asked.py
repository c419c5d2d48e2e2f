"""The questions that a command asks: of a file, of a published data set, or the bundled ones."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from triplecheck.app.config import Settings
    from triplecheck.evals.questions import Question


class Half(StrEnum):
    """Which half of the questions."""

    TRAIN = "train"
    DEV = "dev"


DataOption = Annotated[
    str | None,
    typer.Option("--data", metavar="NAME", help="In place of --questions: a data set of `triplecheck data list`."),
]
SplitOption = Annotated[
    str | None, typer.Option("--split", metavar="SPLIT", help="Default: the one that results are usually given for.")
]
PathOption = Annotated[
    Path | None,
    typer.Option(
        "--path",
        metavar="PATH",
        help="An official file, a folder with the official files, or a copy of the hub's data set. Default: the hub.",
    ),
]
LimitOption = Annotated[
    int | None, typer.Option("--limit", metavar="N", min=1, help="A random sample of so many questions.")
]
SeedOption = Annotated[int, typer.Option("--seed", metavar="S", help="Which sample, and of whatever else is drawn.")]
HalfOption = Annotated[
    Half | None,
    typer.Option(
        "--half",
        help="One half of the questions, by a hash of their ids, before any are sampled: what learns from `train` is "
        "measured on `dev`, which is the half that reports ask.",
    ),
]


def asked_questions(
    settings: Settings,
    questions: Path | None,
    bundled: tuple[str, ...],
    *,
    data: str | None = None,
    split: str | None = None,
    path: Path | None = None,
    half: Half | None = None,
    limit: int | None = None,
    seed: int = 0,
) -> tuple[list[Question], str]:
    """The questions, and what to call them in the name of a run.

    Args:
        settings: say which knowledge base they are asked of.
        questions: a file of questions.
        bundled: the splits of the bundled questions to take where nothing is named.
        data: a published data set, in place of a file.
        split: which part of `data`.
        path: where `data` lies.
        half: one half of them alone.
        limit: a random sample of so many.
        seed: which sample.

    Raises:
        UserError: the arguments exclude each other, or there are no questions.
    """
    from triplecheck.evals.questions import check_limit, part_of, sampled
    from triplecheck.kg import UserError

    check_limit(limit)
    if data is None and (split is not None or path is not None):
        raise UserError("--split and --path say which part of a data set to take; name it with --data")
    if data is not None and questions is not None:
        raise UserError("--questions and --data exclude each other; keep one")
    if data is not None:
        from triplecheck.evals.datasets import load_dataset

        found, source = load_dataset(data, split, path=path), "-".join(filter(None, (data, split)))
    elif questions is not None:
        from triplecheck.evals import read_questions

        found, source = read_questions(questions), questions.name.split(".")[0]
    else:
        found, source = _bundled(settings, bundled)
    if half is not None:
        found, source = [question for question in found if part_of(question.id) == half], f"{source}-{half}"
        if not found:
            raise UserError(f"no question is in the half {half}: give more of them, or leave --half out")
    return found if limit is None else sampled(found, limit, seed), source


def _bundled(settings: Settings, splits: tuple[str, ...]) -> tuple[list[Question], str]:
    from triplecheck.evals import bundled_questions, read_questions
    from triplecheck.kg import UserError
    from triplecheck.kg.knowledge_base import BUNDLED

    if settings.kb is not None and str(settings.kb) != BUNDLED:
        raise UserError(f"--questions is missing: there are none of {settings.kb} among the bundled ones")
    return [question for name in splits for question in read_questions(bundled_questions(name))], BUNDLED
