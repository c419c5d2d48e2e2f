"""Options of a program: its keyword arguments, checked against the types it asks for."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from triplecheck.kg import UserError
from triplecheck.programs.base import Program, Sources

_THRESHOLD = "abstain_below"


def make_program(program: type[Program], sources: Sources, options: Mapping[str, Any]) -> Program:
    """A program with these options, checked; `abstain_below`, which every program has, may be among them.

    Raises:
        UserError: as `check_options`.
    """
    own = {name: value for name, value in options.items() if name != _THRESHOLD}
    made = program(sources, **check_options(program, own))
    below = options.get(_THRESHOLD)
    if below is None or below == "none":
        return made
    if isinstance(below, bool) or not isinstance(below, int | float) or not below >= 0:
        raise UserError(f"abstain_below cannot be {below!r}: give a confidence, from 0 to 1")
    made.abstain_below = float(below)
    return made


def check_options(program: type[Program], options: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a program, converted to the types it asks for.

    Raises:
        UserError: it takes no such argument, or not of this value.
    """
    hints = typing.get_type_hints(program.__init__)
    known = [
        name
        for name, parameter in inspect.signature(program.__init__).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]
    shown = [name for name in known if name != "grounded_only"]
    checked = {}
    for name, value in options.items():
        if name not in known:
            takes = f"its options are {', '.join(shown)}" if shown else "it has no options"
            raise UserError(f"the program {program.name!r} has no option {name!r}; {takes}")
        if value == "none" and type(None) in typing.get_args(hints[name]):
            value = None  # a configuration in TOML has no other word for it
        _refuse_unknown_fields(name, value, hints[name])
        try:
            checked[name] = TypeAdapter(hints[name]).validate_python(value)
        except ValidationError as error:
            reasons = "; ".join(dict.fromkeys(detail["msg"] for detail in error.errors()))
            raise UserError(f"option {name!r} of {program.name!r} cannot be {value!r}: {reasons}") from None
    return checked


def _refuse_unknown_fields(name: str, value: Any, hint: Any) -> None:
    """Pydantic leaves out what a dataclass does not know; a misspelt bound must not pass so."""
    tables = [kind for kind in (hint, *typing.get_args(hint)) if dataclasses.is_dataclass(kind)]
    if not tables or not isinstance(value, dict):
        return
    fields = [field.name for field in dataclasses.fields(tables[0])]
    for key in value:
        if key not in fields:
            raise UserError(f"option '{name}.{key}' does not exist; there are {', '.join(fields)}")
