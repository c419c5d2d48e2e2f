"""The short notation of plans: what people and models leave out or put elsewhere, written out as SPARQL.

    ?captain a captain . ?captain age < 40     ?captain a <captain> . ?captain <age> ?of1 . FILTER(?of1 < 40)
    FILTER(?captain <country> != <Norway>)     ?captain <country> ?of1 . FILTER(?of1 != <Norway>)
    FILTER(?insured = no AND ?age < 40)        FILTER(?insured = <no> && ?age < 40)
    ?captain <age> ?n (number, e.g. 40)        ?captain <age> ?n
    ?captain a <sails on> <Ida>                ?captain <sails on> <Ida>
    { ... ORDER BY ?year DESC LIMIT 1 }        { ... } ORDER BY DESC(?year) LIMIT 1
    { ... } HAVING COUNT(?boat) > 2            { ... } HAVING(COUNT(?boat) > 2)

Only a query that SPARQL cannot read is read so (`kg.plans.notation`): no valid query changes its meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""(?P<string>(?:"(?:[^"\\\n]|\\.)*+(?:"|\\?$)|'(?:[^'\\\n]|\\.)*+(?:'|\\?$))(?:\^\^\S+|@[\w-]+)?)"""
    r"""|(?P<term><[^<>\s"{}?$][^<>"{}?$^`\\\n\r\t]*>|[?$]\w+|[+-]?\d+(?:\.\d+)?|(?<!\w)\w*:\w+)"""
    r"""|(?P<compare><=|>=|!=|<|>|=)"""
    r"""|(?P<both>&&|\|\||\^\^)"""
    r"""|(?P<word>[^\W\d_][\w'-]*)"""
    r"""|(?P<other>\S)""",
    re.MULTILINE,
)
_NOTE = re.compile(r"([\w)]>|[?$]\w+)\s*+\((?:e\.g\.[^()<>{}]*|[^\W\d][\w ]*(?:,[^()<>{}]*)?)\)")
"""A class or an example behind a triple, as the patterns in a prompt have them: (ship), (number, e.g. 40)."""
_SPACED = re.compile(r"([=<>])\s*+<\s++([^<>\"{}?$]*+)>")
_ORDERED = re.compile(r"((?:\b\w+ )?\([^()]*\)|[?$]\w+) (ASC|DESC)\b(?! \()", re.IGNORECASE)
_HAVING = re.compile(r"\bHAVING ((?!\().*?)(?= ORDER\b| LIMIT\b| OFFSET\b|\Z)", re.IGNORECASE | re.DOTALL)
_LOGIC = {"AND": "&&", "OR": "||"}
_MODIFIERS = frozenset(("ORDER", "GROUP", "HAVING", "LIMIT", "OFFSET"))
_CLAUSES = frozenset("FILTER OPTIONAL UNION MINUS VALUES BIND NOT EXISTS SELECT WHERE ASK AS DISTINCT".split())


@dataclass(frozen=True, slots=True)
class _Token:
    """A token; `depth` counts the braces around it, `inner` the parentheses."""

    text: str
    kind: str
    depth: int
    inner: int

    @property
    def is_name(self) -> bool:
        """Whether it is a word that may be part of a name."""
        return self.kind == "word" and not self.is_term and self.text.upper() not in _CLAUSES | _MODIFIERS

    @property
    def is_term(self) -> bool:
        """Whether it may stand at an end of a triple."""
        return self.kind in ("term", "string") or self.text in ("true", "false")


def written_out(text: str) -> str:
    """A query with what the short notation leaves out; where there is nothing of the kind, only its spaces change."""
    text = without_notes(text)
    tokens = _modifiers_behind(_tokens(_SPACED.sub(lambda match: f"{match[1]} <{match[2].rstrip()}>", text)))
    pattern, brace, modifiers = " ".join(_Writer(tokens).written()).rpartition("}")
    return pattern + brace + _HAVING.sub(r"HAVING(\1)", _ORDERED.sub(r"\2(\1)", modifiers))


def without_notes(text: str) -> str:
    """A query without the classes and examples that stand behind its triples as in a prompt."""
    return _NOTE.sub(r"\1 ", text)


def _tokens(text: str) -> list[_Token]:
    found, depth, inner = [], 0, 0
    for match in _TOKEN.finditer(text):
        token, kind = match[0], str(match.lastgroup)
        depth, inner = depth - (token == "}"), inner - (token == ")")
        if inner and token in _LOGIC:
            token, kind = _LOGIC[token], "both"
        found.append(_Token(token, kind, depth, inner))
        depth, inner = depth + (token == "{"), inner + (token == "(")
    return found


