"""Runs the application until a signal ends the process."""

from __future__ import annotations

import asyncio
import math
import socket

import uvicorn
from fastapi import FastAPI

from triplecheck.kg.errors import UserError

_TO_REPLY = 3  # seconds in which stopped requests get their replies


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        UserError: the address is not one of this machine, or the port is in use.
    """
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=2048)
    except OSError as error:
        why = error.strerror or error
        raise UserError(f"cannot listen on {host}, port {port}: {why}; choose another --port") from None


def run_until_signal(app: FastAPI, listening: socket.socket, grace: float) -> None:
    """Serve until SIGTERM or SIGINT. Then no request is accepted any more, and open ones have some time to end.

    Args:
        grace: seconds for open requests; those that are not done get an error.
    """
    _Server(app, grace).run(sockets=[listening])


class _Server(uvicorn.Server):
    def __init__(self, app: FastAPI, grace: float) -> None:
        self._app = app
        self._grace = grace
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=math.ceil(grace) + _TO_REPLY,
            )
        )

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().call_later(self._grace, self._app.state.server.turns.stop)
        await super().shutdown(sockets)
