"""Files of tables: each is recognised as triples or as a wide table, and read so."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from triplecheck.kg.errors import ReadError, UserError
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.readers.columns import TRIPLE_COLUMNS, dialect, first_fields, usual_columns, usual_dialect
from triplecheck.kg.readers.frames import columns_of, graph_of_columns, is_wide
from triplecheck.kg.readers.raw import RawGraph
from triplecheck.kg.readers.shapes import Shape, refusal, shape_of_file
from triplecheck.kg.readers.sheets import SHEET_SUFFIXES, read_sheets
from triplecheck.kg.readers.tables import TABLE_SUFFIXES, parquet_columns, read_columns, read_triples, suffix
from triplecheck.kg.readers.wide import TableOptions, WideTable, read_wide, shown

_INDEX = re.compile(r"(?:unnamed: ?\d+)?|__index_level_\d+__", re.IGNORECASE)  # headers of the index of a data frame
SHOWN = 3
"""Triples of a table that are shown."""


def read_table_files(
    paths: Sequence[Path],
    mapping: Mapping[str, str] | None = None,
    *,
    options: TableOptions | None = None,
    more: Sequence[WideTable] = (),
    header: bool | None = None,
    edge_properties: Sequence[str] = (),
    skip_bad: bool = False,
    progress: ProgressCallback = no_progress,
) -> list[RawGraph]:
    """Read tables in files: a graph of each file of triples, and one of all wide tables.

    Args:
        paths: .csv, .tsv, .txt, .parquet, .xlsx and .xlsm files.
        mapping, header, edge_properties, skip_bad, progress: see `tables.read_triples`.
        options: how wide tables are read, and which files are what.

    Raises:
        ReadError: a file cannot be read, or it cannot be told what it holds.
        UserError: see `wide.read_wide`.
    """
    options = options or TableOptions()
    graphs, wide = [], list(more)
    for path in paths:
        if suffix(path) in SHEET_SUFFIXES:
            for table in read_sheets(path):
                if _is_wide_sheet(path, table, mapping, edge_properties, options):
                    wide.append(table)
                else:
                    raw = graph_of_columns(_with_tails(table, mapping), mapping or {}, edge_properties)
                    raw.recognised.append(recognised(table.place, first_triples(raw)))
                    graphs.append(raw)
        elif is_wide_file(path, mapping, options, header=header, edge_properties=edge_properties):
            progress(f"reading {path.name}", 0, None)
            wide.append(wide_table(path, skip_bad=skip_bad))
        else:
            found = read_triples(
                path, mapping, header=header, edge_properties=edge_properties, skip_bad=skip_bad, progress=progress
            )
            found.recognised.append(recognised(path, first_triples(found)))
            graphs.append(found)
    if wide:
        graphs.append(read_wide(wide, options, progress))
    elif graphs and (options.key or options.links or options.classes):
        raise UserError("--key, --link and --class are for wide tables, and the files hold triples; --wide FILE if not")
    return graphs


def is_wide_file(
    path: Path,
    mapping: Mapping[str, str] | None,
    options: TableOptions,
    *,
    header: bool | None = None,
    edge_properties: Sequence[str] = (),
) -> bool:
    """Whether a file is a wide table, and no file of triples.

    Raises:
        ReadError: it cannot be read, or it may be either.
    """
    if path in map(Path, options.wide):
        return True
    named = edge_properties or any((mapping or {}).get(name) for name in TRIPLE_COLUMNS)
    if path in map(Path, options.triples) or named or not path.is_file() or suffix(path) not in TABLE_SUFFIXES:
        return False
    if suffix(path) == ".parquet":
        return "head" not in usual_columns(parquet_columns(path))
    shape = shape_of_file(path, header)
    if shape is None:
        few = len(first_fields(path)) < len(TRIPLE_COLUMNS)
        triples = "" if few else shown(first_triples(read_triples(path, header=header)))
        wide = shown(first_triples(read_wide([wide_table(path)])))
        raise refusal(path, triples, wide)
    return shape is Shape.WIDE


def wide_table(path: Path, *, skip_bad: bool = False) -> WideTable:
    """A file as a wide table.

    Raises:
        ReadError: it cannot be read.
    """
    name = path.name[: -len(path.suffix)] if path.suffix.lower() != ".gz" else Path(path.stem).stem
    if not path.is_file():
        raise ReadError(path, None, "no such file")
    if suffix(path) == ".parquet":
        try:
            table = pq.read_table(path)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise ReadError(path, None, f"not a readable Parquet file: {error}") from error
        return WideTable(name, str(path), _named(columns_of(table)))
    if len(first_fields(path)) < 2:
        raise ReadError(path, 1, "one column: a wide table has a column for each attribute")
    columns, skipped = read_columns(path, skip_bad=skip_bad)
    sign = dialect(path)[0]
    how = "" if sign == usual_dialect(path)[0] else f"delimiter {sign!r}"
    return WideTable(name, str(path), _named(columns), how=how, skipped=skipped)


def read_tables(
    tables: object, options: TableOptions | None = None, progress: ProgressCallback = no_progress
) -> RawGraph:
    """Wide tables that Python holds or names, as one graph.

    Args:
        tables: data frames, lists of dicts or paths of files by name; or a path, or several.
        progress: called for each.

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
    return read_wide(found, options, progress)


def _of_file(path: Path) -> list[WideTable]:
    return read_sheets(path) if suffix(path) in SHEET_SUFFIXES else [wide_table(path)]


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


def _is_wide_sheet(
    path: Path,
    table: WideTable,
    mapping: Mapping[str, str] | None,
    edge_properties: Sequence[str],
    options: TableOptions,
) -> bool:
    if path in map(Path, options.wide):
        return True
    return path not in map(Path, options.triples) and not edge_properties and is_wide(dict(table.columns), mapping)


def _with_tails(table: WideTable, mapping: Mapping[str, str] | None) -> dict[str, list[Any]]:
    """The columns of a sheet of triples, without the rows that are empty in all of them."""
    return {name: [_whole(cell) for cell in cells] for name, cells in table.columns}


def _whole(cell: object) -> object:
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def first_triples(raw: RawGraph) -> list[tuple[str, str, str]]:
    """The triples of a graph that are shown."""
    some = [column.slice(0, SHOWN).to_pylist() for column in (raw.heads, raw.relations, raw.tails)]
    return list(zip(*some, strict=True))


def recognised(place: Path | str, some: Sequence[tuple[str, str, str]]) -> str:
    """The sentence that says that a table holds triples."""
    return f"{place}: triples; first triples: {shown(some[:SHOWN])}"
