"""`triplecheck runs`: runs listed, shown and compared."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from cli_support import QUESTION, Run, ok, refused

QUESTIONS = [
    {"id": "q1", "question": QUESTION, "answers": ["Germany"], "popularity": "head"},
    {"id": "q2", "question": "Where was Paul Hindemith born?", "answers": ["Hanau"], "popularity": "tail"},
]


@pytest.fixture
def evaluations(run: Run, kb: Path, elsewhere: Path) -> tuple[Path, Path]:
    path = elsewhere / "questions.jsonl"
    path.write_text("\n".join(map(json.dumps, QUESTIONS)), "utf-8")
    for name, words in (("one", ["--hops", 1]), ("two", ["--hops", 2])):
        ok(run("eval", "kerag", "--kb", kb, "--questions", path, "--out", name, *words))
    return Path("one"), Path("two")


def test_a_run_is_shown_again(run: Run, evaluations: tuple[Path, Path]) -> None:
    shown = ok(run("runs", "show", evaluations[1]))
    assert "95% intervals: hits@1" in shown.stdout
    assert "citation precision" in shown.stdout
    assert "head" in shown.stdout and "tail" in shown.stdout
    again = json.loads(run("runs", "show", evaluations[1], "--json").stdout)
    before = json.loads((evaluations[1] / "summary.json").read_text("utf-8"))
    clock = ("wall_seconds", "out")
    assert {k: v for k, v in again.items() if k not in clock} == {k: v for k, v in before.items() if k not in clock}


def test_runs_are_listed_with_questions_score_and_state(run: Run, evaluations: tuple[Path, Path]) -> None:
    listed = json.loads(run("runs", "list", ".", "--json").stdout)["runs"]
    assert [row["run"] for row in listed] == ["one", "two"]
    scores = json.loads((evaluations[1] / "summary.json").read_text("utf-8"))
    expected = {"command": "eval", "program": "kerag", "questions": 2, "hits_at_1": scores["hits_at_1"]}
    assert listed[1] == {"run": "two", **expected, "state": "finished"}
    (evaluations[0] / "summary.json").unlink()
    first = run("runs", "list", ".").stdout.splitlines()[1].split()
    assert first == ["one", "eval", "kerag", "2", "-", "unfinished"]


def test_parts_of_other_runs_are_not_listed(run: Run, evaluations: tuple[Path, Path]) -> None:
    for place in ("tuned/validation/a1", "traces/verified/evaluation", "fitted/fitting/search/b2"):
        Path(place).parent.mkdir(parents=True)
        shutil.copytree(evaluations[0], place)
    scores = {"n": 40, "hits_at_1": 0.75}
    files = {
        "tuned/run.json": {"format": "triplecheck-tune", "configuration": {"program": "kerag"}},
        "tuned/report.json": {"rows": [{"scores": {"hits_at_1": 0.5}}, {"scores": scores}]},
        "traces/verified/records.jsonl": {},
    }
    for name, content in files.items():
        Path(name).write_text(json.dumps(content), "utf-8")
    listed = json.loads(run("runs", "list", ".", "--json").stdout)["runs"]
    assert [row["run"] for row in listed] == ["one", "tuned", "two"]
    assert listed[1] == {
        **{"run": "tuned", "command": "compile", "program": "kerag"},
        **{"questions": 40, "hits_at_1": 0.75, "state": "finished"},
    }


def test_a_folder_without_runs_says_so(run: Run, elsewhere: Path) -> None:
    assert "no runs in ." in run("runs", "list", ".").stdout
    refused(run("runs", "list"), "runs: no such directory")


def test_quiet_shows_the_table_alone(run: Run, evaluations: tuple[Path, Path]) -> None:
    shown = run("runs", "show", evaluations[1], "-q").stdout
    assert "hits@1" in shown and "models:" not in shown


def test_two_runs_are_compared(run: Run, evaluations: tuple[Path, Path]) -> None:
    shown = ok(run("runs", "compare", *evaluations))
    assert "McNemar" in shown.stdout
    assert "configuration: switches.hops was 1 and is now 2" in shown.stdout
    found = json.loads(run("runs", "compare", *evaluations, "--json").stdout)
    assert [metric["name"] for metric in found["metrics"]] == ["hits_at_1", "f1", "accuracy"]
    assert found["metrics"][0]["n"] == 2


def test_a_folder_that_is_not_a_run_is_refused(run: Run, elsewhere: Path) -> None:
    for words in (["show", "none"], ["compare", "none", "none"]):
        refused(run("runs", *words), "holds no evaluation")
