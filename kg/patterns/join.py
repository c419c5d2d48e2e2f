"""The exact join of patterns under a budget: every assignment of nodes to variables that satisfies all of them.

Propagation alone leaves a superset where patterns form a cycle. The join starts from consistent
domains, binds one variable after another, and gives up rather than hold more rows than it may.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from triplecheck.kg._ranges import concat_ranges, distinct
from triplecheck.kg.graph import Graph, IntArray
from triplecheck.kg.patterns.adjacency import members, pairs
from triplecheck.kg.patterns.query import BoundPattern, Domain, Query

_NODES_AT_ONCE = 1 << 12
_BITS = 31  # of a node's number, where two of them are packed into one integer

Columns = dict[str, IntArray]


class BudgetSpentError(Exception):
    """The join would hold more rows than it may."""


@dataclass(frozen=True)
class Rows:
    """Assignments that satisfy connected patterns.

    Attributes:
        columns: node per row, shape (n,), by variable, constants among them; no row twice.
        emptied_by: the pattern that left no row.
    """

    columns: Mapping[str, IntArray]
    emptied_by: BoundPattern | None = None

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


def join(graph: Graph, query: Query, domains: Mapping[str, Domain], budget: int) -> list[Rows]:
    """Join patterns, each connected part of the query by itself.

    Args:
        graph: the graph.
        query: the patterns.
        domains: by variable, as `propagate` left them.
        budget: rows that may be held at a time.

    Raises:
        BudgetSpentError: more rows would be needed.
    """
    parts, left = [], list(query.patterns)
    while left:
        part = query.only(left).around(left[0].head)
        left = [pattern for pattern in left if pattern not in part]
        parts.append(_Join(graph, domains, budget).run(list(part)))
    return parts


class _Join:
    def __init__(self, graph: Graph, domains: Mapping[str, Domain], budget: int) -> None:
        self._graph, self._domains, self._budget = graph, domains, budget

    def run(self, patterns: list[BoundPattern]) -> Rows:
        patterns.sort(key=lambda pattern: pattern.order)
        first = min((end for pattern in patterns for end in (pattern.head, pattern.tail)), key=self._size)
        start = self._domains[first]
        if start is None or len(start) > self._budget:
            raise BudgetSpentError
        columns: Columns = {first: start}
        while patterns:
            pattern = min(patterns, key=lambda p: self._preference(p, columns))
            patterns.remove(pattern)
            columns = self._bind(columns, pattern)
            if len(next(iter(columns.values()))) == 0:
                names = {end for p in (*patterns, pattern) for end in (p.head, p.tail)} | set(columns)
                return Rows({name: np.empty(0, np.int64) for name in names}, pattern)
        return Rows(columns)

    def _size(self, name: str) -> float:
        domain = self._domains[name]
        return float("inf") if domain is None else len(domain)

    def _preference(self, pattern: BoundPattern, columns: Columns) -> tuple[int, float]:
        """First what only filters, then what binds the variable with the fewest nodes; then any other part."""
        new = [end for end in (pattern.head, pattern.tail) if end not in columns]
        return len(new), max((self._size(end) for end in new), default=0.0)

    def _bind(self, columns: Columns, pattern: BoundPattern) -> Columns:
        bound, new = (pattern.head, pattern.tail) if pattern.head in columns else (pattern.tail, pattern.head)
        starts, ends = self._pairs(distinct(columns[bound]), pattern, bound)
        if new in columns:
            keep = _pair_members(columns[bound], columns[new], starts, ends)
            return {name: column[keep] for name, column in columns.items()}
        left = np.searchsorted(starts, columns[bound])
        right = np.searchsorted(starts, columns[bound], "right")
        if int((right - left).sum()) > self._budget:
            raise BudgetSpentError
        at = np.repeat(np.arange(len(left)), right - left)
        return {name: column[at] for name, column in columns.items()} | {new: ends[concat_ranges(left, right)]}

    def _pairs(self, near: IntArray, pattern: BoundPattern, bound: str) -> tuple[IntArray, IntArray]:
        """Both ends of the pattern at some nodes, each pair once, by start."""
        domain, total = self._domains[pattern.other(bound)], 0
        found = [np.empty(0, np.int64)]
        for at in range(0, len(near), _NODES_AT_ONCE):
            starts, ends = pairs(self._graph, near[at : at + _NODES_AT_ONCE], pattern.link_from(bound))
            if domain is not None:
                keep = members(ends, domain)
                starts, ends = starts[keep], ends[keep]
            packed = distinct(_packed(starts, ends))
            total += len(packed)
            if total > self._budget:
                raise BudgetSpentError
            found.append(packed)
        packed = np.concatenate(found)  # ascending, since the near nodes are
        return packed >> _BITS, packed & ((1 << _BITS) - 1)


def _pair_members(
    starts: IntArray, ends: IntArray, among_starts: IntArray, among_ends: IntArray
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which pairs are among others, shape (n,)."""
    return members(_packed(starts, ends), distinct(_packed(among_starts, among_ends)))


def _packed(starts: IntArray, ends: IntArray) -> IntArray:
    """Pairs of nodes, each as one integer that sorts by start, then end."""
    return (starts << _BITS) | ends
