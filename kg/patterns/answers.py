"""What to do with a match: supporting triples, relaxation if nothing matches, and superlatives."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from triplecheck.kg.graph import Graph, IntArray
from triplecheck.kg.patterns.adjacency import Adjacency, members
from triplecheck.kg.patterns.match import Match, match
from triplecheck.kg.patterns.query import BoundPattern, Domain, Query
from triplecheck.kg.types import Direction, Edge
from triplecheck.kg.values import Quantity, quantity, value_of

PER_PATTERN = 3
"""Default number of triples per pattern."""


def support(
    graph: Graph,
    found: Match,
    variable: str,
    node: int,
    *,
    per_pattern: int = PER_PATTERN,
    steps: Adjacency | None = None,
) -> list[Edge]:
    """(head, relation, tail) of the triples that make a node a solution, starting at the node.

    Each pattern connected with the variable gives at least one triple if the match is exact, and at most
    `per_pattern`; every triple starts at the node or continues an earlier triple.

    Args:
        per_pattern: maximum number of triples per pattern.
        steps: implementation of the steps; the fastest for this graph if not given.
    """
    domains = _domains_with(graph, found, variable, node, steps)
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


def _domains_with(graph: Graph, found: Match, variable: str, node: int, steps: Adjacency | None) -> dict[str, Domain]:
    if found.rows is not None:
        part = next((rows for rows in found.rows if variable in rows.columns), None)
        if part is None:
            return {}
        at = np.flatnonzero(part.columns[variable] == node)[:1]
        return {name: column[at] for name, column in part.columns.items()}
    if found.query.is_forest:
        return dict(found.domains)
    given = {name: nodes for name, nodes in found.domains.items() if nodes is not None and name != variable}
    return dict(match(graph, found.query, candidates=given | {variable: np.array([node])}, steps=steps).domains)


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
TRIES = 256
"""Maximum number of subsets of patterns to try."""


@dataclass(frozen=True)
class Relaxed:
    """A match of some of the patterns.

    Attributes:
        match: the match of the remaining patterns.
        tried: number of subsets of patterns that were tried.
    """

    match: Match
    left_out: tuple[BoundPattern, ...]
    tried: int


def relax(query: Query, answer: str, solve: Callable[[Query], Match], tries: int = TRIES) -> Relaxed | None:
    """Drop as few patterns as needed for the answer to have nodes; of equally many, those that leave fewest nodes.

    All remaining patterns must be connected with the answer. None if no pattern can be kept, or no tried subset has a
    solution.

    Args:
        query: patterns without a solution.
        solve: matches a subset of the patterns.
        tries: maximum number of subsets to try.
    """
    patterns = sorted(query.patterns, key=lambda pattern: pattern.order)
    tried = 0
    for fewer in range(1, len(patterns)):
        best: tuple[int, Match, tuple[BoundPattern, ...]] | None = None
        for kept in itertools.combinations(patterns, len(patterns) - fewer):
            part = query.only(kept)
            if len(part.around(answer)) < len(kept):
                continue
            if tried == tries:
                break
            tried += 1
            found = solve(part)
            size = found.count(answer)
            if size and (best is None or size < best[0]):
                best = size, found, tuple(pattern for pattern in patterns if pattern not in kept)
        if best is not None:
            return Relaxed(best[1], best[2], tried)
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
    known: dict[int, Quantity | None] = {}
    found = []
    for node, relation, value in values:
        if value not in known:
            known[value] = quantity(value_of(graph, value))
        size = known[value]
        if size is not None:
            found.append(Measured(node, relation, value, size))
    return found


def extremes(measured: Sequence[Measured], *, greatest: bool) -> list[Measured]:
    """Those with the greatest (latest) or smallest (earliest) size; all must be of one kind."""
    best = (max if greatest else min)((one.size for one in measured), default=None)
    return [one for one in measured if one.size == best]


@dataclass(frozen=True)
class Extreme:
    """The nodes with the greatest or smallest value of a relation.

    Attributes:
        nodes: the nodes with that value, ascending.
        triples: their (node, relation, value).
        value: the value; None if no node has a comparable value.
        measured: number of nodes with a comparable value.
        other: number of nodes without one.
    """

    nodes: tuple[int, ...]
    triples: tuple[Edge, ...]
    value: Quantity | None
    measured: int
    other: int


def extreme(graph: Graph, nodes: IntArray, relation: int, *, greatest: bool) -> Extreme:
    """The superlative of a relation over nodes ("the longest of them").

    Values of different kinds are not compared, such as numbers and points in time: the most frequent kind is used.

    Args:
        nodes: shape (n,).
        greatest: the greatest (latest) value, else the smallest (earliest).
    """
    edges = graph.expand(nodes, relation, Direction.OUT)
    heads, tails = edges.heads.tolist(), edges.tails.tolist()
    valued = measure(graph, ((head, relation, tail) for head, tail in zip(heads, tails, strict=True)))
    kinds = Counter(kind for kind, _ in {(one.size.kind, one.node) for one in valued})
    if not kinds:
        return Extreme((), (), None, 0, len(nodes))
    kind = min(kinds, key=lambda kind: (-kinds[kind], kind))
    best = extremes([one for one in valued if one.size.kind == kind], greatest=greatest)
    return Extreme(
        tuple(sorted({one.node for one in best})),
        tuple((one.node, one.relation, one.value) for one in best),
        best[0].size,
        kinds[kind],
        len(nodes) - kinds[kind],
    )
