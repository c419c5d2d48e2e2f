"""Traces that a student cannot learn from are refused, with what would do."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from distil_parts import gold_row, traces
from typer.testing import CliRunner, Result

from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.optimize.distil.report import Score
from triplecheck.optimize.distil.students import rows_for
from triplecheck.optimize.distil.tasks import graph_names
from triplecheck.optimize.traces.reading import graph_of


def distill(*words: object) -> Result:
    from triplecheck.app.main import app

    return CliRunner().invoke(app, ["distill", *map(str, words)])


def test_traces_of_another_version_are_refused(tmp_path: Path) -> None:
    old = traces(tmp_path / "old", [gold_row(1)], version=2)
    result = distill(old, "--student", "reader", "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "version 2, and version 3 of triplecheck-traces is read; collect them again" in " ".join(
        result.output.split()
    )
    assert not (tmp_path / "out").exists()


def test_traces_of_another_graph_are_refused(tmp_path: Path, bundled: KnowledgeBase) -> None:
    own = traces(tmp_path / "own", [gold_row(1)], graph=graph_of(bundled))
    other = traces(tmp_path / "other", [gold_row(1)], graph="0" * 64)
    assert len(rows_for("reader", [own], graph_of(bundled))[own]) == 1
    result = distill(own, other, "--student", "reader", "--out", tmp_path / "out", "--kb", bundled.path)
    assert result.exit_code == 2
    said = " ".join(result.output.split())
    assert "other: its traces are of another graph" in said and "collect on this knowledge base" in said
    assert not (tmp_path / "out").exists()


def test_traces_without_a_verified_row_are_refused(tmp_path: Path) -> None:
    none = traces(tmp_path / "none", [], left_out={"below_metric": 3, "wrong": 1})
    base = traces(tmp_path / "base", [replace(gold_row(1), source="base")])
    for folder, why in ((none, r"below_metric 3, wrong 1"), (base, "no question was asked")):
        with pytest.raises(UserError, match=rf"no step was verified \({why}\); `triplecheck collect --rejected FILE`"):
            rows_for("reader", [folder])
    gold = traces(tmp_path / "gold", [], left_out={"abstained": 1}, passes={"gold": {}})
    with pytest.raises(UserError, match=r"lists the steps with the reasons$"):
        rows_for("reader", [gold])


def test_traces_of_a_step_that_a_student_does_not_do_are_refused(tmp_path: Path) -> None:
    folder = traces(tmp_path / "paths", [replace(gold_row(1), signature="SelectPaths")])
    with pytest.raises(
        UserError, match=r"rows of SelectPaths, and the student reader learns AnswerFromFacts; .*--step"
    ):
        rows_for("reader", [folder])


def test_questions_of_another_graph_are_refused_before_they_are_asked(tmp_path: Path, world: KnowledgeBase) -> None:
    asked = tmp_path / "asked.jsonl"
    words = "--student", "reader", "--kb", world.path, "--questions", asked, "--out", tmp_path / "out"
    for answer, told in (
        ("Boss", "none of the 2 answers is in " + str(world.path)),
        ("Hanau", "no path of up to 3 hops in " + str(world.path) + " leads to one of the 2 answers"),
    ):
        rows = [{"id": str(n), "question": f"Who manages Employee {n}?", "answers": [answer]} for n in range(2)]
        asked.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
        result = distill(*words)
        assert result.exit_code == 2 and told in " ".join(result.output.split())
        assert not (tmp_path / "out").exists()


def test_folders_are_of_one_graph_if_their_manifests_say_so(tmp_path: Path) -> None:
    def folder(name: str, graph: str | None) -> Path:
        return traces(tmp_path / name, [gold_row(1)], graph=graph)

    one, other = folder("a/gold", "1" * 64), folder("b/gold", "2" * 64)
    again, server = folder("c/verified", "1" * 64), folder("d/films", None)
    assert graph_names([one, again]) == {one: "gold", again: "gold"}
    assert graph_names([one, other, again]) == {one: "a/gold", other: "b/gold", again: "a/gold"}
    assert graph_names([server, folder("e/films", None), one])[one] == "gold"
    deep = folder("x/a/gold", "2" * 64)
    assert graph_names([one, deep]) == {one: str(one), deep: str(deep)}


def test_a_folder_without_traces_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no collected traces; `triplecheck collect` writes them"):
        rows_for("reader", [tmp_path])
    with pytest.raises(UserError, match="no traces are named"):
        rows_for("reader", [])


@pytest.mark.parametrize("student", ["ranker", "reader", "lora"])
@pytest.mark.parametrize("name", ["../x", "a/b", ".hidden", "a\\b", "a@b", ""])
def test_a_name_of_a_student_is_one_word(tmp_path: Path, student: str, name: str) -> None:
    folder = traces(tmp_path / "films", [gold_row(1)])
    result = distill(folder, "--student", student, "--out", tmp_path / "out", "--name", name)
    assert result.exit_code == 2 and "is not a valid name of a student" in " ".join(result.output.split())


@pytest.mark.parametrize("student", ["ranker", "reader"])
def test_options_of_an_adapter_are_refused_for_other_students(tmp_path: Path, student: str) -> None:
    folder = traces(tmp_path / "films", [gold_row(1)])
    words = "--gguf", tmp_path / "a.gguf", "--epochs", 5, "--left-out", "films", "--device", "cpu"
    result = distill(folder, "--student", student, "--out", tmp_path / "out", *words)
    told = f"{student} is no adapter: leave out --left-out, --epochs, --device, --gguf"
    assert result.exit_code == 2 and told in " ".join(result.output.split())


def test_questions_need_their_graph(tmp_path: Path) -> None:
    asked = tmp_path / "asked.jsonl"
    asked.write_text('{"id": "1", "question": "Who?", "answers": ["Ann"]}\n', "utf-8")
    result = distill("--questions", asked, "--out", tmp_path / "out")
    assert result.exit_code == 2 and "--questions needs --kb" in result.output
    assert not (tmp_path / "out").exists()


def test_a_score_has_intervals_and_a_test() -> None:
    before, after = [0.0] * 10 + [1.0] * 10, [1.0] * 20
    score = Score.of("films", "right", ("base", before), ("student", after))
    assert score is not None
    assert (score.before, score.after, score.rows) == (0.5, 1.0, 20)
    assert score.before_interval[0] < 0.5 < score.before_interval[1] and score.after_interval == (1.0, 1.0)
    assert score.p == pytest.approx(2 / 2**10)
    assert json.loads(json.dumps(vars(score)))["after_is"] == "student"
    assert Score.of("films", "right", ("base", []), ("student", [])) is None
