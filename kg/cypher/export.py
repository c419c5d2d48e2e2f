"""A graph as a property graph in a database of Ladybug."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from triplecheck.kg._atomic import replaced_file
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.cypher.dialects import quoted
from triplecheck.kg.cypher.schema import TYPES, ladybug_name
from triplecheck.kg.cypher.values import natives
from triplecheck.kg.errors import StorageError, UserError, extra
from triplecheck.kg.export import to_raw
from triplecheck.kg.types import XSD

_NODES = "Entity"
_FIXED = {"id": "STRING PRIMARY KEY", "name": "STRING", "description": "STRING", "aliases": "STRING[]"}
_FIXED |= {TYPES: "STRING[]"}
_COLUMNS: dict[str, tuple[str, pa.DataType]] = {
    "integer": ("INT64", pa.int64()),
    "double": ("DOUBLE", pa.float64()),
    "boolean": ("BOOL", pa.bool_()),
    "date": ("DATE", pa.date32()),
    "decimal": ("DECIMAL(38, 12)", pa.decimal128(38, 12)),
    "string": ("STRING", pa.string()),
}

Values = Mapping[int, list[tuple[str, str]]]
"""(lexical form, datatype) of the values in each row."""


def export_ladybug(graph: ColumnarGraph, out: Path) -> int:
    """Write a graph into a new database of Ladybug.

    The nodes are in one table, with the properties `id`, `name`, `description`, `aliases` and `types`; each relation is
    a table of relationships, or a property where it leads to values. Ladybug has no names with a dot: such a relation
    has its local name there (`studentOf`). Values of other datatypes than Ladybug's are numbers or strings: a table of
    relations with declared ranges (`export_relations`) gives them their datatypes back.

    Returns:
        The number of statements.

    Raises:
        MissingExtraError: Ladybug is not installed.
        UserError: the graph has something that a property graph cannot hold.
        StorageError: the disk is full or cannot be written.
    """
    with extra("cypher", "A Ladybug database"):
        import ladybug
    raw = to_raw(graph)
    assert raw.tails is not None and raw.datatypes is not None
    entities = raw.entities.to_pylist()
    at = {row["id"]: number for number, row in enumerate(entities)}
    names = _names(raw.relations.dictionary.to_pylist(), out)
    about_edges: dict[int, list[tuple[str, str, str]]] = defaultdict(list)
    for row in raw.edge_properties.to_pylist():
        about_edges[row["edge"]].append((row["name"], row["value"], row["datatype"] or XSD + "string"))
    values: dict[str, dict[int, list[tuple[str, str]]]] = defaultdict(lambda: defaultdict(list))
    ends: dict[str, list[tuple[str, str]]] = defaultdict(list)
    about: dict[str, dict[str, dict[int, list[tuple[str, str]]]]] = defaultdict(lambda: defaultdict(dict))
    columns = (column.to_pylist() for column in (raw.heads, raw.relations, raw.tails, raw.datatypes))
    for number, (head, id, tail, datatype) in enumerate(zip(*columns, strict=True)):
        relation = names[id]
        if datatype is None:
            for name, value, kind in about_edges.get(number, ()):
                about[relation][name].setdefault(len(ends[relation]), []).append((value, kind))
            ends[relation].append((head, tail))
        elif number in about_edges:
            raise UserError(
                f"{out}: the edge {head} {id} {tail!r} leads to a value and has properties, which a property graph "
                "cannot hold; export to .nt"
            )
        else:
            values[relation][at[head]].append((tail, datatype))
    if wrong := [name for name in values if name.casefold() in _FIXED]:
        raise UserError(f"{out}: the relation {wrong[0]!r} to values is what describes a node there; export to .nt")
    table = next(name for name in (_NODES + "_" * more for more in range(len(ends) + 1)) if not _in(name, ends))
    nodes = [row | {"name": row["label"] or graph.label(number)} for number, row in enumerate(entities)]
    with replaced_file(out) as draft:
        try:
            with ladybug.Database(draft) as database, ladybug.Connection(database) as connection:
                _write_nodes(connection, table, nodes, values)
                for relation, rows in ends.items():
                    _write_relationships(connection, table, relation, rows, about[relation])
                connection.execute("CHECKPOINT")
        except RuntimeError as error:
            raise StorageError(f"{out}: Ladybug cannot write it: {' '.join(str(error).split())[:300]}") from error
    return len(raw)


def _in(name: str, names: Iterable[str]) -> bool:
    return name.casefold() in {other.casefold() for other in names}


def _names(relations: Iterable[str], out: Path) -> dict[str, str]:
    """The names of relations in Ladybug, which does not tell capitals apart."""
    names = {relation: ladybug_name(relation) for relation in relations}
    known: dict[str, str] = {}
    for relation, name in names.items():
        other = known.setdefault(name.casefold(), relation)
        if other != relation:
            raise UserError(f"{out}: the relations {other} and {relation} would both be {name!r} there; export to .nt")
    return names


def _write_nodes(connection: Any, table: str, nodes: list[dict[str, Any]], values: Mapping[str, Values]) -> None:
    columns = dict(_FIXED)
    arrays: dict[str, pa.Array] = {}
    for name, kind in _FIXED.items():
        many = kind.endswith("[]")
        cells = [row[name] if many else row[name] or None for row in nodes]
        arrays[name] = pa.array(cells, pa.list_(pa.string()) if many else pa.string())
    for name, of_rows in sorted(values.items()):
        columns[name], arrays[name] = _column(of_rows, len(nodes))
    defined = ", ".join(f"{quoted(name)} {kind}" for name, kind in columns.items())
    connection.execute(f"CREATE NODE TABLE {quoted(table)}({defined})")
    _load(connection, f"COPY {quoted(table)} FROM rows", pa.table(arrays))


def _write_relationships(
    connection: Any, table: str, relation: str, ends: list[tuple[str, str]], about: Mapping[str, Values]
) -> None:
    defined = [f"FROM {quoted(table)} TO {quoted(table)}"]
    arrays = [pa.array(cells, pa.string()) for cells in zip(*ends, strict=True)]
    for name, values in sorted(about.items()):
        kind, column = _column(values, len(ends))
        arrays.append(column)
        defined.append(f"{quoted(name)} {kind}")
    connection.execute(f"CREATE REL TABLE {quoted(relation)}({', '.join(defined)})")
    rows = pa.table(arrays, [f"c{number}" for number in range(len(arrays))])
    if not (_in("from", about) or _in("to", about)):
        _load(connection, f"COPY {quoted(relation)} FROM rows", rows)
        return
    # COPY would take the ends for properties of these names.
    given = ", ".join(f"{quoted(name)}: c{number}" for number, name in enumerate(sorted(about), 2))
    match = f"MATCH (a:{quoted(table)} {{id: c0}}) MATCH (b:{quoted(table)} {{id: c1}})"
    _load(connection, f"LOAD FROM rows {match} CREATE (a)-[:{quoted(relation)} {{{given}}}]->(b)", rows)


def _load(connection: Any, query: str, rows: pa.Table) -> None:
    """Run a query that reads the table `rows`, which Ladybug finds by the name of this variable."""
    connection.execute(query)


def _column(values: Values, rows: int) -> tuple[str, pa.Array]:
    """The type of a column in Ladybug, and its cells."""
    lexicals = {lexical for listed in values.values() for lexical, _ in listed}
    kind = _kind(lexicals, {datatype for listed in values.values() for _, datatype in listed})
    name, of_arrow = _COLUMNS[kind]
    read = {lexical: natives([lexical], kind)[0] for lexical in lexicals}
    many = any(len(listed) > 1 for listed in values.values())
    cells: list[Any] = [None] * rows
    for row, listed in values.items():
        cells[row] = [read[lexical] for lexical, _ in listed] if many else read[listed[0][0]]
    return name + ("[]" if many else ""), pa.array(cells, pa.list_(of_arrow) if many else of_arrow)


def _kind(lexicals: set[str], datatypes: set[str]) -> str:
    """The kind of a column that holds the lexical forms unchanged."""
    given = next(iter(datatypes)).removeprefix(XSD) if len(datatypes) == 1 else "string"
    wanted = given if given in _COLUMNS else "integer"  # such as years
    read = natives(lexicals, wanted)
    fits = len(read) == len(lexicals) and all(_fits(value) for value in read)
    return wanted if fits else "string"


def _fits(value: object) -> bool:
    """Whether a column of its kind can hold a value."""
    if isinstance(value, Decimal):
        exponent = value.as_tuple().exponent
        return isinstance(exponent, int) and exponent >= -12 and value.adjusted() < 26
    return not isinstance(value, dt.datetime)
