"""A common interface to the compared stores: each lookup returns its number of results."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.types import Direction

IRI = "http://example.org/"


class Store(Protocol):
    """A store, perhaps with its own keys for nodes and relations; `keys` converts an edge."""

    name: str

    def keys(self, graph: ColumnarGraph, edge: tuple[int, int, int]) -> tuple[Any, Any, Any]:
        return edge

    def relations_of(self, node: Any) -> int: ...

    def neighbours(self, node: Any, relation: Any) -> int: ...

    def contains(self, head: Any, relation: Any, tail: Any) -> int: ...

    def two_hops(self, node: Any) -> int:
        """Number of outgoing edges of all outgoing neighbours."""


def mapped(folder: Path, name: str) -> npt.NDArray[Any]:
    """An array of a `ColumnarGraph`, without the slow memmap class."""
    array: npt.NDArray[Any] = np.load(folder / f"{name}.npy", mmap_mode="r").view(np.ndarray)
    return array


class Ours(Store):
    name = "ours"

    def __init__(self, folder: Path) -> None:
        self.graph = ColumnarGraph(folder)

    def relations_of(self, node: int) -> int:
        return len(self.graph.relations_of(node))

    def neighbours(self, node: int, relation: int) -> int:
        return len(self.graph.neighbors(node, relation))

    def contains(self, head: int, relation: int, tail: int) -> int:
        return self.graph.contains(head, relation, tail)

    def two_hops(self, node: int) -> int:
        first = self.graph.expand([node], None, Direction.OUT)
        return len(self.graph.expand(np.unique(first.tails), None, Direction.OUT))


class Numpy(Store):
    """The same lookups, written directly on the mapped arrays."""

    name = "numpy"

    def __init__(self, folder: Path) -> None:
        self.offsets, self.relations, self.ends = (
            mapped(folder, f"out_{part}") for part in ("offsets", "relations", "ends")
        )
        self.back = mapped(folder, "in_offsets"), mapped(folder, "in_relations")

    def relations_of(self, node: int) -> int:
        found = 0
        for offsets, relations in ((self.offsets, self.relations), self.back):
            kinds, _ = np.unique(relations[offsets[node] : offsets[node + 1]], return_counts=True)
            found += len(kinds)
        return found

    def neighbours(self, node: int, relation: int) -> int:
        return len(self._tails(node, relation))

    def _tails(self, node: int, relation: int) -> npt.NDArray[Any]:
        start = self.offsets[node]
        part = self.relations[start : self.offsets[node + 1]]
        key = part.dtype.type(relation)
        return self.ends[start + part.searchsorted(key) : start + part.searchsorted(key, "right")]

    def contains(self, head: int, relation: int, tail: int) -> int:
        tails = self._tails(head, relation)
        at = tails.searchsorted(tails.dtype.type(tail))
        return bool(at < len(tails) and tails[at] == tail)

    def two_hops(self, node: int) -> int:
        first = np.unique(self.ends[self.offsets[node] : self.offsets[node + 1]])
        parts = [self.ends[self.offsets[at] : self.offsets[at + 1]] for at in first.tolist()]
        return len(np.concatenate(parts))


class Oxigraph:
    """pyoxigraph in memory, with quad patterns (its SPARQL is slower)."""

    name = "pyoxigraph"

    def __init__(self, ntriples: Path) -> None:
        import pyoxigraph

        self._ox: Any = pyoxigraph
        self._store: Any = pyoxigraph.Store()
        self._store.bulk_load(path=str(ntriples), format=pyoxigraph.RdfFormat.N_TRIPLES)

    def keys(self, graph: ColumnarGraph, edge: tuple[int, int, int]) -> tuple[Any, Any, Any]:
        head, relation, tail = (self._ox.NamedNode(iri) for iri in iris(graph, edge))
        return head, relation, tail

    def relations_of(self, node: Any) -> int:
        out, into = self._store.quads_for_pattern(node, None, None), self._store.quads_for_pattern(None, None, node)
        return sum(len(Counter(quad.predicate for quad in quads)) for quads in (out, into))

    def neighbours(self, node: Any, relation: Any) -> int:
        return len([quad.object for quad in self._store.quads_for_pattern(node, relation, None)])

    def contains(self, head: Any, relation: Any, tail: Any) -> int:
        return self._ox.Quad(head, relation, tail) in self._store

    def two_hops(self, node: Any) -> int:
        first = {quad.object for quad in self._store.quads_for_pattern(node, None, None)}
        return sum(len([quad.object for quad in self._store.quads_for_pattern(at, None, None)]) for at in first)


class Rdflib:
    """rdflib's default store, in memory."""

    name = "rdflib"

    def __init__(self, ntriples: Path) -> None:
        import rdflib

        self._iri = rdflib.URIRef
        self._store = rdflib.Graph().parse(ntriples, format="nt")

    def keys(self, graph: ColumnarGraph, edge: tuple[int, int, int]) -> tuple[Any, Any, Any]:
        head, relation, tail = (self._iri(iri) for iri in iris(graph, edge))
        return head, relation, tail

    def relations_of(self, node: Any) -> int:
        out, into = (p for p, _ in self._store.predicate_objects(node)), self._store.subject_predicates(node)
        return len(Counter(out)) + len(Counter(predicate for _, predicate in into))

    def neighbours(self, node: Any, relation: Any) -> int:
        return len(list(self._store.objects(node, relation)))

    def contains(self, head: Any, relation: Any, tail: Any) -> int:
        return (head, relation, tail) in self._store

    def two_hops(self, node: Any) -> int:
        return sum(len(list(self._store.objects(at))) for at in set(self._store.objects(node)))


def iris(graph: ColumnarGraph, edge: tuple[int, int, int]) -> list[str]:
    """The IRIs of an edge in the output of `bench.synthetic.write_ntriples`."""
    head, relation, tail = edge
    return [IRI + graph.node_id(head), IRI + graph.relation(relation).id, IRI + graph.node_id(tail)]
