"""The proofs of answers: the triples that rows are made of, what was looked through, and ties."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from triplecheck.kg._arrays import used
from triplecheck.kg.errors import PlanError
from triplecheck.kg.graph import IntArray
from triplecheck.kg.plans.algebra import (
    Chain,
    Classes,
    End,
    Inverse,
    IsA,
    Path,
    Relations,
    TriplePattern,
    positive,
    variables,
)
from triplecheck.kg.plans.execute import SELECT, Run, Selected, Step
from triplecheck.kg.plans.limits import Limits
from triplecheck.kg.plans.paths import Paths, is_covered
from triplecheck.kg.plans.plan import Plan
from triplecheck.kg.plans.tables import Table, codes, first_rows, matching
from triplecheck.kg.plans.write import write_expression
from triplecheck.kg.types import Edge
from triplecheck.kg.vocabulary import RDF

EDGES = 50
"""Default maximum of triples that support a row."""
_EXAMPLES = 10
_SECONDS = 2.0  # to look for the ways of paths
_TYPE_LABELS = frozenset(("type", "instance of", "is a"))


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
class Proofs:
    """Proofs of the rows of one run: of its sorted rows, those at some places were given."""

    plan: Plan
    run: Run = field(repr=False)
    selected: Selected = field(repr=False)
    places: IntArray = field(repr=False)

    def support(self, row: int, limit: int) -> tuple[list[Edge], int]:
        """Triples that support a row, and how many there are in all."""
        if not 0 <= row < len(self.places):
            return [], 0
        return self._edges(self._parts(*self.selected.sources(self.places[[row]])), limit)

    def _parts(self, table: Table, rows: IntArray) -> Iterator[tuple[Table, IntArray, Sequence[TriplePattern]]]:
        yield table, rows, self._patterns
        for name in table.columns:
            if name.startswith(SELECT):
                inner = np.unique(table.columns[name][rows])
                chosen = self.run.selects[int(name.removeprefix(SELECT))]
                yield from self._parts(*chosen.sources(inner[inner >= 0]))
        for step in self.run.steps:
            if step.kind == "exists" and step.against is not None:
                solved, patterns = step.against
                shared = [name for name in table.columns if name in solved.columns and name in step.variables]
                found = matching(table.take(rows), solved, shared, self.run.limits)[1]
                yield solved, np.unique(found), patterns

    @cached_property
    def looked_through(self) -> tuple[Looked, ...]:
        """What was looked through: conditions, negations, sorting with a limit, and counts."""
        found = [self._looked(step) for step in self.run.steps]
        chosen, order = self.selected, self.plan.algebra.order
        if order and self.plan.algebra.length is not None:
            given = set(self.places.tolist())
            others = [at for at in range(min(len(chosen.rows), len(given) + _EXAMPLES)) if at not in given]
            parts = [part for at in others for part in self._parts(*chosen.sources(np.array([at])))]
            edges, _ = self._edges(parts, _EXAMPLES)
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
            table, rows = step.seen, np.flatnonzero(~used(step.kept, seen))[:_EXAMPLES]
            patterns = tuple(one for one in self._patterns if variables(one) & step.variables)
        edges, _ = self._edges([(table, rows, patterns)], _EXAMPLES)
        return Looked(step.kind, step.text, seen, len(step.kept), tuple(edges))

    @cached_property
    def _patterns(self) -> tuple[TriplePattern, ...]:
        return tuple(dict.fromkeys(positive(self.plan.algebra)))

    @property
    def ties(self) -> int:
        """Rows that LIMIT or OFFSET cut off, although they equal the first or last row in what rows are sorted by."""
        keys, start, stop = self.selected.keys, self.selected.start, self.selected.stop
        if not self.plan.algebra.order or self.plan.algebra.length is None or start == stop:
            return 0
        outside = np.concatenate([keys[:start], keys[stop:]])
        return int(np.isin(outside, [keys[start], keys[stop - 1]]).sum())

    def with_ties(self) -> IntArray:
        """The places of all rows that share one with a row that was given."""
        chosen, query = self.selected, self.plan.algebra
        if query.start == 0:
            last = chosen.keys[chosen.stop - 1] if chosen.stop else -1
            return np.flatnonzero(chosen.keys <= last)
        ranks = np.unique(chosen.keys, return_inverse=True)[1]
        assert query.length is not None
        return np.flatnonzero((ranks >= query.start) & (ranks < query.start + query.length))

    # --- triples ---------------------------------------------------------------------------------
    def _edges(
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
        graph = self.run.graph
        for pattern in patterns:
            for relation, heads, tails in self._candidates(table, rows, pattern):
                at = np.flatnonzero((np.minimum(heads, tails) >= 0) & (np.maximum(heads, tails) < graph.num_nodes))
                at = at[graph.contains_many(heads[at], np.full(len(at), relation), tails[at])]
                yield at, heads[at], np.full(len(at), relation), tails[at]

    def _of_paths(
        self, table: Table, rows: IntArray, patterns: Sequence[TriplePattern], limit: int
    ) -> Iterator[tuple[IntArray, IntArray, IntArray, IntArray]]:
        """As `_of_patterns`: a shortest way of each of the first rows, as many as are found in a short time."""
        paths = Paths(self.run.graph, Limits(_SECONDS))
        for pattern in patterns:
            if not isinstance(pattern.predicate, Path | Inverse | Chain) or not is_covered(pattern.predicate):
                continue
            ends = [_column(table, rows[:limit], end) for end in pattern.ends]
            if ends[0] is None or len(ends) < 2 or ends[1] is None:
                continue
            for place, (head, tail) in enumerate(zip(ends[0].tolist(), ends[1].tolist(), strict=True)):
                if max(head, tail) >= self.run.graph.num_nodes or min(head, tail) < 0:
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
                nodes = [node for id in ids if (node := self.run.graph.find(id)) is not None]
                for relation in self._type_relations:
                    yield from ((relation, heads, np.full(len(rows), node, np.int64)) for node in nodes)
            case Relations(_, numbers), tail if not isinstance(tail, Classes):
                tails = _column(table, rows, tail)
                if tails is not None:
                    yield from ((number, heads, tails) for number in numbers)

    @cached_property
    def _type_relations(self) -> tuple[int, ...]:
        """The relations from a node to its class, where the graph keeps them as edges."""
        described = ((number, self.run.graph.relation(number)) for number in range(self.run.graph.num_relations))
        return tuple(n for n, one in described if one.id == RDF + "type" or one.label in _TYPE_LABELS)


def _column(table: Table, rows: IntArray, end: End) -> IntArray | None:
    column = table.columns.get(end.column)
    return None if column is None else column[rows]
