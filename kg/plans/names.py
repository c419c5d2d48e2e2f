"""Names in plans: each is looked up by the place where it stands.

A predicate names relations, the object of `a` a class, any other name nodes: all that share it. A name is found by id,
label or alias in any spelling of its words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.errors import PlanError
from triplecheck.kg.graph import Graph
from triplecheck.kg.linking import Linker
from triplecheck.kg.patterns.bind import SchemaNames
from triplecheck.kg.plans.algebra import Classes, Constant, IsA, Labelled, Relations
from triplecheck.kg.plans.notation import name_of, spellings, write_label, write_value
from triplecheck.kg.readable import singular
from triplecheck.kg.types import Direction, Literal
from triplecheck.kg.values import valid
from triplecheck.kg.vocabulary import RDF, RDFS

_HOMONYMS = 1_000
_TYPE_WORDS = frozenset({"type", "instance of", "is a", "is an", "a", "kind"})


class PlanNames:
    """Looks up the names of plans about one graph.

    Args:
        linker: finds its nodes by name; None: by id and value only.
        topics: nodes of names that are known beforehand; they are used before all others.
    """

    def __init__(
        self, graph: Graph, linker: Linker | None = None, *, topics: Mapping[str, Sequence[int]] | None = None
    ) -> None:
        self.graph = graph
        self._linker, self._schema = linker, SchemaNames(graph)
        self._topics = {name: tuple(sorted(set(nodes))) for name, nodes in (topics or {}).items()}

    # --- predicates and classes ------------------------------------------------------------------
    def predicate(self, iri: str) -> Relations | IsA | Labelled:
        """What a predicate stands for.

        Raises:
            PlanError: the graph has no relation of this name.
        """
        name = name_of(iri)
        if name == RDF + "type" and self.graph.has_types:
            return IsA()
        for spelling in spellings(name):
            if numbers := self._schema.relations(spelling):
                return Relations(write_label(spelling), numbers)
        if name == RDFS + "label":
            return Labelled()
        if self.graph.has_types and name.casefold() in _TYPE_WORDS:
            return IsA()
        if name == RDF + "type":
            raise PlanError("the graph has no classes: leave 'a' and its class out, or name a relation")
        plain = spellings(name)[-1]
        kind = "a class" if self._schema.type_ids(plain) else ""
        raise self._unknown("relation", plain, self._schema.like_relation(plain), kind)

    def classes(self, iri: str) -> Classes:
        """The classes of a name, also in the plural.

        Raises:
            PlanError: the graph has no class of this name.
        """
        name = name_of(iri)
        for form in (str, _singular):
            for spelling in spellings(name):
                if ids := self._schema.type_ids(form(spelling)):
                    return Classes(write_label(spelling), ids)
        plain = spellings(name)[-1]
        kind = "a relation" if self._schema.relations(plain) else self._value(plain)
        raise self._unknown("class", plain, self._schema.like_type(plain), kind)

    def _value(self, name: str) -> str:
        """A hint for a name that is the value of one relation: "a value: ?x <colour> <red>"; empty for others."""
        value = next((one for one in (name, _singular(name)) if self._named(one)), name)
        counts = self.graph.relation_counts(self._named(value))
        into = {one.relation for one in counts if one.direction is Direction.IN}
        if len(into) != 1:
            return ""
        return f"a value: ?x {write_label(self.graph.relation(into.pop()).label)} {write_label(value)}"

    # --- nodes -----------------------------------------------------------------------------------
    def node(self, iri: str) -> Constant:
        """The nodes of a name.

        Raises:
            PlanError: nothing in the graph has this name.
        """
        name = name_of(iri)
        for spelling in spellings(name):
            if nodes := self._named(spelling):
                return Constant(write_label(spelling), nodes)
        plain = spellings(name)[-1]
        kind = "a class" if self._schema.type_ids(plain) else "a relation" if self._schema.relations(plain) else ""
        like = [] if self._linker is None else [one.label for one in self._linker.candidates(plain, limit=3)]
        raise self._unknown("thing", plain, list(dict.fromkeys(like)), kind)

    def value(self, literal: Literal) -> Constant:
        """A value as the object of a triple: the nodes with its text, none if there are none."""
        return Constant(write_value(literal), self._named(literal.lexical, literal), literal)

    def _named(self, name: str, literal: Literal | None = None) -> tuple[int, ...]:
        """The nodes of a name, ascending."""
        if name in self._topics:
            return self._topics[name]
        name = valid(name)
        found = set(self._by_id(name))
        if literal is not None and (same := self.graph.find(literal)) is not None:
            found.add(same)
        if literal is None and any(self.graph.literal(node) is None for node in found):
            return tuple(sorted(found))
        candidates = () if self._linker is None else self._linker.candidates(name, limit=_HOMONYMS)
        exact = [one for one in candidates if one.is_exact]
        if literal is not None:  # a value is written as it is
            best = [one for one in exact if one.label == literal.lexical]
        else:
            labelled = [one for one in exact if one.label == name]
            best = labelled or [one for one in exact if one.source != "alias"] or exact
        return tuple(sorted(found | {one.node for one in best}))

    def _by_id(self, name: str) -> list[int]:
        if isinstance(self.graph, ColumnarGraph):
            return self.graph.nodes_of_text(name)
        node = self.graph.find(name)
        return [] if node is None else [node]

    def _unknown(self, kind: str, name: str, like: Sequence[str], other: str) -> PlanError:
        listed = ", ".join(repr(label) for label in like if label != name)
        hint = f"; it is {other}" if other else f"; is it {listed}?" if listed else ""
        return PlanError(f"no {kind} {name!r} in the graph{hint}")


def _singular(name: str) -> str:
    first, _, last = name.rpartition(" ")
    return f"{first} {singular(last)}".strip()
