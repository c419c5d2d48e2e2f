"""`kill -9` while an optimizer runs: the same command gives the same program, and no call is made twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import killed_compiles
import pytest

from triplecheck.kg import KnowledgeBase

SECONDS = 120


@pytest.fixture(scope="module")
def nursery() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, killed_compiles.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        yield process
        process.kill()


def _start(nursery: subprocess.Popen[str], *words: object) -> int:
    """Start to compile; return the id of the process."""
    assert nursery.stdin is not None and nursery.stdout is not None
    print(json.dumps([str(word) for word in words]), file=nursery.stdin, flush=True)
    return int(nursery.stdout.readline())


def _ended(nursery: subprocess.Popen[str]) -> int:
    assert nursery.stdout is not None
    return int(nursery.stdout.readline())


def _lines(path: Path) -> int:
    return len(path.read_bytes().splitlines()) if path.is_file() else 0


@pytest.mark.parametrize("optimizer", killed_compiles.SETTINGS)
def test_a_killed_run_is_resumed_without_repeated_calls(
    optimizer: str, bundled: KnowledgeBase, tmp_path: Path, nursery: subprocess.Popen[str]
) -> None:
    whole, killed, again = (tmp_path / name for name in ("whole.log", "killed.log", "again.log"))
    killed_compiles.main(str(bundled.path), str(tmp_path / "whole"), optimizer, str(whole))
    process = _start(nursery, bundled.path, tmp_path / "run", optimizer, killed, 0.02)
    # Well into the optimizer: past the pilot, and with scores on disk.
    deadline = time.monotonic() + SECONDS
    while _lines(tmp_path / "run" / "scores.jsonl") < 3:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    os.kill(process, signal.SIGKILL)
    assert _ended(nursery) == -signal.SIGKILL
    assert not (tmp_path / "run" / "bundle").exists()
    _start(nursery, bundled.path, tmp_path / "run", optimizer, again)
    assert _ended(nursery) == 0
    # The call under way when the process was killed is made again, and no other.
    assert _lines(whole) <= _lines(killed) + _lines(again) <= _lines(whole) + 1
    assert _lines(again) < _lines(whole)
    programs = [(tmp_path / name / "bundle" / "program.json").read_text() for name in ("whole", "run")]
    assert programs[0] == programs[1]
    reports = [json.loads((tmp_path / name / "report.json").read_text()) for name in ("whole", "run")]
    assert reports[0]["candidates"] == reports[1]["candidates"]
    assert reports[1]["after"]["f1"] == 1
