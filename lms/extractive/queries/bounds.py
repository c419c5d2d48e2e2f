"""The bounds of numbers and times in a question, as filters over values or as bounds of a number of things."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from triplecheck.kg.types import Literal
from triplecheck.kg.values import OWN, converted, quantity
from triplecheck.language.likeness import NAMES, unit_kind, unit_of_name
from triplecheck.language.operations import Comparison, Limit, compared, degree, end_of_unit, is_money, number
from triplecheck.language.text import plain
from triplecheck.language.times import TimeLimit
from triplecheck.lms.extractive.queries.comparing import compared_measure, standard_of, write_comparison
from triplecheck.lms.extractive.queries.draft import Draft, UnsaidError, owner_of
from triplecheck.lms.extractive.queries.measures import Measure, measure_of_words, measures_of_words, nearest_time
from triplecheck.lms.extractive.queries.patterns import term, value, write_filter, written
from triplecheck.lms.extractive.queries.reading import Reading, compound, is_denied
from triplecheck.lms.extractive.queries.schema import Relation, fits

_NUMBER = re.compile(r"[+\u2212-]?\d(?:[\d.,\u2019'\s]*\d)?(?:[eE][+-]?\d+)?")
"""The number of a quantity, with its sign and the marks between its digits."""
_BEFORE = 3  # words between a noun and its bound
_LEAST_YEAR = 100  # a smaller number is no year
_OPERATORS = {"after": ">", "since": ">=", "before": "<", "until": "<="}


def write_bounds(draft: Draft) -> None:
    """All bounds of the question, also by another thing ("older than X")."""
    question = draft.reading.question
    for limit in question.limits:
        _write_limit(draft, limit)
    for time in question.times:
        if not time.is_bound and _is_in_name(draft.reading, time):
            draft.said.update(range(*time.span))
        else:
            _write_time(draft, time)
    found = question.compares
    if found is not None and found.degree == "Cmp" and found.at not in draft.said:
        standard = standard_of(draft, found)
        if standard is not None:
            write_comparison(draft, found, owner_of(draft, found.at), standard)


# --- numbers ---------------------------------------------------------------------------------------
def _write_limit(draft: Draft, limit: Limit) -> None:
    """A bound: of what its comparative compares, of a number of things, or of the values that its noun names."""
    reading, parse = draft.reading, draft.reading.parse
    draft.said.update(at for at in range(*limit.span) if parse.pos(at) != "NOUN")
    bound = written(limit.value)
    unit = _unit_of(draft, limit, bound)
    found = _graded(draft, limit)
    if found is not None:
        owner = owner_of(draft, found.at)
        measure = compared_measure(draft, owner, found)
        includes = "=" if "=" in limit.operator else ""  # "40 or older"
        operator = f"{'>' if measure.operation == 'max' else '<'}{includes}"
        _write_bound(draft, owner, measure, operator, limit, bound, unit)
        return
    noun = _noun_of(draft, limit)
    counted = None if noun is None else reading.unit_at.get(noun)
    if counted is not None and reading.units[counted].kind == "class" and counted != draft.root:
        _bound_group(draft, counted, f"{limit.operator} {bound}")
        return
    owner = owner_of(draft, limit.span[0] if noun is None else noun)
    measure = _bounded(draft, owner, noun, limit, bound, unit)
    _write_bound(draft, owner, measure, limit.operator, limit, bound, unit)


def _graded(draft: Draft, limit: Limit) -> Comparison | None:
    """The comparative of a bound that compares values: "older than 40"; None for "more than 40"."""
    parse = draft.reading.parse
    at = next((at for at in range(*limit.span) if degree(parse, at) == "Cmp"), None)
    found = None if at is None else compared(parse, at)
    return None if found is None or found.counts or found.lemma in parse.lexicon.amounts else found


def _write_bound(
    draft: Draft, owner: int, measure: Measure, operator: str, limit: Limit, bound: str, unit: str
) -> None:
    is_plain, named = _kind(measure.relation.example) == "number", unit_of_name(measure.relation.label)
    # "over 3 hours" bounds a duration in minutes by 180.
    own = converted(Fraction(bound), unit, named) if is_plain and unit else None
    text = _with_unit(bound, unit, measure.relation.example) if own is None else written(float(own))
    denied = is_denied(draft.reading, limit.span[0])
    write_filter(draft, f"{value(draft, owner, measure)} {operator} {text}", denied=denied)


def _bound_group(draft: Draft, counted: int, bound: str) -> None:
    """A bound of the number of things that each thing asked for has."""
    join = draft.joins.get(counted)
    if join is None or join.attachment.to != draft.root:
        raise UnsaidError("What is counted is not joined to what is asked for.")
    draft.having = f"COUNT(DISTINCT {term(draft, counted)}) {bound}"


def _noun_of(draft: Draft, limit: Limit) -> int | None:
    """The noun that a bound is about: beside the number, or before the bound."""
    parse, own = draft.reading.parse, draft.reading.unit_at
    start, end = limit.span
    for at in range(start, min(end + 1, len(parse))):
        if parse.pos(at) == "NOUN" and (at not in draft.said or at in own):
            return at
    before = (at for at in range(start - 1, max(start - _BEFORE - 1, -1), -1) if parse.pos(at) == "NOUN" or at in own)
    at = next(before, -1)
    return at if parse.pos(at) == "NOUN" else None


def _bounded(draft: Draft, owner: int, noun: int | None, limit: Limit, bound: str, unit: str) -> Measure:
    """The relation to the values that a bound is about: by its noun, its adjective, the verb, or its unit."""
    reading, parse, left = draft.reading, draft.reading.parse, draft.unsaid_outside
    things = [at for at, number in reading.unit_at.items() if reading.units[number].kind in ("class", "topic")]
    nouns = [] if noun is None or noun in things else compound(reading, noun)
    graded = [] if limit.quantity in reading.words([*things, *nouns]) else limit.quantity.split()
    verbs = [parse.tokens[noun].head] if noun is not None and parse.is_a(noun, "obj") else []
    options: list[tuple[Sequence[str], Sequence[int]]] = [
        (reading.words(nouns), nouns),
        *(([word], ()) for word in graded),
        (reading.words(verbs), [*verbs, *nouns]),  # "serves more than 6 people"
        (reading.words(left), left),
    ]
    kinds = ("number",) if unit or abs(float(bound)) < _LEAST_YEAR else ()
    for words, tokens in options:
        measure = measure_of_words(reading.measures(owner), words, reading.likeness, kinds) if words else None
        if measure is not None and _may_be_in(reading, measure.relation, bound, unit):
            draft.said.update(tokens)
            return measure
    measure = _of_unit(draft, owner, bound, unit) if unit else None
    if measure is None and not unit and not left:
        measure = _of_age(draft, owner)
    if measure is None:
        raise UnsaidError(f"No relation to values is what {limit.text!r} bounds.")
    return measure


def _of_unit(draft: Draft, owner: int, bound: str, unit: str) -> Measure | None:
    """The only relation to values in a unit: "more than 40 km"; None if there are none or several."""
    reading = draft.reading
    kind = _kind(_joined(bound, unit))
    return _only([one for one in reading.measures(owner) if kind_of_values(reading, one) == kind])


def _may_be_in(reading: Reading, relation: Relation, bound: str, unit: str) -> bool:
    """Whether values of a relation may be in a unit: not if they are in a unit of another kind."""
    return not unit or kind_of_values(reading, relation) in ("", "number", _kind(_joined(bound, unit)))


def kind_of_values(reading: Reading, relation: Relation) -> str:
    """What a relation measures, by its example or by the unit at the end of its name; empty if it is no quantity."""
    own = _kind(relation.example)
    named = unit_kind(unit_of_name(relation.label), reading.question.language) if own == "number" else ""
    return named or own


def _of_age(draft: Draft, owner: int) -> Measure | None:
    """The relation that a number alone bounds: "people over 65"; None if there is none."""
    reading, aged = draft.reading, draft.reading.parse.lexicon.aged
    for one in reading.schema.relations:
        is_own = one.kind == "number" and fits(reading.classes(owner) or (), one.head)
        if is_own and aged and aged in map(plain, one.wordings):
            return Measure(one, "max", 1.0)
    return None


def _only(relations: Sequence[Relation]) -> Measure | None:
    return Measure(relations[0], "max", 0.0) if len({one.label for one in relations}) == 1 else None


# --- units -----------------------------------------------------------------------------------------
def _unit_of(draft: Draft, limit: Limit, bound: str) -> str:
    """The unit behind the number of a bound, or the currency before it; empty without one."""
    parse = draft.reading.parse
    places = range(limit.span[0], min(limit.span[1] + 1, len(parse)))
    numbers = [at for at in places if number(parse, at) is not None]  # two in "between 8 km and 13 km"
    draft.said.update(i for at in numbers for i in range(at + 1, end_of_unit(parse, at + 1)))
    for at in numbers:
        before = parse.before(at)
        if before and _kind(f"{before}{bound}").startswith("money"):
            return before
        if is_money(parse, at + 1):
            sign = parse.lexicon.currencies[parse.lemma(at + 1)]
            if any(kind_of_values(draft.reading, one) == _kind(f"{sign}1") for one in draft.reading.schema.relations):
                draft.said.add(at + 1)
                return sign
        end = end_of_unit(parse, at + 1)
        if end > at + 1:
            return parse.written(at + 1, end)
        is_free = at + 1 < len(parse) and at + 1 not in draft.reading.unit_at
        if is_free and _is_own_unit(draft.reading, word := parse.written(at + 1, at + 2)):
            draft.said.add(at + 1)
            return word
    return ""


def _is_own_unit(reading: Reading, word: str) -> bool:
    """Whether amounts of the graph are in a unit that only this graph has: "crowns"."""
    kind = _kind(f"1 {word}")
    return bool(kind) and any(one.kind == "number" and _kind(one.example) == kind for one in reading.schema.relations)


def _kind(text: str) -> str:
    """What a text measures, be it in a unit that only one graph has; empty if it is no quantity."""
    found = quantity(Literal(text)) or quantity(Literal(text, OWN + text.rpartition(" ")[2]))
    return found.kind if found is not None else ""


def _with_unit(bound: str, unit: str, example: str) -> str:
    """A number as a plan has it: with the unit of the question, else with that of the values, if these have one."""
    kind = _kind(example)
    if kind in ("", "number", "time"):
        return bound
    given = _joined(bound, unit)
    if unit and _kind(given) == kind:
        return f'"{given}"'
    match = _NUMBER.search(example)
    if match is None:
        return bound
    before, sign = example[: match.start()].lstrip("+-\u2212"), "-" if bound.startswith("-") else ""
    return f'"{sign}{before}{bound.removeprefix("-")}{example[match.end() :]}"'


def _joined(bound: str, unit: str) -> str:
    """A number with its unit: "€40", "40 km"."""
    return f"{unit}{bound}" if _kind(f"{unit}{bound}").startswith("money") else f"{bound} {unit}"


# --- times -----------------------------------------------------------------------------------------
def _write_time(draft: Draft, limit: TimeLimit) -> None:
    """A bound of the time that the words above it name, else of the only time that the things have."""
    reading, parse = draft.reading, draft.reading.parse
    span = range(*limit.span)
    above = [at for at in parse.ancestors(span[-1]) if at in reading.content and at not in span]
    named = (above or draft.unsaid)[:1]
    subjects = [i for at in named for i in parse.dependents(at, "nsubj") if i in draft.unsaid]
    named = subjects or named  # "the rating lies between"
    particles = [i for at in named for i in parse.dependents(at, "compound:prt", "advmod")]
    words = reading.words(sorted({*named, *particles}))
    owner, measure = _timed(draft, owner_of(draft, limit.span[0]), words, limit)
    draft.said.update((*named, *span))
    condition = " && ".join(_conditions(value(draft, owner, measure), limit))
    write_filter(draft, condition, denied=is_denied(reading, limit.span[0]))


def _is_in_name(reading: Reading, limit: TimeLimit) -> bool:
    """Whether a year is in the name of a relation, so that the relation says it: `copies sold in 2023`."""
    return any(str(limit.start) in one.label.split() for one in reading.schema.relations)


def _timed(draft: Draft, owner: int, words: Sequence[str], limit: TimeLimit) -> tuple[int, Measure]:
    """Whose time is bounded, and which: that of the owner, else of what is asked for, else of the only class with one.
    If there is no time, the words may name a relation to numbers: "a rating between 1800 and 2000".

    Raises:
        UnsaidError: words name no time, and there are none or several.
    """
    reading = draft.reading
    things = [number for number, unit in enumerate(reading.units) if unit.kind == "class"]
    for one in dict.fromkeys((owner, draft.root, *(things if len(things) == 1 else ()))):
        classes = reading.joiner.ends.classes(one)
        measure = measure_of_words(reading.measures(one), words, reading.likeness, ("time",))
        times = [r for r in reading.schema.relations if r.kind == "time" and classes and fits(classes, r.head)]
        if limit.month:  # years have none
            times = [r for r in times if r.tail == "date"]
            measure = measure if measure is not None and measure.relation.tail == "date" else None
        measure = measure or _only(times) or nearest_time(measures_of_words(times, words, reading.likeness))
        if measure is not None:
            return one, measure
    named = measure_of_words(reading.measures(owner), words, reading.likeness, ("number",))
    if named is not None and named.score >= NAMES and limit.is_bound:
        return owner, named
    raise UnsaidError("It is not clear which time is meant.")


def _conditions(variable: str, limit: TimeLimit) -> Iterator[str]:
    """The conditions on a value that a time bounds."""
    if limit.month:
        yield f"MONTH({variable}) = {limit.month}"
    elif limit.dates and limit.during in _OPERATORS:
        yield f'{variable} {_OPERATORS[limit.during]} "{limit.dates[0]}"'
    elif limit.dates:
        yield f'{variable} >= "{limit.dates[0]}"'
        yield f'{variable} <= "{limit.dates[-1]}"'
    else:
        if limit.start is not None:
            yield f"{variable} >= {limit.start}"
        if limit.end is not None:
            yield f"{variable} < {limit.end + 1}"
