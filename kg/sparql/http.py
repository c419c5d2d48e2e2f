"""`HttpClient`: queries a SPARQL 1.1 endpoint over HTTP, politely and within limits."""

from __future__ import annotations

import email.utils
import json
import threading
import time
import urllib.parse
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any
from xml.etree import ElementTree

import httpx

from triplecheck.kg.errors import GraphUnavailableError, UserError
from triplecheck.kg.sparql._cache import ReplyCache
from triplecheck.kg.sparql.client import Binding, Meter, PartialResultsError, QueryLimits, QueryRefusedError
from triplecheck.kg.sparql.terms import STRING, Term, TermKind
from triplecheck.kg.waiting import StillRunningError, within

# Longer queries are sent by POST: servers and proxies truncate long URLs.
_LONGEST_GET = 1500
_MOST_REDIRECTIONS = 20
_LONGEST_WAIT = 30.0  # seconds that a server may make a query wait (`Retry-After`)
_FIRST_WAIT = 0.5  # seconds before the second try, doubled with each try, if the server names no time
_PASSING = (429, 502, 503, 504)
_AGENT = "triplecheck (https://pypi.org/project/triplecheck)"
_JSON = "application/sparql-results+json"
_ACCEPTED = {"Accept": f"{_JSON}, application/sparql-results+xml;q=0.5", "Accept-Encoding": "gzip"}
_BLANKS = b" \t\r\n\xef\xbb\xbf"
_XML_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


