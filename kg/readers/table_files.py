"""Files of tables: each is recognised as triples or as a wide table, and read so."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from triplecheck.kg.errors import ReadError, UserError
from triplecheck.kg.readers.columns import TRIPLE_COLUMNS, dialect, first_fields, usual_columns, usual_dialect
from triplecheck.kg.readers.frames import columns_of, graph_of_columns, is_wide
from triplecheck.kg.readers.options import ReadOptions, TableOptions
from triplecheck.kg.readers.raw import RawGraph, nothing
from triplecheck.kg.readers.shapes import file_holds_things
from triplecheck.kg.readers.sheets import SHEET_SUFFIXES, read_sheets
from triplecheck.kg.readers.tables import (
    parquet_columns,
    read_columns,
    read_triples,
    readable_parquet,
    suffix,
    triple_parts,
)
from triplecheck.kg.readers.wide import WideTable, read_wide, shown

_INDEX = re.compile(r"(?:unnamed: ?\d+)?|__index_level_\d+__", re.IGNORECASE)  # headers of the index of a data frame
_SHOWN = 3  # triples of a table


def read_table_files(
    paths: Sequence[Path], how: ReadOptions, more: Sequence[WideTable] = (), *, in_parts: bool = False
) -> Iterator[RawGraph]:
    """Read tables in files: a graph of each file of triples, and one of all wide tables.

    Args:
        paths: .csv, .tsv, .txt, .parquet, .xlsx and .xlsm files.
        more: further wide tables.
        in_parts: files of triples are several graphs each, as `tables.triple_parts` reads them.

    Raises:
        ReadError: a file cannot be read, or it cannot be told what it holds.
        UserError: see `wide.read_wide`.
    """
    options, wide = how.tables, list(more)
    for path in paths:
        if suffix(path) in SHEET_SUFFIXES:
            for table in read_sheets(path):
                is_named = path in map(Path, options.wide), path in map(Path, options.triples)
                if is_named[0] or (not is_named[1] and is_wide(dict(table.columns), how)):
                    wide.append(table)
                else:
                    raw = graph_of_columns({name: [*map(_whole, cells)] for name, cells in table.columns}, how)
                    yield replace(raw, recognised=[_recognised(table.place, _first_triples(raw))])
        elif _is_wide_file(path, how):
            how.progress(f"reading {path.name}", 0, None)
            wide.append(_wide_table(path, skip_bad=how.skip_bad))
        elif in_parts:
            some: list[tuple[str, str, str]] = []
            for part in triple_parts(path, how):
                some += _first_triples(part) if len(some) < _SHOWN else []
                yield part
            yield replace(nothing(), recognised=[_recognised(path, some)])
        else:
            raw = read_triples(path, how)
            yield replace(raw, recognised=[_recognised(path, _first_triples(raw))])
    if wide:
        yield read_wide(wide, options, how.progress)
    elif options.key or options.links or options.classes:
        raise UserError("--key, --link and --class are for wide tables, and the files hold triples; --wide FILE if not")


def _is_wide_file(path: Path, how: ReadOptions) -> bool:
    """Whether a file is a wide table, and no file of triples.

    Raises:
        ReadError: it cannot be read, or it may be either.
    """
    if path in map(Path, how.tables.wide):
        return True
    if path in map(Path, how.tables.triples) or how.of_triples or not path.is_file():
        return False
    if suffix(path) == ".parquet":
        return "head" not in usual_columns(parquet_columns(path))
    found = file_holds_things(path, how.header)
    if found is None:
        wide = f"(--wide {path}): {shown(_first_triples(read_wide([_wide_table(path)])))}"
        if len(first_fields(path)) < len(TRIPLE_COLUMNS):
            raise ReadError(path, 1, f"two columns are no triples; with a header they are a wide table {wide}")
        triples = shown(_first_triples(read_triples(path, ReadOptions(header=how.header))))
        reason = f"triples, or a wide table with a row for a thing? As triples (--triples-of {path}): {triples}. "
        raise ReadError(path, None, f"{reason}As a wide table {wide}. Say which")
    return found


def _wide_table(path: Path, *, skip_bad: bool = False) -> WideTable:
    """A file as a wide table.

    Raises:
        ReadError: it cannot be read.
    """
    name = path.name[: -len(path.suffix)] if path.suffix.lower() != ".gz" else Path(path.stem).stem
    if not path.is_file():
        raise ReadError(path, None, "no such file")
    if suffix(path) == ".parquet":
        with readable_parquet(path):
            table = pq.read_table(path)
        return WideTable(name, str(path), _named(columns_of(table)))
    if len(first_fields(path)) < 2:
        raise ReadError(path, 1, "one column: a wide table has a column for each attribute")
    columns, skipped = read_columns(path, skip_bad=skip_bad)
    sign = dialect(path)[0]
    how = "" if sign == usual_dialect(path)[0] else f"delimiter {sign!r}"
    return WideTable(name, str(path), _named(columns), how=how, skipped=skipped)


def read_tables(tables: object, options: TableOptions | None = None) -> RawGraph:
    """Wide tables that Python holds or names, as one graph.

    Args:
        tables: data frames, lists of dicts or paths of files by name; or a path, or several.

    Raises:
        UserError: something else, or what `wide.read_wide` refuses.
        ReadError: a file cannot be read.
    """
    found: list[WideTable] = []
    if isinstance(tables, str | Path):
        tables = [tables]
    if isinstance(tables, Mapping):
        for name, table in tables.items():
            if isinstance(table, str | Path):
                read = _of_file(Path(table))
                for one in read:
                    one.name = str(name) if len(read) == 1 else one.name
                found += read
            else:
                found.append(WideTable(str(name), str(name), _named(columns_of(table))))
    elif isinstance(tables, Sequence) and all(isinstance(path, str | Path) for path in tables):
        found += [table for path in tables for table in _of_file(Path(path))]
    else:
        raise UserError("tables are named: from_tables({'people': frame, 'teams': 'teams.csv'}), or a list of paths")
    if not found:
        raise UserError("no table was given")
    return read_wide(found, options)


def _of_file(path: Path) -> list[WideTable]:
    return read_sheets(path) if suffix(path) in SHEET_SUFFIXES else [_wide_table(path)]


def _named(columns: Sequence[tuple[str, list[Any]]]) -> list[tuple[str, list[Any]]]:
    """Columns with names, without the index of a data frame that counts the rows."""
    found = []
    for at, (name, cells) in enumerate(columns):
        if _INDEX.fullmatch(name):
            counted = [str(cell) for cell in cells]
            if at == 0 and any(counted == [str(row) for row in range(start, len(cells) + start)] for start in (0, 1)):
                continue
            name = name or f"column {at + 1}"
        found.append((name, cells))
    return found


def _whole(cell: object) -> object:
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def _first_triples(raw: RawGraph) -> list[tuple[str, str, str]]:
    """The triples of a graph that are shown."""
    some = [column.slice(0, _SHOWN).to_pylist() for column in (raw.heads, raw.relations, raw.tails)]
    return list(zip(*some, strict=True))


def _recognised(place: Path | str, some: Sequence[tuple[str, str, str]]) -> str:
    """The sentence that says that a table holds triples."""
    return f"{place}: triples; first triples: {shown(some[:_SHOWN])}"
