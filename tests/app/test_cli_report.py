"""`triplecheck report` and `triplecheck data vary`."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from cli_support import Run, ok, refused
from documents import DOCS


@pytest.fixture
def kbs(tmp_path: Path) -> Path:
    return tmp_path / "kbs"


def test_a_report_is_written_printed_and_says_how_it_was_made(run: Run, kbs: Path, tmp_path: Path) -> None:
    place = ["--kbs", str(kbs), "--runs", str(tmp_path / "runs"), "--out", str(tmp_path / "report")]
    result = ok(run("report", "kerag", "--only", "sets", "--limit", "4", *place))
    assert "| bundled test | 4 |" in result.stdout
    assert re.search(r"Made on 2\d\d\d-\d\d-\d\d by `triplecheck report kerag --only sets --limit 4`\.", result.stdout)
    assert "popqa" in result.stderr, "missing data is listed"
    assert (tmp_path / "report" / "report.md").read_text("utf-8").strip() == result.stdout.strip()
    assert (tmp_path / "report" / "cells.csv").is_file() and (tmp_path / "report" / "errors.md").is_file()


def test_each_paper_is_compared_with_its_own_directions_and_an_interrupted_run_goes_on(
    run: Run, kbs: Path, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    place = ["--kbs", str(kbs), "--runs", str(runs), "--out", str(tmp_path / "report"), "--lm", "extractive"]
    words = ["report", "faithful", "--only", "/bundled/", "--limit", "2", *place]
    first = run(*words)
    assert first.exit_code == 0, first.stderr
    for title in ("KERAG (", "AnchorRAG (Tables 1 and 3)", "4StepFocus (Table 1)", "Know³-RAG ("):
        assert f"## {title}" in first.stdout
    assert "| w/o tri-check | " in first.stdout and "| first row better by | in the paper | here |" in first.stdout
    (thetas,) = (line for line in first.stdout.splitlines() if line.startswith("theta_0: "))
    assert thetas.startswith("theta_0: bundled test: 0.") and " and " not in thetas
    rows = sorted(runs.glob("faithful/know3rag*/rows.jsonl"))
    rows[0].write_text(rows[0].read_text("utf-8").splitlines(keepends=True)[0], "utf-8")
    kept = {path: path.stat().st_mtime_ns for path in rows}
    again = run(*words).stdout
    assert again == first.stdout
    assert any((runs / "faithful" / "calls").rglob("cache.db")), "rows that differ in one option share calls"
    assert [path for path in rows if path.stat().st_mtime_ns != kept[path]] == rows[:1]


def test_without_a_name_the_experiments_are_listed(run: Run) -> None:
    result = run("report")
    assert result.exit_code == 0 and "kerag" in result.stdout and "comparison" in result.stdout


def test_a_report_without_a_cell_is_an_error(run: Run, kbs: Path) -> None:
    refused(run("report", "kerag", "--only", "no such cell", "--kbs", str(kbs)), "nothing was run")


def test_a_report_about_a_language_model_wants_one(run: Run, kbs: Path) -> None:
    refused(run("report", "faithful", "--kbs", str(kbs)), "--lm MODEL", "--lm extractive")


def test_the_linking_report_is_written_and_printed(run: Run, kbs: Path, tmp_path: Path) -> None:
    place = ["--only", "bundled", "--kbs", str(kbs), "--out", str(tmp_path / "report")]
    result = run("report", "linking", "--limit", "10", *place)

    assert result.exit_code == 0, result.stderr
    report = (tmp_path / "report" / "report.md").read_text("utf-8")
    assert report.strip() == result.stdout.strip()
    assert "Command: `triplecheck report linking --only bundled --limit 10`." in report
    mentions = [line.split(" | ")[1] for line in report.splitlines() if line.startswith("| bundled")]
    assert mentions[:3] == ["verbatim", "1 typo", "2 typos"] and len(mentions) == 4
    assert run("report", "linking", "--lm", "extractive", *place).exit_code == 2


def test_the_page_of_results_follows_the_reports(run: Run, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    shutil.copytree(DOCS / "reports", docs / "reports", ignore=shutil.ignore_patterns("*.png"))
    shutil.copy(DOCS / "results.md", docs)
    cells = docs / "reports" / "ranker" / "cells.csv"
    trained = "curve,300 questions,kerag,{},False,extractive,{},metaqa,60,1.0,60,"
    cells.write_text(cells.read_text("utf-8").replace(f"{trained}0.9166666666666666,", f"{trained}0.123,"), "utf-8")
    result = run("report", "results", "--out", str(docs))
    assert result.exit_code == 0, result.stderr
    before, after = ((place / "results.md").read_text("utf-8").splitlines() for place in (DOCS, docs))
    ((old, new),) = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    assert old.startswith("| MetaQA |") and new == old.replace("0.917", "0.123")
    assert {path.name for path in (docs / "reports" / "results").iterdir()} == {"cost.png", "kinds.png"}


def test_the_page_of_results_needs_the_reports(run: Run, tmp_path: Path) -> None:
    refused(run("report", "results", "--out", str(tmp_path)), "results.toml is missing")


def test_questions_are_made_harder(run: Run, tmp_path: Path) -> None:
    questions = tmp_path / "questions.jsonl"
    row = {"id": "1", "question": "Who directed Vertigo?", "answers": ["Alfred Hitchcock"], "topic": ["Vertigo"]}
    questions.write_text(json.dumps(row) + "\n", "utf-8")
    result = run("data", "vary", "bundled", str(questions), str(tmp_path / "out.jsonl"), "--variant", "typo1")
    assert result.exit_code == 0 and "1 of 1 questions" in result.stdout
    changed = json.loads((tmp_path / "out.jsonl").read_text("utf-8"))
    assert changed["id"] == "1" and changed["question"] != row["question"]
    assert changed["variant"]["from"] == row["question"]


def test_an_unknown_variant_is_an_error(run: Run, tmp_path: Path) -> None:
    questions = tmp_path / "questions.jsonl"
    questions.write_text('{"id": "1", "question": "Who?", "answers": ["x"]}\n', "utf-8")
    refused(
        run("data", "vary", "bundled", str(questions), str(tmp_path / "o.jsonl"), "--variant", "upside-down"), "typo1"
    )
