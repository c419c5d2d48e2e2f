"""The REST interface: a FastAPI application over a `Server`."""

from __future__ import annotations

import contextlib
import importlib.util
import ipaddress
import json
from collections.abc import AsyncIterator
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware

from triplecheck.app.config import ServeSettings
from triplecheck.app.serve import chat
from triplecheck.app.serve.clients import Client, TooManyRequestsError
from triplecheck.app.serve.failures import DOCUMENTED, failure
from triplecheck.app.serve.guard import Guard
from triplecheck.app.serve.server import ClientGoneError, Server
from triplecheck.app.serve.service import Service
from triplecheck.app.serve.types import (
    ANSWER_HELP,
    BASE_HELP,
    ID_HELP,
    PATTERNS_HELP,
    TEXT_HELP,
    Answer,
    Ask,
    Bases,
    Found,
    Matched,
    Neighbours,
    Programs,
    Step,
    Text,
    VerifiedText,
)
from triplecheck.kg import TriplecheckError

STATIC = Path(__file__).parent / "static"
_ABOUT = """
Questions over knowledge graphs. Each answer has a verdict, a confidence, and the triples that it rests on; where the
graph does not answer a question, the reply says so and has the nearest facts.
"""
Limit = Annotated[int, Query(ge=1, le=100, description="Maximum results.")]
BaseName = Annotated[str | None, Query(description=BASE_HELP)]

routes = APIRouter()
_BEARER = HTTPBearer(auto_error=False, description="The API key.")
_HEADER = APIKeyHeader(name="x-api-key", auto_error=False, description="The API key.")


def _server_of(request: Request) -> Server:
    server: Server = request.app.state.server
    return server


Serving = Annotated[Server, Depends(_server_of)]


async def _client_of(
    request: Request,
    server: Serving,
    bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)],
    key: Annotated[str | None, Depends(_HEADER)],
) -> Client:
    client = server.clients.admit(bearer.credentials if bearer else key)
    request.state.log["client"] = client.name
    if server.service.tracing is not None:
        server.service.tracing.follow(request.headers)
    return client


Asker = Annotated[Client, Depends(_client_of)]


# --- questions -------------------------------------------------------------------------------
@routes.post(
    "/v1/ask",
    tags=["questions"],
    responses=DOCUMENTED | {200: {"model": Answer, "content": {"text/event-stream": {}}}},
    response_model=Answer,
)
async def ask(asked: Ask, request: Request, server: Serving, client: Asker) -> Any:
    """Answer a question.

    With `stream`, the reply is a stream of server-sent events: a `step` for each step as it happens, then
    `answer` with the same object as without `stream`, or `error`.
    """
    work = server.work(asked, client)
    if asked.stream:
        return _stream(_server_sent(server.events(request, work), server))
    answer = await server.finished(request, work)
    server.record(request, answer)
    return answer


@routes.post("/v1/chat/completions", tags=["questions"], responses=DOCUMENTED, response_model=chat.Completion)
async def complete(asked: chat.Conversation, request: Request, server: Serving, client: Asker) -> Any:
    """Answer the last message of a conversation, in OpenAI's protocol.

    `model` names the program, or base and program: `kerag`, `films/kerag`. The question may refer to earlier ones. The
    steps are streamed as `reasoning_content`.
    """
    question = chat.question_of(asked, list(server.service.bases))
    work = server.work(question, client)
    if asked.stream:
        return _stream(chat.chunks(asked, server.events(request, work), server.failed))
    answer = await server.finished(request, work)
    server.record(request, answer)
    return chat.completion(asked, answer)


@routes.get("/v1/models", tags=["questions"], responses=DOCUMENTED)
async def models(server: Serving, client: Asker) -> chat.Models:
    """What may be the `model` of a conversation: every program on every base."""
    return chat.models(server.service.list_bases(), server.service.list_programs())


@routes.post("/v1/verify", tags=["questions"], responses=DOCUMENTED)
async def verify(text: Text, request: Request, server: Serving, client: Asker) -> VerifiedText:
    """Check a text against the graph, statement by statement."""
    checked = await server.finished(
        request, lambda _: server.service.verify(text.text, text.base, payer=client.ledger())
    )
    server.metrics.count_cost(checked.usage)
    return checked


# --- look-ups --------------------------------------------------------------------------------
@routes.get("/v1/search", tags=["look-ups"], responses=DOCUMENTED)
async def search(
    request: Request,
    server: Serving,
    client: Asker,
    q: Annotated[str, Query(description=TEXT_HELP)],
    base: BaseName = None,
    limit: Limit = 10,
) -> Found:
    """Find entities by name, and documents by words."""
    return await server.finished(request, lambda _: server.service.search(server.checked(q), base, limit))


@routes.get("/v1/neighbours", tags=["look-ups"], responses=DOCUMENTED)
async def neighbours(
    request: Request,
    server: Serving,
    client: Asker,
    id: Annotated[str, Query(description=ID_HELP)],
    base: BaseName = None,
    limit: Limit = 10,
) -> Neighbours:
    """A node: its description, its edges by relation, and its documents."""
    return await server.finished(request, lambda _: server.service.neighbours(id, base, limit))


