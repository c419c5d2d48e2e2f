"""Triples from Python: lists, data frames (pandas, polars, pyarrow and whatever exports Arrow) and networkx graphs."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from triplecheck.kg.errors import UserError
from triplecheck.kg.readers.columns import TRIPLE_COLUMNS, plain, usual_columns
from triplecheck.kg.readers.options import DEFAULTS, ReadOptions
from triplecheck.kg.readers.raw import ENTITY_SCHEMA, UNKNOWN, RawGraph, property_table
from triplecheck.kg.readers.shapes import holds_things, sample_of
from triplecheck.kg.readers.wide import WideTable, read_wide
from triplecheck.kg.types import XSD, Literal, Triple
from triplecheck.kg.values import HALF_A_CHARACTER

LINKED = "linked to"
"""The relation of an edge of a networkx graph that has no name."""
_KINDS = "a list of triples, a data frame (pandas, polars, pyarrow), a networkx or rdflib graph, or the path of a file"
# By Python type, most specific first.
_DATATYPES: tuple[tuple[type, str], ...] = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "double"),
    (Decimal, "decimal"),
    (dt.datetime, "dateTime"),
    (dt.date, "date"),
)
_LABELS, _DESCRIPTIONS = ("label", "name", "title", "labels"), ("description", "comment")
_OWN_NAMES = frozenset(("fullname", "displayname", "hostname"))
_MOST_DIGITS = 18  # of a number, as far as its form says; see `numbering.FORMS`
_NO_PROPERTIES = ("label", "id", "key")
_TYPES, _ALIASES = ("type", "types", "kind", "class"), ("alias", "aliases")


def is_frame(given: object) -> bool:
    """Whether something is a table of columns: it exports Arrow data, or is a pandas frame."""
    return hasattr(given, "__arrow_c_stream__") or type(given).__module__.startswith("pandas")


def is_network(given: object) -> bool:
    """Whether something is a networkx graph."""
    return all(hasattr(given, name) for name in ("nodes", "edges", "is_multigraph", "is_directed"))


def is_rdflib(given: object) -> bool:
    """Whether something is a graph of rdflib, which can write itself as N-Triples."""
    return type(given).__module__.startswith("rdflib") and hasattr(given, "serialize")


def read_memory(given: object, how: ReadOptions = DEFAULTS) -> RawGraph:
    """Triples that Python holds.

    In a data frame the columns are found by their usual names (`kg.readers.columns`); one of three columns with other
    names has head, relation and tail in this order, unless they are those of a wide table (`kg.readers.wide`), as any
    other number of columns are. Numbers, dates and booleans as tails are literals. Of a networkx
    graph, the attributes `label`, `type`, `description` and `aliases` describe a node, and every other one is an edge
    to a literal; the relation of an edge is its attribute of a usual name, or its key, or "linked to"; its other
    attributes are edge properties.

    Args:
        given: a list of triples (tuples, dicts or `Triple`s; a fourth item of a tuple is a dict of edge properties), a
            data frame, or a networkx graph.
        how: `mapping` and `edge_properties` of a data frame.

    Raises:
        UserError: something else, missing columns, or an empty cell.
    """
    try:
        if is_network(given):
            return read_network(given)
        columns: Mapping[str, Any] | None
        if is_frame(given):
            columns = _columns(given)
        elif isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
            raise UserError(f"{type(given).__name__} is no graph: give {_KINDS}")
        else:
            rows = [row.tolist() if isinstance(row, np.ndarray) else row for row in given]
            columns = _columns_of_dicts(rows)
            if columns is None:
                return _read_rows(rows)
        if is_wide(columns, how):
            cells = [(name, _listed(column)) for name, column in columns.items()]
            return read_wide([WideTable("", "the data frame", cells)])
        return graph_of_columns(columns, how)
    except UnicodeEncodeError as error:
        raise UserError(f"{error.object!a} contains {HALF_A_CHARACTER}") from None


def _columns_of_dicts(rows: Sequence[Any]) -> dict[str, list[Any]] | None:
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        return None
    names = dict.fromkeys(str(name) for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def table_of(given: object, what: str) -> pa.Table:
    """A data frame of entities or relations as a table of strings; lists become `a|b`.

    Raises:
        UserError: no data frame, or one without a column `id`.
    """
    if not is_frame(given):
        raise UserError(f"{what} must be a data frame or the path of a table, not {type(given).__name__}")
    columns = {name: [_joined(cell) for cell in _listed(values)] for name, values in _columns(given).items()}
    if "id" not in columns:
        raise UserError(f"{what} have no column 'id' (they have: {', '.join(columns) or 'none'})")
    return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})


def _joined(cell: Any) -> str | None:
    if isinstance(cell, list):
        return "|".join(map(str, cell))
    return None if cell is None or cell != cell else str(cell)


# --- data frames ---------------------------------------------------------------------------------
def _columns(frame: Any) -> dict[str, Any]:
    """The columns of a frame by name: Arrow arrays, or lists where pandas mixes types in one."""
    try:
        table = pa.table(frame) if hasattr(frame, "__arrow_c_stream__") else pa.Table.from_pandas(frame)
    except (pa.ArrowException, AttributeError, OverflowError, TypeError, ValueError):
        if not hasattr(frame, "columns"):
            raise UserError(f"{type(frame).__name__} is no graph: give {_KINDS}") from None
        return {str(name): _column(frame[name]) for name in frame.columns}
    return {str(name): table[name] for name in table.column_names if name != "__index_level_0__"}


def _column(series: Any) -> Any:
    """A column of pandas as an Arrow array, or a list where it has integers beyond 64 bits or several types."""
    try:
        return pa.chunked_array([pa.array(series, from_pandas=True)])
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return series.tolist()


def graph_of_columns(columns: Mapping[str, Any], how: ReadOptions) -> RawGraph:
    """Triples in columns; see `read_memory`."""
    names, mapping = list(columns), how.mapping
    usual = {name: names[at] for name, at in usual_columns(names).items()}
    if len(usual) < len(TRIPLE_COLUMNS) and len(names) == len(TRIPLE_COLUMNS) and not mapping:
        usual = dict(zip(TRIPLE_COLUMNS, names, strict=True))
    wanted = usual | {name: mapping[name] for name in TRIPLE_COLUMNS if name in mapping}
    lacking = [name for name in TRIPLE_COLUMNS if wanted.get(name) not in columns]
    if lacking:
        raise UserError(
            f"no column for {' and '.join(lacking)} (there are: {', '.join(names) or 'none'}); name it: --map "
            f"{lacking[0]}=COLUMN, or mapping={{{lacking[0]!r}: COLUMN}}"
        )
    heads, relations = (_strings(_cells(columns[wanted[name]], name)[0]) for name in ("head", "relation"))
    tails, datatypes = _cells(columns[wanted["tail"]], "tail")
    if _are_ids(columns[wanted["head"]], columns[wanted["tail"]]):
        datatypes = [UNKNOWN if len(text) <= _MOST_DIGITS else None for text in _listed(tails)]  # ids that are numbers
    given = mapping.get("datatype", "datatype")
    if given in columns:
        datatypes = [cell if isinstance(cell, str) and cell else None for cell in _listed(columns[given])]
    others = [name for name in names if name not in {*wanted.values(), given}]
    kept = others if list(how.properties) == ["*"] else how.properties
    unknown = [name for name in kept if name not in columns]
    if unknown:
        raise UserError(f"the data frame has no column {unknown[0]!r} (it has: {', '.join(names)})")
    rows = [
        (row, name, cell)
        for name in kept
        for row, cell in enumerate(_listed(columns[name]))
        if cell is not None and cell == cell and cell != ""
    ]
    return RawGraph(heads, relations, _strings(tails), _strings(datatypes), edge_properties=_property_table(rows))


def is_wide(columns: Mapping[str, Any], how: ReadOptions) -> bool:
    """Whether columns hold a thing in each row, not a triple. Three columns that may be either are triples."""
    names = list(columns)
    if how.of_triples or "head" in usual_columns(names):
        return False
    if len(names) != len(TRIPLE_COLUMNS):
        return len(names) > 1
    rows = sample_of({name: _listed(column) for name, column in columns.items()})
    return holds_things(names, rows, sure=True) is True


def columns_of(table: object) -> list[tuple[str, list[Any]]]:
    """The columns of a data frame, or of a list of dicts, as cells of Python."""
    if is_frame(table):
        return [(name, _listed(column)) for name, column in _columns(table).items()]
    rows = list(table) if isinstance(table, Iterable) and not isinstance(table, str | bytes | Mapping) else []
    columns = _columns_of_dicts(rows)
    if columns is None:
        raise UserError(f"a table is a data frame, a list of dicts or the path of a file, not {type(table).__name__}")
    return list(columns.items())


def _listed(column: Any) -> list[Any]:
    return column.to_pylist() if hasattr(column, "to_pylist") else list(column)


def _are_ids(heads: Any, tails: Any) -> bool:
    """Whether the values of a column of tails are of the kind of the heads: names, even if they are numbers."""
    if isinstance(heads, list) or isinstance(tails, list):
        return all(isinstance(cell, int | np.integer) for column in (heads, tails) for cell in _listed(column))
    return bool(heads.type == tails.type)


def _cells(column: Any, what: str) -> tuple[Any, list[str | None]]:
    """A column as texts, and the datatype of each cell, `UNKNOWN` for a text.

    Raises:
        UserError: an empty cell.
    """
    values = column if isinstance(column, list) else _plain(column)
    if isinstance(values, list):
        pairs = [_value(cell, what, row) for row, cell in enumerate(values, 1)]
        return [text for text, _ in pairs], [datatype for _, datatype in pairs]
    empty = pc.fill_null(pc.equal(pc.utf8_trim_whitespace(values), ""), True)
    if pc.any(empty).as_py():
        raise UserError(f"row {empty.to_pylist().index(True) + 1} has no {what}")
    return values, [_arrow_datatype(column.type)] * len(values)


def _plain(column: Any) -> Any:
    """An Arrow column as strings; Python values where a cast does not say the same."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if _arrow_datatype(column.type) is None:
        return column.to_pylist()
    return column.cast(pa.string()).combine_chunks()


