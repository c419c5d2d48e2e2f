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
from triplecheck.kg.patterns.adjacency import Adjacency, UnboundedError, adjacency, members, pairs
from triplecheck.kg.patterns.query import BoundPattern, Domain, Query

_NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True)
class Fixpoint:
    """The result of propagation.

    Attributes:
        domains: by variable, including constants.
        rounds: size of each domain before the first round and after each round; None: any node.
        emptied_by: the pattern that emptied the first domain; all domains are empty then.
        unbounded: whether a pattern was skipped because neither end has a domain and the graph cannot list its nodes.
    """

    domains: Mapping[str, Domain]
    rounds: tuple[Mapping[str, int | None], ...]
    emptied_by: BoundPattern | None = None
    unbounded: bool = False


def propagate(query: Query, adjacency: Adjacency, candidates: Mapping[str, IntArray] | None = None) -> Fixpoint:
    """Reduce the domains of a query to the fixpoint, which does not depend on the order of the patterns.

    Args:
        candidates: allowed nodes by variable, ascending; other variables may be any node of their type.
    """
    return _Propagation(query, adjacency, candidates or {}).run()


class _Propagation:
    def __init__(self, query: Query, adjacency: Adjacency, candidates: Mapping[str, IntArray]) -> None:
        self._query, self._adjacency = query, adjacency
        self._patterns = sorted(query.patterns, key=lambda pattern: pattern.order)
        self._untyped: set[str] = set()  # variables whose type is applied once they have a domain
        self._domains: dict[str, Domain] = {name: self._start(name, candidates) for name in query.names}
        self._left_aside: set[int] = set()
        # Ends of each pattern that have to be checked, by pattern index.
        self._stale = {at: {pattern.head, pattern.tail} for at, pattern in enumerate(self._patterns)}

    def _start(self, name: str, candidates: Mapping[str, IntArray]) -> Domain:
        domain: Domain = self._query.given.get(name, candidates.get(name))
        kind = self._query.types.get(name)
        if kind is None or domain is None:
            domain = self._adjacency.start(kind) if domain is None else domain
            if kind is not None and domain is None:
                self._untyped.add(name)
            return domain
        return self._adjacency.of_type(domain, kind)

    def run(self) -> Fixpoint:
        rounds = [self._sizes()]
        emptied = next((p for p in self._patterns if 0 in (self._size(p.head), self._size(p.tail))), None)
        while emptied is None and not self._stale.keys() <= self._unbounded():
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
        return Fixpoint(self._domains, tuple(rounds), emptied, bool(self._stale))

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
        if name in self._untyped:
            self._untyped.remove(name)
            of_type = self._adjacency.of_type(kept, self._query.types[name])
            by = by if len(of_type) == len(kept) else None  # nodes removed by type may have supported others
            kept = of_type
        self._domains[name] = kept
        for at, pattern in enumerate(self._patterns):
            if at != by and name in (pattern.head, pattern.tail):
                self._stale.setdefault(at, set()).add(pattern.other(name))

    def _unbounded(self) -> set[int]:
        """Patterns that need a domain at one end, because the graph cannot list its nodes."""
        return {at for at in self._stale if at in self._left_aside and self._is_free(at)}

    def _is_free(self, at: int) -> bool:
        return self._domains[self._patterns[at].head] is None and self._domains[self._patterns[at].tail] is None

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


def _unlimited() -> None:
    """No check."""


class BudgetSpentError(Exception):
    """The join would exceed its budget of rows."""


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


def join(
    graph: Graph, query: Query, domains: Mapping[str, Domain], budget: int, check: Callable[[], None] = _unlimited
) -> list[Solutions]:
    """Join patterns, each connected component of the query separately.

    Args:
        budget: maximum number of rows at a time.
        check: called between the steps; what it raises ends the join.

    Raises:
        BudgetSpentError: more rows would be needed.
    """
    parts, left = [], list(query.patterns)
    while left:
        part = query.only(left).around(left[0].head)
        left = [pattern for pattern in left if pattern not in part]
        parts.append(_Join(graph, domains, budget, check).run(list(part)))
    return parts


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
            keep = _pair_members(columns[bound], columns[new], starts, ends)
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


def _pair_members(
    starts: IntArray, ends: IntArray, among_starts: IntArray, among_ends: IntArray
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which pairs are in another set of pairs, shape (n,)."""
    return members(_packed(starts, ends), distinct(_packed(among_starts, among_ends)))


def _packed(starts: IntArray, ends: IntArray) -> IntArray:
    """Pairs of nodes packed into integers that sort by start, then end."""
    return (starts << _BITS) | ends


# --- both ----------------------------------------------------------------------------------------
BUDGET = 1_000_000
"""Maximum number of rows of an exact join."""


@dataclass(frozen=True)
class Match:
    """The nodes that satisfy the patterns of a query.

    Attributes:
        domains: nodes of each variable, including constants; None: any node.
        rounds: size of each domain before propagation and after each round; None: any node.
        emptied_by: the pattern that emptied a domain, if any.
        exact: whether every node in the domains is part of a solution; otherwise the domains may be supersets.
        unbounded: a pattern was skipped because neither end has a domain and the graph cannot list its nodes.
        rows: the solutions per connected component, if joined.
    """

    query: Query
    domains: Mapping[str, Domain]
    rounds: tuple[Mapping[str, int | None], ...]
    emptied_by: BoundPattern | None
    exact: bool
    unbounded: bool = False
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
    steps: Adjacency | None = None,
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
    found = propagate(query, steps or adjacency(graph), candidates)
    sure = not found.unbounded and (found.emptied_by is not None or query.is_forest)
    result = Match(query, found.domains, found.rounds, found.emptied_by, sure, found.unbounded)
    if not exact or sure:
        return result
    return _joined(graph, result, budget)


def solutions(
    graph: Graph, found: Match, budget: int = BUDGET, check: Callable[[], None] = _unlimited
) -> tuple[Solutions, ...] | None:
    """All assignments of nodes to variables, per connected component; None if they exceed the budget; see `join`."""
    if found.rows is not None:
        return found.rows
    if found.unbounded:
        return None
    try:
        return tuple(join(graph, found.query, found.domains, budget, check))
    except BudgetSpentError:
        return None


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
    return Match(found.query, domains, found.rounds, emptied, True, False, rows)
