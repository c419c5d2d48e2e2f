"""`triplecheck serve` and `triplecheck mcp`."""

from __future__ import annotations

import os
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
    str | None, flag("--program NAME", "Program that answers unless a client names another. Default: kerag.", MODEL)
]
TimeoutOption = Annotated[float | None, flag("--timeout S", "Maximum seconds per request. Default: 120.", LIMITS)]


@flattened("json")
def serve(
    run: RunOptions,
    program: ProgramOption = None,
    base: BaseOption = None,
    host: Annotated[
        str | None, flag("--host ADDRESS", "Address to listen on. Default: 127.0.0.1, this machine alone.")
    ] = None,
    port: Annotated[int | None, flag("--port N", "Port to listen on; 0: a free one. Default: 8765.")] = None,
    allow_host: Annotated[
        list[str] | None,
        flag("--allow-host NAME", "Name under which the server is reached, besides localhost. Repeatable."),
    ] = None,
    allow_origin: Annotated[
        list[str] | None, flag("--allow-origin URL", "Origin of web pages that may call the server. Repeatable.")
    ] = None,
    no_keys: Annotated[bool, flag("--no-keys", "Answer everybody who reaches the server, also on a network.")] = False,
    timeout: TimeoutOption = None,
    concurrent: Annotated[
        int | None, flag("--concurrent N", "Questions answered at the same time. Default: 32.", LIMITS, min=1)
    ] = None,
    log_questions: Annotated[
        bool | None, flag("--log-questions", "Write questions and answers to the log.", OUTPUT)
    ] = None,
) -> None:
    """Serve a page at /, REST at /v1, its description at /docs, and the Model Context Protocol at /mcp.

    API keys, other limits and knowledge bases are set in `triplecheck.toml`, in the table `serve`; docs/serve.md
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
    timeout: TimeoutOption = None,
) -> None:
    """Offer ask, search, neighbours, match and verify as tools of the Model Context Protocol.

    A chat program or an agent starts this command and speaks to it over standard input and output.
    `triplecheck serve` has the same tools at /mcp.

    Examples:

        triplecheck mcp --kb kbs/films
    """
    settings = _with(run.settings(program=program), base, seconds=timeout)
    from triplecheck.kg.errors import extra

    with extra("mcp", "`triplecheck mcp`"):
        from triplecheck.app.serve.mcp_tools import make_tools
        from triplecheck.app.serve.server import Server
    make_tools(Server(_open(settings))).run("stdio")


def _listen_to(settings: Settings) -> None:
    """Serve until a signal ends the process."""
    from triplecheck.kg.errors import extra

    with extra("serve", "`triplecheck serve`"):
        from triplecheck.app.serve.log import event, start_logging
        from triplecheck.app.serve.rest import make_app
        from triplecheck.app.serve.run import listen, run_until_signal
    service = _open(settings)
    app = make_app(service)
    start_logging()
    limits = settings.serve
    listening = listen(limits.host, limits.port)
    host = f"[{limits.host}]" if ":" in limits.host else limits.host
    url = f"http://{host}:{listening.getsockname()[1]}"
    event("listening", url=url, bases=list(service.bases), program=service.default_program)
    run_until_signal(app, listening, limits.grace)


def _open(settings: Settings) -> Service:
    """The service, with everything that the first question needs already loaded."""
    from triplecheck.app.serve.service import Service

    with waiting(stderr(), "opening the knowledge bases"):
        service = Service(settings, _tracing(settings))
        service.warm_up()
    return service


def _tracing(settings: Settings) -> Tracing | None:
    """Tracing, if the environment names a collector."""
    if not any(name.startswith("OTEL_EXPORTER_OTLP") for name in os.environ):
        return None
    from triplecheck.kg.errors import extra

    with extra("otel", "Tracing"):
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
