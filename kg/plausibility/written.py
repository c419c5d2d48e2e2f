"""Values as texts write them ("13 August 1899", "84 million") beside literals of a graph. English."""

from __future__ import annotations

import re

from triplecheck.kg.types import Literal
from triplecheck.kg.values import quantity

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
_NUMBER = re.compile(rf"(-?\d[\d,]*)(?:\.(\d+))?(?: ({'|'.join(_SCALES)}))?(?:[ %][^\d]*)?", re.IGNORECASE)

Date = tuple[int, ...]
"""Year, month and day, as far as known."""


def agrees(written: str, value: Literal) -> bool | None:
    """Whether a text says the same as a literal, as precisely as it says it; None where they cannot be compared.

    A year agrees with any of its days, and "3.5 million" with what rounds to it; a unit is not looked at.
    """
    text = " ".join(written.split())
    there = quantity(value)
    if there is None:
        return None
    if there.kind == "time":
        said, known = _date(text), _date(value.lexical.strip()[:10])
        if said is None or known is None:
            return None
        both = min(len(said), len(known))
        return said[:both] == known[:both]
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
    """The number, and how far it may be off by its being rounded: not at all unless a scale or a fraction says so."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    whole, fraction, scale = match[1].replace(",", ""), match[2] or "", _SCALES.get((match[3] or "").casefold(), 1.0)
    rounded = scale / 10 ** len(fraction) / 2 if fraction or match[3] else 0.0
    return float(f"{whole}.{fraction or 0}") * scale, rounded
