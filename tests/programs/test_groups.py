"""Questions that describe things by their class instead of naming them."""

from __future__ import annotations

import pytest
from program_parts import fields, play, topics

from triplecheck.kg import KnowledgeBase, build
from triplecheck.kg.readers import read_graph
from triplecheck.language.described import asked_class, describe, says_nothing_else
from triplecheck.language.question import read_question
from triplecheck.lms import session
from triplecheck.programs import KERAG
from triplecheck.programs.steps import Linked, Picked, Trace

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
    folder = tmp_path_factory.mktemp("islands")
    (folder / "triples.tsv").write_text("".join("\t".join(row) + "\n" for row in TRIPLES))
    rows = [f"{name}\t{name}\t{kind}\n" for kind, names in TYPES.items() for name in names]
    (folder / "entities.tsv").write_text("id\tlabel\ttype\n" + "".join(rows))
    raw = read_graph([folder / "triples.tsv"], entities=folder / "entities.tsv")
    return build(raw, folder / "kb")


@pytest.fixture(scope="module")
def untyped(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    folder = tmp_path_factory.mktemp("untyped")
    (folder / "triples.tsv").write_text("".join("\t".join(row) + "\n" for row in TRIPLES))
    return build(read_graph([folder / "triples.tsv"]), folder / "kb")


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
    with session():
        found = KERAG(islands, verdict="any")(question=question)
    assert set(found.answer.split(", ")) == answers
    assert found.grounded


def test_what_is_picked_is_proved_and_in_the_trace(islands: KnowledgeBase) -> None:
    with session():
        found = KERAG(islands, verdict="any")(question="what is the capital of the country with the most islands")
    assert found.answer == "Nordby"
    picked = next(step for step in found.steps if isinstance(step, Picked))
    assert (picked.description, picked.choice, picked.group) == ("the country with the most islands", "most", "country")
    assert (picked.relation, picked.inputs, picked.result, picked.whole) == ("belongs to", 2, "Norland", False)
    assert [step.mention for step in found.steps if isinstance(step, Linked)][-1] == "the country with the most islands"
    assert ["Aro", "belongs to", "Norland"] in [[row["head"], row["relation"], row["tail"]] for row in found.evidence]


def test_a_graph_without_types_takes_everything_that_has_the_relation(untyped: KnowledgeBase) -> None:
    with session():
        found = KERAG(untyped, verdict="any")(question="which island has the largest area")
    assert found.answer == "Bry"


def test_things_are_not_counted_unless_the_question_asks_how_many(untyped: KnowledgeBase) -> None:
    counted = fields(reasoning="It is.", description="Zed", chosen="1", choice="count", by="none")
    found, _ = play(KERAG(untyped), "What is the area of Zed?", topics("Zed"), fields(query="none"), counted)
    assert found.reason == "no_topic"


@pytest.mark.parametrize("question", ["How many islands are there?", "How many Norland islands are listed?"])
def test_the_asked_class_may_have_a_topic_before_it(islands: KnowledgeBase, question: str) -> None:
    with session():
        asked = KERAG(islands).plan(question, Trace()).classes.asked
    assert asked is not None and asked[0] == "island"


def test_it_can_be_turned_off(islands: KnowledgeBase) -> None:
    with session():
        assert KERAG(islands, assist="-described -plans")(question="what is the smallest island").reason == "no_topic"


@pytest.mark.parametrize(
    ("question", "text", "choice", "whole"),
    [
        ("What is the longest river?", "the longest river", "max", True),
        ("Which state has the fewest cities?", "state has the fewest cities", "fewest", True),
        ("Who rules the least populous country?", "the least populous country", "min", False),
        ("What is the highest point of Nevada?", None, None, None),
        ("Who wrote Alien?", None, None, None),
    ],
)
def test_descriptions(question: str, text: str | None, choice: str | None, whole: bool | None) -> None:
    names = ["river", "state", "city", "country of the world", "big country"]
    found = describe(read_question(question), names, ["highest point"])
    assert (found and found.text, found and found.choice, found and found.whole) == (text, choice, whole)


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


def test_the_rest_of_a_question_says_something_or_not() -> None:
    assert says_nothing_else(read_question("What is the longest river in the graph?"), "the longest river")
    assert not says_nothing_else(read_question("What is the mouth of the longest river?"), "the longest river")


@pytest.mark.parametrize("question", ["what is the capitel of Norland", "what is the capiital of norland"])
def test_a_misspelt_word_of_a_relation_is_understood(islands: KnowledgeBase, question: str) -> None:
    with session():
        assert KERAG(islands)(question=question).answer == "Nordby"


@pytest.mark.parametrize("question", ["Who was the teacher of Ada?", "Who is Ada's teacher?"])
def test_the_noun_after_who_is_names_a_relation(question: str) -> None:
    assert asked_class(read_question(question, ["Ada"]), ["teacher"], one=True) == ()


def test_the_noun_after_what_is_may_name_a_class() -> None:
    assert asked_class(read_question("What is the longest lake of Norland?", ["Norland"]), ["lake"], one=True) == (
        "lake",
    )
