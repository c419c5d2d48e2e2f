"""`SparqlClient`: answers SPARQL queries, over HTTP (`HttpClient`) or in process (`OxigraphClient`, `RdflibClient`)."""

from __future__ import annotations

import http.client
import io
import json
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from triplecheck.kg.errors import GraphUnavailableError, UserError
from triplecheck.kg.sparql.terms import STRING, Term, TermKind

if TYPE_CHECKING:
    import pyoxigraph
    import rdflib

Binding = Mapping[str, Term]
"""One solution: a term per variable; unbound variables are absent."""


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """Limits of one query. Exceeding them is a `GraphUnavailableError`, never a silently truncated result.

    Attributes:
        seconds: from the request to the last row. An engine in process is checked between rows only.
        rows: solutions of one query.
        bytes: size of one HTTP reply.
    """

    seconds: float = 60.0
    rows: int = 1_000_000
    bytes: int = 512 << 20


class QueryRefusedError(GraphUnavailableError):
    """The engine rejects the text of a query."""


class SparqlClient(Protocol):
    """Answers SELECT queries. Thread-safe."""

    @property
    def name(self) -> str:
        """Name of the store in messages."""

    @property
    def keeps_blank_nodes(self) -> bool:
        """Whether the label of a blank node denotes the same node in later queries."""

    def select(self, query: str, bindings: Mapping[str, Term] | None = None) -> list[Binding]:
        """All solutions of a SELECT query.

        Args:
            query: the text.
            bindings: terms for variables that the query projects; only with `keeps_blank_nodes`.

        Raises:
            GraphUnavailableError: no reply, a late or too long reply, or no SPARQL results.
        """

    def close(self) -> None:
        """Close connections."""


class Meter:
    """Enforces the limits of one query."""

    def __init__(self, name: str, limits: QueryLimits) -> None:
        self._name, self._limits = name, limits
        self.end = time.monotonic() + limits.seconds
        """When the time is over, by the monotonic clock."""

    def check_time(self) -> None:
        """Raise if the time is over."""
        if time.monotonic() > self.end:
            raise too_slow(self._name, self._limits)

    def check_rows(self, rows: int) -> None:
        """Raise if there are too many solutions."""
        if rows > self._limits.rows:
            raise GraphUnavailableError(
                f"{self._name}: more than {self._limits.rows:,} solutions to one query; "
                "use a limit, or increase QueryLimits.rows"
            )
        if rows % 256 == 0:
            self.check_time()


def too_slow(name: str, limits: QueryLimits) -> GraphUnavailableError:
    """The error for a store that takes too long."""
    return GraphUnavailableError(
        f"{name}: no answer within {limits.seconds:g} s; use a limit, or increase QueryLimits.seconds"
    )


# --- over HTTP -----------------------------------------------------------------------------------
# Longer queries are sent by POST: servers and proxies truncate long URLs.
_LONGEST_GET = 1500
_PIECE = 1 << 16


