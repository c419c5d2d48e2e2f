"""`run_plan`: the answers of a plan, with the triples that they are made of and what was looked through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.graph import Graph, IntArray
from triplecheck.kg.plans.basic import NotCoveredError
from triplecheck.kg.plans.execute import Run, Selected
from triplecheck.kg.plans.limits import Limits
from triplecheck.kg.plans.plan import Plan
from triplecheck.kg.plans.proofs import EDGES, Looked, Proofs
from triplecheck.kg.types import Edge, Literal

Cell: TypeAlias = int | Literal | None
"""A node, a value that was computed, or None where a variable is unbound."""

SECONDS, ROWS = 10.0, 10_000
"""Default limits of a run: time, and rows of the result."""


@dataclass(frozen=True)
class Answers:
    """The answers of a plan.

    Attributes:
        columns: the variables of the result; none of an ask.
        rows: the rows of the result, at most as many as the limit.
        total: the number of rows without the limit on rows; LIMIT of the plan counts.
        boolean: the answer of an ask; None of a select.
        ties: rows that LIMIT or OFFSET cut off, although they equal the first or the last row in what rows are sorted
            by; `with_ties` has them.
        notes: what went wrong, as sentences, such as values that cannot be added.
    """

    plan: Plan
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    total: int
    boolean: bool | None
    ties: int
    notes: tuple[str, ...]
    _graph: Graph = field(repr=False, compare=False)
    _limit: int = field(repr=False, compare=False)
    _proofs: Proofs | None = field(default=None, repr=False, compare=False)

    @property
    def truncated(self) -> bool:
        """Whether the limit on rows cut some off."""
        return self.total > len(self.rows)

    @property
    def has_proof(self) -> bool:
        """Whether the triples behind rows and what was looked through are known; rdflib and servers tell neither."""
        return self._proofs is not None

    def texts(self) -> list[tuple[str, ...]]:
        """The rows as texts: labels of nodes, values as they are written; unbound cells are empty."""
        nodes = list(dict.fromkeys(cell for row in self.rows for cell in row if isinstance(cell, int)))
        labels = dict(zip(nodes, self._graph.labels(nodes) if nodes else (), strict=True))
        return [
            tuple("" if c is None else labels[c] if isinstance(c, int) else c.lexical for c in row) for row in self.rows
        ]

    # --- proof -----------------------------------------------------------------------------------
    def edges(self, row: int = 0, limit: int = EDGES) -> list[Edge]:
        """Triples of the graph that support a row; of a grouped row those of all rows that it is made of.

        Args:
            row: number of the row; 0 of an ask that is true.
            limit: maximum number of triples.
        """
        return self.support(row, limit)[0]

    def support(self, row: int = 0, limit: int = EDGES) -> tuple[list[Edge], int]:
        """As `edges`, and how many triples there are in all."""
        return ([], 0) if self._proofs is None else self._proofs.support(row, limit)

    @property
    def looked_through(self) -> tuple[Looked, ...]:
        """What was looked through: conditions, negations, sorting with a limit, and counts."""
        return () if self._proofs is None else self._proofs.looked_through

    # --- ties ------------------------------------------------------------------------------------
    def with_ties(self) -> Answers:
        """The answers with all rows that share a place with one that is given.

        `ORDER BY DESC(?age) LIMIT 1` gives one of the oldest, this all of them; LIMIT 3 gives three and those that
        equal the third. With OFFSET places are counted in distinct values: the second oldest (`OFFSET 1 LIMIT 1`) are
        those of the second highest age, however many share the first place.
        """
        proofs, query = self._proofs, self.plan.algebra
        if proofs is None or not query.order or query.length is None:
            return self
        return replace(_answers(self.plan, proofs.run, proofs.selected, proofs.with_ties(), self._limit), ties=0)


def run_plan(graph: Graph, plan: Plan, *, seconds: float = SECONDS, rows: int = ROWS) -> Answers:
    """Run a plan over the graph whose names it was read with.

    Args:
        seconds: maximum processor time; of a graph on a server: maximum time.
        rows: maximum number of rows to return; `Answers.total` counts all.

    Raises:
        PlanError: a limit is reached, or a part of the query is not supported.
        GraphUnavailableError: the graph is on a server that does not answer.
    """
    if not isinstance(graph, ColumnarGraph):
        from triplecheck.kg.plans.remote import ask_server

        return _without_proof(graph, plan, rows, *ask_server(graph, plan, seconds, rows))
    limits = Limits(seconds)
    run = Run(graph, limits)
    try:
        selected = run.select(plan.algebra)
    except NotCoveredError as error:
        # Few queries need it, and it takes a tenth of a second to load.
        from triplecheck.kg.plans.rdflib_run import evaluate

        found, total = evaluate(graph, limits, plan, rows)
        note = f"{error} is evaluated triple by triple: this query has no proof"
        return _without_proof(graph, plan, rows, found, total, note)
    return _answers(plan, run, selected, np.arange(selected.start, selected.stop), rows)


def _without_proof(
    graph: Graph, plan: Plan, limit: int, found: Sequence[tuple[Cell, ...]], total: int, note: str
) -> Answers:
    """Answers that something else than a run of the plan gave; of an ask one row if it is true."""
    if plan.kind == "ask":
        return Answers(plan, (), (), 0, bool(found), 0, (note,), graph, limit)
    return Answers(plan, plan.variables, tuple(found), total, None, 0, (note,), graph, limit)


def _answers(plan: Plan, run: Run, selected: Selected, places: IntArray, limit: int) -> Answers:
    shown = selected.base.take(selected.rows[places[:limit]]).only(plan.variables)
    cells = [[run.terms.cell(id) for id in column.tolist()] for column in shown.columns.values()]
    is_ask, proofs = plan.kind == "ask", Proofs(plan, run, selected, places)
    rows = () if is_ask else tuple(zip(*cells, strict=True)) if cells else ((),) * shown.length
    return Answers(
        plan,
        plan.variables,
        rows,
        0 if is_ask else len(places),
        len(places) > 0 if is_ask else None,
        proofs.ties,
        tuple(dict.fromkeys(run.notes)),
        run.graph,
        limit,
        proofs,
    )