def _arrow_datatype(kind: Any) -> str | None:
    types = pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return UNKNOWN
    if types.is_integer(kind):
        return XSD + "integer"
    if types.is_date(kind):
        return XSD + "date"
    return XSD + "boolean" if types.is_boolean(kind) else None


def _value(cell: object, what: str, row: int) -> tuple[str, str | None]:
    """A cell as text, and its datatype."""
    if isinstance(cell, np.generic):
        cell = cell.item()
    if isinstance(cell, Literal):
        return cell.lexical, cell.datatype
    if isinstance(cell, _Node):
        return str(cell), None
    if isinstance(cell, str):
        if not cell.strip():
            raise UserError(f"row {row} has no {what}")
        return cell, UNKNOWN
    if cell is None or cell != cell:
        raise UserError(f"row {row} has no {what}")
    for kind, name in _DATATYPES:
        if isinstance(cell, kind):
            if isinstance(cell, dt.date):
                return cell.isoformat(), XSD + name
            return str(cell).lower() if kind is bool else str(cell), XSD + name
    raise UserError(f"row {row}: the {what} is {type(cell).__name__}; give text, a number, a date or a Literal")


def _strings(texts: Any) -> pa.DictionaryArray:
    return (pa.array(texts, pa.string()) if isinstance(texts, list) else texts.cast(pa.string())).dictionary_encode()


