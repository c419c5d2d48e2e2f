"""The form of a guided reply as a grammar of llama.cpp (GBNF)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from lms.local.form import NONE, Field
from lms.sections import COMPLETED, HEADER

_LINES = 16  # of a text or a list
_CHARACTERS = 240  # of a line
_NUMBERS = 32
_RULES = f"""\
line ::= [^\\n\\x5B]{{1,{_CHARACTERS}}}
lines ::= line ("\\n" line){{0,{_LINES - 1}}}
whole ::= [0-9]{{1,6}}
numbers ::= "none" | whole (", " whole){{0,{_NUMBERS - 1}}}
number ::= "-"? [0-9]{{1,12}} ("." [0-9]{{1,6}})?"""
_RULE_OF = {"text": "lines", "lines": "lines", "numbers": "numbers", "number": "number"}


def grammar(fields: Sequence[Field]) -> str:
    """A grammar that takes exactly the replies with these fields, in order."""
    parts = [f"{_quoted(_frame(field.name, first=at == 0))} {_value(field)}" for at, field in enumerate(fields)]
    return f"root ::= {' '.join(parts)} {_quoted(f'{chr(10)}{chr(10)}{COMPLETED}')}\n{_RULES}\n"


def _frame(name: str, *, first: bool) -> str:
    return f"{'' if first else chr(10) * 2}{HEADER.format(name=name)}\n"


def _value(field: Field) -> str:
    options = " | ".join(_quoted(option) for option in field.options)
    if field.kind == "choice":
        return f"({options})"
    if field.kind == "items":
        return f"({_quoted(NONE)} | ({options}) ({_quoted(chr(10))} ({options})){{0,{len(field.options) - 1}}})"
    return _RULE_OF[field.kind]


def _quoted(text: str) -> str:
    """A literal of the grammar; its escapes are those of JSON as far as they are used here."""
    return json.dumps(text, ensure_ascii=False)
