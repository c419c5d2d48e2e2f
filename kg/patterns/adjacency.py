"""Set-wise steps along edges: which nodes of two domains have a link between them.

`GraphAdjacency` takes them on any `kg.graph.Graph`, by its batched look-ups; on the arrays of a large
columnar graph `kg.patterns.compiled.CompiledAdjacency` is many times as fast. Both give the same.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from triplecheck.kg._ranges import distinct
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.graph import Graph, IntArray
from triplecheck.kg.patterns.query import Domain, Link

COMPILED_FROM = 500_000
"""Edges from which compiled code pays for the second that it takes to load."""


class UnboundedError(Exception):
    """Neither end of a pattern is bounded, and the graph cannot list its nodes."""


class Adjacency(Protocol):
    """Steps along the edges of one graph."""

    def start(self, type_id: str | None) -> Domain:
        """All nodes of a type, or of the graph; None where they cannot be listed."""

    def of_type(self, nodes: IntArray, type_id: str) -> IntArray:
        """Those of some nodes that have a type."""

    def join(self, near: Domain, link: Link, far: Domain) -> tuple[IntArray, IntArray]:
        """The nodes of both domains that have a link to some node of the other.

        Raises:
            UnboundedError: both domains are None and the graph cannot list its nodes.
        """

    def supported(self, nodes: IntArray, link: Link, by: IntArray) -> IntArray:
        """Those of `nodes` that have a link to some node of `by`."""


class GraphAdjacency:
    """Steps along the edges of any graph.

    Args:
        graph: the graph.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._types: dict[int, tuple[str, ...]] = {}

    def start(self, type_id: str | None) -> Domain:
        """See `Adjacency`."""
        if not isinstance(self._graph, ColumnarGraph):
            return None
        return None if type_id is None else self._graph.nodes_of_type(type_id).astype(np.int64)

    def of_type(self, nodes: IntArray, type_id: str) -> IntArray:
        """See `Adjacency`."""
        if isinstance(self._graph, ColumnarGraph):
            return np.intersect1d(nodes, self._graph.nodes_of_type(type_id), assume_unique=True)
        kept = [node for node in nodes.tolist() if type_id in self._types_of(node)]
        return np.array(kept, np.int64)

    def _types_of(self, node: int) -> tuple[str, ...]:
        if node not in self._types:
            self._types[node] = self._graph.types(node)
        return self._types[node]

    def join(self, near: Domain, link: Link, far: Domain) -> tuple[IntArray, IntArray]:
        """See `Adjacency`."""
        if near is None and far is None:
            if not isinstance(self._graph, ColumnarGraph):
                raise UnboundedError
            near = np.arange(self._graph.num_nodes)
        if near is None or (far is not None and len(far) < len(near)):
            assert far is not None
            ends, starts = self._walk(far, link.reverse, near)
            return starts, ends
        return self._walk(near, link, far)

    def _walk(self, near: IntArray, link: Link, far: Domain) -> tuple[IntArray, IntArray]:
        starts, ends = pairs(self._graph, near, link)
        if far is not None:
            keep = members(ends, far)
            starts, ends = starts[keep], ends[keep]
        return distinct(starts), distinct(ends)

    def supported(self, nodes: IntArray, link: Link, by: IntArray) -> IntArray:
        """See `Adjacency`."""
        return self.join(nodes, link, by)[0]


def pairs(graph: Graph, near: IntArray, link: Link) -> tuple[IntArray, IntArray]:
    """Both ends of every link at some nodes, shapes (n,): near ends and far ends, with repetitions."""
    starts, ends = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for direction in link.directions:
        for relation in (None,) if link.relations is None else link.relations:
            edges = graph.expand(near, relation, direction)
            out = direction == 0
            starts.append(np.asarray(edges.heads if out else edges.tails, np.int64))
            ends.append(np.asarray(edges.tails if out else edges.heads, np.int64))
    return np.concatenate(starts), np.concatenate(ends)


def members(values: IntArray, domain: IntArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which values are in a sorted domain, shape (n,)."""
    if len(domain) == 0:
        return np.zeros(len(values), bool)
    at = np.minimum(np.searchsorted(domain, values), len(domain) - 1)
    found: np.ndarray[tuple[int], np.dtype[np.bool_]] = domain[at] == values
    return found


def adjacency(graph: Graph) -> Adjacency:
    """The quickest there is for a graph."""
    if isinstance(graph, ColumnarGraph) and graph.num_triples >= COMPILED_FROM:
        from triplecheck.kg.patterns.compiled import CompiledAdjacency

        return CompiledAdjacency(graph)
    return GraphAdjacency(graph)
