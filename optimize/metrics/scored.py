"""What a metric says: a score, and in words what was right and wrong, for an optimizer that reads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from triplecheck.optimize.metrics.case import Case

_SHOWN = 5


@dataclass(frozen=True)
class Scored:
    """A score from 0 to 1, and why."""

    score: float
    feedback: str = ""


@dataclass(frozen=True)
class StepCall:
    """One call of one step: what went into the prompt and what was read from the reply."""

    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]


StepMetric: TypeAlias = "Callable[[StepCall, Case], Scored | None]"
"""None: what is known of the question does not tell whether this call was right."""


def overlap(given: Collection[Any], wanted: Collection[Any], beta: float = 1.0) -> float:
    """F-beta of a set against the right one; above 1, what is missing weighs more than what is too much."""
    if not given and not wanted:
        return 1.0
    right = len(set(given) & set(wanted))
    weight = beta * beta
    return (1 + weight) * right / (weight * len(set(wanted)) + len(set(given)))


def listed(what: str, items: Sequence[str]) -> str:
    """`what: a; b; c (and 4 more).`, or nothing where there are none."""
    if not items:
        return ""
    more = f" (and {len(items) - _SHOWN} more)" if len(items) > _SHOWN else ""
    return f"{what}: {'; '.join(items[:_SHOWN])}{more}. "
