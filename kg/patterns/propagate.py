"""Constraint propagation: domains cut down until every node in them has its links.

The fixpoint of Algorithm 2 of 4StepFocus (lines 2 to 22), with what lines 14 and 19 mean: the
neighbours of the heads restrict the tails, those of the tails restrict the heads. As published, each
restricts the side it was computed from, which empties domains that have an answer. Reached by a
work-list (AC-3; Mackworth 1977): a pattern is looked at again only when a domain at one of its ends
was cut.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from triplecheck.kg.graph import IntArray
from triplecheck.kg.patterns.adjacency import Adjacency, UnboundedError
from triplecheck.kg.patterns.query import BoundPattern, Domain, Query

_NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True)
class Fixpoint:
    """Where propagation ends.

    Attributes:
        domains: by variable, constants among them.
        rounds: size of each domain before the first round and after each; None: any node.
        emptied_by: the pattern by which the first domain ran empty; all are empty then.
        unbounded: whether a pattern was left aside since neither of its ends is bounded and the graph
            cannot list its nodes.
    """

    domains: Mapping[str, Domain]
    rounds: tuple[Mapping[str, int | None], ...]
    emptied_by: BoundPattern | None = None
    unbounded: bool = False


def propagate(query: Query, adjacency: Adjacency, candidates: Mapping[str, IntArray] | None = None) -> Fixpoint:
    """Cut the domains of a query to its fixpoint, which does not depend on the order of the patterns.

    Args:
        query: the patterns.
        adjacency: of the graph.
        candidates: nodes that a variable may stand for, ascending; others may be anything of their type.
    """
    return _Propagation(query, adjacency, candidates or {}).run()


class _Propagation:
    def __init__(self, query: Query, adjacency: Adjacency, candidates: Mapping[str, IntArray]) -> None:
        self._query, self._adjacency = query, adjacency
        self._patterns = sorted(query.patterns, key=lambda pattern: pattern.order)
        self._untyped: set[str] = set()  # types that are applied once there is a domain
        self._domains: dict[str, Domain] = {name: self._start(name, candidates) for name in query.names}
        self._left_aside: set[int] = set()
        # Which ends of a pattern have to be looked at, by its place.
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
        """Make one pattern consistent; False where that leaves nothing."""
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
        """Take over a smaller domain; the other patterns at it are to be looked at again."""
        before = self._domains[name]
        if before is not None and len(kept) == len(before):
            return
        if name in self._untyped:
            self._untyped.remove(name)
            of_type = self._adjacency.of_type(kept, self._query.types[name])
            by = by if len(of_type) == len(kept) else None  # what lost its type may have been the support of others
            kept = of_type
        self._domains[name] = kept
        for at, pattern in enumerate(self._patterns):
            if at != by and name in (pattern.head, pattern.tail):
                self._stale.setdefault(at, set()).add(pattern.other(name))

    def _unbounded(self) -> set[int]:
        """Patterns that wait for an end to be bounded, since the graph cannot list its nodes."""
        return {at for at in self._stale if at in self._left_aside and self._is_free(at)}

    def _is_free(self, at: int) -> bool:
        return self._domains[self._patterns[at].head] is None and self._domains[self._patterns[at].tail] is None

    def _cost(self, at: int) -> tuple[float, int]:
        """Patterns at small domains first: what they cut, others need not walk."""
        sizes = [self._size(end) for end in (self._patterns[at].head, self._patterns[at].tail)]
        return min(float("inf") if size is None else size for size in sizes), at

    def _size(self, name: str) -> int | None:
        domain = self._domains[name]
        return None if domain is None else len(domain)

    def _sizes(self) -> dict[str, int | None]:
        return {name: self._size(name) for name in self._query.names}
