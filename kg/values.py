"""Literal values as things that can be compared: numbers and points in time."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass

from triplecheck.kg.graph import Graph
from triplecheck.kg.types import XSD, Literal

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_DATE = re.compile(r"(-?\d{4,})(?:-(\d{2})(?:-(\d{2}))?)?")
_TEMPORAL = {XSD + name for name in ("date", "dateTime", "gYear", "gYearMonth")}
_DAYS_IN_400_YEARS = 146_097


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
    """A literal; of an entity its name, since a graph from plain tables may have numbers as entities."""
    return graph.literal(node) or Literal(graph.label(node))


def quantity(value: Literal) -> Quantity | None:
    """The quantity that a literal denotes, None where it is text."""
    text = value.lexical.strip()
    if value.datatype in _TEMPORAL:
        match = _DATE.match(text)
        return Quantity("time", _days(match)) if match else None
    if _NUMBER.fullmatch(text):
        return Quantity("number", float(text))
    match = _DATE.fullmatch(text)
    return Quantity("time", _days(match)) if match else None


def _days(match: re.Match[str]) -> float:
    year, month, day = int(match[1]), int(match[2] or 1), int(match[3] or 1)
    # datetime knows the years 1 to 9999 only: shift into them by whole 400-year cycles.
    cycles, rest = divmod(year - 1, 400)
    try:
        ordinal = dt.date(rest + 1, month, day).toordinal()
    except ValueError:
        ordinal = dt.date(rest + 1, 1, 1).toordinal()
    return float(cycles * _DAYS_IN_400_YEARS + ordinal)
