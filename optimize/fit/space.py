"""Which options of a program are fitted, and to what: thresholds, floors and margins, and how far it looks."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from triplecheck.kg import UserError
from triplecheck.programs import Program

_SPACES: dict[str, dict[str, tuple[Any, ...]]] = {
    "know3rag": {
        "theta_0": (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
        "turns": (0, 1, 2),
        "references": (5, 3),
    },
    "kerag": {"hops": (1, 2, 3), "limits.candidates": (1, 3)},
    "anchorrag": {"prefilter": (0.1, 0.3, None), "anchor_margin": (0.05, 0.1, 0.2), "depth": (2, 3)},
    "4stepfocus": {"matching.cutoff": (0.7, 0.8, 0.9), "share": (0.3, 0.5, 0.8), "least": (0.3, 0.5, 0.7)},
}


@dataclass(frozen=True)
class Option:
    """An option to be fitted.

    Attributes:
        name: as on the command line; a dot leads into a table (`matching.cutoff`).
        values: to be tried, beside the one that it has.
    """

    name: str
    values: tuple[Any, ...]


def space_of(program: str) -> tuple[Option, ...]:
    """The options of a program that are fitted where nothing else is said; none for a program without thresholds."""
    return tuple(Option(name, values) for name, values in _SPACES.get(program, {}).items())


def read_space(items: Iterable[str]) -> tuple[Option, ...]:
    """`["theta_0=0.01,0.1,1"]` as options.

    Raises:
        UserError: an item is not NAME=VALUE,VALUE..., or a name stands twice.
    """
    options: dict[str, Option] = {}
    for item in items:
        name, separator, text = (part.strip() for part in item.partition("="))
        values = tuple(dict.fromkeys(_value(part.strip()) for part in text.split(",") if part.strip()))
        if not separator or not name or not values:
            raise UserError(f"--try {item!r}: write NAME=VALUE,VALUE, such as theta_0=0.01,0.1,1")
        if name in options:
            raise UserError(f"--try: {name!r} is given twice; write all its values after one")
        options[name] = Option(name, values)
    return tuple(options.values())


def _value(text: str) -> Any:
    if text == "none":
        return None
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def held(program: Program, options: Sequence[Option]) -> dict[str, Any]:
    """The values that options have in a program; options that it does not have are left out."""
    found = {}
    for option in options:
        value: Any = program.options
        for part in option.name.split("."):
            value = vars(value).get(part, _Missing) if hasattr(value, "__dict__") else _Missing
        if value is not _Missing:
            found[option.name] = value
    return found


class _Missing:
    """Stands where a program keeps nothing."""


def nested(options: Mapping[str, Any], setting: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a program with a setting put in: a dot in a name leads into a table.

    Raises:
        UserError: what a dot leads into is no table.
    """
    result = dict(options)
    for name, value in setting.items():
        *tables, key = name.split(".")
        place = result
        for table in tables:
            inner = place.get(table, {})
            if not isinstance(inner, Mapping):
                raise UserError(f"{name}: {table!r} is {inner!r}, no table; leave it out or give its parts")
            place[table] = dict(inner)
            place = place[table]
        place[key] = "none" if value is None else value
    return result


def label(setting: Mapping[str, Any]) -> str:
    """A setting in one line."""
    return ", ".join(f"{name}={'none' if value is None else value}" for name, value in setting.items()) or "as given"
