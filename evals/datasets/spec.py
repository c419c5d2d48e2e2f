"""Description of a published data set: files, licence, and how a row becomes a question."""

from __future__ import annotations

import csv
import io
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from triplecheck.evals.questions import Question, parse_question, parse_row, text_lines
from triplecheck.kg import ReadError
from triplecheck.kg.readers.raw import open_packed

Record = Mapping[str, Any]
"""A row of a data set's file: field name to value."""

Adapter = Callable[[Record, str], Question]
"""Turns a row into a question. The second argument is the id for rows without one.

Raises ValueError, KeyError or TypeError if the row is not in the data set's format.
"""

Reader = Callable[[Path, str], Iterator[tuple[int | None, Record]]]
"""Reads the rows of a split from a file, each with its line number (None if the format has no lines)."""


@dataclass(frozen=True)
class Hub:
    """A data set's copy on the Hugging Face hub."""

    id: str
    """`owner/name`, or a local directory with the same files."""
    splits: Mapping[str, str]
    """Split name to the hub's name of the split."""
    revision: str | None = None
    """Commit, branch or tag; None: the newest."""
    files: Mapping[str, str] = field(default_factory=dict)
    """File pattern of each hub split, if the hub does not define its splits."""
    index: Mapping[str, str] = field(default_factory=dict)
    """By split, a file with one row `id` per line, if the data set defines its splits by ids."""
    adapt: Adapter | None = None
    """Adapter for the hub's rows, if they differ from the official files."""
    unused: tuple[str, ...] = ()
    """Large columns that are not needed."""


@dataclass(frozen=True)
class DataSet:
    """A published data set."""

    name: str
    title: str
    about: str
    """One sentence: the graph, and what makes the questions hard."""
    splits: Mapping[str, tuple[str, ...]]
    """Split name to its official files, as name patterns that each match one file."""
    default_split: str
    """The split that papers usually report."""
    adapt: Adapter
    get: str
    """How to get the official files."""
    url: str
    paper: str
    licence: str
    read: Reader = lambda path, split: json_rows(path)
    hub: Hub | None = None
    keep: Callable[[Record, str], bool] | None = None
    """Whether a row belongs to a split, if a file has several splits."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Published number of questions by split."""


# Helpers for adapters: real rows have blanks, repetitions and fields of several types.


def question(**fields: Any) -> Question:
    """A question from fields of `evals.parse_question`; fields that are None are left out."""
    return parse_question({name: value for name, value in fields.items() if value is not None})


def text(value: Any) -> str | None:
    """A stripped text, or a number as text; None if empty."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = int(value) if isinstance(value, float) and value.is_integer() else value
        return str(value)
    if value is None or isinstance(value, str):
        return (value or "").strip() or None
    raise ValueError(f"{value!r} is not a text")


def texts(values: Iterable[Any] | None) -> list[str]:
    """The distinct texts that are not blank."""
    return list(dict.fromkeys(one for value in values or () if (one := text(value)) is not None))


def records(value: Any) -> list[Mapping[str, Any]]:
    """A list of objects. The value may also be an object of lists, as `datasets` stores it, or None."""
    if value is None:
        return []
    if isinstance(value, Mapping):
        names, columns = list(value), list(value.values())
        return [dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True)]
    if isinstance(value, list) and all(isinstance(one, Mapping) for one in value):
        return value
    raise ValueError(f"{str(value)[:80]!r} is not a list of objects")


def named(pairs: Iterable[tuple[str | None, str | None]]) -> tuple[list[str], list[str | None]]:
    """Distinct ids and their names, in parallel lists. Without an id the name serves as id."""
    found: dict[str, str | None] = {}
    for id, name in pairs:
        if (key := id or name) is not None and found.get(key) is None:
            found[key] = name if id else None
    return list(found), list(found.values())


def ids_in(query: str | None, pattern: str) -> list[str]:
    """The distinct matches of a pattern's groups in a query, in order."""
    found = re.finditer(pattern, query or "")
    return list(dict.fromkeys(group for match in found for group in match.groups() if group))


def required(row: Record, *names: str) -> Any:
    """The value of the first of these fields that the row has.

    Raises:
        ValueError: the row has none of them.
    """
    for name in names:
        if row.get(name) is not None:
            return row[name]
    raise ValueError(f"has no {' or '.join(names)}")


# Readers of file formats, also compressed with `.gz` or `.bz2`.

_LONG_FIELD = 16 << 20


@contextmanager
def opened(path: Path) -> Iterator[IO[str]]:
    """Open a UTF-8 text file; a byte order mark is skipped.

    Raises:
        ReadError: the file cannot be opened, or reading inside the block fails.
    """
    try:
        with open_packed(path) as raw:
            yield io.TextIOWrapper(raw, "utf-8-sig", newline="")
    except FileNotFoundError:
        raise ReadError(path, None, "no such file") from None
    except UnicodeDecodeError as error:
        raise ReadError(path, None, f"is not UTF-8 ({error.reason})") from error
    except (OSError, EOFError, zlib.error) as error:
        raise ReadError(path, None, f"cannot be read ({error})") from error


def json_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file."""
    content = _json(path)
    if not isinstance(content, dict):
        raise ReadError(path, None, f"is a JSON {type(content).__name__}, not an object")
    return content


def json_rows(path: Path, *keys: str) -> Iterator[tuple[None, Record]]:
    """The objects of a JSON list, or of the list under the first of the keys that exists."""
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
        except (ValueError, RecursionError) as error:
            raise ReadError(path, getattr(error, "lineno", None), f"not valid JSON ({error})") from error


def json_line_rows(path: Path) -> Iterator[tuple[int, Record]]:
    """The objects of a JSON Lines file."""
    for number, line in text_lines(path):
        try:
            yield number, parse_row(line)
        except ValueError as error:
            raise ReadError(path, number, str(error)) from error


def table_rows(path: Path, delimiter: str) -> Iterator[tuple[int, Record]]:
    """The rows of a table with a header line; quoted fields may contain line breaks."""
    csv.field_size_limit(_LONG_FIELD)
    with opened(path) as source:
        rows = csv.DictReader(source, delimiter=delimiter, strict=True)
        try:
            for row in rows:
                if None in row or None in row.values():
                    raise ReadError(path, rows.line_num, "does not have as many fields as the header")
                yield rows.line_num, row
        except csv.Error as error:
            raise ReadError(path, rows.line_num, f"not a valid table ({error})") from error
