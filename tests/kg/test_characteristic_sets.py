"""Kinds of things in a graph without classes, told from the relations that they have."""

from __future__ import annotations

import pytest
from kg_parts import built

from triplecheck.kg import KnowledgeBase
from triplecheck.kg.characteristic_sets import groups
from triplecheck.kg.columnar import ColumnarGraph

MOUNTAINS = """
Adler Hut\televation\t2350
Adler Hut\tbeds\t60
Adler Hut\twarden\tIda Vale
Crown Hut\televation\t2410
Crown Hut\tbeds\t34
Crown Hut\twarden\tJon Brook
Dohlen House\televation\t1980
Dohlen House\tbeds\t80
Rotwand\televation\t2884
Rotwand\tfirst climbed\t1871
Rotwand\tin range\tStein Alps
Mittagskopf\televation\t2602
Mittagskopf\tfirst climbed\t1866
Mittagskopf\tin range\tStein Alps
Ridge Trail\tstarts at\tAdler Hut
Ridge Trail\tlength\t12
Crown Way\tstarts at\tCrown Hut
Crown Way\tlength\t4
""".lstrip()


@pytest.fixture(scope="module")
def mountains(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return built(tmp_path_factory.mktemp("mountains"), MOUNTAINS)


def graph_of(base: KnowledgeBase) -> ColumnarGraph:
    assert isinstance(base.graph, ColumnarGraph)
    return base.graph


def test_things_with_mostly_the_same_relations_are_of_one_kind(mountains: KnowledgeBase) -> None:
    graph = graph_of(mountains)
    found = {frozenset(graph.labels(group.nodes)): group for group in groups(graph)}
    assert set(found) == {
        frozenset({"Adler Hut", "Crown Hut", "Dohlen House"}),
        frozenset({"Rotwand", "Mittagskopf"}),
        frozenset({"Ridge Trail", "Crown Way"}),
        frozenset({"Ida Vale", "Jon Brook"}),
        frozenset({"Stein Alps"}),
    }
    huts = found[frozenset({"Adler Hut", "Crown Hut", "Dohlen House"})]
    assert {graph.relation(number).label for number in huts.heads_of} == {"elevation", "beds", "warden"}
    assert {graph.relation(number).label for number in huts.tails_of} == {"starts at"}
    assert groups(graph) is groups(graph)


def test_a_graph_takes_other_classes_and_keeps_its_own(mountains: KnowledgeBase) -> None:
    graph = graph_of(mountains)
    hut = next(group for group in groups(graph) if "Adler Hut" in graph.labels(group.nodes))
    classed = graph.with_classes({"hut": hut.nodes})
    assert (classed.has_types, classed.type_ids, classed.type_label("hut")) == (True, ("hut",), "hut")
    assert classed.nodes_of_type("hut").tolist() == hut.nodes.tolist()
    assert [classed.types(node) for node in hut.nodes.tolist()] == [("hut",)] * 3
    elevation = graph.find_relation("elevation")
    assert elevation is not None
    assert classed.schema(elevation).domain == (("hut", 3),)
    assert classed.schema(elevation).edges == graph.schema(elevation).edges == 5
    assert classed.schema(elevation).range == graph.schema(elevation).range
    starts = graph.find_relation("starts at")
    assert starts is not None and classed.schema(starts).range == (("hut", 2),)
    assert not graph.has_types and graph.schema(elevation).domain == ()
