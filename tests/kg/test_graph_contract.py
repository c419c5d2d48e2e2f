"""What every graph store answers, on the same small data: one suite, every store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph
import pytest
import rdflib
from bolt_server import PASSWORD, USER, load, writing
from sparql_endpoint import StoreClient, serve
from virtuoso_server import virtuoso

from triplecheck.kg import build
from triplecheck.kg.cypher import DIALECTS, BoltClient, CypherGraph, LadybugClient
from triplecheck.kg.cypher.export import export_ladybug
from triplecheck.kg.graph import Graph
from triplecheck.kg.readers.rdf import read_rdf
from triplecheck.kg.sparql import HttpClient, QueryLimits, SparqlGraph
from triplecheck.kg.sparql.profiles import PROFILES
from triplecheck.kg.types import XSD, Direction, Entity, Literal

EX = "http://example/"
OUT, IN = Direction.OUT, Direction.IN

TURTLE = r"""
@prefix ex: <http://example/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix schema: <https://schema.org/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .

ex:Person a owl:Class ; rdfs:label "Mensch"@de , "person"@en .
ex:City a rdfs:Class ; rdfs:label "city" .
ex:Museum a owl:Class ; rdfs:label "museum" .

ex:bornIn a owl:ObjectProperty ; rdfs:label "born in"@en , "geboren in"@de ; skos:altLabel "birthplace" ;
  rdfs:comment "Where somebody was born." ; rdfs:domain ex:Person ; rdfs:range ex:City .
ex:population a owl:DatatypeProperty .

ex:ada a ex:Person ; rdfs:label "Ada Lovelace"@en , "Ada, Gräfin von Lovelace"@de ; schema:alternateName "Ada Byron" ;
  schema:description "A mathematician."@en , "Eine Mathematikerin."@de ;
  ex:bornIn ex:london ; ex:knows ex:charles , ex:ada ; ex:height 1.65 ; ex:birthDate "1815-12-10"^^xsd:date ;
  ex:nickname "Countess"@en , "Countess"@de , "Countess" , "Gräfin"@de .
ex:charles a ex:Person , ex:Inventor ; rdfs:label "Charles Babbage" ; ex:bornIn ex:london ; ex:knows ex:ada ;
  ex:note "He said \"no\",\n\ttwice: C:\\temp \\u0022 'so'." .
