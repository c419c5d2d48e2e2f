"""A model as judge of answers that no exact comparison finds right, as in CRAG (arXiv 2406.04744, section 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dspy

from triplecheck.evals.configuration import digest
from triplecheck.kg import UserError
from triplecheck.lms import ModelReplyError, RolePredict, Roles, Usage, session
from triplecheck.lms.resolve import EXTRACTIVE
from triplecheck.signatures import JudgeAnswer

ROLE = "judge"


@dataclass(frozen=True)
class Verdict:
    """What a judge said.

    Attributes:
        correct: whether the answer is right; None where two replies of the judge could not be read.
        model: who judged.
        usage: what that took; it is no part of the program's usage.
    """

    correct: bool | None
    model: str
    usage: Usage

    def to_json(self) -> dict[str, Any]:
        """The form in rows."""
        return {"correct": self.correct, "model": self.model, "usage": self.usage.to_json()}


class Judge:
    """Asks the model of the role `judge` whether an answer means one of the right ones."""

    def __init__(self) -> None:
        self._step = RolePredict(JudgeAnswer, role=ROLE)

    @property
    def prompts(self) -> str:
        """A hash of what it asks: verdicts depend on it."""
        return digest(self._step.dump_state())

    def __call__(self, question: str, answer: str, right: Sequence[str]) -> Verdict:
        """Judge one answer, with the models of the session around.

        Args:
            question: what was asked.
            answer: what was answered.
            right: texts of the right answers.

        Raises:
            ModelUnavailableError: the judge is out of reach.
            BudgetExceededError: the session's budget is used up.
        """
        roles: Roles = dspy.settings.get("lm_roles") or Roles()
        with session() as ledger:
            try:
                correct = self._step(question=question, right=list(right), reply=answer).correct
            except ModelReplyError:
                correct = None
            return Verdict(correct, roles.model(ROLE), ledger.usage())


def checked_judge(roles: Roles) -> Judge:
    """A judge, where one of these models can be one.

    Raises:
        UserError: the role's model is the extractive engine, which compares words: where the exact
            comparison has failed, it knows nothing that could decide.
    """
    if roles.model(ROLE).strip() == EXTRACTIVE:
        raise UserError(
            f"the role {ROLE} needs a language model: the extractive engine is none and cannot tell whether two "
            f"answers mean the same; name one ({ROLE}=openai/gpt-4o-mini, on the command line with --role), or do "
            "without a judge"
        )
    return Judge()
