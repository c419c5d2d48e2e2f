"""Steps along edges for sets of nodes: which nodes of two domains have a link between them.

`GraphAdjacency` works on any `kg.graph.Graph` through its batched look-ups. `CompiledAdjacency` runs compiled loops
over the arrays of a large columnar graph and is many times faster. Both return the same nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
import numpy.typing as npt

from triplecheck.kg._arrays import distinct
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.graph import Graph, IntArray
from triplecheck.kg.patterns.query import Domain, Link
from triplecheck.kg.types import Direction

COMPILED_FROM = 500_000
"""Number of edges from which compiled code is worth its load time of about a second."""


class UnboundedError(Exception):
    """Neither end of a pattern has a domain, and the graph cannot list all its nodes."""


class GraphAdjacency:
    """Steps along the edges of any graph.

    Args:
        check: called before each step; what it raises ends the steps.
    """

    def __init__(self, graph: Graph, check: Callable[[], None] = lambda: None) -> None:
        self._graph, self._check = graph, check

    def start(self, type_id: str | None) -> Domain:
        """All nodes of a type; None if there is no type, or they cannot be listed."""
        if type_id is None or not isinstance(self._graph, ColumnarGraph):
            return None
        return self._graph.nodes_of_type(type_id).astype(np.int64, copy=False)

    def of_type(self, nodes: IntArray, type_id: str) -> IntArray:
        """The given nodes that have a type."""
        if isinstance(self._graph, ColumnarGraph):
            return np.intersect1d(nodes, self._graph.nodes_of_type(type_id), assume_unique=True)
        return np.array([node for node in nodes.tolist() if type_id in self._graph.types(node)], np.int64)

    def join(self, near: Domain, link: Link, far: Domain) -> tuple[IntArray, IntArray]:
        """The nodes of both domains that have a link to a node of the other domain.

        Raises:
            UnboundedError: both domains are None and the graph cannot list its nodes.
        """
        self._check()
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
        """The nodes of `nodes` that have a link to a node of `by`."""
        return self.join(nodes, link, by)[0]


def pairs(graph: Graph, near: IntArray, link: Link) -> tuple[IntArray, IntArray]:
    """Near and far ends of all links at the given nodes, shapes (n,), with repetitions."""
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
    last = int(domain[-1])
    if _FEW < len(values) > last // _FLAGS_PER_VALUE and domain[0] >= 0:
        flags = np.zeros(last + 2, bool)  # the last one is of values beyond the domain
        flags[domain] = True
        return flags[np.minimum(values, last + 1)] & (values >= 0)
    at = np.minimum(np.searchsorted(domain, values), len(domain) - 1)
    found: np.ndarray[tuple[int], np.dtype[np.bool_]] = domain[at] == values
    return found


def adjacency(graph: Graph, check: Callable[[], None] = lambda: None) -> GraphAdjacency:
    """The fastest implementation for a graph; compiled loops need numba, of the extra `large`."""
    if isinstance(graph, ColumnarGraph) and graph.num_triples >= COMPILED_FROM and find_spec("numba"):
        return CompiledAdjacency(graph, check)
    return GraphAdjacency(graph, check)


Flags = npt.NDArray[np.bool_]
_FEW, _FLAGS_PER_VALUE = 10_000, 8  # for more values than these, flags of all nodes are faster than bisection

# Testing whether a node has a link costs about as much as following this many edges.
_COST_OF_LOOK_UP = 8.0


class CompiledAdjacency(GraphAdjacency):
    """The same steps in a columnar graph, by compiled loops.

    Args:
        graph: the graph. Its arrays are not copied; each step allocates flags of one byte per node.
    """

    _graph: ColumnarGraph

    def __init__(self, graph: ColumnarGraph, check: Callable[[], None] = lambda: None) -> None:
        super().__init__(graph, check)
        self._rows = {direction: graph.rows(direction) for direction in Direction}

    def join(self, near: Domain, link: Link, far: Domain) -> tuple[IntArray, IntArray]:
        self._check()
        if self._edges(near, link) <= self._edges(far, link.reverse):
            return self._walk(near, link, far)
        ends, starts = self._walk(far, link.reverse, near)
        return starts, ends

    def supported(self, nodes: IntArray, link: Link, by: IntArray) -> IntArray:
        self._check()
        if self._edges(by, link.reverse) < _COST_OF_LOOK_UP * len(nodes):
            return self._walk(by, link.reverse, nodes)[1]
        from triplecheck.kg.patterns._kernels import keep_linked

        hit, flags, wanted = np.zeros(len(nodes), bool), self._flags(by), self._wanted(link)
        for direction in link.directions:
            keep_linked(*self._rows[direction], nodes, wanted, flags, hit)
        return nodes[hit]

    def _walk(self, near: Domain, link: Link, far: Domain) -> tuple[IntArray, IntArray]:
        if near is None:
            near = np.arange(self._graph.num_nodes)
        marked = np.zeros(self._graph.num_nodes, bool)
        from triplecheck.kg.patterns._kernels import mark_links

        hit, flags, wanted = np.zeros(len(near), bool), self._flags(far), self._wanted(link)
        for direction in link.directions:
            mark_links(*self._rows[direction], near, wanted, flags, far is None, hit, marked)
        return near[hit], np.flatnonzero(marked) if far is None else far[marked[far]]

    def _edges(self, nodes: Domain, link: Link) -> int:
        """Number of edges at the nodes, of all relations."""
        if nodes is None:
            return self._graph.num_triples * len(link.directions)
        rows = [self._rows[direction][0] for direction in link.directions]
        return sum(int((offsets[nodes + 1] - offsets[nodes]).sum()) for offsets in rows)

    def _flags(self, nodes: Domain) -> Flags:
        flags = np.zeros(0 if nodes is None else self._graph.num_nodes, bool)
        flags[nodes if nodes is not None else slice(0)] = True
        return flags

    def _wanted(self, link: Link) -> IntArray:
        return np.array(link.relations or (), np.int64)
