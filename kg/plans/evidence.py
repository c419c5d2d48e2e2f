"""The triples of the graph that solutions of a plan are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.errors import PlanError
from triplecheck.kg.graph import IntArray
from triplecheck.kg.plans.algebra import Chain, Classes, End, Inverse, IsA, Path, Relations, TriplePattern, Var
from triplecheck.kg.plans.limits import Limits
from triplecheck.kg.plans.paths import Paths, is_covered
from triplecheck.kg.plans.tables import Table, codes, first_rows
from triplecheck.kg.types import Edge
from triplecheck.kg.vocabulary import RDF

_SECONDS = 2.0
_TYPE_LABELS = frozenset(("type", "instance of", "is a"))


class Evidence:
    """Finds the triples of solutions in one graph."""

    def __init__(self, graph: ColumnarGraph) -> None:
        self._graph = graph
        self._of_class: tuple[int, ...] | None = None

    def edges(
        self, parts: Iterable[tuple[Table, IntArray, Sequence[TriplePattern]]], limit: int
    ) -> tuple[list[Edge], int]:
        """The distinct triples of rows of tables.

        Args:
            parts: a table, rows of it, and the patterns that hold for them.
            limit: maximum number of triples to return.

        Returns:
            (head, relation, tail) row by row, and how many there are in all.
        """
        found = [one for part in parts for one in (*self._of_patterns(*part), *self._of_paths(*part, limit))]
        if not found:
            return [], 0
        columns = [np.concatenate([one[at] for one in found]) for at in range(4)]
        order = np.argsort(columns[0], kind="stable")
        heads, relations, tails = (column[order] for column in columns[1:])
        keys, number = codes([heads, relations, tails], len(heads))
        first = np.sort(first_rows(keys, number))[:limit]
        triples = zip(heads[first].tolist(), relations[first].tolist(), tails[first].tolist(), strict=True)
        return list(triples), number

    def _of_patterns(
        self, table: Table, rows: IntArray, patterns: Sequence[TriplePattern]
    ) -> Iterator[tuple[IntArray, IntArray, IntArray, IntArray]]:
        """Place of the row, head, relation and tail of every triple, per pattern and relation."""
        for pattern in patterns:
            for relation, heads, tails in self._candidates(table, rows, pattern):
                inside = (heads >= 0) & (heads < self._graph.num_nodes) & (tails >= 0) & (tails < self._graph.num_nodes)
                at = np.flatnonzero(inside)
                relations = np.full(len(at), relation, np.int64)
                at = at[self._graph.contains_many(heads[at], relations, tails[at])]
                yield at, heads[at], np.full(len(at), relation, np.int64), tails[at]

    def _of_paths(
        self, table: Table, rows: IntArray, patterns: Sequence[TriplePattern], limit: int
    ) -> Iterator[tuple[IntArray, IntArray, IntArray, IntArray]]:
        """As `_of_patterns`: a shortest way of each of the first rows, as many as are found in a short time."""
        paths = Paths(self._graph, Limits(_SECONDS))
        for pattern in patterns:
            if not isinstance(pattern.predicate, Path | Inverse | Chain) or not is_covered(pattern.predicate):
                continue
            ends = [_column(table, rows[:limit], end) for end in pattern.ends]
            if ends[0] is None or len(ends) < 2 or ends[1] is None:
                continue
            for place, (head, tail) in enumerate(zip(ends[0].tolist(), ends[1].tolist(), strict=True)):
                if max(head, tail) >= self._graph.num_nodes or min(head, tail) < 0:
                    continue
                try:
                    way = paths.trace(pattern.predicate, head, tail)
                except PlanError:  # the time is over
                    break
                columns = np.array(way, np.int64).reshape(-1, 3).T
                yield np.full(len(way), place), columns[0], columns[1], columns[2]

    def _candidates(
        self, table: Table, rows: IntArray, pattern: TriplePattern
    ) -> Iterator[tuple[int, IntArray, IntArray]]:
        heads = _column(table, rows, pattern.head)
        if heads is None:
            return
        match pattern.predicate, pattern.tail:
            case IsA(), Classes(_, ids):
                nodes = [node for id in ids if (node := self._graph.find(id)) is not None]
                for relation in self._type_relations:
                    yield from ((relation, heads, np.full(len(rows), node, np.int64)) for node in nodes)
            case Relations(_, numbers), tail if not isinstance(tail, Classes):
                tails = _column(table, rows, tail)
                if tails is not None:
                    yield from ((number, heads, tails) for number in numbers)

    @property
    def _type_relations(self) -> tuple[int, ...]:
        """The relations from a node to its class, where the graph keeps them as edges."""
        if self._of_class is None:
            described = ((number, self._graph.relation(number)) for number in range(self._graph.num_relations))
            self._of_class = tuple(n for n, one in described if one.id == RDF + "type" or one.label in _TYPE_LABELS)
        return self._of_class


def _column(table: Table, rows: IntArray, end: End) -> IntArray | None:
    column = table.columns.get(end.name if isinstance(end, Var) else end.column)
    return None if column is None else column[rows]
