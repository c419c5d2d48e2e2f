"""Triples, entities and relations from TSV, CSV and Parquet, plain or gzipped.

Arrow parses whole files in its own threads. Only if it fails does a slower second pass look for the line and the
reason. TSV fields are read verbatim, CSV fields may be quoted.
"""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from triplecheck.kg.errors import ReadError, UserError
from triplecheck.kg.names import normalize
from triplecheck.kg.readable import relation_label
from triplecheck.kg.readers.columns import (
    DELIMITERS,
    TRIPLE_COLUMNS,
    delimiter_hint,
    dialect,
    first_fields,
    names_a_relation,
    odd_first_line,
    reading,
    usual_columns,
)
from triplecheck.kg.readers.frames import table_of
from triplecheck.kg.readers.options import DEFAULTS, ReadOptions
from triplecheck.kg.readers.raw import (
    EDGE_PROPERTY_SCHEMA,
    ENTITY_SCHEMA,
    RELATION_SCHEMA,
    UNKNOWN,
    BadLine,
    RawGraph,
    bad_line,
    filtered,
    open_packed,
)

DELIMITED_SUFFIXES = (".tsv", ".txt", ".csv")
TABLE_SUFFIXES = (*DELIMITED_SUFFIXES, ".parquet")
_LIST_SEPARATOR = "|"
# Of a part of a file that is read part by part.
_PART_BYTES, _PART_ROWS = 1 << 26, 1 << 20
# A quoted field from its start, by delimiter, and the rest of a field opened on an earlier line; group 1 is empty if
# the field is still open at the end of the line.
_QUOTED = {sign: re.compile(rb'(?:^|%s)"[^"]*(?:""[^"]*)*("?)' % re.escape(sign.encode())) for sign in DELIMITERS}
_QUOTED_REST = re.compile(rb'[^"]*(?:""[^"]*)*("?)')


def suffix(path: Path) -> str:
    """Extension that determines the format, without `.gz` (for JSON also `.bz2` and `.xz`)."""
    name = Path(path.name.lower().removesuffix(".gz"))
    return name.with_suffix("").suffix if name.suffix in (".bz2", ".xz") and ".json" in name.suffixes else name.suffix


def read_triples(path: Path, how: ReadOptions = DEFAULTS) -> RawGraph:
    """Read triples from one file.

    Without a mapping, a first line with the usual names of head, relation and tail (`subject predicate object`,
    `source type target`, ...; see `kg.readers.columns`) is a header; without a header the first three columns are
    head, relation and tail. If the names of the first line are not usual and its cells occur nowhere else in the file,
    `notes` says how it was read: as a header if the second is a word for relations ("person relation company"), else
    as a triple. Names of codes are labels.

    Raises:
        ReadError: the file is missing, or a line is malformed and `skip_bad` is off.
    """
    how.progress(f"reading {path.name}", 0, None)
    layout, notes = _planned(path, how)
    return _labelled(_triples_of(*_read_table(path, layout, how.skip_bad), notes))


def triple_parts(path: Path, how: ReadOptions) -> Iterator[RawGraph]:
    """`read_triples` part by part, about a million triples each. A CSV file is one part: its fields may hold lines.

    In files of several parts the names of codes stay triples: no part has all of them.

    Raises:
        ReadError: as `read_triples`, when the faulty part is reached.
    """
    layout, notes = _planned(path, how)
    before, done = 0, 0
    if layout.quoted:
        yield _labelled(_triples_of(*_read_delimited(path, layout, how.skip_bad), notes))
    elif not layout.delimiter:
        for rows in _parquet_parts(path, layout):
            yield _triples_of(_of_parquet(path, rows, layout, done), [], notes)
            how.progress(f"reading {path.name}", done := done + rows.num_rows, None)
            notes = []
    else:
        with open_packed(path) as source:
            while block := _block(path, source):
                table, skipped = _read_delimited(path, layout, how.skip_bad, block, before)
                yield _triples_of(table, skipped, notes)
                how.progress(f"reading {path.name}", done := done + table.num_rows, None)
                before, layout, notes = before + block.count(b"\n"), replace(layout, header=False), []


