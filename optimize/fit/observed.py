"""What is known of each question once a program has been asked: whether it answered, was right, and was sure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from triplecheck.optimize.candidates import Candidate
from triplecheck.optimize.fit.promise import Sample, sample_of


@dataclass(frozen=True)
class Observed:
    """One question.

    Attributes:
        id: of the question.
        answered: whether there was an answer.
        right: whether it was right; an abstention is, where there is no answer to find (CRAG).
        confidence: of the answer; None where there is none, or none is known.
        calls: to models.
        failed: whether it ended in an error; it is neither answered nor right.
    """

    id: str
    answered: bool
    right: bool
    confidence: float | None
    calls: int
    failed: bool = False


def observe(rows: Iterable[Mapping[str, Any]]) -> tuple[Observed, ...]:
    """Rows of an evaluation (`evals.rows`)."""
    return tuple(
        Observed(
            id=row["id"],
            answered=bool(row["answer"]) and not row["abstained"],
            right=row["crag"] == "accurate",
            confidence=row["confidence"],
            calls=row["usage"]["calls"],
            failed=row["status"] == "error",
        )
        for row in rows
    )


def sample(observed: Sequence[Observed]) -> Sample:
    """The answers among them by confidence."""
    answers = [one for one in observed if one.answered]
    return sample_of([one.confidence for one in answers], [not one.right for one in answers], len(observed))


def candidate(key: str, observed: Sequence[Observed]) -> Candidate:
    """Accuracy and calls, to be compared with others (`optimize.pareto`)."""
    count = max(1, len(observed))
    accuracy, calls = sum(one.right for one in observed) / count, sum(one.calls for one in observed) / count
    return Candidate(key, len(observed), accuracy, calls, size=0)
