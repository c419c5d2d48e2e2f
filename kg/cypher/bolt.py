"""`BoltClient`: queries Neo4j, Memgraph and other servers that speak Bolt, by the official driver, read-only."""

from __future__ import annotations

import logging
import urllib.parse
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from triplecheck.kg.cypher.client import Row
from triplecheck.kg.cypher.dialects import BOLT_SCHEMES, Dialect, detect
from triplecheck.kg.errors import GraphUnavailableError, UserError, extra
from triplecheck.kg.redaction import redacted
from triplecheck.kg.sparql.client import Meter, QueryLimits, QueryRefusedError
from triplecheck.kg.waiting import StillRunningError, within

if TYPE_CHECKING:
    import neo4j

_FIRST_WAIT = 0.5  # seconds before the second try, doubled with each try
_GRACE = 2.0  # seconds after which a server is given up that does not end a query by itself
_PAGE = 1000  # rows that the server sends at once


class BoltClient:
    """Queries a server that speaks Bolt, in read-only transactions that end after the time limit. Thread-safe.

    Args:
        url: its address, such as `neo4j+s://host:7687`; a path names the database.
        limits: limits of each query; bytes are not limited.
        user: the user; without one, a password is a token.
        database: its database; None: the user's home database.
        retries: further tries of a query when the server is not available or says that a query may be tried again.
        dialect: the Cypher that it understands; None: by how it names itself.

    Raises:
        UserError: the URL is not one of a Bolt server.
        MissingExtraError: the driver is not installed.
    """

    def __init__(
        self,
        url: str,
        limits: QueryLimits | None = None,
        user: str | None = None,
        password: str | None = None,
        *,
        database: str | None = None,
        retries: int = 3,
        dialect: Dialect | None = None,
    ) -> None:
        with extra("cypher", "A Bolt server"):
            import neo4j
        parts = urllib.parse.urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        self.name = urllib.parse.urlunsplit((parts.scheme, host, parts.path, "", ""))
        try:
            valid = parts.scheme in BOLT_SCHEMES and parts.hostname and (parts.port or 1)
        except ValueError:  # no number, or too large
            valid = False
        if not valid:
            raise UserError(f"{self.name}: not the URL of a Bolt server, such as neo4j://host:7687")
        user = user or urllib.parse.unquote(parts.username or "")
        password = password or urllib.parse.unquote(parts.password or "")
        self._secrets = (user, password)
        self._database = database or urllib.parse.unquote(parts.path.strip("/")) or None
        self._limits, self._retries, self._given = limits or QueryLimits(), retries, dialect
        auth = neo4j.basic_auth(user, password) if user else neo4j.bearer_auth(password) if password else None
        self._driver = neo4j.GraphDatabase.driver(
            f"{parts.scheme}://{host}",
            auth=auth,
            connection_timeout=min(30.0, self._limits.seconds),
            connection_acquisition_timeout=self._limits.seconds,
            telemetry_disabled=True,
        )
        # Servers warn that a graph has no node with a property; that is no news for a user.
        logging.getLogger("neo4j.notifications").setLevel(logging.ERROR)

    @cached_property
    def dialect(self) -> Dialect:
        if self._given is not None:
            return self._given
        meter = Meter(self.name, self._limits)
        return detect(self._with_retries(lambda: self._driver.get_server_info().agent, meter))

    def rows(self, query: str, parameters: Mapping[str, Any] | None = None) -> list[Row]:
        meter = Meter(self.name, self._limits)
        found: list[Row] = self._with_retries(lambda: self._run(query, dict(parameters or {}), meter), meter)
        return found

    def _run(self, query: str, parameters: dict[str, Any], meter: Meter) -> list[Row]:
        import neo4j

        rows: list[Row] = []
        text = neo4j.Query(query, timeout=max(0.001, meter.left))
        settings: dict[str, Any] = {"default_access_mode": neo4j.READ_ACCESS, "fetch_size": _PAGE}
        with self._driver.session(database=self._database, **settings) as session:
            for record in session.run(text, parameters):
                rows.append(list(record))
                meter.check_rows(len(rows))
        meter.check_time()
        return rows

    def _with_retries(self, ask: Any, meter: Meter) -> Any:
        import tenacity
        from neo4j.exceptions import DriverError, Neo4jError

        tries = tenacity.Retrying(
            retry=tenacity.retry_if_exception(lambda e: isinstance(e, Neo4jError | DriverError) and e.is_retryable()),
            wait=tenacity.wait_exponential(_FIRST_WAIT),
            stop=tenacity.stop_after_attempt(self._retries + 1) | tenacity.stop_before_delay(meter.left),
            reraise=True,
        )
        try:
            return tries(self._within, ask, meter)
        except (Neo4jError, DriverError) as error:
            raise self._failure(error, meter) from error
        except (ValueError, TypeError, OSError) as error:
            raise GraphUnavailableError(f"{self.name} failed on a query: {self._said(error)}") from error

    def _within(self, ask: Any, meter: Meter) -> Any:
        """Ask in another thread: the driver waits without end for a server that has stopped."""
        try:
            return within(meter.left + _GRACE, ask)
        except StillRunningError:
            raise meter.too_slow() from None

    def _failure(self, error: neo4j.exceptions.Neo4jError | neo4j.exceptions.DriverError, meter: Meter) -> Exception:
        from neo4j.exceptions import AuthError, ClientError, ConfigurationError, Neo4jError, ServiceUnavailable

        code = error.code or "" if isinstance(error, Neo4jError) else ""
        if isinstance(error, AuthError):
            return GraphUnavailableError(f"{self.name} refuses the user or the password; check user_env and key_env")
        if "TransactionTimedOut" in code or "TransactionTerminated" in code:
            return meter.too_slow()
        if "DatabaseNotFound" in code:
            return UserError(f"{self.name}: there is no database {self._database!r}; name another one with `database`")
        if isinstance(error, ServiceUnavailable | ConfigurationError):
            return GraphUnavailableError(
                f"{self.name} is not reachable ({self._said(error)}); check the URL and the network"
            )
        if isinstance(error, ClientError):
            return QueryRefusedError(f"{self.name} rejects a query: {self._said(error)}")
        return GraphUnavailableError(f"{self.name} failed on a query: {self._said(error)}")

    def _said(self, error: Exception) -> str:
        message = getattr(error, "message", None) or str(error)
        return redacted(" ".join(str(message).split()), self._secrets)[:300]

    def close(self) -> None:
        self._driver.close()