class HttpClient:
    """Queries a SPARQL 1.1 endpoint over HTTP, for results in JSON or XML. Thread-safe.

    Args:
        endpoint: its URL (http or https); URL parameters such as `?default-graph-uri=...` are sent with each query.
        headers: sent with each query.
        requests_per_second: most queries a second; None: no limit.
        retries: further tries if the server is busy (429, 503), fails for the moment (502, 504) or hangs up. A wait
            that the server names is obeyed up to 30 s and up to the end of the query's time; a longer one is an error
            that names it.
        cache: keeps replies; closed with the client.

    Attributes:
        name: the URL, without user, password and parameters.
        most_rows: solutions that the server gives at most to one query, if it was found out; one with as many is a
            `PartialResultsError`.

    Raises:
        UserError: the URL is not http or https.
    """

    most_rows: int | None = None

    def __init__(
        self,
        endpoint: str,
        limits: QueryLimits | None = None,
        user: str | None = None,
        password: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        requests_per_second: float | None = None,
        retries: int = 3,
        cache: ReplyCache | None = None,
    ) -> None:
        parts = urllib.parse.urlsplit(endpoint)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UserError(f"{endpoint}: not the URL of a SPARQL endpoint, such as https://host/sparql")
        host = parts.netloc.rpartition("@")[2]
        self._parameters = urllib.parse.parse_qsl(parts.query)
        self.name = urllib.parse.urlunsplit((parts.scheme, host, parts.path, "", ""))
        user = user or urllib.parse.unquote(parts.username or "")
        password = password or urllib.parse.unquote(parts.password or "")
        self._limits, self._retries, self._cache = limits or QueryLimits(), retries, cache
        # A redirection may lead to another host: httpx drops user and password there, but no other header.
        self._most_redirections = 0 if headers else _MOST_REDIRECTIONS
        self._pace = _Pace(requests_per_second)
        self._http = httpx.Client(
            auth=(user, password) if user else None,
            headers={"User-Agent": _AGENT, **(headers or {}), **_ACCEPTED},
            timeout=self._limits.seconds,
            transport=httpx.HTTPTransport(),  # without the proxies of the environment
        )

    def select(self, query: str) -> list[Binding]:
        """All solutions of a SELECT query.

        Raises:
            GraphUnavailableError: no reply, a late or too long reply, or no SPARQL results.
        """
        kept = None if self._cache is None else self._cache.get(query)
        if kept is not None:
            return self._rows(kept, _JSON)
        meter = Meter(self.name, self._limits)
        reply, body = self._ask(query, meter)
        rows = self._rows(body, reply.headers.get("Content-Type", ""))
        self._check_whole(reply, len(rows))
        meter.check_rows(len(rows))
        if self._cache is not None:
            self._cache.put(query, body)
        return rows

    def server(self) -> Mapping[str, str]:
        """The headers of its reply to a query that costs nothing.

        Raises:
            GraphUnavailableError: as `select`.
        """
        return self._ask("SELECT (1 AS ?one) WHERE {}", Meter(self.name, self._limits))[0].headers

    def _ask(self, query: str, meter: Meter) -> tuple[httpx.Response, bytes]:
        """The reply and its body, after as many tries as allowed."""
        tries = 0
        while True:
            tries += 1
            self._pace.wait()
            last = tries > self._retries
            try:
                # In another thread: a limit on each read alone never ends a trickle of headers.
                reply, body = within(meter.left, partial(self._once, query, meter))
            except (StillRunningError, httpx.TimeoutException) as error:
                raise meter.too_slow() from error
            except (httpx.ConnectError, httpx.UnsupportedProtocol) as error:
                raise GraphUnavailableError(
                    f"{self.name} is not reachable ({error}); check the URL and the network"
                ) from error
            except httpx.HTTPError as error:
                if last or not meter.left:
                    raise GraphUnavailableError(
                        f"{self.name} closed the connection ({error!r}); try again, or use a limit"
                    ) from error
                continue
            if reply.is_success:
                return reply, body
            if last or reply.status_code not in _PASSING or not self._sleep(reply, tries, meter):
                raise self._failure(reply, body)

    def _once(self, query: str, meter: Meter) -> tuple[httpx.Response, bytes]:
        fields: list[tuple[str, Any]] = [*self._parameters, ("query", query)]
        if len(query) <= _LONGEST_GET:
            request = self._http.build_request("GET", self.name, params=fields)
        else:
            form = urllib.parse.urlencode(fields).encode()
            kind = {"Content-Type": "application/x-www-form-urlencoded"}
            request = self._http.build_request("POST", self.name, content=form, headers=kind)
        reply = self._http.send(request, stream=True)
        try:
            for _ in range(self._most_redirections):
                if reply.next_request is None:
                    break
                reply.close()  # unread: only the body of an answer is limited
                reply = self._http.send(reply.next_request, auth=None, stream=True)
            return reply, self._read(reply, meter)
        except (httpx.HTTPError, GraphUnavailableError):
            if reply.status_code not in _PASSING:
                raise
            return reply, b""  # the status says enough to try again
        finally:
            reply.close()

    def _sleep(self, reply: httpx.Response, tries: int, meter: Meter) -> bool:
        """Wait before the next try; False if the wait is longer than allowed."""
        asked = _retry_after(reply.headers.get("Retry-After", ""))
        seconds = _FIRST_WAIT * 2 ** (tries - 1) if asked is None else asked
        if seconds > min(_LONGEST_WAIT, meter.left):
            return False
        if asked is not None:
            self._pace.pause(seconds)  # other threads wait too
        else:
            time.sleep(seconds)
        return True

    def _failure(self, reply: httpx.Response, body: bytes) -> GraphUnavailableError:
        status, text = reply.status_code, " ".join(body.decode("utf-8", "replace").split())[:200]
        if status == 400:
            return QueryRefusedError(f"{self.name} rejects a query (HTTP 400): {text}")
        said = f": {text}" if text else ""
        return GraphUnavailableError(
            f"{self.name} failed on a query (HTTP {status} {reply.reason_phrase}{said}); {_way_out(reply)}"
        )

    def _read(self, reply: httpx.Response, meter: Meter) -> bytes:
        """The body, which is unpacked here, so that it is never larger than allowed.

        A limit on each piece alone would never end a slow trickle.
        """
        coding = reply.headers.get("Content-Encoding", "identity").strip().casefold()
        if coding not in ("identity", "gzip", "deflate"):
            raise GraphUnavailableError(f"{self.name}: the reply is packed as {coding}; only gzip is read")
        unpack = None if coding == "identity" else zlib.decompressobj(wbits=47)
        pieces, size = [], 0
        for piece in reply.iter_raw():
            try:
                data = piece if unpack is None else unpack.decompress(piece, self._limits.bytes + 1)
            except zlib.error as error:
                raise httpx.DecodingError(str(error)) from error
            size += len(data)
            if size > self._limits.bytes:
                raise GraphUnavailableError(
                    f"{self.name}: reply of more than {self._limits.bytes:,} bytes; "
                    "use a limit, or increase QueryLimits.bytes"
                )
            pieces.append(data)
            meter.check_time()
        return b"".join(pieces)

    def _check_whole(self, reply: httpx.Response, rows: int) -> None:
        """Virtuoso and others truncate results and report it in the headers or the status, or not at all."""
        headers = reply.headers
        if headers.get("X-SQL-State"):
            message = headers.get("X-SQL-Message", headers["X-SQL-State"])
            raise PartialResultsError(f"{self.name} returns a part of the results ({message}); use a limit")
        if reply.status_code == httpx.codes.PARTIAL_CONTENT:
            raise PartialResultsError(f"{self.name} returns a part of the results (HTTP 206); use a limit")
        given = headers.get("X-SPARQL-MaxRows", "")
        most = int(given) if given.isdigit() else self.most_rows
        if most is not None and rows >= most:
            raise PartialResultsError(f"{self.name} truncates results at {most} rows; use a limit")

    def _rows(self, body: bytes, kind: str) -> list[Binding]:
        try:
            if body.lstrip(_BLANKS)[:1] == b"<":
                return _of_xml(body)
            bindings = json.loads(body)["results"]["bindings"]
            return [_row(binding) for binding in bindings]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, ElementTree.ParseError) as error:
            start = body[:60].decode("utf-8", "replace").strip()
            raise GraphUnavailableError(
                f"{self.name} replies with {kind or 'something'} instead of SPARQL results "
                f"({start!r}); check that the URL is that of the query service"
            ) from error

    def close(self) -> None:
        """Close the connections and the cache."""
        self._http.close()
        if self._cache is not None:
            self._cache.close()