def _triples_of(table: pa.Table, skipped: list[BadLine], notes: list[str]) -> RawGraph:
    """A graph from columns of strings: head, relation, tail, perhaps datatype; every other one is an edge property."""
    columns = {name: dictionary(table[name]) for name in (*TRIPLE_COLUMNS, "datatype") if name in table.column_names}
    others = [name for name in table.column_names if name not in columns]
    return RawGraph(
        heads=columns["head"],
        relations=columns["relation"],
        tails=columns["tail"],
        datatypes=_given_datatypes(columns.get("datatype")),
        edge_properties=pa.concat_tables(
            [EDGE_PROPERTY_SCHEMA.empty_table(), *(_properties(name, table[name]) for name in others)]
        ),
        skipped=skipped,
        notes=notes,
    )


def _given_datatypes(column: pa.DictionaryArray | None) -> pa.DictionaryArray | None:
    """A column of datatypes, null where the cell is empty: that tail is an entity."""
    if column is None:
        return None
    kinds = column.cast(pa.string())
    return pc.if_else(pc.equal(kinds, ""), pa.scalar(None, pa.string()), kinds).dictionary_encode()


def _properties(name: str, column: pa.ChunkedArray) -> pa.Table:
    """One column as properties of the edges of its rows; empty cells are none."""
    values = pa.concat_arrays(column.cast(pa.string()).chunks) if column.num_chunks else pa.array([], pa.string())
    at = np.flatnonzero(pc.fill_null(pc.not_equal(pc.utf8_trim_whitespace(values), ""), False).to_numpy(False))
    kept = values.take(pa.array(at))
    kinds = [UNKNOWN] * len(at)
    columns = [pa.array(at, pa.int64()), pa.array([name] * len(at), pa.string()), kept, pa.array(kinds, pa.string())]
    return pa.table(columns, schema=EDGE_PROPERTY_SCHEMA)


def read_columns(path: Path, *, skip_bad: bool = False) -> tuple[list[tuple[str, list[str]]], list[BadLine]]:
    """All columns of a delimited file with a header, and the skipped lines."""
    first = first_fields(path)
    layout = _Layout(*dialect(path), {f"{at}": at for at in range(len(first))}, len(first), True, ())
    table, skipped = _read_delimited(path, layout, skip_bad)
    return [(name.strip(), table[f"{at}"].to_pylist()) for at, name in enumerate(first)], skipped


def read_entities(source: object, how: ReadOptions = DEFAULTS) -> tuple[pa.Table, list[BadLine]]:
    """Rows of `ENTITY_SCHEMA` from a file with a header or a data frame, and the skipped lines.

    Columns: id, label, description, aliases and type (several separated by `|`). Only `id` is required, and other
    columns are ignored.

    Raises:
        ReadError: the file cannot be read, or has no ids.
        UserError: something else.
    """
    return _described(source, how, "entities", ENTITY_SCHEMA)


def read_relations(source: object, how: ReadOptions = DEFAULTS) -> tuple[pa.Table, list[BadLine]]:
    """Rows of `RELATION_SCHEMA`, as `read_entities`. Columns: id, label, description, aliases, domain and range."""
    return _described(source, how, "relations", RELATION_SCHEMA)


# --- one file ------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Layout:
    """Layout of a table: its columns by position, and which must not be empty."""

    delimiter: str  # "" for Parquet
    quoted: bool
    columns: dict[str, int]
    width: int  # fields per line
    header: bool
    required: tuple[str, ...]


def _wanted(given: Mapping[str, str]) -> dict[str, str] | None:
    """The columns that a mapping names; None if it names none of head, relation and tail."""
    if not any(given.get(name) for name in TRIPLE_COLUMNS):
        return None
    return {name: given.get(name, name) for name in TRIPLE_COLUMNS} | {n: given[n] for n in ("datatype",) if n in given}


