"""`within`: a call, and how long to wait for it."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

Result = TypeVar("Result")


class StillRunningError(Exception):
    """A call exceeded its time limit."""


def within(seconds: float, call: Callable[[], Result]) -> Result:
    """What the call returns, or raises, in a thread of its own with a copy of the caller's context.

    The thread is a daemon, which those of `ThreadPoolExecutor` are not: a call that exceeds its limit does not keep the
    process from ending.

    Raises:
        StillRunningError: the call is not finished after `seconds`.
    """
    done: Future[Result] = Future()

    def work() -> None:
        try:
            done.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits for the result
            done.set_exception(error)

    threading.Thread(target=contextvars.copy_context().run, args=(work,), name="within", daemon=True).start()
    if not wait([done], seconds).done:
        raise StillRunningError
    return done.result()
