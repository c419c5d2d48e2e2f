"""Which words of a question, read with its topics masked, a query leaves out."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from triplecheck.kg.readable import singular
from triplecheck.kg.values import converted
from triplecheck.language.content import content_words, owners, settings, told_by_clause
from triplecheck.language.described import places
from triplecheck.language.likeness import (
    COMPARED,
    NAMES,
    NAMES_NOUN,
    OF_ONE_DIMENSION,
    ROUGHLY,
    SURELY,
    Likeness,
    least_likeness,
    unit_kind,
    unit_of_name,
)
from triplecheck.language.operations import (
    LONGEST_UNIT,
    Comparison,
    Limit,
    adjective_of,
    compared,
    degree,
    end_of_unit,
    is_known,
    is_money,
    is_unit,
    number,
    reflexives,
)
from triplecheck.language.parse import Parse
from triplecheck.language.pipeline import pipeline
from triplecheck.language.question import Question
from triplecheck.language.roles import names_deed
from triplecheck.language.text import words_of
from triplecheck.language.times import TimeLimit

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass(frozen=True)
class QuerySays:
    """What a query says.

    Attributes:
        relations: the names of each relation.
        dated: whether a relation has dates or years for values.
        classes: the names of classes, also of those at the ends of its relations.
        open: whether a thing at an end of its relations may have no class, so that no class need be said.
        operations: such as `count`, `sum`, `order`, `order desc`, `offset`, `limit 3`, `filter`, `not exists`; see
            `kg.plans`.
        numbers: the numbers in it, as written.
        triples: how many triples with a relation it has.
        units: the units of its values that only the graph has, such as "crowns".
        ordered: of `relations`, those by whose values it orders, or of which it takes the least or the largest.
        by_date: whether one of these has dates or years for values.
    """

    relations: Sequence[Sequence[str]]
    dated: bool
    classes: Sequence[str]
    open: bool
    operations: Collection[str]
    numbers: Collection[str]
    triples: int = 1
    units: Collection[str] = ()
    ordered: Sequence[Sequence[str]] = ()
    by_date: bool = False


@dataclass(frozen=True)
class LeftOut:
    """What a query leaves out of a question.

    Attributes:
        surely: words that no part of the query stands for.
        maybe: words that its relations may mean, but do not name, since between two things there are few relations;
            the class of the answers where the graph does not tell it; and units of bounds that only the question has.
        weakest: likeness of the word that its names say least; 1 if they say all words exactly.
    """

    surely: tuple[str, ...]
    maybe: tuple[str, ...]
    weakest: float = 1.0


def left_out(
    question: Question,
    said: QuerySays,
    likeness: Likeness,
    others: Iterable[str] = (),
    every: Sequence[str] = (),
) -> LeftOut:
    """The words of a question that no part of a query stands for, in the order of the question.

    Args:
        others: the names of the relations that the query does not use; a word that is one of them, alone, means that.
        every: the names of the classes and relations of the graph.
    """
    own_names = [name for names in said.relations for name in names]
    question = without_named_order(question.naming(own_names), own_names)
    parse = question.parse
    named = {at for place in places(question, list(said.classes)) for at in range(place.start, place.end)}
    asks_things = question.asked.at in named and question.asked.kind != "number"
    found = dict(_operations(question, said, likeness, named, asks_things=asks_things))
    maybe, weakest = list[str](), 1.0
    likeness.prepare(own_names)
    kinds = [[name] for name in said.classes]
    order = question.compares
    counted = parse.tokens[order.at].head if order is not None and order.counts else -1  # "the most languages"
    names = [*said.relations, *kinds]
    about_all = unnamed_settings(parse, every, likeness)
    unused = {likeness.bases(name) for name in others if not name.split()[1:]} - {frozenset()}
    numbers = _numbers(said)
    for at in content_words(parse, _operating(question)):
        least = least_likeness(parse.pos(at))
        if at in named or _is_computed(question, at, said) or number(parse, at) in numbers:
            continue
        if told_by_clause(parse, at) and said.triples > 1:
            continue
        are_persons = parse.words[at] in parse.lexicon.persons and parse.is_plural(at)
        if are_persons and any(likeness.fits("person", own) > 0 for own in said.classes):
            maybe.append(parse.tokens[at].text)
            continue
        fit = _fit(parse.words[at], names, likeness)
        if parse.pos(at) == "NOUN" and fit < least:  # "worker" is more like an employee than "workers"
            fit = max(fit, _fit(parse.lemma(at), kinds, likeness))
        if parse.pos(at) == "NOUN" and ROUGHLY <= fit < least and _phrase_fits(parse, at, said, likeness):
            fit = least
        weakest = min(weakest, fit)
        if fit >= max(least, SURELY):
            continue
        if likeness.bases(parse.words[at]) in unused:
            found[at] = parse.tokens[at].text
            continue
        in_order = at > 0 and degree(parse, at - 1) and fit >= OF_ONE_DIMENSION  # "the least weight", of a load limit
        is_open = said.open and at in (question.asked.at, counted)
        is_general = parse.pos(at) == "NOUN" and likeness.general_class(parse.lemma(at), said.classes) != ""
        may_be = (
            fit >= least or in_order or is_open or is_general or at in about_all or _follows_name(parse, at, own_names)
        )
        if may_be or parse.pos(at) == "VERB":
            maybe.append(parse.tokens[at].text)
        else:
            found[at] = parse.tokens[at].text
    maybe += _units_left_out(question, said)
    return LeftOut(tuple(found[at] for at in sorted(found)), tuple(maybe), weakest)


def _phrase_fits(parse: Parse, noun: int, said: QuerySays, likeness: Likeness) -> bool:
    """Whether a noun with the words before it that say of what kind it is surely means a relation: "hourly pay", of
    `hourly rate`."""
    own = [at for at in parse.dependents(noun, "amod", "compound") if not parse.is_topic(at) and not degree(parse, at)]
    phrase = [parse.words[at] for at in (*own, noun)]
    return bool(own) and any(likeness.of_words(phrase, names) >= SURELY for names in said.relations)


def _follows_name(parse: Parse, at: int, names: Iterable[str]) -> bool:
    """Whether a noun stands behind a name that ends in an adjective: "drug-free sport", of `drug free`."""
    if parse.pos(at) != "NOUN" or at == 0 or parse.pos(at - 1) != "ADJ":
        return False
    sizes = {name.casefold(): len(name.split()) for name in names}
    return any(size > 1 and parse.said(at - size, name) for name, size in sizes.items())


def unnamed_settings(parse: Parse, names: Iterable[str], likeness: Likeness) -> set[int]:
    """The nouns for what the whole graph may be about, see `content.settings`, that no name of it has.

    Args:
        names: of its relations and classes.
    """
    found = settings(parse) | {at for at in owners(parse) if likeness.is_group(parse.lemma(at))}
    known = {word for name in names for word in likeness.bases(name)} if found else set()
    return {at for at in found if likeness.bases(parse.words[at]).isdisjoint(known)}


def without_named_order(question: Question, names: Sequence[str]) -> Question:
    """The question, without a comparison that belongs to the name of a relation: "first performance", "their latest
    inspection" of `last inspection`."""
    found, parse = question.compares, question.parse
    if found is None or found.at + 1 >= len(parse):
        return question
    phrase = " ".join(question.words[found.at : found.at + 2])
    is_named = any(f" {phrase} " in f" {name.casefold()} " for name in names)
    noun = {question.words[found.at + 1], parse.lemma(found.at + 1)}
    if not is_named and any(parse.pos(i) == "PRON" for i in parse.dependents(found.at + 1, "nmod:poss")):
        said = (name.casefold().split() for name in names)
        is_named = any(
            len(two) == 2 and _is_deed(two[1], noun, question.language) and _takes(parse, two[0], found) for two in said
        )
    return replace(question, compares=None) if is_named else question