def _first(path: Path) -> tuple[list[str], tuple[str, bool]]:
    """The first line of a table, or the names of the columns of a Parquet file; and its delimiter and quoting."""
    if not path.is_file():
        raise ReadError(path, None, "no such file")
    return (parquet_columns(path), ("", False)) if _is_parquet(path) else (first_fields(path), dialect(path))


def _is_parquet(path: Path) -> bool:
    return suffix(path) == ".parquet"


def _planned(path: Path, how: ReadOptions) -> tuple[_Layout, list[str]]:
    """The layout of a file of triples, and what is not sure."""
    wanted, header = _wanted(how.mapping), how.header
    first, form = _first(path)
    is_parquet, notes = _is_parquet(path), []
    if wanted is not None:
        places = _positions(path, first, wanted)
        has_header = True
    else:
        usual = {} if header is False else _usual_columns(path, first)
        has_header = is_parquet or (bool(usual) if header is None else header)
        positions = {name: i for i, name in enumerate(TRIPLE_COLUMNS)}
        if is_parquet and not usual:
            usual = _positions(path, first, {name: name for name in TRIPLE_COLUMNS})
        places = usual if usual and has_header else positions
        if has_header and "datatype" in first:
            places["datatype"] = first.index("datatype")
        if first and len(first) < 3:
            raise ReadError(path, 1, f"{delimiter_hint(path, len(first))}head, relation and tail are required")
        if not has_header and header is None and (odd := odd_first_line(path)):
            has_header = names_a_relation(odd)
            what, other, way = ("header", "a triple", "no-") if has_header else ("triple", "a header", "")
            notes.append(
                f"{path}: the first line ({' '.join(odd[:3])}) was read as a {what}; its cells occur in no other line; "
                f"if it is {other}, say so (--{way}header, or header={not has_header})"
            )
    if how.properties:
        places |= _property_places(path, first if has_header else [], places, how.properties)
    return _Layout(*form, places, len(first) if first else 3, has_header, TRIPLE_COLUMNS), notes


def _usual_columns(path: Path, first: Sequence[str]) -> dict[str, int]:
    """Places of head, relation and tail if all have usual names, else {}.

    Raises:
        ReadError: head and tail have usual names, and no column is a relation.
    """
    usual = usual_columns(first)
    begins = [name.strip().lower() for name in first[:2]]
    if "head" not in usual and begins in (["id", "label"], ["id", "name"]):
        raise ReadError(path, 1, f"a header of entities ({', '.join(first)}), not of triples: give it as --entities")
    if usual.keys() == {"head", "tail"}:
        names = ", ".join(first)
        way = f"name one: --map relation=COLUMN, or read a wide table: --wide {path}"
        raise ReadError(path, 1, f"a header without a column of relations ({names}); {way}")
    return usual if len(usual) == len(TRIPLE_COLUMNS) else {}


def _property_places(
    path: Path, header: Sequence[str], places: Mapping[str, int], properties: Sequence[str]
) -> dict[str, int]:
    if not header:
        raise ReadError(path, 1, "edge properties are named by a header, and the file has none")
    names = list(properties)
    if names == ["*"]:
        names = [name for at, name in enumerate(header) if at not in places.values()]
    return _positions(path, header, {name: name for name in names})


def _described(source: object, how: ReadOptions, what: str, schema: pa.Schema) -> tuple[pa.Table, list[BadLine]]:
    names = {name: "type" if name == "types" else name for name in schema.names}
    table, skipped = (
        _descriptions(Path(source), how, names.values())
        if isinstance(source, str | Path)
        else (table_of(source, what), [])
    )
    columns = {
        field.name: (_split if pa.types.is_list(field.type) else _text)(table, names[field.name]) for field in schema
    }
    return pa.table(columns | {"id": table["id"]}).cast(schema), skipped