class HttpClient:
    """Queries a SPARQL 1.1 endpoint over HTTP through SPARQLWrapper, for results in JSON.

    Args:
        endpoint: its URL (http or https); URL parameters such as `?default-graph-uri=...` are sent with each query.
        limits: limits of each query.
        user: for HTTP basic authentication.
        password: for HTTP basic authentication.
        keeps_blank_nodes: False, as labels of blank nodes need not outlive a reply.

    Raises:
        UserError: the URL is not http or https.
    """

    keeps_blank_nodes = False

    def __init__(
        self, endpoint: str, limits: QueryLimits | None = None, user: str | None = None, password: str | None = None
    ) -> None:
        parts = urllib.parse.urlsplit(endpoint)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UserError(f"{endpoint}: not the URL of a SPARQL endpoint, such as https://host/sparql")
        host = parts.netloc.rpartition("@")[2]
        self._parameters = urllib.parse.parse_qsl(parts.query)
        self._address = urllib.parse.urlunsplit((parts.scheme, host, parts.path, "", ""))
        self._user = user or urllib.parse.unquote(parts.username or "")
        self._password = password or urllib.parse.unquote(parts.password or "")
        self._limits = limits or QueryLimits()

    @property
    def name(self) -> str:
        """The URL, without user and password."""
        return self._address

    def select(self, query: str, bindings: Mapping[str, Term] | None = None) -> list[Binding]:
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
                f"{self.name} is not reachable ({error.reason}); check the URL and the network"
            ) from error
        except (OSError, http.client.HTTPException) as error:
            raise GraphUnavailableError(
                f"{self.name} closed the connection ({error!r}); try again, or use a limit"
            ) from error
        rows = self._rows(body, headers.get("Content-Type", ""))
        self._check_whole(headers, len(rows))
        meter.check_rows(len(rows))
        return rows

    def _ask(self, query: str, meter: Meter) -> tuple[bytes, Mapping[str, str]]:
        """Body and headers of the reply."""
        from SPARQLWrapper import JSON, POST

        wrapper = _wrapper(self._address)
        wrapper.setReturnFormat(JSON)
        wrapper.setOnlyConneg(True)
        for name, value in self._parameters:
            wrapper.addParameter(name, value)
        if self._user:
            wrapper.setCredentials(self._user, self._password)
        if len(query) > _LONGEST_GET:
            wrapper.setMethod(POST)
        wrapper.setQuery(query)
        try:
            reply = _opener(meter.end).open(wrapper._createRequest(), timeout=max(0.001, meter.end - time.monotonic()))
        except urllib.error.HTTPError as error:
            said = _first_line(error.read1(_PIECE))
            if error.code == 400:
                raise QueryRefusedError(f"{self.name} rejects a query (HTTP 400): {said}") from error
            raise GraphUnavailableError(
                f"{self.name} failed on a query (HTTP {error.code} {error.reason}: {said}); {_way_out(error)}"
            ) from error
        with reply:
            return self._read(reply, meter), reply.headers

    def _read(self, reply: Any, meter: Meter) -> bytes:
        """The body in pieces, with a time check: a socket timeout alone never ends a slow trickle."""
        pieces, size = [], 0
        while piece := reply.read1(_PIECE):
            pieces.append(piece)
            size += len(piece)
            meter.check_time()
            if size > self._limits.bytes:
                raise GraphUnavailableError(
                    f"{self.name}: reply of more than {self._limits.bytes:,} bytes; "
                    "use a limit, or increase QueryLimits.bytes"
                )
        expected = reply.headers.get("Content-Length", "")
        if expected.isdigit() and size < int(expected):
            raise http.client.IncompleteRead(b"", int(expected) - size)
        return b"".join(pieces)

    def _check_whole(self, headers: Mapping[str, str], rows: int) -> None:
        """Virtuoso truncates results and reports it only in the headers."""
        if headers.get("X-SQL-State"):
            message = headers.get("X-SQL-Message", headers["X-SQL-State"])
            raise GraphUnavailableError(f"{self.name} returns a part of the results ({message}); use a limit")
        most = headers.get("X-SPARQL-MaxRows", "")
        if most.isdigit() and rows >= int(most):
            raise GraphUnavailableError(f"{self.name} truncates results at {most} rows; use a limit")

    def _rows(self, body: bytes, kind: str) -> list[Binding]:
        try:
            bindings = json.loads(body)["results"]["bindings"]
            return [_row(binding) for binding in bindings]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            start = body[:60].decode("utf-8", "replace").strip()
            raise GraphUnavailableError(
                f"{self.name} replies with {kind or 'something'} instead of SPARQL results in JSON "
                f"({start!r}); check that the URL is that of the query service"
            ) from error

    def close(self) -> None:
        """No connection is kept open between queries."""


def _row(binding: Mapping[str, Any]) -> Binding:
    terms = ((name, _term(value)) for name, value in binding.items())
    return {name: term for name, term in terms if term is not None}


