"""The REST interface, over HTTP, on the bundled graph and the rule-based baseline."""

from __future__ import annotations

import json
import logging
import threading
import time
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import httpx
import openai
import pytest
from cli_support import fields
from model_stand_ins import costly_rules, scripted_model
from serving import SIBLINGS, TEACHER, Running, service_of, serving

from triplecheck.app.config import load_settings
from triplecheck.app.serve.service import Service
from triplecheck.kg import KnowledgeBase
from triplecheck.kg.functions import openapi

TOPICS = fields(topics="Bernhard Heiden", domain="composer")
ALICE, BOB = "alice-has-this-long-key", "bob-has-another-long-key"


@pytest.fixture(scope="module")
def server(bundled: KnowledgeBase) -> Iterator[Running]:
    with serving(service_of(str(bundled.path), question=200, body=5_000)) as running:
        yield running


def until(happened: Callable[[], bool]) -> None:
    """Wait until something has happened."""
    end = time.monotonic() + 30
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


# --- questions -------------------------------------------------------------------------------------
def test_an_answer_has_its_verdict_and_its_proof_by_names(server: Running) -> None:
    answer = server.ask().json()
    assert (answer["answer"], answer["verdict"], answer["grounded"]) == ("German", "proved", True)
    assert answer["confidence"] > 0.5
    assert [(row["head_label"], row["relation_label"], row["tail_label"]) for row in answer["proof"]] == [
        ("Bernhard Heiden", "student of", "Paul Hindemith"),
        ("Paul Hindemith", "nationality", "German"),
    ]
    assert answer["usage"]["calls"] == 4
    assert answer["steps"][-1]["kind"] == "answered"
    assert answer["picture"] is None


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_question_may_have_decomposed_characters(server: Running, form: Literal["NFC", "NFD"]) -> None:
    answer = server.ask(unicodedata.normalize(form, "When was Leoš Janáček born?")).json()
    assert (answer["answer"][:4], answer["verdict"]) == ("1854", "proved")
    assert answer["proof"][0]["head_label"] == "Leoš Janáček"


def test_an_abstention_has_the_nearest_facts(server: Running) -> None:
    answer = server.ask(SIBLINGS).json()
    assert (answer["abstained"], answer["answer"], answer["verdict"]) == (True, "", "unknown")
    assert answer["reason"]
    assert "Glenn Gould" in {row["head_label"] for row in answer["nearest"]}


def test_the_stream_has_the_steps_and_then_the_same_answer(server: Running) -> None:
    events = server.events()
    assert [name for name, _ in events] == ["step"] * (len(events) - 1) + ["answer"]
    whole = server.ask().json()
    assert [step["text"] for _, step in events[:-1]] == [step["text"] for step in whole["steps"]]
    assert events[-1][1]["proof"] == whole["proof"]


def test_the_picture_has_three_weights(server: Running) -> None:
    picture = server.ask(picture=True).json()["picture"]
    names = {node["id"]: node["label"] for node in picture["nodes"]}
    edges = {(names[e["source"]], e["label"], names[e["target"]]): e["weight"] for e in picture["edges"]}
    assert edges[("Bernhard Heiden", "student of", "Paul Hindemith")] == "proved"
    assert edges[("Bernhard Heiden", "nationality", "American")] == "kept"
    assert edges[("Bernhard Heiden", "place of birth", "Frankfurt am Main")] == "looked_at"
    parts = {node["label"]: node["part"] for node in picture["nodes"]}
    assert (parts["Bernhard Heiden"], parts["German"]) == ("topic", "answer")


@pytest.mark.parametrize("program", ["anchorrag", "4stepfocus", "tog"])
def test_a_client_chooses_the_program(server: Running, program: str) -> None:
    answer = server.ask(program=program, picture=True).json()
    assert answer["program"] == program
    assert answer["picture"]["nodes"]


def test_a_text_is_verified(server: Running) -> None:
    text = "Bernhard Heiden studied with Paul Hindemith."
    claims = server.http.post("/v1/verify", json={"text": text}).json()["claims"]
    assert [claim["verdict"] for claim in claims] == ["in the graph"]
    assert claims[0]["evidence"][0]["tail_label"] == "Paul Hindemith"


