"""Micro-batching: requests that many threads make at the same time are answered side by side."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from triplecheck.lms.local.backend import Generated, Prompt

Generate = Callable[[Sequence[Prompt]], "list[Generated | Exception]"]


@dataclass
class _Job:
    prompt: Prompt
    future: Future[Generated] = field(default_factory=Future)


class MicroBatcher:
    """One worker thread that takes what is waiting, up to `size` prompts that go together, at once.

    The thread starts with the first request and, being a daemon, ends with the process.
    """

    def __init__(self, generate: Generate, size: int, wait: float) -> None:
        self._generate = generate
        self._size = max(1, size)
        self._wait = wait
        self._waiting: queue.Queue[_Job] = queue.Queue()
        self._put_back: list[_Job] = []
        self._worker: threading.Thread | None = None
        self._lock = threading.Lock()

    def submit(self, prompt: Prompt) -> Future[Generated]:
        """Queue a prompt; its future yields what was written, or the error."""
        with self._lock:
            if self._worker is None or not self._worker.is_alive():
                self._worker = threading.Thread(target=self._run, name="embedded-model", daemon=True)
                self._worker.start()
        job = _Job(prompt)
        self._waiting.put(job)
        return job.future

    def _run(self) -> None:
        while True:
            self._answer(self._collect())

    def _collect(self) -> list[_Job]:
        """The next job, and those that go with it and are here or come within the waiting time."""
        first = self._put_back.pop(0) if self._put_back else self._waiting.get()
        batch = [first]
        others = [job for job in self._put_back if job.prompt.goes_with == first.prompt.goes_with]
        for job in others[: self._size - 1]:
            self._put_back.remove(job)
            batch.append(job)
        until = time.monotonic() + self._wait
        while len(batch) < self._size:
            try:
                job = self._waiting.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                break
            fits = job.prompt.goes_with == first.prompt.goes_with
            (batch if fits else self._put_back).append(job)
        return batch

    def _answer(self, batch: list[_Job]) -> None:
        try:
            results = self._generate([job.prompt for job in batch])
        except BaseException as error:  # noqa: BLE001 - the worker lives on; each caller gets the error
            results = [error if isinstance(error, Exception) else RuntimeError(repr(error))] * len(batch)
        for job, result in zip(batch, results, strict=True):
            if isinstance(result, Exception):
                job.future.set_exception(result)
            else:
                job.future.set_result(result)