def _is_deed(word: str, nouns: Collection[str], language: str) -> bool:
    """Whether a word is one of some forms of a noun, or a form of its verb: "inspected" of "inspection"."""
    verb = pipeline(language).lemma(word, "VERB")
    return word in nouns or any(names_deed(verb, noun, language) for noun in nouns)


def _takes(parse: Parse, word: str, found: Comparison) -> bool:
    """Whether a word for an order takes the same end as a comparison: "last" and "latest"."""
    way = parse.lexicon.orders.get(word, {}).get("time", ("", ""))[0]
    return any(sense.kind == "time" and sense.operation == way for sense in found.senses)


def _is_computed(question: Question, at: int, said: QuerySays) -> bool:
    """Whether a noun only names the unit of a value ("how many minutes"), the year of a date ("the same year"), the
    time that a rate is for, or how often something is done ("how many times")."""
    parse = question.parse
    if said.dated and parse.lexicon.nouns.get(parse.lemma(at)) == "time":
        return True
    if question.counts and parse.lemma(at) in parse.lexicon.occasions:
        return True
    if is_rate(parse, at, [name for names in said.relations for name in names]):
        return True
    if "number" in said.classes and parse.words[at] in parse.lexicon.persons:
        return True  # "how many more people came to"
    if singular(parse.words[at]) in map(singular, said.units):
        return at == question.asked.at or (at > 0 and number(parse, at - 1) is not None)
    return at == question.asked.at and "number" in said.classes and is_unit(parse.tokens[at].text)


