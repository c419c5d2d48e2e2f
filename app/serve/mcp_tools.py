"""The Model Context Protocol: the server's work as tools with typed results, for agents and chat programs."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Annotated, Any, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import ToolAnnotations
from pydantic import Field
from starlette.routing import BaseRoute

from triplecheck.app.serve.clients import ANYBODY, Client
from triplecheck.app.serve.server import Server
from triplecheck.app.serve.service import OnStep
from triplecheck.app.serve.turns import Done
from triplecheck.app.serve.types import (
    ANSWER_HELP,
    ID_HELP,
    PATTERNS_HELP,
    TEXT_HELP,
    Answer,
    Ask,
    Found,
    Matched,
    Neighbours,
    VerifiedText,
)
from triplecheck.kg import TriplecheckError
from triplecheck.programs import program_names

PATH = "/mcp"
_ABOUT = """
Knowledge graphs whose answers are proved. Use `ask` for a question in natural language: its answer has a verdict
(proved, supported, unsupported, unknown), a confidence and its triples. To explore a graph, find ids with `search`,
look around with `neighbours`, and combine conditions with `match`. Use `verify` to check a text of yours.
"""
_READS_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)
Result = TypeVar("Result")
Base = Annotated[str | None, Field(description="Knowledge base, by name. Default: the first one.")]
Limit = Annotated[int, Field(ge=1, le=100)]


def make_tools(server: Server) -> MCPServer:
    """The server's work as tools.

    Args:
        server: what runs it, with its limits.
    """
    bases, programs = ", ".join(server.service.bases), ", ".join(program_names())
    about = f"{_ABOUT}\nKnowledge bases: {bases}.\nPrograms: {programs}.\n"
    mcp = MCPServer("triplecheck", title="Triplecheck", version=version("triplecheck"), instructions=about)
    local = Client(ANYBODY)

    def client_of(context: Context) -> Client:
        if context.headers is None:  # over standard input: whoever started the process
            return local
        headers = {name.lower(): value for name, value in context.headers.items()}
        bearer = headers.get("authorization", "")
        return server.clients.admit(bearer.removeprefix("Bearer ") or headers.get("x-api-key"))

    async def run(context: Context, work: Callable[[Client], Callable[[OnStep], Result]]) -> Result:
        """The result of some work; its steps are reported as progress."""
        done = 0
        try:
            async for item in server.turns.run(work(client_of(context))):
                if isinstance(item, Done):
                    return item.result
                if item is not None:
                    done += 1
                    await context.report_progress(done, message=f"{item.kind}: {item.text}")
        except TriplecheckError as error:
            server.failed(error)
            raise ToolError(str(error)) from None
        raise AssertionError("work ended without a result")

    @mcp.tool(title="Ask a question", annotations=_READS_ONLY)
    async def ask(
        question: Annotated[str, Field(description="In natural language.")],
        context: Context,
        base: Base = None,
        program: Annotated[str | None, Field(description="Program, by name. Default: that of the server.")] = None,
        steps: Annotated[bool, Field(description="Add what the program did, step by step.")] = False,
    ) -> Answer:
        """Answer a question from the graph, with verdict, confidence and proof, or say what the graph lacks."""
        asked = Ask(question=question, base=base, program=program)
        answer = await run(context, lambda client: server.work(asked, client))
        server.metrics.count_answer(answer)
        return answer if steps else answer.model_copy(update={"steps": []})

    @mcp.tool(title="Find entities and documents", annotations=_READS_ONLY)
    async def search(
        text: Annotated[str, Field(description=TEXT_HELP)],
        context: Context,
        base: Base = None,
        limit: Limit = 10,
    ) -> Found:
        """Find entities by name, with their ids, and documents by words."""
        return await run(context, lambda _: lambda _: server.service.search(server.checked(text), base, limit))

    @mcp.tool(title="Look around a node", annotations=_READS_ONLY)
    async def neighbours(
        id: Annotated[str, Field(description=ID_HELP)],
        context: Context,
        base: Base = None,
        limit: Limit = 10,
    ) -> Neighbours:
        """A node of the graph: its description, its edges by relation, and its documents."""
        return await run(context, lambda _: lambda _: server.service.neighbours(id, base, limit))

    @mcp.tool(title="Match triple patterns", annotations=_READS_ONLY)
    async def match(
        patterns: Annotated[str, Field(description=PATTERNS_HELP)],
        context: Context,
        answer: Annotated[str | None, Field(description=ANSWER_HELP)] = None,
        base: Base = None,
        limit: Limit = 20,
    ) -> Matched:
        """The nodes that satisfy triple patterns, each with the triples that prove it."""
        options: dict[str, Any] = {"answer": answer, "exact": True, "limit": limit}
        return await run(context, lambda _: lambda _: server.service.match(server.checked(patterns), base, **options))

    @mcp.tool(title="Verify a text", annotations=_READS_ONLY)
    async def verify(
        text: Annotated[str, Field(description="Any text that states facts.")], context: Context, base: Base = None
    ) -> VerifiedText:
        """Check a text against the graph, statement by statement: in the graph, contradicted, plausible or unknown."""
        checked = await run(context, lambda client: lambda _: server.service.verify(text, base, payer=client.ledger()))
        server.metrics.count_cost(checked.usage)
        return checked

    return mcp


def http_routes(mcp: MCPServer, body: int) -> list[BaseRoute]:
    """The route at which tools are reached over HTTP; `mcp.session_manager.run()` must run meanwhile.

    Args:
        body: bytes of a request.
    """
    # The application checks the names of hosts for all routes. Without sessions nothing grows with the requests.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = mcp.streamable_http_app(
        streamable_http_path=PATH, stateless_http=True, transport_security=security, max_request_body_size=body
    )
    return list(app.routes)
