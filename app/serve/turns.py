"""Work of requests: it runs in threads, a limited number at a time, with a deadline and a stream of its steps."""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import anyio.to_thread

from triplecheck.app.serve.clients import TooManyRequestsError
from triplecheck.app.serve.service import OnStep
from triplecheck.app.serve.types import Step
from triplecheck.evals.asking import QuestionTimeoutError
from triplecheck.kg import TriplecheckError

Result = TypeVar("Result")

_PULSE = 1.0  # seconds between signs of life


class StoppedError(TriplecheckError):
    """The server is being stopped."""


@dataclass(frozen=True)
class Done(Generic[Result]):
    """The end of some work."""

    result: Result


class Turns:
    """Gives each piece of work its turn.

    The work runs in a daemon thread, so that a call to a model that hangs does not keep the server from ending. It
    keeps its place until it really ends, also if nobody waits for it any more: more never run than may.

    Args:
        concurrent: pieces of work at the same time.
        waiting: pieces that may wait for their turn.
    """

    def __init__(self, concurrent: int, waiting: int, seconds: float) -> None:
        self.seconds = seconds
        self.running = 0
        self.waiting = 0
        self._most_waiting = waiting
        self._free = asyncio.Semaphore(concurrent)
        self._threads = anyio.CapacityLimiter(math.inf)
        self._stopped = threading.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    def stop(self) -> None:
        """End all work: who waits for it gets an error, and it ends at its next step."""
        self._stopped.set()

    def _check_running(self) -> None:
        if self._stopped.is_set():
            raise StoppedError("the server is being stopped")

    async def run(self, work: Callable[[OnStep], Result]) -> AsyncGenerator[Step | Done[Result] | None, None]:
        """Run some work: its steps as they happen, then its result; None every few seconds without either.

        If the caller stops listening, the work ends at its next step.

        Args:
            work: gets a function that takes its steps.

        Raises:
            TooManyRequestsError: too much work is waiting.
            QuestionTimeoutError: the work is not done in time.
            StoppedError: the server is being stopped.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + self.seconds
        late = QuestionTimeoutError(f"no answer within {self.seconds:g} s; ask for less, or allow more time")
        async with contextlib.aclosing(self._turn(until, late)) as waiting:
            async for _ in waiting:
                yield None
        news: asyncio.Queue[Step | Done[Result] | BaseException] = asyncio.Queue()
        given_up = threading.Event()

        def tell(item: Step | Done[Result] | BaseException) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: the server has ended
                loop.call_soon_threadsafe(news.put_nowait, item)

        def on_step(step: Step) -> None:
            self._check_running()
            if given_up.is_set():
                raise late
            tell(step)

        def in_thread() -> None:
            try:
                tell(Done(work(on_step)))
            except BaseException as error:  # noqa: BLE001 - raised again where the work is waited for
                tell(error)

        running = loop.create_task(anyio.to_thread.run_sync(in_thread, abandon_on_cancel=True, limiter=self._threads))
        self._tasks.add(running)
        running.add_done_callback(self._end)
        try:
            while True:
                left = until - loop.time()
                if left <= 0:
                    raise late
                try:
                    item = await asyncio.wait_for(news.get(), min(left, _PULSE))
                except TimeoutError:
                    self._check_running()
                    yield None
                    continue
                if isinstance(item, BaseException):
                    raise item
                yield item
                if isinstance(item, Done):
                    return
        finally:
            given_up.set()

    async def _turn(self, until: float, late: Exception) -> AsyncGenerator[None, None]:
        """Wait for a free place, with a sign of life every few seconds."""
        self._check_running()
        if self._free.locked() and self.waiting >= self._most_waiting:
            raise TooManyRequestsError(
                f"{self.running} questions are being answered and {self.waiting} wait; try again later", 1.0
            )
        self.waiting += 1
        try:
            while True:
                left = until - asyncio.get_running_loop().time()
                if left <= 0:
                    raise late
                try:
                    await asyncio.wait_for(self._free.acquire(), min(left, _PULSE))
                    break
                except TimeoutError:
                    self._check_running()
                    yield None
        finally:
            self.waiting -= 1
        self.running += 1

    def _end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self.running -= 1
        self._free.release()
