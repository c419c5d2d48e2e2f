"""Which relations may begin or end at what a question names."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal

from triplecheck.language.clauses import Clauses
from triplecheck.language.likeness import ROUGHLY, Likeness
from triplecheck.language.parse import Parse
from triplecheck.language.pipeline import pipeline
from triplecheck.language.roles import head_for, is_mutual
from triplecheck.language.text import words_of
from triplecheck.language.things import Unit
from triplecheck.lms.extractive.queries.schema import MEASURES, TIMES, Relation, Schema, Topic, fits
from triplecheck.signatures.query_notation import THING

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


def hops(schema: Schema) -> list[Hop]:
    """All relations, followed both ways."""
    return [Hop(relation, forward) for relation in schema.relations for forward in (True, False)]


class Ends:
    """Tells which units may be at the ends of relations."""

    def __init__(self, parse: Parse, clauses: Clauses, schema: Schema, likeness: Likeness) -> None:
        self._parse, self._clauses, self._schema, self._likeness = parse, clauses, schema, likeness
        self._starts: dict[tuple[str, bool], set[str]] = {}
        self._valued: dict[int, tuple[str, ...]] = {}
        self._named: dict[int, str] = {}
        for hop in hops(schema):
            self._starts.setdefault((hop.relation.label, hop.forward), set()).add(hop.start)

    def classes(self, number: int) -> tuple[str, ...]:
        """The classes that a unit may have; empty if they are not known."""
        unit = self._unit(number)
        if unit.kind == "class":
            return unit.names
        topic = self.topic(number)
        return topic.classes if topic else self._valued.get(number, ())

    def stand_for(self, number: int, value: int) -> None:
        """Note that a unit stands for the things of a value: suppliers for "which florist", if all florists are."""
        topic = self.topic(value)
        ends = {} if topic is None else {one.end: None for one in topic.beside if not one.is_head}
        if len(ends) == 1 and self._schema.classes:
            self._valued[number] = tuple(ends)

    def tell(self, number: int, name: str) -> bool:
        """Note the class to which the relation leads that a noun names; whether it was unknown.

        It says where the noun may be, and not what it has: a teacher "before 1900" need not be born before.
        """
        if self._at_ends(number):
            return False
        self._named[number] = name
        return True

    def _at_ends(self, number: int) -> tuple[str, ...]:
        """The classes of a unit at the end of a relation, also of a noun that names one."""
        named = self._named.get(number)
        return self.classes(number) or (() if named is None else (named,))

    def is_known(self, number: int) -> bool:
        """Whether the classes of a unit are known, or the relations of a topic."""
        topic = self.topic(number)
        return bool(self._at_ends(number)) or (topic is not None and bool(topic.beside))

    def may_start(self, number: int, hop: Hop, topics: Related = "own") -> bool:
        """Whether a unit may be at the start of a hop."""
        if self._is_no_time(self._unit(number), hop):
            return False
        topic = self.topic(number)
        is_value = topic is not None and not topic.classes and bool(self._schema.classes)
        if topic is not None and topic.tells_all and (topics == "own" or is_value):
            if topic.has(hop.relation, as_head=hop.forward):
                return self._is_of(topic, hop)
            return self._holds_parts(topic) and self._is_part(topic, hop)
        return self._may_be_at(number, hop.start, loosely=topics == "any")

    def may_end(self, number: int, hop: Hop, topics: Related = "own") -> bool:
        """Whether a unit may be at the end of a hop."""
        return self.may_start(number, hop.back, topics)

    def fit(self, asked: str, end: str) -> int:
        """How things at an end of a relation fit what a question word asks for; see `language.kinds.fit`."""
        return 0 if end == THING else self._likeness.fits(asked, end)

    def _is_no_time(self, unit: Unit, hop: Hop) -> bool:
        """Whether a hop begins at dates and a noun that is asked for does not speak of them: "which venue"."""
        lexicon = self._parse.lexicon
        if unit.kind != "noun" or hop.start not in TIMES or unit.names[-1] in lexicon.nouns:
            return False
        of_class = self._likeness.bases(hop.end)  # "concert" of the date of a concert
        parts = [part for wording in hop.relation.wordings for part in wording.split()]
        own = [part for part in parts if of_class.isdisjoint(self._likeness.bases(part))]
        return all(self._likeness.of_word(word, own) < ROUGHLY for word in unit.names)

    def _is_of(self, topic: Topic, hop: Hop) -> bool:
        """Whether a hop begins at a class of a topic, or the relation is offered at none of its classes: a pub is
        located in a town, and a town in a county."""
        starts = self._starts[hop.relation.label, hop.forward]
        return hop.start in topic.classes or starts.isdisjoint(topic.classes) or self._is_part(topic, hop)

    def _is_part(self, topic: Topic, hop: Hop) -> bool:
        """Whether what a hop leads back from may lie in a topic: a station in a town, which is in the county."""
        says_part = self._parse.lexicon.says_part
        if hop.forward or not says_part(hop.relation.label):
            return False
        to_whole = [one for one in self._schema.relations if says_part(one.label)]
        within, fresh = set[str](), {hop.start}
        while fresh:
            within |= fresh
            fresh = {one.tail for one in to_whole if one.head in fresh} - within
        return not within.isdisjoint(topic.classes)

    def _holds_parts(self, topic: Topic) -> bool:
        """Whether something lies in a topic, or is a part of it."""
        says_part = self._parse.lexicon.says_part
        return any(not one.is_head and says_part(one.relation.strip("<>")) for one in topic.beside)

    def _unit(self, number: int) -> Unit:
        """A unit; what is asked for in place of a reflexive."""
        units, root = self._clauses.units, self._clauses.root
        return units[root] if units[number].kind == "self" and root is not None else units[number]

    def topic(self, number: int) -> Topic | None:
        """The topic of a unit; None if it is none."""
        unit = self._unit(number)
        return self._schema.topic(unit.names[0]) if unit.kind == "topic" else None

    def _may_be_at(self, number: int, end: str, *, loosely: bool) -> bool:
        """Whether a unit may be at an end of a relation."""
        unit, known = self._unit(number), self._at_ends(number)
        if unit.kind == "number":
            return end in MEASURES
        if unit.kind == "noun" and not known:
            return True
        if unit.kind == "word" and not known:
            kind = self._parse.lexicon.questions.get(unit.names[0], "thing")
            if kind == "time":
                return end in TIMES
            return kind not in ("person", "place") or (end not in MEASURES and self.fit(kind, end) >= 0)
        if unit.kind == "topic" and end == "text":
            return not known
        return fits(known, end, loosely=loosely and unit.kind == "topic")

    def is_other(self, number: int, hop: Hop, *, asks_person: bool) -> bool:
        """Whether a hop leads to something else than a unit says, which may be a word that asks for a person."""
        is_noun = self._is_other_role(number, hop) or self._is_only_rated(number, hop)
        return is_noun or (asks_person and self._is_no_one(hop))

    def _is_other_role(self, number: int, hop: Hop) -> bool:
        """Whether a noun stands for those at the other end of a relation than a hop leads to: a player plays, and is
        not played."""
        unit, label = self._clauses.units[number], hop.relation.label
        if unit.kind != "noun" or is_mutual(unit.names[-1], label, self._parse.lexicon.mutual):
            return False
        return head_for(unit.names[-1], [label], self._likeness.language) == ("subject" if hop.forward else "object")

    def _is_only_rated(self, number: int, hop: Hop) -> bool:
        """Whether a relation has a noun only as the time of its rate: "on what day" asks for no rent per day."""
        unit, known = self._clauses.units[number], self._parse.lexicon
        words = words_of(hop.relation.label)
        rated = {word for before, word in itertools.pairwise(words) if before in known.rates}
        return unit.kind == "noun" and hop.relation.kind == "number" and unit.names[-1] in rated

    def _is_no_one(self, hop: Hop) -> bool:
        """Whether a hop leads to common nouns, such as "clover"."""
        last, reader = hop.relation.example.split()[-1:], pipeline(self._likeness.language)
        are_nouns = bool(last) and last[0].islower() and reader.lists_noun(last[0])
        return hop.forward and hop.end == THING and are_nouns
