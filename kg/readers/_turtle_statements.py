"""Turtle with malformed statements, read past them: a document is split into its statements, each parsed alone.

A statement ends at a dot outside of IRIs, strings and comments, or at the end of a line whose string is not closed. Not
read past are a directive and a string of several lines that is not closed, since all that follows depends on them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyoxigraph as ox

from triplecheck.kg.readers._rdf_lenient import Leniency, parsed

_TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\n]*) | (?P<iri><[^<>"\s]*>)
    | (?P<string>\"\"\"(?:[^"\\]|\\(?s:.)|"{1,2}(?!"))*+\"\"\"
    | '''(?:[^'\\]|\\(?s:.)|'{1,2}(?!'))*+'''
    | "(?!"")(?:\\.|[^"\\\n])*" | '(?!'')(?:\\.|[^'\\\n])*' | ""(?!") | ''(?!'))
    | (?P<open>\"\"\"|''') | (?P<unclosed>["'][^\n]*)
    | (?P<word>[^\s"'<>\#;,\[\](){}]+) | (?P<sign>.)""",
    re.VERBOSE,
)
_DIRECTIVES = ("@prefix", "@base", "prefix", "base", "@version", "version")


@dataclass(frozen=True)
class Part:
    """A statement or a directive of a document: its text, and the line where it begins."""

    text: str
    line: int
    is_directive: bool


class UnsafeError(ValueError):
    """What follows cannot be read safely; `line` is where it begins."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line


def split(document: str) -> Iterator[Part]:
    """The statements of a document, in order.

    Raises:
        UnsafeError: a string of several lines is not closed.
    """
    start, first, ends, words = 0, 1, False, list[str]()
    line = 1
    for token in _TOKEN.finditer(document):
        kind, text = str(token.lastgroup), token[0]
        if kind == "open":
            raise UnsafeError(line, "a string of several lines is not closed")
        line += text.count("\n")
        if kind == "space":
            if not words:
                start, first = token.end(), line
            continue
        words.append(text.casefold() if kind == "word" else kind)
        plain = words[0] in ("prefix", "base", "version")  # directives without a dot
        ends = words[-1] == "iri" if plain else kind in ("word", "unclosed") and text.rstrip().endswith(".")
        if ends:
            yield Part(document[start : token.end()], first, words[0] in _DIRECTIVES)
            start, first, words = token.end(), line, []
    if words:
        yield Part(document[start:], first, words[0] in _DIRECTIVES)


def read(
    document: str, base: str, leniency: Leniency, skip: Callable[[int, SyntaxError], None]
) -> Iterator[list[ox.Quad]]:
    """The triples of the well-formed statements.

    Args:
        base: of relative IRIs.
        leniency: whether IRIs and language tags that RDF does not allow are read.
        skip: receives the line and the error of each malformed statement.

    Raises:
        UnsafeError: a directive is malformed, or `split` raises it.
    """
    known: list[str] = []
    waiting: list[Part] = []

    def parse(parts: Sequence[Part]) -> Iterator[list[ox.Quad]]:
        text = "\n".join([*known, *(part.text for part in parts)]).encode()
        try:
            yield (
                parsed(text, ox.RdfFormat.TURTLE, leniency, base)
                if len(parts) == 1
                else list(ox.parse(text, ox.RdfFormat.TURTLE, base_iri=base))
            )
        except SyntaxError as error:
            if len(parts) == 1:
                skip(parts[0].line, error)
                return
            middle = len(parts) // 2
            yield from parse(parts[:middle])
            yield from parse(parts[middle:])

    for part in split(document):
        if not part.is_directive:
            waiting.append(part)
            continue
        if waiting:
            yield from parse(waiting)
            waiting = []
        known.append(part.text)
        try:
            list(ox.parse("\n".join(known).encode(), ox.RdfFormat.TURTLE, base_iri=base))
        except SyntaxError as error:
            raise UnsafeError(part.line, "a directive is malformed") from error
    if waiting:
        yield from parse(waiting)
