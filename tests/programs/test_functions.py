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
from urllib.parse import unquote

import pytest
from program_parts import ask, build_turtle, conclude_with, items, keep, kerag, play, steps, topics
from pydantic import BaseModel

from triplecheck.kg import Direction, KnowledgeBase, UserError
from triplecheck.kg import Literal as Value
from triplecheck.kg.functions import CallLimits, FunctionGraph, read_openapi
from triplecheck.kg.types import XSD
from triplecheck.programs import KERAG, Sources, replay
from triplecheck.programs.steps import Called, Expanded, Truncated

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
GAME = {"type": "object", "properties": {"opponent": {"type": "string"}, "goals": {"type": "integer"}}}
DATE = {"name": "date", "in": "query", "required": True, "schema": {"type": "string", "format": "date"}}


def operation(id: str, summary: str, parameter: str, schema: dict[str, Any], *others: dict[str, Any]) -> dict[str, Any]:
    reply = {"200": {"content": {"application/json": {"schema": schema}}}}
    taken = {"name": parameter, "in": "path", "required": True, "schema": {"type": "string"}}
    return {"get": {"operationId": id, "summary": summary, "parameters": [taken, *others], "responses": reply}}


@dataclass
class Server:
    """Weather, league tables and games on loopback."""

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
                "/games/{team}": operation("games", "Games of a day.", "team", {"type": "array", "items": GAME}, DATE),
            },
            "components": {"schemas": {"Standing": ROW}},
        }


@contextmanager
def serve() -> Iterator[Server]:
    replies: dict[str, Any] = {
        "/weather/Eastport": {"temperature": 11.5, "wind": 7, "seen": "2026-11-26"},
        "/table/Northern League": [{"team": "Hill United", "points": 30}, {"team": "Harbour Rovers", "points": 41}],
    }
    replies |= {"/weather/Warmtown": {"temperature": "warm"}, "/weather/Listtown": {"wind": [1, 2]}}
    replies |= {"/null/Eastport": {"wind": None}}
    replies |= {
        "/games/Harbour Rovers?date=2026-03-14": [{"opponent": "Hill United", "goals": 3}],
        "/games/Harbour Rovers?date=2026-03-21": [{"opponent": "Hill United", "goals": 1}],
    }
    stop = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = unquote(self.path)
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


@pytest.mark.parametrize(
    ("city", "error"),
    [
        ("Warmtown", "temperature: 'warm' is not of type 'number'"),
        ("Listtown", "wind: [1, 2] is not of type 'integer'"),
    ],
)
def test_a_reply_that_is_not_as_declared_is_a_fact_that_is_missing(sources: Sources, city: str, error: str) -> None:
    kept = keep("temperature", "wind")
    result, _ = play(kerag(sources, hops=1), f"What is the weather in {city}?", topics(city), kept)
    assert result.abstained and result.reason == "no_facts"
    assert {step.error for step in steps(result, Called)} == {f"its result is not as declared: {error}"}


def test_a_question_gives_the_further_arguments_of_a_function(sources: Sources, server: Server) -> None:
    program = kerag(sources, hops=2)
    for day, date, goals in (("14 March 2026", "2026-03-14", "3"), ("21 March 2026", "2026-03-21", "1")):
        result, engine = play(
            program,
            f"How many goals did Harbour Rovers score on {day}?",
            topics("Harbour Rovers"),
            keep("games"),
            keep("goals"),
            conclude_with(goals, cite=["goals"]),
        )
        assert "Harbour Rovers → games (1 × games)" in items(engine.requests[1], "paths")
        assert items(engine.requests[3], "facts") == [
            f"Harbour Rovers → games → games: Hill United {{date: {date}}}",
            f"games: Hill United → goals → {goals}",
        ]
        assert [row.get("properties") for row in result.evidence] == [[{"date": date}], None]
        assert (result.answer, result.grounded) == (goals, True)
        assert replay(program.graph, result.evidence) == []
        (called,) = steps(result, Called)
        assert (called.argument, called.error) == (f"Harbour Rovers, {date}", "")
    assert server.asked == ["/games/Harbour Rovers?date=2026-03-14", "/games/Harbour Rovers?date=2026-03-21"]


def test_a_function_whose_further_arguments_the_question_does_not_give_is_not_offered(sources: Sources) -> None:
    question = "Which games did Harbour Rovers win in March 2026?"
    _, engine = play(kerag(sources, hops=1), question, topics("Harbour Rovers"), keep())
    assert not any("games" in line for line in items(engine.requests[1], "paths"))


def test_another_topic_and_a_year_are_further_arguments(league: KnowledgeBase) -> None:
    def wins(team: str, opponent_team: str, year: int) -> int:
        """Games that a team won against another one."""
        return {("Harbour Rovers", "Hill United"): 2, ("Hill United", "Harbour Rovers"): 5}[team, opponent_team] + year

    result, engine = play(
        kerag(Sources.of(league).with_functions([wins]), hops=1),
        "How often did Harbour Rovers win against Hill United in 1999?",
        topics("Harbour Rovers", "Hill United"),
        keep("Rovers → wins"),
        conclude_with("2001", cite=["→ wins"]),
    )
    assert [step.argument for step in steps(result, Called)] == ["Harbour Rovers, Hill United, 1999"]
    assert (result.answer, result.grounded) == ("2001", True)
    assert items(engine.requests[-1], "facts") == [
        "Harbour Rovers → wins → 2001 {opponent team: Hill United; year: 1999}"
    ]


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


