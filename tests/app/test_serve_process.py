"""The server as a process: killed under load, and stopped while it works."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from cli_support import fields
from dspy.clients.cache import Cache

from triplecheck.kg import KnowledgeBase
from triplecheck.lms.testing import STAND_IN, StandInServer, stand_in_server

QUESTION = "Who was the teacher of Bernhard Heiden?"
NO_TOPIC = fields(topics="none", domain="unknown")


@contextmanager
def started(kb: Path, model: StandInServer, port: int, log: Path) -> Iterator[Any]:
    """A server on a port, ready to answer."""
    words = ["serve", "--kb", str(kb), "--port", str(port), "--lm", STAND_IN]
    settings = {"OPENAI_API_BASE": model.api_base, "OPENAI_API_KEY": "none"}
    with log.open("w", encoding="utf-8") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "triplecheck.app.main", *words], env={**os.environ, **settings}, stderr=stream
        )
    try:
        end = time.monotonic() + 120
        while '"listening"' not in log.read_text("utf-8"):
            assert process.poll() is None and time.monotonic() < end, log.read_text("utf-8")
            time.sleep(0.05)
        yield process
    finally:
        process.kill()
        process.wait()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def test_killed_it_leaves_everything_whole_and_stopped_it_ends_its_work_first(kb: Path, tmp_path: Path) -> None:
    port, log = free_port(), tmp_path / "serve.log"
    url = f"http://127.0.0.1:{port}/v1/ask"
    waits, go_on, replies = threading.Event(), threading.Event(), []

    def ask() -> None:
        replies.append(httpx.post(url, json={"question": f"{QUESTION} {time.monotonic()}"}, timeout=60))

    def ask_on() -> None:
        with contextlib.suppress(httpx.HTTPError):  # the server has been killed
            while True:
                ask()

    def reply(_: Any) -> str:
        assert not waits.is_set() or go_on.wait(60)
        return NO_TOPIC

    with stand_in_server(reply) as model:
        with started(kb, model, port, log) as process:
            clients = [threading.Thread(target=ask_on) for _ in range(16)]
            for client in clients:
                client.start()
            while model.calls < 20:
                time.sleep(0.01)
            process.kill()
            process.wait()
            for client in clients:
                client.join(60)
        KnowledgeBase.open(kb).verify()
        cache = Cache(enable_disk_cache=True, enable_memory_cache=False, disk_cache_dir=os.environ["DSPY_CACHEDIR"])
        assert cache.disk_cache.check() == []
        waits.set()
        with started(kb, model, port, log) as process:
            asked = len(model.asked)
            asking = threading.Thread(target=ask)
            asking.start()
            while len(model.asked) == asked:
                time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
            go_on.set()
            asking.join(60)
            process.wait(60)
    assert replies[-1].json()["reason"] == "no_topic"
    assert re.search('"event": "request".*"status": 200', log.read_text("utf-8"))
    with socket.create_server(("127.0.0.1", port)):
        pass
