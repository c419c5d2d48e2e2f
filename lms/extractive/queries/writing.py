"""From a question to a query: its things, the relations that join them, and the operation over them.

A query is written only if it says all that the question says: each content word, each topic and each number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from triplecheck.kg.plans.notation import write_label
from triplecheck.kg.types import Literal
from triplecheck.kg.values import quantity
from triplecheck.language.clauses import Attachment, Clauses, Unit, content_words, read_clauses
from triplecheck.language.likeness import Likeness
from triplecheck.language.operations import Comparison, Extreme, Limit, TimeLimit, adjective_of, compared, degree
from triplecheck.language.operations import number as number_at
from triplecheck.language.question import Question
from triplecheck.language.relevance import Encode
from triplecheck.lms.extractive.queries.joins import COVERED, NOUN_COVERED, Join, Joiner, least_likeness
from triplecheck.lms.extractive.queries.measures import Measure, measure_of, measure_of_words
from triplecheck.lms.extractive.queries.schema import Relation, Schema, fits
from triplecheck.lms.extractive.queries.text import QueryText
from triplecheck.lms.prompt import Prompt


def write_query(prompt: Prompt, encode: Encode) -> dict[str, object]:
    """The query that the question needs; `none` if it needs none, or if the schema does not say what it says."""
    writer = _Writer(prompt, encode)
    if not writer.needs_query:
        return {"reasoning": "The question asks for what stands beside a topic.", "query": "none"}
    try:
        return {"reasoning": "", "query": writer.written()}
    except _Unsaid as error:
        return {"reasoning": str(error), "query": "none"}


_NUMBER = re.compile(r"-?\d[\d,.]*")
_BOUNDS = {"after": ">", "since": ">=", "before": "<", "until": "<="}
_SAME_CLASS = 0.55
"""Of a relation that leads to the class that two things are asked to share: "the same team"."""


class _Unsaid(Exception):
    """A part of the question that no query of this schema says."""


@dataclass
class _Said:
    """What is written so far: the term of each unit, the values of each, the words that are said."""

    terms: dict[int, str] = field(default_factory=dict)
    values: dict[tuple[int, str], str] = field(default_factory=dict)
    words: set[int] = field(default_factory=set)


class _Writer:
    def __init__(self, prompt: Prompt, encode: Encode) -> None:
        self.schema = Schema.of(prompt)
        names = [wording for relation in self.schema.relations for wording in relation.wordings]
        self.question: Question = _without_named_order(prompt.question(names), names)
        self.parse = self.question.parse
        self.lexicon = self.parse.lexicon
        self.likeness = Likeness(encode, prompt.language)
        self.likeness.prepare([*names, *self.schema.classes])
        self.text = QueryText()
        self.said = _Said()

    # --- what the question says ----------------------------------------------------------------
    @cached_property
    def taken(self) -> set[int]:
        """The tokens that say an operation or a bound."""
        question, found = self.question, set[int]()
        for bound in (*question.limits, *question.times):
            found.update(range(*bound.span))
            found -= {at for at in range(*bound.span) if self.parse.pos(at) == "NOUN"}
        if question.compares is not None:
            found.add(question.compares.at)
        phrases = [*self.lexicon.quantities, *(p for some in self.lexicon.aggregates.values() for p in some)]
        for at in range(len(self.parse)):
            for phrase in phrases:
                found.update(range(at, self.parse.said(at, phrase)))
            if degree(self.parse, at):
                found.add(at)
                found.update(i for i in (adjective_of(self.parse, at),) if i is not None)
        if question.ordinal is not None:
            found.add(self.parse.words.index(question.ordinal.text))
        if question.asked.attribute and question.asked.word not in ("where", "when"):
            found.update(self._asking)
        return found

    @property
    def _asking(self) -> range:
        """The tokens of "how old"."""
        at = next((i for i, word in enumerate(self.parse.words) if word in self.lexicon.questions), 0)
        return range(at, min(at + 2, len(self.parse)))

    @cached_property
    def clauses(self) -> Clauses:
        """The things that the question speaks of."""
        names = {tuple(sorted(self.likeness.bases(w))) for r in self.schema.relations for w in r.wordings}
        compounds = [
            tuple(self.parse.lemma(i) for i in range(start, end))
            for start in range(len(self.parse))
            for end in (start + 2, start + 3)
            if end <= len(self.parse)
            and not any(self.parse.is_stop(i) for i in (start, end - 1))
            and tuple(sorted(self.likeness.bases(" ".join(self.parse.words[start:end])))) in names
        ]
        return read_clauses(self.question, self.schema.classes, compounds, self.taken)

    @cached_property
    def joiner(self) -> Joiner:
        """Finds the relations between them."""
        return Joiner(self.parse, self.clauses, self.schema, self.likeness)

    @property
    def units(self) -> tuple[Unit, ...]:
        """The things that the question speaks of."""
        return self.clauses.units

    @property
    def needs_query(self) -> bool:
        """Whether the question computes, excludes, bounds, asks whether, or joins things of classes."""
        question = self.question
        computes = question.compares or question.ordinal or question.aggregate or question.limits
        bounds = any(limit.is_bound for limit in question.times)
        if computes or bounds or question.negations or question.asks_whether:
            return True
        classes = [unit for unit in self.units if unit.kind == "class"]
        topics = [unit for unit in self.units if unit.kind == "topic"]
        root = self.clauses.root
        describes = any(not unit.is_asked for unit in classes)
        lists = len(topics) > 1 or (root is not None and self.units[root].kind == "class")
        return describes or lists

    # --- the query -----------------------------------------------------------------------------
    def written(self) -> str:
        """The query.

        Raises:
            _Unsaid: it would leave a part of the question out.
        """
        if self.clauses.root is None:
            raise _Unsaid("The question speaks of nothing in the graph.")
        self.root = self.clauses.root
        query = (
            self._difference()
            or self._same()
            or self._same_as()
            or self._choice()
            or self._whether()
            or self._selected()
        )
        self._check_all_said()
        return query

    def _of_verb(self) -> tuple[int, Measure] | None:
        """Whose value is asked for, and which, where a verb says it: "what do our cakes cost on average"."""
        if self.units[self.root].kind != "word" or self.question.asked.kind not in ("thing", "manner", "number"):
            return None
        for number, unit in enumerate(self.units):
            verb = self.parse.tokens[unit.at].head
            if number == self.root or not self.parse.is_a(unit.at, "nsubj") or self.parse.pos(verb) != "VERB":
                continue
            words = self._words([verb])
            measure = measure_of_words(self.schema, self._classes(number), words, self.likeness)
            if measure is not None and measure.score >= COVERED:
                self.said.words.add(verb)
                return number, measure
        return None

    def _selected(self) -> str:
        """SELECT: the things, their number, a value, the first of an order."""
        of_verb = self._of_verb()
        if of_verb is not None:
            self.said.words.update(range(*self.units[self.root].span))
            self.root = of_verb[0]
            self.clauses = replace(
                self.clauses,
                root=self.root,
                attachments=tuple(
                    replace(one, to=self.root) if one.to == self.clauses.root else one
                    for one in self.clauses.attachments
                    if one.unit != self.root
                ),
            )
        self._write_joins()
        self._write_bounds()
        self._write_existence()
        answer = self._answer() if of_verb is None else self._value(*of_verb)
        if not answer.startswith("?"):
            raise _Unsaid("Nothing is asked for.")
        return self._ordered(answer) or self._aggregated(answer)

    def _answer(self) -> str:
        """The variable that is asked for: of the root, or of its value ("how old")."""
        attribute = self.question.asked.attribute
        if not attribute or self.units[self.root].kind in ("noun", "word") or self.question.counts:
            return self._term(self.root)
        measure = measure_of_words(self.schema, self._classes(self.root), attribute.split(), self.likeness)
        if measure is None:
            raise _Unsaid(f"No relation is a {attribute}.")
        return self._value(self.root, measure)

    # --- yes or no, differences ----------------------------------------------------------------
    def _whether(self) -> str | None:
        if not self.question.asks_whether:
            return None
        found = self.question.compares
        standard = self._standard(found) if found is not None and found.degree != "Sup" else None
        if found is not None and standard is not None:
            self._compare_with(found, self._owner(found.at), standard)
        self._write_joins()
        self._write_bounds()
        self._write_existence()
        self._term(self.root)
        if self.text.is_empty:
            raise _Unsaid("Nothing is asked whether it holds.")
        return f"ASK {self.text.where}"

    def _standard(self, found: Comparison) -> int | None:
        """The topic after "than", or after an order such as "before"."""
        than = self.lexicon.than | ({found.text} if not found.degree else set())
        for number, unit in enumerate(self.units):
            cases = {self.parse.words[i] for i in self.parse.dependents(unit.at, "case", "mark")}
            before = self.parse.words[unit.at - 1] if unit.at else ""
            if unit.kind == "topic" and (cases | {before}) & than:
                return number
        return None

    def _compare_with(self, found: Comparison, owner: int, standard: int) -> None:
        """A filter: the value of one thing is greater or smaller than that of another."""
        if owner == standard:
            owner = next((number for number in self._topics if number != standard), self.root)
        measure = self._measure(owner, found)
        one, other = self._value(owner, measure), self._value(standard, measure)
        operator = ">" if measure.operation == "max" else "<"
        self._filter(f"{one} {operator} {other}", self._is_denied(found.at))
        self.said.words.add(found.at)
        self.compared_with = standard

    def _difference(self) -> str | None:
        aggregate = self.question.aggregate
        if aggregate is None or aggregate.kind != "difference":
            return None
        topics = [number for number, unit in enumerate(self.units) if unit.kind == "topic"]
        if len(topics) != 2:
            raise _Unsaid("A difference needs two things.")
        found = self.question.compares
        one, other = topics
        if found is not None:
            measure = self._measure(one, found)
        else:
            words = [at for at in self._content if at not in self.said.words]
            measure = self._named_measure(one, words)
        values = self._value(one, measure), self._value(other, measure)
        self.said.words.update(at for unit in self.units for at in range(*unit.span))
        return f"SELECT (ABS({values[0]} - {values[1]}) AS ?difference) {self.text.where}"

    @property
    def _topics(self) -> list[int]:
        return [number for number, unit in enumerate(self.units) if unit.kind == "topic"]

    def _same(self) -> str | None:
        """Whether two things have the same of something."""
        topics = self._topics
        if not self.question.asks_same or len(topics) != 2:
            return None
        relation = self._shared([self.joiner.classes(topic) for topic in topics])
        self._write_shared([self._name(topic) for topic in topics], relation)
        return f"ASK {self.text.where}"

    def _same_as(self) -> str | None:
        """The things that have the same of something as a topic: "who lives in the same city as X"."""
        topics = self._topics
        is_same = any(
            not self.lexicon.same.isdisjoint({t.lemma, w})
            for t, w in zip(self.parse.tokens, self.parse.words, strict=True)
        )
        if not is_same or self.question.asks_whether or len(topics) != 1 or self.root == topics[0]:
            return None
        topic = topics[0]
        ends = [self.joiner.classes(topic)]
        if self.units[self.root].kind == "class":
            ends.append(self.joiner.classes(self.root))
        relation = self._shared(ends)
        variable = self._term(self.root)
        self._write_shared([variable, self._name(topic)], relation)
        self.text.add(f"FILTER({variable} != {self._name(topic)})")
        return f"SELECT DISTINCT {variable} {self.text.where}"

    def _write_shared(self, ends: Sequence[str], relation: str) -> None:
        """That things have the same value of a relation; dates are the same if their years are."""
        dated = any(one.label == relation and one.tail == "date" for one in self.schema.relations)
        years = dated and any(self.parse.lemma(at) in self.lexicon.years for at in range(len(self.parse)))
        values = [self.text.variable("year") for _ in ends] if years else ["?same"] * len(ends)
        for end, value in zip(ends, values, strict=True):
            self.text.triple(end, relation, value)
        if years:
            self.text.add(f"FILTER(YEAR({values[0]}) = YEAR({values[1]}))")

    def _shared(self, ends: Sequence[tuple[str, ...]]) -> str:
        """The relation that things are asked to share."""
        words = sorted(
            at for at in self._content if not self.lexicon.same & {self.parse.lemma(at), self.parse.words[at]}
        )
        texts = self._words(words)
        timed = any(self.lexicon.nouns.get(self.parse.lemma(at)) == "time" for at in words)
        words = [at for at in words if self.lexicon.nouns.get(self.parse.lemma(at)) != "time"]
        texts = self._words(words)
        named = {name for unit in self.units if unit.kind == "class" for name in unit.names}
        by_label: dict[str, list[Relation]] = {}
        for relation in self.schema.relations:
            by_label.setdefault(relation.label, []).append(relation)
        options = [
            (
                max(max(self.likeness.of_words(texts, one.wordings), _SAME_CLASS * (one.tail in named)) for one in own),
                label,
            )
            for label, own in by_label.items()
            if all(any(fits(classes, one.head) for one in own) for classes in ends)
            and (not timed or own[0].kind == "time")
        ]
        score, label = max(options, default=(0.0, ""))
        self.said.words.update(at for unit in self.units for at in range(*unit.span))
        self.said.words.update(self._content - set(words))
        if score < COVERED:
            raise _Unsaid(f"No relation is {' '.join(texts)!r}.")
        self.said.words.update(words)
        return label

    def _choice(self) -> str | None:
        """Which of some topics is the first of an order: "who is older, A or B"."""
        found, topics = self.question.compares, self._topics
        either = any(join.kind == "or" for join in self.question.joins)
        if found is None or self.question.asks_whether or not either or len(topics) < 2:
            return None
        variable = self.text.variable("one")
        self.text.add(f"VALUES {variable} {{ {' '.join(map(self._name, topics))} }}")
        for number, unit in enumerate(self.units):
            if unit.kind == "topic":
                self.said.terms[number] = variable
            self.said.words.update(range(*unit.span))
        measure = self._measure(topics[0], found)
        value = self._value(topics[0], measure)
        way = "DESC" if measure.operation == "max" else "ASC"
        return f"SELECT {variable} {self.text.where} ORDER BY {way}({value}) LIMIT 1"

    # --- joins ---------------------------------------------------------------------------------
    compared_with: int | None = None

    def _write_joins(self) -> None:
        attachments = self._attachments()
        for one in attachments:
            if self._is_other(one):
                self.text.add(f"FILTER({self._term(one.to)} != {self._term(one.unit)})")
        attachments = [
            replace(one, denied=one.denied != one.excluded) for one in attachments if not self._is_other(one)
        ]
        found = self.joiner.best([one for one in attachments if not self._is_list(one)])
        if found is None:
            raise _Unsaid("No relation joins the things that the question names.")
        by_unit = {join.attachment.unit: join for join in found}
        self._joins = by_unit
        denied = {one.attachment.unit for one in found if one.attachment.denied}
        inside = {unit for unit in denied for unit in (unit, *self._beneath(unit, found))}
        self._term(self.root)
        for join in found:
            if join.attachment.unit not in inside:
                self._write_join(join)
        for unit in sorted(denied):
            if unit in {below for other in denied - {unit} for below in self._beneath(other, found)}:
                raise _Unsaid("Something is denied twice.")
            self._write_denied(by_unit[unit], [by_unit[below] for below in self._beneath(unit, found)])

    def _attachments(self) -> list[Attachment]:
        """Those that relations must say: not a standard of comparison, not what a bound counts."""
        return [
            one
            for one in self.clauses.attachments
            if one.unit != self.compared_with and self.units[one.unit].kind != "word"
        ]

    def _is_other(self, one: Attachment) -> bool:
        """Whether a topic is of the class of the things that it is excluded from."""
        own, others = self.joiner.classes(one.unit), self.joiner.classes(one.to)
        same = not own or not others or not set(own).isdisjoint(others)
        return one.excluded and self.units[one.unit].kind == "topic" and same

    def _is_list(self, one: Attachment) -> bool:
        """Whether a topic stands beside another in a list, so that both have the same join."""
        if one.with_ is None:
            return False
        if self.units[one.unit].kind == "class":
            return one.with_ == self.root
        return one.alternative or one.with_ == self.root

    def _list_of(self, unit: int) -> list[int]:
        """A topic and those listed with it."""
        return [unit, *(one.unit for one in self.clauses.attachments if one.with_ == unit and self._is_list(one))]

    def _beneath(self, unit: int, joins: Sequence[Join]) -> Iterator[int]:
        for join in joins:
            if join.attachment.to == unit:
                yield join.attachment.unit
                yield from self._beneath(join.attachment.unit, joins)

    def _write_denied(self, join: Join, beneath: Sequence[Join]) -> None:
        to = self._term(join.attachment.to)
        if self.text.is_empty:  # "who does not live in X": of all who live anywhere
            self._write_hops(join, self.text.variable("any"), to)
        self.text.begin_denied()
        for one in (join, *beneath):
            self._write_join(one)
        self.text.end_denied()

    def _write_join(self, join: Join) -> None:
        one, other = self._term(join.attachment.unit), self._term(join.attachment.to)
        self._write_hops(join, one, other)
        if len(join.hops) == 1 and join.hops[0].start == join.hops[0].end and join.attachment.to == self.root:
            if one.startswith("<") and other.startswith("?"):  # no one is a partner of their own
                self.text.add(f"FILTER({other} != {one})")
        self.said.words |= join.said

    def _write_hops(self, join: Join, start: str, end: str) -> None:
        at = start
        for number, hop in enumerate(join.hops):
            following = end if number == len(join.hops) - 1 else self.text.variable(hop.end)
            head, tail = (at, following) if hop.forward else (following, at)
            self.text.triple(head, hop.relation.label, tail)
            at = following

    def _term(self, number: int) -> str:
        """The name of a topic, or the variable of a unit, whose class is written where it is first used."""
        if number in self.said.terms:
            return self.said.terms[number]
        unit = self.units[number]
        if unit.kind != "noun" or not self.schema.classes:
            self.said.words.update(range(*unit.span))
        if unit.kind == "topic":
            listed = self._list_of(number)
            names = [self._name(one) for one in listed]
            if len(names) == 1:
                self.said.terms[number] = names[0]
                return names[0]
            variable = self.text.variable("one")
            self.text.add(f"VALUES {variable} {{ {' '.join(names)} }}")
            for one in listed:
                self.said.terms[one] = variable
                self.said.words.update(range(*self.units[one].span))
            return variable
        if unit.kind == "number":
            variable = self.text.variable("value")
            self.text.add(f"FILTER({variable} = {_numeral(unit.names[0])})")
        else:
            variable = self.text.variable(unit.names[0] if unit.kind != "word" else "answer")
            if unit.kind == "class":
                self._write_classes(number, variable)
        self.said.terms[number] = variable
        return variable

    def _write_classes(self, number: int, variable: str) -> None:
        """The class of a variable, and those that "and" or "or" joins to it."""
        unit = self.units[number]
        names = list(unit.names)
        for one in self.clauses.attachments:
            other = self.units[one.unit]
            if one.with_ != number or other.kind != "class" or not self._is_list(one):
                continue
            self.said.words.update(range(*other.span))
            if one.alternative:
                names += other.names
            else:
                self.text.of_class(variable, other.names)
        self.text.of_class(variable, names)

    def _classes(self, number: int) -> tuple[str, ...] | None:
        """The classes of a unit that has values; None if it may be of any."""
        found = self.joiner.classes(number)
        unknown = self.units[number].kind in ("word", "noun") and bool(self.schema.classes)
        return None if unknown and not found else found

    def _name(self, number: int) -> str:
        topic = self.schema.topic(self.units[number].names[0])
        if topic is None:
            raise _Unsaid(f"{self.units[number].names[0]} is no topic.")
        return write_label(topic.name)

    def _write_existence(self) -> None:
        """That a thing has a relation at all: "films that won a prize", "huts without a winter room"."""
        left = [at for at in sorted(self._content - self.said.words) if at not in self.clauses_of_token]
        asks_value = self.question.compares is not None or self.question.aggregate is not None
        if not left or (asks_value and not self.question.negations and not self.question.counts):
            return
        owner = self._owner(left[0])
        words = [self.parse.words[at] for at in left]
        options = [
            (self.likeness.of_words(words, relation.wordings), -number, relation, forward)
            for number, relation in enumerate(self.schema.relations)
            for forward in (True, False)
            if fits(self.joiner.classes(owner), relation.head if forward else relation.tail)
        ]
        score, _, relation, forward = max(options, default=(0.0, 0, None, True), key=lambda one: one[:2])
        if relation is None or score < COVERED:
            return
        denied = any(self._is_denied(at) for at in left)
        named = self.likeness.bases(" ".join(relation.wordings))
        if not denied and not any(self.parse.pos(at) == "NOUN" and self.parse.lemma(at) in named for at in left):
            return
        said = {
            at
            for at in left
            if self.likeness.of_word(self.parse.words[at], relation.wordings) >= least_likeness(self.parse.pos(at))
        }
        said |= {at for at in left if self.parse.pos(at) == "VERB" and self._has_object_in(at, said)}
        ends = self._term(owner), self.text.variable("any")
        if denied:
            self.text.begin_denied()
        self.text.triple(*(ends if forward else ends[::-1])[:1], relation.label, (ends if forward else ends[::-1])[1])
        if denied:
            self.text.end_denied()
        self.said.words |= said

    def _has_object_in(self, at: int, tokens: set[int]) -> bool:
        """Whether the object of a verb is among some tokens, so that the verb says that one has it."""
        return any(child in tokens for child in self.parse.dependents(at, "obj", "obl"))

    # --- bounds --------------------------------------------------------------------------------
    def _write_bounds(self) -> None:
        for limit in self.question.limits:
            self._write_limit(limit)
        for limit in self.question.times:
            self._write_time(limit)
        found = self.question.compares
        if found is not None and found.degree == "Cmp" and found.at not in self.said.words:
            standard = self._standard(found)
            if standard is not None:
                self._compare_with(found, self._owner(found.at), standard)

    having: str = ""

    def _write_limit(self, limit: Limit) -> None:
        graded = next((at for at in range(*limit.span) if degree(self.parse, at) == "Cmp"), None)
        self.said.words.update(at for at in range(*limit.span) if self.parse.pos(at) != "NOUN")
        number = str(int(limit.value)) if limit.value == int(limit.value) else f"{limit.value:g}"
        unit = self._unit(limit, number)
        denied = self._is_denied(limit.span[0])
        found = compared(self.parse, graded) if graded is not None else None
        if found is not None and not found.counts and found.lemma not in self.lexicon.amounts:
            owner = self._owner(found.at)
            measure = self._measure(owner, found)
            operator = ">" if measure.operation == "max" else "<"
            bound = _with_unit(number, unit, measure.relation.example)
            self._filter(f"{self._value(owner, measure)} {operator} {bound}", denied)
            return
        noun = self._noun_of(limit)
        counted = next((n for n, unit in enumerate(self.units) if noun is not None and noun in range(*unit.span)), None)
        if counted is not None and self.units[counted].kind == "class" and counted != self.root:
            self._counted_bound(counted, limit.operator, number)
            return
        owner = self._owner(noun if noun is not None else limit.span[0])
        measure = self._bounded(owner, noun, limit, number, unit)
        bound = _with_unit(number, unit, measure.relation.example)
        self._filter(f"{self._value(owner, measure)} {limit.operator} {bound}", denied)

    def _bounded(self, owner: int, noun: int | None, limit: Limit, number: str, unit: str) -> Measure:
        """The relation to the values that a bound is about: by its noun, its adjective, the verb, or its unit."""
        left = sorted(self._content - self.said.words - set(self.clauses_of_token))
        graded = limit.quantity.split() if noun is None or self.parse.words[noun] != limit.quantity else []
        classes = self._classes(owner)
        for words, tokens in (
            (
                self._words(self._compound(noun)) if noun is not None else [],
                [] if noun is None else self._compound(noun),
            ),
            (graded, []),
            (self._words(left), left),
        ):
            measure = measure_of_words(self.schema, classes, words, self.likeness) if words else None
            if measure is not None:
                self.said.words.update(tokens)
                return measure
        kind = _kind(f"{number} {unit}")
        same = [
            one
            for one in self.schema.relations
            if one.is_measured and (classes is None or fits(classes, one.head)) and unit and _kind(one.example) == kind
        ]
        if len({one.label for one in same}) == 1:
            return Measure(same[0], "max", 0.0)
        aged = [one for one in self.schema.relations if one.kind == "number" and fits(classes or (), one.head)]
        for one in aged if not unit and not words else ():
            if self.lexicon.aged and self.lexicon.aged in one.wordings:  # "over 65"
                return Measure(one, "max", 1.0)
        raise _Unsaid(f"No relation to values is what {limit.text!r} bounds.")

    def _words(self, tokens: Sequence[int]) -> list[str]:
        return [self.parse.words[at] for at in tokens]

    def _unit(self, limit: Limit, number: str) -> str:
        """The unit behind the number of a bound, or the currency before it; empty without one."""
        text, parse = self.question.text, self.parse
        for at in range(limit.span[0], min(limit.span[1] + 1, len(parse))):
            if number_at(parse, at) is None:
                continue
            before = text[: parse.tokens[at].start].rstrip()[-1:]
            if before and _kind(f"{before}{number}").startswith("money"):
                return before
            if at + 1 < len(parse) and _kind(f"{number} {parse.tokens[at + 1].text}"):
                if _kind(f"{number} {parse.tokens[at + 1].text}") != "number":
                    self.said.words.add(at + 1)
                    return parse.tokens[at + 1].text
        return ""

    def _counted_bound(self, unit: int, operator: str, number: str) -> None:
        join = getattr(self, "_joins", {}).get(unit)
        if join is None or join.attachment.to != self.root:
            raise _Unsaid("What is counted is not joined to what is asked for.")
        self.having = f"COUNT(DISTINCT {self._term(unit)}) {operator} {number}"

    def _noun_of(self, limit: Limit) -> int | None:
        """The noun that a bound is about: beside the number, or before the bound."""
        start, end = limit.span
        for at in range(start, min(end + 1, len(self.parse))):
            if self.parse.pos(at) == "NOUN" and (at not in self.said.words or at in self.clauses_of_token):
                return at
        for at in range(start - 1, max(start - 4, -1), -1):
            if self.parse.pos(at) == "NOUN" or at in self.clauses_of_token:
                return at if self.parse.pos(at) == "NOUN" else None
        return None

    @cached_property
    def clauses_of_token(self) -> dict[int, int]:
        """The unit of each token that belongs to one."""
        return {at: number for number, unit in enumerate(self.units) for at in range(*unit.span)}

    def _compound(self, noun: int) -> list[int]:
        """A noun with the nouns before it that belong to it."""
        own = [i for i in self.parse.children(noun) if self.parse.is_a(i, "compound", "amod") and i in self._content]
        return [*own, noun]

    def _write_time(self, limit: TimeLimit) -> None:
        owner = self._owner(limit.span[0])
        above = [at for at in self.parse.ancestors(limit.span[1] - 1) if at in self._content]
        words = above[:1] or [at for at in self._content if at not in self.said.words][:1]
        particles = [i for at in words for i in self.parse.dependents(at, "compound:prt", "advmod")]
        measure = measure_of_words(
            self.schema, self._classes(owner), self._words(sorted({*words, *particles})), self.likeness, ("time",)
        )
        if measure is None:
            measure = self._only_time(owner)
        self.said.words.update(words)
        self.said.words.update(range(*limit.span))
        value = self._value(owner, measure)
        if limit.dates:
            self._filter(_dated(value, limit), self._is_denied(limit.span[0]))
            return
        parts = []
        if limit.start is not None:
            parts.append(f"{value} >= {limit.start}")
        if limit.end is not None:
            parts.append(f"{value} < {limit.end + 1}")
        self._filter(" && ".join(parts), self._is_denied(limit.span[0]))

    def _only_time(self, owner: int) -> Measure:
        """The only relation of things to times."""
        classes = self.joiner.classes(owner)
        found = [one for one in self.schema.relations if one.kind == "time" and classes and fits(classes, one.head)]
        if len({one.label for one in found}) != 1:
            raise _Unsaid("It is not clear which time is meant.")
        return Measure(found[0], "max", 0.0)

    def _filter(self, condition: str, denied: bool) -> None:
        self.text.add(f"FILTER(!({condition}))" if denied else f"FILTER({condition})")

    def _is_denied(self, at: int) -> bool:
        """Whether "not" stands at a token or at the predicate above it."""
        parse = self.parse
        bounds = {i for limit in self.question.limits for i in range(*limit.span)}
        for above in (at, *parse.ancestors(at)):
            below = [i for i in parse.children(above) if i not in bounds]
            if any({parse.words[i], parse.lemma(i)} & self.lexicon.negations for i in below):
                return True
            if parse.pos(above) in ("VERB", "ADJ"):
                return False
        return False

    # --- values --------------------------------------------------------------------------------
    def _measure(self, owner: int, found: Comparison) -> Measure:
        """The relation that a comparison means of some things, or the noun that its adjective belongs to."""
        head = self.parse.tokens[found.at].head
        if found.lemma in self.lexicon.amounts and self.parse.pos(head) == "VERB":
            self.said.words.add(head)
        subjects = [i for i in self.parse.dependents(found.at, "nsubj") if i not in self.clauses_of_token]
        if head == found.at and subjects and self.parse.pos(subjects[0]) == "NOUN":
            head = subjects[0]  # "whose rate is the highest"
        unit = self.clauses_of_token.get(head)
        self.said.words.add(found.at)
        if unit is None and head != found.at and self.parse.pos(head) == "NOUN":
            named = self._named_measure(owner, self._compound(head))
            above = self.parse.tokens[head].head
            if self.parse.is_a(head, "obj") and self.parse.pos(above) == "VERB":
                self.said.words.add(above)  # "covers the smallest area"
            return Measure(named.relation, self._operation(found, named), named.score)
        if (named := self._named_by_rest(owner)) is not None:
            return Measure(named.relation, self._operation(found, named), named.score)
        measure = measure_of(self.schema, self._classes(owner), found, self.likeness)
        if measure is None:
            raise _Unsaid(f"No relation is what {found.text!r} compares.")
        return measure

    def _operation(self, found: Comparison, measure: Measure) -> Extreme:
        """Which end a comparison means of the values of a relation that the question names."""
        relation = measure.relation
        return found.over(
            relation.kind, lambda quantity: max(self.likeness.of_word(w, relation.wordings) for w in quantity.split())
        ).operation

    def _named_by_rest(self, owner: int) -> Measure | None:
        """The relation to values that the words that are not said yet name: "born earlier", "bigger in diameter"."""
        left = sorted(self._content - self.said.words - set(self.clauses_of_token))
        words = [self.parse.words[at] for at in left]
        measure = measure_of_words(self.schema, self._classes(owner), words, self.likeness) if words else None
        if measure is None or measure.score < COVERED:
            return None
        self.said.words.update(left)
        return measure

    def _named_measure(self, owner: int, tokens: Sequence[int]) -> Measure:
        words = [self.parse.words[at] for at in tokens]
        measure = measure_of_words(self.schema, self._classes(owner), words, self.likeness)
        if measure is None:
            raise _Unsaid(f"No relation to values is {' '.join(words)!r}.")
        self.said.words.update(tokens)
        return measure

    def _value(self, owner: int, measure: Measure) -> str:
        key = (owner, measure.relation.label)
        if key not in self.said.values:
            self.said.values[key] = self.text.variable(measure.relation.label)
            self.text.triple(self._term(owner), measure.relation.label, self.said.values[key])
        return self.said.values[key]

    def _owner(self, at: int) -> int:
        """The unit that has what a word says: its noun, the subject of its clause, else what is asked for."""
        parse, own = self.parse, self.clauses_of_token
        if at in own:
            return own[at]
        for above in parse.ancestors(at):
            if above in own and self.units[own[above]].kind in ("class", "topic"):
                return own[above]
            for child in parse.dependents(above, "nsubj"):
                if child in own and child != at:
                    return own[child]
            if parse.is_a(above, "acl") and parse.tokens[above].head in own:
                return own[parse.tokens[above].head]
        for child in parse.dependents(at, "nsubj", "nmod"):
            if child in own:
                return own[child]
        return self.root

    # --- orders and numbers --------------------------------------------------------------------
    def _ordered(self, answer: str) -> str | None:
        """The first of an order: by a value, or by a number of things."""
        found = self.question.compares
        if found is None or (found.degree == "Cmp" and found.at in self.said.words):
            return None
        offset = f" OFFSET {self.question.ordinal.place - 1}" if self.question.ordinal is not None else ""
        if found.counts and (counted := self._counted(found)) is not None:
            self.said.words.add(found.at)
            way = "DESC" if found.operation == "max" else "ASC"
            number = self.text.variable("n")
            return (
                f"SELECT {answer} (COUNT(DISTINCT {self._term(counted)}) AS {number}) {self.text.where} "
                f"GROUP BY {answer} ORDER BY {way}({number}) LIMIT 1{offset}"
            )
        owner = self._owner(found.at)
        if found.counts:
            noun = next(
                i
                for i in range(found.at + 1, len(self.parse))
                if self.parse.pos(i) == "NOUN" and self.parse.lemma(i) not in self.lexicon.tallies
            )
            self.said.words.add(found.at)
            if (query := self._most_related(answer, found, noun)) is not None:
                return query
            named = self._named_measure(owner, self._compound(noun))
            measure = Measure(named.relation, found.operation, named.score)
        else:
            measure = self._measure(owner, found)
        way = "DESC" if measure.operation == "max" else "ASC"
        value = self._value(owner, measure)
        return f"SELECT {answer} {self.text.where} ORDER BY {way}({value}) LIMIT 1{offset}"

    def _most_related(self, answer: str, found: Comparison, noun: int) -> str | None:
        """The things that have the most of what a relation names: "who has the most apprentices"."""
        words = self._words(self._compound(noun))
        options = [
            (self.likeness.of_words(words, one.wordings), -number)
            for number, one in enumerate(self.schema.relations)
            if not one.is_measured and one.tail != "text"
        ]
        score, at = max(options, default=(0.0, 0))
        if score < NOUN_COVERED:
            return None
        relation = self.schema.relations[-at]
        is_of = bool(set(relation.label.casefold().split()[-1:]) & self.lexicon.prepositions)
        other = self.text.variable(words[-1])
        self.text.triple(*((other, relation.label, answer) if is_of else (answer, relation.label, other)))
        self.said.words.update(self._compound(noun))
        way, number = ("DESC" if found.operation == "max" else "ASC"), self.text.variable("n")
        return (
            f"SELECT {answer} (COUNT(DISTINCT {other}) AS {number}) {self.text.where} "
            f"GROUP BY {answer} ORDER BY {way}({number}) LIMIT 1"
        )

    def _counted(self, found: Comparison) -> int | None:
        """The unit whose number is compared: "the most boats"."""
        return next(
            (n for n, unit in enumerate(self.units) if unit.kind == "class" and 0 < unit.at - found.at <= 4), None
        )

    def _aggregated(self, answer: str) -> str:
        """The things, or what is computed of them."""
        aggregate = self.question.aggregate
        if self.having:
            if aggregate is not None:
                raise _Unsaid("Groups are bounded and counted at once.")
            return f"SELECT {answer} {self.text.where} GROUP BY {answer} HAVING({self.having})"
        if aggregate is None:
            return f"SELECT DISTINCT {answer} {self.text.where}"
        root = self._joins_of_root_value
        if aggregate.kind == "count" and not root and not self.question.asked.attribute:
            return f"SELECT (COUNT(DISTINCT {answer}) AS ?number) {self.text.where}"
        function = "AVG" if aggregate.kind == "average" else "SUM"
        if not root and not self.said.values:
            raise _Unsaid(f"No value is there for {aggregate.text!r}.")
        return f"SELECT ({function}({answer}) AS ?{aggregate.kind}) {self.text.where}"

    @property
    def _joins_of_root_value(self) -> bool:
        """Whether what is asked for is a number."""
        ends = [
            (join.hops[-1] if join.attachment.to == self.root else join.hops[0])
            for join in getattr(self, "_joins", {}).values()
            if self.root in (join.attachment.to, join.attachment.unit)
        ]
        return self.units[self.root].kind == "noun" and any(hop.relation.kind == "number" for hop in ends)

    # --- nothing left out ----------------------------------------------------------------------
    @cached_property
    def _content(self) -> frozenset[int]:
        return content_words(self.parse, self.taken)

    def _is_said(self, at: int) -> bool:
        """Whether a relation of the query says a word, or may do so, as a verb has many words."""
        least = least_likeness(self.parse.pos(at))
        used = [one for one in self.schema.relations if self.text.has(one.label)]
        if any(self.likeness.of_word(self.parse.words[at], one.wordings) >= least for one in used):
            return True
        return bool(used) and self.parse.pos(at) == "VERB"

    def _check_all_said(self) -> None:
        left = [at for at in sorted(self._content) if at not in self.said.words and not self._is_said(at)]
        left += [
            at
            for unit in self.units
            if unit.kind in ("topic", "number")
            for at in range(*unit.span)
            if at not in self.said.words
        ]
        if left:
            raise _Unsaid(f"No relation says {' '.join(self.parse.tokens[at].text for at in left)!r}.")
        if self.question.asked.kind == "reason":
            raise _Unsaid("A graph has no reasons.")


def _without_named_order(question: Question, names: Sequence[str]) -> Question:
    """The question, without a comparison that belongs to the name of a relation: "first performance"."""
    found = question.compares
    if found is None:
        return question
    words = question.words
    phrase = " ".join(words[found.at : found.at + 2])
    return replace(question, compares=None) if any(phrase in name.casefold() for name in names) else question


def _dated(value: str, limit: TimeLimit) -> str:
    """A condition on a value that dates bound."""
    first, last = (f'"{limit.dates[at]}"' for at in (0, -1))
    if limit.during in _BOUNDS:
        return f"{value} {_BOUNDS[limit.during]} {first}"
    return f"{value} >= {first} && {value} <= {last}"


def _kind(text: str) -> str:
    """What a text measures; empty if it is no quantity."""
    found = quantity(Literal(text))
    return found.kind if found is not None else ""


def _with_unit(number: str, unit: str, example: str) -> str:
    """A number as a plan has it: with the unit of the question, else with that of the values, if these have one."""
    kind = _kind(example)
    if kind in ("", "number", "time"):
        return number
    given = f"{unit}{number}" if kind.startswith("money") else f"{number} {unit}"
    if unit and _kind(given) == kind:
        return f'"{given}"'
    match = _NUMBER.search(example)
    return f'"{example[: match.start()]}{number}{example[match.end() :]}"' if match else number


def _numeral(text: str) -> str:
    return text.replace(",", "")
