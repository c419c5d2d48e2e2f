"""Language models for tests: scripted replies in order, and an HTTP server with latency.

    with scripted_model(["[[ ## answer ## ]]\\nParis"]) as engine, session(engine.name) as ledger:
        ...
    assert engine.prompts[0].endswith(...)

Calls use all of DSPy (adapter, cache, history, usage) and the ledger; only the model is fake. `stand_in_server`
adds HTTP, latency and a limited number of slots.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import uuid4

from dspy.lm15 import Request, Response

from triplecheck.lms.engines import messages_of, reply
from triplecheck.lms.extractive.engine import ExtractiveEngine
from triplecheck.lms.resolve import register_engine, unregister_engine

STAND_IN = "openai/stand-in"
"""A model string for it: LiteLLM takes any name behind `openai/`."""


@dataclass(frozen=True)
class ChatRequest:
    """One request to the server."""

    body: dict[str, Any]
    """The whole body: `model`, `messages`, `temperature` ..."""

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The chat, as role and content."""
        return list(self.body["messages"])

    @property
    def system(self) -> str:
        """Text of the system message: for a signature, its fields and instructions."""
        return "\n".join(_text(message) for message in self.messages if message["role"] == "system")

    @property
    def prompt(self) -> str:
        """Text of the last message: for a signature, the input fields."""
        return _text(self.messages[-1])


class StandInServer:
    """The running server; see `stand_in_server`."""

    def __init__(self, reply: Callable[[ChatRequest], str], latency: float, slots: int) -> None:
        if latency < 0 or slots < 1:
            raise ValueError(f"a server of {slots} slots and {latency} s latency cannot be")
        self.latency = latency
        self.slots = slots
        self.asked: list[ChatRequest] = []
        """The requests in the order in which they came."""
        self.calls = 0
        """Requests that were answered."""
        self.busiest = 0
        """Maximum number of slots in use at once."""
        self.seconds = 0.0
        """From the first request to the latest reply."""
        self._reply = reply
        self._in_use = 0
        self._began: float | None = None
        self._threads = ThreadPoolExecutor(slots, thread_name_prefix="stand-in")
        self._loop = asyncio.new_event_loop()
        self._free = asyncio.Semaphore(slots)
        self._http = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self._thread = threading.Thread(target=self._loop.run_forever, name="stand-in", daemon=True)
        self._thread.start()

    @property
    def api_base(self) -> str:
        """The address, as `api_base` of a language model or `OPENAI_API_BASE`."""
        return f"http://127.0.0.1:{self._http.sockets[0].getsockname()[1]}/v1"

    @contextmanager
    def environment(self) -> Iterator[None]:
        """Put the address and a key into the environment, where models `openai/...` look for them."""
        ours = {"OPENAI_API_BASE": self.api_base, "OPENAI_API_KEY": "none"}
        before = {name: os.environ.get(name) for name in ours}
        os.environ.update(ours)
        try:
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name)
                if value is not None:
                    os.environ[name] = value

    def share_used(self, seconds: float | None = None) -> float:
        """Utilisation: calls x latency / (slots x time).

        Args:
            seconds: the time; None for that from the first request to the latest reply.
        """
        return self.calls * self.latency / (self.slots * (seconds or self.seconds))

    def close(self) -> None:
        """Stop the server and cancel open requests."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _end(self) -> None:
        self._http.close()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection: request after request, until the client closes it."""
        try:
            while (body := await _read(reader)) is not None:
                status, found = await self._answer(body)
                text = json.dumps(found).encode()
                head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
                writer.write(head.encode() + text)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client disconnected, or the server is closing
        finally:
            writer.close()

    async def _answer(self, body: bytes) -> tuple[str, dict[str, Any]]:
        asked = ChatRequest(json.loads(body))
        self.asked.append(asked)
        self._began = self._began or time.perf_counter()
        async with self._free:
            self._in_use += 1
            self.busiest = max(self.busiest, self._in_use)
            over = time.perf_counter() + self.latency
            try:
                text = await self._loop.run_in_executor(self._threads, self._reply, asked)
            except Exception as error:  # noqa: BLE001 - the client gets it as status 500
                return "500 Internal Server Error", {"error": {"message": repr(error), "type": "server_error"}}
            finally:
                await asyncio.sleep(over - time.perf_counter())
                self._in_use -= 1
            self.calls += 1
            self.seconds = time.perf_counter() - self._began
        return "200 OK", _completion(asked, text)


