"""From a program's name, as one types it, to its class."""

from __future__ import annotations

from kg import UserError
from programs.base import Program
from programs.kerag import KERAG

_PROGRAMS: dict[str, type[Program]] = {program.name: program for program in (KERAG,)}


def program_names() -> list[str]:
    """Names of all programs."""
    return sorted(_PROGRAMS)


def resolve_program(name: str) -> type[Program]:
    """The class of a program.

    Raises:
        UserError: no such program; the message lists those there are.
    """
    try:
        return _PROGRAMS[name.lower().replace("-", "").replace("_", "")]
    except KeyError:
        raise UserError(f"no program {name!r}; there are: {', '.join(program_names())}") from None
