"""Features of an answer that a query computed, for its confidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from triplecheck.language.coverage import LeftOut

if TYPE_CHECKING:
    from triplecheck.kg.plans import Answers, Plan

QUERY = "query"
"""The feature that answers of a query have, and no others."""


def query_features(
    plan: Plan, answers: Answers, said: LeftOut, hints: Sequence[object], tries: int
) -> Mapping[str, float]:
    """Features of a query and of its result, by name.

    - `query`: 1;
    - `weakest`: likeness of the word of the question that its names say least;
    - `maybe`: words that its relations may mean, but do not name;
    - `hints`: whether something in it matches nothing; `again`: whether it was written again after a problem;
    - `joins`: relations besides the first; `operations`: what it does besides matching triples;
    - `ties`: whether other rows equal the given ones in what they are sorted by.

    Args:
        said: what it leaves out of the question.
        hints: why it may find nothing.
        tries: how many queries were written before it.
    """
    return {
        QUERY: 1.0,
        "weakest": said.weakest,
        "maybe": float(len(said.maybe)),
        "hints": float(bool(hints)),
        "again": float(bool(tries)),
        "joins": float(max(0, len(plan.relations) - 1)),
        "operations": float(len({one.name for one in plan.operations} - {"distinct", "limit"})),
        "ties": float(bool(answers.ties)),
    }
