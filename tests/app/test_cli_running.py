"""`triplecheck eval`: executors, trackers and progress."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_support import QUESTION, Run

from triplecheck.app.command import with_value
from triplecheck.app.console import duration, show_scores
from triplecheck.evals import Progress


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("kerag --mlflow", "kerag --mlflow|"),
        ("--mlflow kerag", "--mlflow| kerag"),
        ("kerag --mlflow --json", "kerag --mlflow| --json"),
        ("kerag --mlflow http://localhost:5000", "kerag --mlflow http://localhost:5000"),
        ("kerag --mlflow ./runs", "kerag --mlflow ./runs"),
        ("kerag", "kerag"),
    ],
)
def test_mlflow_takes_an_optional_address(words: str, expected: str) -> None:
    assert with_value(words.split(), "--mlflow") == expected.replace("|", " |").replace("|", "").split(" ")


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "0 s"), (42.4, "42 s"), (150, "2 min"), (5_000, "83 min"), (7_500, "2 h 05 min")]
)
def test_a_duration_is_short(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def test_progress_shows_score_errors_and_the_time_left() -> None:
    shown: list[tuple[str, int, int | None]] = []
    tell = show_scores(lambda what, done, total: shown.append((what, done, total)))
    tell(Progress(done=3, total=10, kept=1, hits_at_1=0.5, errors=1, seconds=2.0, eta=140.0))
    tell(Progress(done=0, total=10, kept=0, hits_at_1=None, errors=0, seconds=0.0, eta=None))
    assert shown == [("asking: hits@1 0.500 errors 1 2 min left", 3, 10), ("asking:", 0, 10)]


def test_a_run_is_logged_into_its_directory(run: Run, kb: Path, elsewhere: Path) -> None:
    pytest.importorskip("mlflow")
    questions = elsewhere / "one.jsonl"
    questions.write_text(json.dumps({"id": "q1", "question": QUESTION, "answers": ["Germany"]}), "utf-8")
    words = ["eval", "kerag", "--kb", kb, "--questions", questions, "--out", "run", "--mlflow", "--json"]
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["n"] == 1
    assert [path.name for path in Path("run/mlruns").glob("*/traces/*")] != []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--executor", "spark"], "no executor 'spark'; there are: threads, ray"),
        (["--ray-address", "auto"], "give both"),
    ],
)
def test_a_wrong_executor_is_refused(run: Run, words: list[str], message: str) -> None:
    result = run("eval", "kerag", *words)
    assert result.exit_code == 2
    assert message in result.stderr
