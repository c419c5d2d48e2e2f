"""Look-ups in a graph, against bare numpy on the same arrays, pyoxigraph and rdflib in memory."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench import fixtures, synthetic
from bench.registry import Options, Row, figure
from bench.timing import fresh_process, interleaved
from kg.columnar import ColumnarGraph
from kg.types import Direction

Int = npt.NDArray[Any]
Contest = dict[str, tuple[Callable[[], object], int]]
"""What is timed by its name, and how many calls one run of it makes."""

_NODES, _STARTS = 1000, 20
_IRI = "http://example.org/"


@dataclass(frozen=True)
class _Sample:
    """What is asked: edges at nodes drawn evenly (not by degree), and nodes to start two hops from."""

    edges: list[tuple[int, int, int]]
    starts: list[int]

    @classmethod
    def of(cls, graph: ColumnarGraph, starts: int = _STARTS) -> _Sample:
        rng = np.random.default_rng(7)
        edges: list[tuple[int, int, int]] = []
        for node in rng.permutation(graph.num_nodes)[: 4 * _NODES].tolist():
            found = graph.expand([node], None, Direction.OUT)
            if len(found) and len(edges) < _NODES:
                at = int(rng.integers(len(found)))
                edges.append((node, int(found.relations[at]), int(found.tails[at])))
        return cls(edges, [head for head, _, _ in edges[:starts]])


@figure("lookups")
def lookups(options: Options) -> Iterator[Row]:
    """Entity, relations, neighbours, two hops, membership."""
    for size in options.sizes:
        folder = fixtures.graph(options, size)
        graph = ColumnarGraph(folder)
        sample = _Sample.of(graph)
        yield from _compare(size, "numpy", _ours(graph, sample), _numpy(folder, sample), options, 1 / 3)
        graph.close()
        yield from _memory(size, folder)
    yield from _against_oxigraph("200k" if options.quick else "1M", options)
    yield from _against_rdflib("200k", options)


def _compare(
    size: str, peer: str, ours: Contest, theirs: Contest, options: Options, least: float | None
) -> Iterator[Row]:
    for name, (run, calls) in ours.items():
        contestants = {"ours": run}
        if name in theirs:
            contestants[peer] = theirs[name][0]
        median = interleaved(contestants, options.rounds, calls)
        other = median.get(peer)
        yield Row(
            f"{name}, {size} triples",
            median["ours"] * 1e6,
            "us",
            peer if other else "",
            other * 1e6 if other else None,
            least if name == "neighbours of (entity, relation)" else None,
        )


def _ours(graph: ColumnarGraph, sample: _Sample) -> Contest:
    ids = [graph.node_id(head) for head, _, _ in sample.edges]

    def two_hops() -> None:
        for start in sample.starts:
            first = graph.expand([start], None, Direction.OUT)
            graph.expand(np.unique(first.tails), None, Direction.OUT)

    n = len(sample.edges)
    return {
        "entity by id": (lambda: [graph.find(id) for id in ids], n),
        "relations of an entity": (lambda: [graph.relations_of(head) for head, _, _ in sample.edges], n),
        "neighbours of (entity, relation)": (lambda: [graph.neighbors(h, r) for h, r, _ in sample.edges], n),
        "contains": (lambda: [graph.contains(*edge) for edge in sample.edges], n),
        "two hops": (two_hops, len(sample.starts)),
    }


def _numpy(folder: Path, sample: _Sample) -> Contest:
    """The same look-ups written out by hand on the mapped arrays, as plain as they go."""

    def mapped(name: str) -> Int:
        return np.load(folder / f"{name}.npy", mmap_mode="r").view(np.ndarray)  # type: ignore[no-any-return]

    out = mapped("out_offsets"), mapped("out_relations"), mapped("out_ends")
    back = mapped("in_offsets"), mapped("in_relations")
    offsets, relations, ends = out

    def neighbours(node: int, relation: int) -> Int:
        start = offsets[node]
        part = relations[start : offsets[node + 1]]
        key = part.dtype.type(relation)
        return ends[start + part.searchsorted(key) : start + part.searchsorted(key, "right")]

    def contains(node: int, relation: int, tail: int) -> bool:
        found = neighbours(node, relation)
        at = found.searchsorted(found.dtype.type(tail))
        return bool(at < len(found) and found[at] == tail)

    def relations_of(node: int) -> None:
        for starts, kinds in ((offsets, relations), back):
            np.unique(kinds[starts[node] : starts[node + 1]], return_counts=True)

    def two_hops() -> None:
        for start in sample.starts:
            first = np.unique(ends[offsets[start] : offsets[start + 1]])
            np.concatenate([ends[offsets[node] : offsets[node + 1]] for node in first.tolist()])

    n = len(sample.edges)
    return {
        "relations of an entity": (lambda: [relations_of(head) for head, _, _ in sample.edges], n),
        "neighbours of (entity, relation)": (lambda: [neighbours(h, r) for h, r, _ in sample.edges], n),
        "contains": (lambda: [contains(*edge) for edge in sample.edges], n),
        "two hops": (two_hops, len(sample.starts)),
    }


def _against_oxigraph(size: str, options: Options) -> Iterator[Row]:
    import pyoxigraph as ox

    store = ox.Store()
    store.bulk_load(path=str(fixtures.ntriples(options, size)), format=ox.RdfFormat.N_TRIPLES)
    graph = ColumnarGraph(fixtures.graph(options, size))
    sample = _Sample.of(graph, 5)
    iri = ox.NamedNode
    edges = [(iri(_iri(graph, h)), iri(_relation(graph, r)), iri(_iri(graph, t))) for h, r, t in sample.edges]

    def relations_of(node: Any) -> None:
        counts: dict[Any, int] = {}
        for quads in (store.quads_for_pattern(node, None, None), store.quads_for_pattern(None, None, node)):
            for quad in quads:
                counts[quad.predicate] = counts.get(quad.predicate, 0) + 1

    def two_hops() -> None:
        for head, _, _ in edges[: len(sample.starts)]:
            first = {quad.object for quad in store.quads_for_pattern(head, None, None)}
            for node in first:
                list(store.quads_for_pattern(node, None, None))

    n = len(edges)
    theirs: Contest = {
        "relations of an entity": (lambda: [relations_of(h) for h, _, _ in edges], n),
        "neighbours of (entity, relation)": (
            lambda: [[quad.object for quad in store.quads_for_pattern(h, r, None)] for h, r, _ in edges],
            n,
        ),
        "contains": (lambda: [ox.Quad(*edge) in store for edge in edges], n),
        "two hops": (two_hops, len(sample.starts)),
    }
    ours = {name: contest for name, contest in _ours(graph, sample).items() if name in theirs}
    yield from _compare(size, "pyoxigraph", ours, theirs, options, 20)
    graph.close()


def _against_rdflib(size: str, options: Options) -> Iterator[Row]:
    import rdflib

    store = rdflib.Graph().parse(fixtures.ntriples(options, size), format="nt")
    graph = ColumnarGraph(fixtures.graph(options, size))
    sample = _Sample.of(graph, 5)
    iri = rdflib.URIRef
    edges = [(iri(_iri(graph, h)), iri(_relation(graph, r)), iri(_iri(graph, t))) for h, r, t in sample.edges]

    def relations_of(node: Any) -> None:
        counts: dict[Any, int] = {}
        for found in (store.predicate_objects(node), store.subject_predicates(node)):
            for pair in found:
                counts[pair] = counts.get(pair, 0) + 1

    def two_hops() -> None:
        for head, _, _ in edges[: len(sample.starts)]:
            for node in set(store.objects(head)):
                list(store.objects(node))

    n = len(edges)
    theirs: Contest = {
        "relations of an entity": (lambda: [relations_of(h) for h, _, _ in edges], n),
        "neighbours of (entity, relation)": (lambda: [list(store.objects(h, r)) for h, r, _ in edges], n),
        "contains": (lambda: [edge in store for edge in edges], n),
        "two hops": (two_hops, len(sample.starts)),
    }
    ours = {name: contest for name, contest in _ours(graph, sample).items() if name in theirs}
    yield from _compare(size, "rdflib", ours, theirs, options, None)
    graph.close()


def _iri(graph: ColumnarGraph, node: int) -> str:
    return _IRI + graph.node_id(node)


def _relation(graph: ColumnarGraph, relation: int) -> str:
    return _IRI + graph.relation(relation).id


# --- memory ------------------------------------------------------------------------------------------
_TOUCH = """
import ctypes, json, re, sys
from pathlib import Path
import numpy as np
from kg.columnar import ColumnarGraph
folder = sys.argv[1]
anonymous = lambda: 1024 * int(re.search(r"Anonymous: +(\\d+)", Path("/proc/self/smaps_rollup").read_text())[1])
before = anonymous()
graph = ColumnarGraph(Path(folder))
graph.find("x"); graph.labels(range(1000))
private = anonymous() - before
for line in Path("/proc/self/maps").read_text().splitlines():
    if folder in line:
        low, high = (int(part, 16) for part in line.split()[0].split("-"))
        np.frombuffer((ctypes.c_char * (high - low)).from_address(low), np.uint8)[::512].max()
mapped = sum(int(size) for name, size in re.findall(
    r"^[0-9a-f]+-[0-9a-f]+ .*?(\\S*)\\n(?:.*\\n)*?Rss: +(\\d+)", Path("/proc/self/smaps").read_text(), re.M)
    if folder in name) * 1024
print(json.dumps({"private": private, "mapped": mapped, "triples": graph.num_triples}))
"""


def _memory(size: str, folder: Path) -> Iterator[Row]:
    name = f"memory a triple, {size} triples"
    if sys.platform != "linux":
        yield Row(name, None, "bytes", note="read from /proc, which only Linux has")
        return
    found = fresh_process(_TOUCH, folder)
    stored = sum(path.stat().st_size for path in folder.iterdir())
    triples = found["triples"]
    note = (
        f"mapped, every page touched; on disk {stored / triples:.1f}, private {found['private'] / 1e6:.1f} MB in all; "
        f"{synthetic.SIZES[size].nodes:,} nodes"
    )
    yield Row(name, found["mapped"] / triples, "bytes", bound=20, note=note)
