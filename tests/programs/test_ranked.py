"""How likely the trained ranker finds the path of a proof."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors import safe_open

from triplecheck.kg import KnowledgeBase
from triplecheck.kg.encode import load_encoder
from triplecheck.kg.ranker import load_ranker
from triplecheck.programs import Outcome
from triplecheck.programs.judge.proof import Proof
from triplecheck.programs.judge.ranked import COMMON, ranked_features
from triplecheck.programs.steps import Linked

GABON = [("Gabon", "shares border with", "Cameroon"), ("Cameroon", "capital", "Yaoundé"), ("Gabon", "anthem", "Hymn")]


@pytest.fixture(scope="module")
def gabon() -> KnowledgeBase:
    return KnowledgeBase.from_triples(GABON)


def features(base: KnowledgeBase, question: str, evidence: list[tuple[str, str, str]]) -> dict[str, float]:
    graph = base.graph
    node = {label: base.linker.candidates(label)[0].node for row in GABON for label in (row[0], row[2])}
    relation = {graph.relation(number).label: number for number in range(graph.num_relations)}
    edges = tuple((node[head], relation[name], node[tail]) for head, name, tail in evidence)
    linked = Linked("Gabon", [{"id": graph.node_id(node["Gabon"]), "score": 1.0}], [graph.node_id(node["Gabon"])])
    found = Outcome(evidence[-1][2], (edges[-1][2],), edges, grounded=True)
    proof = Proof(graph, load_encoder().encode, question, found, [linked])
    return ranked_features(proof, load_ranker(), base.relation_vectors)


def test_a_path_of_the_relation_that_is_asked_for_is_ideal(gabon: KnowledgeBase) -> None:
    found = features(gabon, "What is the anthem of Gabon?", GABON[2:])
    assert found["ideal_hop"] > -1 and found["ranked_schema"] > -2


def test_a_path_of_another_relation_falls_behind_what_the_graph_lacks(gabon: KnowledgeBase) -> None:
    """The capital of Gabon is not in the graph; that of its neighbour is."""
    found = features(gabon, "What is the capital of Gabon?", GABON[:2])
    assert found["ranked_schema"] < -2 and found["ranked_length"] < -2
    mayor = features(gabon, "Who is the head of government of Gabon?", GABON[2:])
    assert mayor["ideal_hop"] < -2


def test_without_a_topic_there_are_no_features(gabon: KnowledgeBase) -> None:
    proof = Proof(gabon.graph, load_encoder().encode, "What is there?", Outcome(), [])
    assert ranked_features(proof, load_ranker(), None) == {}


def test_the_stored_vectors_are_those_of_the_default_encoder() -> None:
    with safe_open(COMMON, "numpy") as file:
        about, vectors = file.metadata(), file.get_tensor("vectors")
    texts = json.loads(about["texts"])
    assert about["encoder"] == load_encoder().fingerprint and len(texts) == len(vectors)
    assert np.abs(load_encoder().encode(texts[:5]) - vectors[:5]).max() < 1e-2
