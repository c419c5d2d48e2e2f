"""Triple patterns at hubs of a large graph, compared with Python dictionaries of sets and pyoxigraph's SPARQL."""

from __future__ import annotations

import gc
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from bench import fixtures, synthetic
from bench.measurement import Measurement, Options
from bench.peers import IRI
from bench.timing import each, fresh_process, timed
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.patterns import BoundPattern, Link, Match, Query, match
from triplecheck.kg.types import Direction

_HUBS, _QUERIES = 50, 25
_MOST_IN_SETS = 10_000_000  # triples, about 250 bytes each
_BOUNDS = {"8M": 10.0, "50M": 100.0}  # milliseconds

# Patterns as (head, relation number, tail); capital letters are hubs.
SHAPES: dict[str, tuple[tuple[str, int, str], ...]] = {
    "1 pattern": (("x", 0, "A"),),
    "2 patterns, star": (("x", 0, "A"), ("x", 1, "B")),
    "2 patterns, chain": (("x", 0, "A"), ("y", 1, "x")),
    "3 patterns, star": (("x", 0, "A"), ("x", 1, "B"), ("x", 2, "C")),
    "3 patterns, chain": (("x", 0, "A"), ("y", 1, "x"), ("z", 2, "y")),
    "3 patterns, chain between hubs": (("x", 0, "A"), ("y", 1, "x"), ("y", 2, "C")),
}


def queries(graph: ColumnarGraph, shape: Sequence[tuple[str, int, str]], count: int) -> list[Query]:
    """Queries of a shape, at hubs drawn from the nodes with the most incoming edges, with relations that they have."""
    rng = np.random.default_rng(3)
    offsets, relations, _ = graph.rows(Direction.IN)
    hubs = np.argsort(-np.diff(offsets))[:_HUBS]
    made = []
    for _ in range(count):
        nodes = rng.choice(hubs, 3, replace=False).tolist()
        kinds = [int(rng.choice(relations[offsets[node] : offsets[node + 1]])) for node in nodes]
        patterns = tuple(BoundPattern(h, Link((kinds[r],)), t, f"{h} {kinds[r]} {t}") for h, r, t in shape)
        ends = {end for pattern in patterns for end in (pattern.head, pattern.tail)}
        given = {name: np.array([node]) for name, node in zip("ABC", nodes, strict=True) if name in ends}
        made.append(Query(patterns, given))
    return made


class Peer(Protocol):
    """A peer, and the number of queries it answers."""

    name: str
    queries: int

    def count(self, query: Query) -> int:
        """Number of nodes that ?x can be bound to."""


class PythonSets:
    """The same fixpoint over dictionaries of sets, round by round, as in the published code."""

    name = "Python sets"
    queries = 5

    def __init__(self, graph: ColumnarGraph) -> None:
        self._near: tuple[Any, Any] = (defaultdict(set), defaultdict(set))
        offsets, relations, tails = graph.rows(Direction.OUT)
        heads = np.repeat(np.arange(graph.num_nodes), np.diff(offsets))
        for head, relation, tail in zip(heads.tolist(), relations.tolist(), tails.tolist(), strict=True):
            self._near[0][head, relation].add(tail)
            self._near[1][tail, relation].add(head)

    def count(self, query: Query) -> int:
        """See `Peer`."""
        found: dict[str, set[int] | None] = dict.fromkeys(query.names)
        found |= {name: set(nodes.tolist()) for name, nodes in query.given.items()}
        changed = True
        while changed:
            changed = False
            for pattern in query.patterns:
                (relation,) = pattern.link.relations or ()
                for start, end, way in ((pattern.head, pattern.tail, 0), (pattern.tail, pattern.head, 1)):
                    nodes = found[start]
                    if nodes is None:
                        continue
                    reached: set[int] = set()
                    for node in nodes:
                        reached |= self._near[way].get((node, relation), set())
                    before = found[end]
                    kept = reached if before is None else before & reached
                    changed |= before is None or len(kept) < len(before)
                    found[end] = kept
        return len(found["x"] or ())


