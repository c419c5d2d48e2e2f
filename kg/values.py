"""Literal values as comparable quantities (numbers and points in time), and values as English texts write them.

In a text: "13 August 1899", "84 million".
"""

from __future__ import annotations

import datetime as dt
import json
import re
from dataclasses import dataclass
from typing import Any

from triplecheck.kg.graph import Graph
from triplecheck.kg.types import XSD, Literal

_PLAIN_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_ISO_DATE = re.compile(r"(-?\d{4,})(?:-(\d{2})(?:-(\d{2}))?)?")
_TEMPORAL = {XSD + name for name in ("date", "dateTime", "gYear", "gYearMonth")}
_DAYS_IN_400_YEARS = 146_097

HALF_A_CHARACTER = "half a character (a lone surrogate)"
# How JSON spells the halves of a character, also those of whole ones; `json` decodes halves in UTF-8.
_HALF = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
_HALF_IN_BYTES = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]")


def valid(text: str) -> str:
    """The text with lone surrogates replaced, which are not valid Unicode."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: it is not JSON, not UTF-8, or nested too deeply.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def parse_record(text: str | bytes) -> Any:
    """The value of a JSON text from outside, whose strings can be stored.

    Raises:
        ValueError: as `parse_json`, or a string holds half a character.
    """
    found = parse_json(text)
    if _HALF.search(text) if isinstance(text, str) else _HALF_IN_BYTES.search(text):
        try:
            json.dumps(found, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError(HALF_A_CHARACTER) from None
    return found


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
_MONTH = rf"(?P<month>{'|'.join(f'{name[:3]}(?:{name[3:]}|{name[3:4]})?' for name in _MONTHS)})\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{1,4})(?P<era> (?:BCE?|B\. ?C\.))|(?P<plain>\d{3,4})"
_ISO = r"(?P<year>-?\d{4})(?:-(?P<month>\d{2})(?:-(?P<day>\d{2}))?)?"
_DATES = tuple(
    re.compile(rf"(?<![\w.,/-]){pattern}(?![\w/-]|[.,]\d)", re.IGNORECASE)
    for pattern in (
        rf"{_DAY} (?:of )?{_MONTH},? (?:{_YEAR})",
        rf"{_MONTH} {_DAY},? (?:{_YEAR})",
        rf"{_MONTH},? (?:{_YEAR})",
        _ISO,
        r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})",
        r"(?P<first>\d{1,2})/(?P<second>\d{1,2})/(?P<year>\d{4})",
        rf"(?:{_YEAR})",
    )
)
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
# Thousands are separated by commas, or by the spaces of ISO 80000 (plain, no-break and narrow).
_WRITTEN_NUMBER = re.compile(
    r"(?<![\w.,-])(?P<whole>-?(?:\d{1,3}(?:,\d{3})+|\d{1,3}(?:[ \u00a0\u2009\u202f]\d{3})+|\d+))"
    r"(?:\.(?P<fraction>\d+))?"
    rf"(?![,.]?\d)(?: (?P<scale>{'|'.join(_SCALES)})\b)?",
    re.IGNORECASE,
)
_UNIT = re.compile(r"(?:[ %°]?[^\d]*)?")

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
        said, known = written_date(text), _date_of(value)
        return None if said is None or known is None else _same_date(said, known)
    number = _number(text)
    return None if number is None else abs(number[0] - there.size) <= number[1]


def mentions(sentence: str, value: Literal) -> bool:
    """Whether a sentence holds a date or number that agrees with a literal at the precision of the sentence."""
    there = quantity(value)
    if there is None:
        return False
    text = " ".join(sentence.split())
    if there.kind == "time":
        known = _date_of(value)
        for pattern in _DATES if known is not None else ():
            # The first form that occurs is the most precise: a year that belongs to a date is not read alone.
            said = [date for match in pattern.finditer(text) if (date := _read_date(match)) is not None]
            if known is not None and said:
                return any(_same_date(date, known) for date in said)
        return False
    numbers = map(_read_number, _WRITTEN_NUMBER.finditer(text))
    return any(abs(number - there.size) <= tolerance for number, tolerance in numbers)


def _same_date(said: Date, known: Date) -> bool:
    both = min(len(said), len(known))
    return said[:both] == known[:both]


def _date_of(value: Literal) -> Date | None:
    match = _ISO_DATE.match(value.lexical.strip())
    return None if match is None else tuple(int(part) for part in match.groups() if part)


def written_date(text: str) -> Date | None:
    """The date that a text is, in English words, in digits or in ISO 8601; None if it is none, or not only one."""
    return next((_read_date(match) for pattern in _DATES if (match := pattern.fullmatch(text.strip()))), None)


def _read_date(match: re.Match[str]) -> Date | None:
    """The date; None if day and month of 3/4/1900 cannot be told apart."""
    parts = {name: part for name, part in match.groupdict().items() if part}
    year = int(parts.get("plain") or parts["year"])
    if "era" in parts:
        year = -year
    if "first" in parts:
        first, second = int(parts["first"]), int(parts["second"])
        if first != second and max(first, second) <= 12:
            return None
        return (year, *((second, first) if first > 12 else (first, second)))
    if "month" not in parts:
        return (year,)
    name = parts["month"].casefold()
    month = int(name) if name.isdecimal() else next(n for n, m in enumerate(_MONTHS, 1) if m.startswith(name[:3]))
    return (year, month, int(parts["day"])) if "day" in parts else (year, month)


def _number(text: str) -> tuple[float, float] | None:
    """The number and its rounding tolerance, which is 0 without a scale or a fraction."""
    match = _WRITTEN_NUMBER.match(text)
    return _read_number(match) if match and _UNIT.fullmatch(text[match.end() :]) else None


def _read_number(match: re.Match[str]) -> tuple[float, float]:
    whole, fraction = re.sub(r"[^\d-]", "", match["whole"]), match["fraction"] or ""
    scale = _SCALES.get((match["scale"] or "").casefold(), 1.0)
    rounded = scale / 10 ** len(fraction) / 2 if fraction or match["scale"] else 0.0
    return float(f"{whole}.{fraction or 0}") * scale, rounded
