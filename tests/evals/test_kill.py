"""`kill -9`, again and again: every question ends with one row, and no finished one is asked again."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import killed_runs
import pytest

from triplecheck.kg import KnowledgeBase

QUESTIONS = [f"w{n} borders of Q142" for n in range(200)]
KILLS = 4


@pytest.fixture
def nursery(knowledge_base: KnowledgeBase, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    lines = (json.dumps({"id": f"q{n}", "question": q, "answers": ["Q183"]}) + "\n" for n, q in enumerate(QUESTIONS))
    (tmp_path / "questions.jsonl").write_text("".join(lines))
    arguments = [str(knowledge_base.path), *(str(tmp_path / name) for name in ("out", "questions.jsonl", "log"))]
    with subprocess.Popen(
        [sys.executable, killed_runs.__file__, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "DSPY_CACHEDIR": str(tmp_path / "cache")},
    ) as process:
        yield process
        process.kill()


def test_kill_after_kill_each_question_is_finished_once(nursery: subprocess.Popen[str], tmp_path: Path) -> None:
    assert nursery.stdin is not None and nursery.stdout is not None
    rows, log, chance = tmp_path / "out" / "rows.jsonl", tmp_path / "log", random.Random(7)
    finished: set[str] = set()
    for kill in [True] * KILLS + [False]:
        log.unlink(missing_ok=True)
        print("go", file=nursery.stdin, flush=True)
        child = int(nursery.stdout.readline())
        if kill:
            goal, deadline = len(finished) + chance.randint(2, 8), time.monotonic() + 60
            while len(_whole(rows)) < goal:
                assert time.monotonic() < deadline
                time.sleep(0.002)
            time.sleep(chance.random() * 0.03)
            os.kill(child, signal.SIGKILL)
        assert nursery.stdout.readline() == "ended\n"
        asked = Counter(log.read_text().splitlines())
        assert not finished & asked.keys(), "a finished question was asked again"
        assert max(asked.values()) == 1
        now = [json.loads(line) for line in _whole(rows)]
        assert len(now) == len({row["question"] for row in now})
        assert finished <= {row["question"] for row in now}, "a finished question was lost"
        finished = {row["question"] for row in now}
        assert kill == (len(finished) < len(QUESTIONS))
    assert Counter(row["id"] for row in now) == Counter(f"q{n}" for n in range(len(QUESTIONS)))
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["coverage"] == 1


def _whole(rows: Path) -> list[bytes]:
    return (
        [line for line in rows.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")] if rows.is_file() else []
    )
