"""Client for any SPARQL 1.1 endpoint over HTTP."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.parse
from collections.abc import Mapping
from typing import Any

from triplecheck.kg.errors import GraphUnavailableError, UserError
from triplecheck.kg.sparql.client import Limits, Meter, QueryRefusedError, Row, too_slow
from triplecheck.kg.sparql.terms import STRING, Kind, Term

# Longer queries go by POST: servers and proxies cut long addresses off.
_LONGEST_GET = 1500
_PIECE = 1 << 16


class HttpClient:
    """Asks an endpoint by SPARQLWrapper, for results in JSON.

    Args:
        endpoint: its address (http or https); a query part such as `?default-graph-uri=...` is sent along.
        limits: bounds of each query.
        user, password: for HTTP basic authentication.
        keeps_blank_nodes: False, as labels of blank nodes need not outlive a reply.

    Raises:
        UserError: the address is not http or https.
    """

    keeps_blank_nodes = False

    def __init__(
        self, endpoint: str, limits: Limits | None = None, user: str | None = None, password: str | None = None
    ) -> None:
        parts = urllib.parse.urlsplit(endpoint)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UserError(f"{endpoint}: no address of a SPARQL endpoint; it looks like https://host/sparql")
        host = parts.netloc.rpartition("@")[2]
        self._parameters = urllib.parse.parse_qsl(parts.query)
        self._address = urllib.parse.urlunsplit((parts.scheme, host, parts.path, "", ""))
        self._user = user or urllib.parse.unquote(parts.username or "")
        self._password = password or urllib.parse.unquote(parts.password or "")
        self._limits = limits or Limits()

    @property
    def name(self) -> str:
        """The address, without user and password."""
        return self._address

    def select(self, query: str, bindings: Mapping[str, Term] | None = None) -> list[Row]:
        """See `SparqlClient.select`."""
        if bindings:
            raise ValueError("a remote endpoint takes no bindings")
        meter = Meter(self.name, self._limits)
        try:
            body, headers = self._ask(query, meter)
        except TimeoutError as error:
            raise too_slow(self.name, self._limits) from error
        except urllib.error.URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise too_slow(self.name, self._limits) from error
            raise GraphUnavailableError(
                f"{self.name} is out of reach ({error.reason}); check the address and the network"
            ) from error
        except (OSError, http.client.HTTPException) as error:
            raise GraphUnavailableError(
                f"{self.name} broke the connection off ({error!r}); try again, or ask with a limit"
            ) from error
        rows = self._rows(body, headers.get("Content-Type", ""))
        self._check_whole(headers, len(rows))
        meter.check_rows(len(rows))
        return rows

    def _ask(self, query: str, meter: Meter) -> tuple[bytes, Mapping[str, str]]:
        """Body and headers of the reply."""
        from SPARQLWrapper import JSON, POST, SPARQLExceptions, SPARQLWrapper

        wrapper = SPARQLWrapper(self._address, agent="triplecheck")
        wrapper.setReturnFormat(JSON)
        wrapper.setOnlyConneg(True)
        wrapper.timeout = self._limits.seconds  # setTimeout would round it to whole seconds
        for name, value in self._parameters:
            wrapper.addParameter(name, value)
        if self._user:
            wrapper.setCredentials(self._user, self._password)
        if len(query) > _LONGEST_GET:
            wrapper.setMethod(POST)
        wrapper.setQuery(query)
        try:
            reply = wrapper.query().response
        except SPARQLExceptions.QueryBadFormed as error:
            raise QueryRefusedError(f"{self.name} refuses a query (HTTP 400): {_first_line(error)}") from error
        except SPARQLExceptions.SPARQLWrapperException as error:
            raise GraphUnavailableError(
                f"{self.name} failed on a query ({_first_line(error)}); check the address, or try again later"
            ) from error
        except urllib.error.HTTPError as error:
            raise GraphUnavailableError(
                f"{self.name} failed on a query (HTTP {error.code} {error.reason}); {_way_out(error)}"
            ) from error
        with reply:
            return self._read(reply, meter), reply.headers

    def _read(self, reply: Any, meter: Meter) -> bytes:
        """The body piece by piece: a timeout of the socket alone would let a trickle go on for ever."""
        pieces, size = [], 0
        while piece := reply.read1(_PIECE):
            pieces.append(piece)
            size += len(piece)
            meter.check_time()
            if size > self._limits.bytes:
                raise GraphUnavailableError(
                    f"{self.name}: reply of more than {self._limits.bytes:,} bytes; "
                    "ask with a limit, or allow more (Limits.bytes)"
                )
        expected = reply.headers.get("Content-Length", "")
        if expected.isdigit() and size < int(expected):
            raise http.client.IncompleteRead(b"", int(expected) - size)
        return b"".join(pieces)

    def _check_whole(self, headers: Mapping[str, str], rows: int) -> None:
        """Virtuoso cuts results off and says so in its headers only."""
        if headers.get("X-SQL-State"):
            message = headers.get("X-SQL-Message", headers["X-SQL-State"])
            raise GraphUnavailableError(f"{self.name} answers in part only ({message}); ask with a limit")
        most = headers.get("X-SPARQL-MaxRows", "")
        if most.isdigit() and rows >= int(most):
            raise GraphUnavailableError(f"{self.name} cuts answers off at {most} rows; ask with a limit")

    def _rows(self, body: bytes, kind: str) -> list[Row]:
        try:
            bindings = json.loads(body)["results"]["bindings"]
            return [_row(binding) for binding in bindings]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            start = body[:60].decode("utf-8", "replace").strip()
            raise GraphUnavailableError(
                f"{self.name} replies with {kind or 'something'} instead of SPARQL results in JSON "
                f"({start!r}); check that the address is that of the query service"
            ) from error

    def close(self) -> None:
        """Nothing is kept open between queries."""


def _row(binding: Mapping[str, Any]) -> Row:
    terms = ((name, _term(value)) for name, value in binding.items())
    return {name: term for name, term in terms if term is not None}


def _term(value: Mapping[str, Any]) -> Term | None:
    text = value["value"]
    match value["type"]:
        case "uri":
            return Term(Kind.IRI, text)
        case "bnode":
            return Term(Kind.BLANK, text)
        case "literal" | "typed-literal":
            language = value.get("xml:lang", "")
            return Term(Kind.LITERAL, text, STRING if language else value.get("datatype", STRING), language)
    return None  # a quoted triple


def _first_line(error: Exception) -> str:
    text = str(error.args[0] if error.args else error).replace("\\n", "\n")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines)[:200]


def _way_out(error: urllib.error.HTTPError) -> str:
    if error.code == 403:
        return "give user and password"
    if error.code == 429:
        wait = error.headers.get("Retry-After")
        return f"it asks for a pause of {wait} s" if wait else "it asks for a pause, try again later"
    return "try again later"
