"""The process that asks: opens the program once, then gives a row for each question."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import dspy

from triplecheck.evals.asking import Asker, Finished, OutOfBudget
from triplecheck.evals.executors.blueprint import Blueprint
from triplecheck.evals.executors.ray_account import SharedLedger
from triplecheck.evals.questions import Question
from triplecheck.kg import TriplecheckError
from triplecheck.lms import Budget, Ledger, Usage, session


class Worker:
    """The actor. `ask` is called from several threads at once.

    Args:
        blueprint: what to open.
        account: handle of the account, where there is a budget.
        limits: the budgets that it keeps.
    """

    def __init__(self, blueprint: Blueprint, account: Any, limits: list[tuple[Budget, Usage]]) -> None:
        self._roles = blueprint.roles
        self._ledger = Ledger() if account is None else SharedLedger(account, limits)
        self._asker: Asker | None = None
        self._failed = ""
        try:
            with session(self._roles):
                self._asker = blueprint.open()
        except TriplecheckError as error:
            self._failed = str(error)

    def opened(self) -> str:
        """Why the program could not be opened; empty where it was."""
        return self._failed

    def ask(self, question: Question, key: str) -> Finished | OutOfBudget:
        """The row of a question, of content key `key`."""
        assert self._asker is not None, self._failed
        with (
            dspy.context(ledger=self._ledger, trace=None, disable_history=True),
            session(self._roles) as ledger,
        ):
            result = self._asker(question, key)
        return replace(result, usage=ledger.rows()) if isinstance(result, Finished) else result
