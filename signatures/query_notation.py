"""The notation of queries in prompts: patterns, and the classes and relations that are offered for them.

    pattern    ?x a <Film> ; <directed by> <Ridley Scott>            as in a query; unknowns begin with ?
    class      ?film a <Film> (31)                                   the number of its things
    offered    ?film <directed by> ?person (e.g. Ridley Scott; also <director>)
                                                                     a relation with what is at its ends

Patterns take any names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from triplecheck.signatures.notation import EXAMPLE, split_note, with_note

THING = "thing"
"""In place of a class that is not known."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A variable of a pattern, with its type if given."""

    name: str
    type: str | None = None


@dataclass(frozen=True, slots=True)
class WrittenPattern:
    """A triple with unknowns. `relation` is None for any relation."""

    head: str | Unknown
    relation: str | None
    tail: str | Unknown


_ENCODED = re.compile(r"[%<>\"{}?$^`\\|]")
_ANY = "?any"
_ALSO, _OTHER, _BETWEEN_NOTES = "also ", "other_", "; "
_OFFERED_CLASS = re.compile(r"\?\w+ a <([^<>]+)>")
_OFFERED = re.compile(r"\?(\w+) <([^<>]+)> \?(\w+)")
_TERM = re.compile(
    r"""\s*(?: \?(?P<unknown>\w+) | <(?P<name>[^<>]+)> | "(?P<text>(?:[^"\\]|\\.)*)"(?:\^\^\S+|@[\w-]+)?
      | (?P<number>[+-]?\d[\d.]*\d|[+-]?\d)(?=[\s;,.]|$) | (?P<mark>[;,.]) | (?P<word>[^\W\d_][\w:]*)(?=[\s<?]|$) )""",
    re.VERBOSE,
)
_CLASS = ("a", "rdf:type")
_IS_THING = re.compile(rf"([?$]\w+)\s+a\s+(?:<{THING}>|{THING}\b)\s*(?:(;)|\.|(?=\}}))", re.IGNORECASE)


def write_pattern(pattern: WrittenPattern) -> str:
    """A pattern on one line, as a query writes it: `?x a <person> ; <keeper of> <Skerry Point>`."""
    head, tail = _term(pattern.head), _term(pattern.tail)
    of_head, of_tail = _type_of(pattern.head), _type_of(pattern.tail)
    about = f"{head} a {_name(of_head)} ; " if of_head else f"{head} "
    rest = f" . {tail} a {_name(of_tail)}" if of_tail else ""
    return f"{about}{_ANY if pattern.relation is None else _name(pattern.relation)} {tail}{rest}"


@dataclass(frozen=True, slots=True)
class OfferedRelation:
    """A relation that a query may use.

    Attributes:
        names: its label and its other names.
        head: the class at its start, or `THING`.
        tail: the class at its end, a kind of value, or `THING`.
        example: what stands at its end.
    """

    names: tuple[str, ...]
    head: str
    tail: str
    example: str = ""


def write_class(label: str, count: int) -> str:
    """A class and the number of its things."""
    return with_note(f"?{variable(label)} a {_name(label)}", str(count))


def read_class(line: str) -> str:
    """The class on a line."""
    match = _OFFERED_CLASS.fullmatch(split_note(line)[0])
    return unquote(match[1]) if match else line


def write_offered(relation: OfferedRelation) -> str:
    """A relation on one line, as a query has it, with an example and its other names."""
    label, *others = relation.names
    head, tail = variable(relation.head), variable(relation.tail)
    notes = [EXAMPLE + relation.example] if relation.example else []
    notes += [_ALSO + " ".join(map(_name, others))] if others else []
    return with_note(f"?{head} {_name(label)} ?{_OTHER + tail if tail == head else tail}", _BETWEEN_NOTES.join(notes))