def is_rate(parse: Parse, at: int, names: Iterable[str]) -> bool:
    """Whether a noun says the time of a rate, "visitors a year", that one of some names has: `annual visitors`."""
    periods = (
        parse.lexicon.periods.get(parse.lemma(at), ()) if at and parse.words[at - 1] in parse.lexicon.rates else ()
    )
    return any(word in periods for name in names for word in words_of(name)) if periods else False


def unsayable(question: Question) -> list[tuple[int, str]]:
    """The places and words of a question that no triple stands for: why, how, only, each, will."""
    parse = question.parse
    of_all = parse.dependents(question.asked.at, "det") if question.asked.at >= 0 else []  # "list every boat"
    found = [
        (at, parse.tokens[at].text)
        for at, word in enumerate(parse.words)
        if word in parse.lexicon.unsayable and at not in of_all
    ]
    for at in range(len(parse)):
        end = max((parse.said(at, phrase) for phrase in parse.lexicon.future), default=0)
        if end and parse.pos(end) == "VERB" and not parse.is_topic(end):
            found.append((at, parse.written(at, end)))
    if question.asked.kind in ("reason", "manner"):
        found.append((0, question.asked.word))
    return found


def unordered(question: Question) -> list[tuple[int, str]]:
    """The places and words of adjectives that tell no order of values: "the best hotel", "best known hotel", "which
    grows better"."""
    parse, found = question.parse, []
    for at, word in enumerate(parse.words):
        head = parse.tokens[at].head
        of_noun = parse.is_a(at, "amod") or parse.is_a(head, "amod") or parse.pos(at) == "ADJ"
        of_noun |= parse.is_a(at, "advmod") and head == at + 1 and bool(parse.dependents(head, "obj"))
        of_verb = parse.is_a(at, "advmod") and head < at and parse.pos(head) == "VERB" and degree(parse, at) == "Cmp"
        if ((of_noun and degree(parse, at) == "Sup") or of_verb) and parse.lemma(at) in parse.lexicon.unordered:
            found.append((at, word))
    return found


def unasked(
    question: Question, relations: Sequence[Sequence[str]], likeness: Likeness, *, besides_noun: bool = False
) -> list[str]:
    """Of relations, the labels of those that no content word of a question names.

    Args:
        relations: the names of each, its label first.
        besides_noun: leave out the noun that is asked for: "date" of "on what date" names no relation.
    """
    but = {question.asked.at} if besides_noun else set()
    words = [question.parse.words[at] for at in sorted(content_words(question.parse, _operating(question)) - but)]
    return [names[0] for names in relations if all(likeness.of_word(word, names) < NAMES for word in words)]


def unnamed_nouns(question: Question, names: Sequence[str], likeness: Likeness) -> list[str]:
    """The nouns of a question that no name of a relation or class says, but for the class of things that it asks for.

    What is asked for by "the revenue of X" is no class.
    """
    parse = question.parse
    named = {at for place in places(question, list(names)) for at in range(place.start, place.end)}
    asked = question.asked.at if question.asked.kind != "number" else -1
    if any(parse.is_topic(at) for at in parse.dependents(asked, "nmod")):
        asked = -1
    nouns = {at: fit for at, fit in _fits(question, names, likeness).items() if parse.pos(at) == "NOUN"}
    left = (at for at, fit in nouns.items() if at not in named and at != asked and fit < NAMES_NOUN)
    return [parse.tokens[at].text for at in left]


