"""Ask questions in Ray processes, on this machine or a cluster.

This is for programs that compute more than they wait, because threads of one process share one core. Each process opens
the program from a `Blueprint` and asks several questions in parallel. If a process dies, only its current questions are
affected. They are asked again, each alone in a process, which shows which question crashes it. After `RETRIES` retries
the question's row is an error. A process that replaces a dead one gets questions once it has opened the program: if the
cluster lost a node and has no core for it, the other processes ask all questions.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import dspy

from triplecheck.evals.asking import Asker, Finished, OutOfBudget
from triplecheck.evals.configuration import describe, differences, plain
from triplecheck.evals.executors.threads import QuestionJob, Result
from triplecheck.evals.questions import Question
from triplecheck.evals.rows import error_row
from triplecheck.kg import KnowledgeBase, TriplecheckError, UserError
from triplecheck.kg.errors import extra
from triplecheck.language.pipeline import read_text
from triplecheck.lms import Budget, BudgetExceededError, Ledger, Roles, Usage, session
from triplecheck.programs import Program, Sources

# What another process needs to open the same program: names and paths, no part of the program itself.


@dataclass(frozen=True)
class Blueprint:
    """How to open a program on a knowledge base whose path all processes can read.

    Each process maps the knowledge base into memory; it is not sent. Keys and addresses of models come from the
    process's environment.
    """

    module: str
    name: str
    """Qualified name of the program's class in its module."""
    arguments: dict[str, Any]
    """Constructor arguments, apart from the sources."""
    state: dict[str, Any]
    """Instructions and demonstrations from `dspy.Module.dump_state`; an optimizer may have changed them."""
    folder: str
    """The knowledge base."""
    kinds: tuple[bool, bool]
    """Whether the sources have relation vectors, and whether they have the knowledge base."""
    language: str
    configuration: dict[str, Any]
    """Everything the rows depend on; the opened program must have the same description."""
    names_in_base: bool
    """Whether gold names are looked up in the knowledge base's index."""
    timeout: float | None
    search_path: tuple[str, ...]
    """Python's module search path."""
    abstain_below: float | None = None
    ranker: str | None = None
    """The file of a ranker that the program was given."""

    @classmethod
    def of(cls, job: QuestionJob) -> Blueprint:
        """Describe the program of a job.

        Raises:
            UserError: the program cannot be opened from a description; the message says why.
        """
        program = job.program
        kind, sources = type(program), program.sources
        if getattr(sys.modules.get(kind.__module__), kind.__name__, None) is not kind or kind.__module__ == "__main__":
            raise _cannot(program, f"its class {kind.__qualname__} cannot be imported from a module")
        base = job.knowledge_base or sources.knowledge_base
        if base is None or base.is_remote or sources.graph is not base.graph or sources.linker is not base.linker:
            raise _cannot(program, "its graph and linker do not come from a knowledge base in a directory")
        return cls(
            module=kind.__module__,
            name=kind.__name__,
            arguments=_arguments(program),
            state=program.dump_state(),
            folder=str(Path(base.path).resolve()),
            kinds=(sources.relations is not None, sources.knowledge_base is not None),
            language=sources.language,
            configuration=plain(job.configuration),
            names_in_base=job.knowledge_base is not None,
            timeout=job.timeout,
            search_path=tuple(sys.path),
            abstain_below=program.abstain_below,
            ranker=None if sources.given_ranker is None else str(Path(sources.given_ranker).resolve()),
        )

    @property
    def roles(self) -> Roles:
        """The model of each role."""
        return Roles.from_json(self.configuration["roles"])

    def open(self) -> Asker:
        """Open the program in this process.

        Raises:
            UserError: the opened program differs from the description.
            TriplecheckError: the program cannot be opened.
        """
        sys.path += [place for place in self.search_path if place not in sys.path]
        base = KnowledgeBase.open(self.folder)
        with_relations, with_base = self.kinds
        relations = base.relation_vectors if with_relations else None
        sources = Sources(base.graph, base.linker, relations, base if with_base else None, language=self.language)
        if self.ranker is not None:
            sources = sources.with_ranker(Path(self.ranker))
        program: Program = getattr(importlib.import_module(self.module), self.name)(sources, **self.arguments)
        program.load_state(self.state)
        if self.abstain_below is not None:
            program.abstain_below = self.abstain_below
        names = base if self.names_in_base else None
        here = describe(program, self.roles, names, self.configuration["settings"])
        differ = differences(self.configuration, plain(here))
        if differ:
            raise UserError(f"a worker process opened a program that differs from the description: {'; '.join(differ)}")
        base.linker.mentions(
            read_text("warm up", self.language)
        )  # so that loading is not part of the first question's time
        return Asker(program, names, self.timeout)


def _arguments(program: Program) -> dict[str, Any]:
    """The constructor options of the program."""
    takes = list(inspect.signature(type(program).__init__).parameters.values())[1:]
    others = [argument.name for argument in takes if argument.name not in ("sources", "preset", "options")]
    if others:
        raise _cannot(program, f"it takes {others[0]!r}, which is not a field of its Options")
    return dict(vars(program.options))


