"""Steps along the edges of a columnar graph, by compiled loops over its mapped arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.graph import IntArray
from triplecheck.kg.patterns._kernels import keep_linked, mark_links
from triplecheck.kg.patterns.query import Domain, Link
from triplecheck.kg.types import Direction

Flags = npt.NDArray[np.bool_]

# Looking whether a node has a link costs about as much as following so many edges.
_COST_OF_LOOK_UP = 8.0


class CompiledAdjacency:
    """Implements `kg.patterns.adjacency.Adjacency`.

    Args:
        graph: the graph. Its arrays are read where they lie; flags of one byte per node are made for
            each step and let go of.
    """

    def __init__(self, graph: ColumnarGraph) -> None:
        self._graph = graph
        self._rows = {direction: graph.rows(direction) for direction in Direction}

    def start(self, type_id: str | None) -> Domain:
        """See `Adjacency`."""
        return None if type_id is None else self._graph.nodes_of_type(type_id)

    def of_type(self, nodes: IntArray, type_id: str) -> IntArray:
        """See `Adjacency`."""
        return np.intersect1d(nodes, self._graph.nodes_of_type(type_id), assume_unique=True)

    def join(self, near: Domain, link: Link, far: Domain) -> tuple[IntArray, IntArray]:
        """See `Adjacency`."""
        if self._edges(near, link) <= self._edges(far, link.reverse):
            return self._walk(near, link, far)
        ends, starts = self._walk(far, link.reverse, near)
        return starts, ends

    def supported(self, nodes: IntArray, link: Link, by: IntArray) -> IntArray:
        """See `Adjacency`."""
        if self._edges(by, link.reverse) < _COST_OF_LOOK_UP * len(nodes):
            return self._walk(by, link.reverse, nodes)[1]
        hit, flags, wanted = np.zeros(len(nodes), bool), self._flags(by), self._wanted(link)
        for direction in link.directions:
            keep_linked(*self._rows[direction], nodes, wanted, flags, hit)
        kept: IntArray = nodes[hit]
        return kept

    def _walk(self, near: Domain, link: Link, far: Domain) -> tuple[IntArray, IntArray]:
        if near is None:
            near = np.arange(self._graph.num_nodes)
        marked = np.zeros(self._graph.num_nodes, bool)
        hit, flags, wanted = np.zeros(len(near), bool), self._flags(far), self._wanted(link)
        for direction in link.directions:
            mark_links(*self._rows[direction], near, wanted, flags, far is None, hit, marked)
        return near[hit], np.flatnonzero(marked) if far is None else far[marked[far]]

    def _edges(self, nodes: Domain, link: Link) -> int:
        """How many edges are at the nodes, of all relations."""
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
