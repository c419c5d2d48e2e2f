"""A language model judges answers that are wrong by exact match, as in CRAG (arXiv 2406.04744, section 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dspy

from triplecheck.evals.configuration import digest
from triplecheck.kg import UserError
from triplecheck.lms import ModelReplyError, RolePredict, Roles, Usage, session
from triplecheck.lms.resolve import is_no_language_model
from triplecheck.signatures import JudgeAnswer

ROLE = "judge"


@dataclass(frozen=True)
class JudgeVerdict:
    """The verdict of a judge.

    Attributes:
        correct: whether the answer is correct; None if two replies of the judge could not be parsed.
        usage: usage of the judge; not part of the program's usage.
    """

    correct: bool | None
    model: str
    usage: Usage

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as it is stored in a row."""
        return {"correct": self.correct, "model": self.model, "usage": self.usage.to_json()}


class Judge:
    """Asks the model of the role `judge` whether an answer means the same as a gold answer."""

    def __init__(self) -> None:
        self._step = RolePredict(JudgeAnswer, role=ROLE)

    @property
    def prompts(self) -> str:
        """A hash of the judge's prompt, for the configuration: verdicts depend on it."""
        return digest(self._step.dump_state())

    def __call__(self, question: str, answer: str, right: Sequence[str]) -> JudgeVerdict:
        """Judge one answer with the models of the current session.

        Args:
            right: texts of the gold answers.

        Raises:
            ModelUnavailableError: the judge model is not available.
            BudgetExceededError: the session's budget is used up.
        """
        roles: Roles = dspy.settings.get("lm_roles") or Roles()
        with session() as ledger:
            try:
                correct = self._step(question=question, right=list(right), reply=answer).correct
            except ModelReplyError:
                correct = None
            return JudgeVerdict(correct, roles.model(ROLE), ledger.usage())


def checked_judge(roles: Roles) -> Judge:
    """Return a judge if the roles have a language model for it.

    Raises:
        UserError: the role's model is the extractive engine, a rule-based baseline that compares words and so
            cannot judge an answer that exact match rejects.
    """
    if is_no_language_model(roles.model(ROLE)):
        raise UserError(
            f"the role {ROLE} needs a language model: the extractive engine is a rule-based baseline and cannot tell "
            f"whether two answers mean the same; name one ({ROLE}=openai/gpt-4o-mini, on the command line with "
            "--role), or run without a judge"
        )
    return Judge()
