"""Asking the questions of a half with some options: under one budget, and never the same twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from triplecheck.evals import evaluate
from triplecheck.evals.configuration import digest
from triplecheck.evals.progress import Progress
from triplecheck.evals.questions import Question
from triplecheck.kg import KnowledgeBase, UnavailableError
from triplecheck.lms import BudgetExceededError, Usage
from triplecheck.lms.ledger import LIMITS, Ledger, total
from triplecheck.programs import Program

Row = Mapping[str, Any]
Make = Callable[[Mapping[str, Any]], Program]
"""Makes the program with some options that differ from those that it was given; see `optimize.fit.space.nested`."""


class UnaffordableError(BudgetExceededError):
    """Questions that were not asked, since what is left of the budget is needed for others."""


@dataclass
class Asking:
    """Where candidates are asked: a run directory for each (`evals.evaluate`), so that nothing is asked twice.

    Attributes:
        make: makes the program.
        out: directory of the run.
        ledger: of the session around it, whose budget is that of everything.
        knowledge_base: where the graph is from one.
        workers: questions under way at once.
        progress: told after each question.
    """

    make: Make
    out: Path
    ledger: Ledger
    knowledge_base: KnowledgeBase | None = None
    workers: int = 1
    progress: Callable[[str, Progress], None] | None = None
    _taken: list[Usage] = field(default_factory=list)
    """Of each question so far."""

    def rows(
        self, setting: Mapping[str, Any], questions: Sequence[Question], part: str, reserved: int = 0
    ) -> list[Row]:
        """The rows of these questions, in their order.

        Args:
            setting: options of the program, by name.
            questions: of one half.
            part: names the half.
            reserved: questions that must be affordable afterwards.

        Raises:
            UnaffordableError: the budget would not leave enough for those; nothing was asked.
            BudgetExceededError: it was used up on the way.
            UnavailableError: a model or the graph is out of reach.
        """
        place = self.out / part / digest(setting)[:12]
        file = place / "rows.jsonl"
        wanted = {question.id for question in questions}
        there = sum(row["id"] in wanted for row in read_rows(file)) if file.is_file() else 0
        self._check(len(questions) - there + reserved if len(questions) > there else 0)
        tell = self.progress
        summary = evaluate(
            self.make(setting),
            questions,
            place,
            knowledge_base=self.knowledge_base,
            workers=self.workers,
            progress=None if tell is None else lambda progress: tell(part, progress),
        )
        if summary.stopped is not None:
            for budget, spent in self.ledger.limits():
                budget.check(spent)
            raise UnavailableError(f"{summary.stopped}; the same command takes the run in {self.out} up again")
        by_id = {row["id"]: row for row in read_rows(file)}
        rows = [by_id[question.id] for question in questions]
        self._taken += [_usage(row) for row in rows]
        return rows

    def _check(self, questions: int) -> None:
        """Raise `UnaffordableError` if so many questions, at the price of those so far, are more than is left."""
        if not self._taken:
            return
        so_far = total(self._taken)
        for budget, spent in self.ledger.limits():
            for name in LIMITS:
                allowed = getattr(budget, name)
                needed = getattr(so_far, name) / len(self._taken) * questions
                if allowed is not None and needed and getattr(spent, name) + needed > allowed:
                    raise UnaffordableError(
                        f"{questions} more questions may take {needed:.6g} {name}, and of {allowed:g} "
                        f"{max(0, allowed - getattr(spent, name)):.6g} are left",
                        limit=name,
                        allowed=allowed,
                        used=getattr(spent, name),
                    )


def read_rows(file: Path) -> list[Row]:
    """The whole rows of an evaluation."""
    with file.open("rb") as source:
        return [json.loads(line) for line in source if line.endswith(b"\n")]


def _usage(row: Row) -> Usage:
    names = ("calls", "prompt_tokens", "completion_tokens", "seconds", "dollars")
    return Usage(**{name: row["usage"][name] for name in names})
