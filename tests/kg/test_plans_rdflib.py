"""What rdflib evaluates over our store gives the answers of rdflib's graph in memory, which holds our export."""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from pathlib import Path

import pytest
import rdflib
from kg_parts import built
from test_plans_differential import PREFIXES, Queries, turtle

from triplecheck.kg import KnowledgeBase
from triplecheck.kg.export_files import export_graph
from triplecheck.kg.plans import PlanError, PlanNames, read_plan, run_plan
from triplecheck.kg.plans.limits import Limits
from triplecheck.kg.plans.rdflib_run import evaluate
from triplecheck.kg.vocabulary import RDF

QUERIES = 120
RDFLIB_ONLY = [
    "SELECT ?p ?y { <http://ex.org/t3> ?p ?y FILTER(?p != rdfs:label) }",
    "SELECT ?x ?p { ?x ?p <http://ex.org/t3> }",
    "SELECT ?p (COUNT(*) AS ?n) { ?x ?p ?y FILTER(?p != rdfs:label) } GROUP BY ?p",
    "SELECT ?x ?y { ?x ?p ?y . ?y ?p ?x }",
    "SELECT ?x { ?x ?p ?x }",
    "ASK { <http://ex.org/t3> ?p <http://ex.org/t4> }",
    'SELECT ?x (CONCAT(?s, "!") AS ?c) { ?x <http://ex.org/note> ?s }',
    'SELECT ?x (SUBSTR(?s, 1, 2) AS ?c) { ?x <http://ex.org/note> ?s FILTER(LANG(?s) = "") }',
    'SELECT ?x { ?x <http://ex.org/note> ?s FILTER(REGEX(?s, "(e)\\\\1")) }',
    "SELECT ?x { ?x <http://ex.org/r0>+/<http://ex.org/r1>* ?y . ?y ?p ?x }",
    "SELECT ?y { <http://ex.org/t3> (rdf:type|<http://ex.org/r0>)+ ?y }",
    "SELECT ?x ?c { ?x <http://ex.org/size> ?n BIND(IF(isNumeric(?n), REPLACE(STR(?n), '1', 'one'), '') AS ?c) }",
    "SELECT ?n (GROUP_CONCAT(?l; SEPARATOR='|') AS ?c) { ?x <http://ex.org/size> ?n ; rdfs:label ?l ; ?p ?n }"
    " GROUP BY ?n ORDER BY ?n",
]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[KnowledgeBase, rdflib.Graph]:
    folder = tmp_path_factory.mktemp("rdflib")
    (folder / "graph.ttl").write_text(turtle(random.Random(3)))
    kb = KnowledgeBase.from_triples(folder / "graph.ttl", folder / "kb", encoder=None)
    export_graph(kb.columnar, folder / "graph.nt")
    return kb, rdflib.Graph().parse(folder / "graph.nt", format="nt")


def written(term: object) -> str:
    if isinstance(term, rdflib.Literal):
        return f"{float(term):.9g}" if term.datatype and isinstance(term.value, int | float) else str(term)
    return "" if term is None else str(term)


def ours(kb: KnowledgeBase, cell: object) -> str:
    if isinstance(cell, int):
        value = kb.graph.literal(cell)
        if value is None:
            return kb.graph.node_id(cell)
        cell = value
    if cell is None:
        return ""
    found = kb.graph.find_relation(cell.lexical)  # type: ignore[attr-defined]
    assert found is None
    datatype = rdflib.URIRef(cell.datatype)  # type: ignore[attr-defined]
    return written(rdflib.Literal(cell.lexical, datatype=datatype))  # type: ignore[attr-defined]


def compare(kb: KnowledgeBase, graph: rdflib.Graph, query: str) -> int:
    plan = read_plan(PREFIXES + query, PlanNames(kb.graph, kb.linker))
    rows, total = evaluate(kb.columnar, Limits(60), plan, 10**6)
    wanted = graph.query(PREFIXES + query)
    if plan.kind == "ask":
        assert bool(rows) == wanted.askAnswer, query
        return 1
    labels = {str(kb.graph.relation(n).id): kb.graph.relation(n).label for n in range(kb.graph.num_relations)}
    labels |= {id: kb.graph.type_label(id) for id in (*kb.graph.type_ids, RDF + "type")}
    assert wanted.vars is not None
    cells = ([binding.get(name) for name in wanted.vars] for binding in wanted.bindings)
    expected = Counter(tuple(labels.get(text, text) for text in map(written, row)) for row in cells)
    assert Counter(tuple(ours(kb, cell) for cell in row) for row in rows) == expected, query
    assert total == len(rows)
    return len(rows)


