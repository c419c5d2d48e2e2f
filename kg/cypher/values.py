"""Values of properties as literals, and literals as values that a query compares."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import uuid
from collections.abc import Callable, Collection
from decimal import Decimal, InvalidOperation
from typing import Any

from triplecheck.kg.types import XSD, Literal

ANY = "any"
"""The kind of a property whose values may be of any kind."""
COMPARED = {"duration": "text", "decimal": "double"}
"""What values of some kinds are compared as: the engines do not compare them with those of the driver."""
_TEMPORAL = {"Date": "date", "DateTime": "dateTime", "Time": "time", "Duration": "duration"}  # of the Neo4j driver
# By the beginning of the engine's name of a type.
_KINDS: dict[str, str | None] = {"STRING": "string", "UUID": "uuid", "INTERVAL": None, "INT128": "decimal"}
_KINDS |= dict.fromkeys(("INT", "UINT", "SERIAL"), "integer") | dict.fromkeys(("FLOAT", "DOUBLE"), "double")
_KINDS |= {"DECIMAL": "decimal", "BOOL": "boolean", "DATE": "date", "DURATION": "duration", "ANY": ANY}
_KINDS |= dict.fromkeys(("TIMESTAMP", "ZONED DATETIME", "LOCAL DATETIME"), "dateTime")
_KINDS |= dict.fromkeys(("ZONED_DATE_TIME", "LOCAL_DATE_TIME"), "dateTime")
_KINDS |= dict.fromkeys(("ZONED TIME", "LOCAL TIME", "LOCAL_TIME"), "time")


def kind_of(type_name: str) -> tuple[str, bool] | None:
    """Kind of the values of an engine's type, and whether they are in a list.

    None for what is no literal: points, maps, bytes, lists of lists, and lists of floating-point numbers, which are
    vectors.
    """
    name = type_name.upper().removesuffix(" NOT NULL")
    many = True
    if name.startswith("LIST<"):
        name = name.removeprefix("LIST<").removesuffix(">").removesuffix(" NOT NULL")
    elif name == "LIST":
        name = "ANY"
    elif name.endswith("]"):
        name = name[: name.rindex("[")]
    else:
        many = False
    if name.endswith((")", ">", "]")) and not name.startswith("DECIMAL"):
        return None  # STRUCT(...), MAP(...), lists of lists
    kind = next((kind for start, kind in _KINDS.items() if name.startswith(start)), None)
    if kind is None or (many and kind == "double"):
        return None
    return kind, many


def datatype_of(kind: str) -> str:
    """The datatype of the values of a kind."""
    return XSD + ("string" if kind == "uuid" else kind)


def literals(cell: object, datatype: str | None = None) -> list[Literal]:
    """The distinct values of a property.

    Args:
        cell: what the engine returned: a value, a list of them, or None.
        datatype: the declared datatype of the values; None: by their type.
    """
    values = cell if isinstance(cell, list) else [cell]
    if isinstance(cell, list) and any(isinstance(value, float) for value in cell):
        return []
    found = (_literal(value) for value in values if value is not None)
    return list(dict.fromkeys(Literal(v.lexical, datatype or v.datatype) for v in found if v is not None))


def _literal(value: object) -> Literal | None:
    if isinstance(value, str | uuid.UUID):
        return Literal(str(value))
    if isinstance(value, bool):
        return Literal(str(value).lower(), XSD + "boolean")
    if isinstance(value, int):
        return Literal(str(value), XSD + "integer")
    if isinstance(value, float):
        special = "NaN" if math.isnan(value) else "INF" if value > 0 else "-INF"
        return Literal(repr(value) if math.isfinite(value) else special, XSD + "double")
    if isinstance(value, Decimal):
        text = format(value, "f")
        return Literal(text.rstrip("0").rstrip(".") if "." in text else text, XSD + "decimal")
    kind = _TEMPORAL.get(type(value).__name__) if hasattr(value, "iso_format") else None
    if kind is not None:
        try:
            value = value.to_native()  # type: ignore[attr-defined]
        except (AttributeError, ValueError):  # a duration, or a year that Python's dates do not have
            return Literal(value.iso_format(), XSD + kind)  # type: ignore[attr-defined]
    for python_type, name in ((dt.datetime, "dateTime"), (dt.date, "date"), (dt.time, "time")):
        if isinstance(value, python_type):
            return Literal(value.isoformat(), XSD + name)
    return None


_READ: dict[str, Callable[[str], Any]] = {
    "string": str,
    "integer": int,
    "double": float,
    "decimal": Decimal,
    "boolean": {"true": True, "false": False}.__getitem__,
    "date": dt.date.fromisoformat,
    "dateTime": dt.datetime.fromisoformat,
    "time": dt.time.fromisoformat,
    "duration": str,
    "uuid": lambda text: str(uuid.UUID(text)),
}


_OF_ANY = tuple(kind for kind in _READ if kind not in ("decimal", "uuid"))  # of engines without columns
KINDS = tuple(_READ)
"""Kinds of values: local names of XSD, and `uuid`."""


def natives(lexicals: Collection[str], *kinds: str) -> list[Any]:
    """The values of the kinds whose lexical forms these are; forms that no value of a kind has are left out."""
    found: list[Any] = []
    for kind, lexical in itertools.product(kinds, lexicals):
        for each in _OF_ANY if kind == ANY else (kind,):
            try:
                value = _READ[each](lexical)
            except (ValueError, KeyError, InvalidOperation, OverflowError):
                continue
            if isinstance(value, int) and abs(value) >= 1 << 63:
                continue
            if COMPARED.get(each) == "text" or _literal(value) == Literal(lexical, datatype_of(each)):
                found.append(value)
    return list({(type(value), value): value for value in found}.values())
