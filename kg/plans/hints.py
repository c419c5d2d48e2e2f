"""Why a plan finds nothing, in plain sentences."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from triplecheck.kg._arrays import distinct
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.errors import PlanError
from triplecheck.kg.graph import Graph, IntArray
from triplecheck.kg.patterns import BoundPattern, Link, Query, match
from triplecheck.kg.plans.algebra import Basic, Call, Classes, Constant, End, IsA, Relations, TriplePattern, Var, parts
from triplecheck.kg.plans.basic import BasicSolver, NotCoveredError
from triplecheck.kg.plans.limits import Limits
from triplecheck.kg.plans.notation import write_label
from triplecheck.kg.plans.plan import Plan
from triplecheck.kg.plans.terms import Terms
from triplecheck.kg.plans.write import write_predicate, write_triple
from triplecheck.kg.types import Direction

_SECONDS = 2.0
_OTHERS = 3  # relations that are named in place of another


@dataclass(frozen=True, slots=True)
class Hint:
    """Why a plan finds nothing.

    Attributes:
        alone: one of its patterns finds nothing alone.
        turned: the relation of this pattern leads the other way round.
        instead: another relation leads from things of the same class to the same thing.
    """

    text: str
    alone: bool = True
    turned: bool = False
    instead: bool = False


def check(graph: Graph, plan: Plan, seconds: float = _SECONDS) -> tuple[Hint, ...]:
    """Hints to a plan that finds nothing: patterns that nothing can match, relations that lead the other way round.

    Args:
        seconds: maximum processor time; what was found until then is returned.

    Returns:
        Hints; none if every pattern has matches, or if nothing can be said about it.
    """
    if not isinstance(graph, ColumnarGraph):
        return ()
    found: list[Hint] = []
    try:
        for hint in _Check(graph, Limits(seconds)).run(plan):
            found.append(hint)
    except (PlanError, NotCoveredError):
        pass
    return tuple(dict.fromkeys(found))


def excluding_nothing(graph: Graph, plan: Plan) -> frozenset[int]:
    """Things that a plan excludes by `!=` from a class that they are not in: leaving them out changes nothing."""
    kinds, found = _kinds(plan), set[int]()
    for call in (one for one in parts(plan.algebra) if isinstance(one, Call) and one.name == "!="):
        own = {id for one in call.arguments if isinstance(one, Var) and one in kinds for id in kinds[one].ids}
        excluded = [node for one in call.arguments if isinstance(one, Constant) for node in one.nodes]
        found.update(node for node in excluded if own and own.isdisjoint(graph.types(node)))
    return frozenset(found)


class _Check:
    def __init__(self, graph: ColumnarGraph, limits: Limits) -> None:
        self._graph, self._limits = graph, limits
        self._solver = BasicSolver(Terms(graph), limits)

    def run(self, plan: Plan) -> Iterator[Hint]:
        kinds = _kinds(plan)
        for basic in (one for one in parts(plan.algebra) if isinstance(one, Basic)):
            hints = [hint for pattern in basic.patterns if (hint := self._of_pattern(pattern, kinds))]
            yield from hints
            if not hints and len(basic.patterns) > 1 and self._solver.solve(basic, {}).length == 0:
                if apart := next(self._apart(basic.patterns), None):
                    yield apart
                    continue
                whole = ", ".join(write_triple(pattern) for pattern in basic.patterns)
                yield Hint(f"each of these alone has matches, all together have none: {whole}", alone=False)

    def _apart(self, patterns: Sequence[TriplePattern]) -> Iterator[Hint]:
        """Hints to pairs of patterns that share a variable: nothing in the graph has both of their relations there."""
        for one, other in itertools.combinations(patterns, 2):
            for end in (end for end in one.ends if end in other.ends):
                self._limits.check()
                near, far = self._at(one, end), self._at(other, end)
                if isinstance(end, Var) and near is not None and far is not None and not np.intersect1d(near, far).size:
                    texts = " and ".join(write_triple(pattern) for pattern in (one, other))
                    yield Hint(f"nothing can be {self._said(end, {})} in both {texts}: leave one of them out")

    def _at(self, pattern: TriplePattern, end: End) -> IntArray | None:
        """What is at an end of the relations of a pattern; None where it has none."""
        if not isinstance(pattern.predicate, Relations) or isinstance(pattern.tail, Classes):
            return None
        return self._nodes_at(pattern.predicate, "head" if end == pattern.head else "tail")

    def _of_pattern(self, pattern: TriplePattern, kinds: dict[End, Classes]) -> Hint | None:
        self._limits.check()
        if not isinstance(pattern.predicate, Relations) or isinstance(pattern.tail, Classes):
            return None
        head, tail = (self._nodes(end, kinds) for end in (pattern.head, pattern.tail))
        if (head is None and tail is None) or self._matches(pattern.predicate, head, tail):
            return None
        name = write_predicate(pattern.predicate)
        if pattern.head != pattern.tail and self._matches(pattern.predicate, tail, head):
            leads, here = self._ends(pattern.predicate), [self._said(end, kinds) for end in pattern.ends]
            text = f"{name} leads from {leads[0]} to {leads[1]}; here it leads from {here[0]} to {here[1]}"
            return Hint(text, turned=True)
        for way, end, nodes in ((Direction.OUT, pattern.head, head), (Direction.IN, pattern.tail, tail)):
            numbers = pattern.predicate.numbers
            if nodes is not None and not any(len(self._graph.expand(nodes, number, way)) for number in numbers):
                whose = self._said(end, kinds)
                others = [] if way is Direction.OUT else self._others(pattern, nodes, head)
                does = f"; {' or '.join(others)} does" if others else ""
                text = f"{whose} has no {name}" if way is Direction.OUT else f"no {name} leads to {whose}{does}"
                return Hint(text, instead=bool(others))
        return Hint(f"nothing matches {write_triple(pattern)}")

    def _nodes(self, end: End, kinds: dict[End, Classes]) -> IntArray | None:
        """The nodes that an end may be; None: any, or values that have no node."""
        if isinstance(end, Constant):
            return np.array(end.nodes, np.int64) if end.nodes or end.literal is None else None
        if end in kinds:
            return distinct(np.concatenate([np.asarray(self._graph.nodes_of_type(id)) for id in kinds[end].ids]))
        return None

    def _matches(self, relations: Relations, head: IntArray | None, tail: IntArray | None) -> bool:
        query = Query((BoundPattern("head", Link(relations.numbers), "tail", relations.text),))
        domains = {name: nodes for name, nodes in (("head", head), ("tail", tail)) if nodes is not None}
        return match(self._graph, query, candidates=domains).emptied_by is None

    def _others(self, pattern: TriplePattern, nodes: IntArray, heads: IntArray | None) -> list[str]:
        """The relations that lead to a named thing from the class at the head, or from what has the relation of the
        pattern; the most frequent first."""
        if not isinstance(pattern.tail, Constant) or isinstance(pattern.head, Constant):
            return []
        assert isinstance(pattern.predicate, Relations)
        near = self._nodes_at(pattern.predicate, "head") if heads is None else heads
        found: Counter[int] = Counter()
        for node in nodes.tolist():
            for count in self._graph.relations_of(node):
                if count.direction is Direction.IN:
                    ends = self._graph.neighbors(node, count.relation, Direction.IN)
                    found[count.relation] += int(np.isin(ends, near).sum())
        return [
            write_label(self._graph.relation(number).label) for number, times in found.most_common(_OTHERS) if times
        ]

    def _nodes_at(self, relations: Relations, end: Literal["head", "tail"]) -> IntArray:
        query = Query((BoundPattern("head", Link(relations.numbers), "tail", relations.text),))
        found = match(self._graph, query).nodes(end)
        return np.empty(0, np.int64) if found is None else found

    def _ends(self, relations: Relations) -> tuple[str, str]:
        """The classes at both ends of a relation, or examples."""
        schema = self._graph.schema(relations.numbers[0])
        sides = [(side[0][0] if side else None) for side in (schema.domain, schema.range)]
        if None not in sides:
            head, tail = (self._graph.type_label(str(side)) for side in sides)
            return head, tail
        offsets, all_relations, ends = self._graph.rows(Direction.OUT)
        at = int(np.argmax(all_relations == relations.numbers[0]))
        node = int(np.searchsorted(offsets, at, "right")) - 1
        return f"{self._graph.label(node)!r}", f"{self._graph.label(int(ends[at]))!r} (for example)"

    def _said(self, end: End, kinds: dict[End, Classes]) -> str:
        if isinstance(end, Constant):
            return end.text
        if end in kinds:
            return " or ".join(dict.fromkeys(self._graph.type_label(id) for id in kinds[end].ids))
        return f"?{end.name}"


def _kinds(plan: Plan) -> dict[End, Classes]:
    """The classes that a plan asks of its variables and names."""
    patterns = (one for one in parts(plan.algebra) if isinstance(one, TriplePattern))
    return {one.head: one.tail for one in patterns if isinstance(one.predicate, IsA) and isinstance(one.tail, Classes)}