@contextmanager
def stand_in_server(
    reply: Callable[[ChatRequest], str] | str, latency: float = 0.0, slots: int = 16
) -> Iterator[StandInServer]:
    """A fake server of a hosted model, for the duration of the block.

    Args:
        reply: from the request to the text of the reply, or one text for all. It is called on a server
            thread; its duration is part of the latency, and an exception becomes status 500.
        latency: seconds that a call occupies a slot.
        slots: concurrent calls; others wait.
    """
    server = StandInServer((lambda _: reply) if isinstance(reply, str) else reply, latency, slots)
    try:
        yield server
    finally:
        server.close()


async def _read(reader: asyncio.StreamReader) -> bytes | None:
    """The body of the next request; None at the end of the connection."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as ended:
        if ended.partial:
            raise
        return None
    length = next(
        (int(line.split(b":", 1)[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
    )
    return await reader.readexactly(length)


def _completion(asked: ChatRequest, text: str) -> dict[str, Any]:
    """A chat completion as OpenAI writes it. Tokens are counted as words."""
    prompt = sum(len(_text(message).split()) for message in asked.messages)
    completion = len(text.split())
    return {
        "id": "chatcmpl-stand-in",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": asked.body.get("model", ""),
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        },
    }


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


ScriptedReply: TypeAlias = str | Exception | Callable[[Request], str] | Response
"""A text; an exception to raise; a function from the request to a text; or a whole response."""


class QueueEngine:
    """An embedded engine that gives its replies in order, one a call, and keeps the requests."""

    def __init__(self, replies: Iterable[ScriptedReply], name: str = "scripted") -> None:
        self.name = name
        self.fingerprint = uuid4().hex[:12]
        self.requests: list[Request] = []
        self._replies = list(replies)
        self._lock = threading.Lock()

    @property
    def prompts(self) -> list[str]:
        """The last message of each request."""
        return [messages_of(request)[-1]["content"] for request in self.requests]

    @property
    def left(self) -> int:
        """Number of unused replies."""
        return len(self._replies)

    def complete(self, request: Request) -> Response:
        """Return the next reply; tokens are counted as words."""
        with self._lock:
            self.requests.append(request)
            if not self._replies:
                raise AssertionError(f"{self.name} was called {len(self.requests)} times and has no reply left")
            following = self._replies.pop(0)
        if isinstance(following, Exception):
            raise following
        if isinstance(following, Response):
            return following
        text = following if isinstance(following, str) else following(request)
        words = sum(len(message["content"].split()) for message in messages_of(request))
        return reply(request, text, prompt_tokens=words, completion_tokens=len(text.split()))

    def __copy__(self) -> QueueEngine:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> QueueEngine:
        """Optimizers deep-copy LMs; the queue is shared."""
        return self


@contextmanager
def costly_rules(name: str = "costly") -> Iterator[None]:
    """Register the rule-based baseline under `name`, as a language model whose calls count against a budget."""
    register_engine(name, ExtractiveEngine())
    try:
        yield
    finally:
        unregister_engine(name)


@contextmanager
def scripted_model(replies: Iterable[ScriptedReply], name: str = "scripted") -> Iterator[QueueEngine]:
    """Register a model under `name` for the duration of the block; it gives these replies in order."""
    engine = QueueEngine(replies, name)
    register_engine(name, engine)
    try:
        yield engine
    finally:
        unregister_engine(name)
