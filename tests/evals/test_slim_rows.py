"""Slim rows: the same summary in little memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from eval_parts import SILENT, OneHop, sources

from triplecheck.evals import Question, evaluate
from triplecheck.evals.run_directory import read_rows
from triplecheck.evals.slim_rows import SlimRow
from triplecheck.evals.summary import summarize
from triplecheck.kg import KnowledgeBase

ASKED = [
    Question("right", "capital of Q142", ("Paris",), ("France",), kind="plain", hops=1),
    Question("wrong", "wrong capital of Q142", ("Q90",), ("Q142",), kind="plain"),
    Question("abstained", "abstain capital of Q142", ("Q90",), ("Q142",), popularity=7),
    Question("crashed", "crash capital of Q142", ("Q90",), ("Q142",)),
    Question("unreadable", "unreadable capital of Q142", ("Q90",), ("Q142",)),
    Question("unanswerable", "abstain capital of Q90", (), ("Q90",)),
]


@pytest.fixture(scope="module")
def rows(knowledge_base: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    out: Path = tmp_path_factory.mktemp("slim") / "run"
    evaluate(OneHop(sources(knowledge_base)), ASKED, out, roles=SILENT, knowledge_base=knowledge_base)
    return list(read_rows(out))


def test_the_summary_is_the_same(rows: list[dict[str, Any]]) -> None:
    whole = summarize(rows)
    assert summarize(map(SlimRow, rows)) == whole
    assert whole.scores.status == {"abstained": 2, "error": 1, "ok": 2, "parse_error": 1}


def test_a_row_takes_little_memory(rows: list[dict[str, Any]]) -> None:
    tracemalloc.start()
    slim = [SlimRow(row) for row in rows * 100]
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size / len(slim) < 1024
