"""What is compiled so far: a program, its models, what is asked before them, and when the answer of that stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from triplecheck.lms import Roles
from triplecheck.lms.resolve import language_model
from triplecheck.optimize.paired import Measured
from triplecheck.optimize.state import steps_of
from triplecheck.programs import Cascade, Outcome, Program
from triplecheck.programs.cascade import stands, surest


@dataclass(frozen=True)
class State:
    """A program and its models.

    Attributes:
        program: with the prompts, the ranker and the threshold that were chosen.
        first: models that are asked before them (`programs.cascade`); None: none are.
        sure: the confidence from which their answer stands; None: it does if it is proved.
    """

    program: Program
    roles: Roles
    first: Roles | None = None
    sure: float | None = None

    @property
    def whole(self) -> Program:
        """The program, or the cascade that ends with it."""
        return self._whole(self.program)

    def with_own_models(self) -> Program:
        """A copy that has the models of its roles, where they differ from the default, on its steps."""
        program: Program = self.program.deepcopy()
        for step in steps_of(program).values():
            if step.role in self.roles.by_role and step.lm is None:
                step.lm = language_model(self.roles.by_role[step.role])
        return self._whole(program)

    def _whole(self, program: Program) -> Program:
        if self.first is None:
            return program
        # What is asked first has the same prompts, and not the models that are set on steps.
        last = _copy(program)
        first = last
        if any(step.lm is not None for step in steps_of(last).values()):
            first = _copy(program)
            for step in steps_of(first).values():
                step.lm = None
        cascade = Cascade([(first, self.first), last], sure=self.sure)
        cascade.abstain_below = program.abstain_below
        return cascade


def _copy(program: Program) -> Program:
    """A copy without a threshold: that of the cascade holds for the answer that stands."""
    other: Program = program.deepcopy()
    other.abstain_below = None
    return other


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


def _outcome(row: Mapping[str, Any]) -> Outcome:
    """What a cascade looks at in an answer."""
    why = row["reason"] if row["abstained"] else None
    return Outcome(row["answer"], abstained=why, verdict=row["verdict"], confidence=row["confidence"])
