"""`run_plan`: the answers of a plan, with the triples that they are made of and what was looked through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.errors import PlanError
from triplecheck.kg.graph import Graph, IntArray
from triplecheck.kg.plans.algebra import TriplePattern, positive, variables
from triplecheck.kg.plans.basic import NotCoveredError
from triplecheck.kg.plans.evidence import Evidence
from triplecheck.kg.plans.execute import SELECT, Run, Selected, Step
from triplecheck.kg.plans.limits import Limits
from triplecheck.kg.plans.plan import Plan
from triplecheck.kg.plans.tables import Table, matching
from triplecheck.kg.plans.write import write_expression
from triplecheck.kg.types import Edge, Literal

Cell: TypeAlias = int | Literal | None
"""A node, a value that was computed, or None where a variable is unbound."""

SECONDS, ROWS = 10.0, 10_000
"""Default limits of a run: time, and rows of the result."""
_EDGES, _EXAMPLES = 50, 10


@dataclass(frozen=True)
class Looked:
    """What was looked through for an answer.

    Attributes:
        kind: `not exists`, `exists`, `minus`, `filter` and `having` leave rows out; `extreme` is sorting with a limit;
            `count` counts.
        text: the condition, the sort key or what is counted, as it is written in a plan.
        seen: rows that were looked through.
        kept: rows that remained.
        edges: some triples: of `not exists` and `minus` those that ruled rows out, of `exists` those that were found,
            of `filter` those of rows that were left out, of `extreme` those of the best rows that were left out.
    """

    kind: str
    text: str
    seen: int
    kept: int
    edges: tuple[Edge, ...] = ()

    @property
    def sentence(self) -> str:
        """In words, such as "6 looked through, 3 left: NOT EXISTS { ?boat <owned by> <Nordhav> }"."""
        if self.kind == "count":
            return f"{self.seen:,} counted: {self.text}"
        if self.kind == "extreme":
            return f"{self.seen:,} compared, {self.kept:,} given: {self.text}"
        text = f"MINUS {{ {self.text} }}" if self.kind == "minus" else self.text
        return f"{self.seen:,} looked through, {self.kept:,} left: {text}"


@dataclass(frozen=True)
class Answers:
    """The answers of a plan.

    Attributes:
        plan: the plan.
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
    _run: Run = field(repr=False, compare=False)
    _selected: Selected = field(repr=False, compare=False)
    _places: IntArray = field(repr=False, compare=False)  # which sorted rows these are
    _limit: int = field(repr=False, compare=False)

    @property
    def truncated(self) -> bool:
        """Whether the limit on rows cut some off."""
        return self.total > len(self.rows)

    def nodes(self, column: str | None = None) -> list[int]:
        """The distinct nodes of a column (the first if not named), in the order of the rows."""
        at = 0 if column is None else self.columns.index(column)
        return list(dict.fromkeys(row[at] for row in self.rows if isinstance(row[at], int)))  # type: ignore[misc]

    def texts(self) -> list[tuple[str, ...]]:
        """The rows as texts: labels of nodes, values as they are written; unbound cells are empty."""
        graph = self._run.graph
        return [
            tuple("" if c is None else graph.label(c) if isinstance(c, int) else c.lexical for c in row)
            for row in self.rows
        ]

    # --- proof -----------------------------------------------------------------------------------
    def edges(self, row: int = 0, limit: int = _EDGES) -> list[Edge]:
        """Triples of the graph that support a row; of a grouped row those of all rows that it is made of.

        Args:
            row: number of the row; 0 of an ask that is true.
            limit: maximum number of triples.
        """
        return self.support(row, limit)[0]

    def support(self, row: int = 0, limit: int = _EDGES) -> tuple[list[Edge], int]:
        """As `edges`, and how many triples there are in all."""
        if not 0 <= row < len(self._places):
            return [], 0
        return self._evidence.edges(self._parts(*self._selected.sources(self._places[[row]])), limit)

    def _parts(self, table: Table, rows: IntArray) -> Iterator[tuple[Table, IntArray, Sequence[TriplePattern]]]:
        yield table, rows, self._patterns
        for name in table.columns:
            if name.startswith(SELECT):
                inner = np.unique(table.columns[name][rows])
                chosen = self._run.selects[int(name.removeprefix(SELECT))]
                yield from self._parts(*chosen.sources(inner[inner >= 0]))
        for step in self._run.steps:
            if step.kind == "exists" and step.against is not None:
                solved, patterns = step.against
                shared = [name for name in table.columns if name in solved.columns and name in step.variables]
                found = matching(table.take(rows), solved, shared, self._run.limits.rows)[1]
                yield solved, np.unique(found), patterns

    @cached_property
    def looked_through(self) -> tuple[Looked, ...]:
        """What was looked through: conditions, negations, sorting with a limit, and counts."""
        found = [self._looked(step) for step in self._run.steps]
        chosen, order = self._selected, self.plan.algebra.order
        if order and self.plan.algebra.length is not None:
            given = set(self._places.tolist())
            others = [at for at in range(min(len(chosen.rows), len(given) + _EXAMPLES)) if at not in given]
            parts = [part for at in others for part in self._parts(*chosen.sources(np.array([at])))]
            edges, _ = self._evidence.edges(parts, _EXAMPLES)
            text = ", ".join(f"{'DESC' if down else 'ASC'}({write_expression(one)})" for one, down in order)
            found.append(Looked("extreme", text, len(chosen.rows), len(given), tuple(edges)))
        return tuple(found)

    def _looked(self, step: Step) -> Looked:
        seen = step.seen.length
        if step.kept is None:
            return Looked(step.kind, step.text, seen, seen)
        if step.against is not None:
            table, patterns = step.against
            rows = np.arange(min(table.length, _EXAMPLES))
        else:
            gone = np.ones(seen, bool)
            gone[step.kept] = False
            table, rows = step.seen, np.flatnonzero(gone)[:_EXAMPLES]
            patterns = tuple(one for one in self._patterns if variables(one) & step.variables)
        edges, _ = self._evidence.edges([(table, rows, patterns)], _EXAMPLES)
        return Looked(step.kind, step.text, seen, len(step.kept), tuple(edges))

    @cached_property
    def _patterns(self) -> tuple[TriplePattern, ...]:
        return tuple(dict.fromkeys(positive(self.plan.algebra)))

    @cached_property
    def _evidence(self) -> Evidence:
        return Evidence(self._run.graph)

    # --- ties ------------------------------------------------------------------------------------
    def with_ties(self) -> Answers:
        """The answers with all rows that share a place with one that is given.

        `ORDER BY DESC(?age) LIMIT 1` gives one of the oldest, this all of them; LIMIT 3 gives three and those that
        equal the third. With OFFSET places are counted in distinct values: the second oldest (`OFFSET 1 LIMIT 1`) are
        those of the second highest age, however many share the first place.
        """
        chosen, query = self._selected, self.plan.algebra
        if not query.order or query.length is None:
            return self
        if query.start == 0:
            last = chosen.keys[chosen.stop - 1] if chosen.stop else -1
            places = np.flatnonzero(chosen.keys <= last)
        else:
            ranks = np.unique(chosen.keys, return_inverse=True)[1]
            places = np.flatnonzero((ranks >= query.start) & (ranks < query.start + query.length))
        return replace(_answers(self.plan, self._run, chosen, places, self._limit), ties=0)


