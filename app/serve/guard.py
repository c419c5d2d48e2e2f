"""What every request passes: a size limit, an id, headers that protect the page, a line in the log, a count."""

from __future__ import annotations

import time
import uuid
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from triplecheck.app.serve.log import event
from triplecheck.app.serve.metrics import Metrics

STRICT = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Content security policy of everything but the OpenAPI page."""
OPENAPI_PAGE = STRICT.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")
"""Swagger UI sets styles inside its markup."""
_SILENT = ("/healthz", "/metrics", "/static")
_REQUEST_ID = "x-request-id"


class Guard:
    """ASGI middleware around the whole application.

    Args:
        body: bytes of a request.
    """

    def __init__(self, app: ASGIApp, body: int, metrics: Metrics) -> None:
        self._app = app
        self._body = body
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status, begun = time.perf_counter(), 500, False
        state: dict[str, Any] = scope.setdefault("state", {})
        state["id"], state["log"] = uuid.uuid4().hex[:16], {}
        received, too_large = 0, f"the request has more than {self._body:,} bytes"

        async def limited() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._body:
                raise HTTPException(413, too_large)
            return message

        async def noted(message: Message) -> None:
            nonlocal status, begun
            if message["type"] == "http.response.start":
                status, begun = message["status"], True
                protect(MutableHeaders(scope=message), scope["path"], state["id"])
            await send(message)

        try:
            declared = Headers(scope=scope).get("content-length", "")
            if declared.isdigit() and int(declared) > self._body:
                refused = JSONResponse({"error": {"type": "http", "message": too_large}}, 413)
                await refused(scope, receive, noted)
                return
            await self._app(scope, limited, noted)
        except Exception as error:  # noqa: BLE001 - the client gets no details, the log gets all
            event("crashed", 40, error, id=state["id"], path=scope["path"])
            if not begun:
                message = f"something went wrong; the log of the server has it under {state['id']}"
                await JSONResponse({"error": {"type": "internal", "message": message}}, 500)(scope, receive, noted)
        finally:
            self._record(scope, state, status, time.perf_counter() - started)

    def _record(self, scope: Scope, state: dict[str, Any], status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "other")
        self._metrics.requests.labels(route, str(status)).inc()
        if not scope["path"].startswith(_SILENT) or status >= 500:
            event(
                "request",
                id=state["id"],
                method=scope["method"],
                path=scope["path"],
                status=status,
                seconds=round(seconds, 4),
                **state["log"],
            )


def protect(headers: MutableHeaders, path: str, request: str) -> None:
    """Set the headers that keep a page from doing what it should not."""
    headers[_REQUEST_ID] = request
    headers["content-security-policy"] = OPENAPI_PAGE if path == "/docs" else STRICT
    headers["x-content-type-options"] = "nosniff"
    headers["referrer-policy"] = "no-referrer"
    headers["cross-origin-opener-policy"] = "same-origin"
    if path.startswith("/v1"):
        headers["cache-control"] = "no-store"
