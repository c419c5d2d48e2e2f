"""Whether the reasoning of an answer names what the answer rests on."""

from __future__ import annotations

from typing import Any

import pytest

from triplecheck.optimize.traces.reasoning import reasoning_gap
from triplecheck.signatures import STEPS, demonstrations

FACTS = [
    "Ada Holm → student of → Per Lind",
    "Per Lind → nationality → Norwegian",
    "Per Lind → date of birth → 1897-04-02",
    "Ada Holm → place of birth → Aske",
    "Ada Holm → date of birth → 1921-01-30",
    "Ada Holm ← composer ← Tides | Nine Songs | The Ferry | Winter",
    "Gannet → year of launch → 1897",
    "Tern → year of launch → 1902",
]


def gap(reasoning: str, cited: list[int], answers: list[str], operation: str = "none", **inputs: Any) -> str | None:
    given = {"question": "Where is the teacher of Ada Holm from?", "topics": ["Ada Holm"], "facts": FACTS}
    outputs = {"reasoning": reasoning, "cited": cited, "operation": operation, "answers": answers}
    return reasoning_gap(given | inputs, outputs)


@pytest.mark.parametrize(
    ("reasoning", "cited", "answers"),
    [
        ("Ada Holm studied with Per Lind, who was Norwegian.", [1, 2], ["Norwegian"]),
        ("Her teacher, a student of whom was Holm, is Per Lind. Lind's nationality: Norwegian.", [1, 2], ["Norwegian"]),
        ("Ada Holm was born in Aske.", [4], ["Aske"]),
        ("Ada Holm's place of birth is Aske.", [4], ["Aske"]),
        ("Per Lind was born on 2 April 1897.", [3], ["1897-04-02"]),
        ("Ada Holm composed Tides, Nine Songs, The Ferry and Winter.", [6], ["Tides", "Nine Songs", "The Ferry"]),
        ("ADA HOLM wrote, as composer, Tides and The Ferry.", [6], ["Tides", "Nine Songs", "The Ferry", "Winter"]),
    ],
)
def test_reasoning_that_follows_the_facts_to_the_answer_is_kept(
    reasoning: str, cited: list[int], answers: list[str]
) -> None:
    assert gap(reasoning, cited, answers) is None


@pytest.mark.parametrize(
    ("reasoning", "cited", "answers"),
    [
        ("I look at the facts one by one.", [1, 2], ["Norwegian"]),
        ("", [1, 2], ["Norwegian"]),
        ("The answer is Norwegian.", [1, 2], ["Norwegian"]),
        ("The cited facts prove the answer, which is Norwegian.", [2], ["Norwegian"]),
        ("The teacher of Ada Holm is Norwegian.", [1, 2], ["Norwegian"]),
        ("Per Lind is Norwegian.", [1, 2], ["Norwegian"]),
        ("The question asks where the teacher is from.", [1, 2], ["Norwegian"]),
        ("The year is 1898.", [3], ["1897-04-02"]),
    ],
)
def test_reasoning_that_leaves_out_a_cited_fact_is_vacuous(
    reasoning: str, cited: list[int], answers: list[str]
) -> None:
    assert gap(reasoning, cited, answers) == "fact_not_named"


@pytest.mark.parametrize(
    ("reasoning", "cited", "answers"),
    [
        ("The question asks for the place of birth of Ada Holm.", [4], ["Aske"]),
        ("Ada Holm composed Tides.", [6], ["Tides", "Winter"]),
        ("Ada Holm has a date of birth, so the year is known.", [5], ["1921-01-30"]),
    ],
)
def test_reasoning_must_name_the_answer(reasoning: str, cited: list[int], answers: list[str]) -> None:
    assert gap(reasoning, cited, answers) == "answer_not_named"


def test_what_code_computes_need_not_be_named_but_what_it_is_computed_from() -> None:
    assert gap("The Gannet was launched in 1897 and the Tern in 1902.", [7, 8], [], "min") is None
    assert gap("The ships' years of launch are compared: Gannet and Tern.", [7, 8], [], "min") is None
    assert gap("The earlier date wins.", [7, 8], [], "min") == "fact_not_named"
    assert gap("I count the works whose composer is Ada Holm.", [6], [], "count") is None


def test_yes_and_no_need_not_be_repeated() -> None:
    question = "Was Ada Holm born in Aske?"
    assert gap("Ada Holm was born in Aske.", [4], ["yes"], question=question) is None
    assert gap("It is so.", [4], ["yes"], question=question) == "fact_not_named"


def test_a_thing_may_be_named_as_the_question_spells_it() -> None:
    fact = ["The Beatles (album) → year of release → 1968"]
    topics = ["White Album = The Beatles (album)"]
    assert gap("The White Album came out in 1968.", [1], ["1968"], facts=fact, topics=topics) is None


def test_an_abstention_says_what_is_missing() -> None:
    assert gap("No fact tells where the teacher is from.", [], []) is None
    assert gap("No fact gives an answer.", [], []) == "question_not_named"


def test_the_answer_from_references_is_named_too() -> None:
    inputs = {"question": "Where was Ada Holm born?", "references": ["Ada Holm was born in Aske."]}
    assert reasoning_gap(inputs, {"reasoning": "Ada Holm was born in Aske.", "answer": "Aske"}) is None
    assert reasoning_gap(inputs, {"reasoning": "The references help.", "answer": "Aske"}) == "answer_not_named"


def test_steps_without_an_answer_are_not_checked() -> None:
    assert reasoning_gap({"question": "?"}, {"reasoning": "", "keep": [1]}) is None


@pytest.mark.parametrize("row", [row for step in STEPS for row in demonstrations(step) if "cited" in row])
def test_the_worked_examples_show_such_reasoning(row: Any) -> None:
    assert reasoning_gap(dict(row.inputs()), dict(row.labels())) is None
