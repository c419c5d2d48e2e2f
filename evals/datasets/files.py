"""Readers of the file formats in which data sets are published, `.gz` and `.bz2` looked through."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from triplecheck.evals.datasets.spec import Row
from triplecheck.kg import ReadError

_LONG_FIELD = 16 << 20


@contextmanager
def opened(path: Path) -> Iterator[IO[str]]:
    """A text file in UTF-8, a byte order mark left out.

    Raises:
        ReadError: it cannot be opened, or, inside the block, not be read on.
    """
    try:
        with _binary(path) as raw:
            yield io.TextIOWrapper(raw, "utf-8-sig", newline="")
    except FileNotFoundError:
        raise ReadError(path, None, "no such file") from None
    except UnicodeDecodeError as error:
        raise ReadError(path, None, f"is not UTF-8 ({error.reason})") from error
    except (OSError, EOFError, zlib.error) as error:
        raise ReadError(path, None, f"cannot be read ({error})") from error


def _binary(path: Path) -> IO[bytes]:
    if path.suffix == ".gz":
        return cast(IO[bytes], gzip.open(path))
    return cast(IO[bytes], bz2.open(path)) if path.suffix == ".bz2" else path.open("rb")


def json_object(path: Path) -> dict[str, Any]:
    """The object that a JSON file holds."""
    content = _json(path)
    if not isinstance(content, dict):
        raise ReadError(path, None, f"is a JSON {type(content).__name__}, not an object")
    return content


def json_rows(path: Path, *keys: str) -> Iterator[tuple[None, Row]]:
    """The objects of a JSON list, or of the list that stands under the first of the keys that is there."""
    content = _json(path)
    if isinstance(content, dict):
        content = next((content[key] for key in keys if key in content), None)
    if not isinstance(content, list) or not all(isinstance(row, dict) for row in content):
        place = f"an object with a list {' or '.join(map(repr, keys))}" if keys else "a list"
        raise ReadError(path, None, f"is not {place} of objects")
    yield from ((None, row) for row in content)


def _json(path: Path) -> Any:
    with opened(path) as source:
        try:
            return json.load(source)
        except (json.JSONDecodeError, RecursionError) as error:
            raise ReadError(path, getattr(error, "lineno", None), f"is not JSON ({error})") from error


def json_line_rows(path: Path) -> Iterator[tuple[int, Row]]:
    """The objects of JSON lines."""
    for number, line in text_lines(path):
        try:
            row = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            raise ReadError(path, number, f"is not JSON ({error})") from error
        if not isinstance(row, dict):
            raise ReadError(path, number, f"is a JSON {type(row).__name__}, not an object")
        yield number, row


def table_rows(path: Path, delimiter: str) -> Iterator[tuple[int, Row]]:
    """The rows of a table whose first line names the columns; fields may be quoted, and then hold line ends."""
    csv.field_size_limit(_LONG_FIELD)
    with opened(path) as source:
        rows = csv.DictReader(source, delimiter=delimiter, strict=True)
        try:
            for row in rows:
                if None in row or None in row.values():
                    raise ReadError(path, rows.line_num, "has another number of fields than the header")
                yield rows.line_num, row
        except csv.Error as error:
            raise ReadError(path, rows.line_num, f"is no such table ({error})") from error


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines that are not blank, without their ends."""
    with opened(path) as source:
        for number, line in enumerate(source, 1):
            if line.strip():
                yield number, line.rstrip("\r\n")
