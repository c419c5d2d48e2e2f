"""Runs the algebra of plans over tables of solutions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from triplecheck.kg._arrays import used
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.graph import IntArray
from triplecheck.kg.plans import algebra as of
from triplecheck.kg.plans.basic import BasicSolver, Bounds, bounds_of
from triplecheck.kg.plans.compare import places
from triplecheck.kg.plans.expressions import Expressions
from triplecheck.kg.plans.groups import GROUP, grouped
from triplecheck.kg.plans.limits import Limits
from triplecheck.kg.plans.tables import UNBOUND, Table, codes, concat, first_rows, joined, matching, merged
from triplecheck.kg.plans.terms import Terms
from triplecheck.kg.plans.write import with_aggregates, write_expression, write_pattern

SELECT = "#select"
"""What the columns begin with that have the rows of a query in a query; the number in `Run.selects` follows."""
_ROW = "#row"
_BOUNDING = 200_000  # a side of a join with at most so many rows restricts the other


@dataclass(frozen=True)
class Step:
    """A part of the work that leaves rows out, or counts them.

    Attributes:
        kind: not exists, exists, minus, filter, having or count.
        text: the condition, as it is written in a plan.
        seen: the rows that were looked through.
        kept: the numbers of those that remained; None: all.
        against: for `not exists`, `exists` and `minus`, solutions of the pattern in it, and its triple patterns.
    """

    kind: str
    text: str
    seen: Table
    kept: IntArray | None = None
    variables: frozenset[str] = frozenset()
    against: tuple[Table, tuple[of.TriplePattern, ...]] | None = None


@dataclass(frozen=True)
class Selected:
    """The rows of a query.

    Attributes:
        rows: for each sorted row, wanted or not, its number in `base`; the first of equal ones if rows are distinct.
        keys: for each sorted row, the place of its sort key; rows with equal places are ties.
        start, stop: which of the sorted rows are wanted.
        base: all rows before they were sorted.
        same: for each row of `base`, the number of the distinct row that it became.
        groups: the rows that were grouped and the group of each; None without groups.
    """

    rows: IntArray
    keys: IntArray
    start: int
    stop: int
    base: Table
    same: IntArray
    groups: tuple[Table, IntArray] | None = None

    def sources(self, rows: IntArray) -> tuple[Table, IntArray]:
        """The solutions that became some of the sorted rows: a table and rows of it."""
        rows = np.flatnonzero(np.isin(self.same, self.same[self.rows[rows]]))
        if self.groups is None:
            return self.base, rows
        table, groups = self.groups
        return table, np.flatnonzero(np.isin(groups, self.base.columns[GROUP][rows]))


@dataclass
class Run:
    """One run of a plan.

    Attributes:
        steps: what it looked through, of the query itself.
        notes: what went wrong, as sentences.
        selects: the queries in the query.
    """

    graph: ColumnarGraph
    limits: Limits
    steps: list[Step] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    selects: list[Selected] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.terms = Terms(self.graph)
        self._basic = BasicSolver(self.terms, self.limits)
        self._expressions = Expressions(self.terms, lambda one, table: self._has(one, table)[0])
        self._groups: tuple[Table, IntArray] | None = None
        self._depth = 0

    # --- queries ---------------------------------------------------------------------------------
    def select(self, query: of.Select) -> Selected:
        """The rows of a query.

        Raises:
            NotCoveredError: a part that only rdflib's evaluator knows.
            PlanError: a limit is reached.
        """
        outer, self._groups = self._groups, None
        base = self.table(query.of, {})
        groups, self._groups = self._groups, outer
        self.limits.check()
        keys: IntArray = np.zeros(base.length, np.int64)
        order: IntArray = np.arange(base.length)
        if query.order:
            found = [places(self.terms, self._expressions.values(one, base), down) for one, down in query.order]
            order = np.lexsort(found[::-1])
            ordered = [column[order] for column in found]
            changed = np.zeros(base.length, bool)
            for column in ordered:
                changed[1:] |= column[1:] != column[:-1]
            keys = np.cumsum(changed)
        same: IntArray = np.arange(base.length)
        rows = order
        if query.distinct:
            shown = base.only(query.names)
            same, number = codes(list(shown.columns.values()), base.length)
            first = np.sort(first_rows(same[order], number))
            rows, keys = order[first], keys[first]
        start = min(query.start, len(rows))
        stop = len(rows) if query.length is None else min(start + query.length, len(rows))
        self.limits.check()
        return Selected(rows, keys, start, stop, base, same, groups)

    # --- patterns --------------------------------------------------------------------------------
    def table(self, node: of.Operator, bounds: Bounds) -> Table:
        """The solutions of a pattern; those with nodes outside of the bounds may be left out."""
        self.limits.check()
        match node:
            case of.Basic():
                return self._basic.solve(node, bounds) if node.patterns else Table.one()
            case of.Join(left, right):
                first = self.table(left, bounds)
                second = self.table(right, self._narrowed(bounds, first, right))
                return joined(first, second, self.limits)
            case of.LeftJoin():
                return self._left_join(node, bounds)
            case of.Minus(left, right):
                return self._minus(self.table(left, bounds), right)
            case of.Union(left, right):
                return concat([self.table(left, bounds), self.table(right, bounds)])
            case of.Filter():
                return self._filter(node, bounds)
            case of.Extend(inner, name, value):
                inside = {one: nodes for one, nodes in bounds.items() if one != name}
                table = self.table(inner, inside)
                return table.extended(name, self.terms.ids(self._expressions.values(value, table)))
            case of.Group():
                return self._group(node)
            case of.Values(names, rows):
                return self._values(names, rows)
            case of.Select(names=names):
                self._depth += 1
                found = self.select(node)
                self._depth -= 1
                self.selects.append(found)
                places = np.arange(found.start, found.stop)
                table = found.base.take(found.rows[places]).only(names)
                return table.extended(f"{SELECT}{len(self.selects) - 1}", places)
        raise AssertionError(node)

    def _narrowed(self, bounds: Bounds, table: Table, node: of.Operator) -> dict[str, IntArray]:
        """Bounds for a pattern that is joined with a table."""
        shared = [name for name in of.variables(node) if name in table.columns]
        narrow = {n: nodes for n, nodes in bounds.items() if n not in table.columns}
        for name, nodes in bounds_of(table, shared, _BOUNDING).items():
            if len(nodes) == 0 or nodes[-1] < self.terms.nodes:
                narrow[name] = nodes
        return narrow

    def _left_join(self, node: of.LeftJoin, bounds: Bounds) -> Table:
        left = self.table(node.left, bounds)
        right = self.table(node.right, self._narrowed({}, left, node.right))
        shared = [name for name in left.columns if name in right.columns]
        left_rows, right_rows = matching(left, right, shared, self.limits)
        both = merged(left, right, left_rows, right_rows)
        if node.condition is not None:
            keep = self._expressions.truth(node.condition, both) == 1
            both, left_rows = both.filter(keep), left_rows[keep]
        alone = ~used(left_rows, left.length)
        result = concat([both, left.filter(alone)]).only(dict.fromkeys((*left.columns, *right.columns)))
        return result.take(np.argsort(np.concatenate([left_rows, np.flatnonzero(alone)]), kind="stable"))

    def _minus(self, left: Table, node: of.Operator) -> Table:
        right = self.table(node, self._narrowed({}, left, node))
        shared = [name for name in left.columns if name in right.columns and not name.startswith("=")]
        gone = np.zeros(left.length, bool)
        if shared:
            rows, others = matching(left, right, shared, self.limits)
            agree = np.zeros(len(rows), bool)
            for name in shared:  # at least one variable must be bound in both
                agree |= (left.columns[name][rows] != UNBOUND) & (right.columns[name][others] != UNBOUND)
            gone[rows[agree]] = True
            against = merged(left, right, rows[agree], others[agree])
            self._note("minus", write_pattern(node), left, ~gone, against, node)
        return left.filter(~gone)

    def _filter(self, node: of.Filter, bounds: Bounds) -> Table:
        table = self.table(node.of, bounds)
        # Cheap conditions first: EXISTS then looks at fewer rows.
        for one in sorted(node.conditions, key=lambda one: any(isinstance(p, of.Exists) for p in of.parts(one))):
            text = with_aggregates(write_expression(one), node)
            if isinstance(one, of.Exists):
                has, against = self._has(one, table)
                keep = has != one.negated
                self._note("not exists" if one.negated else "exists", text, table, keep, against, one.pattern)
            else:
                keep = self._expressions.truth(one, table) == 1
                self._note("having" if node.having else "filter", text, table, keep, None, one)
            table = table.filter(keep)
        return table

    def _has(self, one: of.Exists, table: Table) -> tuple[npt.NDArray[np.bool_], Table]:
        """Which rows have a solution of the pattern, and the solutions.

        The pattern is solved for the distinct values of the variables that it shares with the table, so that its
        filters see the values of the row.
        """
        shared = [name for name in table.columns if name in of.variables(one.pattern)]
        found, number = codes([table.columns[name] for name in shared], table.length)
        seeds = table.only(shared).take(first_rows(found, number)).extended(_ROW, np.arange(number))
        solved = self._seeded(one.pattern, seeds)
        has = used(solved.columns[_ROW], number)
        return has[found] if table.length else np.zeros(0, bool), solved

    def _seeded(self, node: of.Operator, seeds: Table) -> Table:
        """The solutions of a pattern for each of some rows, beside the row."""
        self.limits.check()
        match node:
            case of.Filter(inner, conditions):
                table = self._seeded(inner, seeds)
                for one in conditions:
                    keep = self._has(one, table)[0] != one.negated if isinstance(one, of.Exists) else None
                    table = table.filter(self._expressions.truth(one, table) == 1 if keep is None else keep)
                return table
            case of.Extend(inner, name, value):
                table = self._seeded(inner, seeds)
                return table.extended(name, self.terms.ids(self._expressions.values(value, table)))
            case of.Union(left, right):
                return concat([self._seeded(left, seeds), self._seeded(right, seeds)])
            case of.Join(left, right):
                return self._seeded(right, self._seeded(left, seeds))
            case of.Minus(left, right):
                return self._minus(self._seeded(left, seeds), right)
            case of.LeftJoin(left, right, condition):
                table = self._seeded(left, seeds)
                left_row = f"#left{len(table.columns)}"  # one of its own for each OPTIONAL within another
                numbered = table.extended(left_row, np.arange(table.length))
                both = self._seeded(of.Filter(right, (condition,)) if condition is not None else right, numbered)
                alone = table.filter(~used(both.columns[left_row], table.length))
                return concat([both.only([n for n in both.columns if n != left_row]), alone])
        return joined(seeds, self.table(node, self._narrowed({}, seeds, node)), self.limits)

    def _group(self, node: of.Group) -> Table:
        table = self.table(node.of, {})
        result, groups, notes = grouped(self.terms, self._expressions.values, node, table)
        self.notes.extend(notes)
        self._groups = table, groups
        for one in node.aggregates:
            if one.name == "count" and self._depth == 0:
                text = "*" if one.of is None else write_expression(one.of)
                self.steps.append(Step("count", f"COUNT({'DISTINCT ' * one.distinct}{text})", table))
        return result

    def _values(self, names: Sequence[str], rows: Sequence[Sequence[of.Constant | None]]) -> Table:
        listed: list[tuple[int, ...]] = []
        for row in rows:
            listed += itertools.product(*([UNBOUND] if one is None else self._terms_of(one) for one in row))
        columns = np.array(listed, np.int64).reshape(len(listed), len(names))
        return Table({name: columns[:, at] for at, name in enumerate(names)}, len(listed))

    def _terms_of(self, one: of.Constant) -> Sequence[int]:
        if one.literal is None:
            return one.nodes
        return list(dict.fromkeys([*one.nodes, self.terms.constant(one.literal)]))

    # --- what was looked through -----------------------------------------------------------------
    def _note(
        self,
        kind: str,
        text: str,
        table: Table,
        keep: npt.NDArray[np.bool_],
        against: Table | None = None,
        part: of.Operator | of.Expression | None = None,
    ) -> None:
        if self._depth == 0:
            solved = None if against is None else (against, tuple(of.positive(part)))
            self.steps.append(Step(kind, text, table, np.flatnonzero(keep), frozenset(of.variables(part)), solved))
