"""Bounds: a hub, many questions, many threads, two users of one base, and disks that cannot be written."""

from __future__ import annotations

import contextlib
import errno
import multiprocessing
import os
import random
import resource
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from torture.attack import Attack, Case, Failure
from torture.kills import (
    COMMANDS,
    CREATE,
    FAIL,
    REMOVE,
    RENAME,
    WRITE,
    Command,
    Nursery,
    available,
    finished,
    lost,
    snapshot,
)

HUB = 5_000_000
QUESTIONS = (1_000, 10_000, 100_000)


def _apart(work: Callable[..., Any], *given: Any) -> Any:
    """Run in a process of its own, whose memory is that of the work: its result and its peak in MiB."""

    def run(pipe: Any) -> None:
        try:
            found: Any = work(*given)
        except BaseException as error:  # noqa: BLE001 - handed to the parent
            found = error if isinstance(error, Failure) else Failure(f"{type(error).__name__}: {error}")
        pipe.send((found, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10))

    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=run, args=(there,))
    process.start()
    there.close()
    try:
        found, peak = here.recv()
    except EOFError:
        process.join()
        raise Failure(f"the process ended with {process.exitcode}") from None
    process.join()
    if isinstance(found, Exception):
        raise found
    return found, peak


def _build_hub(folder: Path, size: int) -> None:
    import numpy as np
    import pyarrow as pa

    from triplecheck.kg import build
    from triplecheck.kg.readers.raw import RawGraph

    names = pa.array(["Hub", *(f"n{number}" for number in range(size))])
    rows = np.arange(1, size + 1, dtype=np.int32)
    relation = pa.DictionaryArray.from_arrays(pa.array(np.zeros(size, np.int32)), pa.array(["likes"]))
    heads = pa.DictionaryArray.from_arrays(pa.array(rows), names)
    tails = pa.DictionaryArray.from_arrays(pa.array(np.zeros(size, np.int32)), names)
    build(RawGraph(heads, relation, tails), folder / "hub", encoder=None)


def _index_hub(folder: Path) -> None:
    from triplecheck.kg import KnowledgeBase

    _ = KnowledgeBase.open(folder / "hub").node_search


def _ask_hub(folder: Path) -> dict[str, float]:
    import dspy

    from triplecheck.kg import KnowledgeBase
    from triplecheck.lms import session
    from triplecheck.programs import Sources, resolve_program

    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
    sources = Sources.of(KnowledgeBase.open(folder / "hub"))
    took = {}
    for name in ("kerag", "anchorrag", "4stepfocus", "tog", "pog"):
        program = resolve_program(name)(sources)
        for question in ("Who likes Hub?", "How many like Hub?", "Who likes n5?"):
            began = time.monotonic()
            with session("extractive"):
                program(question)
            took[name] = max(took.get(name, 0.0), time.monotonic() - began)
    return took


def _look_up_hub(folder: Path) -> dict[str, float]:
    from torture.inputs import _app
    from triplecheck.app.config import load_settings
    from triplecheck.app.main import app
    from triplecheck.app.serve.service import Service

    base = str(folder / "hub")
    service = Service(load_settings(kb=base))
    took = {}
    for name, work in (
        ("neighbours", lambda: service.neighbours("Hub", limit=100)),
        ("match", lambda: _app(app, ["kb", "match", base, "?x likes Hub", "--json"])),
        ("match of two", lambda: _app(app, ["kb", "match", base, "?x likes ?y; ?z likes ?y", "--json"])),
    ):
        began = time.monotonic()
        work()
        took[name] = time.monotonic() - began
    return took


def hub(folder: Path, size: int = HUB) -> str:
    """A node with very many neighbours: each question and look-up under 20 s, in less than 4 GiB."""
    began = time.monotonic()
    _, built_in = _apart(_build_hub, folder, size)
    seconds = time.monotonic() - began
    began = time.monotonic()
    _, indexed_in = _apart(_index_hub, folder)  # once for a base, by the first question of 4StepFocus
    indexing = time.monotonic() - began
    took, peak = _apart(_ask_hub, folder)
    looked_up, peak_of_look_ups = _apart(_look_up_hub, folder)
    told = [f"{size:,} neighbours: built in {seconds:.0f} s with {built_in:,} MiB"]
    told += [f"node documents indexed in {indexing:.0f} s with {indexed_in:,} MiB"]
    told += [f"{name} {second:.1f} s" for name, second in (took | looked_up).items()]
    told += [f"{peak:,} MiB for questions, {peak_of_look_ups:,} MiB for look-ups"]
    if max(*took.values(), *looked_up.values()) > 20 or max(built_in, indexed_in, peak, peak_of_look_ups) > 4096:
        raise Failure(", ".join(told))
    return ", ".join(told)


