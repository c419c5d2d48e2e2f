"""Questions over threads of this process: the executor for models that are somewhere else.

`dspy.Parallel` hands settings on in the same way, but loses everything at its tenth error and submits slow
items twice.
"""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from triplecheck.evals.asking import Asker
from triplecheck.evals.executors.base import Job, Result
from triplecheck.evals.questions import Question

Item = TypeVar("Item")
Value = TypeVar("Value")


class Threads:
    """Asks from threads that see the settings of the thread that asked for the run."""

    name = "threads"

    def run(self, job: Job, questions: Sequence[Question], workers: int, stop: threading.Event) -> Iterator[Result]:
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
