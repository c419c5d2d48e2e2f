"""`triplecheck eval`: a table, rows and a summary; an unfinished run is resumed."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from cli_support import QUESTION, Run, ok, refused
from model_stand_ins import costly_rules

QUESTIONS = [
    {"id": "q1", "question": QUESTION, "answers": ["Germany"], "hops": 2},
    {"id": "q2", "question": "Where was Paul Hindemith born?", "answers": ["Hanau"], "hops": 1},
    {"id": "q3", "question": "Who won the cup final?", "answers": []},
]


@pytest.fixture
def questions(elsewhere: Path) -> Path:
    path = elsewhere / "questions.jsonl"
    path.write_text("\n".join(map(json.dumps, QUESTIONS)), "utf-8")
    return path


def test_a_run_leaves_a_table_rows_and_a_summary(run: Run, kb: Path, questions: Path) -> None:
    result = ok(run("eval", "kerag", "--kb", kb, "--questions", questions, "--out", "run"))
    assert "hits@1" in result.stdout
    assert "2 hops" in result.stdout
    assert "default=extractive" in result.stdout
    rows = [json.loads(line) for line in Path("run/rows.jsonl").read_text("utf-8").splitlines()]
    assert {row["id"] for row in rows} == {"q1", "q2", "q3"}
    assert json.loads(Path("run/summary.json").read_text("utf-8"))["n"] == 3
    assert not result.stderr


def test_the_summary_names_the_threshold_that_was_used(run: Run, questions: Path) -> None:
    words = ["eval", "know3rag", "--kb", "bundled", "--questions", questions, "--limit", 1, "--option", "turns=0"]
    shown = ok(run(*words, "--option", "theta_0=0.25", "--out", "run"))
    assert "thresholds: theta_0 = 0.25\n" in shown.stdout
    assert json.loads(Path("run/run.json").read_text("utf-8"))["configuration"]["thresholds"] == {"theta_0": 0.25}


def test_an_unfinished_run_is_resumed(run: Run, kb: Path, questions: Path) -> None:
    words = ["eval", "kerag", "--kb", kb, "--questions", questions, "--workers", 2, "--json"]
    first = json.loads(run(*words, "--limit", 2).stdout)
    assert first["n"] == 2
    before = Path(first["out"], "rows.jsonl").read_text("utf-8")
    second = json.loads(run(*words).stdout)
    assert second["n"] == 3
    assert second["out"] == first["out"] == str(Path("runs/kerag-questions-extractive"))
    assert Path(second["out"], "rows.jsonl").read_text("utf-8").startswith(before)


def test_a_cascade_is_evaluated(run: Run, kb: Path, questions: Path) -> None:
    words = ["eval", "kerag", "--kb", kb, "--questions", questions, "--lm", "extractive?ranker=none", "--json"]
    found = json.loads(run(*words, "--cascade", "extractive").stdout)
    assert found["out"] == str(Path("runs/cascade-kerag-questions-extractive?ranker=none"))
    assert found["configuration"]["switches"]["members"] == [[0, {"default": "extractive"}], [1, None]]
    assert "twice" in run(*words, "--cascade", "extractive?ranker=none").stderr


def test_the_two_parts_share_no_question(run: Run, kb: Path, elsewhere: Path) -> None:
    asked = [QUESTIONS[0] | {"id": f"q{number}"} for number in range(8)]
    Path("questions.jsonl").write_text("\n".join(map(json.dumps, asked)), "utf-8")
    parts = []
    for part in ("train", "dev"):
        words = ["eval", "kerag", "--kb", kb, "--questions", "questions.jsonl", "--part", part, "--json"]
        found = json.loads(run(*words).stdout)
        assert found["out"] == str(Path(f"runs/kerag-questions-{part}-extractive"))
        rows = Path(found["out"], "rows.jsonl").read_text("utf-8").splitlines()
        parts.append({json.loads(row)["id"] for row in rows})
    assert all(parts)
    assert not parts[0] & parts[1]
    assert parts[0] | parts[1] == {question["id"] for question in asked}


def test_an_empty_part_is_an_error(run: Run, kb: Path, elsewhere: Path) -> None:
    Path("one.jsonl").write_text(json.dumps(QUESTIONS[0]), "utf-8")
    results = [
        run("eval", "kerag", "--kb", kb, "--questions", "one.jsonl", "--part", part) for part in ("train", "dev")
    ]
    assert sorted(result.exit_code == 0 for result in results) == [False, True]
    assert any("no question is in the part" in result.stderr for result in results)


def test_a_spent_budget_stops_the_run_and_says_how_to_go_on(run: Run, kb: Path, questions: Path) -> None:
    few = ("--lm", "costly", "--budget-calls", 1)
    with costly_rules():
        result = run("eval", "kerag", "--kb", kb, "--questions", questions, *few, "--out", "run")
    assert result.exit_code == 4
    assert "budget of 1 calls" in result.stderr
    assert "again" in result.stderr
    assert "not_run 3" in result.stdout


def test_unreachable_models_have_an_exit_code_of_their_own(
    run: Run, kb: Path, questions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("triplecheck.lms.resolve.RETRIES", 0)
    words = ("eval", "kerag", "--kb", kb, "--questions", questions, "--limit", 1, "--lm", "openai/x", "--out", "run")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        result = run(*words, OPENAI_API_BASE=base, OPENAI_API_KEY="none")
    assert result.exit_code == 3, result.output
    assert "ModelUnavailableError 1" in result.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["crystal-ball", "--questions", "questions.jsonl"], "crystal-ball"),
        (["kerag", "--questions", "missing.jsonl"], "missing.jsonl"),
        (["kerag", "--questions", "bad.jsonl"], "bad.jsonl:2"),
        (["kerag"], "--questions"),
        (["kerag", "--questions", "questions.jsonl", "--workers", "0"], "--workers"),
        (["kerag", "--questions", "questions.jsonl", "--limit", "0"], "--limit"),
        (["kerag", "--questions", "questions.jsonl", "--timeout", "-1"], "timeout"),
        (["kerag", "--questions", "questions.jsonl", "--out", "foreign"], "foreign"),
        (["kerag", "--questions", "questions.jsonl", "--out", "bad.jsonl"], "bad.jsonl"),
        (["kerag", "--questions", "questions.jsonl", "--role", "judge"], "judge"),
        ([], "PROGRAM"),
    ],
)
def test_a_mistake_is_one_clear_message(run: Run, kb: Path, questions: Path, words: list[str], said: str) -> None:
    (questions.parent / "bad.jsonl").write_text(f"{json.dumps(QUESTIONS[0])}\n{{", "utf-8")
    (questions.parent / "foreign").mkdir()
    (questions.parent / "foreign" / "letter.txt").write_text("dear", "utf-8")
    result = refused(run("eval", *words, "--kb", kb), said)
    assert not result.stdout


def test_the_bundled_questions_are_the_default(run: Run) -> None:
    result = ok(run("eval", "kerag", "--limit", 3, "--json"))
    summary = json.loads(result.stdout)
    assert summary["n"] == 3
    assert summary["out"] == str(Path("runs/kerag-bundled-extractive"))