class _Pace:
    """Spaces out requests: at most so many a second, none before a time that the server named."""

    def __init__(self, per_second: float | None) -> None:
        self._gap = 1 / per_second if per_second else 0.0
        self._next = 0.0
        self._lock = threading.Lock()

    def wait(self) -> None:
        """Sleep until the next request may be sent."""
        with self._lock:
            now = time.monotonic()
            at = max(now, self._next)
            if self._gap:
                self._next = at + self._gap
        if at > now:
            time.sleep(at - now)

    def pause(self, seconds: float) -> None:
        """Send nothing for so long."""
        with self._lock:
            self._next = max(self._next, time.monotonic() + seconds)


def _retry_after(value: str) -> float | None:
    """Seconds that a `Retry-After` header asks to wait; None if it names no time."""
    if value.strip().isdigit():
        return float(value)
    try:
        return max(0.0, (email.utils.parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def _row(binding: Mapping[str, Any]) -> Binding:
    terms = ((name, _term(value)) for name, value in binding.items())
    return {name: term for name, term in terms if term is not None}


def _term(value: Mapping[str, Any]) -> Term | None:
    text, language, datatype = value["value"], value.get("xml:lang", ""), value.get("datatype", STRING)
    if not all(isinstance(part, str) for part in (text, language, datatype)):
        raise TypeError(f"the term {str(value)[:80]} is not made of texts")
    match value["type"]:
        case "uri":
            return Term(TermKind.IRI, text)
        case "bnode":
            return Term(TermKind.BLANK, text)
        case "literal" | "typed-literal":
            return Term(TermKind.LITERAL, text, STRING if language else datatype, language)
    return None  # a quoted triple


def _of_xml(body: bytes) -> list[Binding]:
    """Results in XML.

    Raises:
        ValueError: it is another document.
    """
    root = ElementTree.fromstring(body)  # nosec B314: expat limits what entities may become
    results = root.find("{*}results")
    if root.tag.rpartition("}")[2] != "sparql" or results is None:
        raise ValueError("no SPARQL results")
    rows: list[Binding] = []
    for result in results:
        row: dict[str, Any] = {}
        for binding in result:
            for value in binding:
                kind = value.tag.rpartition("}")[2]
                about = {"type": kind, "value": value.text or "", "xml:lang": value.get(_XML_LANGUAGE, "")}
                row[binding.attrib["name"]] = about | {"datatype": value.get("datatype", STRING)}
        rows.append(_row(row))
    return rows


def _way_out(reply: httpx.Response) -> str:
    match reply.status_code:
        case 401 | 403:
            return "give user and password"
        case 404 | 414:
            return "check the URL"
        case 429 | 503 if wait := reply.headers.get("Retry-After"):
            return f"the server asks to wait {wait} s"
    return "try again later"
