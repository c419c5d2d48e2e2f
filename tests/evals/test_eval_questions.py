from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from triplecheck.evals import bundled_questions, read_questions
from triplecheck.kg import ReadError, UserError


def _write(folder: Path, *lines: str) -> Path:
    path = folder / "questions.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


def _line(id: str, **more: object) -> str:
    return json.dumps({"id": id, "question": f"who is {id}?", "answers": ["x"], **more})


def test_every_field_finds_its_place(tmp_path: Path) -> None:
    row = {
        "topic": ["Q1"],
        "answers": ["Q2", "Q3"],
        "answer_labels": ["Two", "Three"],
        "hops": "conj",
        "qtype": "actor_to_movie",
        "relations": ["r1", "r2"],
        "s_pop": 12,
    }
    (question,) = read_questions(_write(tmp_path, _line("a", **row)))
    assert (question.topic, question.answers, question.answer_labels) == (("Q1",), ("Q2", "Q3"), ("Two", "Three"))
    assert (question.hops, question.kind) == ("conj", "actor_to_movie")
    assert question.gold == {"relations": ["r1", "r2"]}
    assert question.extra == {"s_pop": 12}


def test_empty_answers_are_none_and_missing_ones_are_not_known(tmp_path: Path) -> None:
    path = _write(tmp_path, '{"id": 1, "question": "a?"}', _line("2", answers=[]), _line("3", answers=None), _line("4"))
    assert [(q.id, q.answerable, q.answers_known) for q in read_questions(path)] == [
        ("1", True, False),
        ("2", False, True),
        ("3", True, False),
        ("4", True, True),
    ]


def test_counts_and_yes_or_no_are_computed_unless_the_line_says_otherwise(tmp_path: Path) -> None:
    path = _write(
        tmp_path,
        _line("a", kind="count", answers=["4"]),
        _line("b", answers=["Yes"]),
        _line("c", answers=["4"]),
        _line("d", answers=["No"], computed=False),
        _line("e", answers=["7"], computed=True),
        _line("f", answers=[]),
    )
    assert [q.id for q in read_questions(path) if q.computed] == ["a", "b", "e"]


def test_gzip_bom_and_blank_lines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl.gz"
    path.write_bytes(gzip.compress(f"\ufeff{_line('a')}\n\n{_line('b')}\r\n".encode()))
    assert [q.id for q in read_questions(path)] == ["a", "b"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not JSON"),
        ("[1]", "list, not an object"),
        ('{"question": "a?"}', "has no id"),
        ('{"id": "x"}', "has no question"),
        ('{"id": "x", "question": "  "}', "question is empty"),
        ('{"id": "x", "question": "a?", "answers": [""]}', "answers is empty"),
        ('{"id": "x", "question": "a?", "answers": [["b"]]}', "not text"),
        ('{"id": "x", "question": "a?", "answers": {"b": 1}}', "not text"),
        ('{"id": "x", "question": "a?", "answers": ["\\ud83d"]}', "surrogate"),
        ('{"id": "x", "question": "a?", "hops": [1]}', "hops"),
        ('{"id": "x", "question": "a?", "one_answer": 1}', "one_answer"),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, line: str, reason: str) -> None:
    with pytest.raises(ReadError, match=reason) as caught:
        read_questions(_write(tmp_path, _line("a"), line))
    assert caught.value.line == 2


def test_an_id_may_stand_once(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="duplicate id 'a', first in line 1") as caught:
        read_questions(_write(tmp_path, _line("a"), _line("b"), _line("a")))
    assert caught.value.line == 3


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="no such file"):
        read_questions(tmp_path / "none.jsonl")
    with pytest.raises(ReadError, match="no questions"):
        read_questions(_write(tmp_path))
    torn = tmp_path / "torn.jsonl.gz"
    torn.write_bytes(gzip.compress(_line("a").encode() * 50)[:-12])
    with pytest.raises(ReadError, match="cannot be read"):
        read_questions(torn)
    foreign = tmp_path / "latin.jsonl"
    foreign.write_bytes(f"{_line('a')}\n".encode() + b'{"id": "\xe9"}\n')
    with pytest.raises(ReadError, match="UTF-8") as caught:
        read_questions(foreign)
    assert caught.value.line == 2


def test_a_larger_sample_begins_with_the_smaller_one(tmp_path: Path) -> None:
    path = _write(tmp_path, *(_line(f"q{i}") for i in range(50)))
    small, large = ([q.id for q in read_questions(path, limit)] for limit in (10, 30))
    assert large[:10] == small
    assert small != [f"q{i}" for i in range(10)]
    assert {q.id for q in read_questions(path, 10, seed=1)} != set(small)
    assert len(read_questions(path, 1000)) == 50
    with pytest.raises(UserError):
        read_questions(path, 0)


def test_a_sample_does_not_depend_on_the_order_of_the_file(tmp_path: Path) -> None:
    lines = [_line(f"q{i}") for i in range(20)]
    there = [q.id for q in read_questions(_write(tmp_path, *lines), 5)]
    assert [q.id for q in read_questions(_write(tmp_path, *reversed(lines)), 5)] == there


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_the_bundled_questions_can_be_read(split: str) -> None:
    questions = read_questions(bundled_questions(split))
    assert questions
    assert all(question.kind for question in questions)


def test_an_unknown_bundled_split_is_refused() -> None:
    with pytest.raises(UserError, match="train, dev, test"):
        bundled_questions("validation")