class Sparql:
    """pyoxigraph in memory."""

    name = "pyoxigraph SPARQL"
    queries = 3

    def __init__(self, ntriples: Any, graph: ColumnarGraph) -> None:
        import pyoxigraph

        self._graph = graph
        self._store: Any = pyoxigraph.Store()
        self._store.bulk_load(path=str(ntriples), format=pyoxigraph.RdfFormat.N_TRIPLES)

    def count(self, query: Query) -> int:
        """See `Peer`."""
        text = " . ".join(
            f"{self._term(query, p.head)} <{IRI}{self._relation(p)}> {self._term(query, p.tail)}"
            for p in query.patterns
        )
        rows = self._store.query(f"SELECT (COUNT(DISTINCT ?x) AS ?n) WHERE {{ {text} }}")
        return int(next(iter(rows))["n"].value)

    def _relation(self, pattern: BoundPattern) -> str:
        return self._graph.relation((pattern.link.relations or ())[0]).id

    def _term(self, query: Query, name: str) -> str:
        return f"?{name}" if name not in query.given else f"<{IRI}{self._graph.node_id(int(query.given[name][0]))}>"


def patterns(options: Options) -> Iterator[Measurement]:
    """Median over queries, each the best of three runs; comparisons with a peer use fewer queries."""
    for size in options.sizes:
        yield from _ours(size, options)
        yield from _memory(size, options)
    size = next((size for size in options.sizes if synthetic.SIZES[size].triples <= _MOST_IN_SETS), "1M")
    graph = ColumnarGraph(fixtures.graph(options, size))
    sets = PythonSets(graph)
    gc.freeze()  # so that garbage collection does not traverse all its sets
    yield from _beside(graph, size, sets)
    gc.unfreeze()
    size = "200k" if options.quick else "1M"
    graph = ColumnarGraph(fixtures.graph(options, size))
    yield from _beside(graph, size, Sparql(fixtures.ntriples(options, size), graph))


def _ours(size: str, options: Options) -> Iterator[Measurement]:
    graph = ColumnarGraph(fixtures.graph(options, size))
    bound = None if options.quick else _BOUNDS.get(size)
    match(graph, queries(graph, SHAPES["3 patterns, chain"], 1)[0])  # compiles, or loads the compiled code
    for name, shape in SHAPES.items():
        made = queries(graph, shape, _QUERIES)
        largest = max(map(_largest, [match(graph, query) for query in made]))
        times = sorted(_best(lambda query: match(graph, query), query) for query in made)
        note = f"slowest {times[-1] * 1e3:,.1f} ms; largest domain {largest:,} nodes"
        yield Measurement(f"{name}, {size} triples", statistics.median(times) * 1e3, "ms", bound=bound, note=note)


def _beside(graph: ColumnarGraph, size: str, peer: Peer) -> Iterator[Measurement]:
    for name, shape in SHAPES.items():
        ours_took, theirs_took = [], []
        for query in queries(graph, shape, peer.queries):
            if match(graph, query).count("x") != peer.count(query):
                raise RuntimeError(f"{name}, {size}: {peer.name} returns another number of nodes")
            ours_took.append(_best(lambda query: match(graph, query), query))
            theirs_took.append(_best(peer.count, query))
        medians = statistics.median(ours_took) * 1e3, statistics.median(theirs_took) * 1e3
        note = f"{peer.queries} queries; the peer's slowest {max(theirs_took) * 1e3:,.0f} ms"
        yield Measurement(f"{name}, {size} triples", medians[0], "ms", peer.name, medians[1], note=note)


def _best(run: Callable[[Query], object], query: Query) -> float:
    """Seconds of the best of three runs; a run of over a second is not repeated."""
    first = timed(lambda: run(query))
    return first if first > 1 else min(first, *each(run, [query] * 2))


def _largest(found: Match) -> int:
    return max(len(nodes) for nodes in found.domains.values() if nodes is not None)


_MEMORY = """
import json, sys
from pathlib import Path
from bench.patterns import SHAPES, queries
from bench.timing import peak_memory
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.patterns import match
graph = ColumnarGraph(Path(sys.argv[1]))
for shape in SHAPES.values():
    for query in queries(graph, shape, 25):
        match(graph, query)
print(json.dumps(peak_memory()))
"""


def _memory(size: str, options: Options) -> Iterator[Measurement]:
    name = f"memory of a process with the graph mapped, {size} triples"
    if sys.platform != "linux":
        yield Measurement(name, None, "MB", note="measured on Linux only")
        return
    most = fresh_process(_MEMORY, fixtures.graph(options, size)) / 1e6
    bound = 1000.0 if size == "8M" and not options.quick else None
    yield Measurement(name, most, "MB", bound=bound, note="peak resident memory, including mapped pages")
