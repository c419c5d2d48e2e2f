"""Questions that describe things by their class instead of naming them."""

from __future__ import annotations

from pathlib import Path

import pytest
from program_parts import ask, build_rows, steps

from triplecheck.kg import KnowledgeBase
from triplecheck.language.described import asked_class
from triplecheck.language.question import read_question
from triplecheck.programs import KERAG
from triplecheck.programs.steps import Assisted

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


# --- `implied_classes`: nouns name kinds of things where the graph has no classes
HUTS = {"Adler Hut": (2350, 60, "Ida Vale"), "Crown Hut": (2410, 34, "Jon Brook"), "Moss Hut": (1980, 80, "Kim Weir")}
PEAKS = {"Rotwand": (2884, 1871), "Mittagskopf": (2602, 1866), "Kleinspitz": (2499, 1902)}
TRAILS = {"Ridge Trail": ("Adler Hut", 12), "Chamois Trail": ("Crown Hut", 4), "Salt Trail": ("Moss Hut", 9)}


@pytest.fixture(scope="module")
def mountains(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    rows: list[tuple[str, str, str]] = []
    for name, (elevation, beds, warden) in HUTS.items():
        rows += [(name, "elevation", str(elevation)), (name, "beds", str(beds)), (name, "warden", warden)]
    for name, (elevation, year) in PEAKS.items():
        rows += [(name, "elevation", str(elevation)), (name, "first climbed", str(year))]
    for name, (hut, length) in TRAILS.items():
        rows += [(name, "starts at", hut), (name, "length", str(length))]
    return build_rows(rows, tmp_path_factory.mktemp("mountains"), encoder="all-MiniLM-L6-v2")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which hut has the most beds?", "Moss Hut"),
        ("What is the second highest hut by elevation?", "Adler Hut"),
        ("What is the shortest trail by length?", "Chamois Trail"),
        (
            "Which mountain is the highest?",
            "Rotwand",
        ),  # named by no thing and no relation: what is high has an elevation
        ("Which refuge has the most beds?", "Moss Hut"),
    ],
)
def test_a_noun_names_a_kind(mountains: KnowledgeBase, question: str, answer: str) -> None:
    found = ask(KERAG(mountains), question)
    assert found.answer == answer
    assert found.verdict != "proved", "the graph does not say what a hut is"
    assert any("the graph has no classes" in doubt for doubt in found.doubts)
    (step,) = [one for one in steps(found, Assisted) if one.name == "implied_classes"]
    assert step.step == "WriteQuery"
    assert step.after[0].startswith(("hut: ", "trail: ", "mountain: ", "refuge: "))


def test_without_it_the_noun_is_not_understood(mountains: KnowledgeBase) -> None:
    found = ask(KERAG(mountains, assist="-implied_classes"), "What is the second highest hut by elevation?")
    assert found.answer != "Adler Hut"


def test_a_noun_of_no_kind_in_the_graph_gets_no_answer(mountains: KnowledgeBase) -> None:
    found = ask(KERAG(mountains, verdict="likely"), "Which glacier has the most crevasses?")
    assert found.abstained


def test_a_noun_that_a_relation_names_is_a_kind_where_it_is_asked_for(tmp_path: Path) -> None:
    rows = [(f"Stage {n}", "length", f"{100 + 7 * n}") for n in range(1, 6)]
    rows += [(f"Stage {n}", "finishes in", place) for n, place in enumerate(("Ardo", "Belm", "Corv", "Dunn"), 1)]
    rows += [(rider, "won stage", f"Stage {n}") for n, rider in enumerate(("Ada Holt", "Ben Moss", "Cleo Hart"), 1)]
    rows += [(rider, "height", str(170 + n)) for n, rider in enumerate(("Ada Holt", "Ben Moss", "Cleo Hart"), 1)]
    stages = build_rows(rows, tmp_path, encoder="all-MiniLM-L6-v2")
    assert ask(KERAG(stages, verdict="likely"), "Which stage is the longest?").answer == "Stage 5"


@pytest.fixture(scope="module")
def village(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    lengths = {"High Street": 410, "Ferry Way": 730, "Church Lane": 190}
    rows = [(street, "street length", f"{metres} m") for street, metres in lengths.items()]
    people = {
        "Nell Pike": ("Rose Cottage", 1994),
        "Len Carver": ("The Folly", 2003),
        "Ruth Amory": ("Mill House", 1989),
    }
    for name, (house, year) in people.items():
        rows += [(name, "lives in", house), (name, "moved in on", f"{year}-05-01")]
    rows += [(house, "bedrooms", str(n)) for n, house in enumerate(("Rose Cottage", "The Folly", "Mill House"), 2)]
    return build_rows(rows, tmp_path_factory.mktemp("village"), encoder="all-MiniLM-L6-v2")


def test_a_class_that_changes_nothing_casts_no_doubt(village: KnowledgeBase) -> None:
    found = ask(KERAG(village), "Which street is the longest?")
    assert (found.answer, found.verdict, found.doubts) == ("Ferry Way", "proved", [])
    assert "<street>" not in found.query


def test_a_time_is_no_kind(village: KnowledgeBase) -> None:
    found = ask(KERAG(village), "Who moved in in the nineties?")
    assert found.answer == "Nell Pike"
