"""Plans against pyoxigraph: random queries over a random graph that is exported to RDF give the same answers."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pyoxigraph as ox
import pytest

from triplecheck.kg import KnowledgeBase
from triplecheck.kg.export_files import export_graph
from triplecheck.kg.plans import PlanNames, read_plan, run_plan
from triplecheck.kg.types import XSD

BASE = "http://ex.org/"
THINGS, RELATIONS, CLASSES = 14, 4, 3
QUERIES = 160

TURTLE = """@prefix : <http://ex.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""


def turtle(choose: random.Random) -> str:
    lines = [TURTLE]
    for number in range(THINGS):
        lines.append(f':t{number} rdfs:label "thing {number}" .')
        lines += [f":t{number} a :C{kind} ." for kind in range(CLASSES) if choose.random() < 0.4]
        for relation in range(RELATIONS):
            for _ in range(choose.choice((0, 0, 1, 1, 2))):
                lines.append(f":t{number} :r{relation} :t{choose.randrange(THINGS)} .")
        if choose.random() < 0.8:
            lines.append(f":t{number} :size {choose.choice((1, 2, 3, 5, 8, 13))} .")
        if choose.random() < 0.5:
            lines.append(f":t{number} :weight {choose.choice(('0.5', '1.25', '2.5', '7.75'))} .")
        if choose.random() < 0.5:
            lines.append(f':t{number} :note "{choose.choice(("red", "blue", "green"))}" .')
    return "\n".join(lines)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[KnowledgeBase, ox.Store]:
    folder = tmp_path_factory.mktemp("plans")
    (folder / "graph.ttl").write_text(turtle(random.Random(3)))
    kb = KnowledgeBase.from_triples(folder / "graph.ttl", folder / "kb", encoder=None)
    export_graph(kb.columnar, folder / "graph.nt")
    store = ox.Store()
    store.load(path=str(folder / "graph.nt"), format=ox.RdfFormat.N_TRIPLES)
    return kb, store


