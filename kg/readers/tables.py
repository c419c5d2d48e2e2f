"""Triples, entities and relations from TSV, CSV and Parquet, plain or gzipped.

Arrow parses whole files in its own threads. Only if it fails does a slower second pass look for the line and the
reason. TSV fields are read verbatim, CSV fields may be quoted.
"""

from __future__ import annotations

import csv
import io
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from triplecheck.kg.errors import ReadError, UserError
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.readers.raw import ENTITY_SCHEMA, RELATION_SCHEMA, BadLine, RawGraph, open_packed

TRIPLE_COLUMNS = ("head", "relation", "tail")
TABLE_SUFFIXES = (".tsv", ".txt", ".csv", ".parquet")
_LIST_SEPARATOR = "|"
# A quoted field from its start, and the rest of a field opened on an earlier line; group 1 is empty if the field is
# still open at the end of the line.
_QUOTED = re.compile(rb'(?:^|,)"[^"]*(?:""[^"]*)*("?)')
_QUOTED_REST = re.compile(rb'[^"]*(?:""[^"]*)*("?)')
_DAMAGED = (OSError, EOFError, zlib.error)


def suffix(path: Path) -> str:
    """Extension that determines the format, without `.gz`."""
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


def read_triples(
    path: Path,
    mapping: Mapping[str, str] | None = None,
    *,
    skip_bad: bool = False,
    progress: ProgressCallback = no_progress,
) -> RawGraph:
    """Read triples from one file.

    Without a mapping the first three columns are head, relation and tail; a first line of exactly these names is a
    header. A mapping (`{"head": "subject", ...}`) gives the column names of a file with a header; the optional key
    `datatype` gives the column with the datatype IRI of literal tails.

    Raises:
        ReadError: the file is missing, or a line is malformed and `skip_bad` is off.
    """
    progress(f"reading {path.name}", 0, None)
    wanted = {name: (mapping or {}).get(name, name) for name in TRIPLE_COLUMNS}
    if mapping and "datatype" in mapping:
        wanted["datatype"] = mapping["datatype"]
    mapped = any((mapping or {}).get(name) for name in TRIPLE_COLUMNS)
    table, skipped = _read(path, wanted if mapped else None, skip_bad)
    columns = {name: _dictionary(table[name]) for name in wanted}
    datatypes = columns.get("datatype")
    return RawGraph(
        heads=columns["head"],
        relations=columns["relation"],
        tails=columns["tail"],
        datatypes=datatypes,
        skipped=skipped,
    )


def read_entities(
    path: Path, mapping: Mapping[str, str] | None = None, *, skip_bad: bool = False
) -> tuple[pa.Table, list[BadLine]]:
    """Rows of `ENTITY_SCHEMA` from a table with a header, and the skipped lines; only `id` is required.

    Columns: id, label, description, aliases and type (several separated by `|`). Other columns are ignored.
    """
    table, skipped = _described(path, mapping, skip_bad, {"id", "label", "description", "aliases", "type"})
    columns = {
        "id": table["id"],
        "label": _text(table, "label"),
        "description": _text(table, "description"),
        "aliases": _split(table, "aliases"),
        "types": _split(table, "type"),
    }
    return pa.table(columns).cast(ENTITY_SCHEMA), skipped


def read_relations(
    path: Path, mapping: Mapping[str, str] | None = None, *, skip_bad: bool = False
) -> tuple[pa.Table, list[BadLine]]:
    """Rows of `RELATION_SCHEMA` from a table with a header, and the skipped lines; only `id` is required."""
    table, skipped = _described(path, mapping, skip_bad, {"id", "label", "description", "aliases", "domain", "range"})
    columns = {name: _text(table, name) for name in ("label", "description", "domain", "range")}
    columns = {"id": table["id"], **columns, "aliases": _split(table, "aliases")}
    return pa.table({name: columns[name] for name in RELATION_SCHEMA.names}).cast(RELATION_SCHEMA), skipped


