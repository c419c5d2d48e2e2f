"""Questions over threads of this process: the executor for models that are somewhere else.

`dspy.Parallel` hands settings on in the same way, but loses everything at its tenth error and submits slow
items twice.
"""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

from triplecheck.evals.asking import Asker, Finished, OutOfBudget
from triplecheck.evals.judge import Judge
from triplecheck.evals.questions import Question
from triplecheck.kg import KnowledgeBase
from triplecheck.programs import Program

# What an executor is given, and what it gives back.


Result: TypeAlias = Finished | OutOfBudget


@dataclass(frozen=True)
class QuestionJob:
    """What all questions of a run have in common. The models are those of the session around the run."""

    program: Program
    knowledge_base: KnowledgeBase | None
    """What was given to `evaluate`."""
    configuration: Mapping[str, Any]
    """`evals.configuration.describe` of the program, the models and the knowledge base."""
    keys: Mapping[str, str]
    """Content key by id of a question."""
    timeout: float | None
    """Seconds for one question."""
    judge: Judge | None = None
    """Asked about answers that are not right by exact comparison."""


class Executor(Protocol):
    """Where questions are asked. Nothing is written there: the caller alone appends rows."""

    @property
    def name(self) -> str:
        """What it is called on the command line."""
        ...

    def run(
        self, job: QuestionJob, questions: Sequence[Question], workers: int, stop: threading.Event
    ) -> Iterator[Result]:
        """Results as they are finished, one per question that was begun.

        Args:
            job: what the questions have in common.
            questions: to be asked.
            workers: most questions under way at once.
            stop: once it is set no further question is begun; those under way are waited for.
        """
        ...


Item = TypeVar("Item")
Value = TypeVar("Value")


class Threads:
    """Asks from threads that see the settings of the thread that asked for the run."""

    name = "threads"

    def run(
        self, job: QuestionJob, questions: Sequence[Question], workers: int, stop: threading.Event
    ) -> Iterator[Result]:
        """See `Executor`."""
        asker = Asker(job.program, job.knowledge_base, job.timeout, job.judge)
        return spread(lambda question: asker(question, job.keys[question.id]), questions, workers, stop)


def spread(
    work: Callable[[Item], Value], items: Sequence[Item], workers: int, stop: threading.Event
) -> Iterator[Value]:
    """Results of `work` on each item, as they are finished.

    Each call runs in a copy of the caller's context. Once `stop` is set no further item is begun; those
    under way are waited for. An exception out of `work` ends the run and is raised here.
    """
    context = contextvars.copy_context()
    waiting: queue.SimpleQueue[Item] = queue.SimpleQueue()
    for item in items:
        waiting.put(item)
    # A result comes in a tuple, so that it is told from an error and from the end of a thread.
    finished: queue.SimpleQueue[tuple[Value] | BaseException | None] = queue.SimpleQueue()

    def serve() -> None:
        try:
            while not stop.is_set():
                finished.put((context.copy().run(work, waiting.get_nowait()),))
        except queue.Empty:
            pass
        except BaseException as error:  # noqa: BLE001 - it belongs to the thread that waits for the results
            finished.put(error)
        finally:
            finished.put(None)

    count = min(workers, len(items))
    for number in range(count):
        threading.Thread(target=serve, name=f"evaluation-{number}", daemon=True).start()
    try:
        while count:
            came = finished.get()
            if came is None:
                count -= 1
            elif isinstance(came, BaseException):
                raise came
            else:
                yield came[0]
    finally:
        stop.set()