# --- OpenAI's protocol -----------------------------------------------------------------------------
@pytest.fixture
def chat(server: Running) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)


def test_openais_client_gets_answer_and_proof(chat: openai.OpenAI) -> None:
    assert "kb/kerag" in {model.id for model in chat.models.list()}
    reply = chat.chat.completions.create(model="kb/kerag", messages=[{"role": "user", "content": TEACHER}])
    text = reply.choices[0].message.content
    assert text is not None
    assert text.startswith("German\n")
    assert "- Bernhard Heiden —student of→ Paul Hindemith" in text
    assert reply.model_dump()["triplecheck"]["verdict"] == "proved"


def test_openais_client_gets_the_steps_as_reasoning(chat: openai.OpenAI) -> None:
    stream = chat.chat.completions.create(
        model="triplecheck", messages=[{"role": "user", "content": SIBLINGS}], stream=True
    )
    deltas = [chunk.choices[0].delta.model_dump() for chunk in stream]
    assert any("linked: 'Glenn Gould'" in (delta.get("reasoning_content") or "") for delta in deltas)
    text = "".join(delta.get("content") or "" for delta in deltas)
    assert text.startswith("Not in the graph")


def test_a_follow_up_question_is_understood(chat: openai.OpenAI, server: Running) -> None:
    asked: Any = [{"role": "user", "content": "Who was the teacher of Bernhard Heiden?"}]
    first = chat.chat.completions.create(model="kb/kerag", messages=asked).choices[0].message.content
    asked += [{"role": "assistant", "content": first}, {"role": "user", "content": "And what was his nationality?"}]
    reply = chat.chat.completions.create(model="kb/kerag", messages=asked).model_dump()
    assert reply["triplecheck"]["question"] == "What was Paul Hindemith's nationality?"
    assert reply["triplecheck"]["answer"] == "German"
    turns = [
        {"question": SIBLINGS},
        {"question": "Who was the teacher of Bernhard Heiden?", "answer": "Paul Hindemith"},
    ]
    answer = server.http.post("/v1/ask", json={"question": "Where was he born?", "conversation": turns}).json()
    assert answer["question"] == "Where was Paul Hindemith born?"
    assert answer["answer"] == "Hanau"


def test_the_last_message_must_be_a_question(chat: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="must be a question of the user"):
        chat.chat.completions.create(model="kerag", messages=[{"role": "assistant", "content": "hello"}])


# --- look-ups --------------------------------------------------------------------------------------
def test_a_search_finds_a_misspelt_name_and_its_neighbours(server: Running) -> None:
    found = server.http.get("/v1/search", params={"q": "Paul Hindemiht"}).json()["candidates"][0]
    assert (found["label"], found["source"]) == ("Paul Hindemith", "typo")
    about = server.http.get("/v1/neighbours", params={"id": found["id"], "limit": 2}).json()
    assert about["label"] == "Paul Hindemith"
    pupils = next(g for g in about["groups"] if g["relation_label"] == "student of" and g["direction"] == "in")
    assert pupils["total"] == 3
    assert len(pupils["nodes"]) == 2


def test_patterns_are_matched(server: Running) -> None:
    reply = server.http.get("/v1/match", params={"patterns": "?pupil 'student of' 'Paul Hindemith'"}).json()
    assert (reply["variable"], reply["count"]) == ("pupil", 3)
    assert reply["answers"][0]["triples"] == [["Bernhard Heiden", "student of", "Paul Hindemith"]]


def test_a_cascade_serves_unless_a_client_names_a_program(bundled: KnowledgeBase) -> None:
    given = {"cascade": ["extractive"], "lm": "extractive?ranker=none"}
    service = Service(load_settings(kb=str(bundled.path), **given))
    answer = service.ask(TEACHER)
    assert (answer.program, answer.answer, answer.steps[0].kind) == ("cascade", "German", "asked")
    assert service.ask(TEACHER, program="cascade").steps[-1].kind == "chosen"
    assert service.ask(TEACHER, program="kerag").program == "kerag"
    listed = service.list_programs()
    assert (listed.default, listed.programs[0].name) == ("cascade", "cascade")