def _evaluate(folder: Path, count: int) -> int:
    from eval_parts import SILENT, OneHop, SilentEngine, build_knowledge_base, sources

    from triplecheck.evals import Question, evaluate
    from triplecheck.lms import register_engine

    register_engine(SILENT, SilentEngine())
    folder.mkdir()
    base = build_knowledge_base(folder)
    # A thousand texts: the encoder's memory of texts, which has a bound of its own, is full at every count.
    # One in ten is answered; the others, which are quick, have a row all the same.
    texts = [f"{'abstain ' if n % 10 else ''}w{n} borders of Q142" for n in range(1000)]
    asked = (Question(f"q{n}", texts[n % 1000], ("Q183", "Q39"), ("Q142",)) for n in range(count))
    summary = evaluate(OneHop(sources(base)), asked, folder / "run", roles=SILENT, knowledge_base=base)
    return summary.scores.n


def questions(folder: Path, counts: tuple[int, ...] = QUESTIONS) -> str:
    """The memory of an evaluation grows by at most 3 KiB for each question, with what the caller holds of it."""
    peaks = {}
    for count in counts:
        scored, peaks[count] = _apart(_evaluate, folder / f"questions{count}", count)
        if scored != count:
            raise Failure(f"{scored} of {count} questions are scored")
    first, last = min(counts), max(counts)
    each = (peaks[last] - peaks[first]) * 1024 / (last - first)
    told = ", ".join(f"{count:,}: {peak:,} MiB" for count, peak in peaks.items())
    if each > 3:
        raise Failure(f"{told}: {each:.1f} KiB for each further question")
    return told


def threads(folder: Path, count: int = 64, rounds: int = 5) -> str:
    """One program in many threads: the answers of one thread."""
    import dspy
    from text_parts import build_text_world

    from triplecheck.lms import session
    from triplecheck.programs import Sources, resolve_program

    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
    (folder / "world").mkdir()
    sources = Sources.of(build_text_world(folder / "world", embedded=True))
    asked = ("Who studied with Paul Hindemith?", "Where was Bernhard Heiden born?", "How many instruments?")
    done = 0
    for name in ("kerag", "anchorrag", "4stepfocus", "know3rag", "tog", "pog"):
        program = resolve_program(name)(sources)

        def ask(number: int, program: Any = program) -> tuple[str, str, int]:
            with session("extractive") as ledger:
                found = program(asked[number % len(asked)])
                return found.answer, str(found.evidence), ledger.usage().calls

        right = [ask(number) for number in range(len(asked))]
        with ThreadPoolExecutor(count) as pool:
            for number, found in enumerate(pool.map(ask, range(count * rounds))):
                done += 1
                if found != right[number % len(asked)]:
                    raise Failure(f"{name}: {found} in a thread, {right[number % len(asked)]} alone")
    return f"{done:,} questions in {count} threads"


def users(folder: Path, count: int = 40) -> str:
    """A base that one process replaces again and again while another reads it: its content, or our error."""
    from kg_parts import built

    from triplecheck.kg import KnowledgeBase, TriplecheckError

    place = folder / "two"
    old, new = "A\tlikes\tB\nB\tlikes\tC\n", "X\thates\tA\nA\thates\tB\nY\tlikes\tA\n"
    built(place, old)
    stop, problems, reads = threading.Event(), [], 0

    def replace() -> None:
        for number in range(count):
            built(place, (new, old)[number % 2])

    writer = multiprocessing.get_context("fork").Process(target=replace)
    writer.start()
    names = ({"A", "B", "C"}, {"A", "B", "X", "Y"})
    while writer.is_alive():
        with contextlib.suppress(TriplecheckError):
            base = KnowledgeBase.open(place / "kb")
            graph = base.graph
            found = set(graph.labels(range(graph.num_nodes)))
            if found not in names or any(not base.names.nodes(name.casefold()) for name in found):
                problems.append(found)
            reads += 1
    stop.set()
    if problems or writer.exitcode or not reads:
        raise Failure(f"{len(problems)} mixtures: {problems[:2]}, the writer ended with {writer.exitcode}")
    return f"{reads:,} reads during {count} replacements"


