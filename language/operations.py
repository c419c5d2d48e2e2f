"""What a question computes or asks to hold: comparisons, bounds of numbers, negations, aggregates.

The rules read degrees, numerals and dependencies; the words that mean them come from the lexicon.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import ClassVar, Literal

from triplecheck.kg.types import Literal as Value
from triplecheck.kg.values import quantity
from triplecheck.language.lexicon import Scale
from triplecheck.language.parse import Parse

Extreme = Literal["max", "min"]
Operator = Literal["<", "<=", "=", ">=", ">"]

_LONGEST_MEASURE = 4  # words behind "by"
_BEFORE_NUMBER = 3  # words between a bound and its number
LONGEST_UNIT = 3
"""Words of a unit, at most: "miles per hour"."""


@dataclass(frozen=True)
class Sense:
    """What a word may compare: the oldest has the largest age, and the first date of birth.

    Attributes:
        kind: of the values, `time` or `number`.
        operation: which end of the values is meant.
        quantity: what is compared, as words of relations.
    """

    kind: str
    operation: Extreme
    quantity: str


@dataclass(frozen=True)
class Comparison:
    """What a comparative or a superlative compares.

    Attributes:
        text: the word, as the question has it.
        lemma: of the adjective, or of the word for an amount.
        degree: `Sup` or `Cmp`; empty for an order ("first", "before").
        senses: what it may compare.
        counts: whether the number of things is compared ("the most cities"), not a value.
    """

    text: str
    at: int
    lemma: str
    degree: str
    senses: tuple[Sense, ...]
    counts: bool = False

    @property
    def operation(self) -> Extreme:
        """Which end of the values is meant, as far as the word tells."""
        return self.senses[0].operation

    @property
    def quantity(self) -> str:
        """What is compared, as words of relations."""
        return " ".join(sense.quantity for sense in self.senses)

    def over(self, kind: str, likeness: Callable[[str], float]) -> Sense:
        """What it compares of some values.

        Args:
            kind: of the values, `time` or `number`; a year may be a number.
            likeness: of a quantity and the relation of the values.
        """
        own = [sense for sense in self.senses if sense.kind == kind == "time"] or list(self.senses)
        return own[0] if len(own) == 1 else max(own, key=lambda sense: likeness(sense.quantity))


@dataclass(frozen=True)
class Aggregate:
    """What a question computes from several values, and the words that say so."""

    kind: Literal["count", "sum", "average", "difference"]
    text: str


@dataclass(frozen=True)
class Limit:
    """A bound of a number: "more than two boats", "older than 40".

    Attributes:
        operator: how the number is compared with the bound.
        quantity: what is bounded, in words of relations: of the comparative, else the noun beside the number.
        counts: whether things are counted ("two boats"), not a value compared.
        span: positions [start, end).
    """

    text: str
    operator: Operator
    value: float
    quantity: str
    counts: bool
    span: tuple[int, int]
    is_bound: ClassVar[bool] = True


@dataclass(frozen=True)
class Negation:
    """A word that says that a question excludes something, and its position."""

    text: str
    at: int


@dataclass(frozen=True)
class Join:
    """Things or conditions that "and" or "or" joins.

    Attributes:
        members: the joined words; of topics, their spelling.
    """

    kind: Literal["and", "or"]
    members: tuple[str, ...]


# --- comparisons -----------------------------------------------------------------------------------
def comparison(parse: Parse, taken: Collection[int]) -> Comparison | None:
    """The first comparative, superlative or order of a question that compares something; None if there is none.

    Args:
        taken: positions that say something else.
    """
    return next((found for at in range(len(parse)) if at not in taken and (found := compared(parse, at))), None)


def compares(parse: Parse, at: int) -> bool:
    """Whether a word compares: it has a degree, or is an order."""
    return bool(degree(parse, at)) or parse.words[at] in parse.lexicon.orders


def degree(parse: Parse, at: int) -> str:
    """`Sup` or `Cmp`, of an adjective or adverb that has one; else empty."""
    token = parse.tokens[at]
    found = token.feature("Degree")
    if found == "Cmp" and at and token.pos == "ADV" and parse.words[at - 1] in parse.lexicon.negations:
        found = found if parse.said_any(at + 1, parse.lexicon.than) else ""  # "no longer", but "no later than"
    known = token.lemma in parse.lexicon.scales or token.lemma in parse.lexicon.amounts
    return found if found in ("Sup", "Cmp") and (known or token.pos in ("ADJ", "ADV")) else ""


def compared(parse: Parse, at: int) -> Comparison | None:
    """What the word at a position compares; None if it compares nothing."""
    words, token, lexicon = parse.words, parse.tokens[at], parse.lexicon
    grade = degree(parse, at)
    if words[at] in lexicon.ordinals and in_order(parse, at):
        return _of_scale(parse, at, words[at], "", lexicon.orders.get("first", {"time": ("min", "date year")}))
    if words[at] in lexicon.orders and not grade:
        return _order(parse, at)
    if leads(parse, at):
        return _leading(parse, at)
    if not grade or token.lemma in lexicon.unordered:
        return None
    if (tallied := _tallied(parse, at)) is not None:  # "the smallest number of seats"
        way = scale(parse, at).get("number", ("max", ""))[0] if token.lemma not in lexicon.amounts else "max"
        return Comparison(words[at], at, token.lemma, grade, (Sense("number", _end(way), words[tallied]),), True)
    after = [i for i in range(at + 1, min(at + 3, len(parse))) if not parse.is_stop(i) and not parse.is_topic(i)]
    if token.lemma in lexicon.amounts:
        way = lexicon.amounts[token.lemma]
        adjective = adjective_of(parse, at)
        if adjective is not None and parse.lemma(adjective) in lexicon.frequent:
            return _frequency(parse, at, adjective, grade, way)
        if adjective is not None:  # "the least populous"
            return _of_scale(parse, at, parse.lemma(adjective), grade, scale(parse, adjective), way == "min")
        if not after or parse.words[at + 1] in lexicon.than or parse.pos(after[0]) not in ("NOUN", "ADJ", "PROPN", ""):
            verb = token.head  # "costs the most", "weighs more than"
            if parse.pos(verb) == "ADP":  # "is insured for more"
                verb = parse.tokens[verb].head
            if not parse.acts(verb):
                return None
            return Comparison(words[at], at, token.lemma, grade, (Sense("number", _end(way), parse.lemma(verb)),))
        noun = " ".join(words[i] for i in after)
        sense = Sense("number", _end(way), noun)
        return Comparison(words[at], at, token.lemma, grade, (sense,), parse.pos(after[0]) != "ADJ")
    if token.lemma in lexicon.frequent:
        return _frequency(parse, at, at, grade, "max")
    return _of_scale(parse, at, token.lemma, grade, scale(parse, at))


def equal_in(parse: Parse, at: int) -> Comparison:
    """What the adjective at a position compares in "as old as"."""
    return _of_scale(parse, at, parse.lemma(at), "", scale(parse, at))


def _leading(parse: Parse, at: int) -> Comparison | None:
    """What "top 3" compares, by the noun after "by": "the top 3 boats by length"; None without such a noun."""
    by = next((i for i in range(at + 2, len(parse)) if parse.words[i] in parse.lexicon.agents), len(parse))
    noun = next((i for i in range(by + 1, min(by + _LONGEST_MEASURE, len(parse))) if parse.is_noun(i)), None)
    if noun is None:
        return None
    end = next((i for i in range(noun, len(parse)) if not parse.is_noun(i)), len(parse))
    sense = Sense("number", "max", parse.written(by + 1, end).lower())
    return Comparison(parse.words[at], at, parse.lemma(at), "Sup", (sense,))


def _frequency(parse: Parse, at: int, adjective: int, grade: str, way: str) -> Comparison:
    """How many things have what an adjective describes: "the most common colour"."""
    sense = Sense("number", _end(way), parse.words[adjective])
    return Comparison(parse.words[at], at, parse.lemma(adjective), grade, (sense,), True)


def _tallied(parse: Parse, at: int) -> int | None:
    """What is counted in "the smallest number of seats"; None if the word at a position grades no number."""
    head = parse.tokens[at].head
    if parse.lemma(head) not in parse.lexicon.tallies or head <= at:
        return None
    counted = next((i for i in range(head + 2, len(parse)) if parse.pos(i) == "NOUN"), None)
    return counted if parse.words[head + 1 : head + 2] and parse.words[head + 1] in parse.lexicon.genitives else None


def adjective_of(parse: Parse, at: int) -> int | None:
    """The adjective that a word for an amount grades: "populous" of "most populous"; None if it has a noun."""
    following = at + 1
    if following >= len(parse) or degree(parse, following) or parse.lemma(following) in parse.lexicon.light:
        return None
    lemma, lexicon = parse.lemma(following), parse.lexicon
    if lemma in lexicon.scales or lemma in lexicon.frequent or parse.words[following] in lexicon.orders:
        return following
    graded = parse.is_a(at, "advmod") and parse.pos(following) in ("ADJ", "VERB", "ADV")
    return following if graded and parse.tokens[at].head == following else None


def scale(parse: Parse, at: int) -> Scale:
    """What the adjective at a position compares; one that is not known, by its lemma."""
    lexicon = parse.lexicon
    above = parse.tokens[at].head
    says = parse.pos(above) == "VERB" or bool(parse.dependents(above, "cop"))  # "has been a member the longest"
    # "has been around the longest", "has been with us the longest"
    lasts = any(_has_been(parse, i) for i in (*parse.ancestors(at), *parse.dependents(at, "cop")))
    of_verb = degree(parse, at) and (lasts or (above != at and says)) and not parse.is_a(at, "amod")
    known = lexicon.scales.get(f"{parse.lemma(at)}:verb") if of_verb else None
    known = known or lexicon.scales.get(parse.lemma(at)) or lexicon.orders.get(parse.words[at])
    return known or {"number": ("max", parse.lemma(at))}


def _has_been(parse: Parse, at: int) -> bool:
    """Whether a word is the participle of a copula: "been"."""
    return parse.lemma(at) in parse.lexicon.copulas and parse.tokens[at].feature("VerbForm") == "Part"


def is_known(parse: Parse, compared: Comparison) -> bool:
    """Whether the words of a language tell which end of which values a comparison means: not for "nicest"."""
    lexicon = parse.lexicon
    return any(
        word in some
        for word in (compared.lemma, compared.text)
        for some in (lexicon.scales, lexicon.amounts, lexicon.orders)
    )


def _order(parse: Parse, at: int) -> Comparison | None:
    if parse.pos(at) == "VERB":
        return None  # "which talks last an hour"
    if parse.pos(at) in ("ADP", "SCONJ"):
        if not (any(map(parse.is_topic, range(at))) and any(map(parse.is_topic, range(at + 1, len(parse))))):
            return None  # "who was king before X": no two things are compared
    elif at + 1 < len(parse) and (parse.pos(at + 1) == "VERB" or parse.lemma(at + 1) in parse.lexicon.light):
        return None  # "first performed": when or where, not which was the first
    elif _says_bound(parse, at + 1):
        return None  # "which talks last more than an hour", whatever the parser says
    return _of_scale(parse, at, parse.words[at], "", parse.lexicon.orders[parse.words[at]])


def _of_scale(parse: Parse, at: int, lemma: str, grade: str, found: Scale, turned: bool = False) -> Comparison:
    senses = (
        Sense("time" if kind == "time" else "number", _end(way, turned), what) for kind, (way, what) in found.items()
    )
    return Comparison(parse.words[at], at, lemma, grade, tuple(senses))


def _end(way: str, turned: bool = False) -> Extreme:
    return "min" if (way == "min") != turned else "max"


# --- bounds ----------------------------------------------------------------------------------------
def or_graded(parse: Parse, at: int) -> Comparison | None:
    """The comparative after "or", as in "1983 or later", "40 or older"; None if there is none."""
    if not (0 < at < len(parse) - 1 and parse.words[at] in parse.lexicon.coordination.get("or", ())):
        return None
    return compared(parse, at + 1) if degree(parse, at + 1) == "Cmp" else None


def limits(parse: Parse, taken: Collection[int]) -> tuple[Limit, ...]:
    """The bounds of numbers in a question, without those of times."""
    found: list[Limit] = []
    end = 0
    for at in range(len(parse)):
        if at < end or at in taken or parse.is_topic(at) or (value := number(parse, at)) is None:
            continue
        end = at + 1
        while (more := number(parse, end)) is not None and more >= 100:  # "two million"
            value, end = value * more, end + 1
        if parse.said_any(end, parse.lexicon.prepositions) and parse.said_any(end + 1, parse.lexicon.articles):
            end += 2  # "at least three of the films"
        if (both := _between(parse, at, end, value)) is not None:
            found += both
            end = both[0].span[1]
        elif (limit := _limit(parse, at, end, value, taken)) is not None:
            found.append(limit)
    return tuple(found)


def _between(parse: Parse, at: int, after: int, first: float) -> tuple[Limit, Limit] | None:
    """The bounds of "between 8 and 13 km long"; None if the number at positions [at, after) begins no such span."""
    before = parse.words[at - 1] if at else ""
    if not parse.said_any(after, parse.lexicon.to):
        after = end_of_unit(parse, after)  # "between 8 km and 13 km"
    if before not in parse.lexicon.times.get("between", ()) or not parse.said_any(after, parse.lexicon.to):
        return None
    last = number(parse, after + 1)
    if last is None:
        return None
    quantity, end = _graded_by(parse, after + 2)
    noun = counted(parse, after + 1) or counted(parse, at)
    what = quantity or ("" if noun is None else parse.words[noun]) or _measured(parse, at - 1)
    text, span = parse.written(at - 1, end), (at - 1, end)
    counts = noun is not None and not quantity
    return Limit(text, ">=", first, what, counts, span), Limit(text, "<=", last, what, counts, span)


def _graded_by(parse: Parse, after: int) -> tuple[str, int]:
    """What an adjective after a number and its unit measures ("13 km long"), and where it ends; empty without one."""
    end = end_of_unit(parse, after)  # "light years" are not light
    places = (end,) if end > after + 1 else (after, after + 1)
    for place in places:
        if place < len(parse) and parse.lemma(place) in parse.lexicon.scales and not degree(parse, place):
            return " ".join(what for _, what in scale(parse, place).values()), place + 1
    return "", after


def number(parse: Parse, at: int) -> float | None:
    """The number at a position, in digits or in words; None if there is none."""
    if not 0 <= at < len(parse):
        return None
    text = parse.tokens[at].text.replace(",", "")
    try:
        return float(text) if text[:1].isdigit() or text[:1] == "-" else float(parse.lexicon.numbers[parse.words[at]])
    except (KeyError, ValueError):
        return None


def counts_all(parse: Parse, at: int) -> bool:
    """Whether a number says how many there are anyway, and so bounds nothing: "the two boats"."""
    return at > 0 and parse.words[at - 1] in parse.lexicon.articles and number(parse, at) is not None


def _limit(parse: Parse, at: int, after: int, value: float, taken: Collection[int]) -> Limit | None:
    """The bound that the number at positions [at, after) is; None if it is none."""
    noun = after if parse.words[after - 1] in parse.lexicon.articles else counted(parse, after - 1)
    if noun is None and after < len(parse) and parse.lexicon.limits:  # "three or more films"
        noun = next((i for i in (after + 2,) if _says_bound(parse, after) and parse.pos(i) == "NOUN"), None)
    start, operator, quantity = _bound(parse, at, taken)
    if operator is not None and not quantity:
        quantity, after = _graded_by(parse, after)
    end = after
    or_at = end_of_unit(parse, after)  # "36 metres or higher"
    if operator is None and (graded := or_graded(parse, or_at)) is not None and not graded.counts:
        sense = next((one for one in graded.senses if one.kind == "number"), graded.senses[0])
        operator, quantity, end = (">=" if sense.operation == "max" else "<="), sense.quantity, or_at + 2
    if operator is None:
        for one, phrases in parse.lexicon.limits.items():
            places = [_after_rate(parse, place) for place in ([after] if noun is None else [after, noun + 1])]
            if stop := max((parse.said(i, phrase) for phrase in phrases for i in places), default=0):
                operator, start, end = one, at, stop
    if operator is None:
        return None
    counts = noun is not None
    what = quantity or ("" if noun is None else parse.words[noun]) or _measured(parse, start)
    return Limit(parse.written(start, end), operator, value, what, counts and not quantity, (start, end))  # type: ignore[arg-type]


def _after_rate(parse: Parse, at: int) -> int:
    """Where to go on: behind "a day" or "per person" if one of these begins at a position, else at the position."""
    is_rate = parse.words[at : at + 1] and parse.words[at] in parse.lexicon.rates and parse.pos(at + 1) == "NOUN"
    return at + 2 if is_rate else at


def _says_bound(parse: Parse, at: int) -> bool:
    """Whether "at least", "or more", "or fewer" stands at a position."""
    return any(parse.said(at, phrase) for phrases in parse.lexicon.limits.values() for phrase in phrases)


def _bound(parse: Parse, at: int, taken: Collection[int]) -> tuple[int, str | None, str]:
    """Where the words before a number begin that make it a bound, the operator, and what they compare."""
    if at and parse.words[at - 1] in parse.lexicon.articles:  # "more than a million"
        at -= 1
    for start in range(max(at - _BEFORE_NUMBER, 0), at):
        if start in taken:
            continue
        for operator, phrases in parse.lexicon.limits.items():
            if any(parse.said(start, phrase) == at for phrase in phrases):
                return start, operator, ""
        if parse.words[at - 1] in parse.lexicon.than and start == at - 2 and degree(parse, start):
            found = compared(parse, start)
            if found is not None:
                sense = next((one for one in found.senses if one.kind == "number"), found.senses[0])
                return start, ">" if sense.operation == "max" else "<", sense.quantity
    return at, None, ""


def counted(parse: Parse, at: int) -> int | None:
    """The noun or unit that a number counts; None if it counts none."""
    if at + 1 < len(parse) and not parse.is_topic(at + 1):
        end = end_of_unit(parse, at + 1)
        if end > at + 1 and parse.pos(at + 1) not in ("ADP", "PART"):  # not "2014 in"
            return end - 1
        head = parse.tokens[at].head
        if parse.is_a(at, "nummod") and head > at and parse.pos(head) == "NOUN":
            return head
        if not parse.is_trained and parse.is_noun(at + 1) and number(parse, at + 1) is None:
            return at + 1
    return None


def _measured(parse: Parse, at: int) -> str:
    """The noun before a bound: "crew" of "a crew of at least 18"."""
    before = (i for i in range(at - 1, max(at - 4, -1), -1) if not parse.is_stop(i) and not parse.is_topic(i))
    return next((parse.words[i] for i in before if parse.pos(i) in ("NOUN", "")), "")


def leads(parse: Parse, at: int) -> bool:
    """Whether a word asks for the first things of an order, and a number behind it says how many: "top 3"."""
    return at >= 0 and parse.words[at] in parse.lexicon.leading and number(parse, at + 1) is not None


def in_order(parse: Parse, at: int) -> bool:
    """Whether a numeral places something in the order of time: "the third to open"."""
    word = parse.words[at]
    is_place = word in parse.lexicon.ordinals or word in parse.lexicon.orders
    to = next((i for i in range(at + 1, min(at + 4, len(parse))) if parse.pos(i) not in ("NOUN", "ADJ")), len(parse))
    return is_place and parse.pos(to) == "PART" and parse.pos(to + 1) in ("VERB", "AUX")


# --- the rest --------------------------------------------------------------------------------------
def aggregate(parse: Parse, compared: Comparison | None) -> Aggregate | None:
    """What a question computes from several values; None if it computes nothing."""
    said = {name: place for name, phrases in parse.lexicon.aggregates.items() if (place := parse.find(phrases))}
    # "count" and "together" may be nouns and topics of another thing: only a request begins with the first.
    asked = parse.find(parse.lexicon.quantities)
    if asked is not None:
        end = _end_of_quantity(parse, asked[1])
        # "how much heavier", "how many years older", "how many tons more does A weigh than B"
        follows = end > asked[1] and end < len(parse) and parse.words[end] in parse.lexicon.sequence  # "years after"
        is_more = compared is not None and compared.degree == "Cmp" and compared.at == end
        if is_more or follows or _is_more_than(parse, end):
            return Aggregate("difference", parse.written(asked[0], end))
    for name in ("average", "difference", "sum", "count"):
        if name in said and (name != "count" or _asks_number(parse, said[name])):
            return Aggregate(name, parse.written(*said[name]))
    return None


def _end_of_quantity(parse: Parse, at: int) -> int:
    """Where the noun after "how many" ends: after a unit, or before "more ... than"; `at` for any other noun."""
    if (after_unit := end_of_unit(parse, at)) > at:
        return after_unit
    first = at + 1 if is_money(parse, at) else at  # a parser may take "euro" for a verb
    end = next((i for i in range(first, len(parse)) if parse.pos(i) not in ("NOUN", "ADJ")), at)
    return next((i for i in (first, end) if _is_more_than(parse, i)), at)


def _is_more_than(parse: Parse, at: int) -> bool:
    """Whether a greater or smaller amount than another is meant: "more ... than"."""
    if at >= len(parse) or degree(parse, at) != "Cmp" or parse.lemma(at) not in parse.lexicon.amounts:
        return False
    than = parse.find([*parse.lexicon.than])
    return than is not None and than[0] > at


def is_money(parse: Parse, at: int) -> bool:
    """Whether a noun is a currency: "euros"."""
    return at < len(parse) and parse.lemma(at) in parse.lexicon.currencies


def end_of_unit(parse: Parse, at: int) -> int:
    """The exclusive end of the unit that begins at a token: "km", "square metres"; `at` without one."""
    for end in range(min(at + LONGEST_UNIT, len(parse)), at, -1):
        # "spent 90 days in space": not in days times inches
        if parse.pos(end - 1) not in ("ADP", "PART") and is_unit(parse.written(at, end)):
            return end
    return at


def is_unit(text: str) -> bool:
    """Whether a text is a unit: "years", "km"."""
    found = quantity(Value(f"1 {text}"))
    return found is not None and found.kind != "number"


def is_common_noun(parse: Parse, at: int) -> bool:
    """Whether a word is a noun that is no topic, no stop word and no unit."""
    is_noun = parse.pos(at) == "NOUN" and not parse.is_topic(at) and not parse.is_stop(at)
    return is_noun and not is_unit(parse.words[at])


def _asks_number(parse: Parse, place: tuple[int, int]) -> bool:
    if any(degree(parse, i) or parse.lemma(i) in parse.lexicon.same for i in parse.dependents(place[0], "amod")):
        return False  # "the smallest number of", "the same number of"
    if place[0] and parse.is_a(place[0] - 1, "compound") and parse.tokens[place[0] - 1].head == place[0]:
        return False  # "the telephone number of"
    if place[0] and parse.words[place[0] - 1] in parse.lexicon.agents:
        return False  # "the biggest by number of"
    return place[1] - place[0] > 1 or next((i for i in range(len(parse)) if not parse.is_topic(i)), -1) == place[0]


def reflexives(parse: Parse) -> list[int]:
    """The places of words that stand for the subject: "herself", "his own"."""
    own = parse.lexicon.reflexives
    return [
        at
        for at, token in enumerate(parse.tokens)
        if token.feature("Reflex") == "Yes"
        or (parse.lemma(at) in own and any(parse.is_a(i, "nmod:poss") for i in parse.children(token.head)))
    ]


def negations(parse: Parse) -> tuple[Negation, ...]:
    """What a question excludes."""
    found = []
    for at, word in enumerate(parse.words):
        polar = parse.tokens[at].feature("Polarity") == "Neg"
        if not (polar or word in parse.lexicon.negations or parse.lemma(at) in parse.lexicon.negations):
            continue
        joined = at > 0 and parse.ends[at - 1] == parse.tokens[at].start  # "don't"
        found.append(Negation(parse.written(at - joined, at + 1), at))
    return tuple(found)


def joins(parse: Parse) -> tuple[Join, ...]:
    """What "and" and "or" join."""
    found = []
    for at in range(len(parse)):
        kind = next((k for k, said in parse.lexicon.coordination.items() if parse.words[at] in said), None)
        if kind is None or parse.pos(at) not in ("CCONJ", "") or at + 1 == len(parse):
            continue
        second = next((i for i in range(at + 1, len(parse)) if parse.is_a(i, "conj")), at + 1)
        first = parse.tokens[second].head if parse.is_a(second, "conj") else at - 1
        if 0 <= first < at:
            members = tuple(parse.topics[i] or parse.tokens[i].text for i in (first, second))
            found.append(Join(kind, members))  # type: ignore[arg-type]
    return tuple(found)
