"""The columnar store against a plain dictionary, at its edges and on disk."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kg_parts import built, raw_graph

from triplecheck.kg import build, columnar_build
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.types import XSD, Direction, Literal

Edge = tuple[str, str, str]
OUT, IN = Direction.OUT, Direction.IN

entities = st.sampled_from([*"abcdefgh", "x y", "Ünï", "東京"])
relations = st.sampled_from(["r", "s", "t"])
values = st.sampled_from(["1", "2.5", "2014-07-13"])
edges_of = st.tuples(entities, relations, entities) | st.tuples(entities, st.just("measured"), values)
edge_lists = st.lists(edges_of, min_size=1, max_size=40)
small = settings(max_examples=15)


def graph_of(edges: Iterable[Edge]) -> ColumnarGraph:
    with tempfile.TemporaryDirectory() as folder:  # a mapped file outlives its name
        return build(raw_graph(edges), Path(folder) / "kb", encoder=None).graph


def numbered(graph: ColumnarGraph, edges: Iterable[Edge]) -> set[tuple[int, int, int]]:
    found = {(graph.find(h), graph.find_relation(r), graph.find(t)) for h, r, t in edges}
    assert not any(None in triple for triple in found)
    return found  # type: ignore[return-value]


@given(edge_lists)
@small
def test_every_triple_is_found_again_and_no_other(edges: list[Edge]) -> None:
    graph = graph_of(edges)
    wanted = numbered(graph, edges)
    assert graph.num_triples == len(wanted)
    every = [
        (head, relation, tail)
        for head in range(graph.num_nodes)
        for relation in range(graph.num_relations)
        for tail in range(graph.num_nodes)
    ]
    assert {triple for triple in every if graph.contains(*triple)} == wanted
    heads, rels, ends = np.array(every).T
    assert graph.contains_many(heads, rels, ends).tolist() == [triple in wanted for triple in every]


@given(edge_lists)
@small
def test_neighbours_in_both_directions_are_those_of_a_dictionary(edges: list[Edge]) -> None:
    graph = graph_of(edges)
    ends: dict[tuple[int, int, Direction], set[int]] = defaultdict(set)
    for head, relation, tail in numbered(graph, edges):
        ends[head, relation, OUT].add(tail)
        ends[tail, relation, IN].add(head)
    for node in range(graph.num_nodes):
        assert graph.degree(node) == sum(len(found) for key, found in ends.items() if key[0] == node)
        for direction in Direction:
            for relation in range(graph.num_relations):
                wanted = sorted(ends[node, relation, direction])
                assert graph.neighbors(node, relation, direction).tolist() == wanted
                assert graph.neighbors(node, relation, direction, 2).tolist() == wanted[:2]


@given(edge_lists, st.integers(0, 3))
@small
def test_a_limit_keeps_so_many_edges_of_each_node_relation_and_direction(edges: list[Edge], limit: int) -> None:
    graph = graph_of(edges)
    nodes = np.arange(graph.num_nodes)
    for direction in Direction:
        for relation in (None, *range(graph.num_relations)):
            found = graph.expand(nodes, relation, direction, limit)
            wanted = [
                (node, r, end)
                for node in nodes.tolist()
                for r in (range(graph.num_relations) if relation is None else (relation,))
                for end in graph.neighbors(node, r, direction)[:limit].tolist()
            ]
            near, far = (found.heads, found.tails) if direction is OUT else (found.tails, found.heads)
            assert list(zip(near.tolist(), found.relations.tolist(), far.tolist(), strict=True)) == wanted
            assert found.total == len(graph.expand(nodes, relation, direction))


@given(edge_lists)
@small
def test_counts_of_many_nodes_are_the_sums_of_each(edges: list[Edge]) -> None:
    graph = graph_of(edges)
    sums: dict[tuple[Direction, int], tuple[int, int]] = {}
    for node in range(graph.num_nodes):
        for count in graph.relations_of(node):
            known = sums.get((count.direction, count.relation), (0, 0))
            sums[count.direction, count.relation] = (known[0] + count.edges, known[1] + 1)
    found = graph.relation_counts(range(graph.num_nodes))
    assert {(c.direction, c.relation): (c.edges, c.nodes) for c in found} == sums
    assert [(c.direction, c.relation) for c in found] == sorted(sums)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 3), st.integers(0, 20)), max_size=60), st.booleans())
def test_packed_and_unpacked_edges_are_sorted_the_same(edges: list[tuple[int, int, int]], distinct: bool) -> None:
    near, rels, far = np.array(edges, np.int64).reshape(-1, 3).T
    packed = columnar_build._sorted_edges(near, rels, far, 21, 4, distinct=distinct)
    by_key = columnar_build._sorted_edges(near, rels, far, 2**31, 4, distinct=distinct)
    wanted = sorted(set(edges) if distinct else edges)
    assert list(zip(*(column.tolist() for column in packed), strict=True)) == wanted
    assert list(zip(*(column.tolist() for column in by_key), strict=True)) == wanted


def test_an_empty_graph_answers(tmp_path: Path) -> None:
    graph = built(tmp_path, "").graph
    assert (graph.num_nodes, graph.num_relations, graph.num_triples) == (0, 0, 0)
    assert graph.find("anything") is None
    assert graph.find(Literal("1")) is None
    assert graph.labels([]) == []
    assert graph.relation_counts([]) == []
    assert len(graph.expand([])) == 0
    assert not graph.has_types


def test_an_entity_without_edges_is_there(tmp_path: Path) -> None:
    graph = built(tmp_path, "", "id\tlabel\nQ1\tAda\n").graph
    node = graph.find("Q1")
    assert node is not None
    assert graph.label(node) == "Ada"
    assert (graph.degree(node), graph.relations_of(node), len(graph.expand([node]))) == (0, [], 0)


def test_a_hub_is_looked_up_partially_and_completely(tmp_path: Path) -> None:
    size = 200_000
    graph = graph_of([*((f"p{i}", "lives_in", "town") for i in range(size)), ("town", "mayor", "p7")])
    town, lives_in = graph.find("town"), graph.find_relation("lives_in")
    assert town is not None
    assert lives_in is not None
    assert graph.degree(town) == size + 1
    assert len(graph.neighbors(town, lives_in, IN)) == size
    assert len(graph.neighbors(town, lives_in, IN, limit=5)) == 5
    assert [(c.direction, c.edges) for c in graph.relations_of(town)] == [(OUT, 1), (IN, size)]
    part = graph.expand([town], lives_in, IN, limit_per_node=10)
    assert (len(part), part.total) == (10, size)
    person = graph.find(f"p{size - 1}")
    assert person is not None
    assert graph.contains(person, lives_in, town)


class TestNumbersThatWereNotHandedOut:
    @pytest.fixture
    def graph(self) -> ColumnarGraph:
        return graph_of([("a", "r", "b"), ("b", "s", "42"), ("c", "r", "a")])

    @pytest.mark.parametrize("number", [-1, -2, 4, 99])
    def test_single(self, graph: ColumnarGraph, number: int) -> None:
        look_ups = [graph.node_id, graph.label, graph.entity, graph.literal, graph.types, graph.degree]
        for look_up in (*look_ups, graph.relations_of):
            with pytest.raises(IndexError):
                look_up(number)
        for look_up in (graph.relation, graph.schema):
            with pytest.raises(IndexError):
                look_up(number)
        for direction in Direction:
            with pytest.raises(IndexError):
                graph.neighbors(number, 0, direction)
        with pytest.raises(IndexError):
            graph.contains(number, 0, 0)

    @pytest.mark.parametrize("number", [-1, 4])
    @pytest.mark.parametrize("others", [[], [0], list(range(3)) * 40], ids=len)
    def test_among_many(self, graph: ColumnarGraph, number: int, others: list[int]) -> None:
        nodes = [*others, number]
        for look_up in (graph.labels, graph.relation_counts, graph.expand):
            with pytest.raises(IndexError):
                look_up(nodes)
        with pytest.raises(IndexError):
            graph.expand(nodes, 0, IN)
        zeros = np.zeros(len(nodes), np.int64)
        with pytest.raises(IndexError):
            graph.contains_many(np.array(nodes), zeros, zeros)


class TestIds:
    @pytest.mark.parametrize(
        "id", ["a b", "tab?", "née", "\U0001f3bb", "x" * 10_000, "\x01\x1f", "_:b0", "http://e.org/?q=1#x"]
    )
    def test_any_text_is_an_id(self, id: str) -> None:
        graph = graph_of([(id, "r", "b")])
        node = graph.find(id)
        assert node is not None
        assert graph.node_id(node) == id

    def test_a_type_without_a_label_has_a_readable_one(self) -> None:
        graph = graph_of([("a", "r", "b")])
        assert graph.type_label("http://dbpedia.org/ontology/Soccer_Player") == "Soccer Player"
        assert graph.type_label(XSD + "integer") == "integer"


class TestSchema:
    def test_domain_and_range_are_counted_by_edge_most_frequent_first(self, tmp_path: Path) -> None:
        graph = built(
            tmp_path,
            "a\thome\tp\nb\thome\t12\nc\thome\t13\nd\thome\t14\na\tlikes\tb\n"
            + "".join(f"a\thome\t{i}\n" for i in range(20, 99)),
            "id\ttype\na\tA\nb\tA|B\nc\tB\np\tP\n",
        ).graph
        home = graph.find_relation("home")
        assert home is not None
        schema = graph.schema(home)
        assert schema.edges == 83
        assert schema.domain == (("A", 81), ("B", 2))
        assert schema.range == ((XSD + "integer", 82), ("P", 1))

    def test_without_types_only_values_are_counted(self, tmp_path: Path) -> None:
        graph = built(tmp_path, "a\tage\t42\na\tknows\tb\n").graph
        by_id = {graph.relation(r).id: graph.schema(r) for r in range(2)}
        assert (by_id["age"].domain, by_id["age"].range) == ((), ((XSD + "integer", 1),))
        assert (by_id["knows"].domain, by_id["knows"].range) == ((), ())


def test_an_array_of_objects_is_refused(tmp_path: Path) -> None:
    folder = built(tmp_path, "a\tr\tb\n").path / "graph"
    np.save(folder / "out_ends.npy", np.array([print, "x"], object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"Object arrays|Array can't be memory-mapped"):
        ColumnarGraph(folder)


def test_an_empty_buffer_outside_of_a_checked_file_is_no_damage(tmp_path: Path) -> None:
    from triplecheck.kg._checked import CheckedBytes, checksums

    (tmp_path / "a").write_bytes(b"x" * 100)
    source = CheckedBytes(tmp_path / "a", checksums(tmp_path / "a"))
    source.check(5 << 20 | 7, 5 << 20 | 7)
    assert not source.complete