def lacks_attribute(question: Question, names: Sequence[str], likeness: Likeness, *, backwards: bool) -> bool:
    """Whether a question asks for one of its `attributes`, and no name is even roughly like that noun.

    Args:
        names: of the relations and classes of a path.
        backwards: whether the path follows a relation backwards: a noun in the plural, "the films of X", may then stand
            for the things that have the relation.
    """
    parse, own = question.parse, [[name] for name in names]
    asked = (tokens for tokens in attributes(parse) if question.asked.at in tokens or _is_equated(parse, tokens[-1]))
    asked = (tokens for tokens in asked if not (backwards and parse.is_plural(tokens[-1])))
    # One word is enough: a "jersey number" is what "wears number" leads to, a "capital city" what "capital" does.
    fits = ([_fit(parse.words[at], own, likeness) for at in tokens] for tokens in asked)
    return any(each[-1] < NAMES and max(each) < SURELY for each in fits)


def _is_equated(parse: Parse, noun: int) -> bool:
    """Whether "is" joins a noun to a question word: "what is X's revenue"."""
    return any(parse.dependents(at, "cop") for at in (noun, parse.tokens[noun].head))


def attributes(parse: Parse) -> Iterator[list[int]]:
    """The tokens of each noun that stands for what a topic has, after the nouns beside it: "the share price of X"."""
    has = parse.lexicon.auxiliaries - parse.lexicon.copulas
    for topic in (at for at in range(len(parse)) if parse.is_topic(at)):
        noun = head = parse.tokens[topic].head
        cases = {parse.words[at] for at in parse.dependents(topic, "case")}
        if parse.is_a(topic, "nsubj") and parse.lemma(head) in has:
            noun = next(iter(parse.dependents(head, "obj")), head)
        elif not parse.is_a(topic, "nmod") or (cases and cases.isdisjoint(parse.lexicon.genitives)):
            continue
        if parse.lemma(noun) in parse.lexicon.sorts:  # "the kind of government that X has"
            noun = next((at for at in parse.dependents(noun, "nmod") if not parse.is_topic(at)), noun)
        if parse.pos(noun) == "NOUN" and not parse.is_stop(noun):
            beside = [*parse.dependents(noun, "compound"), *parse.dependents(topic, "compound")]
            beside += parse.dependents(noun, "nmod")  # "the system of government"
            yield [*(at for at in beside if parse.pos(at) == "NOUN" and not parse.is_topic(at)), noun]


def unnamed_words(question: Question, names: Sequence[str], likeness: Likeness) -> list[str]:
    """The verbs of a question that no name of a relation or class says even roughly; all its words if no name says one
    of them surely."""
    parse, words = question.parse, _fits(question, names, likeness)
    if max(words.values(), default=1.0) < SURELY:
        return [parse.tokens[at].text for at, fit in words.items() if fit < 1.0]
    return [parse.tokens[at].text for at, fit in words.items() if fit < ROUGHLY and parse.pos(at) == "VERB"]


def _fits(question: Question, names: Sequence[str], likeness: Likeness) -> dict[int, float]:
    """The likeness of each content word to the name that fits it best, in the order of the question."""
    likeness.prepare(names)
    words, own = question.parse.words, [[name] for name in names]
    return {at: _fit(words[at], own, likeness) for at in sorted(content_words(question.parse, _operating(question)))}


def _fit(word: str, names: Sequence[Sequence[str]], likeness: Likeness) -> float:
    """The likeness of a word to the relation or class that fits it best, by their names; 0 if there are none."""
    return max((likeness.of_word(word, own) for own in names), default=0.0)


def _operating(question: Question) -> set[int]:
    """The tokens that say an operation, a bound or a number."""
    parse = question.parse
    found = operation_words(question) | compared_words(question) | {*reflexives(parse)}
    bounds: list[Limit | TimeLimit] = [*question.limits, *question.times]
    for bound in bounds:
        is_time = isinstance(bound, TimeLimit)
        found.update(
            at for at in range(*bound.span) if is_time or parse.pos(at) not in ("NOUN", "VERB") or _is_unit(parse, at)
        )
        after = range(bound.span[1], min(bound.span[1] + LONGEST_UNIT, len(parse)))
        found.update(at for at in after if _is_unit(parse, at))
    if question.asked.attribute:
        first = next((at for at, word in enumerate(parse.words) if word == question.asked.word), 0)
        found.update((first, first + 1))
    return found


