"""Debian's control files: stanzas of `Field: value`, a blank line between two (deb822(5))."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, cast

from triplecheck.kg.errors import ReadError

Stanza = dict[str, str]
"""Values by field name in lower case. Lines of a folded value are joined by newlines, less their first space."""


def read_stanzas(path: Path) -> Iterator[Stanza]:
    """The stanzas of a file; .gz, .xz and .bz2 are looked through.

    Raises:
        ReadError: on iteration, where the file cannot be read or a line is none of a control file.
    """
    try:
        with _opened(path) as source:
            yield from parse_stanzas(source, path)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise ReadError(path, None, getattr(error, "strerror", None) or str(error)) from error


def parse_stanzas(lines: Iterable[bytes], path: Path | str) -> Iterator[Stanza]:
    """The stanzas of lines; `path` is named in errors.

    Raises:
        ReadError: on iteration, at a line that is neither a field nor the continuation of one.
    """
    stanza: Stanza = {}
    name = ""
    for number, line in enumerate(lines, 1):
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        if not text.strip():
            if stanza:
                yield stanza
            stanza, name = {}, ""
        elif text[0] in " \t":
            if not name:
                raise ReadError(path, number, "a continuation line without a field before it")
            stanza[name] += "\n" + text[1:]
        else:
            name, colon, value = text.partition(":")
            if not colon or not name or " " in name:
                raise ReadError(path, number, "is no line of a control file (`Field: value`)")
            name = name.lower()
            stanza[name] = value.strip()
    if stanza:
        yield stanza


def _opened(path: Path) -> IO[bytes]:
    match path.suffix:
        case ".gz":
            return cast(IO[bytes], gzip.open(path))
        case ".xz":
            return lzma.open(path)
        case ".bz2":
            return bz2.open(path)
        case _:
            return path.open("rb")
