"""The Model Context Protocol, with the client of its SDK: in this process, over HTTP, and as a child process."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from serving import SIBLINGS, TEACHER, service_of, serving

from triplecheck.app.serve.mcp_tools import make_tools
from triplecheck.app.serve.server import Server
from triplecheck.kg import KnowledgeBase

KEY = "a-key-of-more-than-sixteen-letters"


def called(server: Any, tool: str, **arguments: Any) -> Any:
    """The result of a tool."""

    async def call() -> Any:
        async with Client(server) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(call())


@pytest.fixture(scope="module")
def tools(bundled: KnowledgeBase) -> Any:
    return make_tools(Server(service_of(str(bundled.path))))


def test_the_tools_have_typed_results(tools: Any) -> None:
    async def listed() -> dict[str, Any]:
        async with Client(tools) as client:
            return {tool.name: tool for tool in (await client.list_tools()).tools}

    found = asyncio.run(listed())
    assert set(found) == {"ask", "search", "neighbours", "match", "verify"}
    assert "verdict" in found["ask"].output_schema["properties"]
    assert all(tool.annotations.read_only_hint for tool in found.values())


def test_a_question_is_answered_with_its_proof(tools: Any) -> None:
    answer = called(tools, "ask", question=TEACHER).structured_content
    assert (answer["answer"], answer["verdict"], answer["steps"]) == ("German", "proved", [])
    assert [row["tail_label"] for row in answer["proof"]] == ["Paul Hindemith", "German"]
    assert called(tools, "ask", question=SIBLINGS, steps=True).structured_content["steps"]


def test_a_graph_is_explored(tools: Any) -> None:
    found = called(tools, "search", text="Paul Hindemiht").structured_content["candidates"][0]
    about = called(tools, "neighbours", id=found["id"]).structured_content
    assert "student of" in {group["relation_label"] for group in about["groups"]}
    matched = called(tools, "match", patterns="?pupil 'student of' 'Paul Hindemith'").structured_content
    assert matched["count"] == 3
    claims = called(tools, "verify", text="Bernhard Heiden studied with Paul Hindemith.").structured_content["claims"]
    assert claims[0]["verdict"] == "in the graph"


def test_a_mistake_is_explained_to_the_model(tools: Any) -> None:
    result = called(tools, "ask", question=TEACHER, base="nope")
    assert result.is_error
    assert "no knowledge base 'nope'" in result.content[0].text
    result = called(tools, "search", text="x" * 1_001)
    assert "at most 1,000 are allowed" in result.content[0].text


def test_the_steps_are_reported_as_progress(tools: Any) -> None:
    steps: list[str | None] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        steps.append(message)

    async def call() -> None:
        async with Client(tools) as client:
            await client.call_tool("ask", {"question": TEACHER}, progress_callback=note)

    asyncio.run(call())
    assert any((step or "").startswith("linked: 'Bernhard Heiden'") for step in steps)


def test_tools_over_http_need_the_key(bundled: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALICE", KEY)
    service = service_of(str(bundled.path), keys={"alice": {"key_env": "ALICE"}})
    with serving(service) as running:
        refused = called(f"{running.url}/mcp", "search", text="Hindemith")
        assert refused.is_error
        assert "needs an API key" in refused.content[0].text
    with serving(service_of(str(bundled.path))) as running:
        answer = called(f"{running.url}/mcp", "ask", question=TEACHER).structured_content
        assert answer["answer"] == "German"


def test_a_program_starts_the_command_and_asks(kb: Path) -> None:
    words = ["-m", "triplecheck.app.main", "mcp", "--kb", str(kb)]
    process = StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ))
    answer = called(process, "ask", question=TEACHER).structured_content
    assert answer["answer"] == "Germany"
