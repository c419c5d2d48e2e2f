"""What is known of a published data set: where it is, under which licence, and how its rows become questions."""

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
"""A question as the data set's own file has it."""

Adapter = Callable[[Record, str], Question]
"""Makes a question of a row, without looking at anything else. The text is an id for rows that have none.

Raises ValueError, KeyError or TypeError where the row is not what the data set's format says.
"""

Reader = Callable[[Path, str], Iterator[tuple[int | None, Record]]]
"""The rows of a split in a file: line number, where the format has lines, and row."""


@dataclass(frozen=True)
class Hub:
    """Where the Hugging Face hub has a data set."""

    id: str
    """`owner/name`; or a directory with the same files."""
    splits: Mapping[str, str]
    """Its name of each split of ours."""
    revision: str | None = None
    """Commit, branch or tag; None: what is newest."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Files of each of its splits, where the hub does not tell them apart by itself."""
    index: Mapping[str, str] = field(default_factory=dict)
    """Files with the `id` of each row of a split of ours, one a line, where a split is given so."""
    adapt: Adapter | None = None
    """Where its rows are not those of the official files."""
    unused: tuple[str, ...] = ()
    """Columns that hold much and are not needed."""


@dataclass(frozen=True)
class DataSet:
    """A published data set."""

    name: str
    title: str
    about: str
    """One sentence: over which graph, and what it is hard at."""
    splits: Mapping[str, tuple[str, ...]]
    """By name of the split, the official files that make it up: patterns of names, each with one file."""
    default_split: str
    """The one that results are usually given for."""
    adapt: Adapter
    get: str
    """How to come by the official files."""
    url: str
    paper: str
    licence: str
    read: Reader = lambda path, split: json_rows(path)
    hub: Hub | None = None
    keep: Callable[[Record, str], bool] | None = None
    """Whether a row belongs to a split, where files hold several."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Questions by split, as published."""


# Small helps for adapters: real rows have blanks, repetitions, and one thing in several shapes.


def question(**fields: Any) -> Question:
    """The question of the fields that `evals.parse_question` knows; those that are None are left out."""
    return parse_question({name: value for name, value in fields.items() if value is not None})


def text(value: Any) -> str | None:
    """A text without blanks around it, a number as text; None for nothing and for a blank."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = int(value) if isinstance(value, float) and value.is_integer() else value
        return str(value)
    if value is None or isinstance(value, str):
        return (value or "").strip() or None
    raise ValueError(f"{value!r} stands where a text is expected")


def texts(values: Iterable[Any] | None) -> list[str]:
    """Texts that are not blank, each once."""
    return list(dict.fromkeys(one for value in values or () if (one := text(value)) is not None))


def records(value: Any) -> list[Mapping[str, Any]]:
    """A list of objects, also where it is stored as an object of lists (`datasets` does so), or missing."""
    if value is None:
        return []
    if isinstance(value, Mapping):
        names, columns = list(value), list(value.values())
        return [dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True)]
    if isinstance(value, list) and all(isinstance(one, Mapping) for one in value):
        return value
    raise ValueError(f"{str(value)[:80]!r} is not a list of objects")


def named(pairs: Iterable[tuple[str | None, str | None]]) -> tuple[list[str], list[str | None]]:
    """Ids and their names beside them, each id once; where there is no id, the name stands for it."""
    found: dict[str, str | None] = {}
    for id, name in pairs:
        if (key := id or name) is not None and found.get(key) is None:
            found[key] = name if id else None
    return list(found), list(found.values())


def ids_in(query: str | None, pattern: str) -> list[str]:
    """What the groups of a pattern find in a query, each once, in order."""
    found = re.finditer(pattern, query or "")
    return list(dict.fromkeys(group for match in found for group in match.groups() if group))


def required(row: Record, *names: str) -> Any:
    """The first of the fields that the row has.

    Raises:
        ValueError: it has none of them.
    """
    for name in names:
        if row.get(name) is not None:
            return row[name]
    raise ValueError(f"has no {' or '.join(names)}")


# Readers of the file formats in which data sets are published, `.gz` and `.bz2` looked through.

_LONG_FIELD = 16 << 20


@contextmanager
def opened(path: Path) -> Iterator[IO[str]]:
    """A text file in UTF-8, a byte order mark left out.

    Raises:
        ReadError: it cannot be opened, or, inside the block, not be read on.
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
    """The object that a JSON file holds."""
    content = _json(path)
    if not isinstance(content, dict):
        raise ReadError(path, None, f"is a JSON {type(content).__name__}, not an object")
    return content


def json_rows(path: Path, *keys: str) -> Iterator[tuple[None, Record]]:
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


def json_line_rows(path: Path) -> Iterator[tuple[int, Record]]:
    """The objects of JSON lines."""
    for number, line in text_lines(path):
        try:
            yield number, parse_row(line)
        except ValueError as error:
            raise ReadError(path, number, str(error)) from error


def table_rows(path: Path, delimiter: str) -> Iterator[tuple[int, Record]]:
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