def _descriptions(path: Path, how: ReadOptions, names: Iterable[str]) -> tuple[pa.Table, list[BadLine]]:
    """Those of some columns that a file has; `id`, and those that the mapping names, must be there."""
    first, form = _first(path)
    wanted = {k: v for k in names if (v := how.mapping.get(k, k)) in first or k == "id" or v != k}
    layout = _Layout(*form, _positions(path, first, wanted), len(first), True, ("id",))
    return _read_table(path, layout, how.skip_bad)


def _block(path: Path, source: IO[bytes]) -> bytes:
    """The next lines of a file, about `_PART_BYTES`; nothing at its end."""
    with reading(path):
        return source.read(_PART_BYTES) + source.readline()


def _positions(path: Path, header: Sequence[str], wanted: Mapping[str, str]) -> dict[str, int]:
    missing = [column for column in wanted.values() if column not in header]
    if missing:
        names = ", ".join(header) or "nothing"
        raise ReadError(path, 1, f"no column {', '.join(map(repr, missing))} in the header (it has: {names})")
    return {name: list(header).index(column) for name, column in wanted.items()}


def _read_delimited(
    path: Path, layout: _Layout, skip_bad: bool, block: bytes | None = None, before: int = 0
) -> tuple[pa.Table, list[BadLine]]:
    """The records of a file, or of a block of it that follows some lines."""
    with reading(path), contextlib.suppress(pa.ArrowInvalid):
        with pa.input_stream(str(path), compression="detect") if block is None else pa.BufferReader(block) as source:
            table = _parse(source, layout)
        if table is not None and not (layout.quoted and _runs_on(table)):
            return table, []
    # A line is malformed: find out which and why.
    good, records, skipped = io.BytesIO(), 0, list[BadLine]()
    with reading(path), open_packed(path) if block is None else io.BytesIO(block) as lines:
        for number, line, reason in _scan(lines, layout):
            if reason is None:
                good.write(line)
                records += 1
            else:
                bad_line(skipped if skip_bad else None, path, before + number, reason)
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

    names = [f"f{i}" for i in range(layout.width)]
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
    columns = {name: dictionary(table[f"f{i}"]) for name, i in layout.columns.items()}
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


def _scan(source: IO[bytes], layout: _Layout) -> Iterator[tuple[int, bytes, str | None]]:
    """Each record with its first line number and its fault (None if it is valid)."""
    records = _quoted_records(source, layout.delimiter) if layout.quoted else enumerate(source, 1)
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
    if layout.quoted and _leaves_open(line, False, layout.delimiter):
        return "a quote is never closed"
    fields = text.split(layout.delimiter)
    if layout.quoted:
        fields = next(csv.reader(io.StringIO(text, newline=""), delimiter=layout.delimiter))
    if len(fields) != layout.width:
        return f"{len(fields)} fields, {layout.width} expected"
    if "\x00" in text:
        return "contains a NUL character"
    empty = [name for name in layout.required if not fields[layout.columns[name]].strip()]
    return f"empty {', '.join(empty)}" if empty else None


def _quoted_records(source: IO[bytes], delimiter: str) -> Iterator[tuple[int, bytes]]:
    """Records of a CSV file; quoted fields may span several lines."""
    start, held, is_open = 1, io.BytesIO(), False
    for number, line in enumerate(source, 1):
        held.write(line)
        is_open = _leaves_open(line, is_open, delimiter)
        if not is_open:
            yield start, held.getvalue()
            start, held = number + 1, io.BytesIO()
    if is_open:
        yield start, held.getvalue()


def _leaves_open(text: bytes, is_open: bool, delimiter: str) -> bool:
    """Whether a quoted field is open after a text; `is_open` is the state before it."""
    if is_open:
        rest = _QUOTED_REST.match(text)
        if rest is None or not rest[1]:
            return True
        text = text[rest.end() :]
    return any(not field[1] for field in _QUOTED[delimiter].finditer(text))


