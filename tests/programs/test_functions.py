"""KERAG with functions beside the graph: offered by schema, called when kept, missing where they fail."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

import pytest
from program_parts import ask, build_turtle, conclude_with, items, keep, kerag, play, steps, topics
from pydantic import BaseModel

from triplecheck.kg import Direction, KnowledgeBase, UserError
from triplecheck.kg import Literal as Value
from triplecheck.kg.functions import CallLimits, FunctionGraph, read_openapi
from triplecheck.kg.types import XSD
from triplecheck.programs import KERAG, Sources, replay
from triplecheck.programs.steps import Called, Truncated

LEAGUE = """
:rovers a :Team ; rdfs:label "Harbour Rovers" ; :home :eastport .
:united a :Team ; rdfs:label "Hill United" ; :home :westhill .
:eastport a :City ; rdfs:label "Eastport" ; :mayor :ada . :westhill a :City ; rdfs:label "Westhill" .
:ada a :Person ; rdfs:label "Ada Moe" . :north a :League ; rdfs:label "Northern League" .
:rovers :plays_in :north . :united :plays_in :north .
:home rdfs:label "home city" .
"""
OBSERVATION = {
    "type": "object",
    "properties": {
        "temperature": {"type": "number", "description": "in degrees Celsius"},
        "wind": {"type": "integer"},
        "seen": {"type": "string", "format": "date"},
    },
}
ROW = {"type": "object", "properties": {"team": {"type": "string"}, "points": {"type": "integer"}}}


def operation(id: str, summary: str, parameter: str, schema: dict[str, Any]) -> dict[str, Any]:
    reply = {"200": {"content": {"application/json": {"schema": schema}}}}
    taken = {"name": parameter, "in": "path", "required": True, "schema": {"type": "string"}}
    return {"get": {"operationId": id, "summary": summary, "parameters": [taken], "responses": reply}}


@dataclass
class Server:
    """Weather and league tables on loopback."""

    address: str
    asked: list[str] = field(default_factory=list)

    @property
    def openapi(self) -> dict[str, Any]:
        table = {"type": "array", "items": {"$ref": "#/components/schemas/Standing"}}
        return {
            "openapi": "3.1.0",
            "servers": [{"url": self.address}],
            "paths": {
                "/weather/{city}": operation("current_weather", "Weather now.", "city", OBSERVATION),
                "/table/{league}": operation("league_table", "The teams and their points.", "league", table),
            },
            "components": {"schemas": {"Standing": ROW}},
        }


@contextmanager
def serve() -> Iterator[Server]:
    replies = {
        "/weather/Eastport": {"temperature": 11.5, "wind": 7, "seen": "2026-11-26"},
        "/table/Northern League": [{"team": "Hill United", "points": 30}, {"team": "Harbour Rovers", "points": 41}],
    }
    stop = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = unquote(urlsplit(self.path).path)
            server.asked.append(path)
            if path == "/weather/Slowtown":
                stop.wait(30)
            body = json.dumps(replies.get(path, {})).encode()
            self.send_response(200 if path in replies else 503)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        server = Server(f"http://127.0.0.1:{http.server_port}")
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            stop.set()
            http.shutdown()
            thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    with serve() as running:
        yield running


@pytest.fixture(scope="module")
def league(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return build_turtle(LEAGUE, tmp_path_factory.mktemp("league"), encoder="all-MiniLM-L6-v2")


@pytest.fixture
def sources(league: KnowledgeBase, server: Server) -> Sources:
    return Sources.of(league).with_functions(read_openapi(server.openapi), CallLimits(seconds=2))


# --- KERAG ---------------------------------------------------------------------------------------
def test_a_function_is_offered_by_its_schema_and_called_when_its_path_is_kept(sources: Sources, server: Server) -> None:
    program = kerag(sources, hops=1)
    offered: list[str] = []

    def select(request: Any) -> str:
        offered.extend(items(request, "paths"))
        assert server.asked == []
        return keep("temperature")(request)

    result, _ = play(
        program,
        "How warm is it in Eastport?",
        topics("Eastport", domain="City"),
        select,
        conclude_with("11.5", cite=["temperature"]),
    )
    assert "Eastport → current weather temperature (1 × decimal)" in offered
    assert not any("league table" in line for line in offered), "a city is no league"
    assert server.asked == ["/weather/Eastport"]
    assert (result.answer, result.grounded) == ("11.5", True)
    assert replay(program.graph, result.evidence) == []
    assert [called.error for called in steps(result, Called)] == [""]


def test_objects_of_a_result_are_followed_and_lead_back_into_the_graph(sources: Sources, server: Server) -> None:
    result, _ = play(
        kerag(sources, hops=3),
        "In which city is the team with 41 points in the Northern League at home?",
        topics("Northern League"),
        keep("league table"),
        keep("team", "points"),
        keep("home city"),
        conclude_with("Eastport", cite=["Harbour Rovers"]),
    )
    assert result.answer == "Eastport"
    assert {"function:league_table", "function:Standing/team"} < {row["relation"] for row in result.evidence}
    assert server.asked == ["/table/Northern League"], "one call gives all rows"


def test_a_function_that_fails_is_a_fact_that_is_missing(sources: Sources) -> None:
    result, _ = play(
        kerag(sources, hops=1),
        "How warm is it in Westhill?",
        topics("Westhill"),
        keep("temperature"),
    )
    assert result.abstained and result.reason == "no_facts"
    assert steps(result, Called)[0].error == "ValueError: the server replies 503 Service Unavailable"


def test_a_name_that_the_graph_does_not_have_is_looked_up_by_functions_within_the_time_limit(
    league: KnowledgeBase, server: Server
) -> None:
    sources = Sources.of(league).with_functions(read_openapi(server.openapi), CallLimits(seconds=0.2))
    result, _ = play(kerag(sources, hops=1), "How warm is it in Slowtown?", topics("Slowtown"), keep("temperature"))
    assert [step.error for step in steps(result, Called)] == ["no reply within 0.2 s"]


def test_the_baseline_answers_from_a_function(sources: Sources) -> None:
    result = ask(KERAG(sources), "What is the current temperature in Eastport?")
    assert (result.answer, result.grounded) == ("11.5", True)


def test_a_query_is_of_the_stored_graph(sources: Sources) -> None:
    result: Any = ask(KERAG(sources), "How many teams are there?")
    assert (result.answer, bool(result.query)) == ("2", True)


def test_what_the_ranker_suggests_beside_the_model_is_not_called(sources: Sources, server: Server) -> None:
    play(
        kerag(sources, hops=1, assist="-all_topics -plans"),
        "Who is the mayor of Eastport?",
        topics("Eastport"),
        keep("mayor"),
        conclude_with("Ada Moe", cite=["mayor"]),
    )
    assert server.asked == []


# --- functions -----------------------------------------------------------------------------------
class Reading(BaseModel):
    level: float
    station: str | None = None


def river_level(river: str, unit: Literal["m", "ft"], days: int = 1) -> list[Reading]:
    """Water levels of a river."""
    return [Reading(level=2.5 if unit == "m" else 8.2, station=f"{river} bridge")]


def graph_with(base: KnowledgeBase, *functions: Any, **limits: Any) -> FunctionGraph:
    graph = Sources.of(base).with_functions(functions, CallLimits(**limits)).graph
    assert isinstance(graph, FunctionGraph)
    return graph


def relation(graph: FunctionGraph, id: str) -> int:
    found = graph.find_relation(id)
    assert found is not None, [one.id for one in graph.added]
    return found


def test_each_choice_of_an_argument_is_a_relation(league: KnowledgeBase) -> None:
    graph = graph_with(league, river_level)
    assert [one.label for one in graph.added] == ["river level unit m", "level", "station", "river level unit ft"]
    edges = graph.expand([0], relation(graph, "function:river_level;unit=ft"), Direction.OUT)
    levels = graph.expand(edges.tails, relation(graph, "function:Reading/level"), Direction.OUT)
    assert [graph.literal(tail) for tail in levels.tails.tolist()] == [Value("8.2", XSD + "decimal")]
    assert graph.label(int(edges.tails[0])) == f"Reading: {graph.label(0)} bridge"


def test_results_are_kept_and_errors_too(league: KnowledgeBase) -> None:
    calls: list[str] = []

    def inhabitants(city: str) -> int:
        calls.append(city)
        if city == "Westhill":
            raise RuntimeError("offline")
        return 1200

    graph = graph_with(league, inhabitants)
    one = relation(graph, "function:inhabitants")
    cities = graph.nodes_of_type("http://example.org/City").tolist()
    for _ in range(2):
        assert len(graph.expand(cities, one, Direction.OUT)) == 1
    assert sorted(calls) == ["Eastport", "Westhill"]
    assert graph.schema(one).range == ((XSD + "integer", 1),)
    assert [count.edges for count in graph.relation_counts(cities) if count.relation == one] == [2]
    assert len(graph.expand(cities)) == len(league.graph.expand(cities)) + 1, "no relation is named: nothing is called"
    team = graph.nodes_of_type("http://example.org/Team").tolist()
    assert one not in {count.relation for count in graph.relation_counts(team)}, "a team is no city"


def test_calls_of_one_hop_are_limited_and_the_trace_says_so(league: KnowledgeBase) -> None:
    def inhabitants(of: str) -> int:
        return len(of)

    sources = Sources.of(league).with_functions([inhabitants], CallLimits(calls=1))
    result, _ = play(
        kerag(sources, hops=2),
        "How many people live in the home cities of the Northern League's teams?",
        topics("Northern League"),
        keep("plays in"),
        keep("inhabitants"),
        conclude_with("8"),
    )
    assert [(step.kept, step.total) for step in steps(result, Truncated) if step.what.startswith("calls")] == [(1, 2)]


def test_a_result_that_is_not_as_declared_is_missing(league: KnowledgeBase) -> None:
    def founded(team: str) -> int:
        return "long ago"  # type: ignore[return-value]

    graph = graph_with(league, founded)
    team = int(graph.nodes_of_type("http://example.org/Team")[0])
    assert len(graph.expand([team], relation(graph, "function:founded"), Direction.OUT)) == 0
    (call,) = graph.calls([team], relation(graph, "function:founded"))
    assert call.error.startswith("its result is not as declared: Input should be a valid integer")


def test_functions_that_cannot_be_described_are_refused(league: KnowledgeBase) -> None:
    def untyped(city):  # type: ignore[no-untyped-def]
        return 1

    def two(city: str, team: str) -> int:
        return 1

    def nothing(city: str) -> None: ...

    sources = Sources.of(league)
    for function, message in (
        (untyped, "no annotation"),
        (two, "neither a default nor a list of values"),
        (nothing, "returns nothing"),
    ):
        with pytest.raises(UserError, match=message):
            sources.with_functions([function])
    with pytest.raises(UserError, match="two functions"):
        sources.with_functions([river_level, river_level])
    assert graph_with(league, partial(two, team="Rovers")).added[0].label == "two"


def test_an_openapi_file_is_refused_whole(tmp_path: Path, server: Server) -> None:
    file = tmp_path / "api.json"
    file.write_text(json.dumps(server.openapi), encoding="utf-8")
    assert [one.id for one in read_openapi(file, only=["league_table"])] == ["league_table"]
    with pytest.raises(UserError, match="no GET operation 'tables'"):
        read_openapi(file, only=["tables"])
    with pytest.raises(UserError, match="no server"):
        read_openapi(server.openapi | {"servers": []})
    with pytest.raises(UserError, match="not OpenAPI 3"):
        read_openapi({"swagger": "2.0", "paths": {}})
    with pytest.raises(UserError, match="cannot be read"):
        read_openapi(tmp_path / "none.yaml")
