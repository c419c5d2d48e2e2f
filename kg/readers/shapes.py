"""What a table holds: triples, a line each, or things, a row each (a wide table)."""

from __future__ import annotations

import csv
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from triplecheck.kg.readers.cells import is_typed, looks_typed
from triplecheck.kg.readers.columns import (
    TRIPLE_COLUMNS,
    dialect,
    names_a_relation,
    plain,
    reading,
    usual_columns,
)
from triplecheck.kg.readers.raw import open_packed

_ROWS = 5_000  # looked at
_ENTITY_COLUMNS = {"id", "label", "description", "aliases", "type"}
_NAMES = {"name", "title", "id", "fullname", "firstname", "lastname", "email"}  # headers of things, not of triples
_SURE_NAMES = {"name", "email", "description"}


def holds_things(header: Sequence[str], rows: Sequence[Sequence[str]], *, sure: bool) -> bool | None:
    """Whether a table holds things, not triples; None if it cannot be told.

    Triples repeat their relations in the second column, have heads that are tails or occur again, and often no header.
    A wide table has a header, a column of unique names, and columns of numbers or dates under headers that are none.

    Args:
        rows: the other lines, or some of them.
        sure: whether the first line is a header.
    """
    usual = usual_columns(header)
    if len(usual) == len(TRIPLE_COLUMNS) or names_a_relation(header) or {"head", "tail"} == usual.keys():
        return False
    width = len(header)
    columns = [[row[at].strip() for row in rows if at < len(row) and row[at].strip()] for at in range(width)]
    if width < 2 or (not sure and not rows):
        return False
    if not sure and not _may_be_header(header, columns):
        # Nothing is related by numbers: a header of years, say.
        return None if width > 2 and not looks_typed(header[0]) and is_typed([header[1], *columns[1]]) else False
    numbers = [is_typed(column) for column in columns]
    if width == 2:
        return True if sure or any(numbers) or _names_things(header) else None
    if numbers[1] or _names_things(header):
        return True
    heads, relations, tails = columns[:3]
    if not numbers[0] and {*heads} & {*tails}:
        return False
    again = sum(count for count in Counter(relations).values() if count > 1)
    repeated, unique = 2 * again > len(relations), len({*heads}) == len(heads)
    if width == 3:
        if any(numbers) and unique and len(heads) > 1:
            return len({*relations}) != 1
        return None if unique and len(heads) > 2 else False
    if sure or any(numbers):
        keyed = any(len({*column}) == len(rows) for column, number in zip(columns, numbers, strict=True) if not number)
        return True if sure or keyed or not repeated else None
    if len(rows) < 2:
        return False
    return None if repeated else True


def file_holds_things(path: Path, header: bool | None) -> bool | None:
    """Whether a delimited file holds things, not triples; None if it cannot be told.

    Args:
        header: whether the first line is a header. None: it may be one.
    """
    if header is False:
        return False
    first, *rows = _sample(path) or [[]]
    names = {name.strip().casefold() for name in first}
    if {"id", "label"} <= names <= _ENTITY_COLUMNS:
        return False  # where it is refused, and --entities named
    found = holds_things(first, rows, sure=bool(header))
    return False if found is None and header else found


def _names_things(header: Sequence[str]) -> bool:
    """Whether the first column is called "name", "id" or the like."""
    first, *others = map(plain, header)
    return first in _NAMES or first.endswith("id") or not _SURE_NAMES.isdisjoint(others)


def _may_be_header(first: Sequence[str], columns: Sequence[Sequence[str]]) -> bool:
    """Whether a first line has names that are distinct, no values, and do not occur in the lines below."""
    names = [name.strip() for name in first]
    given = [name for name in names if name]
    if len(given) < max(2, len(names) - 1) or len({*given}) < len(given) - 1:
        return False
    if sum(map(looks_typed, given)):
        return False
    return {*given}.isdisjoint(itertools.chain.from_iterable(columns))


def _sample(path: Path) -> list[list[str]]:
    """The fields of the first lines of a file.

    Raises:
        ReadError: it cannot be read.
    """
    delimiter, quoted = dialect(path)
    with reading(path):
        with open_packed(path) as source:
            lines = (line.decode("utf-8", "replace").rstrip("\r\n") for line in source)
            some = [line.removeprefix("\ufeff") for line in itertools.islice(lines, _ROWS) if line]
        if quoted:
            return [row for row in csv.reader((line + "\n" for line in some), delimiter=delimiter) if row]
        return [line.split(delimiter) for line in some]


def sample_of(columns: Mapping[str, Sequence[object]]) -> list[list[str]]:
    """The first rows of columns as texts."""
    rows = zip(*(column[:_ROWS] for column in columns.values()), strict=True)
    return [["" if cell is None or cell != cell else str(cell) for cell in row] for row in rows]
