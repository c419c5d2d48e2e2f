"""Timing on a busy machine: contestants take turns, and medians are compared."""

from __future__ import annotations

import gc
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def interleaved(contestants: Mapping[str, Callable[[], object]], rounds: int, calls: int = 1) -> dict[str, float]:
    """Median seconds per call of each contestant. Each runs once per round, after one warm-up round.

    Args:
        contestants: functions by name; each makes `calls` calls of the timed code.
        rounds: measured rounds.
        calls: the divisor of the time.
    """
    taken: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(rounds + 1):
        for name, run in contestants.items():
            gc.collect()  # so that no contestant collects another's garbage
            seconds = timed(run)
            if turn:
                taken[name].append(seconds / calls)
    return {name: statistics.median(times) for name, times in taken.items()}


def timed(run: Callable[[], object]) -> float:
    """Seconds of one run."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def peak_memory() -> int:
    """The most memory that this process held, in bytes.

    Under Linux not by `getrusage`: that counts the process that started this one, if it was the larger.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\s+(\d+)", status.read_text())[1]) * 1024  # type: ignore[index]
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def each(run: Callable[[Any], object], items: Sequence[Any]) -> list[float]:
    """Seconds of one call per item."""
    return [timed(lambda item=item: run(item)) for item in items]  # type: ignore[misc]


def percentile(times: Sequence[float], share: float) -> float:
    """The time within which this share of the calls finish."""
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]


def fresh_process(code: str, *arguments: object, **variables: str) -> Any:
    """Run code in a new interpreter with an empty cache of replies, and parse the last line of its output as JSON.

    Args:
        code: Python.
        arguments: its `sys.argv` from 1 on.
        variables: set in its environment.

    Raises:
        RuntimeError: the process failed.
    """
    command = [sys.executable, "-c", code, *map(str, arguments)]
    with tempfile.TemporaryDirectory() as replies:
        given = {**os.environ, "DSPY_CACHEDIR": replies, **variables}
        done = subprocess.run(command, cwd=ROOT, env=given, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"a measured process failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])
