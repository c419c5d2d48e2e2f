"""What a prompt of `WriteQuery` says: its question as a graph, and the schema that answers it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from triplecheck.kg.readable import singular
from triplecheck.language.clauses import Clauses, read_clauses
from triplecheck.language.content import content_words, fillers
from triplecheck.language.coverage import compared_words, operation_words, unnamed_settings, without_named_order
from triplecheck.language.described import places
from triplecheck.language.likeness import NAMES_NOUN, Likeness
from triplecheck.language.operations import Limit, is_common_noun
from triplecheck.language.parse import Parse
from triplecheck.language.question import Question
from triplecheck.language.relevance import Encode
from triplecheck.language.roles import names_deed
from triplecheck.language.things import Unit, asks_place_or_time
from triplecheck.language.times import TimeLimit
from triplecheck.lms.extractive.queries.joins import Joiner
from triplecheck.lms.extractive.queries.measures import measure_of_persons, measure_of_words
from triplecheck.lms.extractive.queries.schema import Relation, Schema
from triplecheck.lms.prompt import Prompt

_LONGEST_NAME = 3
"""Words of a noun that may be the name of a relation."""
_CLEARLY = 0.1
"""By how much a noun must be more like one class than like all others."""


@dataclass(frozen=True)
class Reading:
    """A prompt that was read.

    Attributes:
        question: read with the names of the relations.
        clauses: the things that the question speaks of, and how they are joined.
        content: the tokens that a query has to say.
        unit_at: the number of the unit of each token that belongs to one.
        held: by token, the relation to yes and no that a noun names in place of a class: "vegetarians" among guests.
    """

    question: Question
    schema: Schema
    likeness: Likeness
    clauses: Clauses
    joiner: Joiner
    content: frozenset[int]
    unit_at: Mapping[int, int]
    held: Mapping[int, Relation]

    @property
    def parse(self) -> Parse:
        """The grammar of the question."""
        return self.question.parse

    @property
    def units(self) -> tuple[Unit, ...]:
        """The things that the question speaks of."""
        return self.clauses.units

    @property
    def topics(self) -> list[int]:
        """The numbers of the units that are topics."""
        return [number for number, unit in enumerate(self.units) if unit.kind == "topic"]

    def words(self, tokens: Iterable[int]) -> list[str]:
        """The words at some tokens."""
        return [self.parse.words[at] for at in tokens]

    def classes(self, number: int) -> tuple[str, ...] | None:
        """The classes of a unit that has values; empty if it has none, None if it may be of any."""
        found = self.joiner.ends.classes(number)
        unknown = self.units[number].kind in ("word", "noun") and bool(self.schema.classes)
        return None if unknown and not found else found

    def measures(self, number: int) -> list[Relation]:
        """The relations to values that a unit may have.

        Of a noun that no class tells, those whose name begins with it, if there are any: `street length` of streets.
        Of names that differ in a preposition, the one that the question has: `votes for` and `votes against`.
        """
        unit, found = self.units[number], self.schema.measured(self.classes(number))
        noun = self.likeness.bases(" ".join(unit.names)) if unit.kind == "noun" and not self.schema.classes else set()
        named = [one for one in found if any(noun & self.likeness.bases(text.split()[0]) for text in one.wordings)]
        found = named or found
        said = {one.label for one in found if self._is_said(one.label)}
        words = {self.likeness.bases(label) for label in said}
        return [one for one in found if one.label in said or self.likeness.bases(one.label) not in words]

    def _is_said(self, label: str) -> bool:
        """Whether a name stands in the question, word by word."""
        return any(self.parse.said(at, label.casefold()) for at in range(len(self.parse)))


def read(prompt: Prompt, encode: Encode) -> Reading:
    """Read a prompt."""
    schema = Schema.of(prompt)
    names = [wording for relation in schema.relations for wording in relation.wordings]
    question: Question = without_named_order(prompt.question(names), names)
    likeness = Likeness(encode, prompt.language)
    likeness.prepare([*names, *schema.classes])
    taken = _operating(question)
    named_classes = places(question, schema.classes)
    said = {name for place in named_classes for name in place.names}.union(*(topic.classes for topic in schema.topics))
    held = _held(question, schema, said)
    others = [name for name in names if name not in {wording for one in held.values() for wording in one.wordings}]
    named = _named_by_relations(question.parse, others, schema.classes, likeness)
    taken_by_classes = {at for place in named_classes for at in range(place.start, place.end)}
    taken |= unnamed_settings(question.parse, [*names, *schema.classes], likeness) | fillers(question.parse)
    synonyms = _synonyms(question, schema, likeness, taken | taken_by_classes, said)
    synonyms |= {one.label: one.head for one in held.values()}
    clauses = read_clauses(question, schema.classes, named, taken, synonyms)
    return Reading(
        question,
        schema,
        likeness,
        clauses,
        Joiner(question.parse, clauses, schema, likeness),
        content_words(question.parse, taken),
        {at: number for number, unit in enumerate(clauses.units) for at in unit.tokens},
        held,
    )


def _operating(question: Question) -> set[int]:
    """The tokens that say an operation or a bound."""
    parse, found = question.parse, operation_words(question) | compared_words(question)
    bounds: list[Limit | TimeLimit] = [*question.limits, *question.times]
    for bound in bounds:
        found.update(at for at in range(*bound.span) if parse.pos(at) != "NOUN")
    if question.asked.attribute and not asks_place_or_time(question):
        at = next((i for i, word in enumerate(parse.words) if word in parse.lexicon.questions), 0)
        found.update(range(at, min(at + 2, len(parse))))  # "how old"
    return found


def _named_by_relations(
    parse: Parse, names: Sequence[str], classes: Sequence[str], likeness: Likeness
) -> list[tuple[str, ...]]:
    """The lemmas of what is the name of a relation: compounds ("home port"), and words that are no whole class.

    "Teacher" is the relation where the graph has music teachers only, and "sponsoring" is though there are sponsors.
    """
    known = {likeness.bases(name) for name in names} - {frozenset()}
    whole = {likeness.bases(one) for name in classes for one in (name, singular(name))}  # "booking" of bookings
    found = []
    for start in range(len(parse)):
        for end in range(start + 1, min(start + _LONGEST_NAME, len(parse)) + 1):
            bases = likeness.bases(" ".join(parse.words[start:end]))
            is_verb = end == start + 1 and parse.pos(start) == "VERB"
            is_name = bases in known and (len(bases) > 1 or is_verb or (end == start + 1 and bases not in whole))
            is_name = is_name and _is_phrase(parse, start, end)
            if is_name and not any(parse.is_stop(i) for i in (start, end - 1)):
                found.append(tuple(parse.lemma(i) for i in range(start, end)))
    return found


def _held(question: Question, schema: Schema, said: Collection[str]) -> dict[int, Relation]:
    """The relations to yes and no that nouns name in place of a class, by the last token of the noun: "how many beds do
    the trauma centres have", if hospitals are trauma centres or not.

    Args:
        said: the classes that the question names, and those of its topics; their relations are none.
    """
    flags = schema.flags(question.parse.lexicon.flags)
    relations = {one.label: one for one in flags if one.head in schema.classes}
    named = {
        place.end - 1: relations[place.names[0]]
        for place in places(question, list(relations))
        if not any(question.parse.pos(at) == "VERB" for at in range(place.start, place.end))  # "who reads music"
    }
    return {
        noun: one for noun, one in named.items() if one.head not in said and _stands_for_things(question.parse, noun)
    }


def _stands_for_things(parse: Parse, noun: int) -> bool:
    """Whether a noun stands for things, and is not what they have, as in "who has a garden" and "with a garden"."""
    had = parse.lemma(parse.tokens[noun].head) in parse.lexicon.auxiliaries and parse.is_a(noun, "obj")
    cases = {parse.words[at] for at in parse.dependents(noun, "case")}
    return parse.pos(noun) == "NOUN" and not had and cases <= parse.lexicon.genitives


def _synonyms(
    question: Question, schema: Schema, likeness: Likeness, taken: Collection[int], said: Collection[str]
) -> dict[str, str]:
    """The nouns that name no class, no relation and no unit, each with the class that it stands for: "drug" for
    medicines, "people" for the only class of persons.

    Args:
        taken: tokens that name a class, or say an operation or a bound.
        said: the classes that the question names, and those of its topics.
    """
    if not schema.classes:
        return {}
    parse, found = question.parse, dict[str, str]()
    for at, noun in enumerate(parse.words):
        lemma = parse.lemma(at)
        if lemma in parse.lexicon.occasions and question.counts and (event := _event(schema, parse, likeness)):
            found[lemma] = event
            continue
        if at in taken or not is_common_noun(parse, at) or lemma in parse.lexicon.nouns:
            continue
        if noun in parse.lexicon.persons and parse.is_plural(at):
            is_listed = at == question.asked.at and question.asked.kind != "number"  # "which people": no number
            own = [one for one in schema.relations if one.head in said and not is_listed]
            name = "" if _is_measured(parse, at, own, likeness) else _only_persons(schema, noun, own, likeness)
        else:
            name = _most_like(schema, noun, lemma, likeness) or likeness.general_class(lemma, schema.classes)
        if name:
            found[lemma] = name
    return found


def _event(schema: Schema, parse: Parse, likeness: Likeness) -> str:
    """The class that is called after a verb: rentals for "how many times did X rent"; empty without one."""
    verbs = [parse.lemma(at) for at in range(len(parse)) if parse.pos(at) == "VERB"]
    events = (name for verb in verbs for name in schema.classes if names_deed(verb, name, likeness.language))
    return next(events, "")


def _most_like(schema: Schema, noun: str, lemma: str, likeness: Likeness) -> str:
    """The class that a noun is like, clearly more than all other classes and all relations; empty if there is none.

    A noun is like no class of another kind: a venue is no concert.
    """
    *others, (best, name) = sorted((likeness.cosine(lemma, name), name) for name in schema.classes)
    second = others[-1][0] if others else 0.0
    of_relations = (likeness.of_word(noun, relation.wordings) for relation in schema.relations)
    is_like = best >= max(NAMES_NOUN, second + _CLEARLY, *of_relations)
    return name if is_like and likeness.may_be_of_a_kind(lemma, name) else ""


def _is_measured(parse: Parse, noun: int, relations: Sequence[Relation], likeness: Likeness) -> bool:
    """Whether a noun is the object of a verb that names a number, and only says what is counted: "people" in "serves
    more than 6 people"."""
    verb = parse.words[parse.tokens[noun].head]
    return parse.is_a(noun, "obj") and measure_of_words(relations, [verb], likeness, ("number",)) is not None


