"""Limits on calls to servers: a deadline for a whole reply, its size, and the wait that a server may ask for.

DSPy's own client (`dspy.lm15`) limits each read but not the reply: one byte a second goes on for ever. Its transport is
replaced by one with limits. A call through LiteLLM runs in a thread of its own, and its client for servers that speak
OpenAI's protocol gets a transport with limits, so that no abandoned thread reads for ever.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import replace
from typing import Any

from dspy._vendor.lm15.transports import StdlibAsyncTransport, StdlibTransport
from dspy._vendor.lm15.transports._types import AsyncTransportResponse, TransportResponse
from dspy.clients._http import retry_after_seconds
from dspy.clients.engines.lm15_engine import AsyncLM15Engine
from dspy.lm15 import AsyncLMRouter, LMRouter

from triplecheck.lms.errors import ModelUnavailableError

LARGEST_REPLY = 10 * 1024 * 1024
"""Bytes of a reply, unpacked."""
LONGEST_WAIT = 30.0
"""Seconds that a server may make a call wait before the next try (`Retry-After`)."""

_PIECE = 1 << 13
"""Bytes that are received at once."""


def too_late(where: str, seconds: float) -> ModelUnavailableError:
    """The error of a reply that is not finished in time."""
    return ModelUnavailableError(
        f"{where}: no whole reply within {seconds:g} s; set a longer `timeout`, or let the model write less",
    )


class LimitedEngines(dict[Any, Any]):
    """The clients that a `dspy.LM` keeps, each with a transport that has limits."""

    def __setitem__(self, key: Any, engine: Any) -> None:
        is_async = isinstance(engine, AsyncLM15Engine)
        transport: Any = _LimitedAsyncTransport if is_async else _LimitedTransport
        router: Any = AsyncLMRouter if is_async else LMRouter
        limited = transport(**engine.config.transport_kwargs())
        engine.router = router(replace(engine.config, timeouts=None, max_connections=None, transport=limited))
        super().__setitem__(key, engine)


class _LimitedTransport(StdlibTransport):
    def stream(self, request: Any) -> Any:
        response = super().stream(request)
        check_codings(response.headers, request.url)
        return TransportResponse(
            **_head(response), chunks=_capped(response, request.url), release=lambda _: response.close()
        )

    def _open(self, parsed: Any, **settings: Any) -> Any:
        connection = super()._open(parsed, **settings)
        connection.sock = _LimitedSocket(connection.sock, self._read_timeout, str(parsed.host))
        return connection


class _LimitedSocket:
    """A socket with a deadline for everything that is received after a request."""

    def __init__(self, sock: Any, seconds: float, host: str) -> None:
        self._sock = sock
        self._seconds = seconds
        self._host = host
        self._until = 0.0
        self._has_begun = False

    def sendall(self, data: bytes) -> None:
        self._until, self._has_begun = time.monotonic() + self._seconds, False
        self._sock.sendall(data)

    def recv(self, size: int) -> bytes:
        left = self._until - time.monotonic()
        if left <= 0:
            raise too_late(self._host, self._seconds)
        self._sock.settimeout(left)
        try:
            # A small piece: what it unpacks to is measured only then.
            data: bytes = self._sock.recv(min(size, _PIECE))
        except TimeoutError:
            if self._has_begun:
                raise too_late(self._host, self._seconds) from None
            raise  # silence from the start: worth another try
        self._has_begun = True
        return data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)


class _LimitedAsyncTransport(StdlibAsyncTransport):
    async def _do_stream(self, request: Any) -> Any:
        seconds, host = self._read_timeout, request.url
        # Silence from the start ends a little earlier, by the limit of each read, and is worth another try.
        until = asyncio.get_running_loop().time() + seconds + 0.1
        try:
            async with asyncio.timeout_at(until):
                response = await super()._do_stream(request)
        except TimeoutError:
            raise too_late(host, seconds) from None
        check_codings(response.headers, host)

        async def chunks() -> AsyncIterator[bytes]:
            size, rest = 0, aiter(response)
            while True:
                try:
                    async with asyncio.timeout_at(until):
                        chunk = await anext(rest, None)
                except TimeoutError:
                    raise too_late(host, seconds) from None
                if chunk is None:
                    return
                size = add_size(size, chunk, host)
                yield chunk

        async def release(_: bool) -> None:
            await response.aclose()

        return AsyncTransportResponse(**_head(response), chunks=chunks(), release=release)


def check_codings(headers: Iterable[tuple[str, str]], url: str) -> list[str]:
    """The coding of a reply, at most one: each may multiply the size by a thousand."""
    named = (part for name, value in headers if name.casefold() == "content-encoding" for part in value.split(","))
    codings = [coding for part in named if (coding := part.strip().casefold()) not in ("", "identity")]
    if len(codings) > 1:
        raise ModelUnavailableError(f"{url}: the reply is packed {len(codings)} times; check the address")
    return codings


def _head(response: Any) -> dict[str, Any]:
    headers = [
        (name, _capped_wait(value) if name.casefold() == "retry-after" else value) for name, value in response.headers
    ]
    return {
        "status": response.status,
        "reason": response.reason,
        "headers": headers,
        "http_version": response.http_version,
    }


def _capped_wait(value: str) -> str:
    seconds = retry_after_seconds(value)
    return value if seconds is None else str(min(seconds, LONGEST_WAIT))


def _capped(response: Any, url: str) -> Iterator[bytes]:
    size = 0
    for chunk in response:
        size = add_size(size, chunk, url)
        yield chunk


def add_size(size: int, chunk: bytes, url: str) -> int:
    """The size of a reply with one more chunk; an error if it is too large."""
    size += len(chunk)
    if size > LARGEST_REPLY:
        raise ModelUnavailableError(
            f"{url}: the reply is larger than {LARGEST_REPLY >> 20} MiB; this is no chat completion: check the address"
        )
    return size