def read_offered(line: str, classes: Iterable[str]) -> OfferedRelation | None:
    """The relation on a line; None if there is none.

    Args:
        line: of `write_offered`.
        classes: those of the graph that are known; another is read from its variable.
    """
    text, note = split_note(line)
    match = _OFFERED.fullmatch(text)
    if match is None:
        return None
    head, label, tail = match.groups()
    before, also, others = note.rpartition(_ALSO)
    example = (before.removesuffix(_BETWEEN_NOTES) if also else note).removeprefix(EXAMPLE)
    labels = {variable(one): one for one in classes}
    ends = (head, tail.removeprefix(_OTHER) if tail == _OTHER + head else tail)
    head, tail = (labels.get(end, end.replace("_", " ")) for end in ends)
    names = [unquote(name) for name in (label, *re.findall(r"<([^<>]+)>", others if also else ""))]
    return OfferedRelation(tuple(names), head, tail, example)


def without_things(query: str) -> str:
    """A query without the patterns that say only that an unknown is a thing: `?x a <thing>`."""
    return _IS_THING.sub(lambda match: match[1] if match[2] else "", query)


def variable(label: str) -> str:
    """The name of a variable for things of a class."""
    # A variable in SPARQL may not have all that `\w` matches, such as the sign of "m²".
    plain = "".join(one if one.isdecimal() or (one.isalpha() and one not in "ªº") else "_" for one in label)
    return re.sub("_+", "_", plain).strip("_") or "x"


def read_patterns(lines: Iterable[str]) -> tuple[list[WrittenPattern], list[str]]:
    """The patterns that a model wrote, and the lines that are none.

    A line has one or more triples of SPARQL, also with `;` and `,`, and with braces around them. `?x a <person>` on any
    line gives ?x its type. Names stand in angle brackets, texts in quotes, numbers alone.
    """
    found: list[WrittenPattern] = []
    types: dict[str, str] = {}
    others = []
    for line in lines:
        triples = _triples(line)
        if triples is None:
            others.append(line)
            continue
        for pattern in triples:
            if pattern.relation not in _CLASS:
                found.append(pattern)
            elif isinstance(pattern.head, Unknown) and isinstance(pattern.tail, str):
                types.setdefault(pattern.head.name, pattern.tail)

    def typed(end: str | Unknown) -> str | Unknown:
        return Unknown(end.name, types.get(end.name)) if isinstance(end, Unknown) else end

    return [WrittenPattern(typed(one.head), one.relation, typed(one.tail)) for one in found], others


def read_unknown(text: str) -> str | None:
    """The name of the unknown at the start of a text, with or without a question mark; None if there is none."""
    match = re.match(r"\??\s*(\w+)", text.strip())
    return match[1] if match else None


def _triples(line: str) -> list[WrittenPattern] | None:
    """The triples of a line; None if it is not made of triples."""
    start, end = line.find("{"), line.rfind("}")
    text = (line[start + 1 : end] if 0 <= start < end else line).strip()
    found: list[WrittenPattern] = []
    parts: list[Any] = []
    at = 0
    while at < len(text) or parts:
        match = _TERM.match(text, at) if at < len(text) else None
        if at < len(text) and match is None:
            return None
        at = len(text) + 1 if match is None else match.end()
        mark = "." if match is None else match["mark"]
        if not mark:
            assert match is not None
            parts.append(_read_term(match, is_relation=len(parts) == 1))
            continue
        if not parts and mark == ".":
            continue
        if len(parts) != 3 or None in (parts[0], parts[2]) or not parts[1]:
            return None
        relation = None if isinstance(parts[1], Unknown) else parts[1]
        found.append(WrittenPattern(parts[0], relation, parts[2]))
        parts = {".": [], ";": parts[:1], ",": parts[:2]}[mark]
    return found or None


def _read_term(match: re.Match[str], *, is_relation: bool) -> str | Unknown | None:
    """A term; None for a word that stands for no thing."""
    if match["unknown"]:
        return Unknown(match["unknown"])
    if match["word"]:
        return match["word"] if is_relation else None
    text = match["text"]
    if text is not None:
        return re.sub(r"\\(.)", r"\1", text)
    return unquote(match["name"]) if match["name"] else match["number"]


def _term(end: str | Unknown) -> str:
    return f"?{end.name}" if isinstance(end, Unknown) else _name(end)


def _type_of(end: str | Unknown) -> str | None:
    return end.type if isinstance(end, Unknown) else None


def _name(text: str) -> str:
    return f"<{_ENCODED.sub(lambda match: f'%{ord(match[0]):02X}', ' '.join(text.split()))}>"