class Queries:
    """Random queries."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)

    def one_of(self, *ways: Callable[[], str]) -> str:
        return self.choose.choice(ways)()

    def variable(self) -> str:
        return f"?{self.choose.choice('xyz')}"

    def thing(self) -> str:
        return f"<{BASE}t{self.choose.randrange(THINGS)}>"

    def end(self) -> str:
        return self.variable() if self.choose.random() < 0.8 else self.thing()

    def triple(self) -> str:
        return self.one_of(
            lambda: f"{self.end()} <{BASE}r{self.choose.randrange(RELATIONS)}> {self.end()} .",
            lambda: f"{self.end()} <{BASE}r{self.choose.randrange(RELATIONS)}> {self.end()} .",
            lambda: f"{self.variable()} a <{BASE}C{self.choose.randrange(CLASSES)}> .",
            lambda: f"{self.end()} <{BASE}size> ?n .",
            lambda: f"{self.end()} <{BASE}weight> ?w .",
            lambda: f"{self.end()} <{BASE}note> ?s .",
            lambda: f"{self.end()} <{BASE}size> {self.choose.choice((1, 2, 4, 8))} .",
            lambda: f"{self.end()} <{BASE}r0>/<{BASE}r1> {self.end()} .",
            lambda: f"{self.end()} ^<{BASE}r2> {self.end()} .",
            lambda: f"{self.end()} {self.path()} {self.end()} .",
            lambda: f"{self.thing()} {self.star()} {self.variable()} .",
            lambda: f"{self.variable()} {self.star()} {self.thing()} .",
        )

    def relation(self) -> str:
        return f"<{BASE}r{self.choose.randrange(RELATIONS)}>"

    def path(self) -> str:
        """A path of at least one step: of none joins all terms of the exported graph, also labels and classes."""
        return self.one_of(
            lambda: f"{self.relation()}+",
            lambda: f"({self.relation()}|{self.relation()})+",
            lambda: f"({self.relation()}/^{self.relation()})+",
            lambda: f"!({self.relation()}|{self.relation()}|rdf:type|rdfs:label)",
            lambda: f"{self.relation()}/{self.relation()}+",
        )

    def star(self) -> str:
        return self.one_of(
            lambda: f"{self.relation()}*",
            lambda: f"{self.relation()}?",
            lambda: f"({self.relation()}|^{self.relation()})*",
            lambda: f"({self.relation()}/{self.relation()}?)?",
        )

    def basic(self) -> str:
        return " ".join(self.triple() for _ in range(self.choose.choice((1, 1, 2, 3))))

    def condition(self, depth: int = 0) -> str:
        simple = (
            lambda: f"?n {self.choose.choice(('<', '>', '<=', '>=', '=', '!='))} {self.choose.choice((1, 3, 5, 6.5))}",
            lambda: f"?n {self.choose.choice(('<', '>', '='))} ?w",
            lambda: f"?w + 1 {self.choose.choice(('<', '>='))} ?n * 2",
            lambda: f'?s {self.choose.choice(("=", "!=", "<"))} "green"',
            lambda: f"{self.variable()} {self.choose.choice(('=', '!='))} {self.end()}",
            lambda: f"BOUND({self.choose.choice(('?x', '?n', '?w'))})",
            lambda: f"?n IN (1, 2, {self.choose.choice((5, 8))})",
            lambda: f"{self.variable()} NOT IN ({self.thing()}, {self.thing()})",
            lambda: f"ABS(?w - ?n) < {self.choose.choice((1, 3))}",
            lambda: f'CONTAINS(?s, "{self.choose.choice("rbe")}")',
            lambda: f'REGEX(?s, "{self.choose.choice(("^r", "E", "[ab]l"))}", "{self.choose.choice(("", "i"))}")',
        )
        if depth > 1 or self.choose.random() < 0.6:
            return self.one_of(*simple)
        return self.one_of(
            lambda: f"({self.condition(depth + 1)} && {self.condition(depth + 1)})",
            lambda: f"({self.condition(depth + 1)} || {self.condition(depth + 1)})",
            lambda: f"!({self.condition(depth + 1)})",
            lambda: f"EXISTS {{ {self.basic()} }}",
            lambda: f"NOT EXISTS {{ {self.basic()} FILTER({self.one_of(*simple)}) }}",
        )

    def group(self, depth: int = 0) -> str:
        parts = [self.basic()]
        for _ in range(self.choose.choice((0, 0, 1, 1, 2))):
            parts.append(
                self.one_of(
                    lambda: f"FILTER({self.condition()})",
                    lambda: f"FILTER({self.condition()})",
                    lambda: f"OPTIONAL {{ {self.basic()} }}",
                    lambda: f"OPTIONAL {{ {self.basic()} FILTER({self.condition(1)}) }}",
                    lambda: f"MINUS {{ {self.basic()} }}",
                    lambda: f"FILTER NOT EXISTS {{ {self.basic()} }}",
                    lambda: f"VALUES ?x {{ {self.thing()} {self.thing()} }}",
                    lambda: f"BIND(?n + {self.choose.choice((1, 0.5))} AS ?b{self.choose.randrange(10**6)})",
                    lambda: "{ SELECT ?x (COUNT(?q) AS ?k) { ?x <http://ex.org/r1> ?q } GROUP BY ?x }",
                )
            )
        if depth == 0 and self.choose.random() < 0.2:
            parts.append(f"{{ {self.group(1)} }} UNION {{ {self.group(1)} }}")
        return " ".join(parts)

    def query(self) -> str:
        shown = " ".join(dict.fromkeys(self.choose.choice(("?x", "?y", "?z", "?n", "?w", "?s")) for _ in range(3)))
        key = self.choose.choice(("?x", "?y", "?s"))
        return self.one_of(
            lambda: f"SELECT {shown} {{ {self.group()} }}",
            lambda: f"SELECT DISTINCT {shown} {{ {self.group()} }}",
            lambda: f"ASK {{ {self.group()} }}",
            lambda: f"SELECT (COUNT(*) AS ?a) (COUNT(DISTINCT ?x) AS ?b) (COUNT(?n) AS ?c) {{ {self.group()} }}",
            lambda: f"SELECT (SUM(?n) AS ?a) (AVG(?n) AS ?b) (MIN(?w) AS ?c) (MAX(?n) AS ?d) {{ {self.group()} }}",
            lambda: f"SELECT {key} (COUNT(?y) AS ?a) (SUM(?n) AS ?b) {{ {self.group()} }} GROUP BY {key}",
            lambda: f"SELECT {key} (COUNT(*) AS ?a) {{ {self.group()} }} GROUP BY {key} HAVING(COUNT(*) > 2)",
            lambda: f"SELECT ?n {{ {self.group()} }} ORDER BY DESC(?n) LIMIT 3",
            lambda: f"SELECT ?n {{ {self.group()} }} ORDER BY ?n OFFSET 1 LIMIT 2",
        )


def written(term: object) -> str:
    """A term of pyoxigraph; numbers by their value."""
    if term is None:
        return ""
    if isinstance(term, ox.Literal):
        is_number = term.datatype.value in (XSD + "integer", XSD + "decimal", XSD + "double")
        return f"{float(term.value):.9g}" if is_number else repr(term.value)
    assert isinstance(term, ox.NamedNode)
    return term.value


def ours(kb: KnowledgeBase, cell: object) -> str:
    if cell is None:
        return ""
    value = kb.graph.literal(cell) if isinstance(cell, int) else cell
    if value is None:
        assert isinstance(cell, int)
        return kb.graph.node_id(cell)
    return written(ox.Literal(value.lexical, datatype=ox.NamedNode(value.datatype)))


PREFIXES = """PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
"""


@pytest.mark.parametrize("part", range(4))
def test_answers_are_those_of_pyoxigraph(both: tuple[KnowledgeBase, ox.Store], part: int) -> None:
    kb, store = both
    names = PlanNames(kb.graph, kb.linker)
    answered = 0
    for seed in range(part * QUERIES // 4, (part + 1) * QUERIES // 4):
        query = PREFIXES + Queries(seed).query()
        found = store.query(query)
        answers = run_plan(kb.graph, read_plan(query, names), rows=10**6)
        if isinstance(found, ox.QueryBoolean):
            assert answers.boolean == bool(found), query
            continue
        assert isinstance(found, ox.QuerySolutions)
        wanted = Counter(tuple(written(cell) for cell in row) for row in found)
        got = Counter(tuple(ours(kb, cell) for cell in row) for row in answers.rows)
        assert got == wanted, f"{seed}: {query}"
        answered += len(answers.rows) > 0
    assert answered > QUERIES // 4 // 3