def _property_table(rows: Iterable[tuple[int, str, object]]) -> pa.Table:
    """(row of the edge, name, value) as a table."""
    return property_table([(edge, name, *_value(value, name, edge + 1)) for edge, name, value in rows])


# --- lists ---------------------------------------------------------------------------------------
def _read_rows(rows: Sequence[Any]) -> RawGraph:
    triples: list[tuple[Any, ...]] = []
    for number, row in enumerate(rows, 1):
        if isinstance(row, Triple):
            triples.append((row.head, row.relation, row.tail))
        elif isinstance(row, Sequence) and not isinstance(row, str | bytes) and len(row) in (3, 4):
            triples.append(tuple(row))
        else:
            hint = f"; to read a file give its path as a Path: Path({row!r})" if isinstance(row, str) else ""
            raise UserError(f"item {number} is no triple (head, relation, tail): {row!r}{hint}")
    return _from_triples(triples)


def _from_triples(triples: Sequence[tuple[Any, ...]], entities: pa.Table | None = None) -> RawGraph:
    heads = [_value(t[0], "head", row)[0] for row, t in enumerate(triples, 1)]
    relations = [_value(t[1], "relation", row)[0] for row, t in enumerate(triples, 1)]
    tails = [_value(t[2], "tail", row) for row, t in enumerate(triples, 1)]
    ids = {text for t, text in zip(triples, heads, strict=True) if isinstance(t[0], int)}
    tails = [(text, None if text in ids else datatype) for text, datatype in tails]  # ids that are numbers
    about = [(row, str(name), value) for row, t in enumerate(triples) for name, value in _pairs(*t[3:])]
    return RawGraph(
        _strings(heads),
        _strings(relations),
        _strings([text for text, _ in tails]),
        _strings([datatype for _, datatype in tails]),
        edge_properties=_property_table(about),
        entities=ENTITY_SCHEMA.empty_table() if entities is None else entities,
    )