ex:london a ex:City ; rdfs:label "London" ; ex:population 8799800 ; ex:founded "47" .
ex:london_ontario a ex:City ; rdfs:label "London" ; ex:population 422324 ; ex:sistercity ex:london .
ex:tōkyō a ex:City ; rdfs:label "Tokyo" , "東京"@ja ; ex:population 14094034 ; ex:houses ex:Museum .
ex:atlantis a ex:City ; rdfs:label "Atlantis" ; skos:altLabel "Ἀτλαντὶς νῆσος" .
ex:p1 ex:bornIn ex:london ; ex:home ex:london . ex:p2 ex:bornIn ex:london .
ex:p3 ex:bornIn ex:london ; ex:home "a boat" .
ex:p4 ex:bornIn ex:london ; ex:home "a barrel" .
ex:p5 ex:bornIn ex:london . ex:p6 ex:bornIn ex:london . ex:p7 ex:bornIn ex:london ; ex:shoe_size 47 .
"""

DECIMAL, INTEGER, DATE, STRING = (XSD + name for name in ("decimal", "integer", "date", "string"))
NOTE = Literal("He said \"no\",\n\ttwice: C:\\temp \\u0022 'so'.")
EDGES: set[tuple[str, str, str | Literal]] = {
    (EX + head, EX + relation, EX + tail if isinstance(tail, str) else tail)
    for head, relation, tail in [
        ("ada", "bornIn", "london"),
        ("ada", "knows", "charles"),
        ("ada", "knows", "ada"),
        ("ada", "height", Literal("1.65", DECIMAL)),
        ("ada", "birthDate", Literal("1815-12-10", DATE)),
        ("ada", "nickname", Literal("Countess")),
        ("ada", "nickname", Literal("Gräfin")),
        ("charles", "bornIn", "london"),
        ("charles", "knows", "ada"),
        ("charles", "note", NOTE),
        ("london", "population", Literal("8799800", INTEGER)),
        ("london", "founded", Literal("47")),
        ("london_ontario", "population", Literal("422324", INTEGER)),
        ("london_ontario", "sistercity", "london"),
        ("tōkyō", "population", Literal("14094034", INTEGER)),
        ("tōkyō", "houses", "Museum"),
        ("p7", "shoe_size", Literal("47", INTEGER)),
        ("p1", "home", "london"),
        ("p3", "home", Literal("a boat")),
        ("p4", "home", Literal("a barrel")),
        *((f"p{i}", "bornIn", "london") for i in range(1, 8)),
    ]
}
NODES = {end for head, _, tail in EDGES for end in (head, tail)} | {EX + "atlantis"}
RELATIONS = {relation for _, relation, _ in EDGES}
TELLING: list[str | Literal] = [
    *(EX + name for name in ("ada", "charles", "london", "london_ontario", "tōkyō", "Museum", "p1", "p4", "atlantis")),
    *(Literal("Gräfin"), Literal("47"), Literal("47", INTEGER), NOTE),
]
"""Nodes that differ from each other in their edges: some stores take 50 ms for a query."""
PEOPLE = ["ada", "charles", "p1", "p2", "p3", "p4", "p5", "p6", "p7"]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("contract") / "small.ttl"
    path.write_text(TURTLE, "utf-8")
    return path


@pytest.fixture(scope="module")
def store() -> pyoxigraph.Store:
    store = pyoxigraph.Store()
    store.load(TURTLE.encode(), pyoxigraph.RdfFormat.TURTLE)
    return store


@pytest.fixture(
    scope="module", params=["columnar", "oxigraph", "rdflib", "http", "virtuoso", "ladybug", "bolt", "memgraph"]
)
def graph(
    request: pytest.FixtureRequest,
    source: Path,
    store: pyoxigraph.Store,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Graph]:
    match request.param:
        case "columnar":
            yield build(read_rdf([source]), source.parent / "kb", encoder=None).graph
        case "oxigraph":
            yield SparqlGraph(StoreClient(store))
        case "rdflib":
            yield SparqlGraph(StoreClient(rdflib.Graph().parse(source)))
        case "ladybug":
            pytest.importorskip("ladybug")
            base = build(read_rdf([source]), source.parent / "to-export", encoder=None)
            export_ladybug(base.columnar, source.parent / "small.lbug")
            yield CypherGraph(LadybugClient(source.parent / "small.lbug"), **described(base.graph))
        case "bolt" | "memgraph":
            base = build(read_rdf([source]), source.parent / request.param, encoder=None)
            url = request.getfixturevalue("bolt") + "/contract"
            with writing(url) as write:
                write("MATCH (n) DETACH DELETE n")
            load(url, base.columnar)
            # Memgraph's queries are understood by the server, too.
            dialect = DIALECTS["memgraph" if request.param == "memgraph" else "neo4j"]
            client = BoltClient(url, QueryLimits(seconds=20), USER, PASSWORD, dialect=dialect)
            yield CypherGraph(client, **described(base.graph))
            client.close()
        case "virtuoso":
            with virtuoso(tmp_path_factory.mktemp("virtuoso"), [source]) as url:
                yield SparqlGraph(HttpClient(url, QueryLimits(seconds=20)), profile=PROFILES["virtuoso"])
        case _:
            with serve(store) as endpoint:
                yield SparqlGraph(HttpClient(endpoint.address + "/sparql"))


def described(graph: Graph) -> dict[str, Any]:
    """What a property graph cannot say about its relations and types."""
    return {
        # Neo4j has no decimal numbers.
        "described": [
            replace(about, range=DECIMAL) if about.id == EX + "height" else about
            for about in (graph.relation(number) for number in range(graph.num_relations))
        ],
        "type_labels": {id: graph.type_label(id) for id in graph.type_ids},
    }


def at(graph: Graph, id: str | Literal) -> int:
    """Number of a node that is there."""
    node = graph.find(id if isinstance(id, Literal) or id.startswith("http") else EX + id)
    assert node is not None, id
    return node


def rel(graph: Graph, name: str) -> int:
    relation = graph.find_relation(EX + name)
    assert relation is not None, name
    return relation


def outside(graph: Graph, node: int) -> str | Literal:
    """Id of an entity, value of a literal."""
    return graph.literal(node) or graph.node_id(node)


def triples(graph: Graph, edges: object) -> Counter[tuple[str, str, str | Literal]]:
    return Counter(
        (graph.node_id(int(h)), graph.relation(int(r)).id, outside(graph, int(t)))
        for h, r, t in zip(edges.heads, edges.relations, edges.tails, strict=True)  # type: ignore[attr-defined]
    )


def expected(near: str | Literal, direction: Direction, relation: str | None = None) -> list[tuple]:
    return [
        edge
        for edge in EDGES
        if edge[2 if direction is IN else 0] == near and relation in (None, edge[1].removeprefix(EX))
    ]


def test_edges_are_no_statements_of_labels_and_types_and_relations_have_edges(graph: Graph) -> None:
    assert isinstance(graph, Graph)
    assert (graph.num_triples, graph.num_nodes, graph.num_relations) == (len(EDGES), len(NODES), len(RELATIONS))


class TestIds:
    def test_every_node_is_found_by_one_number_and_gives_its_id_back(self, graph: Graph) -> None:
        numbers = {id: at(graph, id) for id in NODES}
        assert {id: outside(graph, number) for id, number in numbers.items()} == {id: id for id in NODES}
        assert numbers == {id: at(graph, id) for id in NODES}

    @pytest.mark.parametrize(
        "id",
        [
            "",
            "nobody",
            EX + "nobody",
            EX + "Person",
            EX + "bornIn",
            "http://www.w3.org/2000/01/rdf-schema#label",
            "_:nobody",
            "http://[half",
            "Ada Lovelace",
            'x> } UNION { ?s ?p "',
            '" . ?s ?p "',
            "\\",
            "\ud800",
            Literal("Ada Lovelace"),
            Literal("47", DECIMAL),
            Literal("Countess", INTEGER),
            Literal('47"'),
            Literal("\\u0034\\u0037"),
            Literal("\ud800"),
            Literal("47", "no iri>"),
        ],
        ids=repr,
    )
    def test_what_is_no_node_gives_none(self, graph: Graph, id: str | Literal) -> None:
        assert graph.find(id) is None

    def test_a_plain_string_is_an_entity_first_and_then_a_lexical_form(self, graph: Graph) -> None:
        assert graph.find(EX + "ada") == at(graph, "ada")
        assert graph.find("1.65") == at(graph, Literal("1.65", DECIMAL))
        assert graph.find("Countess") == at(graph, Literal("Countess"))
        assert graph.find(NOTE.lexical) == at(graph, NOTE)

    def test_equal_lexical_forms_of_two_datatypes_are_two_nodes(self, graph: Graph) -> None:
        string, number = at(graph, Literal("47")), at(graph, Literal("47", INTEGER))
        assert string != number
        assert graph.find("47") in (string, number)

    @pytest.mark.parametrize(
        "id", [EX + "ada", EX + "nothing", "", "no iri", "http://www.w3.org/2000/01/rdf-schema#label"]
    )
    def test_what_is_no_relation_gives_none(self, graph: Graph, id: str) -> None:
        assert graph.find_relation(id) is None

    def test_every_relation_is_found_and_gives_its_id_back(self, graph: Graph) -> None:
        for id in RELATIONS:
            relation = graph.find_relation(id)
            assert relation is not None
            assert graph.relation(relation).id == id

    @pytest.mark.parametrize("number", [-1, 10**6])
    def test_a_number_that_was_not_handed_out_is_an_index_error(self, graph: Graph, number: int) -> None:
        for look_up in (graph.node_id, graph.label, graph.entity, graph.literal, graph.types, graph.degree):
            with pytest.raises(IndexError):
                look_up(number)
        for look_up in (graph.relation, graph.schema):
            with pytest.raises(IndexError):
                look_up(number)
        for look_up in (graph.labels, graph.relations_of, graph.relation_counts, graph.expand):
            with pytest.raises(IndexError):
                look_up(number if look_up == graph.relations_of else [number])
        with pytest.raises(IndexError):
            graph.neighbors(number, rel(graph, "knows"))


class TestDescriptions:
    def test_an_entity_has_its_label_aliases_description_and_types(self, graph: Graph) -> None:
        assert graph.entity(at(graph, "ada")) == Entity(
            id=EX + "ada",
            label="Ada Lovelace",
            aliases=("Ada, Gräfin von Lovelace", "Ada Byron"),
            description="A mathematician.",
            types=(EX + "Person",),
        )

    def test_an_entity_without_edges_is_described(self, graph: Graph) -> None:
        node = at(graph, "atlantis")
        assert graph.entity(node) == Entity(EX + "atlantis", "Atlantis", ("Ἀτλαντὶς νῆσος",), "", (EX + "City",))
        assert graph.degree(node) == 0
        assert graph.relations_of(node) == []
        assert len(graph.expand([node])) == 0

    def test_several_types(self, graph: Graph) -> None:
        assert set(graph.types(at(graph, "charles"))) == {EX + "Person", EX + "Inventor"}
        assert set(graph.entity(at(graph, "charles")).types) == {EX + "Person", EX + "Inventor"}

    def test_homonyms_are_two_entities(self, graph: Graph) -> None:
        one, other = at(graph, "london"), at(graph, "london_ontario")
        assert one != other
        assert graph.label(one) == graph.label(other) == "London"

    def test_labels_in_other_languages_are_aliases(self, graph: Graph) -> None:
        tokyo = graph.entity(at(graph, "tōkyō"))
        assert (tokyo.label, tokyo.aliases) == ("Tokyo", ("東京",))

    def test_missing_labels_are_made_from_ids(self, graph: Graph) -> None:
        node = at(graph, "p1")
        assert graph.label(node) == graph.entity(node).label == "p1"
        assert graph.relation(rel(graph, "shoe_size")).label == "shoe size"
        assert graph.relation(rel(graph, "birthDate")).label == "birth date"
        assert graph.type_label(EX + "Inventor") == "Inventor"

    def test_a_class_has_a_label_and_with_edges_it_is_an_entity_too(self, graph: Graph) -> None:
        assert graph.label(at(graph, "Museum")) == "museum"
        assert graph.type_label(EX + "Person") == "person"
        assert graph.type_label(EX + "City") == "city"
        assert graph.type_label(XSD + "integer") == "integer"

    def test_a_literal_has_its_lexical_form_for_label_and_id(self, graph: Graph) -> None:
        node = at(graph, Literal("1815-12-10", DATE))
        assert graph.label(node) == graph.node_id(node) == "1815-12-10"
        assert graph.types(node) == (DATE,)
        assert graph.literal(node) == Literal("1815-12-10", DATE)
        assert graph.entity(node) == Entity("1815-12-10", "1815-12-10")
        assert graph.literal(at(graph, "ada")) is None

    def test_a_relation_is_described(self, graph: Graph) -> None:
        born = graph.relation(rel(graph, "bornIn"))
        assert (born.id, born.label, born.description) == (EX + "bornIn", "born in", "Where somebody was born.")
        assert born.aliases == ("geboren in", "birthplace")
        assert (born.domain, born.range) == (EX + "Person", EX + "City")

    def test_labels_of_many_are_those_of_each(self, graph: Graph) -> None:
        nodes = [at(graph, id) for id in sorted(NODES, key=str)]
        assert graph.labels(nodes) == [graph.label(node) for node in nodes]
        assert graph.labels(np.array(nodes)) == graph.labels(nodes)
        assert graph.labels([nodes[0]] * 3) == [graph.label(nodes[0])] * 3
        assert graph.labels([]) == []


class TestLookUps:
    @pytest.mark.parametrize("id", TELLING, ids=str)
    def test_relations_of_a_node_with_their_counts(self, graph: Graph, id: str | Literal) -> None:
        found = graph.relations_of(at(graph, id))
        counts = {(graph.relation(c.relation).id, c.direction): c.edges for c in found}
        assert counts == Counter((edge[1], way) for way in Direction for edge in expected(id, way))
        assert all(c.nodes == 1 for c in found)
        assert found == sorted(found, key=lambda c: (c.direction, c.relation))

    @pytest.mark.parametrize("id", TELLING, ids=str)
    def test_degree_counts_both_directions(self, graph: Graph, id: str | Literal) -> None:
        assert graph.degree(at(graph, id)) == sum(len(expected(id, way)) for way in Direction)

    @pytest.mark.parametrize("direction", Direction)
    def test_neighbors_are_the_other_ends_ascending(self, graph: Graph, direction: Direction) -> None:
        for id in TELLING:
            for relation in RELATIONS:
                name = relation.removeprefix(EX)
                found = graph.neighbors(at(graph, id), rel(graph, name), direction)
                ends = Counter(outside(graph, int(n)) for n in found)
                assert ends == Counter(edge[0 if direction is IN else 2] for edge in expected(id, direction, name))
                assert list(found) == sorted(found)

    @pytest.mark.parametrize("limit", [0, 1, 3, 9, 100])
    def test_a_limit_cuts_the_neighbors_of_a_hub(self, graph: Graph, limit: int) -> None:
        london, born = at(graph, "london"), rel(graph, "bornIn")
        found = graph.neighbors(london, born, IN, limit)
        assert len(found) == min(limit, len(PEOPLE))
        assert set(found.tolist()) <= {at(graph, p) for p in PEOPLE}
        assert list(found) == sorted(set(found.tolist()))

    def test_contains(self, graph: Graph) -> None:
        for head, relation, tail in EDGES:
            assert graph.contains(at(graph, head), rel(graph, relation.removeprefix(EX)), at(graph, tail))
        ada, charles, knows = at(graph, "ada"), at(graph, "charles"), rel(graph, "knows")
        assert not graph.contains(charles, knows, charles)
        assert not graph.contains(at(graph, "london"), rel(graph, "bornIn"), ada)
        assert not graph.contains(at(graph, Literal("47")), knows, ada)


class TestBatched:
    def test_relation_counts_of_one_node_are_its_relations(self, graph: Graph) -> None:
        for id in TELLING:
            node = at(graph, id)
            assert graph.relation_counts([node]) == graph.relations_of(node)

    @pytest.mark.parametrize("ids", [["ada", "charles"], [*PEOPLE, "london"], ["atlantis"], []], ids=str)
    def test_relation_counts_are_the_sum_over_the_nodes(self, graph: Graph, ids: list[str]) -> None:
        nodes = [at(graph, id) for id in ids]
        edges: Counter[tuple[Direction, int]] = Counter()
        holders: Counter[tuple[Direction, int]] = Counter()
        for node in nodes:
            for count in graph.relations_of(node):
                edges[count.direction, count.relation] += count.edges
                holders[count.direction, count.relation] += 1
        found = graph.relation_counts(np.array(nodes, np.int64))
        assert [(c.direction, c.relation) for c in found] == sorted(edges)
        assert {(c.direction, c.relation): c.edges for c in found} == edges
        assert {(c.direction, c.relation): c.nodes for c in found} == holders

    @pytest.mark.parametrize("direction", [OUT, IN, None])
    @pytest.mark.parametrize("relation", ["knows", "bornIn", "population", None])
    def test_expand_gives_the_edges_of_each_node(
        self, graph: Graph, relation: str | None, direction: Direction | None
    ) -> None:
        ids = ["ada", "london", "atlantis", Literal("47", INTEGER), Literal("Countess")]
        nodes = [at(graph, id) for id in ids]
        number = None if relation is None else rel(graph, relation)
        edges = graph.expand(nodes, number, direction)
        ways = Direction if direction is None else (direction,)
        names = [id if isinstance(id, Literal) else EX + id for id in ids]
        assert triples(graph, edges) == Counter(e for id in names for way in ways for e in expected(id, way, relation))
        assert edges.total == len(edges)

    def test_expand_of_all_nodes_is_the_graph(self, graph: Graph) -> None:
        nodes = np.array([at(graph, id) for id in NODES])
        for direction in Direction:
            assert triples(graph, graph.expand(nodes, direction=direction)) == Counter(EDGES)

    @pytest.mark.parametrize("limit", [0, 1, 2, 100])
    @pytest.mark.parametrize("relation", ["bornIn", None])
    def test_a_limit_holds_for_each_node_relation_and_direction(
        self, graph: Graph, relation: str | None, limit: int
    ) -> None:
        nodes = [at(graph, id) for id in ("london", "ada", "p1")]
        number = None if relation is None else rel(graph, relation)
        whole = graph.expand(nodes, number)
        edges = graph.expand(nodes, number, limit_per_node=limit)
        assert edges.total == whole.total
        groups = [(node, way, c) for node in nodes for way in Direction for c in graph.relations_of(node)]
        assert len(edges) == sum(
            min(c.edges, limit)
            for _, way, c in groups
            if c.direction is way and (number is None or c.relation == number)
        )
        assert triples(graph, edges) <= triples(graph, whole)

    def test_a_node_given_twice_counts_twice(self, graph: Graph) -> None:
        ada, knows = at(graph, "ada"), rel(graph, "knows")
        edges = graph.expand([ada, ada], knows, OUT)
        assert (len(edges), edges.total) == (4, 4)
        count = next(c for c in graph.relation_counts([ada, ada]) if (c.relation, c.direction) == (knows, OUT))
        assert (count.edges, count.nodes) == (4, 2)

    def test_contains_many_is_contains_of_each(self, graph: Graph) -> None:
        heads = [at(graph, h) for h, _, _ in EDGES]
        relations = [rel(graph, r.removeprefix(EX)) for _, r, _ in EDGES]
        tails = [at(graph, t) for _, _, t in EDGES]
        heads, relations, tails = heads + heads, relations + relations, tails + tails[1:] + tails[:1]
        found = graph.contains_many(np.array(heads), np.array(relations), np.array(tails))
        assert found.dtype == bool
        assert not found.all()
        assert found[: len(EDGES)].all()
        assert found.tolist() == [graph.contains(*triple) for triple in zip(heads, relations, tails, strict=True)]

    def test_nothing_gives_nothing(self, graph: Graph) -> None:
        edges, none = graph.expand([]), np.array([], np.int64)
        assert (len(edges), edges.total) == (0, 0)
        assert graph.contains_many(none, none, none).shape == (0,)


class TestSchema:
    def test_types_are_those_of_the_entities_most_frequent_first(self, graph: Graph) -> None:
        assert graph.has_types
        entities = [at(graph, id) for id in NODES if not isinstance(id, Literal)]
        counts = Counter(type_id for node in entities for type_id in graph.types(node))
        assert counts[EX + "City"] == 4
        assert list(graph.type_ids) == sorted(counts, key=lambda type_id: (-counts[type_id], type_id))

    def test_the_nodes_of_a_type_are_the_entities_that_have_it(self, graph: Graph) -> None:
        entities = [at(graph, id) for id in NODES if not isinstance(id, Literal)]
        for type_id in graph.type_ids:
            found = graph.nodes_of_type(type_id)
            assert found.tolist() == sorted(node for node in entities if type_id in graph.types(node))

    @pytest.mark.parametrize("type_id", [EX + "Nothing", INTEGER, "no iri", "", "x> . ?s ?p ?o } #"])
    def test_an_unknown_type_has_no_nodes(self, graph: Graph, type_id: str) -> None:
        found = graph.nodes_of_type(type_id)
        assert (found.tolist(), np.issubdtype(found.dtype, np.integer)) == ([], True)

    def test_heads_and_tails_are_counted_by_type_most_frequent_first(self, graph: Graph) -> None:
        schema = graph.schema(rel(graph, "bornIn"))
        assert schema.relation == rel(graph, "bornIn")
        assert schema.edges == 9
        assert schema.domain == ((EX + "Person", 2), (EX + "Inventor", 1))
        assert schema.range == ((EX + "City", 9),)

    def test_values_are_counted_by_datatype(self, graph: Graph) -> None:
        assert graph.schema(rel(graph, "population")).range == ((INTEGER, 3),)
        nickname = graph.schema(rel(graph, "nickname"))
        assert (nickname.edges, nickname.domain, nickname.range) == (2, ((EX + "Person", 2),), ((STRING, 2),))

    def test_types_and_datatypes_stand_together_by_frequency(self, graph: Graph) -> None:
        assert graph.schema(rel(graph, "home")).range == ((STRING, 2), (EX + "City", 1))

    def test_ends_without_type_are_not_counted(self, graph: Graph) -> None:
        assert graph.schema(rel(graph, "shoe_size")).domain == ()
