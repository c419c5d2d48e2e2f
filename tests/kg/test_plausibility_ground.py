"""Triples in words placed in the graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from kg_parts import built

from triplecheck.kg import KnowledgeBase
from triplecheck.kg.encode import Encoder
from triplecheck.kg.plausibility import Grounded, Grounder, Skip


@pytest.fixture
def grounder(people_with_vectors: KnowledgeBase) -> Grounder:
    kb = people_with_vectors
    return Grounder(kb.graph, kb.linker, kb.relation_vectors)


def ids(kb: KnowledgeBase, found: Grounded) -> tuple[str, str, str]:
    head, relation, tail = found.triple
    assert head is not None and relation is not None and tail is not None
    return kb.graph.node_id(head), kb.graph.relation(relation).id, kb.graph.node_id(tail)


@pytest.mark.parametrize(
    ("text", "expected", "swapped"),
    [
        (("Bernhard Heiden", "born in", "Frankfurt"), ("heiden", "born_in", "frankfurt"), False),
        (("Bernhard Heiden", "Birthplace", "Frankfurt am Main"), ("heiden", "born_in", "frankfurt"), False),
        (("Francis Ford Coppola", "director", "The Godfather"), ("godfather", "director", "coppola"), True),
        (("The Godfather", "was directed by", "Francis Ford Coppola"), ("godfather", "director", "coppola"), False),
        (("Francis Ford Coppola", "directed", "The Godfather"), ("godfather", "director", "coppola"), True),
        (("Frankfurt", "birthplace", "Bernard Heiden"), ("heiden", "born_in", "frankfurt"), True),
    ],
)
def test_triples_are_placed_whichever_way_round_they_are_said(
    people_with_vectors: KnowledgeBase, grounder: Grounder, text: tuple[str, str, str], expected: object, swapped: bool
) -> None:
    (found,) = grounder.ground([text])
    assert ids(people_with_vectors, found) == expected
    assert found.swapped is swapped
    assert found.reason is None and found.text == text


@pytest.mark.parametrize(
    ("text", "there"),
    [("July 25, 1920", True), ("25 July 1920", True), ("1920", True), ("July 26, 1920", False), ("in July", False)],
)
def test_a_value_may_be_written_differently(text: str, there: bool, bundled: KnowledgeBase) -> None:
    triple = ("Rosalind Franklin", "date of birth", text)
    (found,) = Grounder(bundled.graph, bundled.linker).ground([triple])
    edge = found.edge
    assert (edge is not None and bundled.graph.contains(*edge)) is there
    assert not there or (bundled.graph.label(found.triple[2] or 0) == "1920-07-25" and not found.swapped)


def test_an_untrue_triple_is_grounded_in_its_own_direction(
    people_with_vectors: KnowledgeBase, grounder: Grounder
) -> None:
    (found,) = grounder.ground([("Barack Obama", "born in", "Frankfurt am Main")])
    assert ids(people_with_vectors, found) == ("obama", "born_in", "frankfurt")
    assert not found.swapped and found.similarity == 1.0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (("Qwrtzpsdfg", "born in", "Frankfurt"), Skip.UNKNOWN_HEAD),
        (("", "born in", "Frankfurt"), Skip.UNKNOWN_HEAD),
        (("Barack Obama", "xyzzy 4711", "Honolulu"), Skip.UNKNOWN_RELATION),
        (("Barack Obama", "", "Honolulu"), Skip.UNKNOWN_RELATION),
        (("Barack Obama", "born in", "Qwrtzpsdfg"), Skip.UNKNOWN_TAIL),
    ],
)
def test_what_cannot_be_placed_says_why(grounder: Grounder, text: tuple[str, str, str], reason: Skip) -> None:
    (found,) = grounder.ground([text])
    assert found.reason is reason
    assert None in found.triple


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (("Michael Jordan", "field of research", "machine learning"), "jordan_scientist"),
        (("Michael Jordan", "plays for", "Bulls"), "jordan_player"),
        (("Paris", "country", "United States"), "paris_texas"),
        (("Paris", "country", "France"), "paris"),
        # Not in the graph: the reading whose ends have such edges, then the linker's order.
        (("Michael Jordan", "born in", "Frankfurt"), "jordan_player"),
        (("Paris", "country", "Honolulu"), "paris"),
    ],
)
def test_the_graph_decides_between_homonyms(people: KnowledgeBase, text: tuple[str, str, str], expected: str) -> None:
    (found,) = Grounder(people.graph, people.linker).ground([text])
    assert ids(people, found)[0] == expected


def test_a_misspelt_name_has_one_reading(people: KnowledgeBase) -> None:
    grounder = Grounder(people.graph, people.linker)
    first = people.linker.candidates("Micheal Jordan", limit=1)[0]
    fields = {"plays for": "Bulls", "field of research": "machine learning"}
    found = grounder.ground([("Micheal Jordan", predicate, tail) for predicate, tail in fields.items()])
    assert {one.triple[0] for one in found} == {first.node}


def test_relations_of_one_name_are_disambiguated_by_their_ends(encoder: Encoder, tmp_path: object) -> None:
    triples = "ann\tbook_author\tnovel\njoe\tsong_author\ttune\ntown\tin\tland\n"
    relations = "id\tlabel\nbook_author\tauthor\nsong_author\tauthor\n"
    kb = built(tmp_path, triples, "", relations)  # type: ignore[arg-type]
    grounder = Grounder(kb.graph, kb.linker)
    found = grounder.ground([("ann", "author", "novel"), ("joe", "author", "tune"), ("tune", "author", "joe")])
    assert [ids(kb, one)[1] for one in found] == ["book_author", "song_author", "song_author"]
    assert [one.swapped for one in found] == [False, False, True]


def test_without_vectors_relations_are_known_by_name_alone(people: KnowledgeBase) -> None:
    grounder = Grounder(people.graph, people.linker, None)
    named, meant = grounder.ground(
        [("Barack Obama", "birthplace", "Honolulu"), ("Barack Obama", "hails from", "Honolulu")]
    )
    assert named.reason is None
    assert meant.reason is Skip.UNKNOWN_RELATION


class Counted:
    """Relation vectors that count what they are asked."""

    def __init__(self, size: int) -> None:
        self.asked: list[str] = []
        self._size = size

    def against(self, text: str) -> np.ndarray:
        self.asked.append(text)
        return np.linspace(0, 1, self._size, dtype=np.float32)


def test_each_distinct_predicate_is_compared_once(people: KnowledgeBase) -> None:
    vectors = Counted(people.graph.num_relations)
    grounder = Grounder(people.graph, people.linker, vectors)  # type: ignore[arg-type]
    said: Sequence[tuple[str, str, str]] = [("Paris", word, "France") for word in ("lies in", "lies in", "is part of")]
    grounder.ground(said)
    grounder.ground(said)
    assert vectors.asked == ["lies in", "is part of"]


@pytest.mark.parametrize("predicate", ["was not born in", "wasn't born in", "never born in"])
def test_a_negated_relation_is_not_linked_to_a_similar_relation(grounder: Grounder, predicate: str) -> None:
    (found,) = grounder.ground([("Bernhard Heiden", predicate, "Frankfurt")])
    assert (found.triple[1], found.reason) == (None, Skip.DENIAL)
