"""Endpoints by URL: how they are asked, recognised, indexed, and what they refuse."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph
import pytest
from sparql_endpoint import Endpoint, serve
from virtuoso_server import virtuoso

from triplecheck.kg import KnowledgeBase, build
from triplecheck.kg.endpoints import EndpointIndex, EndpointOptions, build_index, index_path, is_url, open_endpoint
from triplecheck.kg.endpoints.options import headers_from_environment
from triplecheck.kg.errors import GraphUnavailableError, KnowledgeBaseError, UserError
from triplecheck.kg.knowledge_base import RemoteBase, open_remote
from triplecheck.kg.readers.rdf import read_rdf
from triplecheck.kg.sparql import HttpClient
from triplecheck.kg.sparql._cache import ReplyCache
from triplecheck.kg.sparql.profiles import PROFILES, detect
from triplecheck.language.pipeline import read_text

ONE = "SELECT (1 AS ?one) WHERE {}"
TURTLE = """
@prefix e: <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
e:heiden rdfs:label "Bernhard Heiden" ; e:studentOf e:hindemith ; e:born "1910-08-24" .
e:hindemith a e:Composer ; rdfs:label "Paul Hindemith"@en ; skos:altLabel "Hindemith" ; e:nationality e:germany .
e:germany rdfs:label "Germany" . e:cooke e:studentOf e:hindemith .
"""


@pytest.fixture(scope="module")
def turtle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("endpoints") / "small.ttl"
    path.write_text(TURTLE, "utf-8")
    return path


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    store = pyoxigraph.Store()
    store.load(TURTLE.encode(), pyoxigraph.RdfFormat.TURTLE)
    with serve(store) as served:
        yield served


@pytest.fixture
def options(endpoint: Endpoint) -> EndpointOptions:
    return EndpointOptions(endpoint.address + "/sparql", cache_hours=0)


def indexed(options: EndpointOptions, cache: Path) -> EndpointOptions:
    graph = open_endpoint(options, cache, use_index=False).graph
    build_index(graph, options.identity, index_path(options, cache), encoder=None)
    return options


class TestManners:
    @pytest.mark.parametrize("path", ["busy/429", "busy/503"])
    def test_a_busy_server_is_asked_again_after_the_time_it_names(self, endpoint: Endpoint, path: str) -> None:
        endpoint.asked.clear()
        client = HttpClient(f"{endpoint.address}/{path}")
        assert len(client.select(ONE)) == 1
        assert len(endpoint.asked) == 3

    def test_tries_are_capped(self, endpoint: Endpoint) -> None:
        client = HttpClient(endpoint.address + "/busy/429", retries=1)
        endpoint.asked.clear()
        with pytest.raises(GraphUnavailableError, match=r"HTTP 429.*asks to wait 0 s"):
            client.select(ONE)
        assert len(endpoint.asked) == 2

    def test_a_long_wait_is_an_error_that_names_it(self, endpoint: Endpoint) -> None:
        with pytest.raises(GraphUnavailableError, match=r"HTTP 503.*asks to wait 3600 s"):
            HttpClient(endpoint.address + "/later").select(ONE)

    def test_headers_are_sent_and_a_rate_is_kept(self, endpoint: Endpoint) -> None:
        headers = {"X-Project": "triplecheck"}
        client = HttpClient(endpoint.address + "/sparql", headers=headers, requests_per_second=10)
        begun = time.monotonic()
        for _ in range(4):
            client.select(ONE)
        assert time.monotonic() - begun > 0.29
        assert endpoint.headers["X-Project"] == "triplecheck"

    def test_a_cached_reply_is_not_asked_for_again_until_it_is_old(self, endpoint: Endpoint, tmp_path: Path) -> None:
        url = endpoint.address + "/sparql"
        endpoint.asked.clear()
        for _ in range(2):
            client = HttpClient(url, cache=ReplyCache(tmp_path / "c.sqlite", 3600, 1 << 20))
            rows = client.select(ONE)
            client.close()
        assert (len(rows), len(endpoint.asked)) == (1, 1)
        old = HttpClient(url, cache=ReplyCache(tmp_path / "c.sqlite", 0, 1 << 20))
        assert (old.select(ONE), len(endpoint.asked)) == (rows, 2)

    def test_the_cache_drops_the_oldest_replies(self, tmp_path: Path) -> None:
        cache = ReplyCache(tmp_path / "c.sqlite", 3600, 400)
        for number in range(100):
            cache.put(f"query {number}", b"reply")
        assert cache.get("query 0") is None
        assert cache.get("query 99") == b"reply"

    def test_a_full_disk_costs_no_reply(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        cache = ReplyCache(tmp_path / "c.sqlite", 3600, 1 << 30)
        cache._file.execute("PRAGMA max_page_count = 4")
        for number in range(20):
            cache.put(f"query {number}", os.urandom(4000))
        assert cache.get("query 19") is None
        assert sum("are not kept" in record.message for record in caplog.records) == 1


class TestOptions:
    def test_user_key_and_headers_come_from_the_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FILMS_KEY", "s3cret")
        options = EndpointOptions(
            "https://h/sparql", key_env="FILMS_KEY", headers={"Authorization": "Bearer $FILMS_KEY"}
        )
        assert options.credentials == (None, "s3cret")
        assert headers_from_environment(options.headers, "films") == {"Authorization": "Bearer s3cret"}
        monkeypatch.delenv("FILMS_KEY")
        with pytest.raises(UserError, match="FILMS_KEY is not set"):
            _ = options.credentials

    @pytest.mark.parametrize("wrong", [{"url": "ftp://h"}, {"seconds": 0}, {"retries": -1}, {"requests_per_second": 0}])
    def test_wrong_options_are_refused(self, wrong: dict[str, object]) -> None:
        with pytest.raises(UserError):
            EndpointOptions(**({"url": "https://h/sparql"} | wrong))  # type: ignore[arg-type]

    def test_secrets_are_no_part_of_the_identity(self) -> None:
        options = EndpointOptions("https://me:s3cret@h/sparql?x=1")
        assert "s3cret" not in str(options.identity)
        assert options.name == "https://h/sparql"

    def test_a_url_is_no_directory(self) -> None:
        assert is_url("bolt://localhost:7687")
        assert not is_url("kbs/films")
        assert not is_url(Path("kbs"))


class TestProfiles:
    @pytest.mark.parametrize(
        ("url", "headers", "name"),
        [
            ("https://query.wikidata.org/sparql", {}, "wikidata"),
            ("https://qlever.cs.uni-freiburg.de/api/wikidata", {}, "wikidata-qlever"),
            ("https://dbpedia.org/sparql", {"Server": "Virtuoso/08"}, "dbpedia"),
            ("http://localhost:8890/sparql", {"Server": "Virtuoso/07.20"}, "virtuoso"),
            ("http://localhost:7878/query", {"Server": "Oxigraph/0.5"}, "oxigraph"),
            ("http://localhost:3030/ds/query", {"Fuseki-Request-Id": "1"}, "fuseki"),
            ("http://localhost:7200/repositories/films", {}, "graphdb"),
            ("http://localhost:9999/blazegraph/namespace/kb/sparql", {}, "blazegraph"),
            ("http://localhost/sparql", {"Server": "nginx"}, "general"),
        ],
    )
    def test_servers_are_recognised(self, url: str, headers: dict[str, str], name: str) -> None:
        assert detect(url, headers).name == name

    def test_a_profile_may_be_named(self, endpoint: Endpoint, tmp_path: Path) -> None:
        url = endpoint.address + "/sparql"
        assert open_endpoint(EndpointOptions(url, profile="qlever"), tmp_path).profile == "qlever"
        with pytest.raises(UserError, match=r"no profile 'jena'; there are: .*fuseki"):
            open_endpoint(EndpointOptions(url, profile="jena"), tmp_path)

    @pytest.mark.parametrize("name", [name for name, profile in PROFILES.items() if profile.text_search])
    def test_no_text_breaks_out_of_a_text_search(self, name: str) -> None:
        profile = PROFILES[name]
        assert profile.text_search is not None
        query = profile.text_search('x" } DROP ALL', profile.vocabulary, 5)
        assert 'x" }' not in query.replace('\\"', "")


class TestIndex:
    def test_names_are_found_as_in_the_files(self, options: EndpointOptions, turtle: Path, tmp_path: Path) -> None:
        files = build(read_rdf([turtle]), tmp_path / "kb", encoder=None)
        remote = open_remote(indexed(options, tmp_path), tmp_path)
        for text in ("Bernhard Heiden", "Hindemith", "paul hindemit", "Heiden", "1910-08-24", "nobody"):
            expected = [(c.id, c.label, c.source, round(c.score, 6)) for c in files.linker.candidates(text)]
            assert [(c.id, c.label, c.source, round(c.score, 6)) for c in remote.linker.candidates(text)] == expected
        question = "Who taught Bernhard Heiden?"
        assert remote.linker.mentions(read_text(question)) == files.linker.mentions(read_text(question))

    def test_an_interrupted_build_goes_on_where_it_stopped(
        self, options: EndpointOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("triplecheck.kg.endpoints.index._PAGE", 2)
        graph, out = open_endpoint(options, tmp_path, use_index=False).graph, tmp_path / "index"
        whole = graph.values_after
        monkeypatch.setattr(graph, "values_after", lambda *_: (_ for _ in ()).throw(GraphUnavailableError("down")))
        with pytest.raises(GraphUnavailableError):
            build_index(graph, options.identity, out, encoder=None)
        assert not out.exists()
        monkeypatch.setattr(graph, "values_after", whole)
        monkeypatch.setattr(graph, "entities_after", None)  # not read again
        about = build_index(graph, options.identity, out, encoder=None)
        assert (about.counts["entities"], about.counts["values"], about.counts["relations"]) == (4, 1, 3)
        assert [path.name for path in tmp_path.glob("*.part.jsonl")] == []
        assert EndpointIndex(out).about == about

    @pytest.mark.parametrize("path", ["/silent/3", "/206/25", "/unbound", "/xml"])
    def test_names_are_complete_where_the_server_gives_a_part(self, path: str, tmp_path: Path) -> None:
        """ubergraph 47, virtuoso 112: a silent cap of rows, HTTP 206, rows without bindings, results in XML."""
        store = pyoxigraph.Store()
        for at in range(60):
            about_it = f'rdfs:label "Person {at}" ; <http://e/knows{at % 7}> <http://e/n{at + 1:02}>'
            text = f"@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . <http://e/n{at:02}> {about_it} ."
            store.load(text.encode(), pyoxigraph.RdfFormat.TURTLE)
        with serve(store) as endpoint:
            options = EndpointOptions(endpoint.address + path, cache_hours=0)
            graph = open_endpoint(options, tmp_path, use_index=False).graph
            about = build_index(graph, options.identity, tmp_path / "index", encoder=None)
            assert (about.counts["entities"], about.counts["relations"], about.counts["names"]) == (61, 7, 61)
            index = EndpointIndex(tmp_path / "index")
            assert index.about.learned == ({"most_rows": 3} if path == "/silent/3" else {})
            opened = open_endpoint(EndpointOptions(options.url, index=tmp_path / "index"), tmp_path)
            assert opened.linker.candidates("Person 57")[0].id == "http://e/n57"

    def test_an_index_of_another_endpoint_is_refused(self, options: EndpointOptions, tmp_path: Path) -> None:
        place = index_path(indexed(options, tmp_path), tmp_path)
        with pytest.raises(KnowledgeBaseError, match=r"is the index of .* name another one"):
            open_endpoint(EndpointOptions("http://127.0.0.1:9/sparql", index=place), tmp_path)
        with pytest.raises(KnowledgeBaseError, match="no index here; build it with"):
            open_endpoint(EndpointOptions(options.url, index=tmp_path / "none"), tmp_path)


class TestRemoteBase:
    def test_it_is_opened_by_its_url(self, endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        base = KnowledgeBase.open(endpoint.address + "/sparql")
        assert isinstance(base, RemoteBase)
        assert base.graph.num_triples == 4
        assert [c.id for c in base.linker.candidates("Bernhard Heiden")] == ["http://e/heiden"]
        assert base.identity["endpoint"] == endpoint.address + "/sparql"

    def test_what_needs_files_is_refused(self, options: EndpointOptions, tmp_path: Path) -> None:
        base = open_remote(options, tmp_path)
        for part in ("manifest", "columnar", "names", "node_search"):
            with pytest.raises(UserError, match=r"is on a server.*kb build"):
                getattr(base, part)
        with pytest.raises(UserError, match="is on a server"):
            base.verify()
        assert base.documents is None


def test_virtuosos_text_index_finds_parts_of_names_and_similar_names(turtle: Path, tmp_path: Path) -> None:
    (tmp_path / "db").mkdir()
    with virtuoso(tmp_path / "db", [turtle]) as url:
        base = open_remote(EndpointOptions(url, cache_hours=0), tmp_path / "cache")
        assert base.endpoint.profile == "virtuoso"
        found = base.linker.candidates("Bernhard")
        assert [(c.id, c.source) for c in found] == [("http://e/heiden", "partial")]
        assert base.linker.candidates("nobody") == []
        assert base.linker.candidates("x' OR 'y\" } #") == []