class _Disks:
    """Commands on disks that are full or read-only, by `faults.c`; one command a case."""

    def __init__(self, folder: Path) -> None:
        self.nursery = Nursery(folder)

    def full(self, name: str, chance: random.Random) -> int:
        """The disk is full from a chosen write on: an error of ours, what was there is whole, and space helps."""
        reference, command = self.nursery.reference(name), COMMANDS[name]
        return self._failed(name, command, chance.choice((errno.ENOSPC, errno.EDQUOT, errno.EIO)), chance, reference)

    def _failed(self, name: str, command: Command, code: int, chance: random.Random, reference: Any) -> int:
        import shutil

        place = self.nursery._folder / "place"
        shutil.copytree(reference.template, place)
        try:
            nth = int(2 ** chance.uniform(0, 9))
            ended = self.nursery.command(
                place, command.words, command.asked, kinds=WRITE | CREATE, nth=nth, action=FAIL, error=code
            )
            if "Traceback" in ended.output or ended.code not in (0, 1, 2, 3):
                raise Failure(f"{name}: {errno.errorcode[code]} ends with {ended.code}: {ended.output[-1500:]}")
            done = finished(place)
            again = self.nursery.command(place, command.words, command.asked)
            if again.code and not command.is_done(again):
                raise Failure(f"{name}: the run after {errno.errorcode[code]} ends with {again.code}: {again.output}")
            if lost(done, finished(place)):
                raise Failure(f"{name}: finished work is lost: {lost(done, finished(place))[:3]}")
            more = set(snapshot(place)) - reference.names
            if more:
                raise Failure(f"{name}: files too many: {sorted(more)}")
            return 1
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def read_only(self, words: str) -> None:
        """A read-only disk, and no home: what only reads, works; what writes, says why it cannot."""
        import shutil

        place = self.nursery._folder / "place"
        shutil.copytree(self.nursery.reference("eval").template, place)
        try:
            everything = WRITE | CREATE | RENAME | REMOVE
            ended = self.nursery.command(place, words, kinds=everything, nth=1, action=FAIL, error=errno.EROFS)
            expected = (0,) if words.startswith(("ask", "kb info", "kb search", "kb match")) else (1, 2)
            if "Traceback" in ended.output or ended.code not in expected:
                raise Failure(f"{words}: a read-only disk ends with {ended.code}: {ended.output[-1500:]}")
        finally:
            shutil.rmtree(place, ignore_errors=True)


READING = (
    'ask "Where was Person Adler born?" --kb base',
    "kb info base --verify",
    'kb search base "Adler"',
    "kb match base \"?x 'born in' ?y\"",
    "eval kerag --kb base --questions questions.jsonl --out run",
    "kb build base --triples new.tsv --no-vectors",
    "synthesize base made.jsonl --limit 4",
)


def _no_home(words: str) -> None:
    import subprocess
    import sys

    clean = {name: value for name, value in os.environ.items() if name not in ("HOME", "LD_PRELOAD")}
    clean |= {"HOME": "/nonexistent", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    for name in ("DSPY_CACHEDIR", "TRIPLECHECK_CACHE", "XDG_CACHE_HOME"):
        clean.pop(name, None)
    ended = subprocess.run(
        [sys.executable, "-m", "triplecheck.app.main", *words.split()],
        env=clean, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    if "Traceback" in ended.stderr or ended.returncode not in (0, 2):
        raise Failure(f"without a home: {words}: {ended.returncode}: {ended.stderr[-1500:]}")


@contextlib.contextmanager
def cases(folder: Path) -> Iterator[Case]:
    """Each bound once; its figures are printed."""
    bounds: list[Callable[[Path], str]] = [users, threads, questions, hub]

    def case(number: int, _: random.Random) -> None:
        place = folder / str(number)
        place.mkdir()
        print(f"  {bounds[number].__name__}: {bounds[number](place)}", flush=True)

    yield case


@contextlib.contextmanager
def disks(folder: Path) -> Iterator[Case]:
    """A full disk at some write of each command, then a read-only one."""
    attacked = _Disks(folder)
    names = [name for name in available() if name != "distill"]

    def case(number: int, chance: random.Random) -> None:
        if number < len(READING):
            attacked.read_only(READING[number])
        elif number < len(READING) + 2:
            _no_home(("programs", "data list")[number - len(READING)])
        else:
            attacked.full(names[number % len(names)], chance)

    yield case


BOUNDS = Attack("bounds", "a hub of 5 M, 100,000 questions, 64 threads, two users", 4, 3000.0, cases, fixed=True)
DISKS = Attack("disks", "full and read-only disks, no home", 300, 300.0, disks, preloaded=True)
