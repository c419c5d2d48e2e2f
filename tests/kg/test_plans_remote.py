"""Plans on servers give the answers of the same graph in a knowledge base."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph
import pytest
import rdflib
from bolt_server import PASSWORD, USER, load, writing
from sparql_endpoint import StoreClient, serve
from test_graph_contract import TURTLE, described

from triplecheck.kg import KnowledgeBase, build
from triplecheck.kg.cypher import DIALECTS, BoltClient, CypherGraph, LadybugClient
from triplecheck.kg.cypher.export import export_ladybug
from triplecheck.kg.graph import Graph
from triplecheck.kg.linking import Linker
from triplecheck.kg.plans import PlanError, PlanNames, read_plan, run_plan
from triplecheck.kg.queried_linker import QueriedLinker
from triplecheck.kg.readers.rdf import read_rdf
from triplecheck.kg.sparql import HttpClient, QueryLimits, SparqlGraph
from triplecheck.kg.types import Relation

Served = tuple[Graph, Linker | None]

QUERIES = [
    "SELECT ?x { ?x <born in> <London> }",
    "SELECT ?x ?y { ?x <knows> ?y FILTER(?x != ?y) }",
    "SELECT ?x { ?x a <person> }",
    "SELECT ?x { ?x a <city> ; <population> ?n FILTER(?n > 1000000) } ORDER BY DESC(?n)",
    "SELECT ?x { ?x a <city> } ORDER BY ?x",
    "SELECT ?x ?n { ?x a <city> OPTIONAL { ?x <population> ?n FILTER(?n < 10000000) } }",
    "SELECT ?x { ?x <born in> ?c FILTER NOT EXISTS { ?x <knows> ?y } }",
    "SELECT ?x { ?x <born in> ?c FILTER EXISTS { ?x <home> ?h } }",
    "SELECT ?x { ?x <born in> ?c MINUS { ?x <home> <London> } }",
    "SELECT ?x { { ?x <home> <London> } UNION { ?x <shoe size> 47 } }",
    "SELECT (COUNT(?x) AS ?n) { ?x <born in> <London> }",
    "SELECT (COUNT(*) AS ?n) (COUNT(DISTINCT ?c) AS ?m) { ?x <born in> ?c }",
    "SELECT ?c (COUNT(?x) AS ?n) { ?x <born in> ?c } GROUP BY ?c HAVING(COUNT(?x) > 2)",
    "SELECT (SUM(?n) AS ?s) (MAX(?n) AS ?m) (MIN(?n) AS ?k) { ?x <population> ?n }",
    "SELECT ?x { ?x <population> ?n } ORDER BY DESC(?n) LIMIT 1",
    "SELECT ?x { ?x <population> ?n } ORDER BY ?n OFFSET 1 LIMIT 1",
    "SELECT DISTINCT ?c { ?x <born in> ?c }",
    "SELECT DISTINCT ?n { <Ada Lovelace> <nickname> ?n }",
    "SELECT ?x { ?x <nickname> 'Countess' }",
    "SELECT ?x { ?x <height> ?h FILTER(?h >= 1.65 && ?h < 2) }",
    "SELECT ?x { ?x <home> 'a boat' }",
    "SELECT ?x { ?x <birth date> ?d FILTER(?d < '1900-01-01'^^xsd:date) }",
    "SELECT (?a - ?b AS ?d) { <http://example/london> <population> ?a . <http://example/tōkyō> <population> ?b }",
    "SELECT ?x { <Ada Lovelace> <knows>/<born in> ?x }",
    "ASK { <Ada Lovelace> <knows> <Charles Babbage> }",
    "ASK { <Charles Babbage> <knows> <Charles Babbage> }",
    "SELECT ?x { ?x <knows> ?x }",
    "SELECT ?x ?m { ?x <population> ?n BIND(?n * 2 AS ?m) FILTER(?m > 1000000) }",
    "SELECT ?x { VALUES ?x { <Ada Lovelace> <Tokyo> } ?x <knows> ?y }",
    "SELECT ?x { ?x <born in> ?c FILTER(?x IN (<Ada Lovelace>, <Charles Babbage>)) }",
    "SELECT ?n1 { ?n1 <born in> ?c FILTER EXISTS { ?n1 a <person> ; <knows> ?y . ?y <height> ?h FILTER(?h > 1) } }",
    "SELECT ?x { ?x <born in> ?c FILTER NOT EXISTS { ?x <shoe size> 47 } "
    "FILTER NOT EXISTS { ?x <knows> <Ada Lovelace> } }",
    "SELECT ?x { ?x a <city> OPTIONAL { ?x <population> ?n } } ORDER BY ?n ?x",
    "SELECT ?x ?y { ?x <born in> <London> OPTIONAL { ?x <knows> ?y } }",
    "SELECT (?n / 2 AS ?h) { ?x <shoe size> ?n }",
    "SELECT ?x { ?x <population> ?n FILTER(?n > -40) }",
    "SELECT ?x ?y { ?x <born in> ?c . ?y <born in> ?c ; <shoe size> ?n . ?x a <person> }",
]
UNBOUND = "SELECT (COUNT(?n) AS ?k) (AVG(?n) AS ?m) { ?x a <city> OPTIONAL { ?x <population> ?n } }"
"""An error for the standard; rdflib averages what is bound."""
SPARQL_ONLY = [
    "SELECT ?x { <Charles Babbage> <knows>+ ?x }",
    "SELECT ?y { <http://example/london_ontario> <sistercity>* ?y }",
    "SELECT ?x ?l { ?x a <person> ; rdfs:label ?l FILTER(REGEX(?l, '^Ada ')) }",
    "SELECT ?x { ?x a ?c } GROUP BY ?x HAVING(COUNT(?c) > 1)",
    "SELECT ?x { ?x rdfs:label 'Tokyo' }",
    "SELECT ?p ?y { <http://example/london_ontario> ?p ?y . FILTER(?p IN (<population>, <sistercity>)) }",
    "SELECT (AVG(?n) AS ?m) { { SELECT ?c (COUNT(?x) AS ?n) { ?x <born in> ?c } GROUP BY ?c } }",
]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    folder = tmp_path_factory.mktemp("remote")
    (folder / "small.ttl").write_text(TURTLE, "utf-8")
    return build(read_rdf([folder / "small.ttl"]), folder / "kb", encoder=None)


@pytest.fixture(scope="module")
def store() -> pyoxigraph.Store:
    store = pyoxigraph.Store()
    store.load(TURTLE.encode(), pyoxigraph.RdfFormat.TURTLE)
    return store


@pytest.fixture(scope="module", params=["oxigraph", "rdflib", "http"])
def endpoint(request: pytest.FixtureRequest, store: pyoxigraph.Store) -> Iterator[Served]:
    match request.param:
        case "oxigraph":
            graph = SparqlGraph(StoreClient(store))
            yield graph, QueriedLinker(graph)
        case "rdflib":
            graph = SparqlGraph(StoreClient(rdflib.Graph().parse(data=TURTLE, format="turtle")))
            yield graph, QueriedLinker(graph)
        case _:
            with serve(store) as running:
                graph = SparqlGraph(HttpClient(running.address + "/sparql"))
                yield graph, QueriedLinker(graph)


@pytest.fixture(scope="module", params=["ladybug", "bolt"])
def property_graph(
    request: pytest.FixtureRequest, base: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    about = described(base.graph)
    if request.param == "ladybug":
        pytest.importorskip("ladybug")
        path = tmp_path_factory.mktemp("plans") / "small.lbug"
        export_ladybug(base.columnar, path)
        graph = CypherGraph(LadybugClient(path), **about)
        yield graph, QueriedLinker(graph)
        return
    url = request.getfixturevalue("bolt") + "/contract"
    with writing(url) as write:
        write("MATCH (n) DETACH DELETE n")
    load(url, base.columnar)
    client = BoltClient(url, QueryLimits(seconds=20), USER, PASSWORD, dialect=DIALECTS["neo4j"])
    graph = CypherGraph(client, **about)
    yield graph, QueriedLinker(graph)
    client.close()


def number(text: str) -> str:
    try:
        return f"{float(text):.9g}"
    except ValueError:
        return text


def same(base: KnowledgeBase, served: Served, query: str) -> None:
    graph, linker = served
    wanted = run_plan(base.graph, read_plan(query, PlanNames(base.graph, base.linker)))
    found = run_plan(graph, read_plan(query, PlanNames(graph, linker)))
    assert found.boolean == wanted.boolean
    rows = [[tuple(map(number, row)) for row in one.texts()] for one in (found, wanted)]
    if "ORDER" in query:
        assert rows[0] == rows[1]
    assert Counter(rows[0]) == Counter(rows[1])
    assert (found.total, found.has_proof) == (wanted.total, False)


@pytest.mark.parametrize("query", [*QUERIES, *SPARQL_ONLY])
def test_endpoints(base: KnowledgeBase, endpoint: Served, query: str) -> None:
    same(base, endpoint, query)


@pytest.mark.parametrize("query", [query for query in (*QUERIES, UNBOUND) if "<home>" not in query])
def test_property_graphs(base: KnowledgeBase, property_graph: Served, query: str) -> None:
    same(base, property_graph, query)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT ?x { ?x <home> <London> }", "<home>, which is several properties, or a property and a relationship,"),
        ("SELECT ?x { { ?x <knows> ?y } UNION { ?x <born in> ?y } }", "UNION"),
        ("SELECT ?x { ?x <knows>+ ?y }", "<knows>+"),
        ("SELECT ?x { ?x ?p ?y }", "?x ?p ?y"),
        ("SELECT (GROUP_CONCAT(?x) AS ?n) { ?x <knows> ?y }", "GROUP_CONCAT"),
        ("SELECT ?x { ?x <knows> ?y { SELECT ?y { ?y <knows> ?z } } }", "a query in a query"),
    ],
)
def test_what_has_no_translation_is_a_clear_error(property_graph: Served, query: str, said: str) -> None:
    graph, linker = property_graph
    with pytest.raises(PlanError) as error:
        run_plan(graph, read_plan(query, PlanNames(graph, linker)))
    assert said in str(error.value)
    assert "not supported on property graphs" in str(error.value)


def test_rows_are_limited_by_the_server(store: pyoxigraph.Store) -> None:
    with serve(store) as running:
        graph = SparqlGraph(HttpClient(running.address + "/sparql"))
        names = PlanNames(graph)
        found = run_plan(graph, read_plan("SELECT ?x { ?x <born in> ?y }", names), rows=3)
        assert (len(found.rows), found.truncated) == (3, True)
        assert "more than 3 rows" in found.notes[0]
        assert running.asked[-1][1].endswith("LIMIT 4")


def test_time_is_limited(store: pyoxigraph.Store) -> None:
    with serve(store) as running:
        known = [Relation("http://example/bornIn", "born in")]
        client = HttpClient(running.address + "/slow", QueryLimits(seconds=5))
        slow = SparqlGraph(client, relations=known, type_ids=[])
        plan = read_plan("SELECT ?x { ?x <born in> ?y }", PlanNames(slow))
        with pytest.raises(PlanError, match=r"longer than 0\.2 s"):
            run_plan(slow, plan, seconds=0.2)


def test_no_name_breaks_out_of_its_place(endpoint: Served, tmp_path: Path) -> None:
    graph, linker = endpoint
    with pytest.raises(PlanError, match="no thing"):
        read_plan("SELECT ?x { ?x <knows> <x%3E%20%7D%20UNION%20%7B%20%3Fs%20%3Fp%20%3Fx> }", PlanNames(graph, linker))
