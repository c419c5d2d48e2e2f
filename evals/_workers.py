"""Work spread over threads that see the settings of the thread that asked for it, with a limit of time each.

The threads are daemons: what has run out of time is left behind and keeps neither the run nor the
process from ending. `dspy.Parallel` hands settings on in the same way, but loses everything at its
tenth error and submits slow items twice.
"""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class StillRunningError(Exception):
    """A call is not finished in its time."""


def spread(
    work: Callable[[Item], Result], items: Sequence[Item], workers: int, stop: threading.Event
) -> Iterator[Result]:
    """Results of `work` on each item, as they are finished.

    Each call runs in a copy of the caller's context. Once `stop` is set no further item is begun; those
    under way are waited for. An exception out of `work` ends the run and is raised here.
    """
    context = contextvars.copy_context()
    waiting: queue.SimpleQueue[Item] = queue.SimpleQueue()
    for item in items:
        waiting.put(item)
    # A result comes in a tuple, so that it is told from an error and from the end of a thread.
    finished: queue.SimpleQueue[tuple[Result] | BaseException | None] = queue.SimpleQueue()

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
