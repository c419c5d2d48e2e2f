"""The proofs of answers: the triples that rows are made of, what was looked through, and ties."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from triplecheck.kg.graph import IntArray
from triplecheck.kg.plans.algebra import TriplePattern, positive, variables
from triplecheck.kg.plans.evidence import Evidence
from triplecheck.kg.plans.execute import SELECT, Run, Selected, Step
from triplecheck.kg.plans.plan import Plan
from triplecheck.kg.plans.tables import Table, matching
from triplecheck.kg.plans.write import write_expression
from triplecheck.kg.types import Edge

EDGES = 50
"""Default maximum of triples that support a row."""
_EXAMPLES = 10


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
    """Proofs of the rows of one run.

    Attributes:
        plan: the plan.
        run: what ran it.
        selected: its sorted rows.
        places: which of them were given.
    """

    plan: Plan
    run: Run = field(repr=False)
    selected: Selected = field(repr=False)
    places: IntArray = field(repr=False)

    def support(self, row: int, limit: int) -> tuple[list[Edge], int]:
        """Triples that support a row, and how many there are in all."""
        if not 0 <= row < len(self.places):
            return [], 0
        return self._evidence.edges(self._parts(*self.selected.sources(self.places[[row]])), limit)

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
                found = matching(table.take(rows), solved, shared, self.run.limits.rows)[1]
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
        return Evidence(self.run.graph)

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
