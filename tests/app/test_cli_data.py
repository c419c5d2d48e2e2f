"""`triplecheck data`, and `triplecheck eval --data`."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from cli_support import Process, Run, ok, refused

LINES = "what was the nationality of [Paul Hindemith]\tGermany\nwhere was [Paul Hindemith] born\tHanau\n"


@pytest.fixture
def metaqa(elsewhere: Path) -> Path:
    file = elsewhere / "MetaQA" / "1-hop" / "vanilla" / "qa_dev.txt"
    file.parent.mkdir(parents=True)
    file.write_text(LINES, "utf-8")
    return elsewhere / "MetaQA"


def test_data_sets_are_listed_and_shown(run: Run) -> None:
    known = json.loads(run("data", "list", "--json").stdout)
    assert {"hotpotqa", "popqa", "stark-prime", "crag", "grailqa"} <= set(known)
    assert "popqa" in run("data", "list").stdout
    shown = run("data", "show", "popqa").stdout
    for part in ("14,267 questions", "MIT", "2212.10511", "akariasai/PopQA", "--path"):
        assert part in shown
    assert json.loads(run("data", "show", "popqa", "--json").stdout)["hub"]["id"] == "akariasai/PopQA"


def test_an_unknown_name_is_an_invalid_request(run: Run) -> None:
    refused(run("data", "show", "popqa2"), "did you mean popqa")


def test_questions_are_converted(run: Run, metaqa: Path) -> None:
    result = ok(run("data", "convert", "metaqa-1hop", "out.jsonl", "--path", metaqa, "--split", "dev"))
    assert "2 questions" in result.stdout
    rows = [json.loads(line) for line in Path("out.jsonl").read_text("utf-8").splitlines()]
    assert [row["answers"] for row in rows] == [["Germany"], ["Hanau"]]


def test_a_data_set_is_evaluated_by_name_as_by_its_converted_file(run: Run, kb: Path, metaqa: Path) -> None:
    words = ["eval", "kerag", "--kb", kb, "--json"]
    by_name = ok(run(*words, "--data", "metaqa-1hop", "--split", "dev", "--path", metaqa))
    first = json.loads(by_name.stdout)
    assert first["n"] == 2
    assert first["link_recall"] == 1
    assert first["out"] == str(Path("runs/kerag-metaqa-1hop-dev-extractive"))
    run("data", "convert", "metaqa-1hop", "out.jsonl", "--path", metaqa, "--split", "dev")
    second = json.loads(run(*words, "--questions", "out.jsonl").stdout)
    assert [second[name] for name in ("n", "hits_at_1", "f1")] == [first[name] for name in ("n", "hits_at_1", "f1")]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--data", "popqa", "--questions", "q.jsonl"], "exclude each other"),
        (["--split", "test"], "name it with --data"),
        (["--data", "metaqa", "--path", "nowhere"], "nowhere: no such file"),
    ],
)
def test_contradictions_are_refused(run: Run, words: list[str], said: str) -> None:
    refused(run("eval", "kerag", *words), said)


def test_a_hub_out_of_reach_ends_soon_with_a_code_of_its_own(process: Process) -> None:
    began = time.perf_counter()
    result = process("data", "convert", "2wikimultihopqa", "out.jsonl", HF_ENDPOINT="http://127.0.0.1:9", HF_HOME="hf")
    assert result.returncode == 3, result.stderr
    assert time.perf_counter() - began < 30
    assert "--path" in result.stderr
    assert "Traceback" not in result.stderr
    assert not Path("out.jsonl").exists()
