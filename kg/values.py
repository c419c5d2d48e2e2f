"""Literal values as comparable quantities (numbers and points in time), and values as English texts write them.

In a text: "13 August 1899", "84 million".
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass

from triplecheck.kg.graph import Graph
from triplecheck.kg.types import XSD, Literal

_PLAIN_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_ISO_DATE = re.compile(r"(-?\d{4,})(?:-(\d{2})(?:-(\d{2}))?)?")
_TEMPORAL = {XSD + name for name in ("date", "dateTime", "gYear", "gYearMonth")}
_DAYS_IN_400_YEARS = 146_097


def valid(text: str) -> str:
    """The text with lone surrogates replaced, which are not valid Unicode."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    """A comparable value. Only quantities of the same kind may be compared.

    Attributes:
        kind: `number` or `time`.
        size: the number, or the days since year 0 (proleptic Gregorian).
    """

    kind: str
    size: float


def value_of(graph: Graph, node: int) -> Literal:
    """The value of a literal; for an entity its label, since a graph from plain tables may have numbers as entities."""
    return graph.literal(node) or Literal(graph.label(node))


def quantity(value: Literal) -> Quantity | None:
    """The quantity that a literal denotes, None for text."""
    text = value.lexical.strip()
    if value.datatype in _TEMPORAL:
        match = _ISO_DATE.match(text)
        return Quantity("time", _days(match)) if match else None
    if _PLAIN_NUMBER.fullmatch(text):
        return Quantity("number", float(text))
    match = _ISO_DATE.fullmatch(text)
    return Quantity("time", _days(match)) if match else None


def _days(match: re.Match[str]) -> float:
    year, month, day = int(match[1]), int(match[2] or 1), int(match[3] or 1)
    # datetime supports the years 1 to 9999: shift by whole 400-year cycles.
    cycles, rest = divmod(year - 1, 400)
    try:
        ordinal = dt.date(rest + 1, month, day).toordinal()
    except ValueError:
        ordinal = dt.date(rest + 1, 1, 1).toordinal()
    return float(cycles * _DAYS_IN_400_YEARS + ordinal)


# --- values in text ------------------------------------------------------------------------------
_MONTHS = tuple("january february march april may june july august september october november december".split())
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{3,4})"
_DATES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_DAY} (?:of )?{_MONTH},? {_YEAR}",
        rf"{_MONTH} {_DAY},? {_YEAR}",
        rf"{_MONTH},? {_YEAR}",
        r"(?P<year>\d{4})(?:-(?P<month>\d{2})(?:-(?P<day>\d{2}))?)?",
    )
)
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_WRITTEN_NUMBER = re.compile(rf"(-?\d[\d,]*)(?:\.(\d+))?(?: ({'|'.join(_SCALES)}))?(?:[ %][^\d]*)?", re.IGNORECASE)

Date = tuple[int, ...]
"""Year, month and day, as far as known."""


def agrees(written: str, value: Literal) -> bool | None:
    """Whether a text agrees with a literal at the precision of the text; None if they cannot be compared.

    A year agrees with all its days, "3.5 million" with all numbers that round to it. Units are ignored.
    """
    text = " ".join(written.split())
    there = quantity(value)
    if there is None:
        return None
    if there.kind == "time":
        date, known = _date(text), _date(value.lexical.strip()[:10])
        if date is None or known is None:
            return None
        both = min(len(date), len(known))
        return date[:both] == known[:both]
    number = _number(text)
    return None if number is None else abs(number[0] - there.size) <= number[1]


def _date(text: str) -> Date | None:
    for pattern in _DATES:
        match = pattern.fullmatch(text)
        if match:
            parts = match.groupdict()
            month = (parts.get("month") or "").casefold()
            found = [int(parts["year"])]
            if month:
                found.append(_MONTHS.index(month) + 1 if month in _MONTHS else int(month))
            return (*found, int(parts["day"])) if parts.get("day") else tuple(found)
    return None


def _number(text: str) -> tuple[float, float] | None:
    """The number and its rounding tolerance, which is 0 without a scale or a fraction."""
    match = _WRITTEN_NUMBER.fullmatch(text)
    if match is None:
        return None
    whole, fraction, scale = match[1].replace(",", ""), match[2] or "", _SCALES.get((match[3] or "").casefold(), 1.0)
    rounded = scale / 10 ** len(fraction) / 2 if fraction or match[3] else 0.0
    return float(f"{whole}.{fraction or 0}") * scale, rounded
