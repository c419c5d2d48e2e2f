"""Right, wrong or missing: the outcomes of CRAG (Yang et al. 2024, arXiv 2406.04744, section 4.1).

An answer that is not right is worse than none: the truthfulness of a system is the mean of +1 for each
accurate reply, 0 for each missing and -1 for each hallucinated one. As in CRAG, an exact comparison
decides first; a model may then judge what it did not find right (`evals.judge`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

from triplecheck.evals.metrics.answers import GoldAnswer, Predicted, hits_at_1

Outcome = Literal["accurate", "hallucinated", "missing"]


def crag_outcome(predicted: Sequence[Predicted], gold: Sequence[GoldAnswer]) -> Outcome:
    """What CRAG calls a reply: accurate, hallucinated or missing.

    Accurate where the first answer is right; missing where there is none; hallucinated otherwise. A
    question without gold answers is unanswerable: no answer is accurate, any answer is hallucinated.
    """
    if not gold:
        return "hallucinated" if predicted else "accurate"
    if not predicted:
        return "missing"
    return "accurate" if hits_at_1(predicted, gold) else "hallucinated"


def truthfulness(outcomes: Collection[Outcome]) -> float | None:
    """Accuracy - hallucination: +1 for each accurate reply, -1 for each hallucinated one, 0 for missing; the mean."""
    worth = {"accurate": 1, "hallucinated": -1, "missing": 0}
    return sum(worth[outcome] for outcome in outcomes) / len(outcomes) if outcomes else None
