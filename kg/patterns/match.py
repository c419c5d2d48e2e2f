"""From patterns to what satisfies them: propagation, and the exact join where it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from triplecheck.kg._ranges import distinct
from triplecheck.kg.graph import Graph, IntArray
from triplecheck.kg.patterns.adjacency import Adjacency, adjacency
from triplecheck.kg.patterns.join import BudgetSpentError, Rows, join
from triplecheck.kg.patterns.propagate import propagate
from triplecheck.kg.patterns.query import BoundPattern, Domain, Query

BUDGET = 1_000_000
"""Rows that an exact join holds at most."""


@dataclass(frozen=True)
class Match:
    """What satisfies the patterns of a query.

    Attributes:
        query: the patterns.
        domains: what each variable, constants among them, may stand for; None: any node.
        rounds: size of each domain before propagation and after each of its rounds; None: any node.
        emptied_by: the pattern that left nothing.
        exact: whether every node in the domains is part of a whole solution; else some may not be.
        unbounded: a pattern was left aside, since neither end is bounded and the graph cannot list its nodes.
        rows: the solutions, per connected part, where the join was made.
    """

    query: Query
    domains: Mapping[str, Domain]
    rounds: tuple[Mapping[str, int | None], ...]
    emptied_by: BoundPattern | None
    exact: bool
    unbounded: bool = False
    rows: tuple[Rows, ...] | None = None

    def nodes(self, variable: str) -> Domain:
        """What a variable may stand for, shape (n,), ascending; None: any node, as for one in no pattern."""
        return self.domains.get(variable)

    def count(self, variable: str) -> int | None:
        """How many nodes a variable may stand for; None: any."""
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
    """What satisfies all patterns of a query.

    The domains never lack a node that is part of a solution, and hold no other where the patterns
    form no cycle. Neither depends on the order of the patterns.

    Args:
        graph: the graph.
        query: the patterns, see `bind`.
        candidates: nodes that a variable may stand for (of the answer, usually), ascending, each once.
        exact: where patterns form a cycle, also join them.
        budget: rows that the join may hold; where it needs more, the domains stay as they are.
        steps: along the edges; the quickest for this graph if not given.
    """
    found = propagate(query, steps or adjacency(graph), candidates)
    sure = not found.unbounded and (found.emptied_by is not None or query.is_forest)
    result = Match(query, found.domains, found.rounds, found.emptied_by, sure, found.unbounded)
    if not exact or sure:
        return result
    return _joined(graph, result, budget)


def solutions(graph: Graph, found: Match, budget: int = BUDGET) -> tuple[Rows, ...] | None:
    """Every assignment of nodes to variables, per connected part of the query; None: more than the budget."""
    if found.rows is not None:
        return found.rows
    if found.unbounded:
        return None
    try:
        return tuple(join(graph, found.query, found.domains, budget))
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
