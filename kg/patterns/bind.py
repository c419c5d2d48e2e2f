"""Binding: from patterns in words to patterns on node numbers (Algorithm 3 of 4StepFocus).

Names of relations and types are found by id, label or alias in any spelling of their words; a constant is bound to
all nodes of that name in the graph.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from rapidfuzz import process

from triplecheck.kg.graph import Graph, IntArray
from triplecheck.kg.linking import Candidate, Linker, spelling_fit
from triplecheck.kg.names import normalize
from triplecheck.kg.patterns.query import BoundPattern, Dropped, Link, Query, write_pattern
from triplecheck.kg.readable import entity_label, local_name, relation_label
from triplecheck.kg.types import Direction, Literal, Name, Pattern, Variable

_SUGGESTED = 3


class SchemaNames:
    """Looks up relations and types of one graph by name."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._relations: dict[str, set[int]] = {}
        self._types: dict[str, set[str]] = {}
        for number in range(graph.num_relations):
            relation = graph.relation(number)
            names = (relation.id, relation.label, *relation.aliases, relation_label(relation.id))
            for form in _forms(names):
                self._relations.setdefault(form, set()).add(number)
        for id in graph.type_ids:
            for form in _forms((id, graph.type_label(id), local_name(id), entity_label(id))):
                self._types.setdefault(form, set()).add(id)

    def relations(self, name: str) -> tuple[int, ...]:
        """Relations with this id or name, ascending; empty if unknown."""
        known = self._graph.find_relation(name)
        if known is not None:
            return (known,)
        return tuple(sorted(self._relations.get(_form(name), ())))

    def type_id(self, name: str) -> str | None:
        """The type with this id or name; of several the first by id."""
        return min(self._types.get(_form(name), ()), default=None)

    def type_ids(self, name: str) -> tuple[str, ...]:
        """All types with this id or name, ascending; empty if unknown."""
        return tuple(sorted(self._types.get(_form(name), ())))

    def like_relation(self, name: str) -> list[str]:
        """Labels of relations with a similar spelling, for a message."""
        found = process.extract(_form(name), list(self._relations), limit=_SUGGESTED, score_cutoff=60)
        numbers = dict.fromkeys(min(self._relations[form]) for form, _, _ in found)
        return list(dict.fromkeys(self._graph.relation(number).label for number in numbers))

    def like_type(self, name: str) -> list[str]:
        """Labels of types with a similar spelling, for a message."""
        found = process.extract(_form(name), list(self._types), limit=_SUGGESTED, score_cutoff=60)
        return list(dict.fromkeys(self._graph.type_label(min(self._types[form])) for form, _, _ in found))


def _forms(names: Iterable[str]) -> set[str]:
    return {_form(name) for name in names} - {""}


def _form(name: str) -> str:
    """A name without case, accents, punctuation and spaces: `directed_by`, `directedBy` and "directed by" are equal."""
    return normalize(name).replace(" ", "")


# --- constants -----------------------------------------------------------------------------------
CUTOFF = 0.8
"""Minimum similarity of a misspelt name (1 - edit distance / length)."""

ALL_HOMONYMS = sys.maxsize
"""A limit of candidates that cuts nothing off: homonyms stay as a set."""

_EQUAL = 0.05  # names whose fit is worse than the best by more than this are dropped


@dataclass(frozen=True)
class Constant:
    """The nodes of a constant.

    Attributes:
        nodes: all nodes of that name, shape (n,), ascending; may be empty.
        candidates: the same nodes with names and scores, best first; empty for an id.
    """

    nodes: IntArray
    candidates: tuple[Candidate, ...] = ()


class Constants:
    """Looks up the constants of one query, each once (4StepFocus, Algorithm 3).

    Args:
        linker: finds names in it; None if all constants are ids.
        cutoff: minimum similarity of misspelt names, used if no name matches exactly.
        by_vector: if no name is similar either, take the nearest in meaning that the linker finds.
        recognised: candidates of a name that are known beforehand, empty for others; the best of them are used.
        loose: use them even if they have only a part of the name, or it is misspelt beyond the cutoff.
    """

    def __init__(
        self,
        graph: Graph,
        linker: Linker | None,
        *,
        cutoff: float = CUTOFF,
        by_vector: bool = False,
        recognised: Callable[[str], Sequence[Candidate]] = lambda _: (),
        loose: bool = True,
    ) -> None:
        self._graph, self._linker = graph, linker
        self._cutoff, self._by_vector, self._recognised, self._loose = cutoff, by_vector, recognised, loose
        self._known: dict[Name, Constant] = {}

    def look_up(self, name: Name, type_id: str | None) -> Constant:
        """The nodes of a name, only those of a type if one is given."""
        if name not in self._known:
            self._known[name] = self._look_up(name.text, type_id)
        return self._known[name]

    @property
    def looked_up(self) -> Mapping[Name, Constant]:
        """All names looked up so far."""
        return self._known

    def _look_up(self, text: str, type_id: str | None) -> Constant:
        recognised = self._of_type(self._recognised(text), type_id)
        recognised = [c for c in recognised if self._loose or c.is_exact or self._is_near(c)]
        if recognised:
            best = max(c.lexical for c in recognised)
            return _constant([c for c in recognised if c.lexical >= best - _EQUAL])
        named = self._of_type(
            () if self._linker is None else self._linker.candidates(text, limit=ALL_HOMONYMS), type_id
        )
        exact = [c for c in named if c.is_exact]
        if exact:
            return _constant(exact)
        if (node := self._graph.find(text)) is not None:
            return Constant(np.array([node], np.int64))
        misspelt = [c for c in named if self._is_near(c)]
        near = misspelt or [c for c in named if c.source == "dense" and self._by_vector]
        nearest = max((c.lexical for c in near), default=0.0)
        return _constant([c for c in near if c.lexical == nearest])

    def _is_near(self, candidate: Candidate) -> bool:
        return candidate.source == "typo" and candidate.lexical >= spelling_fit(self._cutoff)

    def _of_type(self, candidates: Sequence[Candidate], type_id: str | None) -> list[Candidate]:
        return [c for c in candidates if type_id is None or type_id in self._graph.types(c.node)]