# --- one file ------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Layout:
    """Layout of a delimited file: its columns by position, and which must not be empty."""

    delimiter: str
    quoted: bool
    columns: dict[str, int]
    width: int | None  # fields per line; None: any number from the last required one
    header: bool
    required: tuple[str, ...]


def _read(path: Path, wanted: Mapping[str, str] | None, skip_bad: bool) -> tuple[pa.Table, list[BadLine]]:
    """Columns `head`, `relation`, `tail` (and `datatype`) as strings."""
    if not path.is_file():
        raise ReadError(path, None, "no such file")
    if suffix(path) == ".parquet":
        return _read_parquet(path, wanted or {name: name for name in TRIPLE_COLUMNS}, TRIPLE_COLUMNS), []
    first = _first_fields(path)
    if wanted is None:
        header = tuple(f.strip().lower() for f in first[:3]) == TRIPLE_COLUMNS
        positions = {name: i for i, name in enumerate(TRIPLE_COLUMNS)}
        if first and len(first) < 3:
            raise ReadError(path, 1, f"{len(first)} field(s), but head, relation and tail are required")
    else:
        header, positions = True, _positions(path, first, wanted)
    delimiter, quoted = _dialect(path)
    width = len(first) if first else 3
    return _read_delimited(path, _Layout(delimiter, quoted, positions, width, header, TRIPLE_COLUMNS), skip_bad)


def _described(
    path: Path, mapping: Mapping[str, str] | None, skip_bad: bool, known: set[str]
) -> tuple[pa.Table, list[BadLine]]:
    if not path.is_file():
        raise ReadError(path, None, "no such file")
    wanted = {name: (mapping or {}).get(name, name) for name in known}
    if suffix(path) == ".parquet":
        present = _parquet_columns(path)
        wanted = {k: v for k, v in wanted.items() if v in present or k == "id" or v != k}
        return _read_parquet(path, wanted, ("id",)), []
    first = _first_fields(path)
    wanted = {k: v for k, v in wanted.items() if v in first or k == "id" or v != k}
    delimiter, quoted = _dialect(path)
    layout = _Layout(delimiter, quoted, _positions(path, first, wanted), len(first), True, ("id",))
    return _read_delimited(path, layout, skip_bad)


def _dialect(path: Path) -> tuple[str, bool]:
    return (",", True) if suffix(path) == ".csv" else ("\t", False)


def _positions(path: Path, header: Sequence[str], wanted: Mapping[str, str]) -> dict[str, int]:
    missing = [column for column in wanted.values() if column not in header]
    if missing:
        names = ", ".join(header) or "nothing"
        raise ReadError(path, 1, f"no column {', '.join(map(repr, missing))} in the header (it has: {names})")
    return {name: list(header).index(column) for name, column in wanted.items()}


def _first_fields(path: Path) -> list[str]:
    """Fields of the first line, [] for an empty file."""
    delimiter, quoted = _dialect(path)
    try:
        with open_packed(path) as source:
            line = source.readline().decode("utf-8-sig").rstrip("\r\n")
    except (UnicodeDecodeError, *_DAMAGED) as error:
        raise ReadError(path, 1, f"not readable as text: {error}") from error
    if not line:
        return []
    try:
        return next(csv.reader([line])) if quoted else line.split(delimiter)
    except csv.Error as error:
        raise ReadError(path, 1, f"not readable as CSV: {error}") from error


