"""SQL queries as graphs, through SQLAlchemy and DuckDB."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from triplecheck.app.sources import SourceOptions
from triplecheck.kg import KnowledgeBase, build
from triplecheck.kg.errors import UserError
from triplecheck.kg.progress import no_progress
from triplecheck.kg.readers import ReadOptions, WideTable
from triplecheck.kg.readers.sql import read_sql, shown
from triplecheck.kg.types import XSD, Literal

pytest.importorskip("sqlalchemy")
duckdb = pytest.importorskip("duckdb")

TABLES = """
CREATE TABLE staff (name VARCHAR, department VARCHAR, born INTEGER, since DATE);
INSERT INTO staff VALUES ('Ada', 'Billing', 1975, '2019-01-01'), ('Ben', 'Billing', 1980, '2020-05-05'),
  ('Cy', NULL, NULL, NULL);
"""
WORKS = "SELECT name, 'works in' AS verb, department, since FROM staff"
COLUMNS = {"head": "name", "relation": "verb", "tail": "department"}
HOW = ReadOptions(mapping=COLUMNS)
BORN = "SELECT name AS head, 'born in' AS relation, born AS tail FROM staff"


@pytest.fixture(params=["duckdb", "sqlite"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "duckdb":
        with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
            connection.execute(TABLES)
        return str(tmp_path / "shop.duckdb")
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.executescript(TABLES)
    return f"sqlite:///{tmp_path / 'shop.db'}"


def test_rows_are_triples_and_rows_without_a_tail_are_left_out(database: str, tmp_path: Path) -> None:
    kb = build(read_sql(database, [WORKS], HOW), tmp_path / "kb", encoder=None)
    assert kb.graph.num_triples == 2
    ada, works, billing = kb.graph.find("Ada"), kb.graph.find_relation("works in"), kb.graph.find("Billing")
    assert None not in (ada, works, billing)
    assert kb.graph.contains(ada, works, billing)  # type: ignore[arg-type]


def test_colons_and_percent_signs_are_no_parameters(database: str, tmp_path: Path) -> None:
    query = "SELECT name AS head, ' :x 5%s' AS relation, born AS tail FROM staff WHERE name LIKE 'A%'"
    kb = build(read_sql(database, [query]), tmp_path / "kb", encoder=None)
    assert kb.graph.find_relation(":x 5%s") is not None or kb.graph.find_relation(" :x 5%s") is not None


def test_numbers_are_literals(database: str, tmp_path: Path) -> None:
    kb = build(read_sql(database, [BORN]), tmp_path / "kb", encoder=None)
    assert kb.graph.find(Literal("1975", XSD + "integer")) is not None


def test_columns_may_be_properties_of_edges(database: str, tmp_path: Path) -> None:
    kb = build(read_sql(database, [WORKS], replace(HOW, edge_properties=["since"])), tmp_path / "kb", encoder=None)
    ada, works, billing = kb.graph.find("Ada"), kb.graph.find_relation("works in"), kb.graph.find("Billing")
    ((name, value),) = kb.graph.edge_properties(ada, works, billing)[0]  # type: ignore[arg-type]
    assert name == "since"
    assert "2019-01-01" in str(value)


def test_what_the_database_refuses_is_named(database: str) -> None:
    with pytest.raises(UserError, match=r"refuses the query.*nothing"):
        read_sql(database, ["SELECT * FROM nothing"])
    with pytest.raises(UserError, match="return no rows"):
        read_sql(database, [BORN + " WHERE 1 = 0"])


def test_a_query_cannot_write_a_duckdb_file(tmp_path: Path) -> None:
    path = tmp_path / "shop.duckdb"
    duckdb.connect(str(path)).close()
    with pytest.raises(UserError, match="refuses the query"):
        read_sql(str(path), ["CREATE TABLE t (a INTEGER)"])


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE staff",
        "-- a note\nDROP TABLE staff",
        "/* a */ (DROP TABLE staff",
        "PRAGMA user_version = 7",
        "",
        "--",
    ],
)
def test_a_statement_that_is_no_query_is_not_sent(statement: str, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.executescript(TABLES)
    with pytest.raises(UserError, match=r"is no query"):
        read_sql(f"sqlite:///{tmp_path / 'shop.db'}", [statement])
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        assert connection.execute("SELECT count(*) FROM staff").fetchone() == (3,)


def test_a_query_that_begins_harmlessly_cannot_write_a_sqlite_file(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.executescript(TABLES)
    with pytest.raises(UserError, match="refuses the query"):
        read_sql(f"sqlite:///{tmp_path / 'shop.db'}", ["WITH old AS (SELECT 1) DELETE FROM staff"])
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        assert connection.execute("SELECT count(*) FROM staff").fetchone() == (3,)


def test_rows_without_a_tail_are_counted_whatever_the_names_of_the_columns(database: str, tmp_path: Path) -> None:
    query = "SELECT name AS src, department AS dst, 'works in' AS rel, since FROM staff"
    kb = build(read_sql(database, [query]), tmp_path / "kb", encoder=None)
    assert kb.graph.num_triples == 2
    assert kb.manifest.report["read"] == 3
    assert kb.manifest.report["left_out"] == {"rows without a tail": 1}


@pytest.mark.parametrize("database", ["nothing.duckdb", "sqlite:///nothing.db", "shop", "duckdb:///nothing.duckdb"])
def test_a_database_that_is_not_there_is_refused(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"no such|neither"):
        read_sql(database, [BORN])
    assert list(tmp_path.iterdir()) == []


WIDE = """
CREATE TABLE teams (id INTEGER PRIMARY KEY, name VARCHAR, city VARCHAR);
INSERT INTO teams VALUES (1, 'Billing', 'Oslo'), (2, 'Search', 'Turin');
CREATE TABLE members (id INTEGER PRIMARY KEY, name VARCHAR, works_for INTEGER REFERENCES teams (id), pay DECIMAL(8, 2));
INSERT INTO members VALUES (1, 'Ada', 2, 12.50), (2, 'Ben', 1, NULL), (3, 'Cy', 2, 9);
"""


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_tables_are_wide_tables_with_the_keys_that_the_database_declares(engine: str, tmp_path: Path) -> None:
    if engine == "duckdb":
        database = str(tmp_path / "wide.duckdb")
        with duckdb.connect(database) as connection:
            connection.execute(WIDE)
    else:
        database = f"sqlite:///{tmp_path / 'wide.db'}"
        with sqlite3.connect(tmp_path / "wide.db") as connection:
            connection.executescript(WIDE)
    source = SourceOptions(database=database, sql=["members", "teams"])
    kb = build(source.graphs(None, no_progress), tmp_path / "kb", encoder=None)
    found = kb.to_pandas()
    assert found[found["relation"] == "works_for"][["head", "tail"]].to_numpy().tolist() == [
        ["members/1", "teams/2"],
        ["members/2", "teams/1"],
        ["members/3", "teams/2"],
    ]
    assert sorted(found[found["relation"] == "pay"]["tail"]) == ["12.5", "9"]
    (line, _) = kb.manifest.report["recognised"]
    assert ": members: a wide table of members (3 rows, key id, works_for → teams)" in line


def test_the_rows_of_a_query_may_be_a_wide_table(database: str, tmp_path: Path) -> None:
    (table,) = read_sql(database, ["SELECT * FROM staff"])
    assert isinstance(table, WideTable)
    assert (table.name, [name for name, _ in table.columns]) == ("staff", ["name", "department", "born", "since"])


def test_no_password_is_shown() -> None:
    assert shown("postgresql://me:s3cret@host/db") == "postgresql://me@host/db"


def test_a_base_is_built_by_the_command(database: str, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from triplecheck.app.main import app

    words = ["kb", "build", str(tmp_path / "kb"), "--database", database, "--sql", WORKS, "--no-vectors"]
    words += [word for name, column in COLUMNS.items() for word in ("--map", f"{name}={column}")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert KnowledgeBase.open(tmp_path / "kb").graph.num_triples == 2
    assert CliRunner().invoke(app, ["kb", "build", str(tmp_path / "b"), "--sql", WORKS]).exit_code != 0


def test_rows_are_added_to_a_base_replace_its_tails_and_are_removed(database: str, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from triplecheck.app.main import app

    base, file = str(tmp_path / "kb"), tmp_path / "first.tsv"
    file.write_text("Ada\tworks in\tSales\nEve\tworks in\tSales\n", encoding="utf-8")
    query = ("--database", database, "--sql", WORKS, *(w for n, c in COLUMNS.items() for w in ("--map", f"{n}={c}")))

    def departments(*words: str) -> dict[str, list[str]]:
        result = CliRunner().invoke(app, ["kb", *words])
        assert result.exit_code == 0, result.output
        graph = KnowledgeBase.open(base).graph
        works = graph.find_relation("works in")
        found: dict[str, list[str]] = {}
        for person in ("Ada", "Ben", "Eve"):
            for department in ("Billing", "Sales"):
                head, tail = graph.find(person), graph.find(department)
                if head is not None and tail is not None and graph.contains(head, works, tail):  # type: ignore[arg-type]
                    found.setdefault(person, []).append(department)
        return found

    departments("build", base, "--triples", str(file), "--no-vectors")
    assert departments("add", base, *query) == {"Ada": ["Billing", "Sales"], "Ben": ["Billing"], "Eve": ["Sales"]}
    assert departments("update", base, *query) == {"Ada": ["Billing"], "Ben": ["Billing"], "Eve": ["Sales"]}
    assert departments("remove", base, *query) == {"Eve": ["Sales"]}


def test_a_column_of_texts_and_numbers_says_what_to_do(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "sizes.db") as connection:
        connection.executescript(
            "CREATE TABLE t (head, relation, tail); INSERT INTO t VALUES ('Ada', 'size', 'tall'), ('Bo', 'size', 180);"
        )
    with pytest.raises(UserError, match="values of several kinds"):
        read_sql(f"sqlite:///{tmp_path / 'sizes.db'}", ["SELECT head, relation, tail FROM t"])
