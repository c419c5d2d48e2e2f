"""Ask questions in threads of this process: the executor for remote models.

`dspy.Parallel` passes on settings in the same way, but it loses all results at its tenth error and submits slow items
twice.
"""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

from triplecheck.evals.asking import Asker, Finished, OutOfBudget
from triplecheck.evals.questions import Question
from triplecheck.kg import KnowledgeBase
from triplecheck.programs import Program

# The input and output of an executor.


Result: TypeAlias = Finished | OutOfBudget


@dataclass(frozen=True)
class QuestionJob:
    """What all questions of a run share. The models come from the enclosing session."""

    program: Program
    knowledge_base: KnowledgeBase | None
    """The argument of `evaluate`."""
    configuration: Mapping[str, Any]
    """`evals.configuration.describe` of the program, the models and the knowledge base."""
    keys: Mapping[str, str]
    """Content key by id of a question."""
    timeout: float | None
    """Seconds for one question."""


class Executor(Protocol):
    """Asks questions in parallel. Only the caller writes rows."""

    def run(
        self, job: QuestionJob, questions: Sequence[Question], workers: int, stop: threading.Event
    ) -> Iterator[Result]:
        """Yield results as they finish, one per started question.

        Once `stop` is set, no further question is started; started ones are awaited.
        """
        ...


Item = TypeVar("Item")
Value = TypeVar("Value")


class Threads:
    """Asks questions in threads that have the settings of the calling thread."""

    def run(
        self, job: QuestionJob, questions: Sequence[Question], workers: int, stop: threading.Event
    ) -> Iterator[Result]:
        """See `Executor`."""
        asker = Asker(job.program, job.knowledge_base, job.timeout)
        return spread(lambda question: asker(question, job.keys[question.id]), questions, workers, stop)


def spread(
    work: Callable[[Item], Value], items: Sequence[Item], workers: int, stop: threading.Event
) -> Iterator[Value]:
    """Yield the results of `work` on each item as they finish.

    Each call runs in a copy of the caller's context. Once `stop` is set, no further item is started; started ones are
    awaited. An exception in `work` ends the run and is raised here.
    """
    context = contextvars.copy_context()
    waiting: queue.SimpleQueue[Item] = queue.SimpleQueue()
    for item in items:
        waiting.put(item)
    # A result is wrapped in a tuple, to distinguish it from an error and from the end of a thread (None).
    finished: queue.SimpleQueue[tuple[Value] | BaseException | None] = queue.SimpleQueue()

    def serve() -> None:
        try:
            while not stop.is_set():
                finished.put((context.copy().run(work, waiting.get_nowait()),))
        except queue.Empty:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits for the results
            finished.put(error)
        finally:
            finished.put(None)

    count = min(workers, len(items))
    for number in range(count):
        threading.Thread(target=serve, name=f"evaluation-{number}", daemon=True).start()
    try:
        while count:
            result = finished.get()
            if result is None:
                count -= 1
            elif isinstance(result, BaseException):
                raise result
            else:
                yield result[0]
    finally:
        stop.set()
