"""Endpoints from the command line, by URL and by name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph
import pytest
from cli_support import Run, ok, refused
from serving import service_of, serving
from sparql_endpoint import Endpoint, serve
from virtuoso_server import free_port

TURTLE = """
@prefix e: <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
e:studentOf rdfs:label "student of" . e:nationality rdfs:label "nationality" .
e:heiden rdfs:label "Bernhard Heiden" ; e:studentOf e:hindemith .
e:hindemith rdfs:label "Paul Hindemith" ; e:nationality e:germany . e:germany rdfs:label "Germany" .
"""
QUESTION = "What was the nationality of Bernhard Heiden's teacher?"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    store = pyoxigraph.Store()
    store.load(TURTLE.encode(), pyoxigraph.RdfFormat.TURTLE)
    with serve(store) as served:
        yield served


@pytest.fixture
def url(endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("TRIPLECHECK_CACHE", str(tmp_path / "cache"))
    return endpoint.address + "/sparql"


def test_a_question_is_answered_from_a_url(run: Run, url: str) -> None:
    result = ok(run("ask", "Who was Bernhard Heiden a student of?", "--kb", url, "--json"))
    assert json.loads(result.stdout)["answer"] == "Paul Hindemith"


def test_patterns_are_matched(run: Run, url: str) -> None:
    result = run("kb", "match", url, "?person studentOf ?teacher; ?teacher nationality 'Germany'", "--json")
    assert [answer["label"] for answer in json.loads(result.stdout)["answers"]] == ["Bernhard Heiden"]


def test_info_counts_and_names_the_profile(run: Run, url: str) -> None:
    about = json.loads(run("kb", "info", url, "--json").stdout)
    assert (about["endpoint"], about["profile"], about["index"]) == (url, "general", "none")
    assert about["counts"] == {"nodes": 3, "relations": 2, "triples": 2}


def test_an_index_finds_misspelt_names_and_is_found_by_the_url(run: Run, url: str) -> None:
    assert json.loads(run("kb", "search", url, "Paul Hindemit", "--json").stdout)["candidates"] == []
    ok(run("kb", "index", url, "--no-vectors"))
    found = json.loads(run("kb", "search", url, "Paul Hindemit", "--json").stdout)["candidates"]
    assert [candidate["id"] for candidate in found] == ["http://e/hindemith"]


def test_a_named_endpoint_has_its_settings_from_the_file(
    run: Run, url: str, endpoint: Endpoint, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUSIC_TOKEN", "abcdefgh")
    (elsewhere / "triplecheck.toml").write_text(
        f'[endpoints.music]\nurl = "{url}"\ncache_hours = 0\nheaders = {{ X-Token = "$MUSIC_TOKEN" }}\n', "utf-8"
    )
    ok(run("kb", "search", "music", "Germany"))
    assert {name.lower(): value for name, value in endpoint.headers.items()}["x-token"] == "abcdefgh"


def test_a_wrong_key_of_an_endpoint_names_the_place(run: Run, url: str, elsewhere: Path) -> None:
    (elsewhere / "triplecheck.toml").write_text(f'[endpoints.music]\nurl = "{url}"\nspeed = 3\n', "utf-8")
    refused(run("kb", "info", "music"), "endpoints.music.speed")


def test_questions_are_evaluated(run: Run, url: str, elsewhere: Path) -> None:
    line = {"id": "1", "question": "Who was Bernhard Heiden a student of?", "answers": ["http://e/hindemith"]}
    (elsewhere / "q.jsonl").write_text(json.dumps(line) + "\n", "utf-8")
    ok(run("eval", "kerag", "--kb", url, "--questions", "q.jsonl", "--out", "run", "--json"))
    about = json.loads((elsewhere / "run" / "run.json").read_text())
    assert url in json.dumps(about)


def test_what_needs_files_is_refused(run: Run, url: str) -> None:
    for words in (("kb", "embed", url), ("kb", "info", url, "--verify"), ("kb", "encode", url)):
        refused(run(*words), "kb build")


def test_a_server_that_is_not_there_is_named(run: Run) -> None:
    result = run("ask", QUESTION, "--kb", "http://127.0.0.1:9/sparql")
    assert result.exit_code == 3
    assert "http://127.0.0.1:9/sparql is not reachable" in result.output


def test_a_server_answers_from_an_endpoint(url: str) -> None:
    with serving(service_of(url.replace("//", "//somebody:secret@"))) as running:
        answer = running.ask("Who was Bernhard Heiden a student of?", picture=True).json()
        assert answer["answer"] == "Paul Hindemith"
        assert [edge["weight"] for edge in answer["picture"]["edges"] if edge["label"] == "student of"] == ["proved"]
        base = running.http.get("/v1/bases").json()["bases"][0]
        assert (base["name"], base["triples"]) == (url, None)
        about = running.http.get("/v1/neighbours", params={"id": "http://e/hindemith"}).json()
        assert {group["relation_label"] for group in about["groups"]} == {"student of", "nationality"}
        refused = running.http.post("/v1/verify", json={"text": "Bernhard Heiden was German."})
        assert refused.status_code == 400


def test_a_property_graph_that_is_not_there_is_named(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("ladybug")
    missing = run("kb", "info", f"ladybug:{tmp_path / 'none.lbug'}")
    assert (missing.exit_code, "no such Ladybug database" in missing.stderr.replace("\n", " ")) == (2, True)
    silent = run("ask", QUESTION, "--kb", f"bolt://me:s3cretword@127.0.0.1:{free_port()}")
    assert (silent.exit_code, "is not reachable" in silent.stderr.replace("\n", " ")) == (3, True)
    assert "s3cretword" not in silent.stderr
