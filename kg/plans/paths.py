"""Property paths (`+`, `*`, `?`, `|`, `!`) over whole arrays of nodes: breadth first, each pair of ends once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from triplecheck.kg._arrays import concat_ranges, distinct, used
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.graph import IntArray
from triplecheck.kg.plans.algebra import Chain, Inverse, IsA, Labelled, Path, Predicate, Relations
from triplecheck.kg.plans.limits import Limits
from triplecheck.kg.types import Direction, Edge

Pairs = tuple[IntArray, IntArray]
"""Rows of the given nodes, and the nodes at the other end, each shape (n,)."""

_Step = Callable[[IntArray], Pairs]


def is_covered(predicate: Predicate) -> bool:
    """Whether a predicate is made of relations only, not of `a`, labels or variables."""
    match predicate:
        case Relations():
            return True
        case Path("!", parts):  # neither types nor labels are edges
            return all(is_covered(one) or isinstance(one, IsA | Labelled) for one in parts)
        case Path(_, parts) | Chain(parts):
            return all(map(is_covered, parts))
        case Inverse(part):
            return is_covered(part)
    return False


@dataclass(frozen=True)
class Paths:
    """Follows paths over one graph."""

    graph: ColumnarGraph
    limits: Limits

    def pairs(self, path: Predicate, heads: IntArray | None, tails: IntArray | None) -> Pairs:
        """The pairs of nodes that a path joins. Only those of `!` may be there more than once, once for each edge.

        Args:
            heads, tails: the nodes that it may begin and end with; None: any.

        Returns:
            Heads and tails, each shape (n,).

        Raises:
            PlanError: a limit is reached.
        """
        backwards = tails is not None and (heads is None or len(tails) < len(heads))
        near = tails if backwards else heads
        if near is None:
            near = np.arange(self.graph.num_nodes)
        rows, far = self._step(path, Direction.IN if backwards else Direction.OUT)(near)
        wanted = heads if backwards else tails
        if wanted is not None:
            inside = used(wanted, self.graph.num_nodes)[far]
            rows, far = rows[inside], far[inside]
        return (far, near[rows]) if backwards else (near[rows], far)

    def trace(self, path: Predicate, head: int, tail: int) -> list[Edge]:
        """The edges of a shortest way from head to tail; none if a path of no steps joins them, or nothing does."""
        match path:
            case Relations(numbers=numbers):
                found = ((head, number, tail) for number in numbers)
                return [edge for edge in found if self.graph.contains(*edge)][:1]
            case Inverse(part):
                return self.trace(part, tail, head)
            case Chain((first, *others)):
                rest: Predicate = Chain(tuple(others)) if len(others) > 1 else others[0]
                middle = self._step(first, Direction.OUT)(np.array([head]))[1]
                at = self.pairs(rest, distinct(middle), np.array([tail]))[0]
                return [*self.trace(first, head, int(at[0])), *self.trace(rest, int(at[0]), tail)] if len(at) else []
            case Path("|", parts):
                return next((way for one in parts if (way := self.trace(one, head, tail))), [])
            case Path("!", parts):
                excluded = _numbers(parts)
                known = range(self.graph.num_relations)
                return self.trace(Relations("", tuple(n for n in known if n not in excluded)), head, tail)
            case Path(operator, (part,)):
                if head == tail and operator in "?*":
                    return []
                return self.trace(part, head, tail) if operator == "?" else self._shortest(part, head, tail)
        raise AssertionError(path)

    def _shortest(self, part: Predicate, head: int, tail: int) -> list[Edge]:
        """One or more steps from head to tail."""
        step = self._step(part, Direction.OUT)
        known = np.zeros(self.graph.num_nodes, bool)
        level: IntArray = np.array([head])
        before: list[Pairs] = []  # of each step: where it begins, and where it ends first
        while len(level) and not known[tail]:
            self.limits.check()
            rows, far = step(level)
            fresh = np.flatnonzero(~known[far])
            far, first = np.unique(far[fresh], return_index=True)
            before.append((level[rows[fresh[first]]], far))
            known[far] = True
            level = far
        if not known[tail]:
            return []
        way: list[int] = [tail]
        for starts, ends in reversed(before):
            way.append(int(starts[np.searchsorted(ends, way[-1])]))
        return [edge for start, end in itertools.pairwise(way[::-1]) for edge in self.trace(part, start, end)]

    def _step(self, path: Predicate, way: Direction) -> _Step:
        match path:
            case Relations(numbers=numbers):
                return lambda nodes: self._once([self._edges(nodes, number, way) for number in numbers])
            case Inverse(part):
                return self._step(part, way.reverse)
            case Chain(parts):
                steps = [self._step(one, way) for one in (parts if way is Direction.OUT else parts[::-1])]
                return lambda nodes: self._one_after_other(nodes, steps)
            case Path("|", parts):
                steps = [self._step(one, way) for one in parts]
                return lambda nodes: self._once([step(nodes) for step in steps])
            case Path("!", parts):
                return lambda nodes: self._edges(nodes, None, way, _numbers(parts))
            case Path(operator, (part,)):
                step = self._step(part, way)
                return lambda nodes: self._repeated(nodes, step, operator)
        raise AssertionError(path)

    def _edges(self, nodes: IntArray, relation: int | None, way: Direction, excluded: Sequence[int] = ()) -> Pairs:
        """The edges at nodes, which are distinct."""
        found = self.graph.expand(nodes, relation, way)
        near, far = (found.heads, found.tails) if way is Direction.OUT else (found.tails, found.heads)
        if excluded:
            keep = ~np.isin(found.relations, excluded)
            near, far = near[keep], far[keep]
        order = np.argsort(nodes, kind="stable")
        return order[np.searchsorted(nodes[order], near)], np.asarray(far, np.int64)

    def _once(self, parts: Sequence[Pairs]) -> Pairs:
        """The distinct pairs of several."""
        if len(parts) == 1:
            return parts[0]
        rows, far = (np.concatenate([part[at] for part in parts]) for at in (0, 1))
        keys = distinct(rows * self.graph.num_nodes + far)
        return keys // self.graph.num_nodes, keys % self.graph.num_nodes

    def _one_after_other(self, nodes: IntArray, steps: Sequence[_Step]) -> Pairs:
        pairs: Pairs = np.arange(len(nodes)), nodes
        for step in steps:
            pairs = self._once([self._further(*pairs, step), (pairs[0][:0], pairs[1][:0])])
        return pairs

    def _further(self, rows: IntArray, ends: IntArray, step: _Step) -> Pairs:
        """One step from the ends of pairs, each distinct end once."""
        self.limits.check()
        between = distinct(ends)
        near, far = step(between)
        order = np.argsort(near, kind="stable")
        near, far = near[order], far[order]
        place = np.searchsorted(between, ends)
        start, stop = np.searchsorted(near, place), np.searchsorted(near, place, "right")
        if int((stop - start).sum()) > self.limits.rows:
            raise self.limits.too_many()
        return np.repeat(rows, stop - start), far[concat_ranges(start, stop)]

    def _repeated(self, nodes: IntArray, step: _Step, operator: str) -> Pairs:
        """Zero or one (`?`), one or more (`+`), zero or more (`*`) steps."""
        size = self.graph.num_nodes
        every: IntArray = np.arange(len(nodes))
        rows, ends = every, nodes
        seen = distinct(rows * size + ends) if operator in "?*" else np.empty(0, np.int64)
        while len(rows):
            rows, ends = self._further(rows, ends, step)
            keys = distinct(rows * size + ends)
            if len(seen):
                place = np.minimum(np.searchsorted(seen, keys), len(seen) - 1)
                keys = keys[seen[place] != keys]
            seen = np.sort(np.concatenate([seen, keys]), kind="stable")
            if len(seen) > self.limits.rows:
                raise self.limits.too_many()
            rows, ends = (keys // size, keys % size) if operator != "?" else (rows[:0], ends[:0])
        return seen // size, seen % size


def _numbers(parts: Sequence[Predicate]) -> list[int]:
    return [number for one in parts if isinstance(one, Relations) for number in one.numbers]
