"""`triplecheck synthesize` and `triplecheck collect`, one after the other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from triplecheck.kg import KnowledgeBase
from triplecheck.optimize.traces import read_traces


def run(*words: object) -> Result:
    from triplecheck.app.main import app

    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def asked(bundled: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    result = run("synthesize", bundled.path, "made.jsonl", "--limit", 8, "--seed", 1)
    assert result.exit_code == 0, result.output
    assert "8 questions in made.jsonl" in result.output
    return tmp_path / "made.jsonl"


def test_made_questions_become_rows_to_train_on(bundled: KnowledgeBase, asked: Path) -> None:
    words = ["collect", "kerag", "--kb", bundled.path, "--questions", asked, "--out", "traces", "--hops", 3]
    result = run(*words, "--export", "trl", "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    (gold,) = [about for name, about in told["passes"].items() if name != "verified"]
    assert gold["kept"] == gold["asked"] == 8
    assert told["rows"] == len(rows := read_traces(Path("traces")))
    lines = sum(len(Path(path).read_text("utf-8").splitlines()) for path in told["exported"])
    assert lines == sum(row.times for row in rows), "rows of rare kinds are repeated"
    assert told == json.loads(Path("traces/manifest.json").read_text()) | {
        key: told[key] for key in ("out", "exported")
    }


def test_the_same_command_resumes_the_run(bundled: KnowledgeBase, asked: Path) -> None:
    words = ["collect", "kerag", "--kb", bundled.path, "--questions", asked, "--out", "traces", "--pass", "verified"]
    first, again = run(*words), run(*words)
    assert first.exit_code == 0, first.output
    assert again.output == first.output
    assert "rows in traces" in again.output


def test_an_unknown_format_is_refused_before_the_run(bundled: KnowledgeBase, tmp_path: Path) -> None:
    result = run("collect", "kerag", "--kb", bundled.path, "--out", tmp_path / "traces", "--export", "parquet")
    assert result.exit_code == 2
    assert not (tmp_path / "traces").exists()


def test_an_unknown_kind_is_refused(bundled: KnowledgeBase, tmp_path: Path) -> None:
    result = run("synthesize", bundled.path, tmp_path / "more.jsonl", "--kind", "riddle")
    assert result.exit_code == 2
    assert "superlative" in result.output
