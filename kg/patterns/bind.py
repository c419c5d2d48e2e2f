"""From patterns in words to patterns on node numbers (Algorithm 3 of 4StepFocus)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from triplecheck.kg.graph import Graph, IntArray
from triplecheck.kg.patterns.constants import Constants
from triplecheck.kg.patterns.parse import write_pattern
from triplecheck.kg.patterns.query import BoundPattern, Dropped, Link, Query
from triplecheck.kg.patterns.schema_names import SchemaNames
from triplecheck.kg.types import Direction, Literal, Name, Pattern, Variable


def bind(
    graph: Graph,
    patterns: Sequence[Pattern],
    constants: Constants,
    schema: SchemaNames | None = None,
    *,
    enforce_relation: bool = True,
    enforce_direction: bool = True,
) -> Query:
    """Look up what patterns name. Those that cannot be used are dropped, each with its reason.

    An unknown relation or type is a warning: the pattern then holds for any.

    Args:
        graph: the graph.
        patterns: ends that are a `str` or `Literal` are ids, a `Name` is looked up.
        constants: looks up names.
        schema: names of relations and types, where they are at hand.
        enforce_relation: off: any relation will do (which 4StepFocus found to be better).
        enforce_direction: off: an edge may run either way.
    """
    return _Binding(graph, constants, schema or SchemaNames(graph), enforce_relation, enforce_direction).run(patterns)


class _Binding:
    def __init__(
        self,
        graph: Graph,
        constants: Constants,
        schema: SchemaNames,
        enforce_relation: bool,
        enforce_direction: bool,
    ) -> None:
        self._graph, self._constants, self._schema = graph, constants, schema
        self._enforce_relation = enforce_relation
        self._directions = (Direction.OUT,) if enforce_direction else (Direction.OUT, Direction.IN)
        self._given: dict[str, IntArray] = {}
        self._types: dict[str, str] = {}
        self._dropped: list[Dropped] = []
        self._warnings: list[str] = []

    def run(self, patterns: Sequence[Pattern]) -> Query:
        bound = []
        for pattern in patterns:
            text = write_pattern(pattern)
            reason = self._unusable(pattern)
            if reason is None:
                bound.append(BoundPattern(_key(pattern.head), self._link(pattern), _key(pattern.tail), text))
            else:
                self._dropped.append(Dropped(text, reason))
        distinct = tuple(dict.fromkeys(bound))
        used = {end for pattern in distinct for end in (pattern.head, pattern.tail)}
        return Query(
            distinct,
            {name: nodes for name, nodes in self._given.items() if name in used},
            {name: kind for name, kind in self._types.items() if name in used},
            tuple(self._dropped),
            tuple(dict.fromkeys(self._warnings)),
        )

    def _unusable(self, pattern: Pattern) -> str | None:
        """Why a pattern cannot be used; None where it can, and its ends are then known."""
        if not isinstance(pattern.head, Variable) and not isinstance(pattern.tail, Variable):
            return "it has no variable"
        if _key(pattern.head) == _key(pattern.tail):
            return "the same variable stands on both sides"
        for end in (pattern.head, pattern.tail):
            if isinstance(end, Variable):
                if end.type is not None and (kind := self._type(end.type)) is not None:
                    self._types.setdefault(end.name, kind)
                continue
            nodes = self._nodes(end)
            if len(nodes) == 0:
                kind = f" of type {end.type!r}" if isinstance(end, Name) and end.type else ""
                return f"nothing in the graph is named {_text(end)!r}{kind}"
            self._given[_key(end)] = nodes
        return None

    def _nodes(self, end: str | Literal | Name) -> IntArray:
        if isinstance(end, Name):
            kind = None if end.type is None else self._type(end.type)
            return self._constants.look_up(end, kind).nodes
        node = self._graph.find(end)
        return np.array([] if node is None else [node], np.int64)

    def _type(self, name: str) -> str | None:
        kind = self._schema.type_id(name)
        if kind is None:
            self._warnings.append(_unknown("type", name, self._schema.like_type(name)))
        return kind

    def _link(self, pattern: Pattern) -> Link:
        if not self._enforce_relation or isinstance(pattern.relation, Variable):
            return Link(None, self._directions)
        relations = self._schema.relations(pattern.relation)
        if not relations:
            self._warnings.append(_unknown("relation", pattern.relation, self._schema.like_relation(pattern.relation)))
        return Link(relations or None, self._directions)


def _unknown(kind: str, name: str, like: list[str]) -> str:
    meant = f" (is it {', '.join(repr(label) for label in like)}?)" if like else ""
    return f"no {kind} {name!r} in the graph{meant}; any {kind} was allowed"


def _key(end: str | Literal | Name | Variable) -> str:
    """A variable's name; for a constant what no variable is called."""
    if isinstance(end, Variable):
        return end.name
    kind = f":{end.type}" if isinstance(end, Name) and end.type else ""
    return f"{_text(end)!r}{kind}"


def _text(end: str | Literal | Name) -> str:
    return end if isinstance(end, str) else end.text if isinstance(end, Name) else end.lexical