def _only_persons(schema: Schema, noun: str, relations: Sequence[Relation], likeness: Likeness) -> str:
    """The only class of persons, which "people" are; empty if there are several, or if one of some relations tells how
    many people there are."""
    may_count = [one for one in relations if likeness.fits("person", one.label) >= 0]
    number = measure_of_persons(may_count, [noun], likeness)
    classes = [name for name in schema.classes if likeness.fits("person", name) > 0]
    return classes[0] if len(classes) == 1 and number is None else ""


def _is_phrase(parse: Parse, start: int, end: int) -> bool:
    """Whether words form a noun phrase: not the verb and the object of "who has inspected bridges"."""
    return all(parse.pos(at) != "VERB" or parse.is_a(at, "amod", "compound") for at in range(start, end - 1))


def is_denied(reading: Reading, at: int) -> bool:
    """Whether "not" stands at a token or at the predicate above it, or this says it itself: "lacks"."""
    parse = reading.parse
    bounds = {i for limit in reading.question.limits for i in range(*limit.span)}
    for above in (at, *parse.ancestors(at)):
        near = [i for i in (above, *parse.children(above)) if i not in bounds]
        if any({parse.words[i], parse.lemma(i)} & parse.lexicon.negations for i in near):
            return True
        if parse.pos(above) in ("VERB", "ADJ"):
            return False
    return False


def compound(reading: Reading, noun: int) -> list[int]:
    """A noun with the words before it that belong to it."""
    parse = reading.parse
    own = [i for i in parse.children(noun) if parse.is_a(i, "compound", "amod") and i in reading.content]
    return [*own, noun]