@pytest.mark.parametrize("query", RDFLIB_ONLY)
def test_what_only_rdflib_covers(both: tuple[KnowledgeBase, rdflib.Graph], query: str) -> None:
    kb, graph = both
    assert compare(kb, graph, query)
    answers = run_plan(kb.graph, read_plan(PREFIXES + query, PlanNames(kb.graph, kb.linker)))
    assert not answers.has_proof
    assert "no proof" in answers.notes[0]
    assert (answers.edges(0), answers.looked_through, answers.with_ties()) == ([], (), answers)


@pytest.mark.parametrize("part", range(3))
def test_random_queries(both: tuple[KnowledgeBase, rdflib.Graph], part: int) -> None:
    kb, graph = both
    queries = [Queries(seed).query() for seed in range(part * QUERIES // 3, (part + 1) * QUERIES // 3)]
    # With LIMIT any of equal rows may come first. rdflib gives a node that a path joins with itself twice.
    same = [query for query in queries if "LIMIT" not in query and not re.search(r"[>)][?*] ", query)]
    found = [compare(kb, graph, query) for query in same]
    assert sum(map(bool, found)) > len(found) // 3


# --- names and limits ----------------------------------------------------------------------------
def test_ids_that_are_no_iris_homonyms_and_values(tmp_path: Path) -> None:
    entities = "id\tlabel\nt 1\tMill\nt2\tMill\na\tAda\nb\tBob\n"
    rows = "a\tlives in\tt 1\nb\tlives in\tt2\na\tlives in\tt2\na\tage\t007\nb\tage\t8\n"
    kb = built(tmp_path, f"head\trelation\ttail\n{rows}", entities)
    names = PlanNames(kb.graph, kb.linker)

    def texts(query: str) -> list[str]:
        answers = run_plan(kb.graph, read_plan(query, names))
        assert not answers.has_proof
        return sorted(" ".join(row) for row in answers.texts())

    assert texts("SELECT ?x ?p { ?x ?p <Mill> }") == ["Ada lives in", "Bob lives in"]
    assert texts("SELECT ?x (CONCAT('', 'y') AS ?c) { ?x <lives in> <Mill> }") == ["Ada y", "Bob y"]
    assert texts("SELECT ?p { ?x ?p ?y FILTER(?y = <Mill>) }") == ["lives in"] * 3
    assert texts("SELECT ?x { ?x ?p '007' }") == ["Ada"]
    assert texts("SELECT ?x { VALUES ?y { <Mill> } ?x ?p ?y }") == ["Ada", "Ada", "Bob"]


def chain(path: Path, length: int) -> KnowledgeBase:
    return built(path, "head\trelation\ttail\n" + "".join(f"n{a}\tnext\tn{b}\n" for a, b in _pairs(length)))


def _pairs(length: int) -> list[tuple[int, int]]:
    return list(itertools.pairwise(range(length + 1)))


def test_long_paths_are_followed(tmp_path: Path) -> None:
    kb = chain(tmp_path, 3000)
    names = PlanNames(kb.graph, kb.linker)
    for query in (
        "SELECT (COUNT(*) AS ?n) { <n0> <next>+ ?x }",
        "SELECT (COUNT(*) AS ?n) { <n0> <next>+ ?x FILTER(LANG('a') = '') }",
    ):
        assert run_plan(kb.graph, read_plan(query, names)).texts() == [("3000",)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ?x { ?x ?p ?y . ?a ?q ?b . ?c ?r ?d }",
        "SELECT ?x { ?x ?p ?y { ?a ?q ?b FILTER(?a != ?b) } { ?c ?r ?d } } ORDER BY ?x",
        "SELECT ?x { ?x ?p ?y MINUS { ?y ?q ?b . ?c ?r ?d . ?e ?s ?x FILTER(?y = 1) } }",
        "SELECT ?x (COUNT(*) AS ?n) { { ?x ?p ?y } { ?a ?q ?b } { ?c ?r ?d } } GROUP BY ?x",
    ],
)
def test_time_is_limited(tmp_path: Path, query: str) -> None:
    kb = chain(tmp_path, 2000)
    plan = read_plan(query, PlanNames(kb.graph, kb.linker))
    with pytest.raises(PlanError, match=r"takes longer than|rows at a time"):
        run_plan(kb.graph, plan, seconds=0.5)


def test_rows_are_limited_and_counted(tmp_path: Path) -> None:
    kb = chain(tmp_path, 50)
    found = run_plan(kb.graph, read_plan("SELECT ?x ?p { ?x ?p ?y }", PlanNames(kb.graph, kb.linker)), rows=7)
    assert (len(found.rows), found.total, found.truncated) == (7, 50, True)