def test_a_picture_shows_what_a_function_returns(bundled: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    person = {"name": "person", "in": "query", "required": True, "schema": {"type": "string"}}
    reply = {"200": {"content": {"application/json": {"schema": {"type": "integer"}}}}}
    get = {"operationId": "shoe_size", "parameters": [person], "responses": reply}
    Path("api.json").write_text(json.dumps({"openapi": "3.1.0", "paths": {"/shoes": {"get": get}}}), "utf-8")
    monkeypatch.setattr(openapi, "_get", lambda *_: 43)
    file = {"file": "api.json", "server": "http://127.0.0.1:1"}
    service = Service(load_settings(kb=str(bundled.path), openapi=[file]))
    answer = service.ask("What is the shoe size of Bernhard Heiden?", picture=True)
    assert answer.answer == "43" and answer.picture is not None
    assert "43" in {node.label for node in answer.picture.nodes}


def test_bases_and_programs_are_listed(server: Running) -> None:
    base = server.http.get("/v1/bases").json()["bases"][0]
    assert base["name"] == "kb"
    assert base["triples"] > 9_000
    programs = server.http.get("/v1/programs").json()
    assert programs["default"] == "kerag"
    assert "anchorrag" in {program["name"] for program in programs["programs"]}


def test_openapi_describes_the_answer(server: Running) -> None:
    described = server.http.get("/openapi.json").json()
    assert "verdict" in described["components"]["schemas"]["Answer"]["properties"]
    page = server.http.get("/docs").text
    assert "http" not in page.replace("http-equiv", ""), "the page works offline"


# --- limits ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("request_", "status", "says"),
    [
        ({"json": {"question": "x", "base": "nope"}}, 404, "no knowledge base 'nope'; there are: kb"),
        ({"json": {"question": "x", "program": "nope"}}, 404, "no program 'nope'"),
        ({"json": {"question": " "}}, 400, "the question is empty"),
        ({"json": {"question": "x" * 201}}, 400, "at most 200 are allowed"),
        ({"json": {"question": "x", "lm": "openai/gpt-4"}}, 422, "lm: Extra inputs"),
        ({"json": {"question": "x" * 6_000}}, 413, "more than 5,000 bytes"),
        ({"content": iter([b'{"question": "', b"x" * 9_000])}, 413, "more than 5,000 bytes"),
        ({"content": b'{"question": "x"}', "headers": {"content-type": "text/plain"}}, 422, "body"),
        ({"json": {"question": "x"}, "headers": {"host": "evil.example"}}, 400, "Invalid host"),
    ],
)
def test_a_wrong_request_is_refused(server: Running, request_: dict[str, Any], status: int, says: str) -> None:
    reply = server.http.post("/v1/ask", **request_)
    assert reply.status_code == status
    assert says in reply.text


def test_pages_of_others_may_not_read_replies(server: Running) -> None:
    asked = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    assert "access-control-allow-origin" not in server.http.options("/v1/ask", headers=asked).headers
    reply = server.http.get("/v1/bases", headers={"origin": "https://evil.example"})
    assert "access-control-allow-origin" not in reply.headers
    assert "script-src 'self'" in reply.headers["content-security-policy"]