def _cannot(program: Program, reason: str) -> UserError:
    return UserError(
        f"the program {program.name!r} cannot be opened by other processes: {reason}; run it with --executor threads"
    )


# One budget for many processes.
#
# If each process had its own share of the budget, one could stop while others still had money. Therefore one actor
# holds the ledgers, and every model call first sends it a message (under a millisecond). The number of calls is as
# exact as in one process. Tokens, seconds and dollars may exceed their limit by the usage of the calls in progress, as
# described in `lms.Budget`. Without a budget there is no account.


class Account:
    """Ray actor with the ledgers of the run: each budget with its usage so far."""

    def __init__(self, limits: list[tuple[Budget, Usage]]) -> None:
        ledger: Ledger | None = None
        for budget, spent in reversed(limits):
            ledger = Ledger(budget, parent=ledger)
            # `take` would also add the usage to the outer ledgers, which already include it.
            ledger._add("before", "before", spent)
        self._ledger = ledger or Ledger()

    def begin(self, role: str, model: str) -> str | None:
        """Count a call; if a budget forbids it, return the message of the error."""
        try:
            self._ledger.begin(role, model)
        except BudgetExceededError as error:
            return str(error)
        return None

    def take(self, role: str, model: str, usage: Usage) -> None:
        """Add the usage of a counted call."""
        self._ledger.take(role, model, usage)


class SharedLedger(Ledger):
    """The outermost ledger of a process. It asks the account before each call and reports usage afterwards."""

    def __init__(self, account: Any, limits: list[tuple[Budget, Usage]]) -> None:
        dollars = [budget.dollars for budget, _ in limits if budget.dollars is not None]
        super().__init__(Budget(dollars=min(dollars, default=None)))
        self._account = account

    def _check(self, role: str, model: str) -> None:
        import ray

        refused = ray.get(self._account.begin.remote(role, model))
        if refused is not None:
            raise BudgetExceededError(refused)

    def _add(self, role: str, model: str, more: Usage) -> None:
        if not more.calls:  # `begin` has counted the call
            self._account.take.remote(role, model, more)


# The worker process: opens the program once, then returns a row for each question.


class Worker:
    """Ray actor that asks questions. Several threads may call `ask` at once. Without a budget there is no account."""

    def __init__(self, blueprint: Blueprint, account: Any, limits: list[tuple[Budget, Usage]]) -> None:
        self._roles = blueprint.roles
        self._ledger = Ledger() if account is None else SharedLedger(account, limits)
        self._asker: Asker | None = None
        self._failed = ""
        try:
            with session(self._roles):
                self._asker = blueprint.open()
        except TriplecheckError as error:
            self._failed = str(error)

    def opened(self) -> str:
        """Why the program could not be opened; empty if it was opened."""
        return self._failed

    def ask(self, question: Question, key: str) -> Finished | OutOfBudget:
        """Ask a question with content key `key`; return its row."""
        assert self._asker is not None, self._failed
        with (
            dspy.context(ledger=self._ledger, trace=None, disable_history=True),
            session(self._roles) as ledger,
        ):
            result = self._asker(question, key)
        return replace(result, usage=ledger.rows()) if isinstance(result, Finished) else result


RETRIES = 2
"""How often a question is asked again after its process died."""


START_SECONDS = 600.0
"""How long a run without any process waits for the cluster to start one, for example on a new node."""


class WorkerLostError(TriplecheckError):
    """The process that asked a question died repeatedly, or no process can be started any more."""


@dataclass(frozen=True)
class RayProcesses:
    """Asks questions in the processes of a Ray cluster.

    `run` raises:
        UserError: Ray is not installed or cannot be reached, or another process cannot open the program.
        WorkerLostError: no process is left, and the cluster did not start one within `START_SECONDS`.
    """

    address: str | None = None
    """`auto` (the cluster of this machine), `ray://host:port`, or None: a local cluster for the duration of the run."""
    processes: int | None = None
    """Number of processes; None: one per core of the cluster. At most the number of questions asked in parallel."""

    def run(
        self, job: QuestionJob, questions: Sequence[Question], workers: int, stop: threading.Event
    ) -> Iterator[Result]:
        """See `Executor`."""
        blueprint = Blueprint.of(job)
        if not questions:
            return
        with _ray(self.address, self.processes) as ray:
            cores = int(ray.cluster_resources().get("CPU", 1))
            processes = min(self.processes or cores, workers, len(questions))
            run = _RayRun(ray, job, blueprint, processes, workers, stop)
            try:
                yield from run.results(questions)
            finally:
                run.close()


@dataclass(eq=False)
class _Process:
    actor: Any
    threads: int
    opening: Any
    """Reference to the result of `Worker.opened`; None once it is known."""
    deaths: int = 0
    """Processes before it that died while they opened the program."""
    active: int = 0
    alone: bool = False
    """Whether the process only retries questions whose first process died."""


@dataclass(eq=False)
class _QueuedQuestion:
    question: Question
    deaths: int = 0
    began: float = 0.0


