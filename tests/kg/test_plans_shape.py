"""The shape of plans: cycles, things that only join two triples, and parts that nothing joins."""

from __future__ import annotations

from pathlib import Path

import pytest

from triplecheck.kg import KnowledgeBase, build
from triplecheck.kg.plans import read_plan
from triplecheck.kg.plans.algebra import Constant
from triplecheck.kg.plans.names import PlanNames
from triplecheck.kg.readers import read_graph

ROWS = "Ada\ttaught by\tAda\nAda\twrote\tDiary\nDiary\tsent to\tBob\nBob\tlives in\tOslo\nAda\tlives in\tOslo\n"


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> PlanNames:
    folder = tmp_path_factory.mktemp("shape")
    (folder / "graph.tsv").write_text(ROWS, encoding="utf-8")
    base: KnowledgeBase = build(read_graph([folder / "graph.tsv"]), folder / "kb", encoder=None)
    return PlanNames(base.graph, base.linker)


@pytest.mark.parametrize(
    ("query", "cyclic"),
    [
        ("SELECT ?x { ?x <taught by> ?x }", True),
        ("ASK { <Ada> <taught by> <Ada> }", True),
        ("ASK { <Ada> <lives in> <Oslo> }", False),
        ("SELECT ?x { ?x <wrote> ?y . ?y <sent to> ?x }", True),
        ("SELECT ?x { ?x <wrote> ?y . ?y <sent to> ?z . ?z <lives in> ?p . ?x <lives in> ?p }", True),
        ("SELECT ?x { ?x <wrote> ?y . ?y <sent to> ?z }", False),
        ("SELECT ?x { ?x <taught by> <Ada> . ?x <lives in> <Oslo> }", False),
    ],
)
def test_a_cycle_joins_variables_twice(names: PlanNames, query: str, cyclic: bool) -> None:
    assert read_plan(query, names).has("cycle") is cyclic


@pytest.mark.parametrize(
    ("query", "labels"),
    [
        ("SELECT ?x { ?x <wrote> ?y . ?y <sent to> <Bob> }", {"wrote", "sent to"}),
        ("SELECT ?x ?y { ?x <wrote> ?y . ?y <sent to> <Bob> }", set()),
        ("SELECT ?x { ?x <wrote> ?y } ORDER BY ?y", set()),
        (
            "SELECT (COUNT(?y) AS ?n) { ?x <wrote> ?y . ?y <sent to> ?z . ?z <lives in> <Oslo> }",
            {"sent to", "lives in"},
        ),
    ],
)
def test_a_bridge_is_spoken_of_by_two_triples_alone(names: PlanNames, query: str, labels: set[str]) -> None:
    found = read_plan(query, names).bridges
    assert {names.graph.relation(number).label for numbers in found for number in numbers} == labels


@pytest.mark.parametrize(
    ("query", "apart"),
    [
        ("SELECT ?x { ?x <lives in> <Oslo> . ?y <wrote> <Diary> }", ["y"]),
        ("SELECT ?x { ?x <lives in> <Oslo> . ?y <lives in> <Oslo> . ?y <wrote> ?z }", ["y", "z"]),
        ("SELECT ?x { ?x <lives in> ?p . ?y <lives in> ?p }", []),
        ("SELECT ?x { ?x <wrote> ?y . <Diary> <sent to> ?z . FILTER(?y != ?z) }", []),
        ("SELECT (COUNT(*) AS ?n) { ?x <lives in> <Oslo> . ?y <wrote> <Diary> }", []),
        ("SELECT ?p { ?x <lives in> ?p } GROUP BY ?p HAVING(COUNT(?x) > 1)", []),
        ("SELECT (AVG(?n) AS ?mean) { { SELECT ?p (COUNT(?x) AS ?n) { ?x <lives in> ?p } GROUP BY ?p } }", []),
        ("SELECT ?x { ?x <lives in> <Oslo> . FILTER NOT EXISTS { ?y <sent to> ?x } }", []),
        ("ASK { ?x <lives in> <Oslo> . ?y <wrote> <Diary> }", []),
        ("SELECT ?x { ?x <wrote> <Diary> . VALUES ?y { <Oslo> } }", ["y"]),
        ("SELECT ?x { ?x <lives in> ?y . VALUES ?y { <Oslo> } }", []),
        ("SELECT ?x { ?x <lives in> ?y . VALUES (?y ?z) { (<Oslo> <Diary>) } }", []),
        ("SELECT ?x { ?x <wrote> <Diary> . BIND(<Oslo> AS ?y) }", ["y"]),
        ("SELECT ?x { ?x <wrote> ?y . BIND(<Diary> AS ?y2) . FILTER(?y = ?y2) }", []),
        ("SELECT ?x { ?x <lives in> ?n . ?y <wrote> <Diary> . BIND(STR(?n) AS ?m) }", ["y"]),
    ],
)
def test_what_nothing_joins_to_the_selection_is_apart(names: PlanNames, query: str, apart: list[str]) -> None:
    assert read_plan(query, names).apart == apart


