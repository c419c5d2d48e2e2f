"""Triple patterns that must all hold, solved by `kg.patterns`.

A table of solutions has a column per variable, and one per constant (`Constant.column`), so that every row names the
triples that it is made of. A name stands for any of its nodes: rows that differ only in which of them are one.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from triplecheck.kg._arrays import concat_ranges, distinct
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.graph import IntArray
from triplecheck.kg.patterns import BoundPattern, Link, Query, match, solutions
from triplecheck.kg.patterns.adjacency import GraphAdjacency, adjacency
from triplecheck.kg.plans.algebra import Basic, Classes, Constant, End, IsA, Labelled, Relations, TriplePattern, Var
from triplecheck.kg.plans.limits import Limits
from triplecheck.kg.plans.paths import Paths, is_covered
from triplecheck.kg.plans.tables import UNBOUND, Table, codes, first_rows, joined
from triplecheck.kg.plans.terms import NUMBER, Terms, Values
from triplecheck.kg.plans.write import write_triple
from triplecheck.kg.types import Direction

Bounds = Mapping[str, IntArray]
"""Nodes that a variable may have, ascending and distinct."""


class NotCoveredError(Exception):
    """A part of a plan that only rdflib's evaluator knows."""


class BasicSolver:
    """Solves triple patterns over one graph."""

    def __init__(self, terms: Terms, limits: Limits) -> None:
        self._graph: ColumnarGraph = terms.graph
        self._terms, self._limits = terms, limits
        self._paths = Paths(terms.graph, limits)
        self._steps: GraphAdjacency | None = None

    def solve(self, basic: Basic, bounds: Bounds) -> Table:
        """All solutions.

        Args:
            bounds: solutions with other nodes may be left out.

        Raises:
            NotCoveredError: a predicate is a variable, or a path with `a` or labels in it.
            PlanError: a limit is reached.
        """
        named = {end.column for pattern in basic.patterns for end in pattern.ends}
        domains = {name: nodes for name, nodes in bounds.items() if name in named}
        linked: list[TriplePattern] = []
        later: list[TriplePattern] = []
        paths: list[TriplePattern] = []
        for pattern in basic.patterns:
            match pattern.predicate, pattern.tail:
                case IsA(), Classes(_, ids):
                    self._narrow(domains, pattern.head, self._of_types(ids))
                case Labelled(), Constant(nodes=nodes):
                    entities = [node for node in nodes if node < self._graph.num_entities]
                    self._narrow(domains, pattern.head, np.array(entities, np.int64))
                case ((IsA() | Labelled()), _):
                    later.append(pattern)
                case Relations(), _:
                    linked.append(pattern)
                case predicate, tail if is_covered(predicate) and not isinstance(tail, Classes):
                    paths.append(pattern)
                case _:
                    raise NotCoveredError(write_triple(pattern))
        for end in (end for pattern in basic.patterns for end in pattern.ends):
            if isinstance(end, Constant):
                self._narrow(domains, end, self._nodes_of(end, basic.patterns))
        query = [pattern for pattern in linked if pattern.head != pattern.tail]
        for pattern in linked:
            if pattern.head == pattern.tail:
                self._narrow(domains, pattern.head, self._loops(pattern, domains.get(pattern.head.column)))
        tables = [*self._linked(query, domains), *self._alone(basic.patterns, [*query, *paths], later, domains)]
        while paths:
            paths.sort(key=lambda pattern: min(self._choices(tables, end, domains) for end in pattern.ends))
            tables = self._with_path(tables, paths.pop(0), domains)
        table = functools.reduce(self._joined, sorted(tables, key=len), Table.one())
        for pattern in later:
            table = self._with_texts(table, pattern)
        return self._named_once(table, basic.patterns)

    # --- domains ---------------------------------------------------------------------------------
    def _narrow(self, domains: dict[str, IntArray], end: End, nodes: IntArray) -> None:
        known = domains.get(end.column)
        domains[end.column] = nodes if known is None else np.intersect1d(known, nodes, assume_unique=True)

    def _of_types(self, ids: Sequence[str]) -> IntArray:
        found: list[IntArray] = [np.asarray(self._graph.nodes_of_type(id), np.int64) for id in ids]
        return found[0] if len(found) == 1 else distinct(np.concatenate(found))

    def _nodes_of(self, end: Constant, patterns: Sequence[TriplePattern]) -> IntArray:
        """The nodes of a constant. A number also finds the tails of its relations that have its size: 3 finds 3.0."""
        nodes = np.array(end.nodes, np.int64)
        if end.literal is None:
            return nodes
        wanted = self._terms.values(np.array([self._terms.constant(end.literal)]))
        if wanted.kinds[0] < NUMBER:
            return nodes
        predicates = (pattern.predicate for pattern in patterns if pattern.tail == end)
        relations = {number for one in predicates if isinstance(one, Relations) for number in one.numbers}
        tails = distinct(np.concatenate([nodes, *(self._scan(number)[1] for number in relations)]))
        values = self._terms.values(tails)
        same = (values.kinds == wanted.kinds[0]) & (values.sizes == wanted.sizes[0]) & (values.rests == wanted.rests[0])
        return distinct(np.concatenate([nodes, tails[same]]))

    def _scan(self, relation: int) -> tuple[IntArray, IntArray]:
        """Heads and tails of all edges of a relation."""
        offsets, relations, ends = self._graph.rows(Direction.OUT)
        at = np.flatnonzero(relations == relation)
        return np.searchsorted(offsets, at, "right") - 1, ends[at].astype(np.int64)

    def _loops(self, pattern: TriplePattern, among: IntArray | None) -> IntArray:
        """Nodes with an edge to themselves."""
        assert isinstance(pattern.predicate, Relations)
        found: list[IntArray] = []
        for number in pattern.predicate.numbers:
            if among is None:
                heads, tails = self._scan(number)
                found.append(heads[heads == tails])
            else:
                found.append(among[self._graph.contains_many(among, np.full(len(among), number), among)])
        return distinct(np.concatenate(found))

    # --- parts -----------------------------------------------------------------------------------
    def _linked(self, patterns: Sequence[TriplePattern], domains: Bounds) -> Iterator[Table]:
        """The solutions of each part of the patterns that hangs together."""
        if not patterns:
            return
        bound = []
        for pattern in patterns:
            assert isinstance(pattern.predicate, Relations) and not isinstance(pattern.tail, Classes)
            link = Link(pattern.predicate.numbers)
            bound.append(BoundPattern(pattern.head.column, link, pattern.tail.column, write_triple(pattern)))
        query = Query(tuple(dict.fromkeys(bound)))
        self._steps = self._steps or adjacency(self._graph, self._limits.check)
        candidates = {name: nodes for name, nodes in domains.items() if name in query.names}
        found = match(self._graph, query, candidates=candidates, steps=self._steps)
        self._limits.check()
        if found.emptied_by is not None:
            yield Table.empty(query.names)
            return
        parts = solutions(self._graph, found, self._limits.rows, self._limits.check)
        self._limits.check()
        if parts is None:
            raise self._limits.too_many()
        for part in parts:
            yield Table(part.columns, len(part))

    def _alone(
        self,
        patterns: Sequence[TriplePattern],
        linked: Sequence[TriplePattern],
        later: Sequence[TriplePattern],
        domains: Bounds,
    ) -> Iterator[Table]:
        """The nodes of variables and constants that no edge binds."""
        known = {end.column for pattern in linked for end in pattern.ends}
        heads = {pattern.head.column for pattern in later}
        for pattern in patterns:
            for end in pattern.ends if pattern not in later else (pattern.head,):
                key = end.column
                if key in known:
                    continue
                known.add(key)
                nodes = domains.get(key)
                if nodes is None and key in heads:
                    nodes = np.arange(self._graph.num_entities)
                assert nodes is not None
                yield Table({key: nodes}, len(nodes))

    def _joined(self, left: Table, right: Table) -> Table:
        found = joined(left, right, self._limits)
        self._limits.check()
        return found

    # --- paths -----------------------------------------------------------------------------------
    def _with_path(self, tables: Sequence[Table], pattern: TriplePattern, domains: Bounds) -> list[Table]:
        """The tables with the ends of a path joined with the pairs of nodes that it joins, and the others."""
        assert not isinstance(pattern.tail, Classes)
        head, tail = pattern.head.column, pattern.tail.column
        ends: list[IntArray | None] = []
        for key in (head, tail):
            column = next((table.columns[key] for table in tables if key in table.columns), None)
            ends.append(domains.get(key) if column is None else distinct(column))
        heads, tails = self._paths.pairs(pattern.predicate, *ends)
        if head == tail:
            heads = tails = heads[heads == tails]
        joining = [table for table in tables if head in table.columns or tail in table.columns]
        others = [table for table in tables if not any(table is one for one in joining)]
        return [*others, functools.reduce(self._joined, joining, Table({head: heads, tail: tails}, len(heads)))]

    def _choices(self, tables: Sequence[Table], end: End, domains: Bounds) -> int:
        """How many nodes an end of a path may be."""
        key = end.column
        sizes = [table.length for table in tables if key in table.columns]
        return min(sizes) if sizes else len(domains[key]) if key in domains else self._graph.num_nodes

    # --- labels and classes as values ------------------------------------------------------------
    def _with_texts(self, table: Table, pattern: TriplePattern) -> Table:
        """With the labels, or the classes, of a column in another."""
        assert isinstance(pattern.tail, Var)
        nodes = table.columns[pattern.head.column]
        if isinstance(pattern.predicate, Labelled):
            is_entity = (nodes >= 0) & (nodes < self._graph.num_entities)
            table = table.filter(is_entity)
            texts = self._graph.texts(table.columns[pattern.head.column])
            column = self._terms.ids(Values.of_texts(texts))
        else:
            rows, classes = self._classes(nodes)
            table, column = table.take(rows), classes
        name = pattern.tail.name
        if name not in table.columns:
            return table.extended(name, column)
        return table.filter(table.columns[name] == column)

    def _classes(self, nodes: IntArray) -> tuple[IntArray, IntArray]:
        """Rows of a column, and a class of the node there, as terms."""
        columns = self._graph.node_columns()
        inside = np.flatnonzero((nodes >= 0) & (nodes < self._graph.num_entities))
        starts, stops = columns.type_offsets[nodes[inside]], columns.type_offsets[nodes[inside] + 1]
        rows = inside[np.repeat(np.arange(len(inside)), stops - starts)]
        of_code = np.array([self._terms.class_term(id) for id in self._graph.type_ids], np.int64)
        found = columns.type_codes[concat_ranges(starts, stops)]
        return rows, of_code[found] if len(of_code) else np.empty(0, np.int64)

    def _named_once(self, table: Table, patterns: Sequence[TriplePattern]) -> Table:
        """Rows that differ only in which node of a name they have, once."""
        constants = {end for pattern in patterns for end in pattern.ends if isinstance(end, Constant)}
        several = (one.column for one in constants if len(one.nodes) != 1)
        columns = [table.columns[name] for name in several if name in table.columns]
        if table.length == 0 or all(column.min() == column.max() for column in columns):
            return table
        hidden = {one.column for one in constants}
        shown = [column for name, column in table.columns.items() if name not in hidden]
        return table.take(first_rows(*codes(shown, table.length)))


def bounds_of(table: Table, names: Sequence[str], at_most: int) -> dict[str, IntArray]:
    """The nodes that a table allows its variables, for those without unbound rows, if they are not too many."""
    found = {}
    for name in names:
        column = table.columns.get(name)
        if column is not None and len(column) <= at_most and not (column == UNBOUND).any():
            found[name] = distinct(column)
    return found