class _RayRun:
    """The state of a run: which process asks which question."""

    def __init__(
        self, ray: Any, job: QuestionJob, blueprint: Blueprint, processes: int, workers: int, stop: threading.Event
    ) -> None:
        self._ray = ray
        self._job = job
        self._stop = stop
        self._ledger: Ledger = dspy.settings.ledger
        limits = [pair for pair in self._ledger.limits() if pair[0] != Budget()]
        self._account = self._start_account(limits) if limits else None
        self._arguments = (ray.put(blueprint), self._account, limits)
        self._processes = [
            self._start(workers // processes + (number < workers % processes)) for number in range(processes)
        ]
        self._pending: dict[Any, tuple[_Process, _QueuedQuestion]] = {}

    def results(self, questions: Sequence[Question]) -> Iterator[Result]:
        """Ask the questions; yield results as they finish."""
        waiting = deque(map(_QueuedQuestion, questions))
        while True:
            while waiting and not self._stop.is_set() and (process := self._place(waiting[0])) is not None:
                self._begin(process, waiting.popleft())
            if not self._pending and (not waiting or self._stop.is_set()):
                return
            ref = self._next()
            if ref not in self._pending:
                self._opened(next(process for process in self._processes if process.opening == ref))
                continue
            process, item = self._pending.pop(ref)
            process.active -= 1
            process.alone = False
            try:
                result: Result = self._ray.get(ref)
            except (self._ray.exceptions.RayActorError, self._ray.exceptions.ObjectLostError) as error:
                if isinstance(error, self._ray.exceptions.RayActorError):  # else only the row is lost with its node
                    self._replace(process)
                item.deaths += 1
                if item.deaths <= RETRIES:
                    waiting.appendleft(item)
                    continue
                result = self._given_up(item)
            if isinstance(result, Finished):
                for (role, model), usage in (result.usage or {}).items():
                    self._ledger.take(role, model, usage)
            yield result

    def _next(self) -> Any:
        """The reference of a question that is finished, or of a process that has opened the program."""
        opening = [process.opening for process in self._processes if process.opening is not None]
        started = len(opening) < len(self._processes)
        ready, _ = self._ray.wait([*self._pending, *opening], timeout=None if started else START_SECONDS)
        if not ready:
            raise WorkerLostError(
                f"the cluster started no process within {START_SECONDS:g} s, and none is left; the same command"
                " continues the run when the cluster has free cores"
            )
        return ready[0]

    def close(self) -> None:
        """Kill the processes."""
        for process in self._processes:
            self._ray.kill(process.actor)
        if self._account is not None:
            self._ray.kill(self._account)

    def _opened(self, process: _Process) -> None:
        """Let a process ask questions that has opened the program; start another one if it died before.

        Raises:
            UserError: it cannot open the program.
        """
        try:
            failed: str = self._ray.get(process.opening)
        except self._ray.exceptions.RayActorError as error:
            if process.deaths >= RETRIES:
                raise UserError(f"a worker process did not start: {error}") from error
            self._replace(process, process.deaths + 1)
            return
        except self._ray.exceptions.RayError as error:
            raise UserError(f"a worker process did not start: {error}") from error
        process.opening = None
        if failed:
            raise UserError(failed)

    def _start(self, threads: int, deaths: int = 0) -> _Process:
        actor = self._ray.remote(Worker).options(num_cpus=1, max_concurrency=threads + 1).remote(*self._arguments)
        return _Process(actor, threads, actor.opened.remote(), deaths)

    def _start_account(self, limits: list[tuple[Budget, Usage]]) -> Any:
        """On the node of the run, so that no other node takes the count with it."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = NodeAffinitySchedulingStrategy(self._ray.get_runtime_context().get_node_id(), soft=False)
        return self._ray.remote(Account).options(num_cpus=0, scheduling_strategy=here).remote(limits)

    def _place(self, item: _QueuedQuestion) -> _Process | None:
        """The free process with the fewest questions; None if all are busy."""
        ready = [process for process in self._processes if process.opening is None and not process.alone]
        free = [process for process in ready if process.active < (1 if item.deaths else process.threads)]
        return min(free, key=lambda process: process.active, default=None)

    def _begin(self, process: _Process, item: _QueuedQuestion) -> None:
        process.active += 1
        process.alone = item.deaths > 0
        item.began = time.time()
        ref = process.actor.ask.remote(item.question, self._job.keys[item.question.id])
        self._pending[ref] = (process, item)

    def _replace(self, process: _Process, deaths: int = 0) -> None:
        """Start a process in place of a dead one, once, although each of its questions reports the death."""
        if process in self._processes:
            self._processes[self._processes.index(process)] = self._start(process.threads, deaths)

    def _given_up(self, item: _QueuedQuestion) -> Finished:
        error = WorkerLostError(
            f"the process that asked this question died {item.deaths} times; it may have run out of memory"
        )
        key = self._job.keys[item.question.id]
        seconds = time.time() - item.began
        return Finished(error_row(self._job.program, item.question, error, (), Usage(), key, seconds))


@contextmanager
def _ray(address: str | None, processes: int | None) -> Iterator[Any]:
    """Connect to Ray for the duration of the block; an existing connection is used."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    with extra("ray", "--executor ray"):
        import ray
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
