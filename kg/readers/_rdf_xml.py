"""Checks of XML before it is parsed, and the place of an error in it."""

from __future__ import annotations

from pathlib import Path
from typing import IO
from xml.parsers import expat

from triplecheck.kg.errors import ReadError

# Ontologies abbreviate namespaces by entities, which are no longer than an IRI.
_LONGEST_ENTITY = 1000


class _PrologOverError(Exception):
    """The first element is reached."""


def check_prolog(path: Path, file: IO[bytes]) -> None:
    """Reject entity expansion attacks, before a parser expands them.

    Raises:
        ReadError: an entity that contains other entities, or a very long one; not XML.
    """
    parser = expat.ParserCreate()

    def declared(
        name: str, _parameter: bool, value: str | None, _base: object, _system: object, _public: object, _note: object
    ) -> None:
        if value is not None and ("&" in value or len(value) > _LONGEST_ENTITY):
            reason = f"entity {name!r} contains other entities or is too long; replace it by its content"
            raise ReadError(path, parser.CurrentLineNumber, reason)

    def element(_name: str, _attributes: object) -> None:
        raise _PrologOverError

    parser.EntityDeclHandler = declared
    parser.StartElementHandler = element
    try:
        parser.ParseFile(file)
    except _PrologOverError:
        return
    except LookupError as error:
        raise ReadError(path, 1, str(error)) from error
    except expat.ExpatError as error:
        if error.code != expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS]:
            raise ReadError(path, error.lineno, expat.ErrorString(error.code)) from error


def error_line(file: IO[bytes]) -> int | None:
    """Line of the first XML error; None if the XML is valid and only its RDF is wrong."""
    parser = expat.ParserCreate()
    try:
        parser.ParseFile(file)
    except LookupError:  # an unknown encoding
        return 1
    except expat.ExpatError as error:
        return error.lineno
    return None
