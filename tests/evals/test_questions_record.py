"""The fields that published data sets need."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplecheck.evals import Question, read_questions, write_questions
from triplecheck.evals.questions import parse_question, question_row
from triplecheck.kg import UserError

ROW = {"id": "q", "question": "?", "answers": ["a", "b"]}


def test_every_new_field_finds_its_place() -> None:
    more: dict[str, Any] = {
        "answer_aliases": [["A"], []],
        "topic": ["t", "u", "t"],
        "topic_labels": ["T", None, "T"],
        "documents": ["d"],
        "popularity": "tail",
    }
    found = parse_question(ROW | more)
    assert found.answer_aliases == (("A",), ())
    assert (found.topic, found.topic_labels) == (("t", "u"), ("T", ""))
    assert (found.documents, found.popularity) == (("d",), "tail")
    assert found.extra == {}
    assert parse_question(ROW | {"s_pop": 12}).popularity == 12


def test_no_answer_and_a_hidden_one_are_two_things() -> None:
    none = parse_question({"id": "q", "question": "?", "answerable": False})
    empty = parse_question({"id": "q", "question": "?", "answers": []})
    assert {(one.answerable, one.answers_known) for one in (none, empty)} == {(False, True)}
    for more in ({}, {"answers": None}, {"answerable": True}, {"answerable": True, "answers": []}):
        hidden = parse_question({"id": "q", "question": "?"} | more)
        assert (hidden.answerable, hidden.answers_known) == (True, False)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"answer_aliases": [["A"]]}, "one list for each answer"),
        ({"answer_aliases": ["A", "B"]}, "one list for each answer"),
        ({"topic": ["t"], "topic_labels": ["T", "U"]}, "topic_labels has 2 items and topic 1"),
        ({"popularity": -1}, "popularity"),
        ({"popularity": True}, "popularity"),
        ({"answerable": False}, "but there are answers"),
    ],
)
def test_a_malformed_field_is_named(more: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_question(ROW | more)


_TEXT = st.text("abc é'\"\\,", min_size=1, max_size=5).map(str.strip).filter(bool)


@given(
    st.lists(_TEXT, max_size=3),
    st.dictionaries(_TEXT, _TEXT, max_size=2),
    st.booleans(),
    st.one_of(st.none(), st.integers(0, 9), st.just("head")),
)
def test_a_question_survives_being_written(
    answers: list[str], topics: dict[str, str], flag: bool, popularity: int | str | None
) -> None:
    question = Question(
        "q",
        "?",
        tuple(answers),
        topic=tuple(topics),
        topic_labels=tuple(topics.values()),
        answer_aliases=tuple((answer,) for answer in answers) if flag else (),
        computed=flag,
        answers_known=bool(answers) or flag,
        popularity=popularity,
    )
    assert parse_question(json.loads(json.dumps(question_row(question)))) == question


def test_only_json_lines_are_written(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"\.jsonl"):
        write_questions([Question("q", "?")], tmp_path / "out.csv")
    with pytest.raises(UserError, match="no questions to write"):
        write_questions([], tmp_path / "out.jsonl")
    write_questions([Question("q", "?", ("Ærø",))], tmp_path / "new" / "out.jsonl")
    assert "Ærø" in (tmp_path / "new" / "out.jsonl").read_text("utf-8")
    assert read_questions(tmp_path / "new" / "out.jsonl") == [Question("q", "?", ("Ærø",))]
