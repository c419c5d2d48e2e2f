"""Which questions are fitted to, which choose, and which measure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from triplecheck.evals.questions import Question, part_of
from triplecheck.kg import UserError

VALIDATION = 0.4
"""Share of the questions fitted to that choose among candidates."""


@dataclass(frozen=True)
class Split:
    """Questions by what they are for.

    Attributes:
        train: demonstrations and feedback come from them.
        validation: candidates are compared on them.
        held_out: seen by nobody before the end, for the table of before and after.
    """

    train: tuple[Question, ...]
    validation: tuple[Question, ...]
    held_out: tuple[Question, ...]


def split(questions: Sequence[Question], held_out: Sequence[Question] | None = None) -> Split:
    """Split questions by a hash of their ids, so that a larger sample has the same parts.

    Args:
        questions: those whose answers are published are taken.
        held_out: measured on; None: half of the questions, as `evals.questions.part_of` has it.

    Raises:
        UserError: a part is empty, or a held-out question is among the others.
    """
    usable = [question for question in questions if question.answers_known]
    if held_out is None:
        held_out = [question for question in usable if part_of(question.id) == "dev"]
        usable = [question for question in usable if part_of(question.id) == "train"]
    both = {question.question for question in usable} & {question.question for question in held_out}
    if both:
        raise UserError(f"{len(both)} held-out questions are among those to compile with, such as {min(both)!r}")
    found = Split(
        tuple(question for question in usable if not _chooses(question.id)),
        tuple(question for question in usable if _chooses(question.id)),
        tuple(held_out),
    )
    for name, part in (("train", found.train), ("validation", found.validation), ("held-out", found.held_out)):
        if not part:
            raise UserError(f"{len(questions)} questions are too few: the {name} part is empty; give more")
    return found


def _chooses(id: str) -> bool:
    lot = hashlib.sha256(f"validation\0{id}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(lot[:4], "big") < VALIDATION * 2**32