def test_clients_need_their_keys_and_keep_to_their_limits(
    bundled: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALICE", ALICE)
    monkeypatch.setenv("BOB", BOB)
    keys = {
        "alice": {"key_env": "ALICE", "per_minute": 3},
        "bob": {"key_env": "BOB", "budget": {"calls": 7}},
    }
    with costly_rules(), serving(service_of(str(bundled.path), "costly", keys=keys)) as running:
        assert running.http.get("/healthz").status_code == 200
        for wrong in ({}, {"authorization": "Bearer wrong"}, {"x-api-key": ALICE[:-1]}):
            reply = running.http.get("/v1/bases", headers=wrong)
            assert (reply.status_code, reply.json()["error"]["type"]) == (401, "unknown_key")
        codes = [running.http.get("/v1/bases", headers={"x-api-key": ALICE}) for _ in range(4)]
        assert [reply.status_code for reply in codes] == [200, 200, 200, 429]
        assert int(codes[-1].headers["retry-after"]) > 0
        running.http.headers["authorization"] = f"Bearer {BOB}"
        assert running.ask().status_code == 200
        spent = running.ask(SIBLINGS)
        assert (spent.status_code, spent.json()["error"]["type"]) == (429, "budget_spent")
        assert running.events(SIBLINGS)[-1][0] == "error"


def test_no_more_questions_run_than_may(bundled: KnowledgeBase) -> None:
    go_on = threading.Event()

    def wait(_: Any) -> str:
        assert go_on.wait(60)
        return TOPICS

    with (
        scripted_model([wait] * 4, "slow") as engine,
        serving(service_of(str(bundled.path), "slow", concurrent=1, waiting=0, seconds=0.5)) as running,
    ):
        late = running.ask("Who taught Bernhard Heiden?")
        assert (late.status_code, late.json()["error"]["type"]) == (504, "timeout")
        # Its call to the model still runs: its place is not free.
        full = running.ask()
        assert (full.status_code, full.json()["error"]["type"]) == (429, "too_many_requests")
        go_on.set()
        until(lambda: running.app.state.server.turns.running == 0)
        assert len(engine.requests) == 1


def test_a_question_ends_if_its_client_goes_away(bundled: KnowledgeBase) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def wait(_: Any) -> str:
        asked.set()
        assert go_on.wait(60)
        return TOPICS

    with scripted_model([wait] * 9, "left") as engine, serving(service_of(str(bundled.path), "left")) as running:
        body = {"question": TEACHER, "stream": True}
        with httpx.stream("POST", f"{running.url}/v1/ask", json=body):
            assert asked.wait(30)
        turns = running.app.state.server.turns
        assert turns.running == 1
        time.sleep(0.2)  # the server sees that the connection is closed
        go_on.set()
        until(lambda: turns.running == 0)
        assert len(engine.requests) == 1


def test_a_server_that_stops_says_so(bundled: KnowledgeBase) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def wait(_: Any) -> str:
        asked.set()
        assert go_on.wait(60)
        return TOPICS

    with scripted_model([wait], "stopped"), serving(service_of(str(bundled.path), "stopped")) as running:

        def stop() -> None:
            assert asked.wait(30)
            running.app.state.server.turns.stop()

        threading.Thread(target=stop).start()
        reply = running.ask()
        assert (reply.status_code, reply.json()["error"]["type"]) == (503, "stopping")
        assert running.ask().status_code == 503
        go_on.set()


def test_the_log_has_no_questions_unless_asked(
    server: Running, bundled: KnowledgeBase, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "triplecheck.serve")
    server.ask()
    server.http.get("/v1/search", params={"q": "Bernhard Heiden"})
    until(lambda: len(caplog.records) == 2)
    rows = [record.__dict__["fields"] for record in caplog.records]
    assert (rows[0]["path"], rows[0]["verdict"], rows[0]["client"]) == ("/v1/ask", "proved", "anybody")
    assert "Heiden" not in json.dumps(rows)
    caplog.clear()
    with serving(service_of(str(bundled.path), log_questions=True)) as running:
        running.ask()
        until(lambda: bool(caplog.records))
    assert caplog.records[0].__dict__["fields"]["question"] == TEACHER


def test_questions_and_requests_are_counted(server: Running) -> None:
    def count(name: str) -> float:
        line = next(row for row in server.http.get("/metrics").text.splitlines() if row.startswith(name))
        return float(line.rpartition(" ")[2])

    server.ask()
    name = 'triplecheck_questions_total{base="kb",program="kerag",verdict="proved"}'
    before = count(name)
    server.ask()
    assert count(name) == before + 1
    assert count('triplecheck_requests_total{route="/v1/ask",status="200"}') >= 2
