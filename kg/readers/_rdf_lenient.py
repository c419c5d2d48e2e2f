"""RDF that is not as the standard says: IRIs with [ ] or a second #, long language subtags, malformed statements.

Turtle is read past malformed statements: a document is split into its statements, each parsed alone. A statement ends
at a dot outside of IRIs, strings and comments, or at the end of a line whose string is not closed. Not read past are a
directive and a string of several lines that is not closed, since all that follows depends on them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO

import pyoxigraph as ox

_LENIENT_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s\"<>]*")
_ODD_IRI = re.compile(r"[\[\]{}|\\^`]|#.*#|%(?![0-9A-Fa-f]{2})")
_LONGEST_SUBTAG = 8


@dataclass
class Leniency:
    """Whether IRIs and language tags that RDF does not allow are read, as other parsers do, and how many were.

    Attributes:
        strict: refuse them.
        statements: those that had one.
    """

    strict: bool = False
    statements: int = 0

    def note(self) -> list[str]:
        """The note on what was read."""
        if not self.statements:
            return []
        return [
            f"{self.statements:,} statements have IRIs or language tags that RDF does not allow, such as '[' or "
            "subtags of more than 8 letters, and were read as they are; --strict refuses them"
        ]


def parsed(text: bytes, form: ox.RdfFormat, leniency: Leniency, base: str | None = None) -> list[ox.Quad]:
    """The triples of a line, or of a statement with the directives before it.

    Raises:
        SyntaxError: it is malformed.
    """
    try:
        return list(ox.parse(text, form, base_iri=base))
    except SyntaxError:
        if leniency.strict:
            raise
        try:
            quads = list(ox.parse(text, form, base_iri=base, lenient=True))
        except SyntaxError:
            quads = []
        if not quads or not all(map(_is_readable, quads)):
            raise
    leniency.statements += len(quads)
    return quads


def _terms(quad: ox.Quad) -> Iterator[str]:
    """The IRIs of a statement, also the datatype."""
    for term in (quad.subject, quad.predicate, quad.object, quad.graph_name):
        if isinstance(term, ox.NamedNode):
            yield term.value
        elif isinstance(term, ox.Literal):
            yield term.datatype.value


def _is_readable(quad: ox.Quad) -> bool:
    """Whether the IRIs are those that lenient parsers accept: with a scheme, without blanks, quotes, < and >."""
    return all(_LENIENT_IRI.fullmatch(iri) for iri in _terms(quad))


def is_lenient(quad: ox.Quad) -> bool:
    """Whether a statement has what RDF does not allow."""
    language = quad.object.language if isinstance(quad.object, ox.Literal) else None
    long = language is not None and any(len(part) > _LONGEST_SUBTAG for part in language.split("-"))
    return long or any(_ODD_IRI.search(iri) for iri in _terms(quad))


def leniently(file: IO[bytes], form: ox.RdfFormat, base: str) -> list[ox.Quad] | None:
    """All statements of a document, if all that is wrong with it are IRIs and language tags that are readable."""
    try:
        quads = list(ox.parse(file, form, base_iri=base, lenient=True))
    except SyntaxError:
        return None
    return quads if all(map(_is_readable, quads)) else None


# --- malformed statements of Turtle --------------------------------------------------------------
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
class _Part:
    """A statement or a directive of a document: its text, and the line where it begins."""

    text: str
    line: int
    is_directive: bool


class UnsafeError(ValueError):
    """What follows cannot be read safely; `line` is where it begins."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line


def _split(document: str) -> Iterator[_Part]:
    """The statements of a document, in order.

    Raises:
        UnsafeError: a string of several lines is not closed.
    """
    start, first, line, words = 0, 1, 1, list[str]()
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
            yield _Part(document[start : token.end()], first, words[0] in _DIRECTIVES)
            start, first, words = token.end(), line, []
    if words:
        yield _Part(document[start:], first, words[0] in _DIRECTIVES)


def read_past_errors(
    document: str, base: str, leniency: Leniency, skip: Callable[[int, SyntaxError], None]
) -> Iterator[list[ox.Quad]]:
    """The triples of the well-formed statements.

    Args:
        base: of relative IRIs.
        leniency: whether IRIs and language tags that RDF does not allow are read.
        skip: receives the line and the error of each malformed statement.

    Raises:
        UnsafeError: a directive is malformed, or a string of several lines is not closed.
    """
    known: list[str] = []
    waiting: list[_Part] = []

    def parse(parts: Sequence[_Part]) -> Iterator[list[ox.Quad]]:
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

    for part in _split(document):
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