def _read_delimited(path: Path, layout: _Layout, skip_bad: bool) -> tuple[pa.Table, list[BadLine]]:
    try:
        with pa.input_stream(str(path), compression="detect") as source:
            table = _parse(source, layout)
        if table is not None and not (layout.quoted and _runs_on(table)):
            return table, []
    except pa.ArrowInvalid:
        pass
    except _DAMAGED as error:
        raise ReadError(path, None, f"cannot be read to the end: {error}") from error
    # A line is malformed: find out which and why.
    good, skipped, records = io.BytesIO(), [], 0
    try:
        for number, line, reason in _scan(path, layout):
            if reason is None:
                good.write(line)
                records += 1
            else:
                if not skip_bad:
                    raise ReadError(path, number, reason)
                skipped.append(BadLine(str(path), number, reason))
    except _DAMAGED as error:
        raise ReadError(path, None, f"cannot be read to the end: {error}") from error
    good.seek(0)
    try:
        # Arrow cannot skip a header without a line end.
        table = _empty(layout) if records <= layout.header else _parse(good, layout)
    except pa.ArrowInvalid as error:
        raise ReadError(path, None, f"cannot be parsed: {error}") from error
    if table is None:
        raise ReadError(path, None, "cannot be parsed, though no single line is malformed")
    return table, skipped


