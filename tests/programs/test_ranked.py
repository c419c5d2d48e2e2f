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
from triplecheck.programs.judge.ranked import COMMON, ideal_hop
from triplecheck.programs.steps import Linked

GABON = [("Gabon", "shares border with", "Cameroon"), ("Cameroon", "capital", "Yaoundé"), ("Gabon", "anthem", "Hymn")]


@pytest.fixture(scope="module")
def gabon() -> KnowledgeBase:
    return KnowledgeBase.from_triples(GABON)


def ideal(base: KnowledgeBase, question: str, evidence: list[tuple[str, str, str]]) -> float:
    graph = base.graph
    node = {label: base.linker.candidates(label)[0].node for row in GABON for label in (row[0], row[2])}
    relation = {graph.relation(number).label: number for number in range(graph.num_relations)}
    edges = tuple((node[head], relation[name], node[tail]) for head, name, tail in evidence)
    linked = Linked("Gabon", [{"id": graph.node_id(node["Gabon"]), "score": 1.0}], [graph.node_id(node["Gabon"])])
    outcome = Outcome(evidence[-1][2], (edges[-1][2],), edges, grounded=True)
    proof = Proof(graph, load_encoder().encode, question, outcome, [linked])
    found = ideal_hop(proof, load_ranker(), base.relation_vectors)
    assert found is not None
    return found


def test_a_path_of_the_relation_that_is_asked_for_is_ideal(gabon: KnowledgeBase) -> None:
    assert ideal(gabon, "What is the anthem of Gabon?", GABON[2:]) > -1


def test_a_path_of_another_relation_falls_behind_what_the_graph_lacks(gabon: KnowledgeBase) -> None:
    assert ideal(gabon, "Who is the head of government of Gabon?", GABON[2:]) < -2


def test_without_a_topic_there_is_no_path(gabon: KnowledgeBase) -> None:
    proof = Proof(gabon.graph, load_encoder().encode, "What is there?", Outcome(), [])
    assert ideal_hop(proof, load_ranker(), None) is None


def test_the_stored_vectors_are_those_of_the_default_encoder() -> None:
    with safe_open(COMMON, "numpy") as file:
        about, vectors = file.metadata(), file.get_tensor("vectors")
    texts = json.loads(about["texts"])
    assert about["encoder"] == load_encoder().fingerprint and len(texts) == len(vectors)
    assert np.abs(load_encoder().encode(texts[:5]) - vectors[:5]).max() < 1e-2
