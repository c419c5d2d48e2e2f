"""The triples that make a node an answer."""

from __future__ import annotations

import numpy as np

from triplecheck.kg.graph import Graph, IntArray
from triplecheck.kg.patterns.adjacency import Adjacency, members
from triplecheck.kg.patterns.match import Match, match
from triplecheck.kg.patterns.query import BoundPattern, Domain
from triplecheck.kg.types import Direction, Edge

PER_PATTERN = 3
"""Triples that are given of one pattern."""


def support(
    graph: Graph,
    found: Match,
    variable: str,
    node: int,
    *,
    per_pattern: int = PER_PATTERN,
    steps: Adjacency | None = None,
) -> list[Edge]:
    """(head, relation, tail) of the triples that make a node a solution, going outwards from it.

    Each pattern that is connected with the variable gives at least one where the match is exact, and
    at most `per_pattern`; every triple continues one before it, or starts at the node.

    Args:
        graph: the graph.
        found: a match.
        variable: the one that the node stands for.
        node: of its domain.
        per_pattern: triples of one pattern at most.
        steps: along the edges; the quickest for this graph if not given.
    """
    domains = _domains_with(graph, found, variable, node, steps)
    reached: dict[str, IntArray] = {variable: np.array([node], np.int64)}
    edges: list[Edge] = []
    left = list(found.query.around(variable))
    while left:
        # Patterns between variables that are both reached come first: they close a cycle.
        pattern = max(left, key=lambda p: (p.head in reached) + (p.tail in reached))
        left.remove(pattern)
        near = pattern.head if pattern.head in reached else pattern.tail
        far = pattern.other(near)
        triples, ends = _edges(graph, pattern, near, reached[near], reached.get(far, domains.get(far)), per_pattern)
        edges += triples
        reached[far] = np.unique(np.array(ends, np.int64)) if far not in reached else reached[far]
    return list(dict.fromkeys(edges))


def _domains_with(graph: Graph, found: Match, variable: str, node: int, steps: Adjacency | None) -> dict[str, Domain]:
    """What the variables may stand for together with the node."""
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
