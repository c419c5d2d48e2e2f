"""`kill -9` while a program is compiled: the same command ends alike, and makes no answered call twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import killed_compiling
import pytest
from killed_compiling import lines

from triplecheck.kg import KnowledgeBase

Fork: TypeAlias = Callable[[Path, str, Path, str], int]
STAGES = (killed_compiling.RECORDING, killed_compiling.TRYING, killed_compiling.DECIDING)


@pytest.fixture(scope="module")
def fork(bundled: KnowledgeBase) -> Iterator[Fork]:
    """Runs in a fork, and gives its exit status."""
    with subprocess.Popen(
        [sys.executable, killed_compiling.__file__, str(bundled.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        given, told = process.stdin, process.stdout

        def ended(out: Path, optimizer: str, log: Path, stage: str) -> int:
            print(json.dumps([str(out), optimizer, str(log), stage]), file=given, flush=True)
            return int(told.readline())

        yield ended
        process.kill()


def _read(tmp_path: Path, file: str) -> list[Any]:
    return [json.loads((tmp_path / name / file).read_text()) for name in ("whole", "run")]


@pytest.mark.parametrize("optimizer", killed_compiling.SETTINGS)
def test_a_killed_run_is_resumed_without_repeated_calls(optimizer: str, tmp_path: Path, fork: Fork) -> None:
    whole, killed, again = (tmp_path / name for name in ("whole.log", "killed.log", "again.log"))
    assert fork(tmp_path / "whole", optimizer, whole, "") == 0
    assert fork(tmp_path / "run", optimizer, killed, killed_compiling.SCORED) == -signal.SIGKILL
    assert not (tmp_path / "run" / "bundle").exists()
    assert fork(tmp_path / "run", optimizer, again, "") == 0
    # The call under way when the process was killed is made again, and no other.
    assert lines(whole) <= lines(killed) + lines(again) <= lines(whole) + 1
    assert lines(again) < lines(whole)
    programs, reports = _read(tmp_path, "bundle/program.json"), _read(tmp_path, "report.json")
    assert programs[0] == programs[1]
    assert reports[0]["candidates"] == reports[1]["candidates"]
    assert reports[1]["after"]["f1"] == 1


def _table(report: dict[str, Any]) -> list[Any]:
    right = [[line[part] and line[part]["right"] for part in ("validation", "test")] for line in report["choices"]]
    return [[line["name"], line["kept"], line["gain"], line["note"]] for line in report["choices"]] + right


def test_without_an_optimizer_a_run_that_is_killed_at_each_stage_ends_with_the_same_table(
    tmp_path: Path, fork: Fork
) -> None:
    whole, run = tmp_path / "whole.log", tmp_path / "run.log"
    assert fork(tmp_path / "whole", "", whole, "") == 0
    for stage in STAGES:
        assert fork(tmp_path / "run", "", run, stage) == -signal.SIGKILL, stage
        assert not (tmp_path / "run" / "report.json").exists()
    assert fork(tmp_path / "run", "", run, "") == 0
    # A call that is under way when the process is killed has no answer yet. It is made again, once for each kill.
    assert 0 < lines(whole) <= lines(run) <= lines(whole) + len(STAGES)
    programs, reports = _read(tmp_path, "bundle/program.json"), _read(tmp_path, "report.json")
    assert programs[0] == programs[1]
    assert _table(reports[0]) == _table(reports[1])