def _parse(source: object, layout: _Layout) -> pa.Table | None:
    """The requested columns, or None if a row is malformed."""
    bad: list[object] = []

    def skip(row: object) -> str:
        bad.append(row)
        return "skip"

    count = max(layout.width or 0, max(layout.columns.values()) + 1)
    names = [f"f{i}" for i in range(count)]
    try:
        table = pa_csv.read_csv(
            source,
            read_options=pa_csv.ReadOptions(column_names=names, skip_rows=int(layout.header), block_size=8 << 20),
            parse_options=pa_csv.ParseOptions(
                delimiter=layout.delimiter,
                quote_char='"' if layout.quoted else False,
                newlines_in_values=layout.quoted,
                invalid_row_handler=skip,
            ),
            convert_options=pa_csv.ConvertOptions(
                include_columns=[f"f{i}" for i in layout.columns.values()],
                column_types={f"f{i}": pa.dictionary(pa.int32(), pa.string()) for i in layout.columns.values()},
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid as error:
        if "Empty CSV" not in str(error):
            raise
        return _empty(layout)
    if bad:
        return None
    columns = {name: _dictionary(table[f"f{i}"]) for name, i in layout.columns.items()}
    if any(_faulty(column, name in layout.required) for name, column in columns.items()):
        return None
    return pa.table(columns)


def _empty(layout: _Layout) -> pa.Table:
    return pa.table(dict.fromkeys(layout.columns, pa.array([], pa.dictionary(pa.int32(), pa.string()))))


def _faulty(column: pa.DictionaryArray, required: bool) -> bool:
    values = column.dictionary
    if required and pc.any(pc.equal(pc.utf8_trim_whitespace(values), "")).as_py():
        return True
    return bool(pc.any(pc.match_substring(values, "\x00")).as_py())


def _runs_on(table: pa.Table) -> bool:
    """Whether the last record contains a line break: a quote may never have been closed."""
    last = table.slice(max(0, table.num_rows - 1))
    return any("\n" in value for column in last.columns for value in column.to_pylist())


def _scan(path: Path, layout: _Layout) -> Iterator[tuple[int, bytes, str | None]]:
    """Each record with its first line number and its fault (None if it is valid)."""
    with open_packed(path) as source:
        records = _quoted_records(source) if layout.quoted else enumerate(source, 1)
        for number, line in records:
            if number == 1 and layout.header:
                yield number, line, None
                continue
            if line.strip():
                yield number, line, _fault(line, layout)


def _fault(line: bytes, layout: _Layout) -> str | None:
    try:
        text = line.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        return f"not UTF-8 ({error.reason} at byte {error.start})"
    if layout.quoted and _leaves_open(line, False):
        return "a quote is never closed"
    fields = next(csv.reader(io.StringIO(text, newline=""))) if layout.quoted else text.split(layout.delimiter)
    if layout.width is not None and len(fields) != layout.width:
        return f"{len(fields)} fields, {layout.width} expected"
    if "\x00" in text:
        return "contains a NUL character"
    empty = [name for name in layout.required if not fields[layout.columns[name]].strip()]
    return f"empty {', '.join(empty)}" if empty else None


def _quoted_records(source: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Records of a CSV file; quoted fields may span several lines."""
    start, held, is_open = 1, io.BytesIO(), False
    for number, line in enumerate(source, 1):
        held.write(line)
        is_open = _leaves_open(line, is_open)
        if not is_open:
            yield start, held.getvalue()
            start, held = number + 1, io.BytesIO()
    if is_open:
        yield start, held.getvalue()


def _leaves_open(text: bytes, is_open: bool) -> bool:
    """Whether a quoted field is open after a text; `is_open` is the state before it."""
    if is_open:
        rest = _QUOTED_REST.match(text)
        if rest is None or not rest[1]:
            return True
        text = text[rest.end() :]
    return any(not field[1] for field in _QUOTED.finditer(text))


def _parquet_columns(path: Path) -> list[str]:
    try:
        names: list[str] = pq.read_schema(path).names
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise ReadError(path, None, f"not a readable Parquet file: {error}") from error
    return names


def _read_parquet(path: Path, wanted: Mapping[str, str], required: Sequence[str]) -> pa.Table:
    names = _parquet_columns(path)
    missing = [column for column in wanted.values() if column not in names]
    if missing:
        raise ReadError(path, None, f"no column {missing[0]!r} (it has: {', '.join(names)})")
    try:
        table = pq.read_table(path, columns=list(wanted.values()))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise ReadError(path, None, f"not a readable Parquet file: {error}") from error
    columns = {}
    for name, column in wanted.items():
        values = table[column]
        if pa.types.is_list(values.type):
            values = pa.chunked_array([pa.array([_LIST_SEPARATOR.join(v or ()) for v in values.to_pylist()])])
        try:
            values = values.cast(pa.string())
        except pa.ArrowException as error:
            raise ReadError(path, None, f"the column {column!r} is {values.type}, not text") from error
        if name in required and (values.null_count or pc.any(pc.equal(values, "")).as_py()):
            row = next(i for i, v in enumerate(values.to_pylist(), 1) if not v)
            raise ReadError(path, None, f"row {row} has no {column!r}")
        columns[name] = values if name == "datatype" else pc.fill_null(values, "")
    return pa.table(columns)


# --- columns -------------------------------------------------------------------------------------
def _dictionary(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """One dictionary-encoded array from a column of strings, however chunked."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    column = column.unify_dictionaries()
    if column.num_chunks == 0:
        return pa.array([], pa.dictionary(pa.int32(), pa.string()))
    return column.combine_chunks() if column.num_chunks > 1 else column.chunk(0)


def _text(table: pa.Table, name: str) -> pa.ChunkedArray:
    """A column of strings, null for empty or missing."""
    if name not in table.column_names:
        return pa.chunked_array([pa.nulls(table.num_rows, pa.string())])
    column = table[name].cast(pa.string())
    return pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)


def _split(table: pa.Table, name: str) -> pa.ChunkedArray:
    """A column of lists from `a|b|c`."""
    values = _text(table, name).to_pylist()
    lists = [[part for p in v.split(_LIST_SEPARATOR) if (part := p.strip())] if v else [] for v in values]
    return pa.chunked_array([pa.array(lists, pa.list_(pa.string()))])


def parse_mapping(pairs: Sequence[str]) -> dict[str, str]:
    """`["head=subject", "tail=object"]` as a mapping.

    Raises:
        UserError: a pair without `=`, or an unknown name.
    """
    known = {*TRIPLE_COLUMNS, "datatype", *ENTITY_SCHEMA.names, *RELATION_SCHEMA.names, "type", "title", "text", "node"}
    mapping: dict[str, str] = {}
    for pair in (p for text in pairs for p in text.split(",")):
        name, separator, column = pair.partition("=")
        if not separator or not column or name.strip() not in known:
            raise UserError(f"--map {pair!r}: write NAME=COLUMN, with NAME one of {', '.join(sorted(known))}")
        mapping[name.strip()] = column.strip()
    return mapping
