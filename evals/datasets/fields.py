"""Small helps for adapters: real rows have blanks, repetitions, and one thing in several shapes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from triplecheck.evals.datasets.spec import Row
from triplecheck.evals.questions import Question, parse_question


def question(**fields: Any) -> Question:
    """The question of the fields that `evals.parse_question` knows; those that are None are left out."""
    return parse_question({name: value for name, value in fields.items() if value is not None})


def text(value: Any) -> str | None:
    """A text without blanks around it, a number as text; None for nothing and for a blank."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = int(value) if isinstance(value, float) and value.is_integer() else value
        return str(value)
    if value is None or isinstance(value, str):
        return (value or "").strip() or None
    raise ValueError(f"{value!r} stands where a text is expected")


def texts(values: Iterable[Any] | None) -> list[str]:
    """Texts that are not blank, each once."""
    return list(dict.fromkeys(one for value in values or () if (one := text(value)) is not None))


def records(value: Any) -> list[Mapping[str, Any]]:
    """A list of objects, also where it is stored as an object of lists (`datasets` does so), or missing."""
    if value is None:
        return []
    if isinstance(value, Mapping):
        names, columns = list(value), list(value.values())
        return [dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True)]
    if isinstance(value, list) and all(isinstance(one, Mapping) for one in value):
        return value
    raise ValueError(f"{str(value)[:80]!r} is not a list of objects")


def named(pairs: Iterable[tuple[str | None, str | None]]) -> tuple[list[str], list[str | None]]:
    """Ids and their names beside them, each id once; where there is no id, the name stands for it."""
    found: dict[str, str | None] = {}
    for id, name in pairs:
        if (key := id or name) is not None and found.get(key) is None:
            found[key] = name if id else None
    return list(found), list(found.values())


def ids_in(query: str | None, pattern: str) -> list[str]:
    """What the groups of a pattern find in a query, each once, in order."""
    found = re.finditer(pattern, query or "")
    return list(dict.fromkeys(group for match in found for group in match.groups() if group))


def required(row: Row, *names: str) -> Any:
    """The first of the fields that the row has.

    Raises:
        ValueError: it has none of them.
    """
    for name in names:
        if row.get(name) is not None:
            return row[name]
    raise ValueError(f"has no {' or '.join(names)}")
