"""What a question orders: the first by a value or by a number of things, the first of a choice, a difference."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from triplecheck.language.likeness import NAMES, NAMES_NOUN
from triplecheck.language.operations import Comparison, adjective_of, is_unit
from triplecheck.lms.extractive.queries.comparing import compared_measure, compared_noun, named_measure
from triplecheck.lms.extractive.queries.draft import Draft, UnsaidError, first_by, owner_of, select
from triplecheck.lms.extractive.queries.measures import Measure, measure_of_words
from triplecheck.lms.extractive.queries.patterns import name, one_of, term, value
from triplecheck.lms.extractive.queries.reading import compound
from triplecheck.lms.extractive.queries.schema import Relation, fits
from triplecheck.signatures.query_notation import THING

_NEAR = 4  # words between "most" and what it counts


def ordered(draft: Draft, answer: str) -> str | None:
    """The query for the first of an order: by a value, or by a number of things; None if nothing is ordered.

    Args:
        draft: with all patterns but those of the order.
    """
    found = draft.reading.question.compares
    if found is None or (found.degree == "Cmp" and found.at in draft.said):
        return None
    owner = owner_of(draft, found.at)
    try:
        if found.counts:
            return _first_by_number(draft, answer, found)
        return _first_by_value(draft, answer, owner, compared_measure(draft, owner, found))
    except UnsaidError:
        summed = _first_by_sum(draft, answer, owner, found)
        if summed is None:
            raise
        return summed


def _first_by_value(draft: Draft, answer: str, owner: int, measure: Measure) -> str:
    ranked = value(draft, owner, measure)
    return select([answer], draft, first_by(measure.operation, ranked, draft.reading.question.ordinal))


def _first_by_sum(draft: Draft, answer: str, owner: int, found: Comparison) -> str | None:
    """The first by the sum of a value of other things, "which customer has spent the most": the things of the only
    class with such values that one relation alone joins to those that are asked for; None if there is none."""
    reading, likeness = draft.reading, draft.reading.likeness
    noun, _ = compared_noun(draft, found)
    tokens = [] if noun is None else compound(reading, noun)
    words = reading.words(tokens) or found.quantity.split()
    classes = reading.classes(owner)
    options = []
    for other in reading.schema.classes if owner == draft.root and classes else ():
        joins = [(one, at_head) for one in reading.schema.relations if (at_head := _joins(one, other, classes or ()))]
        measure = measure_of_words(reading.schema.measured([other]), words, likeness, ("number",))
        if measure is not None and len(joins) == 1 and measure.score >= NAMES:
            options.append((other, joins[0], measure))
    if len(options) != 1:
        return None
    ((other, (join, way), measure),) = options
    thing, amount, total = (draft.text.variable(name) for name in (other, measure.relation.label, "n"))
    head, tail = (thing, answer) if way == "to" else (answer, thing)
    draft.text.triple(head, join.label, tail)
    draft.text.triple(thing, measure.relation.label, amount)
    draft.said.update((found.at, *tokens))
    order = first_by(found.operation, total, draft.reading.question.ordinal)
    return select([answer, f"(SUM({amount}) AS {total})"], draft, f"GROUP BY {answer} {order}")


def _joins(relation: Relation, other: str, classes: Collection[str]) -> str:
    """Whether a relation leads from things of another class `to` those of some classes, or `from` these; else empty."""
    if other in classes:
        return ""
    if relation.head == other and fits(classes, relation.tail) and relation.tail != THING:
        return "to"
    return "from" if relation.tail == other and fits(classes, relation.head) and relation.head != THING else ""


def _first_by_number(draft: Draft, answer: str, found: Comparison) -> str:
    """The first by the number of things of a class, of what a relation names, or by an amount ("the most seats")."""
    if found.lemma in draft.reading.parse.lexicon.frequent:
        return _most_common(draft, answer, found)
    counted = _counted(draft, found)
    if counted is not None:
        draft.said.add(found.at)
        return _grouped(draft, answer, found, term(draft, counted))
    owner, noun = owner_of(draft, found.at), _noun_after(draft, found.at)
    draft.said.add(found.at)
    tokens = compound(draft.reading, noun)
    other = _related(draft, answer, tokens)
    if other is not None:
        return _grouped(draft, answer, found, other)
    try:
        named = named_measure(draft, owner, tokens)
    except UnsaidError:
        parse = draft.reading.parse
        verb = parse.tokens[noun].head
        if not parse.is_a(noun, "obj") or (other := _related(draft, answer, [verb])) is None:
            raise
        draft.said.update(tokens)  # "who speaks the most languages"
        return _grouped(draft, answer, found, other)
    return _first_by_value(draft, answer, owner, Measure(named.relation, found.operation, named.score))


def _most_common(draft: Draft, answer: str, found: Comparison) -> str:
    """The first by how many things have it, "the most common colour of the boats"."""
    reading = draft.reading
    adjective = adjective_of(reading.parse, found.at)
    draft.said.update((found.at, found.at if adjective is None else adjective))
    beside = [join.attachment.unit for join in draft.joins.values() if join.attachment.to == draft.root]
    classes = [unit for unit in beside if reading.units[unit].kind == "class"]
    if classes:
        return _grouped(draft, answer, found, term(draft, classes[0]))
    tokens = compound(reading, reading.units[draft.root].at)
    relation = max(reading.schema.relations, key=lambda one: _names(draft, tokens, one), default=None)
    if relation is None or _names(draft, tokens, relation) < NAMES_NOUN:
        raise UnsaidError(f"No relation leads to what is the {found.text} {found.lemma}.")
    thing = draft.text.variable(THING)
    draft.text.triple(thing, relation.label, answer)
    draft.said.update(tokens)
    return _grouped(draft, answer, found, thing)


def _names(draft: Draft, tokens: Collection[int], relation: Relation) -> float:
    """How near the words of a noun are to a relation, or to the class that it leads to."""
    words = draft.reading.words(tokens)
    return max(draft.reading.likeness.of_words(words, own) for own in (relation.wordings, [relation.tail]))


def _grouped(draft: Draft, answer: str, found: Comparison, counted: str) -> str:
    number = draft.text.variable("n")
    order = first_by(found.operation, number, draft.reading.question.ordinal)
    return select([answer, f"(COUNT(DISTINCT {counted}) AS {number})"], draft, f"GROUP BY {answer} {order}")


def _counted(draft: Draft, found: Comparison) -> int | None:
    """The unit whose number is compared: "the most boats"; None if there is none."""
    units = enumerate(draft.reading.units)
    return next((n for n, unit in units if unit.kind == "class" and 0 < unit.at - found.at <= _NEAR), None)


def _noun_after(draft: Draft, at: int) -> int:
    """The noun whose number or amount is compared."""
    parse = draft.reading.parse
    for noun in range(at + 1, len(parse)):
        if parse.pos(noun) == "NOUN" and parse.lemma(noun) not in parse.lexicon.tallies:
            return noun
    raise UnsaidError(f"Nothing is there that {parse.words[at]!r} counts.")


def _related(draft: Draft, answer: str, tokens: Sequence[int]) -> str | None:
    """A variable for what a relation names: "who has the most apprentices"; None if the words name no relation."""
    reading = draft.reading
    words = reading.words(tokens)
    options = [
        (reading.likeness.of_words(words, one.wordings), -number)
        for number, one in enumerate(reading.schema.relations)
        if not one.is_measured and one.tail != "text"
    ]
    score, number = max(options, default=(0.0, 0))
    if score < NAMES_NOUN:
        return None
    relation = reading.schema.relations[-number]
    lexicon = reading.parse.lexicon
    is_of = not (lexicon.prepositions | lexicon.agents).isdisjoint(relation.label.casefold().split()[-1:])
    other = draft.text.variable(words[-1])
    head, tail = (other, answer) if is_of else (answer, other)
    draft.text.triple(head, relation.label, tail)
    draft.said.update(tokens)
    return other


def choice(draft: Draft) -> str | None:
    """The query for the first of some topics in an order, "who is older, A or B"; None if no choice is asked for."""
    reading, question = draft.reading, draft.reading.question
    found, topics = question.compares, reading.topics
    either = any(join.kind == "or" for join in question.joins)
    if found is None or question.asks_whether or not either or len(topics) < 2:
        return None
    variable = one_of(draft, [name(reading, topic) for topic in topics])
    draft.terms.update(dict.fromkeys(topics, variable))
    draft.say_units(range(len(reading.units)))
    measure = compared_measure(draft, topics[0], found)
    return select([variable], draft, first_by(measure.operation, value(draft, topics[0], measure)))


def difference(draft: Draft) -> str | None:
    """The query for the difference between the values of two topics; None if no difference is asked for.

    Raises:
        UnsaidError: not two things are named.
    """
    reading, question = draft.reading, draft.reading.question
    if not question.differs:
        return None
    if len(reading.topics) != 2:
        raise UnsaidError("A difference needs two things.")
    one, other = reading.topics
    draft.terms.update({topic: name(reading, topic) for topic in (one, other)})
    measure = _measure_asked(draft, one)
    if measure is None:
        compared = question.compares
        measure = compared_measure(draft, one, compared) if compared else named_measure(draft, one, draft.unsaid)
    values = value(draft, one, measure), value(draft, other, measure)
    draft.say_units(range(len(reading.units)))
    return select([f"(ABS({values[0]} - {values[1]}) AS ?difference)"], draft)


def _measure_asked(draft: Draft, owner: int) -> Measure | None:
    """The relation to values that the noun behind "how many" names; None if it names none, or is a unit alone."""
    reading, at = draft.reading, draft.reading.question.asked.at
    if at < 0:
        return None
    tokens = compound(reading, at)
    if len(tokens) == 1 and is_unit(reading.parse.words[at]):
        return None
    measure = measure_of_words(reading.measures(owner), reading.words(tokens), reading.likeness)
    if measure is not None:
        verbs = [i for i in draft.unsaid if reading.parse.pos(i) == "VERB"]
        compared = reading.question.compares
        draft.said.update((*tokens, *verbs, *([] if compared is None else [compared.at])))
    return measure
