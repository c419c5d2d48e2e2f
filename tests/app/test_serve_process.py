"""The server as a process: killed under load, and stopped while it works."""

from __future__ import annotations

import contextlib
import json
import os
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
from dspy.clients.cache import Cache

from triplecheck.kg import KnowledgeBase

QUESTION = "Where was Bernhard Heiden born?"


@contextmanager
def started(kb: Path, port: int, log: Path) -> Iterator[Any]:
    """A server on a port, ready to answer."""
    words = ["serve", "--kb", str(kb), "--port", str(port)]
    with log.open("w", encoding="utf-8") as stream:
        process = subprocess.Popen([sys.executable, "-m", "triplecheck.app.main", *words], stderr=stream)
    try:
        end = time.monotonic() + 120
        while '"listening"' not in log.read_text("utf-8"):
            assert process.poll() is None and time.monotonic() < end, log.read_text("utf-8")
            time.sleep(0.05)
        yield process
    finally:
        process.kill()
        process.wait()


def test_killed_it_leaves_everything_whole_and_stopped_it_ends_its_work_first(kb: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = int(probe.getsockname()[1])
    log, replies = tmp_path / "serve.log", []

    def ask_on() -> None:
        url = f"http://127.0.0.1:{port}/v1/ask"
        with contextlib.suppress(httpx.HTTPError):  # the server has been killed
            while True:
                asked = {"question": f"{QUESTION} ({time.monotonic()})"}
                replies.append(httpx.post(url, json=asked, timeout=60).status_code)

    with started(kb, port, log) as process:
        clients = [threading.Thread(target=ask_on) for _ in range(4)]
        for client in clients:
            client.start()
        while len(replies) < 6:
            time.sleep(0.01)
        process.kill()
        process.wait()
        for client in clients:
            client.join(60)
    assert set(replies) == {200}
    KnowledgeBase.open(kb).verify()
    cache = Cache(enable_disk_cache=True, enable_memory_cache=False, disk_cache_dir=os.environ["DSPY_CACHEDIR"])
    assert cache.disk_cache.check() == []

    body = json.dumps({"question": QUESTION}).encode()
    head = (
        "POST /v1/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"
    )
    with started(kb, port, log) as process, socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(head.encode())
        assert connection.recv(1_000).startswith(b"HTTP/1.1 100")  # the request is being read
        process.send_signal(signal.SIGTERM)
        connection.sendall(body)
        reply = b"".join(iter(lambda: connection.recv(65_536), b""))
        process.wait(60)
    assert b"HTTP/1.1 200" in reply
    assert b'"answer":"Frankfurt"' in reply
    with socket.create_server(("127.0.0.1", port)):
        pass