def parquet_columns(path: Path) -> list[str]:
    """The names of the columns of a Parquet file.

    Raises:
        ReadError: it cannot be read.
    """
    with readable_parquet(path):
        names: list[str] = pq.read_schema(path).names
    return names


@contextlib.contextmanager
def readable_parquet(path: Path) -> Iterator[None]:
    """Errors of a file that is no Parquet as a `ReadError`."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise ReadError(path, None, f"not a readable Parquet file: {error}") from error


def _read_table(path: Path, layout: _Layout, skip_bad: bool) -> tuple[pa.Table, list[BadLine]]:
    if layout.delimiter:
        return _read_delimited(path, layout, skip_bad)
    with readable_parquet(path):
        table = pq.read_table(path, columns=[*_names(path, layout).values()])
    return _of_parquet(path, table, layout), []


def _parquet_parts(path: Path, layout: _Layout) -> Iterator[pa.Table]:
    with readable_parquet(path):
        for rows in pq.ParquetFile(path).iter_batches(_PART_ROWS, columns=[*_names(path, layout).values()]):
            yield pa.Table.from_batches([rows])


def _names(path: Path, layout: _Layout) -> dict[str, str]:
    """The columns of a Parquet file by their names here."""
    names = parquet_columns(path)
    return {name: names[at] for name, at in layout.columns.items()}


def _of_parquet(path: Path, table: pa.Table, layout: _Layout, before: int = 0) -> pa.Table:
    """Columns of a Parquet file as text; `before` rows precede them."""
    with readable_parquet(path):
        table.validate(full=True)
    columns = {}
    for name, column in _names(path, layout).items():
        values = table[column]
        if pa.types.is_list(values.type):
            values = pa.chunked_array([pa.array([_LIST_SEPARATOR.join(v or ()) for v in values.to_pylist()])])
        try:
            values = values.cast(pa.string())
        except pa.ArrowException as error:
            raise ReadError(path, None, f"the column {column!r} is {values.type}, not text") from error
        if name in layout.required and (values.null_count or pc.any(pc.equal(values, "")).as_py()):
            row = next(i for i, v in enumerate(values.to_pylist(), before + 1) if not v)
            raise ReadError(path, None, f"row {row} has no {column!r}")
        columns[name] = values if name == "datatype" else pc.fill_null(values, "")
    return pa.table(columns)


# --- labels --------------------------------------------------------------------------------------
_NAME_RELATIONS = ("label", "name", "full name", "title")  # the surest first
_CODE = re.compile(r"(?=\S*[\d_#:/])\S+")
_CODES, _DISTINCT = 0.9, 0.8  # least share of codes among the heads of such a relation, and of distinct tails


def _labelled(raw: RawGraph) -> RawGraph:
    """A graph in which the names that a relation gives to codes are their labels: `P1`, `name`, `Anna Lindqvist`.

    Questions name things by their names, not by their codes. Edges with properties stay as they are.
    """
    if raw.edge_properties.num_rows:
        return raw
    spelt = {normalize(relation_label(id.as_py())): at for at, id in enumerate(raw.relations.dictionary)}
    numbers = raw.relations.indices.to_numpy(zero_copy_only=False)
    for name in _NAME_RELATIONS:
        own = numbers == spelt.get(name, -1)
        heads, tails = (column.filter(pa.array(own)).to_pylist() for column in (raw.heads, raw.tails))
        codes = sum(_CODE.fullmatch(head) is not None for head in heads)
        has_one_each = len(set(heads)) == len(heads) and len(set(tails)) >= _DISTINCT * len(tails)
        if heads and has_one_each and codes >= _CODES * len(heads):
            labels = pa.table({"id": heads, "label": tails})
            return replace(
                filtered(raw, ~own),
                entities=pa.concat_tables([raw.entities, labels], promote_options="default"),
                read=raw.statements,
                described=raw.described + len(heads),
            )
    return raw


# --- columns -------------------------------------------------------------------------------------
def dictionary(column: pa.ChunkedArray) -> pa.DictionaryArray:
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
