"""Texts as comparable quantities: numbers, points in time, and numbers with a unit.

A number has its thousands separated by commas or by the spaces of ISO 80000, and a decimal point. A decimal comma is
not read: "1.150" would be 1.15 or 1150. A unit must be all that follows the number, or a currency sign before it
(`kg.values.units`).

A date is one of ISO 8601 or XSD, with any year: "-0044-03-15", "12026-01-01". The year before 1 is 0, as in XSD 1.1;
"44 BC" is read as -44, as the data of most graphs write it. Partial dates are in order by their beginning: "1999" is
equal to "1999-01-01" and before "1999-01-02". A time of day is in UTC if no zone is written; the zone of a date without
a time of day is ignored.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from enum import Enum
from fractions import Fraction

from triplecheck.kg.graph import Graph
from triplecheck.kg.types import XSD, Literal
from triplecheck.kg.values.units import (
    MONEY_BEFORE,
    Exact,
    Unit,
    in_own_unit,
    own_unit,
    own_unit_after,
    unit,
    unit_around,
    whole,
)

NUMBER, TIME = "number", "time"
_DURATION = "duration"

LONGEST = 400
"""Characters of the longest quantity, and digits of the largest number."""

_MAY_BE_QUANTITY = re.compile(r"\D{0,7}\d")
_PLAIN_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
GAP = r"[ \u00a0\u2009\u202f]"
"""A regular expression for the spaces between thousands, and between a number and its unit."""
_AMOUNT = re.compile(
    rf"(?P<sign>[+\-−]?)(?:(?P<money>{MONEY_BEFORE}){GAP}?(?P<inner>-?))?"
    rf"(?P<number>(?:\d{{1,3}}(?:,\d{{3}}){{1,133}}+|\d{{1,3}}(?:{GAP}\d{{3}}){{1,133}}+|\d++)(?:\.\d++)?|\.\d++)(?P<power>[eE][+-]?\d+)?"
    r"(?P<rest>\D[^\n]*)?"
)
_SEPARATORS = re.compile(rf",|{GAP}")
_ISO = re.compile(
    r"(?P<year>[+-]?\d{4,}|-\d{1,3}(?=-\d\d-\d\d))(?:-(?P<month>\d{2})(?:-(?P<day>\d{2})"
    r"(?P<clock>[T ](?P<hour>\d{2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?P<fraction>\.\d+)?)?"
    r"(?P<zone>Z|[+-]\d{2}:?\d{2})?)?)?)?"
)
_PERIOD = re.compile(
    r"(?P<sign>-?)P(?=[\dT])(?:(?P<Y>\d+)Y)?(?:(?P<M>\d+)M)?(?:(?P<D>\d+)D)?"
    r"(?:T(?=\d)(?:(?P<h>\d+)H)?(?:(?P<m>\d+)M)?(?:(?P<s>\d+(?:\.\d+)?)S)?)?"
)
_YEAR_SECONDS = 31_557_600  # 365.25 days, as the unit "year"
_SECONDS = {"Y": _YEAR_SECONDS, "M": _YEAR_SECONDS // 12, "D": 86_400, "h": 3600, "m": 60, "s": 1}
_DAYS_IN_400_YEARS = 146_097
_DAY_SECONDS = 86_400


class Form(Enum):
    """What the datatype of a text lets it be."""

    ANY = 0
    TIME = 1
    DURATION = 2
    TEXT = 3


_FORMS = {
    XSD + name: form
    for form, names in {
        Form.TIME: "date dateTime dateTimeStamp gYear gYearMonth",
        Form.DURATION: "duration dayTimeDuration yearMonthDuration",
        Form.TEXT: "boolean anyURI hexBinary base64Binary time gDay gMonth gMonthDay QName",
    }.items()
    for name in names.split()
}


def form_of(datatype: str) -> Form:
    """What a datatype lets a text be; `Form.ANY` for an unknown one."""
    return _FORMS.get(datatype, Form.ANY)


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    """A comparable value. Only quantities of the same kind may be compared.

    Attributes:
        kind: `number`; `time` for a point in time; else what its unit measures (`Unit.kind`): `mass`, `share`,
            `money USD`; `unit crown` for a unit of one graph.
        size: exact, in the base unit of the kind; of a point in time the days since the day before 0001-01-01
            (proleptic Gregorian), with the time of day as a fraction.
        unit: the unit as written, empty if there is none; of a unit of one graph the word that most amounts have. It
            does not count in comparisons.
    """

    kind: str
    size: Exact
    unit: str = field(default="", compare=False)

    @property
    def is_time(self) -> bool:
        """Whether it is a point in time, not a number with or without a unit."""
        return self.kind == TIME

    @property
    def sense(self) -> str:
        """What a question calls it: `time` for a point in time, `number` for a number with or without a unit."""
        return TIME if self.is_time else NUMBER

    @property
    def amount(self) -> Exact:
        """The size in the unit that was written."""
        found = unit(self.unit) if self.unit else None
        return self.size if found is None else found.amount(self.size)


def value_of(graph: Graph, node: int) -> Literal:
    """The value of a literal; for an entity its label, since a graph from plain tables may have numbers as entities."""
    return graph.literal(node) or Literal(graph.label(node))


def quantity(value: Literal) -> Quantity | None:
    """The quantity that a literal denotes, None for text.

    Without a datatype "1999" is a number. Numbers keep being numbers whatever their datatype, except where it says that
    they are none, as `xsd:boolean` does. A datatype may name a unit of one graph (`units.own_unit`).
    """
    text = value.lexical.strip()
    if text.isdecimal() and value.datatype not in _FORMS and len(text) <= LONGEST:
        return Quantity(NUMBER, int(text))
    return typed(text, _FORMS.get(value.datatype, Form.ANY), own_unit(value.datatype))


def typed(text: str, form: Form, own: Unit | None = None) -> Quantity | None:
    """The quantity that a text without blanks around it denotes, given what its datatype lets it be.

    Args:
        own: the unit of one graph that the datatype names.
    """
    if len(text) > LONGEST:
        return None
    if form is Form.ANY:
        if not _MAY_BE_QUANTITY.match(text):
            return None
        if _PLAIN_NUMBER.fullmatch(text):
            number = _exact(text)
            return None if number is None else Quantity(NUMBER, number)
        match = _ISO.fullmatch(text)
        return _amount(text, own) if match is None else Quantity(TIME, _days(match))
    if form is Form.TIME:
        match = _ISO.match(text)
        return None if match is None else Quantity(TIME, _days(match))
    return _period(text) if form is Form.DURATION else None


def _exact(text: str) -> Exact | None:
    """The value of a plain number, None if it has too many digits."""
    try:
        number = Decimal(text)
    except InvalidOperation:  # an exponent that no number has
        return None
    if number and abs(number.adjusted()) > LONGEST:
        return None
    above, below = number.as_integer_ratio() if number else (0, 1)
    return above if below == 1 else Fraction(above, below)


def _amount(text: str, own: Unit | None) -> Quantity | None:
    """The quantity of a number with separators, a unit or a currency; None if the text is none."""
    match = _AMOUNT.fullmatch(text)
    if match is None:
        return None
    money, rest = match["money"] or "", match["rest"] or ""
    number = _exact(_SEPARATORS.sub("", match["number"]) + (match["power"] or ""))
    if number is None or (match["sign"] and match["inner"]):
        return None
    if match["sign"] in ("-", "−") or match["inner"]:
        number = -number
    if not money and not rest:
        return Quantity(NUMBER, number)
    found = unit_around(money, rest)
    if found is None and own is not None and not money:
        found = own_unit_after(rest, own)
    return None if found is None else Quantity(found.kind, found.size(number), found.text)


def _days(match: re.Match[str]) -> Exact:
    """The point in time of a match of `_ISO`; an impossible date counts as its year, an impossible time as its day."""
    year, month, day = int(match["year"]), int(match["month"] or 1), int(match["day"] or 1)
    # datetime supports the years 1 to 9999: shift by whole 400-year cycles.
    cycles, rest = divmod(year - 1, 400)
    try:
        ordinal = dt.date(rest + 1, month, day).toordinal()
    except ValueError:
        return cycles * _DAYS_IN_400_YEARS + dt.date(rest + 1, 1, 1).toordinal()
    days = cycles * _DAYS_IN_400_YEARS + ordinal
    return days + _clock(match) if match["clock"] else days


def _clock(match: re.Match[str]) -> Exact:
    """The time of day in days, in UTC; 0 if there is no such time."""
    hour, minute, second = int(match["hour"]), int(match["minute"]), int(match["second"] or 0)
    if hour * 3600 + minute * 60 + second > _DAY_SECONDS or minute > 59 or second > 59:
        return 0
    seconds = hour * 3600 + minute * 60 + second
    zone = match["zone"] or "Z"
    if zone != "Z":
        away = int(zone[1:3]) * 3600 + int(zone[-2:]) * 60
        seconds += -away if zone[0] == "+" else away
    return whole((seconds + Fraction(match["fraction"] or 0)) / _DAY_SECONDS)


def _period(text: str) -> Quantity | None:
    """A duration of XSD in seconds; a year has 365.25 days and a month a twelfth of them, as the units have."""
    match = _PERIOD.fullmatch(text)
    if match is None:
        return None
    size = sum(Fraction(match[part]) * seconds for part, seconds in _SECONDS.items() if match[part])
    return Quantity(_DURATION, whole(Fraction(-size if match["sign"] else size)), "s")


# --- points in time ------------------------------------------------------------------------------
Date = tuple[int, ...]
"""Year, month and day, as far as known."""


def date_of(value: Literal) -> Date | None:
    """Year, month and day of a literal as far as it says them; None if it is no date and no year."""
    text, form = value.lexical.strip(), form_of(value.datatype)
    if len(text) > LONGEST or form not in (Form.ANY, Form.TIME):
        return None
    match = _ISO.match(text) if form is Form.TIME else _ISO.fullmatch(text)
    return None if match is None else tuple(int(part) for part in match.group("year", "month", "day") if part)


# --- in words ------------------------------------------------------------------------------------
_SHOWN_DIGITS = 12


def written(size: Exact, unit_text: str = "", *, difference: bool = False) -> str:
    """A size in its base unit as text, in a unit: "470 kg" for 470.

    Args:
        size: exact.
        unit_text: the unit, or the word of a unit of one graph; empty: a plain number.
        difference: the size is a difference, for which the zero of a temperature scale does not count.
    """
    found = unit(unit_text) if unit_text else None
    if found is None:
        return in_own_unit(plain(size), unit_text) if unit_text else plain(size)
    number = plain(whole(Fraction(size) / found.factor) if difference else found.amount(size))
    if found.is_sign:
        return f"-{unit_text}{number[1:]}" if number.startswith("-") else unit_text + number
    return f"{number} {unit_text}"


def plain(number: Exact) -> str:
    """A number without exponent and trailing zeros; rounded to 12 digits if it has no end."""
    if isinstance(number, int):
        return str(number)
    most = number.denominator.bit_length()  # a decimal number has fewer places
    places = next((n for n in range(most) if pow(10, n, number.denominator) == 0), None)
    if places is not None:
        digits = f"{abs(number.numerator) * 10**places // number.denominator:0{places + 1}d}"
        return f"{'-' if number < 0 else ''}{digits[:-places]}.{digits[-places:]}"
    rounded = Decimal(f"{float(number):.{_SHOWN_DIGITS}g}")
    return f"{rounded.normalize():f}"
