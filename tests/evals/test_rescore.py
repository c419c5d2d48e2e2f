"""Released predictions of any format are scored alike; rows that cannot be scored are reported with the reason."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from triplecheck.evals.questions import Question
from triplecheck.evals.rescore import Fields, Released, Rescored, Unscored, braced, read_released, report, rescore
from triplecheck.kg import ReadError, UserError

ROWS: list[dict[str, Any]] = [
    {"id": "1", "question": "Capital of France?", "prediction": "the Paris.", "gold": ["Paris"]},
    {"id": "2", "question": "Capital of Italy?", "prediction": "It is Rome", "gold": ["Rome"]},
    {"id": "3", "question": "Capital of Spain?", "prediction": "", "gold": ["Madrid"]},
    {"id": "4", "question": "Is water wet?", "prediction": "yes it is", "gold": ["yes"]},
]
# By hand: exact 1 0 0 0; token F1 1, 2*1/(3+1), 0, 0; lenient 1 1 1 1.
MEANS = {"exact_match": 0.25, "token_f1": 1.5 / 4, "hits_at_1": 0.0, "f1": 0.0, "lenient_match": 1.0}


def as_jsonl(path: Path) -> Path:
    path = path.with_suffix(".jsonl")
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), "utf-8")
    return path


def as_json(path: Path) -> Path:
    path = path.with_suffix(".json")
    path.write_text(json.dumps(ROWS), "utf-8")
    return path


def as_json_by_id(path: Path) -> Path:
    path = path.with_suffix(".json")
    path.write_text(json.dumps({row["id"]: {k: row[k] for k in row if k != "id"} for row in ROWS}), "utf-8")
    return path


def as_table(suffix: str, delimiter: str) -> Callable[[Path], Path]:
    def write(path: Path) -> Path:
        path = path.with_suffix(suffix)
        with path.open("w", encoding="utf-8", newline="") as target:
            table = csv.DictWriter(target, [*ROWS[0]], delimiter=delimiter)
            table.writeheader()
            table.writerows(row | {"gold": row["gold"][0]} for row in ROWS)
        return path

    return write


WAYS = [as_jsonl, as_json, as_json_by_id, as_table(".csv", ","), as_table(".tsv", "\t")]


def means(found: Rescored) -> dict[str, float]:
    return {name: score.mean for name, score in found.scores.items()}


@pytest.mark.parametrize("write", WAYS)
def test_every_format_gives_the_same_scores(write: Callable[[Path], Path], tmp_path: Path) -> None:
    found = rescore(write(tmp_path / "predictions"))
    assert (found.read, found.scored, found.unscored) == (4, 4, ())
    assert means(found) == pytest.approx(MEANS)
    assert (found.empty, found.lenient_on_empty) == (1, 1)
    for score in found.scores.values():
        assert score.low <= score.mean <= score.high


def test_strict_and_lenient_stand_side_by_side(tmp_path: Path) -> None:
    text = report(rescore(as_jsonl(tmp_path / "p")))
    lines = text.splitlines()
    assert [line.split()[0] for line in lines if line.startswith(("strict", "lenient"))] == ["strict", "lenient"]
    assert "empty predictions: 1 (correct by the lenient score: 1)" in lines
    assert "0.250" in text and "1.000" in text


def test_fields_may_have_any_name_and_lie_deeper(tmp_path: Path) -> None:
    row = {"qid": 7, "out": {"answer": ["Rome", "Paris"]}, "Parses": [{"A": [{"name": "Paris"}, {"name": "Rome"}]}]}
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"data": {"rows": [row]}}), "utf-8")
    fields = Fields(id="qid", prediction="out.answer", gold="Parses.A.name", records="data.rows")
    (read,) = read_released(path, fields)
    assert read == Released("item 1", "7", None, ("Rome", "Paris"), ("Paris", "Rome"))
    assert means(rescore(path, fields)) == pytest.approx(
        {"exact_match": 0, "token_f1": 2 / 3, "hits_at_1": 1, "f1": 1, "lenient_match": 1}
    )


@pytest.mark.parametrize(("separator", "cell"), [("|", "Paris | Rome"), ("json", '["Paris", "Rome"]')])
def test_several_answers_may_stand_in_one_text(tmp_path: Path, separator: str, cell: str) -> None:
    path = tmp_path / "p.tsv"
    with path.open("w", newline="") as target:
        csv.writer(target, delimiter="\t").writerows([["id", "prediction", "gold"], ["1", "Rome", cell]])
    found = rescore(path, Fields(separator=separator))
    assert found.scores["hits_at_1"].mean == 1
    assert found.scores["f1"].mean == pytest.approx(2 / 3)
    assert rescore(path, Fields(separator=separator), one_answer=True).scores["f1"].mean == 1
    assert rescore(path).scores["hits_at_1"].mean == 0, "without a separator the cell is one answer"


class TestGold:
    GOLD = (
        Question("a", "Capital of France?", ("Q90",), answer_labels=("Paris",)),
        Question("b", "Capital of Italy?", ("Roma", "Rome"), one_answer=True),
        Question("c", "Capital of Spain?", ("Madrid",), answer_aliases=(("Madrid city",),)),
        Question("d", "Which one?", ("x",)),
        Question("e", "which one", ("y",)),
        Question("f", "Who is it?"),
        Question("g", "Nobody asks this?", ("z",)),
    )

    def write(self, tmp_path: Path, rows: list[dict[str, Any]]) -> Path:
        path = tmp_path / "p.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        return path

    def test_it_is_joined_by_id_or_else_by_the_question(self, tmp_path: Path) -> None:
        rows = [
            {"id": "a", "prediction": "Paris"},
            {"id": "zzz", "question": "capital of ITALY", "prediction": "Roma"},
            {"question": "Capital of Spain?", "prediction": "Madrid City"},
        ]
        found = rescore(self.write(tmp_path, rows), gold=self.GOLD)
        assert (found.scored, found.unpredicted) == (3, 4)
        assert found.scores["hits_at_1"].mean == found.scores["f1"].mean == found.scores["exact_match"].mean == 1

    def test_rows_without_a_matching_gold_question_are_reported(self, tmp_path: Path) -> None:
        rows = [
            {"id": "a", "prediction": "Paris"},
            {"id": "a", "prediction": "Paris"},
            {"id": "zzz", "prediction": "x"},
            {"question": "Which one?", "prediction": "x"},
            {"id": "f", "prediction": "x"},
        ]
        found = rescore(self.write(tmp_path, rows), gold=self.GOLD)
        assert found.unscored == (
            Unscored("line 2", "same question as line 1"),
            Unscored("line 3", "no gold question has its id or its text"),
            Unscored("line 4", "2 gold questions have its text"),
            Unscored("line 5", "has no gold answer"),
        )
        assert "line 3: no gold question has its id or its text" in report(found)

    def test_the_official_form_of_squad_and_hotpotqa_is_read(self, tmp_path: Path) -> None:
        path = tmp_path / "p.json"
        path.write_text(json.dumps({"answer": {"a": "Paris", "b": "Milan"}, "sp": {}}), "utf-8")
        found = rescore(path, Fields(records="answer"), gold=self.GOLD)
        assert (found.scored, found.scores["exact_match"].mean) == (2, 0.5)


class TestBraces:
    def test_the_answer_is_the_text_in_the_braces(self) -> None:
        assert braced("The answer is {Paris}, not {Rome}.") == "Paris"
        assert braced("{Yes}. The answer is {\nParis }.") == "Paris"
        assert braced("{yes}") == "yes"
        assert braced("Paris") is None

    def test_they_are_looked_for_only_where_asked(self, tmp_path: Path) -> None:
        path = tmp_path / "p.jsonl"
        rows = [
            {"results": "Thus {Paris}.", "gold": "Paris"},
            {"results": "Paris", "gold": "Paris"},
            {"results": "{}", "gold": "Paris"},
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        found = rescore(path, Fields(prediction="results"), braces=True)
        assert found.scores["exact_match"].mean == pytest.approx(2 / 3)
        assert (found.without_braces, found.empty, found.lenient_on_empty) == (1, 1, 1)
        assert rescore(path, Fields(prediction="results")).scores["exact_match"].mean == pytest.approx(1 / 3)


class TestUnreadable:
    def test_bad_rows_do_not_cost_the_others(self, tmp_path: Path) -> None:
        path = tmp_path / "p.jsonl"
        lines = [
            json.dumps(ROWS[0]),
            "{",
            "[1]",
            '{"id": "5"}',
            '{"prediction": {"x": 1}, "gold": "a"}',
            '{"prediction": "a"}',
        ]
        path.write_text("\n".join(lines), "utf-8")
        found = rescore(path)
        assert (found.read, found.scored) == (6, 1)
        reasons = {one.place: one.reason for one in found.unscored}
        assert "is not JSON" in reasons["line 2"]
        assert reasons["line 3"] == "is a list, not an object"
        assert reasons["line 4"] == "has no field 'prediction'; there are: id"
        assert "not text, a number or a list" in reasons["line 5"]
        assert reasons["line 6"] == "has no gold answer"
        assert all(place in report(found) for place in reasons)

    def test_an_answer_of_null_is_an_empty_one(self, tmp_path: Path) -> None:
        path = tmp_path / "p.jsonl"
        path.write_text('{"prediction": null, "gold": "a"}\n{"prediction": [], "gold": 4}', "utf-8")
        assert (rescore(path).empty, rescore(path).scored) == (2, 2)

    @pytest.mark.parametrize(
        ("name", "content", "said"),
        [
            ("p.json", "{", "is not JSON"),
            ("p.json", "7", "neither a list nor an object"),
            ("p.csv", "a,b\n1,2\n", "has no column 'prediction'; there are: a, b"),
            ("p.xlsx", "", "--format"),
            ("p.jsonl", '{"id": "1"}', "no row could be scored: has no field 'prediction'"),
            ("p.jsonl", "", "the file has no rows"),
            ("p.csv", 'prediction,gold\n"a,b\n', "is not CSV"),
        ],
    )
    def test_a_file_that_is_none_is_refused(self, tmp_path: Path, name: str, content: str, said: str) -> None:
        (tmp_path / name).write_text(content, "utf-8")
        with pytest.raises(UserError, match=said):
            rescore(tmp_path / name)

    def test_bytes_and_missing_files_are_refused(self, tmp_path: Path) -> None:
        (tmp_path / "p.jsonl").write_bytes(b"\xff\xfe")
        for name, said in (("p.jsonl", "UTF-8"), ("q.jsonl", "no such file")):
            with pytest.raises(ReadError, match=said):
                rescore(tmp_path / name)
