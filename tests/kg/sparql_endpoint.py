"""A SPARQL 1.1 endpoint on loopback, the ways in which endpoints fail, and a client of engines in process."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import httpx
import pyoxigraph as ox
import rdflib
from pyparsing.exceptions import ParseBaseException

from triplecheck.kg.sparql import HttpClient, QueryRefusedError, Term

JSON_RESULTS = "application/sparql-results+json"


class StoreClient(HttpClient):
    """Asks an engine in process, and notes the queries with the number of their solutions."""

    def __init__(self, store: ox.Store | rdflib.Graph) -> None:
        super().__init__("http://store.example/sparql")
        self._store, self._lock = store, threading.Lock()  # rdflib's parser is not thread-safe
        self.asked: list[tuple[str, int]] = []

    def select(self, query: str) -> list[Mapping[str, Term]]:
        rows = super().select(query)
        self.asked.append((query, len(rows)))
        return rows

    def _ask(self, query: str, *_: object) -> tuple[httpx.Response, bytes]:
        with self._lock:
            try:
                if isinstance(self._store, rdflib.Graph):
                    body = self._store.query(query).serialize(format="json")
                else:
                    solutions = self._store.query(query, use_default_graph_as_union=True)
                    assert isinstance(solutions, ox.QuerySolutions)
                    body = solutions.serialize(format=ox.QueryResultsFormat.JSON)
            except (SyntaxError, ParseBaseException) as error:
                raise QueryRefusedError(f"a query is rejected: {error}") from error
        assert body is not None
        return httpx.Response(200), body


@dataclass
class Endpoint:
    """Where it is, and the (method, query) pairs that it was asked.

    Paths: `/sparql` answers; `/busy/429` twice and then answers, `/later`, `/slow`, `/trickle`, `/html`,
    `/cut`, `/partly`, `/capped`, `/xml`, `/unbound` (rows without bindings), `/silent/N` and `/206/N` (at most N rows),
    and `/500` and other numbers fail in the way of their name.
    """

    address: str
    asked: list[tuple[str, str]] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)


@contextmanager
def serve(store: ox.Store) -> Iterator[Endpoint]:
    """An endpoint before the store, as long as the block lasts."""
    stop = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(parse_qs(urlsplit(self.path).query))

        def do_POST(self) -> None:
            self.answer(parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode()))

        def answer(self, fields: dict[str, list[str]]) -> None:
            path = urlsplit(self.path).path.strip("/")
            query = fields.get("query", [""])[0]
            endpoint.asked.append((self.command, query))
            endpoint.headers = dict(self.headers)
            if path == "slow":
                stop.wait(30)
            elif path == "trickle":
                self.send_response(200)
                self.end_headers()
                while not stop.wait(0.05):
                    self.wfile.write(b" ")
                    self.wfile.flush()
            elif path == "html":
                self.reply(200, b"<html><body>Please sign in</body></html>", "text/html")
            elif path.startswith("busy/"):
                if len(endpoint.asked) % 3:
                    self.reply(int(path[5:]), b"wait", "text/plain", extra=("Retry-After", "0"))
                else:
                    self.solve(path, query)
            elif path == "later":
                self.reply(503, b"wait", "text/plain", extra=("Retry-After", "3600"))
            elif path.isdigit():
                self.reply(int(path), b"Engine out of memory\nat line 3", "text/plain")
            else:
                self.solve(path, query)

        def solve(self, path: str, query: str) -> None:
            if JSON_RESULTS not in self.headers["Accept"]:
                return self.reply(406, b"", "text/plain")
            try:
                solutions = store.query(query, use_default_graph_as_union=True)
            except SyntaxError as error:
                return self.reply(400, str(error).encode(), "text/plain")
            if path == "xml":
                xml = solutions.serialize(format=ox.QueryResultsFormat.XML)
                assert isinstance(xml, bytes)
                return self.reply(200, xml, "application/sparql-results+xml")
            body = solutions.serialize(format=ox.QueryResultsFormat.JSON)
            assert isinstance(body, bytes)
            kind, _, most = path.partition("/")
            if kind in ("silent", "206", "unbound"):
                found = json.loads(body)
                rows = found["results"]["bindings"]
                found["results"]["bindings"] = rows[: int(most)] if most else [{}, *rows, {}]
                status = 206 if kind == "206" and len(rows) > int(most) else 200
                return self.reply(status, json.dumps(found).encode(), JSON_RESULTS)
            if path == "cut":
                return self.reply(200, body[:-20], JSON_RESULTS, length=len(body))
            if path == "partly":
                return self.reply(200, body, JSON_RESULTS, extra=("X-SQL-State", "S1TAT"))
            if path == "capped":
                return self.reply(200, body, JSON_RESULTS, extra=("X-SPARQL-MaxRows", "4"))
            return self.reply(200, body, JSON_RESULTS)

        def reply(
            self, code: int, body: bytes, kind: str, length: int | None = None, extra: tuple[str, str] | None = None
        ) -> None:
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body) if length is None else length))
            if extra:
                self.send_header(*extra)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            pass  # clients hang up on purpose here

    server = Server(("127.0.0.1", 0), Handler)
    endpoint = Endpoint(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        stop.set()
        server.shutdown()
        server.server_close()
        thread.join()
