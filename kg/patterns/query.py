"""Patterns: the values of a query on node numbers, and patterns as text.

As text, `?film:Film directed_by 'Christopher Nolan'; ?film starring ?actor`: patterns are separated by `;` or new
lines, their three parts by spaces. A part is a variable (`?film`, with a type `?film:Film`), a quoted text, or a
single word; `*` or a variable in the middle stands for any relation. Inside quotes a backslash escapes the next
character. A name may have a type, too: `'Paris':City`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from triplecheck.kg.errors import UserError
from triplecheck.kg.graph import IntArray
from triplecheck.kg.types import Direction, Name, Pattern, Variable

Domain = IntArray | None
"""The nodes of a variable: shape (n,), int64, ascending, distinct; None: any node."""


@dataclass(frozen=True, slots=True)
class Link:
    """The edges allowed between the two ends of a pattern.

    Attributes:
        relations: allowed relations; None: any relation of the graph.
        directions: allowed directions of an edge, from the head of the pattern.
    """

    relations: tuple[int, ...] | None
    directions: tuple[Direction, ...] = (Direction.OUT,)

    @property
    def reverse(self) -> Link:
        """The same, from the tail."""
        return Link(self.relations, tuple(direction.reverse for direction in self.directions))


@dataclass(frozen=True, slots=True)
class BoundPattern:
    """A pattern whose relations are numbers. Its ends are variables; a constant is a variable with a given domain.

    Attributes:
        head, tail: names of two different variables.
        link: the edges allowed between them.
    """

    head: str
    link: Link
    tail: str
    text: str

    def other(self, variable: str) -> str:
        """The variable at the other end."""
        return self.tail if variable == self.head else self.head

    def link_from(self, variable: str) -> Link:
        """The link, from one end."""
        return self.link if variable == self.head else self.link.reverse

    def loosened(self, *, any_relation: bool = False) -> BoundPattern:
        """The same pattern with edges in both directions, and if wanted of any relation."""
        return replace(self, link=Link(None if any_relation else self.link.relations, tuple(Direction)))

    @property
    def order(self) -> tuple[str, ...]:
        """Sort key, independent of the order in which patterns are given."""
        return (self.text, self.head, self.tail, repr(self.link))


@dataclass(frozen=True, slots=True)
class Dropped:
    """A pattern that could not be used, as text, and the reason."""

    pattern: str
    reason: str


@dataclass(frozen=True)
class Query:
    """Patterns that must all hold.

    Attributes:
        patterns: on node numbers.
        given: domain of each constant, by its variable, with all homonyms.
        types: type id by variable, for typed variables.
        dropped: patterns that could not be used.
        warnings: parts of patterns that were ignored.
    """

    patterns: tuple[BoundPattern, ...]
    given: Mapping[str, IntArray] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    dropped: tuple[Dropped, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All variables, including constants, in order of appearance."""
        return tuple(dict.fromkeys(end for pattern in self.patterns for end in (pattern.head, pattern.tail)))

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables without the constants."""
        return tuple(name for name in self.names if name not in self.given)

    def only(self, patterns: Sequence[BoundPattern]) -> Query:
        """The same query with some of its patterns."""
        return Query(tuple(patterns), self.given, self.types, self.dropped, self.warnings)

    def around(self, variable: str) -> tuple[BoundPattern, ...]:
        """The patterns that are connected with a variable, directly or through others."""
        reached: set[str] = {variable}
        found: tuple[BoundPattern, ...] = ()
        while len(more := tuple(p for p in self.patterns if p.head in reached or p.tail in reached)) > len(found):
            found = more
            reached |= {end for pattern in found for end in (pattern.head, pattern.tail)}
        return found

    @property
    def is_forest(self) -> bool:
        """Whether no variables form a cycle; consistent domains then contain only solutions."""
        left = self.patterns
        while left:  # without those that end in a variable of no other pattern
            ends = Counter(end for pattern in left for end in (pattern.head, pattern.tail))
            inner = tuple(pattern for pattern in left if min(ends[pattern.head], ends[pattern.tail]) > 1)
            if len(inner) == len(left):
                return False
            left = inner
        return True


# --- patterns as text ----------------------------------------------------------------------------
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
    """Parse patterns.

    Raises:
        UserError: the text is not a list of patterns; the message shows where and what is expected.
    """
    patterns = [_pattern(parts, written) for parts, written in _split(text)]
    if not patterns:
        raise UserError(f"no pattern given; {_FORM}")
    types: dict[str, str] = {}
    for end in (end for pattern in patterns for end in (pattern.head, pattern.tail)):
        if isinstance(end, Variable) and end.type is not None and types.setdefault(end.name, end.type) != end.type:
            raise UserError(f"?{end.name} has two types, {types[end.name]!r} and {end.type!r}; keep one")
    return patterns


def write_pattern(pattern: Pattern) -> str:
    """A pattern as text that `parse_patterns` reads."""
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
