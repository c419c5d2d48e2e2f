"""Questions over processes that Ray runs, on this machine or on a cluster.

For programs that work more than they wait: threads of one process share one core. Each process opens the program
itself (`blueprint`) and keeps several questions under way. A process that dies takes nothing with it but the
questions that it was at: those are asked again, each now alone in its process, so that the one that kills is told
from those that were beside it. After `LOST_TWICE_MORE` further deaths a question's row is an error.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import dspy

from triplecheck.evals.asking import Finished
from triplecheck.evals.executors.base import Job, Result
from triplecheck.evals.executors.blueprint import Blueprint
from triplecheck.evals.executors.ray_account import Account
from triplecheck.evals.executors.ray_worker import Worker
from triplecheck.evals.questions import Question
from triplecheck.evals.rows import error_row
from triplecheck.kg import TriplecheckError, UserError
from triplecheck.lms import Budget, Ledger, Usage

LOST_TWICE_MORE = 2
"""How often a question is asked again whose process died."""


class WorkerLostError(TriplecheckError):
    """The process that asked a question died, again and again."""


@dataclass(frozen=True)
class RayProcesses:
    """Asks from processes of a Ray cluster.

    Raises where it is run:
        UserError: Ray is not installed or not reached, or the program cannot be opened by another process.
    """

    address: str | None = None
    """`auto` (the cluster that this machine belongs to), `ray://host:port`, or None: a cluster of this machine's
    own, for as long as the run lasts."""
    processes: int | None = None
    """None: as many as the cluster has cores. Never more than questions under way."""

    name = "ray"

    def run(self, job: Job, questions: Sequence[Question], workers: int, stop: threading.Event) -> Iterator[Result]:
        """See `Executor`."""
        blueprint = Blueprint.of(job)
        if not questions:
            return
        with _ray(self.address, self.processes) as ray:
            cores = int(ray.cluster_resources().get("CPU", 1))
            processes = min(self.processes or cores, workers, len(questions))
            run = _Run(ray, job, blueprint, processes, workers, stop)
            try:
                yield from run.results(questions)
            finally:
                run.close()


@dataclass(eq=False)
class _Process:
    actor: Any
    threads: int
    aboard: int = 0
    alone: bool = False
    """Whether it is at a question that was aboard of a process that died."""


@dataclass(eq=False)
class _Item:
    question: Question
    lost: int = 0
    began: float = 0.0


class _Run:
    """The state of a run: which process is at which question."""

    def __init__(
        self, ray: Any, job: Job, blueprint: Blueprint, processes: int, workers: int, stop: threading.Event
    ) -> None:
        self._ray = ray
        self._job = job
        self._stop = stop
        self._ledger: Ledger = dspy.settings.ledger
        limits = [pair for pair in self._ledger.limits() if pair[0] != Budget()]
        self._account = ray.remote(Account).options(num_cpus=0).remote(limits) if limits else None
        self._arguments = (ray.put(blueprint), self._account, limits)
        self._processes = [
            self._start(workers // processes + (number < workers % processes)) for number in range(processes)
        ]
        self._under_way: dict[Any, tuple[_Process, _Item]] = {}
        for failed in self._opened():
            if failed:
                self.close()
                raise UserError(failed)

    def results(self, questions: Sequence[Question]) -> Iterator[Result]:
        """Ask; results as they come."""
        waiting = deque(map(_Item, questions))
        while True:
            while waiting and not self._stop.is_set() and (process := self._place(waiting[0])) is not None:
                self._begin(process, waiting.popleft())
            if not self._under_way:
                return
            (ref,), _ = self._ray.wait(list(self._under_way), num_returns=1)
            process, item = self._under_way.pop(ref)
            process.aboard -= 1
            process.alone = False
            try:
                result: Result = self._ray.get(ref)
            except self._ray.exceptions.RayActorError:
                self._replace(process)
                item.lost += 1
                if item.lost <= LOST_TWICE_MORE:
                    waiting.appendleft(item)
                    continue
                result = self._given_up(item)
            if isinstance(result, Finished):
                for (role, model), usage in (result.usage or {}).items():
                    self._ledger.take(role, model, usage)
            yield result

    def close(self) -> None:
        """End the processes, whatever they are at."""
        for process in self._processes:
            self._ray.kill(process.actor)
        if self._account is not None:
            self._ray.kill(self._account)

    def _opened(self) -> list[str]:
        try:
            found: list[str] = self._ray.get([process.actor.opened.remote() for process in self._processes])
        except self._ray.exceptions.RayError as error:
            self.close()
            raise UserError(f"a worker process did not come up: {error}") from error
        return found

    def _start(self, threads: int) -> _Process:
        actor = self._ray.remote(Worker).options(num_cpus=1, max_concurrency=threads + 1)
        return _Process(actor.remote(*self._arguments), threads)

    def _place(self, item: _Item) -> _Process | None:
        """A process that may have this question now; the one with the fewest."""
        free = [p for p in self._processes if not p.alone and p.aboard < (1 if item.lost else p.threads)]
        return min(free, key=lambda process: process.aboard, default=None)

    def _begin(self, process: _Process, item: _Item) -> None:
        process.aboard += 1
        process.alone = item.lost > 0
        item.began = time.time()
        ref = process.actor.ask.remote(item.question, self._job.keys[item.question.id])
        self._under_way[ref] = (process, item)

    def _replace(self, process: _Process) -> None:
        """Start another in the place of one that died; several of its questions tell of one death."""
        if process in self._processes:
            self._processes[self._processes.index(process)] = self._start(process.threads)

    def _given_up(self, item: _Item) -> Finished:
        error = WorkerLostError(
            f"the process that asked this question died {item.lost} times; it may have run out of memory"
        )
        key = self._job.keys[item.question.id]
        seconds = time.time() - item.began
        return Finished(error_row(self._job.program, item.question, error, (), Usage(), key, seconds), item.began)


@contextmanager
def _ray(address: str | None, processes: int | None) -> Iterator[Any]:
    """Ray, connected: to what the caller is connected to, or for as long as the block lasts."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise UserError("Ray is not installed: pip install 'triplecheck[ray]', or use --executor threads") from None
    if ray.is_initialized():
        yield ray
        return
    own = {"num_cpus": processes, "include_dashboard": False} if address is None else {}
    try:
        ray.init(address=address or "local", log_to_driver=False, logging_level="ERROR", **own)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise UserError(f"no Ray cluster at {address or 'this machine'}: {error}") from error
    try:
        yield ray
    finally:
        ray.shutdown()
