"""`CypherClient`: answers Cypher queries. Here: the embedded engine Ladybug; over Bolt see `kg.cypher.bolt`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from triplecheck.kg.cypher.dialects import DIALECTS, Dialect
from triplecheck.kg.errors import KnowledgeBaseError, extra
from triplecheck.kg.sparql.client import Meter, QueryLimits, QueryRefusedError

Row = list[Any]


class CypherClient(Protocol):
    """Answers read-only queries. Thread-safe."""

    @property
    def name(self) -> str:
        """Name of the store in messages."""

    @property
    def dialect(self) -> Dialect:
        """The Cypher that it understands."""

    def rows(self, query: str, parameters: Mapping[str, Any] | None = None) -> list[Row]:
        """All rows of a query; values are only in the parameters.

        Raises:
            GraphUnavailableError: no reply, a late one, or too many rows.
            QueryRefusedError: the engine rejects the query.
        """

    def close(self) -> None:
        """Close connections."""


class LadybugClient:
    """Queries a database of Ladybug, the maintained fork of Kuzu, in process and read-only.

    Args:
        limits: limits of each query; bytes are not limited.

    Raises:
        MissingExtraError: the package is not installed.
        KnowledgeBaseError: there is no database that it can read.
    """

    dialect = DIALECTS["ladybug"]

    def __init__(self, path: Path, limits: QueryLimits | None = None) -> None:
        with extra("cypher", "A Ladybug database"):
            import ladybug
        self.name = f"ladybug:{path}"
        self._limits = limits or QueryLimits()
        if not path.exists():
            raise KnowledgeBaseError(f"{path}: no such Ladybug database")
        try:
            self._database = ladybug.Database(path, read_only=True)
        except (RuntimeError, OSError) as error:
            raise KnowledgeBaseError(f"{path}: not a Ladybug database that can be read ({_plain(error)})") from error
        self._connect: Callable[[Any], Any] = ladybug.Connection
        self._of_thread = threading.local()

    def rows(self, query: str, parameters: Mapping[str, Any] | None = None) -> list[Row]:
        meter = Meter(self.name, self._limits)
        connection = getattr(self._of_thread, "connection", None)
        if connection is None:
            connection = self._of_thread.connection = self._connect(self._database)
            connection.set_query_timeout(max(1, int(self._limits.seconds * 1000)))
        rows: list[Row] = []
        try:
            result = connection.execute(query, dict(parameters or {}))
            while result.has_next():
                rows.append(result.get_next())
                meter.check_rows(len(rows))
            result.close()
        except RuntimeError as error:
            if "Interrupted" in str(error):
                raise meter.too_slow() from error
            raise QueryRefusedError(f"{self.name} rejects a query: {_plain(error)}") from error
        meter.check_time()
        return rows

    def close(self) -> None:
        self._database.close()


def _plain(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
