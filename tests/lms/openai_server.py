"""A real HTTP server that speaks `/v1/chat/completions`, well or badly, as a test wants it."""

from __future__ import annotations

import contextlib
import gzip
import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Behaviour = Callable[["_Handler"], None]


class OpenAIServer:
    """Answers each request with the next behaviour; the last one again and again."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.authorizations: list[str | None] = []
        self.behaviours: list[Behaviour] = [says("[[ ## answer ## ]]\nParis\n\n[[ ## completed ## ]]")]
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._http.daemon_threads = True
        self._http.owner = self  # type: ignore[attr-defined]

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> OpenAIServer:
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        owner: OpenAIServer = self.server.owner  # type: ignore[attr-defined]
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        owner.requests.append(body)
        owner.authorizations.append(self.headers.get("Authorization"))
        behaviour = owner.behaviours[0] if len(owner.behaviours) == 1 else owner.behaviours.pop(0)
        behaviour(self)

    def send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


def says(text: str, finish_reason: str = "stop", usage: dict[str, int] | None = None) -> Behaviour:
    """A good reply."""

    def behave(handler: _Handler) -> None:
        body = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "gpt-4o-mini",
            "choices": [
                {"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", "content": text}}
            ],
            "usage": usage or {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
        }
        handler.send(200, json.dumps(body).encode())

    return behave


def fails(status: int, message: str, headers: dict[str, str] | None = None) -> Behaviour:
    """An error as OpenAI writes it."""

    def behave(handler: _Handler) -> None:
        handler.send(status, json.dumps({"error": {"message": message, "type": "error"}}).encode(), headers)

    return behave


def says_bytes(body: bytes) -> Behaviour:
    """Something else than JSON."""
    return lambda handler: handler.send(200, body)


def hangs(seconds: float) -> Behaviour:
    """No answer for a while."""

    def behave(handler: _Handler) -> None:
        time.sleep(seconds)
        handler.close_connection = True

    return behave


def drips(seconds: float, head: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n") -> Behaviour:
    """One byte now and then, for ever."""

    def behave(handler: _Handler) -> None:
        handler.close_connection = True
        with contextlib.suppress(OSError):  # the client gives up
            handler.wfile.write(head)
            while True:
                handler.wfile.write(b"x")
                time.sleep(seconds)

    return behave


def floods(size: int, coding: str = "") -> Behaviour:
    """A reply of this many bytes, packed with gzip if `coding` says so."""

    def behave(handler: _Handler) -> None:
        handler.close_connection = True
        body = b'{"choices": "' + b" " * size
        with contextlib.suppress(OSError):  # the client gives up
            handler.send(200, gzip.compress(body) if coding else body, {"Content-Encoding": coding} if coding else None)

    return behave
