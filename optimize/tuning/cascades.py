"""When the answer of a cheap model stands: told from the answers of both models to the same questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import mean
from typing import Any

from triplecheck.optimize.paired import Measured
from triplecheck.programs import Outcome
from triplecheck.programs.cascade import stands, surest
from triplecheck.programs.steps import Asked

SURE: tuple[float | None, ...] = (None, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Confidences to try as `Cascade.sure`; None: a proof."""


@dataclass(frozen=True)
class Rule:
    """When the first answer stands, and what that gives.

    Attributes:
        right: questions that are answered rightly.
        asked: questions that the second model is asked.
    """

    sure: float | None
    right: int
    asked: int
    questions: int

    def __str__(self) -> str:
        when = "not proved" if self.sure is None else f"less sure than {self.sure:.1f}"
        return f"the model where it is {when}, {self.asked} of {self.questions} validation questions"


def best_rule(first: Measured, second: Measured) -> Rule:
    """The rule with most right answers; of those the one that asks the second, dear model least, of these a proof.

    Both models were asked the same questions.
    """
    both = [id for id in first.scored if id in set(second.scored)]
    rules = []
    for sure in SURE:
        right = asked = 0
        for id in both:
            rows = [first.rows[id], second.rows[id]]
            found = [_outcome(row) for row in rows]
            done = stands(found[0], sure)
            given = 0 if done else surest(found, sure)
            right += rows[given]["crag"] == "accurate"
            asked += not done
        rules.append(Rule(sure, right, asked, len(both)))
    return max(rules, key=lambda rule: (rule.right, -rule.asked))


def asked_share(measured: Measured, number: int) -> float:
    """Of the questions to a cascade, the share that its member of this number was asked."""
    return mean(
        any(step["kind"] == Asked.kind and step["number"] == number for step in row["steps"])
        for row in measured.rows.values()
    )


def _outcome(row: Mapping[str, Any]) -> Outcome:
    """What a cascade looks at in an answer."""
    why = row["reason"] if row["abstained"] else None
    return Outcome(row["answer"], abstained=why, verdict=row["verdict"], confidence=row["confidence"])
