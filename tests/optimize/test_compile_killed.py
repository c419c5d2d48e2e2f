"""`kill -9` while an optimizer runs: the same command gives the same program, and no call is made twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import killed_compiles
import pytest

from triplecheck.kg import KnowledgeBase

SECONDS = 120


def _start(bundled: KnowledgeBase, out: Path, optimizer: str, log: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, killed_compiles.__file__, str(bundled.path), str(out), optimizer, str(log)],
        stdout=subprocess.DEVNULL,
        env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def _lines(path: Path) -> int:
    return len(path.read_bytes().splitlines()) if path.is_file() else 0


@pytest.mark.parametrize("optimizer", killed_compiles.SETTINGS)
def test_a_killed_run_is_resumed_without_repeated_calls(optimizer: str, bundled: KnowledgeBase, tmp_path: Path) -> None:
    whole, killed, again = (tmp_path / name for name in ("whole.log", "killed.log", "again.log"))
    killed_compiles.main(str(bundled.path), str(tmp_path / "whole"), optimizer, str(whole))
    process = _start(bundled, tmp_path / "run", optimizer, killed)
    # Well into the optimizer: past the pilot, and with scores on disk.
    deadline = time.monotonic() + SECONDS
    while _lines(tmp_path / "run" / "scores.jsonl") < 3:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "run" / "bundle").exists()
    assert _start(bundled, tmp_path / "run", optimizer, again).wait(SECONDS) == 0
    # The call under way when the process was killed is made again, and no other.
    assert _lines(whole) <= _lines(killed) + _lines(again) <= _lines(whole) + 1
    assert _lines(again) < _lines(whole)
    programs = [(tmp_path / name / "bundle" / "program.json").read_text() for name in ("whole", "run")]
    assert programs[0] == programs[1]
    reports = [json.loads((tmp_path / name / "report.json").read_text()) for name in ("whole", "run")]
    assert reports[0]["candidates"] == reports[1]["candidates"]
    assert reports[1]["after"]["f1"] == 1
