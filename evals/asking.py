"""Ask a program one question and score the answer. Every executor uses this."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import dspy

from triplecheck.evals.gold import Names, linker_names
from triplecheck.evals.questions import Question
from triplecheck.evals.rows import error_row, scored_row
from triplecheck.kg import KnowledgeBase, TriplecheckError, UnavailableError, normalize
from triplecheck.kg.waiting import StillRunningError, within
from triplecheck.lms import BudgetExceededError, Usage, session
from triplecheck.programs import Program
from triplecheck.programs.steps import TraceEvent

OnStep: TypeAlias = Callable[[TraceEvent], None]
"""Gets each step of a program as it happens."""


class QuestionTimeoutError(TriplecheckError):
    """A program exceeded the time limit for a question."""


@dataclass(frozen=True)
class Finished:
    """A finished question."""

    row: dict[str, Any]
    usage: dict[tuple[str, str], Usage] | None = None
    """Usage by role and model that the run's ledger does not hold yet; None if it holds all."""
    unavailable: str | None = None
    """The error message if the question failed because a model or the graph is unavailable."""


@dataclass(frozen=True)
class OutOfBudget:
    """A question that was not finished because the run's budget is used up."""

    message: str


class Asker:
    """Asks a program questions. Thread-safe.

    Args:
        knowledge_base: resolves gold names with its name index; None: the program's linker resolves them.
        timeout: seconds per question; None: no limit. A program that exceeds it stops at its next step, and the
            run does not wait for that.
    """

    def __init__(self, program: Program, knowledge_base: KnowledgeBase | None, timeout: float | None) -> None:
        self._program = program
        self._names = names_for(program, knowledge_base)
        self._timeout = timeout

    def __call__(self, question: Question, key: str) -> Finished | OutOfBudget:
        """Return the row of a question, with the error if the program failed. `key` is the row's content key."""
        steps: list[TraceEvent] = []
        began, ended = time.perf_counter(), 0.0
        with session() as ledger:
            try:
                prediction = ask_within(self._timeout, self._program, question.question, steps.append)
                ended = time.perf_counter()
                row = scored_row(self._program, question, prediction, self._names, key, ended - began)
                return Finished(row)
            except BudgetExceededError as error:
                return OutOfBudget(str(error))
            except Exception as error:  # noqa: BLE001 - one question's crash must not lose the others' rows
                seconds = (ended or time.perf_counter()) - began
                row = error_row(self._program, question, error, list(steps), ledger.usage(), key, seconds)
                unavailable = str(error) if isinstance(error, UnavailableError) else None
                return Finished(row, unavailable=unavailable)


def ask_within(timeout: float | None, program: Program, question: str, on_step: OnStep) -> dspy.Prediction:
    """The program's prediction.

    Args:
        timeout: seconds; None: no limit. A program that exceeds it stops at its next step; nobody waits for that.

    Raises:
        QuestionTimeoutError: the program is not finished in time.
    """
    if timeout is None:
        return program(question=question, on_step=on_step)
    late = QuestionTimeoutError(f"no answer within {timeout:g} s; allow more time per question")
    given_up = threading.Event()

    def on_step_in_time(step: TraceEvent) -> None:
        if given_up.is_set():
            raise late
        on_step(step)

    try:
        return within(timeout, lambda: program(question=question, on_step=on_step_in_time))
    except StillRunningError:
        given_up.set()
        raise late from None


def names_for(program: Program, knowledge_base: KnowledgeBase | None) -> Names:
    """Return the lookup from gold names to nodes: the knowledge base's name index, or the program's linker."""
    if knowledge_base is None or knowledge_base.is_remote:
        return linker_names(program.sources.linker)
    index = knowledge_base.names
    return lambda text: [named.node for named in index.nodes(normalize(text))]
