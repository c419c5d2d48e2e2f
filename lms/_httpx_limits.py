"""A client of httpx whose replies have a deadline and a size, for LiteLLM; see `lms.limits`."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator

import httpx

from triplecheck.lms.limits import LARGEST_REPLY, add_size, check_codings, too_late


def limit_litellm() -> None:
    """Give LiteLLM's client for OpenAI's protocol a transport with limits, unless the user has set a client."""
    import litellm

    if litellm.client_session is None:
        litellm.client_session = httpx.Client(transport=_LimitedHttpxTransport(), follow_redirects=False)


class _LimitedStream(httpx.SyncByteStream):
    def __init__(self, response: httpx.Response, until: float, seconds: float, url: str) -> None:
        self._response, self._until, self._seconds, self._url = response, until, seconds, url
        self._codings = check_codings(response.headers.multi_items(), url)

    def __iter__(self) -> Iterator[bytes]:
        unpack = zlib.decompressobj(wbits=47) if self._codings else None
        size = 0
        for chunk in self._response.stream:  # type: ignore[union-attr]
            if time.monotonic() > self._until:
                raise httpx.ReadTimeout(str(too_late(self._url, self._seconds)))
            data = chunk if unpack is None else unpack.decompress(chunk, LARGEST_REPLY + 1)
            size = add_size(size, data, self._url)
            yield data

    def close(self) -> None:
        self._response.close()


class _LimitedHttpxTransport(httpx.HTTPTransport):
    """Replies within the time of the request's read timeout, of at most `LARGEST_REPLY` bytes."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        seconds = request.extensions.get("timeout", {}).get("read") or 3600.0
        url, until = str(request.url), time.monotonic() + seconds
        request.headers["Accept-Encoding"] = "identity"
        response = super().handle_request(request)
        stream = _LimitedStream(response, until, seconds, url)
        left_out = ("content-encoding", "content-length") if stream._codings else ()
        headers = [(name, value) for name, value in response.headers.multi_items() if name not in left_out]
        return httpx.Response(response.status_code, headers=headers, stream=stream, extensions=response.extensions)
