"""Programs on the same questions: which are answered rightly, and whether a difference is more than chance."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any, NoReturn

import dspy

from triplecheck.evals.metrics.statistics import mcnemar
from triplecheck.evals.progress import Progress
from triplecheck.evals.questions import Question
from triplecheck.evals.run_directory import ROWS, read_rows
from triplecheck.evals.runner import evaluate
from triplecheck.evals.slim_rows import parts_of_language_models
from triplecheck.evals.summary import interval_of
from triplecheck.kg import KnowledgeBase, UnavailableError
from triplecheck.lms import BudgetExceededError, Ledger, Roles
from triplecheck.optimize.candidates import Gain
from triplecheck.programs import Program


@dataclass(frozen=True)
class Measured:
    """A program on some questions.

    Attributes:
        rows: by id of the question, as `evals.rows` describes them.
    """

    rows: Mapping[str, Mapping[str, Any]]

    @classmethod
    def read(cls, out: Path, questions: Iterable[Question]) -> Measured:
        """The rows of these questions in the directory of an evaluation.

        Raises:
            ReadError: it is missing or damaged.
        """
        asked = {question.id for question in questions}
        return cls({row["id"]: row for row in read_rows(out) if row["id"] in asked})

    @property
    def scored(self) -> list[str]:
        """The ids of the questions that ended without an error and have a known answer."""
        return [id for id, row in self.rows.items() if row["status"] != "error" and row["crag"] is not None]

    def right(self, ids: Collection[str] | None = None) -> list[int]:
        """1 for each question with a right answer or a right abstention, 0 for all other questions.

        Args:
            ids: of the questions; None: all that are scored.
        """
        return [int(self.rows[id]["crag"] == "accurate") for id in (self.scored if ids is None else ids)]

    @property
    def share(self) -> float:
        """The share of the scored questions that is right; 0 if there are none."""
        return mean(self.right()) if self.scored else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% bootstrap interval of `share`."""
        return interval_of(self.right()) if self.scored else (0.0, 1.0)

    @property
    def calls(self) -> float:
        """Calls of language models per question; the rule-based baseline is none."""
        return self._of_question("calls")

    @property
    def tokens(self) -> float:
        """Tokens that the calls of a question take."""
        return self._of_question("prompt_tokens", "completion_tokens")

    @property
    def seconds(self) -> float:
        """Seconds that the calls of a question take."""
        return self._of_question("seconds")

    @property
    def dollars(self) -> float | None:
        """What the calls of a question cost; None: the price of some is not known."""
        return None if any(part["unpriced_calls"] for part in self._parts()) else self._of_question("dollars")

    def _of_question(self, *fields: str) -> float:
        return float(sum(part[field] for part in self._parts() for field in fields)) / max(1, len(self.rows))

    def _parts(self) -> list[Mapping[str, Any]]:
        return [part for row in self.rows.values() for part in parts_of_language_models(row["usage"])]

    def to_json(self) -> dict[str, Any]:
        """Plain numbers."""
        low, high = self.interval
        about = {"questions": len(self.scored), "right": self.share, "low": low, "high": high}
        return about | {name: getattr(self, name) for name in ("calls", "tokens", "seconds", "dollars")}


def measure(
    program: Program,
    questions: Sequence[Question],
    out: Path,
    *,
    roles: Roles | None = None,
    knowledge_base: KnowledgeBase | None = None,
    workers: int = 1,
    progress: Callable[[Progress], None] | None = None,
) -> Measured:
    """Ask a program questions, in a directory where an interrupted run is resumed.

    Args:
        roles: the models; None: those of the session.

    Raises:
        BudgetExceededError: the budget of the session is used up.
        UserError, UnavailableError: see `evaluate`.
    """
    summary = evaluate(
        program,
        questions,
        out,
        roles=roles,
        knowledge_base=knowledge_base,
        workers=workers,
        progress=progress,
    )
    if summary.stopped is not None:
        raise_stopped(summary.stopped)
    return Measured.read(out, questions)


def raise_stopped(reason: str) -> NoReturn:
    """Say why an evaluation stopped.

    Raises:
        BudgetExceededError: the budget of the session is used up.
        UnavailableError: a model cannot be reached.
    """
    ledger: Ledger | None = dspy.settings.get("ledger")
    for budget, spent in ledger.limits() if ledger is not None else ():
        budget.check(spent)
    raise UnavailableError(reason)


def answered(out: Path) -> set[str]:
    """The ids of the questions that a run in this directory has answered. Asking them again costs nothing."""
    rows = read_rows(out) if (out / ROWS).is_file() else ()
    return {row["id"] for row in rows if row["status"] != "error"}


@contextmanager
def resumable(out: Path) -> Iterator[None]:
    """Say with a budget that is used up how to go on with a run in this directory."""
    try:
        yield
    except BudgetExceededError as error:
        told = f"{error}; run the same command again, with a larger budget, to resume {out}"
        raise BudgetExceededError(told) from error


def gain_over(new: Measured, old: Measured) -> Gain:
    """What one program wins and loses against another on the questions that both answered, by McNemar's exact test."""
    ids = [id for id in new.scored if id in set(old.scored)]
    return gain_of(new.right(ids), old.right(ids))


def gain_of(new: Sequence[float], old: Sequence[float]) -> Gain:
    """What one list of scores wins and loses against another of the same things: McNemar's exact test of the signs."""
    pairs = list(zip(new, old, strict=True))
    wins, losses = [int(a > b) for a, b in pairs], [int(a < b) for a, b in pairs]
    return Gain(sum(wins), sum(losses), len(pairs), mcnemar(losses, wins) if pairs else 1.0)