def operation_words(question: Question) -> set[int]:
    """The places of words for an operation: "how many", "in total", "most expensive", "second"."""
    parse, found = question.parse, set[int]()
    phrases = [*parse.lexicon.quantities, *(one for some in parse.lexicon.aggregates.values() for one in some)]
    for at in range(len(parse)):
        for phrase in phrases:
            found.update(range(at, parse.said(at, phrase)))
        if degree(parse, at):
            found.add(at)
            found.update(i for i in (adjective_of(parse, at),) if i is not None)
    if question.ordinal is not None:
        found.update(range(*question.ordinal.span))
    return found


def compared_words(question: Question) -> set[int]:
    """The comparison of a question, with the words for a difference before it: "how many years older"."""
    found, aggregate = question.compares, question.aggregate
    if found is None:
        return set()
    asked = question.parse.find([aggregate.text.lower()]) if aggregate is not None and question.differs else None
    return {found.at, *range(*(asked or (0, 0)))}


def _is_unit(parse: Parse, at: int) -> bool:
    """Whether a word belongs to the unit of the number before it."""
    starts = (i + 1 for i in range(max(at - LONGEST_UNIT, 0), at) if number(parse, i) is not None)
    return any(at < end_of_unit(parse, start) or (start == at and is_money(parse, at)) for start in starts)


def _operations(
    question: Question, said: QuerySays, likeness: Likeness, named: Collection[int], *, asks_things: bool
) -> Iterator[tuple[int, str]]:
    """The places and words of operations and bounds that the query does not have; `named`: tokens of class nouns.

    Things that a class names have no sum: "which boat did A and B build together".
    """
    operations, parse, lexicon = set(said.operations), question.parse, question.parse.lexicon
    compares = {"filter", "having", "difference"} & operations
    orders = {"order", "max", "min"} & operations
    found = question.compares
    if found is not None:
        has = orders if found.degree == "Sup" else orders | compares
        subtracts = "difference" in operations and found.lemma in lexicon.amounts  # "how much more does X cost"
        measured = found.counts or subtracts or _is_measured(question, found.at, said, likeness)
        if not has or not measured or meant_order(found, said):
            yield found.at, found.text
    place = question.ordinal
    if place is not None and ("offset" if place.length == 1 else f"limit {place.length}") not in operations:
        yield place.span[0], place.text
    elif found is not None and place is None and any(one.startswith("limit ") for one in operations - {"limit 1"}):
        yield found.at, found.text  # "the oldest" is one, with its ties
    wanted = {"count": {"count", "sum"}, "average": {"avg"}, "sum": {"sum", "add"}, "difference": {"difference"}}
    aggregate = question.aggregate
    has_none = asks_things and aggregate is not None and aggregate.kind == "sum"
    if question.asked.kind == "number" and question.asked.at in named:  # "how many boats are there in total"
        wanted["sum"].add("count")
    if aggregate is not None and not has_none and not wanted[aggregate.kind] & operations:
        yield (parse.find([aggregate.text.lower()]) or (0, 0))[0], aggregate.text
    numbers = _numbers(said)
    words = {word for names in said.relations for name in names for word in name.lower().split()}
    for limit in question.limits:
        if numbers.isdisjoint(_amounts(parse, limit, said)) or not compares:
            yield limit.span[0], limit.text
    for time in question.times:
        years = {year for year in (time.start, time.end) if year is not None}
        if time.dates and set(time.dates) <= set(said.numbers):
            continue
        near = {str(year + step) for year in years for step in (-1, 0, 1)} or {str(time.month)}
        is_named = not time.is_bound and str(time.start) in words  # `copies sold in 2023`
        if not is_named and not near & set(said.numbers):
            yield time.span[0], time.text
    for negation in question.negations:
        if not {"not exists", "minus", "not", "not equal"} & operations:
            yield negation.at, negation.text
    joined = any(join.kind == "and" for join in question.joins) and aggregate is None
    if joined and operations & {"values", "union", "in", "or"}:
        yield from ((at, parse.tokens[at].text) for at, word in enumerate(parse.words) if word in lexicon.jointly)
    bounds: list[Limit | TimeLimit] = [*question.limits, *question.times]
    spans = {at for bound in bounds for at in range(*bound.span)}
    for at, token in enumerate(parse.tokens):
        if token.text[0].isdigit() and not parse.is_topic(at) and at not in spans and token.text not in words:
            match = _NUMBER.search(token.text.replace(",", ""))
            if match and float(match[0]) not in numbers:
                yield at, token.text
    if "cycle" not in operations:
        yield from ((at, parse.tokens[at].text) for at in reflexives(parse))
    if not orders:
        known = words | {word for name in said.classes for word in name.lower().split()}
        yield from ((at, word) for at, word in unordered(question) if word not in known)
    yield from unsayable(question)


