"""Triples from SQL: the rows of a query to any database that SQLAlchemy or DuckDB opens."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from triplecheck.kg.errors import UnavailableError, UserError, extra
from triplecheck.kg.readers.columns import TRIPLE_COLUMNS, usual_columns
from triplecheck.kg.readers.frames import is_wide, read_memory
from triplecheck.kg.readers.options import DEFAULTS, ReadOptions
from triplecheck.kg.readers.raw import RawGraph
from triplecheck.kg.readers.wide import WideTable
from triplecheck.kg.redaction import redacted

_ROWS = 100_000  # of a part
_DUCKDB = re.compile(r"duckdb:/*(?P<path>/.*|[^/].*)?$")
_PASSWORD = re.compile(r"(://[^:/@]*):[^@/]*@")
_FIRST_WORD = re.compile(r"(?:\s|\(|--[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*(\w*)")
_NAME = re.compile(r"\w+(?:\.\w+)?")
_FROM = re.compile(r"\bfrom\s+(?:\w+\.)?[\"`]?(\w+)[\"`]?", re.IGNORECASE)
_READING = ("select", "with", "values", "table")
# What makes a connection refuse to write, by the dialect.
_READ_ONLY = {
    "sqlite": "PRAGMA query_only = ON",
    "mysql": "SET SESSION TRANSACTION READ ONLY",
    "mariadb": "SET SESSION TRANSACTION READ ONLY",
}


def read_sql(database: str, queries: Sequence[str], how: ReadOptions = DEFAULTS) -> list[RawGraph | WideTable]:
    """Triples, or wide tables, from the rows of SQL queries.

    Nothing is written to the database: only queries that begin with SELECT, WITH, VALUES or TABLE are sent, on a
    connection that is read-only where the database knows that (SQLite, DuckDB, PostgreSQL, MySQL, MariaDB), and nothing
    is committed.

    The columns are found as in a data frame (`frames.read_memory`): by their usual names, by `mapping`, or three in
    this order. Numbers, dates and booleans as tails are literals; rows without a tail are left out, and counted.

    Args:
        database: URL of SQLAlchemy (`postgresql://...`, `sqlite:///shop.db`), `duckdb:///shop.duckdb`, or the path
            of a DuckDB file.
        queries: SELECT statements, or names of tables that are wide.
        how: `mapping`, `edge_properties`, and `progress`, which is called as rows arrive.

    Raises:
        UserError: the database does not exist, it rejects a query, a query would write, or columns are missing.
        UnavailableError: the package for the database is not installed.
    """
    found: list[RawGraph | WideTable] = []
    rows = 0
    for query in queries:
        if _NAME.fullmatch(query.strip()):
            found.append(_whole_table(database, query.strip()))
            continue
        parts = read_tables(database, query)
        first = next(parts, None)
        if first is not None and is_wide(first.to_pydict(), how):
            name = match[1] if (match := _FROM.search(query)) else ""
            found.append(_wide(name, f"{shown(database)}: {query}", [first, *parts]))
            continue
        for table in () if first is None else itertools.chain([first], parts):
            how.progress("reading rows", rows := rows + table.num_rows, None)
            kept = _with_tails(table, how.mapping)
            if kept.num_rows:
                graph = read_memory(kept, how)
                empty = table.num_rows - kept.num_rows
                found.append(
                    replace(graph, read=table.num_rows, left_out={"rows without a tail": empty} if empty else {})
                )
    if not found:
        raise UserError(f"{shown(database)}: the queries return no rows{' with a tail' if rows else ''}")
    return found


def _whole_table(database: str, name: str) -> WideTable:
    """A table of a database, with the keys that it declares."""
    quoted = ".".join(f'"{part}"' for part in name.split("."))
    if database.startswith(("mysql", "mariadb")):
        quoted = quoted.replace('"', "`")
    rows = read_tables(database, f"select * from {quoted}")  # nosec B608: letters and digits, in quotes
    found = _wide(name.rpartition(".")[2], f"{shown(database)}: {name}", rows)
    found.key, found.references = _declared(database, name)
    return found


def _wide(name: str, place: str, parts: Iterable[pa.Table]) -> WideTable:
    columns: dict[str, list[Any]] = {}
    for part in parts:
        for column, cells in part.to_pydict().items():
            columns.setdefault(column, []).extend(cells)
    return WideTable(name, place, list(columns.items()))


def _array(cells: list[Any]) -> pa.Array:
    """A column as an array; integers beyond 64 bits as decimals."""
    try:
        return pa.array(cells)
    except OverflowError:
        return pa.array([Decimal(cell) if isinstance(cell, int) else cell for cell in cells])


def _declared(database: str, name: str) -> tuple[str | None, dict[str, str]]:
    """The key of a table, if it is one column, and the tables that columns refer to."""
    if _duckdb_path(database) is not None:
        query = (
            "select constraint_type kind, constraint_column_names names, referenced_table other, table_name of "
            "from duckdb_constraints()"
        )
        of = name.rpartition(".")[2]
        found = [row for table in read_tables(database, query) for row in table.to_pylist()]
        found = [row for row in found if row["of"] == of and len(row["names"]) == 1]
        keys = [row["names"][0] for row in found if row["kind"] == "PRIMARY KEY"]
        return next(iter(keys), None), {row["names"][0]: row["other"] for row in found if row["kind"] == "FOREIGN KEY"}
    import sqlalchemy

    schema, _, table = name.rpartition(".")
    engine = sqlalchemy.create_engine(database)
    try:
        about = sqlalchemy.inspect(engine)
        keys = about.get_pk_constraint(table, schema or None)["constrained_columns"]
        foreign = about.get_foreign_keys(table, schema or None)
    except sqlalchemy.exc.SQLAlchemyError:
        return None, {}
    finally:
        engine.dispose()
    refers = {
        one["constrained_columns"][0]: one["referred_table"] for one in foreign if len(one["constrained_columns"]) == 1
    }
    return keys[0] if len(keys) == 1 else None, refers


def shown(database: str) -> str:
    """The URL without its password."""
    return redacted(_PASSWORD.sub(r"\1@", database))


def read_tables(database: str, query: str) -> Iterator[pa.Table]:
    """The rows of a query as tables of at most 100,000 rows.

    Raises:
        UserError: as `read_sql`.
        UnavailableError: as `read_sql`.
    """
    path = _duckdb_path(database)
    return _of_sqlalchemy(database, query) if path is None else _of_duckdb(path, query)


def _duckdb_path(database: str) -> str | None:
    """The path of a DuckDB database, None for another."""
    duckdb = _DUCKDB.match(database)
    if duckdb is not None:
        return duckdb["path"] or ":memory:"
    return database if Path(database).suffix in (".duckdb", ".ddb") else None


def _with_tails(table: pa.Table, mapping: Mapping[str, str]) -> pa.Table:
    """The rows whose tail is not NULL."""
    names, usual = table.column_names, usual_columns(table.column_names)
    name = mapping.get("tail") or (names[usual.get("tail", 2)] if len(names) >= len(TRIPLE_COLUMNS) else None)
    return table if name not in names else table.filter(table[name].is_valid())


def _of_duckdb(path: str, query: str) -> Iterator[pa.Table]:
    with extra("sql", "A DuckDB file"):
        import duckdb
    if path != ":memory:" and not Path(path).is_file():
        raise UserError(f"{path}: no such DuckDB file")
    try:
        with duckdb.connect(path, read_only=path != ":memory:") as connection:
            rows = connection.sql(query)
            for batch in () if rows is None else rows.to_arrow_reader(_ROWS):
                yield pa.Table.from_batches([batch])
    except duckdb.Error as error:
        raise UserError(f"{path}: DuckDB refuses the query: {error}") from error


def _of_sqlalchemy(url: str, query: str) -> Iterator[pa.Table]:
    with extra("sql", "A database"):
        import sqlalchemy
    try:
        engine = sqlalchemy.create_engine(url)
    except sqlalchemy.exc.ArgumentError:
        raise UserError(
            f"{shown(url)}: neither a DuckDB file nor a URL of SQLAlchemy, such as sqlite:///shop.db"
        ) from None
    except ImportError as error:
        raise UnavailableError(f"{shown(url)}: the driver is not installed ({error}); install it with pip") from error
    if engine.dialect.name == "sqlite" and engine.url.database and not Path(engine.url.database).is_file():
        raise UserError(f"{engine.url.database}: no such SQLite file")
    dialect = engine.dialect.name
    if (word := (_FIRST_WORD.match(query) or [""])[1]).lower() not in _READING:
        raise UserError(f"{shown(url)}: {word or 'nothing'!r} is no query; write SELECT ... (nothing is written here)")
    if dialect in _READ_ONLY:

        @sqlalchemy.event.listens_for(engine, "connect")
        def read_only(connection: Any, _record: object) -> None:
            cursor = connection.cursor()
            cursor.execute(_READ_ONLY[dialect])
            cursor.close()

    # The query goes to the driver as it is: a colon or a percent sign in it stands for no parameter.
    options = {"stream_results": True, "no_parameters": True}
    if dialect == "postgresql":
        options["postgresql_readonly"] = True
    try:
        with engine.connect().execution_options(**options) as connection:
            result = connection.exec_driver_sql(query)
            names = list(result.keys())
            for rows in result.partitions(_ROWS):
                columns: list[list[Any]] = [list(column) for column in zip(*rows, strict=True)]
                yield pa.table({name: _array(cells) for name, cells in zip(names, columns, strict=True)})
    except sqlalchemy.exc.SQLAlchemyError as error:
        raise UserError(f"{shown(url)}: the database refuses the query: {str(error).splitlines()[0]}") from error
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise UserError(
            f"{shown(url)}: a column has values of several kinds ({error}); cast it in the query"
        ) from error
    finally:
        engine.dispose()