def _constant(found: Sequence[Candidate]) -> Constant:
    return Constant(np.unique(np.array([c.node for c in found], np.int64)), tuple(found))


# --- patterns ------------------------------------------------------------------------------------
def bind(
    graph: Graph,
    patterns: Sequence[Pattern],
    constants: Constants,
    schema: SchemaNames | None = None,
    *,
    enforce_relation: bool = True,
    enforce_direction: bool = True,
    write: Callable[[Pattern], str] = write_pattern,
) -> Query:
    """Look up the names in patterns. Patterns that cannot be used are dropped, each with its reason.

    An unknown relation or type gives a warning; the pattern then allows any.

    Args:
        patterns: an end that is a `str` or `Literal` is an id, a `Name` is looked up.
        constants: looks up names.
        schema: names of relations and types; built from the graph if not given.
        enforce_relation: if False, any relation matches (better, according to 4StepFocus).
        enforce_direction: if False, edges match in both directions.
    """
    ways = (Direction.OUT,) if enforce_direction else tuple(Direction)
    binding = _Binding(graph, constants, schema or SchemaNames(graph))
    bound: dict[BoundPattern, None] = {}
    dropped = []
    for pattern in patterns:
        text = write(pattern)
        reason = binding.unusable(pattern)
        if reason is None:
            link = Link(binding.relations(pattern.relation) if enforce_relation else None, ways)
            bound[BoundPattern(_key(pattern.head), link, _key(pattern.tail), text)] = None
        else:
            dropped.append(Dropped(text, reason))
    used = {end for pattern in bound for end in (pattern.head, pattern.tail)}
    given = {name: nodes for name, nodes in binding.given.items() if name in used}
    types = {name: kind for name, kind in binding.types.items() if name in used}
    return Query(tuple(bound), given, types, tuple(dropped), tuple(dict.fromkeys(binding.warnings)))


class _Binding:
    """What the names in patterns mean: the nodes of constants and the types of variables, with warnings."""

    def __init__(self, graph: Graph, constants: Constants, schema: SchemaNames) -> None:
        self._graph, self._constants, self._schema = graph, constants, schema
        self.given: dict[str, IntArray] = {}
        self.types: dict[str, str] = {}
        self.warnings: list[str] = []

    def unusable(self, pattern: Pattern) -> str | None:
        """Why a pattern cannot be used; None if it can, and its constants have been looked up."""
        if not isinstance(pattern.head, Variable) and not isinstance(pattern.tail, Variable):
            return "it has no variable"
        if _key(pattern.head) == _key(pattern.tail):
            return "the same variable stands on both sides"
        for end in (pattern.head, pattern.tail):
            if isinstance(end, Variable):
                if end.type is not None and (kind := self._type(end.type)) is not None:
                    self.types.setdefault(end.name, kind)
                continue
            nodes = self._nodes(end)
            if len(nodes) == 0:
                kind = f" of type {end.type!r}" if isinstance(end, Name) and end.type else ""
                return f"nothing in the graph is named {_text(end)!r}{kind}"
            self.given[_key(end)] = nodes
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
            self.warnings.append(_unknown("type", name, self._schema.like_type(name)))
        return kind

    def relations(self, name: str | Variable) -> tuple[int, ...] | None:
        """The relations of a name; None, which is any relation, for a variable and an unknown name."""
        found = () if isinstance(name, Variable) else self._schema.relations(name)
        if not found and not isinstance(name, Variable):
            self.warnings.append(_unknown("relation", name, self._schema.like_relation(name)))
        return found or None


def _unknown(kind: str, name: str, like: list[str]) -> str:
    meant = f" (is it {', '.join(repr(label) for label in like)}?)" if like else ""
    return f"no {kind} {name!r} in the graph{meant}; any {kind} was allowed"


def _key(end: str | Literal | Name | Variable) -> str:
    """The name of a variable; for a constant a key that no variable can have."""
    if isinstance(end, Variable):
        return end.name
    kind = f":{end.type}" if isinstance(end, Name) and end.type else ""
    return f"{_text(end)!r}{kind}"


def _text(end: str | Literal | Name) -> str:
    return end if isinstance(end, str) else end.text if isinstance(end, Name) else end.lexical
