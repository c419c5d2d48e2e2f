"""The assist `implied_classes`: nouns name kinds of things where the graph has no classes."""

from __future__ import annotations

from pathlib import Path

import pytest
from program_parts import ask, build_rows, steps

from triplecheck.kg import KnowledgeBase
from triplecheck.programs import KERAG
from triplecheck.programs.steps import Assisted

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
