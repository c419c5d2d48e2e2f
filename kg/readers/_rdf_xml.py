"""What pyoxigraph leaves to be asked about an XML file: is it safe to expand, and where does it break off."""

from __future__ import annotations

from pathlib import Path
from typing import IO
from xml.parsers import expat

from triplecheck.kg.errors import ReadError

# Ontologies abbreviate namespaces by entities; nothing longer than an IRI is needed for that.
_LONGEST_ENTITY = 1000


class _PrologOverError(Exception):
    """The first element is reached."""


def check_prolog(path: Path, file: IO[bytes]) -> None:
    """Refuse entities that expand beyond all bounds, before a parser expands them.

    Raises:
        ReadError: an entity made of other entities, or a very long one; no XML at all.
    """
    parser = expat.ParserCreate()

    def declared(
        name: str, _parameter: bool, value: str | None, _base: object, _system: object, _public: object, _note: object
    ) -> None:
        if value is not None and ("&" in value or len(value) > _LONGEST_ENTITY):
            reason = f"entity {name!r} is made of other entities or too long; write out what it stands for"
            raise ReadError(path, parser.CurrentLineNumber, reason)

    def element(_name: str, _attributes: object) -> None:
        raise _PrologOverError

    parser.EntityDeclHandler = declared
    parser.StartElementHandler = element
    try:
        parser.ParseFile(file)
    except _PrologOverError:
        return
    except expat.ExpatError as error:
        if error.code != expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS]:
            raise ReadError(path, error.lineno, expat.ErrorString(error.code)) from error


def error_line(file: IO[bytes]) -> int | None:
    """Line at which the file stops being XML; None where it is XML and only its RDF is wrong."""
    parser = expat.ParserCreate()
    try:
        parser.ParseFile(file)
    except expat.ExpatError as error:
        return error.lineno
    return None
