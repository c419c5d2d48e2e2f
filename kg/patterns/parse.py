"""Patterns as text: `?film:Film directed_by 'Christopher Nolan'; ?film starring ?actor`.

Patterns are separated by `;` or new lines, their three parts by spaces. A part is a variable
(`?film`, with a type `?film:Film`), a quoted text, or a single word; `*` or a variable in the middle
stands for any relation. Inside quotes a backslash takes the next character as it is. A name may have
a type, too: `'Paris':City`.
"""

from __future__ import annotations

import re

from triplecheck.kg.errors import UserError
from triplecheck.kg.types import Name, Pattern, Variable

_TOKEN = re.compile(
    r"""(?P<space>[ \t]+)
    | (?P<end>[;\r\n]+)
    | (?P<part> \?(?P<variable>\w+)
              | '(?P<single>(?:[^'\\]|\\.)*)'
              | "(?P<double>(?:[^"\\]|\\.)*)"
              | (?P<word>[^\s;'"?][^\s;]*) )
      (?: (?<=[\w'"]) : (?: '(?P<single_type>(?:[^'\\]|\\.)*)' | "(?P<double_type>(?:[^"\\]|\\.)*)"
                          | (?P<type>[^\s;'"]+) ) )?
      (?=[\s;]|$)""",
    re.VERBOSE | re.DOTALL,
)
_WORD = re.compile(r"[\w./#-]+")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_FORM = "a pattern is `head relation tail`, such as ?film directed_by 'Christopher Nolan'"

Part = Name | Variable


def parse_patterns(text: str) -> list[Pattern]:
    """Read patterns.

    Raises:
        UserError: the text is no list of patterns; the message shows where and what is expected.
    """
    patterns = [_pattern(parts, written) for parts, written in _split(text)]
    if not patterns:
        raise UserError(f"no pattern is given; {_FORM}")
    types: dict[str, str] = {}
    for end in (end for pattern in patterns for end in (pattern.head, pattern.tail)):
        if isinstance(end, Variable) and end.type is not None and types.setdefault(end.name, end.type) != end.type:
            raise UserError(f"?{end.name} has two types, {types[end.name]!r} and {end.type!r}; keep one")
    return patterns


def write_pattern(pattern: Pattern) -> str:
    """A pattern in the form that `parse_patterns` reads."""
    return " ".join(_written(part) for part in (pattern.head, pattern.relation, pattern.tail))


def _split(text: str) -> list[tuple[list[Part], str]]:
    found: list[tuple[list[Part], str]] = []
    parts: list[Part] = []
    at = begin = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise UserError(f"cannot read {text[at : at + 30]!r} in the patterns{_hint(text[at])}; {_FORM}")
        if match["end"] and parts:
            found.append((parts, text[begin:at].strip()))
            parts = []
        elif match["part"]:
            begin = begin if parts else at
            parts.append(_part(match))
        at = match.end()
    return [*found, (parts, text[begin:].strip())] if parts else found


def _hint(character: str) -> str:
    if character in "'\"":
        return f": a quote {character} that is not closed, or not followed by a space"
    return ": a variable needs a name, as in ?film" if character == "?" else ""


def _part(match: re.Match[str]) -> Part:
    quoted = match["single_type"] if match["single_type"] is not None else match["double_type"]
    kind = match["type"] if quoted is None else _ESCAPE.sub(r"\1", quoted)
    if match["variable"]:
        return Variable(match["variable"], kind)
    quoted = match["single"] if match["single"] is not None else match["double"]
    if quoted is not None:
        return Name(_ESCAPE.sub(r"\1", quoted), kind)
    return Name(match["word"] + (f":{kind}" if kind else ""))  # a bare word may hold colons: an IRI does


def _pattern(parts: list[Part], written: str) -> Pattern:
    if len(parts) != 3:
        raise UserError(f"{written!r} has {len(parts)} part{'s' * (len(parts) != 1)}, not 3; {_FORM}")
    head, relation, tail = parts
    if isinstance(relation, Name):
        any_relation = relation.text == "*" or not relation.text.strip()
        return Pattern(head, Variable("*") if any_relation else relation.text, tail)
    return Pattern(head, relation, tail)


def _written(part: object) -> str:
    kind = getattr(part, "type", None)
    suffix = f":{_quoted(kind)}" if kind else ""
    if isinstance(part, Variable):
        return "*" if part.name == "*" else f"?{part.name}{suffix}"
    text = part.text if isinstance(part, Name) else str(getattr(part, "lexical", part))
    return text if _WORD.fullmatch(text) and not suffix else _quoted(text) + suffix


def _quoted(text: str) -> str:
    return "'" + re.sub(r"(['\\])", r"\\\1", text) + "'"
