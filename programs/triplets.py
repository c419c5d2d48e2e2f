"""Triple patterns as a language model writes them: one line each, `head | relation | tail`.

Names keep their apostrophes, commas and arrows: only `|` parts a line, and is written `\\|` inside a
name. A line may also be a JSON object with these three keys, or a list of the three.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from triplecheck.kg import Name, Pattern, Variable
from triplecheck.kg.patterns import Dropped, SchemaNames

_PARTS = re.compile(r"(?<!\\)((?:\\\\)*)\|")
_ESCAPED = re.compile(r"\\([\\|?])")
_VARIABLE = re.compile(r"\?\s*(\w+)\s*(?::\s*(\S.*))?")
_KEYS = ("head", "relation", "tail")
_ANY = frozenset({"*", "?", "any", ""})


@dataclass(frozen=True)
class Triplets:
    """The question as patterns (T and x_target of 4StepFocus, Algorithm 1).

    Attributes:
        patterns: those that could be read.
        target: name of the variable that is asked for; None: none was named that is in a pattern.
        dropped: lines that could not be read, and why.
    """

    patterns: tuple[Pattern, ...]
    target: str | None
    dropped: tuple[Dropped, ...] = ()


def read_triplets(
    lines: Sequence[str], answer: str, schema: SchemaNames, candidate_types: Sequence[str] = ()
) -> Triplets:
    """Read what a model wrote. A line that is no pattern is dropped with its reason.

    Args:
        lines: the patterns.
        answer: the variable asked for. Where it names none, the only variable of a candidate type is taken.
        schema: names of relations and types; tells the relation in "directed by: Film to Person".
        candidate_types: ids of the types that may be answers; none: any.
    """
    patterns: list[Pattern] = []
    dropped: list[Dropped] = []
    for line in lines:
        parts = _parts(line)
        if parts is None or not all(part.strip() for part in (parts[0], parts[2])):
            dropped.append(Dropped(line, "it is not of the form head | relation | tail"))
            continue
        head, relation, tail = (part.strip() for part in parts)
        patterns.append(Pattern(_end(head), _relation(relation, schema), _end(tail)))
    typed = _with_types(patterns)
    return Triplets(tuple(typed), _target(typed, answer, schema, candidate_types), tuple(dropped))


def write_triplet(pattern: Pattern) -> str:
    """A pattern as one line, which `read_triplets` reads back."""
    relation = "*" if isinstance(pattern.relation, Variable) else _escaped(pattern.relation)
    return " | ".join((_written(pattern.head), relation, _written(pattern.tail)))


def _parts(line: str) -> tuple[str, str, str] | None:
    text = line.strip()
    if text.startswith(("{", "[")):
        try:
            return _of_json(json.loads(text))
        except ValueError:
            pass  # a line that begins with a bracket
    parts = _PARTS.sub("\\1\n", text).split("\n")
    if len(parts) == 5 and not parts[0] and not parts[-1]:  # a row of a table
        parts = parts[1:-1]
    return (parts[0], parts[1], parts[2]) if len(parts) == 3 else None


def _of_json(value: Any) -> tuple[str, str, str] | None:
    if isinstance(value, Mapping):
        value = [value.get(key) for key in _KEYS]
    if not isinstance(value, list) or len(value) != 3 or not all(isinstance(part, str) for part in value):
        return None
    return value[0], value[1], value[2]


def _end(text: str) -> Name | Variable:
    match = _VARIABLE.fullmatch(text)
    if match is not None:
        kind = match[2]
        return Variable(match[1], kind.strip() if kind else None)
    return Name(_ESCAPED.sub(r"\1", text))


def _relation(text: str, schema: SchemaNames) -> str | Variable:
    text = _ESCAPED.sub(r"\1", text)
    if text.casefold() in _ANY or _VARIABLE.fullmatch(text):
        return Variable("*")
    # As in the prompt: with an alias, and with the types at both ends.
    shorter = (text, text.rpartition(": ")[0], text.partition(" / ")[0])
    return next((name for name in shorter if name and schema.relations(name)), text)


def _with_types(patterns: Sequence[Pattern]) -> list[Pattern]:
    """Every mention of a variable with the type that one of them has: the first one given."""
    types: dict[str, str] = {}
    for end in (end for pattern in patterns for end in (pattern.head, pattern.tail)):
        if isinstance(end, Variable) and end.type is not None:
            types.setdefault(end.name, end.type)

    def typed(end: Any) -> Any:
        return Variable(end.name, types.get(end.name)) if isinstance(end, Variable) else end

    return [Pattern(typed(pattern.head), pattern.relation, typed(pattern.tail)) for pattern in patterns]


def _target(
    patterns: Sequence[Pattern], answer: str, schema: SchemaNames, candidate_types: Sequence[str]
) -> str | None:
    ends = (end for pattern in patterns for end in (pattern.head, pattern.tail))
    variables = {end.name: end for end in ends if isinstance(end, Variable)}
    match = _VARIABLE.match(answer.strip()) or _VARIABLE.match(f"?{answer.strip()}")
    if match is not None and match[1] in variables:
        return match[1]
    may_be = [
        name
        for name, variable in variables.items()
        if not candidate_types or (variable.type is not None and schema.type_id(variable.type) in candidate_types)
    ]
    return may_be[0] if len(may_be) == 1 else None


def _written(end: object) -> str:
    if isinstance(end, Variable):
        return f"?{end.name}" + (f":{end.type}" if end.type else "")
    return _escaped(end.text if isinstance(end, Name) else str(getattr(end, "lexical", end)))


def _escaped(text: str) -> str:
    escaped = re.sub(r"([\\|])", r"\\\1", " ".join(text.split()))
    return "\\" + escaped if escaped.startswith("?") else escaped
