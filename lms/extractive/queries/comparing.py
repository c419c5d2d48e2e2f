"""Which values a comparison in a draft means: by the noun beside it, by what is left to say, or by its adjective."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from triplecheck.language.likeness import NAMES
from triplecheck.language.operations import Comparison, Extreme
from triplecheck.lms.extractive.queries.draft import Draft, UnsaidError
from triplecheck.lms.extractive.queries.measures import (
    CLEARLY,
    Measure,
    measure_of,
    measure_of_words,
    measures_of_words,
    nearest_time,
)
from triplecheck.lms.extractive.queries.patterns import value, write_filter
from triplecheck.lms.extractive.queries.reading import compound, is_denied


def compared_measure(draft: Draft, owner: int, found: Comparison) -> Measure:
    """The relation to the values that a comparison means; `owner` is the unit that has them.

    Raises:
        UnsaidError: no relation is what it compares.
    """
    reading = draft.reading
    noun, verbs = compared_noun(draft, found)
    draft.said.update({found.at, *verbs})
    named = named_by_rest(draft, owner, found) if noun is None else named_measure(draft, owner, compound(reading, noun))
    if named is not None:
        return Measure(named.relation, _operation(draft, found, named), named.score)
    if noun is None and (times := _times_of_deed(draft, owner, found)):
        meant = nearest_time(times)
        if meant is None:
            raise UnsaidError(f"It is not clear which time {found.text!r} compares.")
        return replace(meant, operation=_operation(draft, found, meant))
    measure = measure_of(reading.measures(owner), found, reading.likeness, are_theirs=bool(reading.classes(owner)))
    if measure is None:
        raise UnsaidError(f"No relation is what {found.text!r} compares.")
    return measure


def _times_of_deed(draft: Draft, owner: int, found: Comparison) -> list[Measure]:
    """How near the times of some things are to a verb, where a comparison says when something was done: "looked at most
    recently"; empty if it says something else, or there is one time."""
    reading, parse = draft.reading, draft.reading.parse
    verb = next((at for at in parse.ancestors(found.at) if parse.pos(at) == "VERB"), None)
    times = {one.label: one for one in reading.measures(owner) if one.kind == "time"}
    compares_times = all(sense.kind == "time" for sense in found.senses)
    if verb not in draft.unsaid or not compares_times or len(times) < 2:
        return []
    words = reading.words([verb, *parse.dependents(verb, "compound:prt")])  # "came out"
    return measures_of_words(list(times.values()), words, reading.likeness)


def compared_noun(draft: Draft, found: Comparison) -> tuple[int | None, list[int]]:
    """The noun that a comparison belongs to and that is no unit, if there is one; and the verbs that say no more."""
    parse, own = draft.reading.parse, draft.reading.unit_at
    head = parse.tokens[found.at].head
    verbs = [head] if found.lemma in parse.lexicon.amounts and parse.acts(head) else []
    if head == found.at:
        subjects = [i for i in parse.dependents(found.at, "nsubj") if i not in own]
        head = subjects[0] if subjects else head  # "whose rate is the highest"
    if head == found.at or head in own or verbs or parse.pos(head) != "NOUN":
        return None, verbs
    above = parse.tokens[head].head
    if parse.is_a(head, "obj") and parse.pos(above) == "VERB":
        verbs.append(above)  # "covers the smallest area"
    return head, verbs


def _operation(draft: Draft, found: Comparison, measure: Measure) -> Extreme:
    """Which end a comparison means of the values of a relation that the question names."""
    likeness, relation = draft.reading.likeness, measure.relation
    return found.over(
        relation.kind, lambda quantity: max(likeness.of_word(word, relation.wordings) for word in quantity.split())
    ).operation


