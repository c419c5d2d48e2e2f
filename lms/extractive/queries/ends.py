"""Which relations may begin or end at what a question names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from triplecheck.language.clauses import Clauses
from triplecheck.language.parse import Parse
from triplecheck.language.things import Unit
from triplecheck.lms.extractive.queries.schema import MEASURES, TIMES, Relation, Schema, Topic, fits

Related = Literal["own", "of its class", "any"]
"""Which relations a topic may have: those that the graph has there, those of its classes, or any."""


@dataclass(frozen=True)
class Hop:
    """A relation, followed from its head (`forward`) or from its tail."""

    relation: Relation
    forward: bool

    @property
    def start(self) -> str:
        """The class at its start."""
        return self.relation.head if self.forward else self.relation.tail

    @property
    def end(self) -> str:
        """The class at its end."""
        return self.relation.tail if self.forward else self.relation.head

    @property
    def back(self) -> Hop:
        """The same relation, followed the other way."""
        return Hop(self.relation, not self.forward)


class Ends:
    """Tells which units may be at the ends of relations."""

    def __init__(self, parse: Parse, clauses: Clauses, schema: Schema) -> None:
        self._parse, self._clauses, self._schema = parse, clauses, schema

    def classes(self, number: int) -> tuple[str, ...]:
        """The classes that a unit may have; empty if they are not known."""
        unit = self._unit(number)
        if unit.kind == "class":
            return unit.names
        topic = self._topic(number)
        return topic.classes if topic else ()

    def is_known(self, number: int) -> bool:
        """Whether the classes of a unit are known, or the relations of a topic."""
        topic = self._topic(number)
        return bool(self.classes(number)) or (topic is not None and bool(topic.beside))

    def may_start(self, number: int, hop: Hop, topics: Related = "own") -> bool:
        """Whether a unit may be at the start of a hop."""
        topic = self._topic(number)
        is_value = topic is not None and not topic.classes and bool(self._schema.classes)
        if topic is not None and topic.tells_all and (topics == "own" or is_value):
            return topic.has(hop.relation, as_head=hop.forward)
        return self._may_be_at(number, hop.start, loosely=topics == "any")

    def may_end(self, number: int, hop: Hop, topics: Related = "own") -> bool:
        """Whether a unit may be at the end of a hop."""
        return self.may_start(number, hop.back, topics)

    def _unit(self, number: int) -> Unit:
        """A unit; what is asked for in place of a reflexive."""
        units, root = self._clauses.units, self._clauses.root
        return units[root] if units[number].kind == "self" and root is not None else units[number]

    def _topic(self, number: int) -> Topic | None:
        unit = self._unit(number)
        return self._schema.topic(unit.names[0]) if unit.kind == "topic" else None

    def _may_be_at(self, number: int, end: str, *, loosely: bool) -> bool:
        """Whether a unit may be at an end of a relation."""
        unit = self._unit(number)
        if unit.kind == "number":
            return end in MEASURES
        if unit.kind == "noun":
            return True
        if unit.kind == "word":
            kind = self._parse.lexicon.questions.get(unit.names[0], "thing")
            if kind == "time":
                return end in TIMES
            return end not in MEASURES if kind in ("person", "place") else True
        if unit.kind == "topic" and end == "text":
            return not self.classes(number)
        return fits(self.classes(number), end, loosely=loosely and unit.kind == "topic")
