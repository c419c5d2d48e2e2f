"""What to do with a match: supporting triples, relaxation if nothing matches, and superlatives."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from triplecheck.kg.graph import Graph, IntArray
from triplecheck.kg.patterns.adjacency import members
from triplecheck.kg.patterns.match import Match, match
from triplecheck.kg.patterns.query import BoundPattern, Domain, Query
from triplecheck.kg.types import Direction, Edge
from triplecheck.kg.values import Quantity, quantity, value_of


def support(graph: Graph, found: Match, variable: str, node: int, *, per_pattern: int) -> list[Edge]:
    """(head, relation, tail) of the triples that make a node a solution, starting at the node.

    Each pattern connected with the variable gives at least one triple if the match is exact, and at most
    `per_pattern`; every triple starts at the node or continues an earlier triple.
    """
    domains = _domains_with(graph, found, variable, node)
    reached: dict[str, IntArray] = {variable: np.array([node], np.int64)}
    edges: list[Edge] = []
    left = list(found.query.around(variable))
    while left:
        # Patterns whose variables are both reached come first: they close a cycle.
        pattern = max(left, key=lambda p: (p.head in reached) + (p.tail in reached))
        left.remove(pattern)
        near = pattern.head if pattern.head in reached else pattern.tail
        far = pattern.other(near)
        triples, ends = _edges(graph, pattern, near, reached[near], reached.get(far, domains.get(far)), per_pattern)
        edges += triples
        reached[far] = np.unique(np.array(ends, np.int64)) if far not in reached else reached[far]
    return list(dict.fromkeys(edges))


def _domains_with(graph: Graph, found: Match, variable: str, node: int) -> dict[str, Domain]:
    if found.rows is not None:
        part = next((rows for rows in found.rows if variable in rows.columns), None)
        if part is None:
            return {}
        at = np.flatnonzero(part.columns[variable] == node)[:1]
        return {name: column[at] for name, column in part.columns.items()}
    if found.query.is_forest:
        return dict(found.domains)
    given = {name: nodes for name, nodes in found.domains.items() if nodes is not None and name != variable}
    return dict(match(graph, found.query, candidates=given | {variable: np.array([node])}).domains)


def _edges(
    graph: Graph, pattern: BoundPattern, near: str, nodes: IntArray, far: Domain, limit: int
) -> tuple[list[Edge], list[int]]:
    link = pattern.link_from(near)
    triples: list[Edge] = []
    ends: list[int] = []
    for direction in link.directions:
        for relation in (None,) if link.relations is None else link.relations:
            found = graph.expand(nodes, relation, direction)
            away = found.tails if direction is Direction.OUT else found.heads
            keep = np.flatnonzero(members(away, far) if far is not None else np.ones(len(away), bool))
            for at in keep[: limit - len(triples)].tolist():
                triples.append((int(found.heads[at]), int(found.relations[at]), int(found.tails[at])))
                ends.append(int(away[at]))
    return triples, ends


# --- relaxation ----------------------------------------------------------------------------------
_TRIES = 256  # subsets of patterns


@dataclass(frozen=True)
class Relaxed:
    """The match of some patterns without the others."""

    match: Match
    left_out: tuple[BoundPattern, ...]


def relax(query: Query, answer: str, solve: Callable[[Query], Match]) -> Relaxed | None:
    """Drop as few patterns as needed for the answer to have nodes; of equally many, those that leave fewest nodes.

    All remaining patterns must be connected with the answer. None if no pattern can be kept, or none of the first 256
    subsets has a solution.
    """
    patterns = sorted(query.patterns, key=lambda pattern: pattern.order)
    tried = 0
    for fewer in range(1, len(patterns)):
        best: tuple[int, Match, tuple[BoundPattern, ...]] | None = None
        for kept in itertools.combinations(patterns, len(patterns) - fewer):
            part = query.only(kept)
            if len(part.around(answer)) < len(kept):
                continue
            if tried == _TRIES:
                break
            tried += 1
            found = solve(part)
            size = found.count(answer)
            if size and (best is None or size < best[0]):
                best = size, found, tuple(pattern for pattern in patterns if pattern not in kept)
        if best is not None:
            return Relaxed(best[1], best[2])
    return None


# --- superlatives ---------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Measured:
    """A node with a comparable value."""

    node: int
    relation: int
    value: int
    size: Quantity


def measure(graph: Graph, values: Iterable[Edge]) -> list[Measured]:
    """The (node, relation, value) whose value is a number, a point in time or has a unit, in the given order."""
    size_of = functools.cache(lambda value: quantity(value_of(graph, value)))
    return [
        Measured(node, relation, value, size)
        for node, relation, value in values
        if (size := size_of(value)) is not None
    ]


def extremes(measured: Sequence[Measured], *, greatest: bool) -> list[Measured]:
    """Those with the greatest (latest) or smallest (earliest) size; all must be of one kind."""
    best = (max if greatest else min)((one.size for one in measured), default=None)
    return [one for one in measured if one.size == best]


def extreme(graph: Graph, nodes: IntArray, relation: int, *, greatest: bool) -> int | None:
    """The node with the greatest (latest) or smallest (earliest) value of a relation.

    None if several have it, or if a node has no value of the kind that most have: numbers and points in time are not
    compared with each other.
    """
    edges = graph.expand(nodes, relation, Direction.OUT)
    valued = measure(graph, zip(edges.heads.tolist(), edges.relations.tolist(), edges.tails.tolist(), strict=True))
    kinds = Counter(kind for kind, _ in {(one.size.kind, one.node) for one in valued})
    kind = min(kinds, key=lambda kind: (-kinds[kind], kind), default=None)
    if kind is None or kinds[kind] < len(nodes):
        return None
    best = {one.node for one in extremes([one for one in valued if one.size.kind == kind], greatest=greatest)}
    return best.pop() if len(best) == 1 else None
