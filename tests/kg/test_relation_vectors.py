"""Relations compared with a text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from triplecheck.kg import KnowledgeBase
from triplecheck.kg.encode import Encoder, TextEncoder
from triplecheck.kg.relation_vectors import (
    RelationVectors,
    build,
    end_text,
    open_vectors,
    relation_texts,
    type_texts,
)
from triplecheck.kg.types import Direction, Relation

RELATIONS = [
    Relation("r0", "born in", ("birthplace", "native city")),
    Relation("r1", "plays for", ()),
    Relation("r2", "doctoral advisor", ("supervisor",)),
]


@pytest.fixture(scope="module")
def vectors(encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> RelationVectors:
    folder = tmp_path_factory.mktemp("relations")
    build(RELATIONS, encoder, folder)
    return open_vectors(folder, encoder, RELATIONS)


@pytest.mark.parametrize(("number", "relation"), list(enumerate(RELATIONS)), ids=["r0", "r1", "r2"])
def test_a_wording_is_nearest_to_its_own_relation(vectors: RelationVectors, number: int, relation: Relation) -> None:
    for place, text in enumerate(relation_texts(relation)):
        cosines = vectors.against(text)
        assert cosines.shape == (3,)
        assert cosines.argmax() == number
        assert cosines[number] == pytest.approx(1, abs=1e-3)
        assert vectors.nearest_wordings(text)[number] == place


def test_a_question_is_nearest_to_what_it_asks_for(vectors: RelationVectors) -> None:
    assert vectors.against("Which team does he play for?").argmax() == 1
    assert vectors.against("In which town was she born?").argmax() == 0


def test_cosines_are_those_of_the_best_wording(vectors: RelationVectors, encoder: Encoder) -> None:
    text = "Where do they come from?"
    query = encoder.encode([text])[0]
    best = [float((encoder.encode(relation_texts(r)) @ query).max()) for r in RELATIONS]
    np.testing.assert_allclose(vectors.against(text), best, atol=1e-4)


def test_without_relations_there_is_nothing_to_compare(encoder: Encoder, tmp_path: Path) -> None:
    build([], encoder, tmp_path)
    vectors = open_vectors(tmp_path, encoder, [])
    assert vectors.against("anything").shape == (0,)
    assert vectors.nearest_wordings("anything").shape == (0,)


def test_the_encoder_remembers_the_vectors_of_a_few_relations_and_types(
    encoder: TextEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["club, team", *relation_texts(RELATIONS[0])]
    build(RELATIONS, encoder, tmp_path, ["city", "club, team"])
    expected = encoder.encode(texts)
    encoder.forget()
    open_vectors(tmp_path, encoder, RELATIONS)
    monkeypatch.setattr(encoder, "_model", None)  # nothing is left to encode
    np.testing.assert_allclose(encoder.encode(texts), expected, atol=1e-6)


def test_the_texts_for_types_are_their_labels_and_the_ends_of_relations(bundled: KnowledgeBase) -> None:
    texts, graph = type_texts(bundled.graph), bundled.graph
    taught = next(number for number in range(graph.num_relations) if graph.relation(number).label == "student of")
    assert len(texts) == len(set(texts)) and "" not in texts
    assert {*map(graph.type_label, graph.type_ids), end_text(graph, taught, Direction.OUT)} <= {*texts, ""}