def _units_left_out(question: Question, said: QuerySays) -> list[str]:
    """The units of bounds that a query leaves out: it has 3 for "3 tons", and no name of its relations has a unit."""
    has_unit = said.units or any(
        unit_kind(unit_of_name(name), question.language) for names in said.relations for name in names
    )
    if has_unit or any(one not in "0123456789.,+-eE" for text in said.numbers for one in text):
        return []
    return [unit for limit in question.limits for unit in _units_of(question.parse, limit)]


def _units_of(parse: Parse, limit: Limit) -> list[str]:
    """The units behind the numbers of a bound, as the question writes them."""
    starts = (at + 1 for at in range(*limit.span) if number(parse, at) is not None)
    return [unit for start in starts if (unit := parse.written(start, end_of_unit(parse, start)))]


def _numbers(said: QuerySays) -> set[float]:
    """The numbers in a query."""
    return {float(match[0]) for text in said.numbers for match in [_NUMBER.search(text)] if match}


def _amounts(parse: Parse, limit: Limit, said: QuerySays) -> set[float]:
    """The number of a bound, and the same amount in the units of relations: 180 minutes for 3 hours."""
    units = {unit for names in said.relations for name in names if (unit := unit_of_name(name))}
    pairs = ((own, unit) for own in (*_units_of(parse, limit), limit.quantity) if own for unit in units)
    others = (converted(Fraction(str(limit.value)), own, unit) for own, unit in pairs)
    return {limit.value, *(float(other) for other in others if other is not None)}


def meant_order(found: Comparison, said: QuerySays) -> str:
    """The order that a superlative means, `asc` or `desc`, if the query has the other one; else empty."""
    kinds = {"time"} if said.dated else set()
    kinds |= {"number"} if "number" in said.classes or found.counts else set()
    ends = {sense.operation for sense in found.senses if sense.kind in kinds}
    ways = {"desc": "max", "asc": "min"}
    taken = {end for way, end in ways.items() if f"order {way}" in said.operations}
    if found.degree != "Sup" or len(ends) != 1 or len(taken) != 1 or ends == taken:
        return ""
    return next(way for way, end in ways.items() if end in ends)


def _is_measured(question: Question, at: int, said: QuerySays, likeness: Likeness) -> bool:
    """Whether a relation of the query is what a comparison compares."""
    found = compared(question.parse, at)
    if found is None:
        return True
    parse = question.parse
    head = parse.tokens[at].head
    near = [head, *parse.dependents(at, "nsubj"), *parse.dependents(head, "nmod")]  # "the largest ward by beds"
    if question.differs and question.asked.at >= 0:
        near.append(question.asked.at)  # "by how many seats is A larger than B"
    nouns = [i for i in near if parse.pos(i) == "NOUN"]
    by, dated, senses = said.relations, said.dated, found.senses
    if found.degree == "Sup" and said.ordered:  # dates are no ages, and no sizes
        by, dated = said.ordered, said.by_date
        senses = tuple(sense for sense in senses if (sense.kind == "time") == dated) or senses
    words = [word for sense in senses for word in sense.quantity.split()] + [found.lemma]
    if found.degree and not is_known(parse, found):  # "nicest": of which values, and which end?
        return any(likeness.of_form(word, own) for word in words for own in by)
    words += [parse.words[i] for i in nouns]
    if dated and any(sense.kind == "time" for sense in found.senses):
        return True
    return any(likeness.of_word(word, own) >= COMPARED for word in words if word for own in by)
