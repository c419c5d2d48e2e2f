"""The options of commands that read a graph from files, and what was read."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from triplecheck.app.console import printable, remark, stderr
from triplecheck.app.options import DocumentsOption, flagged

if TYPE_CHECKING:
    from triplecheck.kg.progress import ProgressCallback
    from triplecheck.kg.readers import BadLine, RawGraph, ReadOptions, TripleFiles
    from triplecheck.kg.readers.documents import DocumentFile

_BAD_LINES_SHOWN = 10


@dataclass(frozen=True, kw_only=True)
class SourceOptions:
    """Files of a graph, and how they are read."""

    triples: list[Path] | None = flagged(
        "--triples FILE...",
        "Files of triples: .tsv .txt .csv .parquet .nt .ttl .nq .trig .rdf .xml .owl .jsonld, and of property "
        "graphs: .graphml .gexf .jsonl .cyjs .json (also Wikidata's dump), Neo4j's CSV; also with .gz. Or wide "
        "tables, with a row per thing and a column per attribute (also .xlsx). The kind of a file is recognised. "
        "Several files after one flag, or the flag repeated.",
    )
    sql: list[str] | None = flagged(
        "--sql SELECT|TABLE", "Query to the --database, or the name of a wide table in it. Repeatable."
    )
    database: str | None = flagged(
        "--database URL", "Database of --sql: URL of SQLAlchemy, such as sqlite:///shop.db, or a DuckDB file."
    )
    entities: Path | None = flagged(
        "--entities FILE", "Table of entities with a header: id, label, description, aliases (by |), type (by |)."
    )
    relations: Path | None = flagged(
        "--relations FILE", "Table of relations with a header: id, label, description, aliases (by |), domain, range."
    )
    documents: DocumentsOption = None
    edge_properties: list[str] | None = flagged(
        "--edge-properties NAME...",
        "Further column to keep as a property of the edges, such as a start time; * for all. Repeatable.",
    )
    mapping: list[str] | None = flagged(
        "--map NAME=COLUMN...", "Columns of the files, such as head=customer. Repeatable."
    )
    header: bool | None = flagged("--header/--no-header", "Whether tables begin with a header. Default: by its names.")
    axioms: bool | None = flagged(
        "--axioms/--no-axioms",
        "Whether subclasses, domains, ranges and other axioms of RDF files are edges; with --no-axioms types have "
        "no superclasses either. Default: edges if the files are mostly about classes and properties, or if a "
        "knowledge base is changed that has such edges.",
    )
    language: str | None = flagged(
        "--language TAG",
        "Language of the labels, where RDF has several, and of the questions, such as de, or a spaCy pipeline. "
        "Default: en, or that of the knowledge base that is changed.",
    )
    wide: list[Path] | None = flagged(
        "--wide FILE...", "File to read as a wide table, where its first lines do not show it. Repeatable."
    )
    triples_of: list[Path] | None = flagged(
        "--triples-of FILE...", "File to read as triples, where its first lines do not show it. Repeatable."
    )
    key: list[str] | None = flagged(
        "--key COLUMN...",
        "Column of a wide table that names the rows; TABLE=COLUMN of one of several. Default: a column of ids or "
        "names whose values are all different.",
    )
    split: list[str] | None = flagged(
        "--split SEPARATOR",
        "What separates several values in a cell of a wide table, such as '; '; COLUMN=SEPARATOR for one column; none: "
        "nothing. Default: ; or | where half of the parts also stand in other cells, or ; between names.",
    )
    link: list[str] | None = flagged(
        "--link COLUMN=TABLE...",
        "Column of a wide table (or TABLE.COLUMN) that holds keys or names of the rows of another one. Default: "
        "where the values and the name of the column show it.",
    )
    classes: list[str] | None = flagged(
        "--class NAME...",
        "Class of the rows of a wide table; TABLE=NAME of one of several. Default: the name of the file, sheet or "
        "table.",
    )
    day_first: bool | None = flagged(
        "--day-first/--month-first", "Whether 03/04/2024 is in April. Default: as the other dates of its column say."
    )
    skip_bad: bool = flagged("--skip-bad", "Skip malformed lines, of Turtle statements, and list them.", default=False)
    strict: bool = flagged(
        "--strict",
        "Refuse IRIs and language tags in RDF files that RDF does not allow, and most parsers read.",
        default=False,
    )
    fetch_contexts: bool = flagged(
        "--fetch-contexts", "Read the contexts that JSON-LD files refer to, from network and disk.", default=False
    )

    @property
    def columns(self) -> Mapping[str, str]:
        """The columns that are named."""
        from triplecheck.kg.readers import parse_mapping

        return parse_mapping(self.mapping or ())

    @property
    def names(self) -> list[str]:
        """The database and the files, for the manifest."""
        from triplecheck.kg.readers.sql import shown

        files = (*self.files_of_triples, self.entities, self.relations, self.documents)
        return [
            *([] if self.database is None else [shown(self.database)]),
            *(str(path) for path in files if path is not None),
        ]

    @property
    def files_of_triples(self) -> list[Path]:
        """The files that hold triples or wide tables."""
        return list(dict.fromkeys([*(self.triples or ()), *(self.wide or ()), *(self.triples_of or ())]))

    def _how(self, header: bool | None, **others: Any) -> ReadOptions:
        from triplecheck.kg.readers import ReadOptions, TableOptions

        tables = TableOptions(
            wide=[str(path) for path in self.wide or ()],
            triples=[str(path) for path in self.triples_of or ()],
            key=self.key or (),
            split=self.split or (),
            links=self.link or (),
            classes=self.classes or (),
            day_first=self.day_first,
        )
        reading: dict[str, Any] = {"axioms": self.axioms, "language": (self.language or "en").partition("_")[0]}
        return ReadOptions(
            mapping=self.columns,
            header=header,
            edge_properties=self.edge_properties or (),
            tables=tables,
            skip_bad=self.skip_bad,
            strict=self.strict,
            fetch_contexts=self.fetch_contexts,
            **(reading | others),
        )

    @property
    def has_rows(self) -> bool:
        """Whether edges have properties, or come from a database."""
        return bool(self.sql or self.edge_properties)

    def check(self, what: str, *others: object) -> None:
        """Check that there is something to read.

        Args:
            others: what else the command reads.

        Raises:
            UserError: there is nothing, or a query without its database.
        """
        from triplecheck.kg.errors import UserError
        from triplecheck.language.pipeline import check_language

        if self.language is not None:
            check_language(self.language)
        if bool(self.sql) != (self.database is not None):
            raise UserError("--sql is a query to a --database; give both")
        if not (self.names or any(others)):
            raise UserError(f"nothing to {what}: name files, or a query with --sql and its --database")

    def asked_header(self) -> bool | None:
        """Whether tables begin with a header; on a terminal a person is asked where only a person can tell."""
        from triplecheck.kg.readers.columns import odd_first_line
        from triplecheck.kg.readers.shapes import file_holds_things
        from triplecheck.kg.readers.tables import DELIMITED_SUFFIXES, suffix

        named = {"head", "relation", "tail"} & self.columns.keys()
        if self.header is not None or named or not (sys.stdin.isatty() and stderr().is_terminal):
            return self.header
        for path in (*(self.triples or ()), *(self.triples_of or ())):
            odd = odd_first_line(path) if path.is_file() and suffix(path) in DELIMITED_SUFFIXES else None
            if odd is not None and file_holds_things(path, None) is False:
                line = printable(" | ".join(odd))
                return typer.confirm(f"{path}: the first line is {line}. Is it a header?", default=True, err=True)
        return None

    def graphs(
        self, header: bool | None, progress: ProgressCallback, reading: Mapping[str, Any] | None = None
    ) -> list[RawGraph]:
        """Read triples, the rows of queries, entities and relations.

        Args:
            header: what `asked_header` returned.
            progress: called at each step.
            reading: `axioms`, `language` and `first_blank` in place of the flags; see `kg.changes.reading`.
        """
        from triplecheck.kg.readers import read_graph
        from triplecheck.kg.readers.raw import nothing
        from triplecheck.kg.readers.sql import read_sql

        how = self._how(header, progress=progress, **(reading or {}))
        rows = read_sql(self.database, self.sql, how) if self.database is not None and self.sql else []
        return read_graph([*rows, *self.files_of_triples] or nothing(), self.entities, self.relations, how)

    def files(self, header: bool | None) -> TripleFiles:
        """The files, to be read part by part; `header` is what `asked_header` returned."""
        from triplecheck.kg.readers import TripleFiles

        return TripleFiles(self.files_of_triples, self.entities, self.relations, self._how(header))

    def texts(self) -> DocumentFile | None:
        """The documents, read on iteration."""
        from triplecheck.kg.readers.documents import DocumentFile

        return None if self.documents is None else DocumentFile(self.documents, self.columns, skip_bad=self.skip_bad)


def list_recognised(graphs: Iterable[RawGraph]) -> None:
    """Say of each table whether it was read as triples or as a wide table."""
    for line in (line for graph in graphs for line in graph.recognised):
        remark(line)


def list_skipped(graphs: Sequence[RawGraph | TripleFiles], texts: DocumentFile | None) -> None:
    """Show the lines that were skipped."""
    lines: list[BadLine] = [line for graph in graphs for line in graph.skipped]
    lines += [] if texts is None else texts.skipped
    for line in lines[:_BAD_LINES_SHOWN]:
        place = line.path if line.line is None else f"{line.path}:{line.line}"
        remark(f"skipped {place}: {line.reason}")
    if len(lines) > _BAD_LINES_SHOWN:
        remark(f"skipped {len(lines) - _BAD_LINES_SHOWN:,} more")