def _term(value: Mapping[str, Any]) -> Term | None:
    text, more = value["value"], (value.get("xml:lang", ""), value.get("datatype", STRING))
    if not all(isinstance(part, str) for part in (text, *more)):
        raise TypeError(f"the term {str(value)[:80]} is not made of texts")
    match value["type"]:
        case "uri":
            return Term(TermKind.IRI, text)
        case "bnode":
            return Term(TermKind.BLANK, text)
        case "literal" | "typed-literal":
            language, datatype = more
            return Term(TermKind.LITERAL, text, STRING if language else datatype, language)
    return None  # a quoted triple


def _first_line(body: bytes) -> str:
    lines = [line.strip() for line in body.decode("utf-8", "replace").splitlines() if line.strip()]
    return " ".join(lines)[:200]


def _way_out(error: urllib.error.HTTPError) -> str:
    if error.code in (401, 403):
        return "give user and password"
    if error.code in (404, 414):
        return "check the URL"
    if error.code == 429:
        wait = error.headers.get("Retry-After")
        return f"retry after {wait} s" if wait else "try again later"
    return "try again later"


def _wrapper(address: str) -> Any:
    from SPARQLWrapper import SPARQLWrapper

    class Wrapper(SPARQLWrapper):  # type: ignore[misc]
        def _createRequest(self) -> urllib.request.Request:  # noqa: N802
            """Its request; credentials do not follow a redirection, which may lead to another host."""
            request: urllib.request.Request = super()._createRequest()
            credentials = request.headers.pop("Authorization", None)
            if credentials is not None:
                request.add_unredirected_header("Authorization", credentials)
            return request

    return Wrapper(address, agent="triplecheck")


def _opener(end: float) -> urllib.request.OpenerDirector:
    """Opens requests whose replies must be whole at a time: a timeout of each read alone never ends a slow trickle."""

    class Http(http.client.HTTPConnection):
        def connect(self) -> None:
            super().connect()
            self.sock: Any = _TimedSocket(self.sock, end)

    class Https(http.client.HTTPSConnection):
        def connect(self) -> None:
            super().connect()
            self.sock: Any = _TimedSocket(self.sock, end)

    class HttpHandler(urllib.request.HTTPHandler):
        def http_open(self, req: urllib.request.Request) -> Any:
            return self.do_open(Http, req)

    class HttpsHandler(urllib.request.HTTPSHandler):
        def https_open(self, req: urllib.request.Request) -> Any:
            return self.do_open(Https, req)

    return urllib.request.build_opener(HttpHandler, HttpsHandler)


class _TimedSocket:
    """A socket whose file ends at a time."""

    def __init__(self, sock: Any, end: float) -> None:
        self._sock, self._end = sock, end

    def makefile(self, *_: Any, **__: Any) -> io.BufferedReader:
        return io.BufferedReader(_TimedFile(self._sock, self._end))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)


class _TimedFile(io.RawIOBase):
    def __init__(self, sock: Any, end: float) -> None:
        self._sock, self._end = sock, end
        self._raw = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("the time is over")
        self._sock.settimeout(left)
        size: int | None = self._raw.readinto(buffer)
        return size

    def close(self) -> None:
        self._raw.close()
        super().close()