def test_an_id_that_reads_as_a_number_is_an_argument(tmp_path: Path) -> None:
    def goals(player_id: int, since: float = 0.5) -> int:
        return player_id * 2

    def age(year: str) -> int:
        return 2026 - int(year)

    def votes(candidate: str) -> int:
        return len(candidate)

    base = KnowledgeBase.from_triples([("7", "plays for", "Rovers"), ("Rovers", "founded", "1990")])
    graph = graph_with(base, goals, age, votes)
    names = {graph.label(node): node for node in range(base.graph.num_nodes)}
    one, other = relation(graph, "function:goals"), relation(graph, "function:age")
    edges = graph.expand([names["7"], names["Rovers"]], one, Direction.OUT)
    (tail,) = edges.tails.tolist()
    assert graph.literal(tail) == Value("14", XSD + "integer")
    offered = {name: {c.relation for c in graph.relation_counts([node])} for name, node in names.items()}
    assert {one, other} <= offered["7"] and not {one, other} & offered["Rovers"]
    assert relation(graph, "function:votes") in offered["Rovers"], "a candidate is no date"


def test_values_over_the_limit_are_counted(league: KnowledgeBase) -> None:
    def squads(team: str) -> list[str]:
        return [f"player {number}" for number in range(8)]

    sources = Sources.of(league).with_functions([squads], CallLimits(values=3))
    count = conclude_with(cite=["squads"], operation="count")
    result, engine = play(
        kerag(sources, hops=1),
        "How many squads do Harbour Rovers have?",
        topics("Harbour Rovers"),
        keep("squads"),
        count,
    )
    (fact,) = items(engine.requests[-1], "facts")
    assert fact.endswith("player 2 | ... 5 more") and result.answer == "8"
    assert [(step.triples, step.total) for step in steps(result, Expanded)] == [(3, 8)]


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
    assert call is not None and call.error.startswith("its result is not as declared: Input should be a valid integer")


def test_functions_that_cannot_be_described_are_refused(league: KnowledgeBase) -> None:
    def untyped(city):  # type: ignore[no-untyped-def]
        return 1

    def two(city: str, team: str) -> int:
        return 1

    def several(cities: list[str]) -> int:
        return 1

    def nothing(city: str) -> None: ...

    sources = Sources.of(league)
    for function, message in (
        (untyped, "no annotation"),
        (several, "'cities' is a list or an object"),
        (nothing, "returns nothing"),
    ):
        with pytest.raises(UserError, match=message):
            sources.with_functions([function])
    with pytest.raises(UserError, match="two functions"):
        sources.with_functions([river_level, river_level])
    assert graph_with(league, partial(two, team="Rovers")).added[0].label == "two"


def test_an_operation_that_needs_a_header_is_refused_without_it(server: Server) -> None:
    key = {"name": "X-Key", "in": "header", "required": True, "schema": {"type": "string"}}
    paths = {**server.openapi["paths"], "/tide/{port}": operation("tide", "Tide now.", "port", ROW, key)}
    file = server.openapi | {"paths": paths}
    with pytest.raises(UserError, match=r"tide: needs the header 'X-Key'; give it with headers=, .*only="):
        read_openapi(file)
    assert len(read_openapi(file, headers={"x-key": "k"})) == 4
    assert len(read_openapi(file, only=["games"])) == 1


def test_a_reply_of_openapi_30_may_be_null_where_it_is_nullable(league: KnowledgeBase, server: Server) -> None:
    reading = {"type": "object", "properties": {"wind": {"type": "integer", "nullable": True}}}
    for nullable, error in ((True, ""), (False, "its result is not as declared: wind: None is not of type 'integer'")):
        reading["properties"] = {"wind": {"type": "integer", "nullable": nullable}}
        paths = {"/null/{city}": operation("wind", "Wind now.", "city", reading)}
        graph = graph_with(league, *read_openapi(server.openapi | {"openapi": "3.0.3", "paths": paths}))
        city, one = int(graph.nodes_of_type("http://example.org/City")[0]), relation(graph, "function:wind/wind")
        assert len(graph.expand([city], one, Direction.OUT)) == 0
        (call,) = graph.calls([city], one)
        assert call is not None and call.error == error


def test_an_openapi_file_is_refused_whole(tmp_path: Path, server: Server) -> None:
    file = tmp_path / "api.json"
    file.write_text(json.dumps(server.openapi), encoding="utf-8")
    assert [one.id for one in read_openapi(file, only=["league_table"])] == ["league_table"]
    with pytest.raises(UserError, match="no GET operation 'tables'"):
        read_openapi(file, only=["tables"])
    with pytest.raises(UserError, match="no server"):
        read_openapi(server.openapi | {"servers": []})
    wrong = operation("wrong", "", "city", {"type": "flaot"})
    with pytest.raises(UserError, match="wrong: the schema of its reply is wrong"):
        read_openapi(server.openapi | {"paths": {"/wrong/{city}": wrong}}, only=["wrong"])
    with pytest.raises(UserError, match="not OpenAPI 3"):
        read_openapi({"swagger": "2.0", "paths": {}})
    with pytest.raises(UserError, match="cannot be read"):
        read_openapi(tmp_path / "none.yaml")
