"""Parsed statements of one RDF file, by format."""

from __future__ import annotations

import codecs
import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

import pyoxigraph as ox

from triplecheck.kg.errors import ReadError
from triplecheck.kg.readers._rdf_xml import check_prolog, error_line
from triplecheck.kg.readers.raw import BadLine
from triplecheck.kg.types import XSD

Statement = tuple[str, str, str, str | None, str | None]
"""(subject, predicate, object, datatype, language); both None where the object is an entity."""

FORMATS: dict[str, ox.RdfFormat | None] = {
    ".nt": ox.RdfFormat.N_TRIPLES,
    ".nq": ox.RdfFormat.N_QUADS,
    ".ttl": ox.RdfFormat.TURTLE,
    ".trig": ox.RdfFormat.TRIG,
    ".rdf": ox.RdfFormat.RDF_XML,
    ".owl": ox.RdfFormat.RDF_XML,
    ".xml": ox.RdfFormat.RDF_XML,
    ".jsonld": None,  # by rdflib, which resolves remote contexts
}
_LINE_FORMATS = (ox.RdfFormat.N_TRIPLES, ox.RdfFormat.N_QUADS)
_BLOCK_BYTES = 8 << 20
_BATCH = 100_000
_PLACE = re.compile(r"^Parser error (?:at|between) [^:]*: ")
_BAD_INPUT = (EOFError, OSError, zlib.error)

Blank = Callable[[str], str]
"""From the label that a parser gives a blank node to its id in the graph."""


def statements(path: Path, blank: Blank, skipped: list[BadLine] | None) -> Iterator[list[Statement]]:
    """Batches of the statements of a file, about 100,000 each; names of graphs are left out.

    Args:
        path: the file, plain or gzipped; its extension tells the format.
        blank: gives a blank node its id.
        skipped: takes the malformed lines of N-Triples and N-Quads; None: they are errors.

    Raises:
        ReadError: unreadable file, unknown extension, malformed content.
    """
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    suffix = suffixes[-1] if suffixes else ""
    if suffix not in FORMATS:
        raise ReadError(path, None, f"no RDF format has the extension {suffix!r}; known: {', '.join(FORMATS)} (.gz)")
    form = FORMATS[suffix]
    try:
        with _open(path) as file:
            if form is None:
                yield from _json_ld(path, file, blank)
            elif form in _LINE_FORMATS:
                yield from _lines(path, file, form, blank, skipped)
            else:
                yield from _document(path, file, form, blank, skipped is not None)
    except _BAD_INPUT as error:
        raise ReadError(path, None, f"cannot be read: {error}") from error


def _open(path: Path) -> IO[bytes]:
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    file: Any = opened(path, "rb")
    if file.peek(3).startswith(codecs.BOM_UTF8):
        file.read(3)
    return file  # type: ignore[no-any-return]


def _base(path: Path) -> str:
    """What relative IRIs are relative to: the file's name alone, as its folder says nothing about the data."""
    return f"file:///{quote(path.name.split('.')[0])}"


def _lines(
    path: Path, file: IO[bytes], form: ox.RdfFormat, blank: Blank, skipped: list[BadLine] | None
) -> Iterator[list[Statement]]:
    """Block by block; a block with an error in it line by line, so that the error costs one line."""
    before = 0
    while lines := file.readlines(_BLOCK_BYTES):
        try:
            yield _convert(ox.parse(b"".join(lines), form), blank)
        except (SyntaxError, _QuotedTripleError):
            good: list[Statement] = []
            for number, line in enumerate(lines, before + 1):
                try:
                    good += _convert(ox.parse(line, form), blank)
                except (SyntaxError, _QuotedTripleError) as error:
                    if skipped is None:
                        raise ReadError(path, number, _reason(error)) from error
                    skipped.append(BadLine(str(path), number, _reason(error)))
            yield good
        before += len(lines)


def _document(
    path: Path, file: IO[bytes], form: ox.RdfFormat, blank: Blank, skip_bad: bool
) -> Iterator[list[Statement]]:
    parser = ox.parse(file, form, base_iri=_base(path))
    if form is ox.RdfFormat.RDF_XML:
        with _open(path) as prolog:
            check_prolog(path, prolog)
    way_out = f"; {form.name} cannot be read past an error, mend it or convert the file to N-Triples"
    try:
        while quads := list(islice(parser, _BATCH)):
            yield _convert(quads, blank)
    except SyntaxError as error:
        line = error.lineno
        if line is None and form is ox.RdfFormat.RDF_XML:
            with _open(path) as whole:
                line = error_line(whole)
        raise ReadError(path, line, _reason(error) + (way_out if skip_bad else "")) from error
    except _QuotedTripleError as error:
        raise ReadError(path, None, _reason(error) + (way_out if skip_bad else "")) from error


class _QuotedTripleError(Exception):
    """A statement about a statement."""


def _convert(quads: Iterable[ox.Quad], blank: Blank) -> list[Statement]:
    named, literal, string = ox.NamedNode, ox.Literal, XSD + "string"
    found: list[Statement] = []
    for quad in quads:
        subject, target = quad.subject, quad.object
        if isinstance(subject, ox.Triple) or isinstance(target, ox.Triple):
            raise _QuotedTripleError("a quoted triple (RDF-star) has no place in the graph")
        head = subject.value if isinstance(subject, named) else blank(subject.value)
        if isinstance(target, literal):
            language = target.language
            datatype = target.datatype.value if language is None else string
            found.append((head, quad.predicate.value, target.value, datatype, language))
        else:
            tail = target.value if isinstance(target, named) else blank(target.value)
            found.append((head, quad.predicate.value, tail, None, None))
    return found


def _reason(error: Exception) -> str:
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return _PLACE.sub("", message or "malformed")


def _json_ld(path: Path, file: IO[bytes], blank: Blank) -> Iterator[list[Statement]]:
    import rdflib

    text = file.read()
    if not text.strip():
        return
    try:
        json.loads(text)
        data = rdflib.Dataset()
        data.parse(data=text, format="json-ld", publicID=_base(path))
    except json.JSONDecodeError as error:
        raise ReadError(path, error.lineno, error.msg) from error
    except OSError as error:
        raise ReadError(path, None, f"its @context cannot be fetched ({error}); write the context into it") from error
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError) as error:
        raise ReadError(path, None, f"no JSON-LD: {error}") from error
    quads = iter(data.quads())
    while batch := list(islice(quads, _BATCH)):
        yield [_from_rdflib(s, p, o, blank) for s, p, o, _ in batch]


def _from_rdflib(subject: Any, predicate: Any, target: Any, blank: Blank) -> Statement:
    import rdflib

    head = blank(str(subject)) if isinstance(subject, rdflib.BNode) else str(subject)
    if isinstance(target, rdflib.Literal):
        datatype = XSD + "string" if target.datatype is None else str(target.datatype)
        return head, str(predicate), str(target), datatype, target.language
    return head, str(predicate), blank(str(target)) if isinstance(target, rdflib.BNode) else str(target), None, None
