"""Choosing by accuracy and cost: the candidates that no other beats at both, and one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from triplecheck.kg import UserError
from triplecheck.optimize.candidates import Candidate

Objective = Literal["accuracy", "cost", "balanced"]
WITHIN = 0.02
"""How much accuracy the objective `cost` gives away."""


def check_objective(name: str) -> Objective:
    """The objective of this name.

    Raises:
        UserError: there is none.
    """
    for objective in get_args(Objective):
        if name == objective:
            return objective  # type: ignore[no-any-return]
    raise UserError(f"no objective {name!r}; there are: {', '.join(get_args(Objective))}")


def pareto_front(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those that no other candidate beats: none is as accurate for less, or more accurate for as little.

    Cost is calls, and among equals the size of what the prompts carry. The most accurate comes first; of equal
    ones the first given stays.
    """
    front: list[Candidate] = []
    for one in sorted(candidates, key=lambda one: (-one.score, *_cost(one))):
        if not front or _cost(one) < _cost(front[-1]):
            front.append(one)
    return front


def choose(candidates: Sequence[Candidate], objective: Objective) -> Candidate:
    """One of the Pareto front.

    `accuracy`: the most accurate. `cost`: the cheapest that is at most 0.02 less accurate than that. `balanced`:
    the one nearest to the most accurate at the cost of the cheapest, both scaled to the range of the front.

    Raises:
        UserError: there are no candidates.
    """
    front = pareto_front(candidates)
    if not front:
        raise UserError("no candidate was scored on the whole validation set: give the optimizer a larger budget")
    if objective == "accuracy":
        return front[0]
    if objective == "cost":
        return [one for one in front if one.score >= front[0].score - WITHIN][-1]
    best, least = front[0], front[-1]
    accuracy, cost = best.score - least.score or 1.0, _spend(best, least) or 1.0

    def distance(one: Candidate) -> float:
        return ((best.score - one.score) / accuracy) ** 2 + (_spend(one, least) / cost) ** 2

    return min(front, key=distance)


def _cost(one: Candidate) -> tuple[float, int]:
    return one.calls, one.size


def _spend(one: Candidate, least: Candidate) -> float:
    """How much more one takes than the cheapest: in calls, or in size where the calls are the same."""
    return one.calls - least.calls or (one.size - least.size) / max(1, least.size)
