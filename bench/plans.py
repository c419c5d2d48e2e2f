"""Queries over a graph of 8 million edges with classes and values, compared with pyoxigraph's SPARQL."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bench import synthetic
from bench.measurement import Measurement, Options
from bench.peers import IRI
from bench.timing import each, timed
from triplecheck.kg import columnar_build
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.plans import Plan, PlanNames, read_plan, run_plan
from triplecheck.kg.types import XSD, Direction, Relation
from triplecheck.kg.vocabulary import RDF

_CLASSES, _HUBS = 5, 50
_YEARS, _WEIGHTS = (1700, 2020), 100_000
_PREFIX = f"PREFIX : <{IRI}>\n"
_LEAST = 1 / 3
_PER_MILLION = 1000.0  # milliseconds for a million rows that are filtered, grouped and sorted

QUERIES = {
    "edges at a hub": "SELECT ?x { ?x :R0 :A }",
    "star of two": "SELECT ?x { ?x :R0 :A ; :R1 :B }",
    "chain of two, counted": "SELECT (COUNT(*) AS ?n) { ?x :R0 :A . ?y :R1 ?x }",
    "star and chain": "SELECT DISTINCT ?z { ?x :R0 :A ; :R1 :B . ?y :R2 ?x . ?y :R3 ?z }",
    "years between": "SELECT ?x ?y { ?x :R0 :A ; :born ?y FILTER(?y >= 1900 && ?y < 1950) }",
    "most frequent ends": "SELECT ?o (COUNT(?x) AS ?n) { ?x :R4 ?o } GROUP BY ?o ORDER BY DESC(?n) ?o LIMIT 10",
    "heaviest of a class": "SELECT ?x ?w { ?x a :C1 ; :weight ?w } ORDER BY DESC(?w) ?x LIMIT 10",
    "of a class without edges": "SELECT (COUNT(?x) AS ?n) { ?x a :C2 FILTER NOT EXISTS { ?x :R5 ?y } }",
    "average by class": "SELECT ?c (AVG(?w) AS ?m) { ?x :weight ?w ; :in ?c } GROUP BY ?c ORDER BY ?c",
    "optional, counted": "SELECT ?x (COUNT(?y) AS ?n) { ?x :R0 :A OPTIONAL { ?x :R2 ?y } } GROUP BY ?x "
    "ORDER BY DESC(?n) ?x LIMIT 5",
}
MILLION = (
    "SELECT ?o (COUNT(?x) AS ?n) (AVG(?y) AS ?m) { ?x :R0 ?o ; :born ?y FILTER(?y > 1800) } GROUP BY ?o "
    "ORDER BY DESC(?n) ?o LIMIT 10"
)


def _graph(folder: Path, size: synthetic.Size) -> ColumnarGraph:
    """A synthetic graph whose nodes have classes, years and weights."""
    rng = np.random.default_rng(7)
    base = synthetic.numbered(size, [f"{IRI}n{number}" for number in range(size.nodes)])
    years = np.arange(*_YEARS)
    weights = np.arange(_WEIGHTS)
    classes = rng.integers(0, _CLASSES, size.nodes)
    ids = [f"{IRI}C{number}" for number in range(_CLASSES)]
    born, weight = rng.choice(len(years), size.nodes), rng.integers(0, _WEIGHTS, size.nodes)
    nodes = np.arange(size.nodes)
    first_class, first_year = size.nodes, size.nodes + _CLASSES
    first_weight = first_year + len(years)
    names = [*(f"R{number}" for number in range(size.relations)), "born", "weight", "in"]
    tails = [born + first_year, weight + first_weight, classes + first_class]
    entities = size.nodes + _CLASSES
    literals = [*map(str, years), *(f"{number}.0" for number in weights)]
    datatypes = np.repeat([0, 1], [len(years), _WEIGHTS]).astype(np.int32)
    labels = pa.array([*(f"n{number}" for number in nodes), *(f"C{number}" for number in range(_CLASSES)), *literals])
    graph = replace(
        base,
        heads=np.concatenate([base.heads, *[nodes] * 3]).astype(np.int32),
        relations=np.concatenate([base.relations, *np.repeat([[-3], [-2], [-1]], size.nodes, 1) + len(names)]).astype(
            np.int32
        ),
        tails=np.concatenate([base.tails, *tails]).astype(np.int32),
        ids=pa.array([*base.ids.to_pylist(), *ids, *literals]),
        labels=labels,
        descriptions=pa.array([""] * entities, pa.string()),
        aliases=pa.array([[]] * entities, pa.list_(pa.string())),
        literal_datatypes=datatypes,
        datatypes=[XSD + "integer", XSD + "decimal"],
        type_offsets=np.concatenate([nodes, np.full(_CLASSES + 1, size.nodes)]),
        type_codes=classes.astype(np.int32),
        types=[(id, id.removeprefix(IRI)) for id in ids],
        relation_table=[Relation(f"{IRI}{name}", name) for name in names],
    )
    folder.mkdir()
    columnar_build.write_graph(graph, folder)
    return ColumnarGraph(folder)


def _write_ntriples(graph: ColumnarGraph, path: Path) -> None:
    terms = np.array(
        [
            f"<{graph.node_id(node)}>".encode() if value is None else f'"{value.lexical}"^^<{value.datatype}>'.encode()
            for node in range(graph.num_nodes)
            for value in [graph.literal(node)]
        ],
        object,
    )
    predicates = np.array([f"<{graph.relation(n).id}>".encode() for n in range(graph.num_relations)], object)
    offsets, relations, tails = graph.rows(Direction.OUT)
    heads = np.repeat(np.arange(graph.num_nodes), np.diff(offsets))
    with path.open("wb") as sink:
        for start in range(0, len(tails), 500_000):
            part = slice(start, start + 500_000)
            rows = zip(terms[heads[part]], predicates[relations[part]], terms[tails[part]], strict=True)
            sink.write(b"".join(b"%b %b %b .\n" % row for row in rows))
        for id in graph.type_ids:
            kind = f" <{RDF}type> <{id}> .\n".encode()
            sink.write(b"".join(terms[node] + kind for node in graph.nodes_of_type(id).tolist()))


def _named(graph: ColumnarGraph, text: str) -> str:
    """A query with hubs and relations that they have for its placeholders."""
    offsets, relations, _ = graph.rows(Direction.IN)
    sizes = np.diff(offsets)[: graph.num_entities - _CLASSES]
    hubs = np.argsort(-sizes)[:_HUBS]
    counts = np.bincount(relations, minlength=graph.num_relations)[: graph.num_relations - 3]
    frequent = np.argsort(-counts)
    for letter, node in zip("AB", (hubs[3], hubs[5]), strict=True):
        text = text.replace(f":{letter} ", f"<{graph.node_id(int(node))}> ")
    for number in range(6):
        text = text.replace(f":R{number} ", f"<{graph.relation(int(frequent[number])).id}> ")
    return _PREFIX + text


def _ours(graph: ColumnarGraph, plan: Plan) -> list[tuple[str, ...]]:
    return run_plan(graph, plan, rows=1_000_000).texts()


def _seen(graph: ColumnarGraph, plan: Plan) -> int:
    """Rows that the first condition looks at."""
    return run_plan(graph, plan).looked_through[0].seen


def _theirs(store: Any, text: str) -> list[tuple[str, ...]]:
    return [tuple("" if cell is None else cell.value for cell in row) for row in store.query(text)]


def plans(options: Options) -> Iterator[Measurement]:
    """Median of several runs of each query; both sides hand out texts of all cells."""
    import pyoxigraph

    size = "200k" if options.quick else "8M"
    graph, ntriples = _graph(options.work / "plans", synthetic.SIZES[size]), options.work / "plans.nt"
    _write_ntriples(graph, ntriples)
    names = PlanNames(graph)
    store = pyoxigraph.Store()
    store.bulk_load(path=str(ntriples), format=pyoxigraph.RdfFormat.N_TRIPLES)
    for name, text in {**QUERIES, "millions of rows filtered, grouped, sorted": MILLION}.items():
        query = _named(graph, text)
        plan = read_plan(query, names)
        _check(name, _ours(graph, plan), _theirs(store, query))
        ours, theirs = _median(lambda plan=plan: _ours(graph, plan)), _median(lambda query=query: _theirs(store, query))
        reading = _median(lambda query=query: read_plan(query, names))
        bound = _PER_MILLION * _seen(graph, plan) / 1e6 if text == MILLION and not options.quick else None
        rows = f"{_seen(graph, plan):,} rows seen" if text == MILLION else f"{len(_ours(graph, plan)):,} rows"
        note = f"{rows}; reading the query {reading * 1e3:.1f} ms more"
        yield Measurement(
            f"{name}, {size} triples",
            ours * 1e3,
            "ms",
            "pyoxigraph",
            theirs * 1e3,
            None if options.quick else _LEAST,
            bound,
            note,
        )


def _median(run: Any) -> float:
    first = timed(run)
    return first if first > 5 else statistics.median(each(lambda _: run(), range(5)))


def _check(name: str, ours: list[tuple[str, ...]], theirs: list[tuple[str, ...]]) -> None:
    def comparable(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
        return sorted(tuple(_number(cell.removeprefix(IRI)) for cell in row) for row in rows)

    if comparable(ours) != comparable(theirs):
        raise RuntimeError(f"{name}: pyoxigraph has other answers")


def _number(text: str) -> str:
    try:
        return f"{float(text):.9g}"
    except ValueError:
        return text
