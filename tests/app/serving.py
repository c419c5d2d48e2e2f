"""A server in a thread of its own, and questions to it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import uvicorn

from triplecheck.app.config import ServeSettings, load_settings
from triplecheck.app.serve.rest import make_app
from triplecheck.app.serve.run import listen
from triplecheck.app.serve.service import Service

TEACHER = "What was the nationality of Bernhard Heiden's teacher?"
SIBLINGS = "Who were the siblings of Glenn Gould?"


class Running:
    """A running server and a client of it."""

    def __init__(self, app: Any, url: str) -> None:
        self.app = app
        self.url = url
        self.http = httpx.Client(base_url=url, timeout=60)

    def ask(self, question: str = TEACHER, **more: Any) -> httpx.Response:
        return self.http.post("/v1/ask", json={"question": question, **more})

    def events(self, question: str = TEACHER, **more: Any) -> list[tuple[str, Any]]:
        """The server-sent events of a question."""
        text = self.ask(question, stream=True, **more).text
        parts = [part.split("\n") for part in text.split("\n\n") if part.startswith("event: ")]
        return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in parts]


@contextmanager
def serving(service: Service) -> Iterator[Running]:
    """A server for the duration of the block."""
    app = make_app(service)
    listening = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    running = Running(app, f"http://127.0.0.1:{listening.getsockname()[1]}")
    try:
        yield running
    finally:
        running.http.close()
        server.should_exit = True
        thread.join(20)


def service_of(kb: str, lm: str | None = None, **limits: Any) -> Service:
    """A service on one knowledge base, with these settings of the server."""
    return Service(load_settings(kb=kb, lm=lm, serve=ServeSettings(**limits)))