def run_plan(graph: Graph, plan: Plan, *, seconds: float = SECONDS, rows: int = ROWS) -> Answers:
    """Run a plan over the graph whose names it was read with.

    Args:
        graph: the graph.
        plan: from `read_plan`.
        seconds: maximum time.
        rows: maximum number of rows to return; `Answers.total` counts all.

    Raises:
        PlanError: a limit is reached, or a part of the query is not supported.
    """
    if not isinstance(graph, ColumnarGraph):
        raise PlanError("queries run on knowledge bases of this machine only")
    run = Run(graph, Limits(seconds))
    try:
        selected = run.select(plan.algebra)
    except NotCoveredError as error:
        raise PlanError(f"{error} is not supported in queries") from None
    return _answers(plan, run, selected, np.arange(selected.start, selected.stop), rows)


def _answers(plan: Plan, run: Run, selected: Selected, places: IntArray, limit: int) -> Answers:
    shown = selected.base.take(selected.rows[places[:limit]]).only(plan.variables)
    cells = [[run.terms.cell(id) for id in column.tolist()] for column in shown.columns.values()]
    is_ask = plan.kind == "ask"
    rows = () if is_ask else tuple(zip(*cells, strict=True)) if cells else ((),) * shown.length
    return Answers(
        plan,
        plan.variables,
        rows,
        0 if is_ask else len(places),
        len(places) > 0 if is_ask else None,
        _ties(plan, selected),
        tuple(dict.fromkeys(run.notes)),
        run,
        selected,
        places,
        limit,
    )


def _ties(plan: Plan, selected: Selected) -> int:
    keys, start, stop = selected.keys, selected.start, selected.stop
    if not plan.algebra.order or plan.algebra.length is None or start == stop:
        return 0
    outside = np.concatenate([keys[:start], keys[stop:]])
    return int(np.isin(outside, [keys[start], keys[stop - 1]]).sum())