@routes.get("/v1/match", tags=["look-ups"], responses=DOCUMENTED)
async def match(
    request: Request,
    server: Serving,
    client: Asker,
    patterns: Annotated[str, Query(description=PATTERNS_HELP)],
    answer: Annotated[str | None, Query(description=ANSWER_HELP)] = None,
    exact: Annotated[bool, Query(description="Join patterns that form a cycle.")] = False,
    relax: Annotated[bool, Query(description="If nothing satisfies all patterns, drop as few as possible.")] = False,
    base: BaseName = None,
    limit: Limit = 20,
) -> Matched:
    """The nodes that satisfy triple patterns, each with the triples that prove it."""
    options: dict[str, Any] = {"answer": answer, "exact": exact, "relax": relax, "limit": limit}
    return await server.finished(request, lambda _: server.service.match(server.checked(patterns), base, **options))


@routes.get("/v1/bases", tags=["look-ups"], responses=DOCUMENTED)
async def bases(server: Serving, client: Asker) -> Bases:
    """The knowledge bases."""
    return server.service.list_bases()


@routes.get("/v1/programs", tags=["look-ups"], responses=DOCUMENTED)
async def programs(server: Serving, client: Asker) -> Programs:
    """The programs."""
    return server.service.list_programs()


# --- the server itself -------------------------------------------------------------------------
@routes.get("/healthz", tags=["server"])
async def healthz() -> dict[Literal["status"], Literal["ok"]]:
    """Whether the server answers. It begins to listen when its bases are open."""
    return {"status": "ok"}


@routes.get("/metrics", tags=["server"], responses=DOCUMENTED)
async def measurements(server: Serving, client: Asker) -> Response:
    """Measurements for Prometheus."""
    return Response(server.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


@routes.get("/", include_in_schema=False)
async def page() -> FileResponse:
    """The page for people."""
    return FileResponse(STATIC / "index.html")


@routes.get("/docs", include_in_schema=False)
async def openapi_page() -> FileResponse:
    """The description of the interface, by Swagger UI."""
    return FileResponse(STATIC / "openapi.html")


def make_app(service: Service) -> FastAPI:
    """The application.

    Raises:
        UserError: a key is missing in the environment.
    """
    server = Server(service)
    limits = service.settings.serve
    tools = None
    if importlib.util.find_spec("mcp") is not None:
        from triplecheck.app.serve import mcp_tools

        tools = mcp_tools.make_tools(server)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with contextlib.nullcontext() if tools is None else tools.session_manager.run():
            yield
            server.turns.stop()
            if service.tracing is not None:
                service.tracing.flush()

    app = FastAPI(
        title="Triplecheck",
        version=version("triplecheck"),
        description=_ABOUT,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
    )
    app.state.server = server
    app.include_router(routes)
    if tools is not None:
        app.router.routes.extend(mcp_tools.http_routes(tools, limits.body))
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    _handle_errors(app, server)
    app.add_middleware(
        CORSMiddleware,
        allow_origins=limits.origins,
        allow_methods=["GET", "POST"],
        allow_headers=["authorization", "content-type", "x-api-key"],
    )
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=_names(limits))
    app.add_middleware(Guard, body=limits.body, metrics=server.metrics)
    return app


def _names(limits: ServeSettings) -> list[str]:
    """The names under which the server is reached."""
    try:
        is_name = not ipaddress.ip_address(limits.host).is_unspecified
    except ValueError:
        is_name = True
    host = f"[{limits.host}]" if ":" in limits.host else limits.host
    return ["localhost", "127.0.0.1", "[::1]", *([host] if is_name else []), *limits.hosts]


def _handle_errors(app: FastAPI, server: Server) -> None:
    """Give every error the same form."""

    @app.exception_handler(TriplecheckError)
    async def expected(_: Request, error: TriplecheckError) -> JSONResponse:
        status, body = server.failed(error)
        headers = {"retry-after": f"{error.seconds:.0f}"} if isinstance(error, TooManyRequestsError) else {}
        if status == 401:
            headers["www-authenticate"] = "Bearer"
        return JSONResponse(body.model_dump(), status, headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        wrong = [f"{'.'.join(map(str, one['loc'][1:])) or 'body'}: {one['msg']}" for one in error.errors()]
        return JSONResponse(failure("invalid", "; ".join(wrong)).model_dump(), 422)

    @app.exception_handler(HTTPException)
    async def http(_: Request, error: HTTPException) -> JSONResponse:
        return JSONResponse(failure("http", str(error.detail)).model_dump(), error.status_code)

    @app.exception_handler(ClientGoneError)
    async def gone(_: Request, error: ClientGoneError) -> JSONResponse:
        return JSONResponse(failure("client_gone", "the client is gone").model_dump(), 499)


def _stream(lines: AsyncIterator[str]) -> StreamingResponse:
    # Proxies must pass each event on at once.
    return StreamingResponse(lines, media_type="text/event-stream", headers={"x-accel-buffering": "no"})


async def _server_sent(items: AsyncIterator[Step | Answer | None], server: Server) -> AsyncIterator[str]:
    """Steps and the answer as server-sent events; an error as the last one."""
    try:
        async for item in items:
            if item is None:
                yield ": the program works\n\n"
            else:
                yield _event("step" if isinstance(item, Step) else "answer", item)
    except Exception as error:  # noqa: BLE001 - the status has been sent: the error is an event
        yield _event("error", server.failed(error)[1])


def _event(name: str, data: BaseModel) -> str:
    return f"event: {name}\ndata: {json.dumps(data.model_dump(mode='json'), ensure_ascii=False)}\n\n"
