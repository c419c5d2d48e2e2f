"""The typo-tolerant name index."""

from __future__ import annotations

import random
import string
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kg_parts import raw_graph

from triplecheck.kg import KnowledgeBase, build, normalize
from triplecheck.kg.names import TrigramIndex, similarity
from triplecheck.kg.readers.raw import ENTITY_SCHEMA

NAMES = """\
Paul Hindemith;Bernhard Heiden;Michael Jordan;Anna of Holstein-Gottorp;Barack Obama;Wolfgang Amadeus Mozart
Ludwig van Beethoven;Francis Ford Coppola;The Godfather;Frankfurt am Main;Zsa Zsa Gábor;Pirates of the Caribbean
Ridley Scott;Blade Runner;Marie Curie;Pierre Curie;Gabriel García Márquez;One Hundred Years of Solitude;Oslo;Peru
Владимир Набоков;東京スカイツリー;C++;Ke$ha;2001: A Space Odyssey"""
FORMS = [normalize(name) for name in NAMES.replace("\n", ";").split(";")]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> TrigramIndex:
    return index_of(FORMS, tmp_path_factory.mktemp("fuzzy"))


def index_of(names: list[str], folder: Path) -> TrigramIndex:
    raw = raw_graph([])
    rows = [{"id": f"e{number}", "label": name} for number, name in enumerate(names)]
    raw.entities = pa.Table.from_pylist(rows, ENTITY_SCHEMA)
    return build(raw, folder / "kb", encoder=None).trigrams


def misspelt(form: str, edits: int, pick: random.Random) -> str:
    """A form with so many letters dropped, doubled, changed or swapped, its first one left alone."""
    text = form
    for _ in range(edits):
        at = pick.randrange(1, len(text) - 1)
        text = pick.choice(
            [
                text[:at] + text[at + 1 :],
                text[:at] + text[at] + text[at:],
                text[:at] + pick.choice(string.ascii_lowercase) + text[at + 1 :],
                text[:at] + text[at + 1] + text[at] + text[at + 2 :],
            ]
        )
    return normalize(text)


def test_a_name_is_found_for_its_own_text(index: TrigramIndex) -> None:
    for form in FORMS:
        best = index.similar(form)[0]
        assert (best.form, best.similarity) == (form, 1.0)


@pytest.mark.parametrize("edits", [1, 2])
def test_a_name_is_found_under_so_many_typing_errors(index: TrigramIndex, edits: int) -> None:
    pick = random.Random(edits)
    texts = [(form, misspelt(form, edits, pick)) for form in FORMS if len(form) >= 10 for _ in range(20)]
    missed = [text for form, text in texts if form not in [s.form for s in index.similar(text)]]
    assert len(missed) <= len(texts) * 0.01, missed


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=12), min_size=1, max_size=8))
@settings(max_examples=15)
def test_any_name_of_any_graph_is_found_for_its_own_text(names: list[str]) -> None:
    forms = {form for name in names if len(form := normalize(name)) > 1}
    with tempfile.TemporaryDirectory() as folder:
        index = index_of(sorted(forms), Path(folder))
        for form in forms:
            assert form in [s.form for s in index.similar(form)]


def test_the_most_similar_come_first(index: TrigramIndex) -> None:
    found = index.similar("pierre curie", least=0.3)
    assert [s.form for s in found][:2] == ["pierre curie", "marie curie"]
    assert [s.similarity for s in found] == sorted((s.similarity for s in found), reverse=True)
    assert len(index.similar("pierre curie", limit=1, least=0.3)) == 1


def test_what_resembles_nothing_finds_nothing(index: TrigramIndex) -> None:
    for text in ("", "a", "qqqq", "zyxwvut", "\N{MUSICAL SCORE}\N{MUSICAL SCORE}\N{MUSICAL SCORE}", "\ud83d"):
        assert index.similar(text) == []


def test_names_within_a_longer_text(index: TrigramIndex) -> None:
    found = [form for _, form in index.within("which film did ridly scott direct after blade runer")]
    assert {"ridley scott", "blade runner"} <= set(found[:4])


def test_names_that_contain_a_text(index: TrigramIndex) -> None:
    assert [form for _, form in index.overlapping("curie")] == ["marie curie", "pierre curie"]
    assert "paul hindemith" in [form for _, form in index.overlapping("hindemit")]


def test_a_shortlist_is_bounded(index: TrigramIndex) -> None:
    assert len(index.within(" ".join(FORMS), least=0.0, shortlist=5)) == 5


def test_similarity_counts_a_swap_of_neighbours_once() -> None:
    assert similarity("hindemith", "hindemiht") == pytest.approx(1 - 1 / 9)
    assert similarity("same", "same") == 1
    assert similarity("", "abc") == 0


def test_a_question_of_100_kilobytes_is_no_trouble(people: KnowledgeBase) -> None:
    assert isinstance(people.trigrams.within("hindemith " * 10_000), list)
