"""RDF that the standard does not allow and other parsers read: IRIs with [ ] or a second #, long language subtags."""

from __future__ import annotations

import re
from collections.abc import Iterator
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