@pytest.mark.parametrize(
    ("query", "compared"),
    [
        ("ASK { <Ada> <age> ?one . <Bob> <age> ?two . FILTER(?one > ?two) }", [("<Ada>", "<Bob>")]),
        ("ASK { <Ada> <age> ?one . <Bob> <age> ?two . FILTER(?one <= ?two) }", [("<Bob>", "<Ada>")]),
        ("SELECT ?x { ?x <age> ?one . <Bob> <age> ?two . FILTER(?one > ?two) }", [("?x", "<Bob>")]),
        ("ASK { <Ada> <age> ?one . <Bob> <height> ?two . FILTER(?one > ?two) }", []),
        ("ASK { <Ada> <age> ?one . FILTER(?one > 30) }", []),
        ("ASK { <Ada> <age> ?one . <Bob> <age> ?two . FILTER(!(?one > ?two)) }", []),
    ],
)
def test_of_two_things_that_are_compared_the_greater_is_first(
    tmp_path: Path, query: str, compared: list[tuple[str, str]]
) -> None:
    (tmp_path / "graph.tsv").write_text("Ada\tage\t31\nBob\tage\t44\nBob\theight\t180\n", encoding="utf-8")
    base = build(read_graph([tmp_path / "graph.tsv"]), tmp_path / "kb", encoder=None)
    found = read_plan(query, PlanNames(base.graph, base.linker)).compared
    texts = [tuple(one.text if isinstance(one, Constant) else f"?{one.name}" for one in ends) for *ends, _ in found]
    assert texts == compared


@pytest.mark.parametrize(
    ("query", "contradicted"),
    [
        ("SELECT ?x { ?x <lives in> <Oslo> . FILTER NOT EXISTS { ?x <lives in> <Oslo> } }", True),
        ("SELECT ?x { ?x <lives in> ?y . FILTER NOT EXISTS { ?x <lives in> <Oslo> } }", False),
        ("SELECT ?x { ?x <wrote> ?y . FILTER NOT EXISTS { ?x <wrote> ?y . ?x <lives in> <Oslo> } }", False),
        ("SELECT ?x { ?x <wrote> ?y . FILTER NOT EXISTS { ?x <wrote> ?y . FILTER(?y = <Diary>) } }", False),
        ("SELECT ?x { ?x <wrote> ?y OPTIONAL { ?x <sent to> ?z } FILTER NOT EXISTS { ?x <sent to> ?z } }", False),
    ],
)
def test_what_is_required_is_not_excluded(names: PlanNames, query: str, contradicted: bool) -> None:
    assert read_plan(query, names).is_contradicted is contradicted


@pytest.mark.parametrize(
    ("query", "pairs"),
    [
        ("SELECT ?x { ?x <lives in> <Oslo> . ?x <lives in> <Bob> }", [("<Bob>", "<Oslo>")]),
        ("SELECT ?x { ?x <lives in> <Oslo> . ?y <lives in> <Bob> . ?x <wrote> ?y }", []),
        ("SELECT ?x { { ?x <lives in> <Oslo> } UNION { ?x <lives in> <Bob> } }", []),
    ],
)
def test_two_names_by_one_relation_are_doubled(names: PlanNames, query: str, pairs: list[tuple[str, str]]) -> None:
    assert [tuple(sorted((one.text, other.text))) for one, other in read_plan(query, names).doubled] == pairs
