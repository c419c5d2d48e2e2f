"""Running independent steps of one question at the same time."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import dspy

from triplecheck.kg import TriplecheckError
from triplecheck.programs.steps import Trace

Result = TypeVar("Result")


def concurrently(
    tasks: Sequence[Callable[[Trace], Result]], trace: Trace, *, at_once: int = 16
) -> list[Result | TriplecheckError]:
    """Run tasks at the same time. Returns their results or the `TriplecheckError` they failed with, in order.

    Each runs in a copy of the caller's context, and so shares its models, ledger and budget, with a trace of its own.
    The listener gets the steps as they happen; `trace` has them in the order of the tasks, so that the same replies
    give the same trace.

    Args:
        tasks: each is called with its trace. Other errors are raised here after all tasks have ended.
        at_once: tasks under way at the same time.
    """

    def in_thread(task: Callable[[Trace], Result], own: Trace) -> Result | TriplecheckError:
        # DSPy can send tokens to a stream from the thread that it has started only.
        with dspy.context(send_stream=None):
            return attempt(task, own)

    def attempt(task: Callable[[Trace], Result], own: Trace) -> Result | TriplecheckError:
        try:
            return task(own)
        except TriplecheckError as error:
            return error

    own = [trace.branch() for _ in tasks]
    if len(tasks) < 2:
        results = [attempt(task, part) for task, part in zip(tasks, own, strict=True)]
    else:
        with ThreadPoolExecutor(min(len(tasks), at_once), thread_name_prefix="step") as pool:
            futures = [
                pool.submit(contextvars.copy_context().run, in_thread, task, part)
                for task, part in zip(tasks, own, strict=True)
            ]
        results = [future.result() for future in futures]
    for part in own:
        trace.steps.extend(part.steps)
    return results
