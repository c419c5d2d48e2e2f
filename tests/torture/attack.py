"""What an attack is, and the process that runs its cases one after another."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import mmap
import os
import random
import shutil
import signal
import struct
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

Case = Callable[[int, random.Random], int | None]
"""Runs a case: its number, and its source of chance. It returns its tries, None for one. An exception is a failure."""


class Failure(AssertionError):  # noqa: N818
    """Something that must hold does not hold."""


class Frozen(BaseException):
    """A case exceeded its time limit."""


@dataclass(frozen=True)
class Attack:
    """A kind of attack.

    Attributes:
        name: in the command line.
        about: what is attacked, for the table.
        tries: cases of a run of some minutes.
        seconds: limit of a case.
        cases: prepares the attack in an empty folder and yields the function that runs a case.
        preloaded: whether its process needs `faults.c`.
        fixed: the cases are numbered, not random: there are no more than `tries`.
    """

    name: str
    about: str
    tries: int
    seconds: float
    cases: Callable[[Path], AbstractContextManager[Case]]
    preloaded: bool = False
    fixed: bool = False


class State:
    """How far an attack has come, on disk: a killed run continues."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.failures_file = folder / "failures.jsonl"
        place = folder / "next"
        if not place.is_file():
            place.write_bytes(bytes(16))
        with place.open("r+b") as file:
            self._numbers = mmap.mmap(file.fileno(), 16)

    @property
    def next(self) -> int:
        """The case that is running, or the next one."""
        return int(struct.unpack("qq", self._numbers[:])[0])

    @property
    def tries(self) -> int:
        """What the cases before it have tried."""
        return int(struct.unpack("qq", self._numbers[:])[1])

    def passed(self, tries: int) -> None:
        """Go on to the next case."""
        self._numbers[:] = struct.pack("qq", self.next + 1, self.tries + tries)

    def fail(self, case: int, kind: str, details: str) -> None:
        """Record a failure."""
        with self.failures_file.open("a") as file:
            file.write(json.dumps({"case": case, "kind": kind, "details": details}) + "\n")

    def failures(self) -> list[dict[str, str]]:
        """All failures."""
        if not self.failures_file.is_file():
            return []
        return [json.loads(line) for line in self.failures_file.read_text().splitlines()]


def chance(attack: Attack, seed: int, case: int) -> random.Random:
    """The source of chance of a case: the same in each run."""
    return random.Random(f"{attack.name} {seed} {case}")


def run(attack: Attack, state: State, seed: int, until: int, deadline: float) -> None:
    """Run the cases from `state.next` to `until`, or to a time; for the process of an attack."""
    with temporary() as folder, attack.cases(folder) as case:
        while state.next < until and time.time() < deadline:
            number = state.next
            tries, problem = attempt(attack, case, seed, number)
            if problem is not None:
                state.fail(number, *problem)
            state.passed(tries)


def attempt(attack: Attack, case: Case, seed: int, number: int) -> tuple[int, tuple[str, str] | None]:
    """Run one case: its tries, and the kind and the details of its failure, or None."""
    try:
        with limited(attack.seconds):
            tries = case(number, chance(attack, seed, number))
            return 1 if tries is None else tries, None
    except (Exception, Frozen) as error:  # noqa: BLE001 - any error is a failure
        return 1, (signature(error), "".join(traceback.format_exception(error)))


def signature(error: BaseException) -> str:
    """One text for equal failures: the error and the innermost place in the package."""
    if isinstance(error, Failure):
        return str(error)
    while error.__cause__ is not None and isinstance(error, Failure):
        error = error.__cause__
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "tests/torture/" not in frame.filename]
    ours = [frame for frame in frames if "triplecheck/" in frame.filename] or frames
    place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "?"
    return f"{type(error).__name__} at {place}"


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `Frozen` after some seconds; end the process where even that is impossible, as in a regular expression."""

    def freeze(_: int, frame: FrameType | None) -> None:
        raise Frozen(f"not finished after {seconds:g} s")

    signal.signal(signal.SIGALRM, freeze)
    faulthandler.dump_traceback_later(3 * seconds, exit=True)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()


@contextlib.contextmanager
def temporary() -> Iterator[Path]:
    """An empty folder that goes at the end; in memory, if there is such a disk."""
    memory = Path("/dev/shm")
    in_memory = memory.is_dir() and os.access(memory, os.W_OK) and "TMPDIR" not in os.environ
    folder = Path(tempfile.mkdtemp(prefix="torture-", dir=memory if in_memory else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
