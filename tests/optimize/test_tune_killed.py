"""`kill -9` while compile tries what pays: the same command gives the same table, and makes no answered call twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import killed_tunes

from triplecheck.kg import KnowledgeBase

STAGES = (killed_tunes.RECORDING, killed_tunes.TRYING, killed_tunes.DECIDING)


def _table(out: Path) -> list[Any]:
    choices = json.loads((out / "report.json").read_text())["choices"]
    right = [[line[part] and line[part]["right"] for part in ("validation", "test")] for line in choices]
    return [[line["name"], line["kept"], line["gain"], line["note"]] for line in choices] + right


def test_a_run_that_is_killed_at_each_stage_ends_with_the_same_table(bundled: KnowledgeBase, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, killed_tunes.__file__, str(bundled.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        calls = dict.fromkeys(("whole", "run"), 0)
        for name, stage in (("whole", "none"), *(("run", stage) for stage in STAGES), ("run", "none")):
            log = tmp_path / "log"
            log.unlink(missing_ok=True)
            print(tmp_path / name, log, stage.replace(" ", "_"), file=process.stdin, flush=True)
            ended = int(process.stdout.readline())
            assert ended == (0 if stage == "none" else signal.SIGKILL), stage
            assert stage == "none" or not (tmp_path / name / "report.json").exists()
            calls[name] += len(log.read_text().splitlines()) if log.is_file() else 0
        process.stdin.close()
    # A call that is under way when the process is killed has no answer yet. It is made again, once for each kill.
    assert 0 < calls["whole"] <= calls["run"] <= calls["whole"] + len(STAGES)
    assert _table(tmp_path / "run") == _table(tmp_path / "whole")
    programs = [(tmp_path / name / "bundle" / "program.json").read_text() for name in calls]
    assert programs[0] == programs[1]
