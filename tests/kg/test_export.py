"""A graph taken back out of its store, changed, and built again."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from triplecheck.kg import Entity, KnowledgeBase, Literal, Triple, build
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.export import raw_of, to_raw


def edges(graph: ColumnarGraph) -> set[tuple[object, ...]]:
    found = graph.expand(np.arange(graph.num_nodes), direction=None)
    rows = zip(found.heads.tolist(), found.relations.tolist(), found.tails.tolist(), strict=True)
    return {(graph.node_id(h), graph.relation(r).id, graph.literal(t) or graph.node_id(t)) for h, r, t in rows}


def test_an_exported_graph_builds_the_same_graph(bundled: KnowledgeBase, tmp_path: Path) -> None:
    again = build(to_raw(bundled.graph), tmp_path / "again", encoder=None).graph
    assert edges(again) == edges(bundled.graph)
    assert again.num_entities == bundled.graph.num_entities
    for node in range(0, again.num_entities, 37):
        assert again.entity(node) == bundled.graph.entity(node)
    for relation in range(again.num_relations):
        assert again.relation(relation) == bundled.graph.relation(relation)
    assert [again.type_label(t) for t in again.type_ids] == [
        bundled.graph.type_label(t) for t in bundled.graph.type_ids
    ]


def test_edges_can_be_left_out_and_added(tmp_path: Path) -> None:
    first = build(
        raw_of(
            [Triple("a", "knows", "b"), Triple("a", "knows", "c"), Triple("a", "born", Literal("1900"))],
            [Entity("a", "Anna", ("Annie",), "a person", ("Person",))],
        ),
        tmp_path / "first",
        encoder=None,
    ).graph
    a, knows, b = first.find("a"), first.find_relation("knows"), first.find("b")
    assert a is not None and knows is not None and b is not None
    more = raw_of([Triple("c", "knows", "d")])
    second = build([to_raw(first, without=[(a, knows, b)]), more], tmp_path / "second", encoder=None).graph
    assert edges(second) == {("a", "knows", "c"), ("a", "born", Literal("1900")), ("c", "knows", "d")}
    assert second.find("b") is not None, "the node stays known, without edges"
    anna = second.find("a")
    assert anna is not None and second.entity(anna).aliases == ("Annie",)
