"""A model server and a SPARQL endpoint that fail in every way of `FAULTS`.

Each fault meets a model by DSPy's own client, by LiteLLM and in a coroutine, a SPARQL client, and an evaluation in
which every second request gets it. Whatever the server does: an error of ours within some seconds, in bounded memory,
without the key in it; the key goes to no other host; the ledger counts the call; the evaluation ends with all its rows.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gzip
import json
import random
import resource
import socket
import socketserver
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from torture.attack import Attack, Case, Failure

KEY = "prod-5d1f7c2e9a3b4860"
SECONDS = 1.0
"""Limit of a call; a case may take some times as long, because calls are repeated."""
_LONGEST = 45.0  # `Retry-After` counts up to 30 s
_MEGABYTES = 300
_GOOD = json.dumps(
    {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": "[[ ## answer ## ]]\nParis\n\n[[ ## completed ## ]]"},
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
).encode()

Fault = Callable[["Server", socket.socket, bytes], None]
"""What the server does: with itself, the connection and the request."""


def _send(connection: socket.socket, status: str, body: bytes = b"", *headers: str, length: int | str = "") -> None:
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {length or len(body)}"]
    connection.sendall("\r\n".join([*lines, *headers, "Connection: close", "", ""]).encode("latin-1") + body)


def _status(status: str, body: bytes = b'{"error": {"message": "no"}}', *headers: str) -> Fault:
    return lambda server, connection, request: _send(connection, status, body, *headers)


@functools.cache
def _packed(start: bytes, fill: bytes, megabytes: int) -> bytes:
    """A small gzip file that unpacks to a large text. Making it takes little memory."""
    packer, piece = zlib.compressobj(1, wbits=31), fill * (1 << 20)
    return b"".join([packer.compress(start), *(packer.compress(piece) for _ in range(megabytes)), packer.flush()])


def _bomb(server: Server, connection: socket.socket, request: bytes) -> None:
    _send(connection, "200 OK", gzip.compress(_packed(b"", b"\0", 256)), "Content-Encoding: gzip, gzip")


def _blanks(server: Server, connection: socket.socket, request: bytes) -> None:
    _send(connection, "200 OK", _packed(b"[", b" ", 200), "Content-Encoding: gzip")


def _says(value: Any) -> Fault:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return _status("200 OK", body)


def _echo(status: str) -> Fault:
    return lambda server, connection, request: _send(connection, status, request[:4000])


def _reset(after: bytes = b"") -> Fault:
    def fault(server: Server, connection: socket.socket, request: bytes) -> None:
        connection.sendall(after)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()

    return fault


def _writes(head: bytes) -> Fault:
    return lambda server, connection, request: connection.sendall(head)


def _repeats(head: bytes, piece: bytes, pause: float) -> Fault:
    def fault(server: Server, connection: socket.socket, request: bytes) -> None:
        connection.sendall(head)
        while not server.closed.wait(pause) if pause else not server.closed.is_set():
            connection.sendall(piece)

    return fault


def _silent(server: Server, connection: socket.socket, request: bytes) -> None:
    server.closed.wait(60)


def _redirect(place: str) -> Fault:
    def fault(server: Server, connection: socket.socket, request: bytes) -> None:
        to = place.format(other=server.other_port, own=server.port)
        _send(connection, "307 Temporary Redirect", b"", f"Location: {to}")

    return fault


_OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_CHUNKED = _OK + b"Transfer-Encoding: chunked\r\n\r\n"
_MESSAGE = {"choices": [{"index": 0, "message": {"role": "assistant", "content": None}}]}

FAULTS: dict[str, Fault] = {
    "429": _status("429 Too Many Requests"),
    "429 for a day": _status("429 Too Many Requests", b"{}", "Retry-After: 86400"),
    "429 for nonsense": _status("429 Too Many Requests", b"{}", "Retry-After: -1e999"),
    "500": _status("500 Internal Server Error"),
    "500 echo": _echo("500 Internal Server Error"),
    "502 html": _status("502 Bad Gateway", b"<html>bad gateway</html>"),
    "503": _status("503 Service Unavailable", b"", "Retry-After: Fri, 31 Dec 2100 23:59:59 GMT"),
    "401 echo": _echo("401 Unauthorized"),
    "403": _status("403 Forbidden"),
    "404": _status("404 Not Found"),
    "400 echo": _echo("400 Bad Request"),
    "204": _status("204 No Content", b""),
    "999": _status("999 What"),
    "reset": _reset(),
    "reset in the head": _reset(b"HTTP/1.1 200 OK\r\nContent-"),
    "reset in the body": _reset(_OK + b"Content-Length: 900\r\n\r\n" + _GOOD[:90]),
    "close": _writes(b""),
    "half a body": _writes(_OK + b"Content-Length: 900\r\n\r\n" + _GOOD[:90]),
    "bad length": _writes(_OK + b"Content-Length: -5\r\n\r\n" + _GOOD),
    "long length": _writes(_OK + b"Content-Length: 99999999999999999999\r\n\r\n" + _GOOD),
    "bad chunks": _writes(_CHUNKED + b"zz\r\n" + _GOOD),
    "huge chunk": _writes(_CHUNKED + b"ffffffffffffffff\r\n" + _GOOD),
    "no HTTP": _writes(b"\x16\x03\x01" + bytes(range(256)) * 4),
    "drip of the head": _repeats(b"HTTP/1.1 200 OK\r\nX-Slow: ", b"x", 0.05),
    "drip of headers": _repeats(b"HTTP/1.1 200 OK\r\n", b"X-Slow: x\r\n", 0.05),
    "drip of the body": _repeats(_OK + b"Content-Length: 9999\r\n\r\n", b" ", 0.05),
    "drip of chunks": _repeats(_CHUNKED, b"1\r\n \r\n", 0.05),
    "silence": _silent,
    "flood of headers": _repeats(b"HTTP/1.1 200 OK\r\n", b"X-Flood: " + b"x" * 60_000 + b"\r\n", 0),
    "flood of a body": _repeats(_OK + b"Content-Length: 999999999999\r\n\r\n", b" " * 65_536, 0),
    "flood of chunks": _repeats(_CHUNKED, b"10000\r\n" + b" " * 65_536 + b"\r\n", 0),
    "flood of 100s": _repeats(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.001),
    "gzip bomb": _bomb,
    "gzip": _blanks,
    "bad gzip": _status("200 OK", b"\x1f\x8b\x08nothing", "Content-Encoding: gzip"),
    "unknown coding": _status("200 OK", _GOOD, "Content-Encoding: br, zstd, x"),
    "redirect to another host": _redirect("http://localhost:{other}/v1/chat/completions"),
    "redirect in a circle": _redirect("http://127.0.0.1:{own}/v1/chat/completions"),
    "redirect to a file": _redirect("file:///etc/passwd"),
    "redirect to nothing": _redirect("http://"),
    "null": _says(None),
    "empty": _says(b""),
    "a list": _says([1, 2]),
    "no choices": _says({"choices": []}),
    "choices of another type": _says({"choices": {"a": 1}}),
    "no content": _says(_MESSAGE),
    "content of another type": _says({"choices": [{"message": {"role": "assistant", "content": {"a": [1]}}}]}),
    "usage of another type": _says({**json.loads(_GOOD), "usage": {"prompt_tokens": "many", "completion_tokens": -5}}),
    "usage that is too large": _says({**json.loads(_GOOD), "usage": {"prompt_tokens": 10**30}}),
    "deep": _says(b'{"choices": ' + b"[" * 100_000),
    "long number": _says(b'{"choices": ' + b"9" * 100_000 + b"}"),
    "not UTF-8": _says(_GOOD.replace(b"Paris", b"Par\xff\xfe")),
    "half a surrogate": _says(_GOOD.replace(b"Paris", b"Par\\ud800")),
    "bindings of another type": _says({"head": {}, "results": {"bindings": [1, None, {"x": 5}]}}),
    "terms of another type": _says({"results": {"bindings": [{"x": {"type": "uri", "value": 5}}]}}),
    "an error that is no text": _status("500 Internal Server Error", b'{"error": {"message": {"a": [1, null]}}}'),
}
"""The faults by name."""


class Server(socketserver.ThreadingTCPServer):
    """Answers each request with a fault, or every second one well."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.port = self.server_address[1]
        self.other_port = 0
        self.fault: Fault = _status("500 Internal Server Error")
        self.alternates = False
        self.requests: list[bytes] = []
        self.closed = threading.Event()
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients close connections on purpose."""

    def next_fault(self) -> None:
        """End the faults that last."""
        self.closed.set()
        self.closed = threading.Event()
        self.requests.clear()


class _Connection(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        server, connection = self.server, self.request
        assert isinstance(server, Server)
        data = b""
        while b"\r\n\r\n" not in data:
            piece = connection.recv(65_536)
            if not piece:
                return
            data += piece
        head, _, body = data.partition(b"\r\n\r\n")
        lengths = [line[15:] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
        while lengths and len(body) < int(lengths[0]):
            body += connection.recv(65_536)
        server.requests.append(head + b"\r\n\r\n" + body)
        if server.alternates and len(server.requests) % 2:
            _send(connection, "200 OK", _GOOD)
        else:
            server.fault(server, connection, head)


def _model(server: Server, route: str) -> Any:
    from triplecheck.lms import language_model

    options: dict[str, Any] = {"engine": "litellm"} if route == "litellm" else {}
    base = f"http://127.0.0.1:{server.port}/v1"
    return language_model(
        "openai/m", api_base=base, api_key=KEY, timeout=SECONDS, num_retries=1, cache=False, **options
    )


def _ask(server: Server, route: str) -> None:
    from triplecheck.kg import TriplecheckError
    from triplecheck.lms import RolePredict, session

    lm, step = _model(server, route), RolePredict("question -> answer")
    with session("extractive") as ledger:
        try:
            if route == "coroutine":
                found = asyncio.run(step.acall(question="Q?", lm=lm))
            else:
                found = step(question="Q?", lm=lm)
        except TriplecheckError as error:
            _without_key(error)
            if ledger.usage().failed_calls < 1 and type(error).__name__ != "ModelReplyError":
                raise Failure(f"{ledger.usage().failed_calls} failed calls are counted") from error
        else:
            found.answer.encode("utf-8")
        usage = ledger.usage()
        if not 1 <= usage.calls <= 2:
            raise Failure(f"{usage.calls} calls are counted")
        if usage.prompt_tokens < 0 or usage.completion_tokens < 0:
            raise Failure(f"usage of {usage.prompt_tokens} and {usage.completion_tokens} tokens")


def _without_key(error: BaseException) -> None:
    if KEY in str(error):
        raise Failure(f"the key is in the message: {str(error)[:200]}")


def _query(server: Server, _: str) -> None:
    from triplecheck.kg import TriplecheckError
    from triplecheck.kg.sparql.client import QueryLimits
    from triplecheck.kg.sparql.http import HttpClient

    address = f"http://reader:{KEY}@127.0.0.1:{server.port}/sparql"
    client = HttpClient(address, QueryLimits(seconds=SECONDS, bytes=10 << 20))
    for query in ("SELECT ?x WHERE { ?x ?y ?z }", "SELECT ?x WHERE { ?x ?y ?z } " + "#" * 2000):
        try:
            for row in client.select(query):
                for term in row.values():
                    term.value.encode("utf-8")
        except TriplecheckError as error:
            _without_key(error)


def _run(server: Server, route: str, base: Any, folder: Path) -> None:
    from eval_parts import Asking, sources

    from triplecheck.evals import Question, evaluate
    from triplecheck.lms import Roles

    server.alternates = True
    asked = [Question(f"q{n}", f"w{n} borders of Q142", ("Q183", "Q39"), ("Q142",)) for n in range(4)]
    summary = evaluate(Asking(sources(base)), asked, folder, roles=Roles(_model(server, "native")), workers=2)
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_bytes().splitlines()]
    if sorted(row["id"] for row in rows) != [f"q{n}" for n in range(4)] or summary.scores.n != 4:
        raise Failure(f"the rows are {[row['id'] for row in rows]}")
    if KEY in (folder / "rows.jsonl").read_text() + (folder / "summary.json").read_text():
        raise Failure("the key is in the files of the run")


@contextlib.contextmanager
def cases(folder: Path) -> Iterator[Case]:
    """Each fault on each route."""
    import dspy
    from eval_parts import build_knowledge_base

    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
    base = build_knowledge_base(folder)
    routes = ("native", "litellm", "coroutine", "sparql", "run")
    with Server() as server, Server() as other:
        server.other_port = other.port
        server.alternates = False
        _warm(server)

        def case(number: int, _: random.Random) -> None:
            name, route = list(FAULTS)[number // len(routes)], routes[number % len(routes)]
            server.fault, server.alternates = FAULTS[name], False
            other.fault = FAULTS["500 echo"]
            before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
            try:
                if route == "run":
                    _run(server, route, base, folder / f"run{number}")
                else:
                    (_query if route == "sparql" else _ask)(server, route)
                took, grown = time.monotonic() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
                if took > _LONGEST:
                    raise Failure(f"{route}: {took:.0f} s with a limit of {SECONDS:g} s: {name}")
                if grown > _MEGABYTES << 10:
                    raise Failure(f"{route}: {grown >> 10} MiB more: {name}")
                if any(KEY.encode() in request or b"Authorization" in request for request in other.requests):
                    raise Failure(f"{route}: the credentials went to another host: {name}")
            except Failure:
                raise
            except Exception as error:
                raise Failure(f"{route}: {type(error).__name__}: {str(error)[:80]}: {name}") from error
            finally:
                server.next_fault()
                other.next_fault()

        yield case


def _warm(server: Server) -> None:
    """Load the clients and make the bombs first: memory and time are measured after that."""
    _packed(b"", b"\0", 256), _packed(b"[", b" ", 200)
    server.fault = _says(_GOOD)
    for route in ("native", "litellm", "coroutine"):
        with contextlib.suppress(Exception):
            _ask(server, route)
    server.next_fault()


SERVERS = Attack("servers", f"{len(FAULTS)} faults of servers", 5 * len(FAULTS), 60.0, cases, fixed=True)
