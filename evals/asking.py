"""One question to one program: what the runner does, whichever process it does it in."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import dspy

from triplecheck.evals.gold import Names, linker_names
from triplecheck.evals.judge import Judge
from triplecheck.evals.questions import Question
from triplecheck.evals.rows import error_row, scored_row
from triplecheck.kg import KnowledgeBase, TriplecheckError, UnavailableError, normalize
from triplecheck.lms import BudgetExceededError, Usage, session
from triplecheck.programs import Program
from triplecheck.programs.steps import Step

# A call with a limit of time.
#
# The thread is a daemon: what has run out of time is left behind and keeps neither the run nor the process from
# ending.


Result = TypeVar("Result")


class StillRunningError(Exception):
    """A call is not finished in its time."""


class Limited(Generic[Result]):
    """A call in a thread of its own, waited for no longer than a time.

    Args:
        call: what to run, in a copy of the caller's context.
    """

    def __init__(self, call: Callable[[], Result]) -> None:
        self._call = call
        self._results: list[Result] = []
        self._errors: list[BaseException] = []
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._run,), name="question", daemon=True)

    def result(self, seconds: float) -> Result:
        """What the call returned or raised.

        Raises:
            StillRunningError: it goes on still.
        """
        self._thread.start()
        self._thread.join(seconds)
        if self._thread.is_alive():
            raise StillRunningError
        if self._errors:
            raise self._errors[0]
        return self._results[0]

    def _run(self) -> None:
        try:
            self._results.append(self._call())
        except BaseException as error:  # noqa: BLE001 - it belongs to the thread that waits for the result
            self._errors.append(error)


class QuestionTimeoutError(TriplecheckError):
    """A program took longer over a question than it was given."""


@dataclass(frozen=True)
class Finished:
    """A question that has its row."""

    row: dict[str, Any]
    began: float
    """When it was asked, in seconds since the epoch."""
    times: tuple[float, ...] = ()
    """When each step of the row was told, in seconds since then."""
    usage: dict[tuple[str, str], Usage] | None = None
    """What it spent by role and model, where the ledger of the run has not seen it."""
    unavailable: str | None = None
    """What was out of reach, where it ended for that."""


@dataclass(frozen=True)
class OutOfBudget:
    """A question that was not finished, for the budget of the run is used up."""

    message: str


class Asker:
    """Asks a program questions, from several threads at once.

    Args:
        program: what is asked.
        knowledge_base: in whose index gold names are looked up; None for the program's linker.
        timeout: seconds for one question. A program that is over time is stopped at its next step, and left
            behind until then.
        judge: asked about answers that are not right by exact comparison.
    """

    def __init__(
        self, program: Program, knowledge_base: KnowledgeBase | None, timeout: float | None, judge: Judge | None = None
    ) -> None:
        self._program = program
        self._names = names_for(program, knowledge_base)
        self._timeout = timeout
        self._judge = judge

    def __call__(self, question: Question, key: str) -> Finished | OutOfBudget:
        """The row of a question, of content key `key`; with its error where there was one."""
        steps: list[Step] = []
        told: dict[int, float] = {}
        at, began, ended = time.time(), time.perf_counter(), 0.0

        def note(step: Step) -> None:
            steps.append(step)
            told[id(step)] = time.perf_counter() - began

        with session() as ledger:
            try:
                prediction = self._ask(question, note)
                ended = time.perf_counter()
                row = scored_row(self._program, question, prediction, self._names, key, ended - began, self._judge)
                return Finished(row, at, tuple(told.get(id(step), 0.0) for step in prediction.steps))
            except BudgetExceededError as error:
                return OutOfBudget(str(error))
            except Exception as error:  # noqa: BLE001 - one question's crash must not lose the others' rows
                seconds = (ended or time.perf_counter()) - began
                so_far = list(steps)
                row = error_row(self._program, question, error, so_far, ledger.usage(), key, seconds)
                unavailable = str(error) if isinstance(error, UnavailableError) else None
                return Finished(row, at, tuple(told[id(step)] for step in so_far), unavailable=unavailable)

    def _ask(self, question: Question, note: Any) -> dspy.Prediction:
        if self._timeout is None:
            return self._program(question=question.question, on_step=note)
        late = QuestionTimeoutError(f"no answer within {self._timeout:g} s; allow more time per question")
        given_up = threading.Event()

        def note_in_time(step: Step) -> None:
            if given_up.is_set():
                raise late
            note(step)

        try:
            return Limited(lambda: self._program(question=question.question, on_step=note_in_time)).result(
                self._timeout
            )
        except StillRunningError:
            given_up.set()
            raise late from None


def names_for(program: Program, knowledge_base: KnowledgeBase | None) -> Names:
    """What finds the nodes of a gold name: the knowledge base's index, or the program's linker."""
    if knowledge_base is None:
        return linker_names(program.sources.linker)
    index = knowledge_base.names
    return lambda text: [named.node for named in index.nodes(normalize(text))]
