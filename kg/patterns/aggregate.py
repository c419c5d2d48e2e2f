"""Counts and superlatives over what a match found, computed rather than asked of a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from triplecheck.kg.graph import Graph, IntArray
from triplecheck.kg.patterns.match import BUDGET, Match, solutions
from triplecheck.kg.types import Direction, Edge
from triplecheck.kg.values import Quantity, quantity, value_of


@dataclass(frozen=True, slots=True)
class Measured:
    """A node with a value that can be compared.

    Attributes:
        node: whose value it is.
        relation: by which it has the value.
        value: the value, a node.
        text: the value as it is written.
        size: the same as a quantity.
    """

    node: int
    relation: int
    value: int
    text: str
    size: Quantity


def measure(graph: Graph, values: Iterable[Edge]) -> list[Measured]:
    """Those of some (node, relation, value) whose value is a number or a point in time, in their order."""
    known: dict[int, tuple[str, Quantity | None]] = {}
    found = []
    for node, relation, value in values:
        if value not in known:
            literal = value_of(graph, value)
            known[value] = literal.lexical.strip(), quantity(literal)
        text, size = known[value]
        if size is not None:
            found.append(Measured(node, relation, value, text, size))
    return found


def extremes(measured: Sequence[Measured], *, greatest: bool) -> list[Measured]:
    """Those that share the greatest (latest), or the smallest (earliest), size; all are to be of one kind."""
    best = (max if greatest else min)((one.size for one in measured), default=None)
    return [one for one in measured if one.size == best]


@dataclass(frozen=True)
class Extreme:
    """The nodes with the greatest, or smallest, value of a relation.

    Attributes:
        nodes: those that share it, in ascending order.
        triples: (node, relation, value) that say so.
        value: what they share; None where no node has a value that can be compared.
        measured: nodes that have one.
        other: nodes whose values cannot be compared with it, or that have none.
    """

    nodes: tuple[int, ...]
    triples: tuple[Edge, ...]
    value: Quantity | None
    measured: int
    other: int


def extreme(graph: Graph, nodes: IntArray, relation: int, *, greatest: bool) -> Extreme:
    """The superlative of a relation over nodes ("the longest of them").

    Numbers are not compared with points in time: the kind that more nodes have counts.

    Args:
        graph: the graph.
        nodes: shape (n,).
        relation: whose values are compared.
        greatest: the greatest (latest), else the smallest (earliest).
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


def counts(graph: Graph, found: Match, of: str, by: str, budget: int = BUDGET) -> tuple[IntArray, IntArray] | None:
    """For each node of one variable, how many of another go with it ("films by director").

    Args:
        graph: the graph.
        found: a match in which both variables are connected.
        of: what is counted.
        by: what it is counted for.
        budget: rows that the join may hold.

    Returns:
        Nodes and their counts, most first, then by node; None: the join would not keep to its budget,
        or the variables are not connected.
    """
    parts = solutions(graph, found, budget)
    part = next((rows for rows in parts or () if of in rows.columns and by in rows.columns), None)
    if part is None:
        return None
    both = np.unique(np.stack([part.columns[by], part.columns[of]]), axis=1)
    nodes, numbers = np.unique(both[0], return_counts=True)
    order = np.argsort(-numbers, kind="stable")
    return nodes[order], numbers[order]