def _modifiers_behind(tokens: Sequence[_Token]) -> list[_Token]:
    """The tokens with ORDER BY and the like behind the last brace, where they stand before it."""
    last = max((at for at, token in enumerate(tokens) if token.text == "}" and token.depth == 0), default=-1)
    first = next((at for at, token in enumerate(tokens) if token.depth == 1 and token.text.upper() in _MODIFIERS), last)
    if any(token.depth != 1 or token.text == "." for token in tokens[first:last]):
        return list(tokens)
    return [*tokens[:first], *tokens[last : last + 1], *tokens[first:last], *tokens[last + 1 :]]


class _Writer:
    def __init__(self, tokens: Sequence[_Token]) -> None:
        self._tokens = tokens
        self._made = 0

    def written(self) -> Iterator[str]:
        """The text of each token, with names in brackets and comparisons in filters."""
        at, subject = 0, ""
        while at < len(self._tokens):
            token = self._tokens[at]
            before = self._tokens[at - 1].text if at else ""
            if token.depth and token.inner and self._kind(at - 1) == "compare" and (bare := self._bare(at)):
                at, written = bare
                yield written
            elif token.depth == 0 or token.inner:
                yield token.text
                at += 1
            elif compared := self._filter(at):
                at, written = compared
                yield written
            elif token.is_term and before in ("{", "}", ".", ")"):
                subject = token.text
                found = self._triple(at + 1, subject)
                at, written = found if found else (at + 1, subject)
                yield written
            elif subject and before == ";" and (found := self._triple(at, subject, is_further=True)):
                at, written = found
                yield written
            else:
                yield token.text
                at += 1

    def _triple(self, at: int, subject: str, *, is_further: bool = False) -> tuple[int, str] | None:
        """Behind a triple of the subject, and what it says; None if it is as SPARQL has it."""
        end, predicate = self._name(at)
        if not predicate:
            return None
        start = "" if is_further else f"{subject} "
        if self._kind(end) == "compare" and self._is_term(end + 1):
            compared = f"{start}{self._compared(predicate, end)}"
            further = self._kind(end + 2) == "other" and self._tokens[end + 2].text == ";"
            return (end + 3, f"{compared} . {subject}") if further else (end + 2, compared)
        after, last = self._name(end)
        if predicate == "a" and self._is_term(after):  # a relation with its value stands in place of a class
            return after + 1, f"{start}{last} {self._tokens[after].text}"
        return (after, f"{start}{predicate} {last}") if last else None

    def _filter(self, at: int) -> tuple[int, str] | None:
        """Behind FILTER(?x <relation> = value), and what it says; None if something else begins there."""
        if self._tokens[at].text.upper() != "FILTER" or at + 2 >= len(self._tokens):
            return None
        subject = self._tokens[at + 2].text
        end, predicate = self._name(at + 3)
        closed = end + 2 < len(self._tokens) and self._tokens[end + 2].text == ")"
        compares = self._kind(end) == "compare" and self._is_term(end + 1)
        if not (subject[0] in "?$" and predicate and closed and compares):
            return None
        return end + 3, f"{subject} {self._compared(predicate, end)}"

    def _bare(self, at: int) -> tuple[int, str] | None:
        """The end and the name of bare words after a comparison, `no` in `?x = no)`. None unless `)`, `&&` or `||` is
        next."""
        end, name = self._words(at, inner=True)
        closed = self._kind(end) == "both" or (self._tokens[end : end + 1] and self._tokens[end].text == ")")
        return (end, name) if name and closed else None

    def _compared(self, predicate: str, at: int) -> str:
        """A relation to a variable that is compared, by the operator at a place, with the term behind it."""
        self._made += 1
        operator, value = (token.text for token in self._tokens[at : at + 2])
        return f"{predicate} ?of{self._made} . FILTER(?of{self._made} {operator} {value})"

    def _name(self, at: int) -> tuple[int, str]:
        """Behind a term, `a`, or words that are one name, and its text; empty if nothing of the kind begins there."""
        if self._is_term(at) or (self._kind(at) == "word" and self._tokens[at].text == "a"):
            return at + 1, self._tokens[at].text
        return self._words(at, inner=False)

    def _words(self, at: int, *, inner: bool) -> tuple[int, str]:
        """Behind words that are one name, and the name in brackets; empty if none begins there.

        Args:
            inner: the words stand in parentheses.
        """
        end = at
        while end < len(self._tokens) and self._tokens[end].is_name and bool(self._tokens[end].inner) == inner:
            end += 1
        return (end, f"<{' '.join(token.text for token in self._tokens[at:end])}>") if end > at else (at, "")

    def _kind(self, at: int) -> str:
        return self._tokens[at].kind if at < len(self._tokens) else ""

    def _is_term(self, at: int) -> bool:
        return at < len(self._tokens) and self._tokens[at].is_term
