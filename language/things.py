"""The things that a question speaks of: its topics, its nouns for classes, and what it asks for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from triplecheck.language.content import told_by_clause
from triplecheck.language.described import Place, places
from triplecheck.language.operations import counts_all, degree, number, reflexives
from triplecheck.language.parse import Parse
from triplecheck.language.question import Question, question_word

UnitKind = Literal["class", "topic", "noun", "word", "number", "self"]

_IN_APPOSITION = ("compound", "appos", "flat")


@dataclass(frozen=True)
class Unit:
    """A thing that a question speaks of.

    Attributes:
        kind: `class` for a noun that names classes, `topic`, `noun` for a noun that is asked for and names no class,
            `word` for a question word alone and for "the person who ...", `number` for a number that bounds nothing,
            `self` for a reflexive that stands for what is asked for ("herself", "his own").
        at: its head token.
        span: its tokens [start, end).
        names: of the classes, or the spelling of the topic, or the words of the noun.
        is_asked: whether the question asks for it.
        is_denied: whether "no" stands before it: "has no boat".
        classes: those that the question says or asks a topic to be of: "is Ada a captain".
        classes_at: their tokens [start, end).
    """

    kind: UnitKind
    at: int
    span: tuple[int, int]
    names: tuple[str, ...]
    is_asked: bool = False
    is_denied: bool = False
    classes: tuple[str, ...] = ()
    classes_at: tuple[int, int] = (0, 0)

    @property
    def tokens(self) -> range:
        """Its tokens."""
        return range(*self.span)


def find_units(
    question: Question,
    classes: Sequence[str],
    named: Collection[int],
    taken: Collection[int],
    synonyms: Mapping[str, str],
) -> tuple[Unit, ...]:
    """The things that a question speaks of, in its order.

    Args:
        classes: the names of classes that it may use.
        named: tokens of nouns that name relations, and so no class.
        taken: tokens that say an operation, a bound or a time.
        synonyms: nouns that mean classes, with the names of these.
    """
    parse = question.parse
    asked = -1 if _asks_whose(parse) else question.asked.at
    found = list(_topics(parse))
    for place in places(question, [*classes, *synonyms]):
        place = replace(place, names=tuple(dict.fromkeys(synonyms.get(name, name) for name in place.names)))
        span = range(place.start, place.end)
        if (asked in span and _is_role(question, place)) or _is_infinitive(parse, place.end - 1):
            continue
        subject, topic = _subject_of(parse, place, found), _with_class(parse, place, found)
        if subject is not None:
            said = found[subject]
            found[subject] = replace(said, classes=place.names, classes_at=(place.start, place.end))
        elif topic is not None:
            first, last = found[topic].span
            both = min(first, span.start), max(last, span.stop)
            found[topic] = replace(found[topic], at=place.end - 1, span=both)
        elif (asked in span or not any(at in named for at in span)) and not any(at in taken for at in span):
            denied = _is_denied(parse, place.end - 1)
            found.append(Unit("class", place.end - 1, (span.start, span.stop), place.names, asked in span, denied))
    found = _as_predicate(parse, _counted(question, _of_which(question, found)))
    found += _persons(parse, found, asked)
    if not any(unit.is_asked for unit in found):
        found += _asked(question, taken)
    found += [*_numbers(parse, taken, found), *(Unit("self", at, (at, at + 1), ()) for at in reflexives(parse))]
    return tuple(sorted(found, key=lambda unit: unit.at))


def _asks_whose(parse: Parse) -> bool:
    """Whether a question asks for those who have something: "whose age is above 40"."""
    word = question_word(parse)
    return word is not None and parse.is_a(word, "nmod:poss") and parse.lexicon.questions[parse.words[word]] == "person"


def _persons(parse: Parse, found: Sequence[Unit], asked: int) -> Iterator[Unit]:
    """The nouns that a clause follows, "the person who trained X", each as a unit like the question word "who"."""
    known = {asked, *(at for unit in found for at in unit.tokens)}
    for at in range(len(parse)):
        if at not in known and told_by_clause(parse, at):
            yield Unit("word", at, (at, at + 1), (_question_word_for(parse, "person"),))


def _is_role(question: Question, place: Place) -> bool:
    """Whether the noun after "who is" says what someone is to another, "the teacher of X", and so a relation."""
    parse = question.parse
    has_copula = any(parse.lemma(at) in parse.lexicon.copulas for at in range(place.start))
    of_other = parse.said_any(place.end, parse.lexicon.prepositions) or any(
        parse.is_a(at, "nmod:poss") and parse.tokens[at].feature("Person") != "1"  # "our oldest patient"
        for at in parse.children(place.end - 1)
    )
    return question.asked.kind == "person" and has_copula and of_other


def _is_infinitive(parse: Parse, at: int) -> bool:
    """Whether a word is what is done, "an hour to cook", and not who does it."""
    return parse.pos(at) == "VERB" and any(
        parse.pos(i) == "PART" and parse.words[i] not in parse.lexicon.negations for i in parse.children(at)
    )


def _topics(parse: Parse) -> Iterator[Unit]:
    """The topics, without those that belong to the name of the topic behind them.

    Nothing belongs to a name in lower case: "brown dogs" and "is Ruby brown" have two topics each.
    """
    for at in range(len(parse)):
        head = parse.tokens[at].head
        before_name = head == at + 1 and parse.is_topic(head) and not parse.is_value(head)
        if parse.is_topic(at) and not (before_name and parse.is_a(at, "compound", "amod", "nmod")):
            yield Unit("topic", at, (at, at + 1), (parse.topics[at],), is_denied=_is_denied(parse, at))


def _with_class(parse: Parse, place: Place, units: Sequence[Unit]) -> int | None:
    """The place in a list of the topic whose class a noun says, "the hut Adler"; None if there is none.

    A name in lower case, or before a noun in the plural, is a value of what the noun stands for: "the female lions",
    "the English courses".
    """
    noun = place.end - 1
    for at, unit in enumerate(units):
        below = parse.tokens[unit.at].head == noun and parse.is_a(unit.at, *_IN_APPOSITION)
        above = parse.tokens[noun].head == unit.at and parse.is_a(noun, *_IN_APPOSITION)
        apart = any(parse.pos(i) == "ADP" for i in range(min(noun, unit.at) + 1, max(noun, unit.at)))
        is_value = below and (parse.is_value(unit.at) or parse.is_plural(noun))
        if unit.kind == "topic" and (below or above) and not apart and not is_value:
            return at
    return None


def _subject_of(parse: Parse, place: Place, units: Sequence[Unit]) -> int | None:
    """The place in a list of the topic whose class a predicate noun says, "is Ada a captain"; None without one. A value
    is none: "which bridges are closed"."""
    noun, lexicon = place.end - 1, parse.lexicon
    is_indefinite = any(parse.words[i] in lexicon.clauses.get("indefinite", ()) for i in parse.children(noun))
    for at, unit in enumerate(units):
        above = parse.is_a(unit.at, "nsubj") and parse.tokens[unit.at].head == noun and parse.dependents(noun, "cop")
        # A parser may take "is Ada a captain" for a title.
        below = parse.tokens[noun].head == unit.at and parse.is_a(noun, "appos") and is_indefinite
        is_said = above or (below and parse.lemma(0) in lexicon.copulas)
        if unit.kind == "topic" and is_said and not parse.is_value(unit.at):
            return at
    return None


def _is_denied(parse: Parse, at: int) -> bool:
    """Whether "no" or "not" stands before a noun."""
    lexicon = parse.lexicon
    if any(parse.words[i] in lexicon.negations for i in parse.dependents(at, "det", "advmod", "amod")):
        return True
    first = at
    while first and (parse.pos(first - 1) in ("ADP", "DET", "PROPN", "ADJ") or parse.is_a(first - 1, "compound")):
        first -= 1
        if parse.words[first] in lexicon.negations:
            return True
    of_none = parse.words[first] in lexicon.genitives and parse.words[max(first - 1, 0)] in lexicon.negations
    return first > 0 and (of_none or parse.words[first - 1] in lexicon.neither)  # "none of the boats"


# --- what is asked for -----------------------------------------------------------------------------
def _of_which(question: Question, found: list[Unit]) -> list[Unit]:
    """The units; "of the boats, which ..." and "which of X's boats ..." ask for boats."""
    parse, asked = question.parse, question.asked
    word = question_word(parse)
    if word is not None and parse.said_any(word + 1, parse.lexicon.prepositions):
        after = next((unit for unit in found if unit.kind == "class" and unit.at > word), None)
        nouns = [at for at in range(word, after.span[0] if after else 0) if parse.is_noun(at)]
        if after is not None and not nouns and not any(unit.is_asked for unit in found):
            return [replace(unit, is_asked=unit is after) for unit in found]
    first = min(found, key=lambda unit: unit.at, default=None)
    if first is None or first.kind != "class" or parse.words[0] not in parse.lexicon.genitives:
        return found
    names_other = parse.is_noun(asked.at) and not parse.is_stop(asked.at)
    if names_other or (question_word(parse) or 0) < first.at or any(unit.is_asked for unit in found):
        return found
    return [replace(unit, is_asked=unit is first) for unit in found]


def _counted(question: Question, found: list[Unit]) -> list[Unit]:
    """The units; "what is the number of boats" asks for boats."""
    parse = question.parse
    place = parse.find(parse.lexicon.aggregates.get("count", ()))
    counts = question.aggregate is not None and question.aggregate.kind == "count"
    if place is None or not counts or any(unit.is_asked for unit in found):
        return found
    behind = [unit for unit in found if unit.kind == "class" and unit.at >= place[1]]
    first = min(behind, key=lambda unit: unit.at, default=None)
    if first is None or not all(map(parse.is_stop, range(place[1], first.span[0]))):
        return found
    return [replace(unit, is_asked=unit is first) for unit in found]


def _as_predicate(parse: Parse, found: list[Unit]) -> list[Unit]:
    """The units; "who is a captain" asks for captains, and "which captains" though a parser takes them for a verb."""
    word = question_word(parse)
    if word is None or any(unit.is_asked for unit in found):
        return found
    for unit in found:
        above = word in parse.dependents(unit.at, "nsubj") and parse.dependents(unit.at, "cop")
        below = unit.at in parse.dependents(word, "nsubj") and parse.dependents(word, "cop")
        determined = parse.is_a(word, "det") and parse.tokens[word].head == unit.at
        follows = unit.span[0] == word + 1 and parse.lexicon.questions[parse.words[word]] == "thing"
        if unit.kind == "class" and (above or below or determined or follows):
            return [replace(one, is_asked=one is unit) for one in found]
    return found


def _asked(question: Question, taken: Collection[int]) -> list[Unit]:
    """What is asked for by a noun that names no class, or by a question word alone."""
    parse, asked, word = question.parse, question.asked, question_word(question.parse)
    if word is None and (request := requested_value(parse)) is not None:
        verb, _ = request
        return [Unit("word", verb, (verb, verb + 1), (_question_word_for(parse, "thing"),), is_asked=True)]
    if asked.at >= 0 and asked.at not in taken and not parse.is_stop(asked.at) and not _asks_whose(parse):
        start = asked.at
        while start and parse.tokens[start - 1].head == asked.at and parse.is_a(start - 1, "compound"):
            start -= 1
        words = tuple(parse.lemma(i) for i in range(start, asked.at + 1))
        return [Unit("noun", asked.at, (start, asked.at + 1), words, is_asked=True)]
    if word is None or question.asks_whether:
        return []
    quantity = parse.find(parse.lexicon.quantities)
    if quantity is not None and parse.is_topic(parse.tokens[quantity[1] - 1].head):  # "how many starters"
        return [Unit("word", quantity[1] - 1, quantity, (parse.words[word],), is_asked=True)]
    says_nothing_else = quantity is None and not asked.attribute.strip()
    if says_nothing_else or asks_place_or_time(question):
        return [Unit("word", word, (word, word + 1), (parse.words[word],), is_asked=True)]
    return []


def requested_value(parse: Parse) -> tuple[int, int] | None:
    """The verb of a request for things by a value that they have, and the value: "list all basses who ..."; None for
    other requests."""
    for value in filter(parse.is_value, range(len(parse))):
        at, verb = value, parse.tokens[value].head
        if parse.is_a(at, "nsubj") and parse.is_a(verb, "ccomp"):  # "list all dogs born in 2019", as a parser reads it
            at, verb = verb, parse.tokens[verb].head
        # "list all dogs" is parsed with each of these.
        if parse.is_a(at, "obj", "ccomp", "obl:npmod") and parse.lemma(verb) in parse.lexicon.requests:
            return verb, value
    return None


def _question_word_for(parse: Parse, kind: str) -> str:
    """The first question word that asks for a kind of answer: "who" for `person`."""
    return next((word for word, own in parse.lexicon.questions.items() if own == kind), "")


def asks_place_or_time(question: Question) -> bool:
    """Whether the question word is "where" or "when", which ask for a thing or for a value."""
    return question.parse.lexicon.questions.get(question.asked.word) in ("place", "time")


def _numbers(parse: Parse, taken: Collection[int], found: Sequence[Unit]) -> Iterator[Unit]:
    """The numbers that bound nothing and belong to no other unit."""
    for at in range(len(parse)):
        is_free = at not in taken and not parse.is_topic(at) and not any(at in unit.tokens for unit in found)
        asks = at > 0 and parse.words[at - 1] in parse.lexicon.questions  # "which one"
        one_of = parse.said_any(at + 1, parse.lexicon.prepositions)  # "is it one of the sponsors", "the oldest one"
        is_pronoun = parse.is_stop(at) and (
            asks or one_of or any(degree(parse, i) for i in parse.dependents(at, "amod"))
        )
        if is_free and not is_pronoun and not counts_all(parse, at) and number(parse, at) is not None:
            yield Unit("number", at, (at, at + 1), (parse.tokens[at].text,))
