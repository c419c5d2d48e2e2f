"""Questions that describe things by their class instead of naming them."""

from __future__ import annotations

import pytest
from program_parts import ask, build_rows

from triplecheck.kg import KnowledgeBase
from triplecheck.language.described import asked_class
from triplecheck.language.question import read_question
from triplecheck.programs import KERAG

ISLANDS = {"Aro": 12, "Bry": 40, "Cor": 7}
TRIPLES = [
    *((name, "area", str(area)) for name, area in ISLANDS.items()),
    ("Aro", "belongs to", "Norland"),
    ("Bry", "belongs to", "Norland"),
    ("Cor", "belongs to", "Sutland"),
    ("Norland", "capital", "Nordby"),
    ("Sutland", "capital", "Sutby"),
    *((f"Light {n}", "stands on", island) for n, island in enumerate(["Aro", "Aro", "Bry", "Cor", "Aro"])),
    *((f"Light {n}", "height", str(height)) for n, height in enumerate([20, 31, 25, 44, 12])),
    *((ferry, "serves", island) for ferry, island in [("Fast", "Aro"), ("Fast", "Bry"), ("Slow", "Cor")]),
    ("Norland", "contains", "Aro"),
    ("Norland", "contains", "Nordby"),
    ("Norland", "contains", "Light 2"),
]
TYPES = {
    "island": ISLANDS,
    "country": ["Norland", "Sutland"],
    "city": ["Nordby", "Sutby"],
    "lighthouse": [f"Light {n}" for n in range(5)],
    "ferry": ["Fast", "Slow"],
}


@pytest.fixture(scope="module")
def islands(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    types = [(name, "type", kind) for kind, names in TYPES.items() for name in names]
    return build_rows([*TRIPLES, *types], tmp_path_factory.mktemp("islands"), encoder="all-MiniLM-L6-v2")


@pytest.fixture(scope="module")
def untyped(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return build_rows(TRIPLES, tmp_path_factory.mktemp("untyped"), encoder="all-MiniLM-L6-v2")


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("Which island has the largest area?", {"Bry"}),
        ("what is the smallest island", {"Cor"}),
        ("how many islands are there", {"3"}),
        ("list all ferries", {"Fast", "Slow"}),
        ("which island has the most lighthouses", {"Aro"}),
        ("which ferry serves the most islands", {"Fast"}),
        ("what is the capital of the country that the smallest island belongs to", {"Sutby"}),
        ("which country does the largest island belong to", {"Norland"}),
        ("what is the tallest lighthouse that stands on Aro", {"Light 1"}),
        ("which lighthouses does Norland contain", {"Light 2"}),
        ("how many islands does Norland contain", {"1"}),
    ],
)
def test_the_baseline_answers(islands: KnowledgeBase, question: str, answers: set[str]) -> None:
    found = ask(KERAG(islands, verdict="any"), question)
    assert set(found.answer.split(", ")) == answers
    assert found.grounded


def test_a_graph_without_types_takes_everything_that_has_the_relation(untyped: KnowledgeBase) -> None:
    assert ask(KERAG(untyped, verdict="any"), "which island has the largest area").answer == "Bry"


@pytest.mark.parametrize(
    "question", ["Which islands are small?", "Which of the islands are small?", "How many of these islands are small?"]
)
def test_the_noun_that_is_asked_for(question: str) -> None:
    assert asked_class(read_question(question), ["island", "city"]) == ("island",)


def test_a_noun_stands_for_the_classes_that_it_heads() -> None:
    assert asked_class(
        read_question("how many countries are there"), ["country of the world", "big country", "river"]
    ) == (
        "country of the world",
        "big country",
    )
    assert asked_class(read_question("how many countries are there"), ["country", "big country"]) == ("country",)
    assert asked_class(read_question("who rules the country"), ["country"]) == ()


@pytest.mark.parametrize("question", ["what is the capitel of Norland", "what is the capiital of norland"])
def test_a_misspelt_word_of_a_relation_is_understood(islands: KnowledgeBase, question: str) -> None:
    assert ask(KERAG(islands), question).answer == "Nordby"


@pytest.mark.parametrize("question", ["Who was the teacher of Ada?", "Who is Ada's teacher?"])
def test_the_noun_after_who_is_names_a_relation(question: str) -> None:
    assert asked_class(read_question(question, ["Ada"]), ["teacher"], one=True) == ()


def test_the_noun_after_what_is_may_name_a_class() -> None:
    assert asked_class(read_question("What is the longest lake of Norland?", ["Norland"]), ["lake"], one=True) == (
        "lake",
    )