def _pairs(about: Mapping[Any, Any] | Sequence[tuple[str, Any]] = ()) -> Iterable[tuple[Any, Any]]:
    return about.items() if isinstance(about, Mapping) else about


# --- networkx ------------------------------------------------------------------------------------
def read_network(network: Any) -> RawGraph:
    """A networkx graph as triples; see `read_memory`."""
    triples: list[tuple[Any, ...]] = []
    others = Counter[str]()
    described = []
    for node, about in network.nodes(data=True):
        if isinstance(node, Literal):
            continue
        row, used = _description(about)
        described.append({"id": str(node), **row})
        values, rest = _values_of({name: value for name, value in about.items() if name not in used})
        triples += [(str(node), name, value) for name, value in values]
        others.update(rest)
    edges = network.edges(keys=True, data=True) if network.is_multigraph() else network.edges(data=True)
    for edge in edges:
        head, tail, about = edge[0], edge[1], dict(edge[-1])
        name = relation_of(about, edge[2] if len(edge) == 4 else None)
        values, rest = _values_of({name: value for name, value in about.items() if name not in _NO_PROPERTIES})
        triples.append((str(head), name, tail if isinstance(tail, Literal) else _Node(tail), values))
        others.update(rest)
    raw = _from_triples(triples, pa.Table.from_pylist(described, ENTITY_SCHEMA))
    if others:
        raw.left_out = {f"attributes {name!r} that are no values": count for name, count in others.items()}
        raw.read = len(raw) + raw.edge_properties.num_rows + others.total()
    return raw


def _values_of(about: Mapping[Any, Any]) -> tuple[list[tuple[str, Any]], list[str]]:
    """The values of attributes, each of a list by itself; and the names of attributes that are no values."""
    values, others = [], []
    for name, value in about.items():
        if isinstance(value, np.ndarray):
            value = value.tolist()
        for one in value if isinstance(value, list | tuple | set | frozenset) else [value]:
            if _is_scalar(one):
                values.append((str(name), one))
            elif one is not None and one == one and one != "":
                others.append(str(name))
    return values, others


class _Node(str):
    """The id of a node, which is never a literal."""


def relation_of(about: dict[str, Any], key: object) -> str:
    """The relation of an edge; the attribute that names it is taken out."""
    named = usual_columns([*about]).get("relation")
    if named is not None:
        name = about.pop([*about][named])
        if isinstance(name, str) and name.strip():
            return name
    return key if isinstance(key, str) and key.strip() else LINKED


def _description(about: Mapping[str, Any]) -> tuple[dict[str, Any], set[str]]:
    """The row of a node, and the attributes that it is made of."""
    row: dict[str, Any] = {}
    used: set[str] = set()
    for column, attributes in (("label", _names(about)), ("description", iter(_DESCRIPTIONS))):
        at = next((name for name in attributes if isinstance(about.get(name), str) and about[name]), None)
        if at is not None:
            row[column] = about[at]
            used.add(at)
    for column, names in (("types", _TYPES), ("aliases", _ALIASES)):
        values = next((about[name] for name in names if about.get(name)), None)
        if isinstance(values, str) or (isinstance(values, Sequence) and all(isinstance(v, str) for v in values)):
            row[column] = values.split("|") if isinstance(values, str) else list(values)
            used |= {name for name in names if name in about}
    return row, used


def _names(about: Mapping[str, Any]) -> Iterator[str]:
    """The attributes that may be the label of a node, surest first: `name`, `hostname`, `productName` of a Product."""
    yield from _LABELS
    kinds = [about.get("types"), about.get("type")]
    classes = {plain(str(one)) for kind in kinds for one in (kind if isinstance(kind, list) else [kind]) if one}
    own = _OWN_NAMES | {f"{one}name" for one in classes}
    yield from (name for name in about if plain(name) in own)


def _is_scalar(value: object) -> bool:
    """Whether an attribute can be a literal."""
    if isinstance(value, np.generic):
        value = value.item()
    is_value = isinstance(value, str | Literal) or any(isinstance(value, kind) for kind, _ in _DATATYPES)
    return is_value and value == value and value != ""
