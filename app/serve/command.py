"""`triplecheck serve` and `triplecheck mcp`."""

from __future__ import annotations

import contextlib
import math
import os
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from triplecheck.app.console import stderr, waiting
from triplecheck.app.options import DATA, LIMITS, MODEL, OUTPUT, RunOptions, flag, flattened

if TYPE_CHECKING:
    from triplecheck.app.config import ServeSettings, Settings
    from triplecheck.app.serve.service import Service
    from triplecheck.app.serve.tracing import Tracing

BaseOption = Annotated[
    list[str] | None,
    flag("--base NAME=KB", "Another knowledge base, which clients choose by this name. Repeatable.", DATA),
]
ProgramOption = Annotated[
    str | None,
    flag("--program NAME", "Program that answers unless a client names another. Default: kerag.", MODEL),
]
PortOption = Annotated[int | None, flag("--port N", "Port to listen on; 0: a free one. Default: 8765.")]
TimeoutOption = Annotated[float | None, flag("--timeout S", "Maximum seconds per request. Default: 120.", LIMITS)]


@flattened("json")
def serve(
    run: RunOptions,
    program: ProgramOption = None,
    base: BaseOption = None,
    host: Annotated[
        str | None, flag("--host ADDRESS", "Address to listen on. Default: 127.0.0.1, this machine alone.")
    ] = None,
    port: PortOption = None,
    allow_host: Annotated[
        list[str] | None,
        flag("--allow-host NAME", "Name under which the server is reached, besides localhost. Repeatable."),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        flag("--allow-origin URL", "Origin of web pages that may call the server. Repeatable."),
    ] = None,
    no_keys: Annotated[bool, flag("--no-keys", "Let everybody ask who reaches the server, also on a network.")] = False,
    timeout: TimeoutOption = None,
    concurrent: Annotated[
        int | None, flag("--concurrent N", "Questions answered at the same time. Default: 32.", LIMITS, min=1)
    ] = None,
    log_questions: Annotated[
        bool | None, flag("--log-questions", "Write questions and answers to the log.", OUTPUT)
    ] = None,
) -> None:
    """Answer questions over HTTP: a page at /, REST at /v1, OpenAPI at /docs, the Model Context Protocol at /mcp.

    API keys, other limits and knowledge bases stand in `triplecheck.toml`, in the table `serve`; docs/serve.md
    describes them. The log has one JSON object per request, on standard error. Budgets are per question.

    Examples:

        triplecheck serve

        triplecheck serve --kb kbs/films --base music=kbs/music --lm openai/gpt-4o-mini --port 8080
    """
    settings = _with(
        run.settings(program=program),
        base,
        host=host,
        port=port,
        hosts=allow_host,
        origins=allow_origin,
        seconds=timeout,
        concurrent=concurrent,
        log_questions=log_questions,
    )
    _refuse_strangers(settings.serve, no_keys)
    _listen_to(settings)


@flattened("json")
def mcp(
    run: RunOptions,
    program: ProgramOption = None,
    base: BaseOption = None,
    http: Annotated[bool, flag("--http", "Listen at http://127.0.0.1:PORT/mcp instead of standard input.")] = False,
    port: PortOption = None,
    timeout: TimeoutOption = None,
) -> None:
    """Offer ask, search, neighbours, match and verify as tools of the Model Context Protocol.

    A chat program or an agent starts this command and speaks to it over standard input and output. With --http it is a
    server of its own; `triplecheck serve` has the same tools at /mcp.

    Examples:

        triplecheck mcp --kb kbs/films

        triplecheck mcp --http --port 8766
    """
    settings = _with(run.settings(program=program), base, port=port, seconds=timeout)
    with _extra("mcp"):
        from triplecheck.app.serve.mcp_tools import make_tools
        from triplecheck.app.serve.server import Server
    if http:
        _refuse_strangers(settings.serve, no_keys=False)
        _listen_to(settings)
    else:
        service = _open(settings)
        make_tools(Server(service)).run("stdio")


def _listen_to(settings: Settings) -> None:
    """Serve until a signal ends the process."""
    with _extra("serve"):
        import uvicorn

        from triplecheck.app.serve.log import event, log_to
        from triplecheck.app.serve.rest import make_app
    service = _open(settings)
    app = make_app(service)
    log_to()
    limits = settings.serve
    listening = _listen(limits.host, limits.port)
    port = listening.getsockname()[1]
    host = f"[{limits.host}]" if ":" in limits.host else limits.host
    event("listening", url=f"http://{host}:{port}", bases=list(service.bases), program=service.default_program)
    configuration = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=math.ceil(limits.grace),
    )
    uvicorn.Server(configuration).run(sockets=[listening])


def _open(settings: Settings) -> Service:
    """The service, with everything loaded that the first question needs."""
    from triplecheck.app.serve.service import Service

    with waiting(stderr(), "opening the knowledge bases"):
        service = Service(settings, _tracing(settings))
        service.warm_up()
    return service


def _tracing(settings: Settings) -> Tracing | None:
    """Tracing, if the environment names a collector."""
    if not any(name.startswith("OTEL_EXPORTER_OTLP") for name in os.environ):
        return None
    with _extra("otel"):
        from triplecheck.app.serve.tracing import tracing_to_collector
    return tracing_to_collector(show_texts=settings.serve.log_questions)


def _with(settings: Settings, base: list[str] | None, **flags: Any) -> Settings:
    """The configuration with the flags of the server in place of its table `serve`."""
    from triplecheck.app.config import ServeSettings, parse_pairs

    given = {name: value for name, value in flags.items() if value is not None}
    bases = settings.serve.bases | parse_pairs(base or (), "--base")
    return settings.model_copy(
        update={"serve": ServeSettings(**(settings.serve.model_dump() | given | {"bases": bases}))}
    )


def _refuse_strangers(limits: ServeSettings, no_keys: bool) -> None:
    """Refuse to listen on a network without keys."""
    from triplecheck.app.config import FILE
    from triplecheck.kg.errors import UserError

    if limits.host not in ("127.0.0.1", "::1", "localhost") and not limits.keys and not no_keys:
        raise UserError(
            f"--host {limits.host}: others could ask at your cost; name their keys in {FILE}, in the table "
            "serve.keys, or allow everybody with --no-keys"
        )


def _listen(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        UserError: the address is not one of this machine, or the port is in use.
    """
    from triplecheck.kg.errors import UserError

    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=2048)
    except OSError as error:
        raise UserError(
            f"cannot listen on {host}, port {port}: {error.strerror or error}; choose another --port"
        ) from None


@contextlib.contextmanager
def _extra(name: str) -> Iterator[None]:
    """Say which line installs what is missing."""
    from triplecheck.kg.errors import UnavailableError

    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("triplecheck"):
            raise
        raise UnavailableError(f"{error.name} is not installed: pip install 'triplecheck[{name}]'") from None