# --- in process ----------------------------------------------------------------------------------
class OxigraphClient:
    """Queries a `pyoxigraph.Store`; all its named graphs are queried as one."""

    name = "pyoxigraph store"
    keeps_blank_nodes = True

    def __init__(self, store: pyoxigraph.Store, limits: QueryLimits | None = None) -> None:
        self._store, self._limits = store, limits or QueryLimits()

    def select(self, query: str, bindings: Mapping[str, Term] | None = None) -> list[Binding]:
        import pyoxigraph as ox

        meter = Meter(self.name, self._limits)
        given: dict[ox.Variable, Any] = {ox.Variable(k): _to_oxigraph(t) for k, t in (bindings or {}).items()}
        rows: list[Binding] = []
        try:
            solutions = self._store.query(query, use_default_graph_as_union=True, substitutions=given or None)
            if not isinstance(solutions, ox.QuerySolutions):
                raise QueryRefusedError(f"{self.name}: only SELECT queries are supported, not {query[:80]}")
            names = [variable.value for variable in solutions.variables]
            for solution in solutions:
                terms = [_from_oxigraph(solution[name]) for name in names]
                rows.append({n: t for n, t in zip(names, terms, strict=True) if t is not None})
                meter.check_rows(len(rows))
        except SyntaxError as error:
            raise QueryRefusedError(f"{self.name} rejects a query: {error.msg}") from error
        except (OSError, RuntimeError) as error:
            raise GraphUnavailableError(f"{self.name} failed on a query: {error}") from error
        meter.check_time()
        return rows

    def close(self) -> None:
        """Does nothing: the caller owns the store."""


def _to_oxigraph(term: Term) -> Any:
    import pyoxigraph as ox

    if term.kind is TermKind.IRI:
        return ox.NamedNode(term.value)
    if term.kind is TermKind.BLANK:
        return ox.BlankNode(term.value)
    if term.language:
        return ox.Literal(term.value, language=term.language)
    return ox.Literal(term.value, datatype=ox.NamedNode(term.datatype))


def _from_oxigraph(term: Any) -> Term | None:
    import pyoxigraph as ox

    if isinstance(term, ox.NamedNode):
        return Term(TermKind.IRI, term.value)
    if isinstance(term, ox.BlankNode):
        return Term(TermKind.BLANK, term.value)
    if isinstance(term, ox.Literal):
        return Term(TermKind.LITERAL, term.value, STRING if term.language else term.datatype.value, term.language or "")
    return None  # unbound, or a quoted triple


class RdflibClient:
    """Queries an `rdflib.Graph` (or a `Dataset` with `default_union`).

    One query at a time: rdflib's query parser is not thread-safe.
    """

    name = "rdflib graph"
    keeps_blank_nodes = True

    def __init__(self, graph: rdflib.Graph, limits: QueryLimits | None = None) -> None:
        self._graph, self._limits = graph, limits or QueryLimits()
        self._lock = threading.Lock()

    def select(self, query: str, bindings: Mapping[str, Term] | None = None) -> list[Binding]:
        from pyparsing.exceptions import ParseBaseException

        given = {name: _to_rdflib(term) for name, term in (bindings or {}).items()}
        rows: list[Binding] = []
        with self._lock:
            meter = Meter(self.name, self._limits)
            try:
                result = self._graph.query(query, initBindings=given)
                names = [str(name) for name in result.vars or ()]
                for solution in result:
                    found = zip(names, solution, strict=True)
                    rows.append({name: _from_rdflib(term) for name, term in found if term is not None})
                    meter.check_rows(len(rows))
            except ParseBaseException as error:
                raise QueryRefusedError(f"{self.name} rejects a query: {error}") from error
            meter.check_time()
        return rows

    def close(self) -> None:
        """Does nothing: the caller owns the graph."""


def _to_rdflib(term: Term) -> Any:
    import rdflib

    if term.kind is TermKind.IRI:
        return rdflib.URIRef(term.value)
    if term.kind is TermKind.BLANK:
        return rdflib.BNode(term.value)
    if term.language:
        return rdflib.Literal(term.value, lang=term.language)
    return rdflib.Literal(term.value, datatype=rdflib.URIRef(term.datatype))


def _from_rdflib(term: Any) -> Term:
    import rdflib

    if isinstance(term, rdflib.Literal):
        return Term(TermKind.LITERAL, str(term), str(term.datatype or STRING), term.language or "")
    return Term(TermKind.BLANK if isinstance(term, rdflib.BNode) else TermKind.IRI, str(term))
