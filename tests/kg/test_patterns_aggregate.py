"""Superlatives over what patterns found."""

from __future__ import annotations

import numpy as np
import pytest
from kg_parts import built

from triplecheck.kg import KnowledgeBase
from triplecheck.kg.patterns import Constants, Match, bind, extreme, match, parse_patterns

TRIPLES = """\
nolan\tdirected\tinception
nolan\tdirected\tmemento
scott\tdirected\talien
scott\tdirected\tgladiator
scott\tdirected\tlegend
inception\treleased\t2010-07-16
memento\treleased\t2000-09-05
alien\treleased\t1979
gladiator\treleased\t2000-09-05
legend\treleased\tlong ago
inception\tminutes\t148
"""


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return built(tmp_path_factory.mktemp("films"), TRIPLES)


def found(films: KnowledgeBase, text: str) -> Match:
    return match(films.graph, bind(films.graph, parse_patterns(text), Constants(films.graph, films.linker)))


def names(films: KnowledgeBase, nodes: object) -> list[str]:
    return [films.graph.node_id(int(node)) for node in nodes]  # type: ignore[attr-defined]


def test_superlatives_keep_ties_and_their_proof(films: KnowledgeBase) -> None:
    graph = films.graph
    released = graph.find_relation("released")
    assert released is not None
    shared = extreme(graph, np.array([graph.find("memento"), graph.find("gladiator")]), released, greatest=True)
    assert sorted(names(films, shared.nodes)) == ["gladiator", "memento"]
    assert len(shared.triples) == 2
    assert all(graph.contains(*triple) for triple in shared.triples)


def test_numbers_and_dates_are_not_compared_with_each_other(films: KnowledgeBase) -> None:
    graph = films.graph
    released = graph.find_relation("released")
    assert released is not None
    dated = [graph.find(name) for name in ("inception", "memento", "gladiator", "alien", "legend")]
    last = extreme(graph, np.array(dated), released, greatest=True)
    assert names(films, last.nodes) == ["inception"]
    assert (last.measured, last.other) == (3, 2)  # 1979 alone is a number, "long ago" is neither


def test_nothing_measured_is_no_superlative(films: KnowledgeBase) -> None:
    directed = films.graph.find_relation("directed")
    assert directed is not None
    none = extreme(films.graph, np.array([films.graph.find("nolan")]), directed, greatest=True)
    assert (none.nodes, none.value, none.measured, none.other) == ((), None, 0, 1)