def named_by_rest(draft: Draft, owner: int, found: Comparison) -> Measure | None:
    """The relation to values that the words that are not said yet name: "born earlier", "bigger in diameter".

    Of several, the one that is clearly more like what is compared: "the cheapest play to get a ticket for" by the price
    of a ticket, not by how many tickets were sold. Values of another kind are not meant: "the cheapest cake on the
    menu", where a date says since when it is on the menu.
    """
    reading, left = draft.reading, draft.unsaid_outside
    words, kinds = reading.words(left), {sense.kind for sense in found.senses}
    given = reading.measures(owner), words, reading.likeness, kinds
    best = measure_of_words(*given) if words else None
    if best is None or best.score < NAMES:
        return None
    draft.said.update(left)
    quantities = [word for sense in found.senses for word in sense.quantity.split()]

    def likeness(measure: Measure) -> float:
        names = measure.relation.wordings
        return max((reading.likeness.of_word(word, names) for word in quantities), default=0.0)

    named = [measure for measure in measures_of_words(*given) if measure.score >= NAMES]
    nearest = max([best, *named], key=likeness)
    return nearest if likeness(nearest) - likeness(best) >= CLEARLY else best


def named_measure(draft: Draft, owner: int, tokens: Sequence[int]) -> Measure:
    """The relation to values that words name.

    Raises:
        UnsaidError: they name none.
    """
    reading = draft.reading
    words = reading.words(tokens)
    measure = measure_of_words(reading.measures(owner), words, reading.likeness)
    if measure is None:
        raise UnsaidError(f"No relation to values is {' '.join(words)!r}.")
    draft.said.update(tokens)
    return measure


def standard_of(draft: Draft, found: Comparison) -> int | None:
    """The topic after "than", or after an order such as "before"; None if there is none."""
    reading, parse = draft.reading, draft.reading.parse
    than = parse.lexicon.than | ({found.text} if not found.degree else set())
    for number in reading.topics:
        at = reading.units[number].at
        before = {parse.words[i] for i in parse.dependents(at, "case", "mark")} | set(parse.words[max(at - 1, 0) : at])
        if before & than:
            return number
    return None


def compared_values(draft: Draft) -> str | None:
    """The query for whether a named value of one thing is greater than that of another, "is the height of A greater
    than that of B"; None if this is not asked."""
    reading, parse, found = draft.reading, draft.reading.parse, draft.reading.question.compares
    if found is None or found.degree == "Sup" or not reading.question.asks_whether or len(reading.topics) != 2:
        return None
    than = next((at for at in range(found.at, len(parse)) if parse.words[at] in parse.lexicon.than), None)
    one, other = sorted(reading.topics, key=lambda number: reading.units[number].at)
    if than is None or not reading.units[one].at < than < reading.units[other].at:
        return None
    nouns = [_noun_of(draft, number) for number in (one, other)]
    if nouns[0] is None or any(unit.kind != "topic" and unit.at not in nouns for unit in reading.units):
        return None
    first = named_measure(draft, one, compound(reading, nouns[0]))
    second = first if nouns[1] is None else named_measure(draft, other, compound(reading, nouns[1]))
    operator = ">" if _operation(draft, found, first) == "max" else "<"
    condition = f"{value(draft, one, first)} {operator} {value(draft, other, second)}"
    write_filter(draft, condition, denied=is_denied(reading, found.at))
    draft.said.add(found.at)
    draft.say_units(range(len(reading.units)))
    return f"ASK {draft.text.where}"


def _noun_of(draft: Draft, topic: int) -> int | None:
    """The noun that a topic possesses: "the height of A"; None if there is none."""
    parse, at = draft.reading.parse, draft.reading.units[topic].at
    head = parse.tokens[at].head
    return head if head != at and parse.is_a(at, "nmod") and parse.pos(head) == "NOUN" else None


def write_comparison(draft: Draft, found: Comparison, owner: int, standard: int) -> None:
    """A filter: the value of one thing is greater or smaller than that of another."""
    reading = draft.reading
    if owner == standard:
        owner = next((number for number in reading.topics if number != standard), draft.root)
    measure = compared_measure(draft, owner, found)
    one, other = value(draft, owner, measure), value(draft, standard, measure)
    operator = ">" if measure.operation == "max" else "<"
    write_filter(draft, f"{one} {operator} {other}", denied=is_denied(reading, found.at))
    draft.said.add(found.at)
    draft.standard = standard
