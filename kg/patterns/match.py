"""Matching: constraint propagation, and an exact join on request.

Propagation is the fixpoint of Algorithm 2 of 4StepFocus (lines 2 to 22), with lines 14 and 19 corrected: the
neighbours of the heads restrict the tails, and those of the tails restrict the heads. As published, each restricts
the side it was computed from, which empties domains that have an answer. It is computed with a work-list (AC-3;
Mackworth 1977): a pattern is visited again only if a domain at one of its ends became smaller.

If patterns form a cycle, propagation alone leaves a superset of the solutions. The join starts from consistent domains
and binds one variable after another; it stops if it would need more rows than its budget.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from triplecheck.kg._arrays import concat_ranges, distinct
from triplecheck.kg.graph import Graph, IntArray
from triplecheck.kg.patterns.adjacency import GraphAdjacency, UnboundedError, adjacency, members, pairs
from triplecheck.kg.patterns.query import BoundPattern, Domain, Query

_NOTHING = np.empty(0, np.int64)

BUDGET = 1_000_000
"""Maximum number of rows of an exact join."""


@dataclass(frozen=True)
class Solutions:
    """Assignments that satisfy connected patterns.

    Attributes:
        columns: node of each row, shape (n,), by variable, including constants; rows are distinct.
        emptied_by: the pattern that removed the last row, if any.
    """

    columns: Mapping[str, IntArray]
    emptied_by: BoundPattern | None = None

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


@dataclass(frozen=True)
class Match:
    """The nodes that satisfy the patterns of a query.

    Attributes:
        domains: nodes of each variable, including constants; None: any node.
        rounds: size of each domain before propagation and after each round; None: any node.
        emptied_by: the pattern that emptied a domain, if any.
        exact: whether every node in the domains is part of a solution; otherwise the domains may be supersets, or None
            where neither end of a pattern has a domain and the graph cannot list its nodes.
        rows: the solutions per connected component, if joined.
    """

    query: Query
    domains: Mapping[str, Domain]
    rounds: tuple[Mapping[str, int | None], ...]
    emptied_by: BoundPattern | None
    exact: bool
    rows: tuple[Solutions, ...] | None = None

    def nodes(self, variable: str) -> Domain:
        """Nodes of a variable, shape (n,), ascending; None: any node, also for a variable in no pattern."""
        return self.domains.get(variable)

    def count(self, variable: str) -> int | None:
        """Number of nodes of a variable; None: any node."""
        nodes = self.nodes(variable)
        return None if nodes is None else len(nodes)


def match(
    graph: Graph,
    query: Query,
    *,
    candidates: Mapping[str, IntArray] | None = None,
    exact: bool = False,
    budget: int = BUDGET,
    steps: GraphAdjacency | None = None,
) -> Match:
    """The nodes that satisfy all patterns of a query.

    The domains contain every node that is part of a solution, and no other if the patterns form no cycle. The result
    does not depend on the order of the patterns.

    Args:
        candidates: allowed nodes by variable (usually the answer), ascending and distinct.
        exact: join the patterns if they form a cycle.
        budget: maximum rows of the join; if it needs more, the domains of propagation are returned.
        steps: implementation of the steps; the fastest for this graph if not given.
    """
    found = _Propagation(query, steps or adjacency(graph), candidates or {}).run()
    return _joined(graph, found, budget) if exact and not found.exact else found


# --- propagation ---------------------------------------------------------------------------------
class _Propagation:
    """Reduces the domains of a query to the fixpoint, which does not depend on the order of the patterns."""

    def __init__(self, query: Query, adjacency: GraphAdjacency, candidates: Mapping[str, IntArray]) -> None:
        self._query, self._adjacency = query, adjacency
        self._patterns = sorted(query.patterns, key=lambda pattern: pattern.order)

        self._domains: dict[str, Domain] = {name: self._start(name, candidates) for name in query.names}
        self._left_aside: set[int] = set()
        # Ends of each pattern that have to be checked, by pattern index.
        self._stale = {at: {pattern.head, pattern.tail} for at, pattern in enumerate(self._patterns)}

    def _start(self, name: str, candidates: Mapping[str, IntArray]) -> Domain:
        domain: Domain = self._query.given.get(name, candidates.get(name))
        kind = self._query.types.get(name)
        if domain is None:
            return self._adjacency.start(kind)
        return domain if kind is None else self._adjacency.of_type(domain, kind)

    def run(self) -> Match:
        rounds = [self._sizes()]
        emptied = next((p for p in self._patterns if 0 in (self._size(p.head), self._size(p.tail))), None)
        while emptied is None and not all(map(self._is_unbounded, self._stale)):
            waiting = set(self._stale)
            while waiting and emptied is None:
                at = min(waiting, key=self._cost)
                waiting.remove(at)
                if not self._look_at(at):
                    emptied = self._patterns[at]
            rounds.append(self._sizes())
        if emptied is not None:
            self._domains = dict.fromkeys(self._domains, _NOTHING)
            rounds.append(self._sizes())
            self._stale.clear()
        exact = not self._stale and (emptied is not None or self._query.is_forest)
        return Match(self._query, self._domains, tuple(rounds), emptied, exact)

    def _look_at(self, at: int) -> bool:
        """Make one pattern consistent; False if that empties a domain."""
        pattern = self._patterns[at]
        stale = self._stale.pop(at)
        head, tail = self._domains[pattern.head], self._domains[pattern.tail]
        if len(stale) == 1 and head is not None and tail is not None:
            (end,) = stale
            nodes, by = (head, tail) if end == pattern.head else (tail, head)
            self._cut(end, self._adjacency.supported(nodes, pattern.link_from(end), by), at)
        else:
            try:
                head, tail = self._adjacency.join(head, pattern.link, tail)
            except UnboundedError:
                self._stale[at] = stale
                self._left_aside.add(at)
                return True
            self._cut(pattern.head, head, at)
            self._cut(pattern.tail, tail, at)
        return bool(self._size(pattern.head)) and bool(self._size(pattern.tail))

    def _cut(self, name: str, kept: IntArray, by: int | None) -> None:
        """Replace a domain by a smaller one; other patterns with this variable must be checked again."""
        before = self._domains[name]
        if before is not None and len(kept) == len(before):
            return
        if before is None and name in self._query.types:
            of_type = self._adjacency.of_type(kept, self._query.types[name])
            by = by if len(of_type) == len(kept) else None  # nodes removed by type may have supported others
            kept = of_type
        self._domains[name] = kept
        for at, pattern in enumerate(self._patterns):
            if at != by and name in (pattern.head, pattern.tail):
                self._stale.setdefault(at, set()).add(pattern.other(name))

    def _is_unbounded(self, at: int) -> bool:
        """Whether a pattern needs a domain at one end, because the graph cannot list its nodes."""
        ends = self._patterns[at].head, self._patterns[at].tail
        return at in self._left_aside and all(self._domains[end] is None for end in ends)

    def _cost(self, at: int) -> tuple[float, int]:
        """Patterns with small domains first: they leave less work for the others."""
        sizes = [self._size(end) for end in (self._patterns[at].head, self._patterns[at].tail)]
        return min(float("inf") if size is None else size for size in sizes), at

    def _size(self, name: str) -> int | None:
        domain = self._domains[name]
        return None if domain is None else len(domain)

    def _sizes(self) -> dict[str, int | None]:
        return {name: self._size(name) for name in self._query.names}


# --- the exact join ------------------------------------------------------------------------------
_NODES_AT_ONCE = 1 << 12
_BITS = 31  # of a node number when two are packed into one integer

Columns = dict[str, IntArray]


class BudgetSpentError(Exception):
    """The join would exceed its budget of rows."""


class _Join:
    def __init__(self, graph: Graph, domains: Mapping[str, Domain], budget: int, check: Callable[[], None]) -> None:
        self._graph, self._domains, self._budget, self._check = graph, domains, budget, check

    def run(self, patterns: list[BoundPattern]) -> Solutions:
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
                return Solutions({name: np.empty(0, np.int64) for name in names}, pattern)
        return Solutions(columns)

    def _size(self, name: str) -> float:
        domain = self._domains[name]
        return float("inf") if domain is None else len(domain)

    def _preference(self, pattern: BoundPattern, columns: Columns) -> tuple[int, float]:
        """First patterns that only filter, then those that bind the variable with the fewest nodes."""
        new = [end for end in (pattern.head, pattern.tail) if end not in columns]
        return len(new), max((self._size(end) for end in new), default=0.0)

    def _bind(self, columns: Columns, pattern: BoundPattern) -> Columns:
        bound, new = (pattern.head, pattern.tail) if pattern.head in columns else (pattern.tail, pattern.head)
        starts, ends = self._pairs(distinct(columns[bound]), pattern, bound)
        if new in columns:
            keep = members(_packed(columns[bound], columns[new]), _packed(starts, ends))
            return {name: column[keep] for name, column in columns.items()}
        left = np.searchsorted(starts, columns[bound])
        right = np.searchsorted(starts, columns[bound], "right")
        if int((right - left).sum()) > self._budget:
            raise BudgetSpentError
        at = np.repeat(np.arange(len(left)), right - left)
        return {name: column[at] for name, column in columns.items()} | {new: ends[concat_ranges(left, right)]}

    def _pairs(self, near: IntArray, pattern: BoundPattern, bound: str) -> tuple[IntArray, IntArray]:
        """Both ends of the pattern at the given nodes: distinct pairs, sorted by start."""
        domain, total = self._domains[pattern.other(bound)], 0
        found = [np.empty(0, np.int64)]
        for at in range(0, len(near), _NODES_AT_ONCE):
            self._check()
            starts, ends = pairs(self._graph, near[at : at + _NODES_AT_ONCE], pattern.link_from(bound))
            if domain is not None:
                keep = members(ends, domain)
                starts, ends = starts[keep], ends[keep]
            packed = distinct(_packed(starts, ends))
            total += len(packed)
            if total > self._budget:
                raise BudgetSpentError
            found.append(packed)
        packed = np.concatenate(found)  # ascending, because the near nodes are
        return packed >> _BITS, packed & ((1 << _BITS) - 1)


def _packed(starts: IntArray, ends: IntArray) -> IntArray:
    """Pairs of nodes packed into integers that sort by start, then end."""
    return (starts << _BITS) | ends


def solutions(
    graph: Graph, found: Match, budget: int = BUDGET, check: Callable[[], None] = lambda: None
) -> tuple[Solutions, ...] | None:
    """All assignments of nodes to variables, joined separately per connected component of the query.

    Args:
        budget: maximum number of rows at a time; None is returned if more would be needed.
        check: called between the steps; what it raises ends the join.
    """
    if found.rows is not None:
        return found.rows
    parts, left = [], list(found.query.patterns)
    try:
        while left:
            part = found.query.only(left).around(left[0].head)
            left = [pattern for pattern in left if pattern not in part]
            parts.append(_Join(graph, found.domains, budget, check).run(list(part)))
    except BudgetSpentError:
        return None
    return tuple(parts)


def _joined(graph: Graph, found: Match, budget: int) -> Match:
    rows = solutions(graph, found, budget)
    if rows is None:
        return found
    emptied = next((part.emptied_by for part in rows if part.emptied_by is not None), None)
    domains: dict[str, Domain] = {
        name: distinct(column) if emptied is None else np.empty(0, np.int64)
        for part in rows
        for name, column in part.columns.items()
    }
    return Match(found.query, domains, found.rounds, emptied, True, rows)
