"""KERAG over graphs elsewhere, with names linked by queries: SPARQL in process and over HTTP, and a property graph."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyoxigraph
import pytest
from program_parts import PREFIXES, WORLD, ask, build_turtle, conclude_with, fields, items, keep, kerag, play, topics
from sparql_endpoint import StoreClient, serve

from triplecheck.kg.export_files import export_graph
from triplecheck.kg.linking import Linker
from triplecheck.kg.queried_linker import QueriedLinker
from triplecheck.kg.sparql import HttpClient, SparqlGraph
from triplecheck.language.pipeline import read_text
from triplecheck.programs import KERAG, Sources, replay

TEACHER = "What was the nationality of Bernhard Heiden's teacher?"


def over(client: HttpClient) -> Sources:
    graph = SparqlGraph(client)
    return Sources(graph, QueriedLinker(graph))


@pytest.fixture(scope="module")
def store() -> pyoxigraph.Store:
    store = pyoxigraph.Store()
    store.load((PREFIXES + WORLD).encode(), pyoxigraph.RdfFormat.TURTLE)
    return store


@pytest.fixture
def in_process(store: pyoxigraph.Store) -> Sources:
    return over(StoreClient(store))


@pytest.fixture
def over_http(store: pyoxigraph.Store) -> Iterator[Sources]:
    with serve(store) as endpoint:
        yield over(HttpClient(endpoint.address + "/sparql"))


@pytest.fixture(scope="module")
def property_graph(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    pytest.importorskip("ladybug")
    from triplecheck.kg.cypher import CypherGraph, LadybugClient

    folder: Path = tmp_path_factory.mktemp("world")
    base = build_turtle(WORLD, folder)
    export_graph(base.columnar, folder / "world.lbug")
    described = [base.graph.relation(number) for number in range(base.graph.num_relations)]
    graph = CypherGraph(LadybugClient(folder / "world.lbug"), described=described)
    return Sources(graph, QueriedLinker(graph))


@pytest.fixture(params=["in_process", "over_http"])
def remote(request: pytest.FixtureRequest) -> Sources:
    sources: Sources = request.getfixturevalue(request.param)
    return sources


@pytest.fixture(params=["in_process", "over_http", "property_graph"])
def elsewhere(request: pytest.FixtureRequest) -> Sources:
    sources: Sources = request.getfixturevalue(request.param)
    return sources


class TestKERAG:
    @pytest.mark.parametrize(
        ("question", "answer"),
        [
            (TEACHER, "German"),
            ("Where was Paul Hindemith born?", "Hanau"),
            ("who was the teacher of luke fuchs", "Paul Hindemith"),
        ],
    )
    def test_it_answers_with_proof(self, elsewhere: Sources, question: str, answer: str) -> None:
        result = ask(kerag(elsewhere), question)
        assert (result.answer, result.grounded) == (answer, True)
        assert replay(elsewhere.graph, result.evidence) == []

    def test_what_a_server_computes_without_triples_is_not_proved(self, elsewhere: Sources, sources: Sources) -> None:
        question, query = "How many composers are there?", "SELECT (COUNT(?c) AS ?n) { ?c a <Composer> }"
        replies = topics(), fields(reasoning="It counts.", query=query)
        here, there = (play(KERAG(of), question, *replies)[0] for of in (sources, elsewhere))
        assert (here.answer, here.query, here.doubts) == ("5", query, [])
        assert (there.answer, there.query, there.verdict) == ("5", query, "supported")
        assert there.doubts == ["no triples show how it was computed"]

    def test_it_takes_the_same_steps_as_over_the_columnar_store(self, remote: Sources, sources: Sources) -> None:
        replies = [
            topics("Bernhard Heiden", domain="Composer"),
            keep("→ student of"),
            keep("→ nationality"),
            conclude_with("German", cite=["student of", "nationality"]),
        ]
        here, asked_here = play(kerag(remote), TEACHER, *replies)
        there, asked_there = play(kerag(Sources(sources.graph, sources.linker)), TEACHER, *replies)
        for mine, other in zip(asked_here.requests, asked_there.requests, strict=True):
            section = "known_names" if mine is asked_here.requests[0] else "topics"
            assert items(mine, section) == items(other, section)
        assert set(items(asked_here.requests[1], "paths")) == set(items(asked_there.requests[1], "paths"))
        assert items(asked_here.requests[-1], "facts") == items(asked_there.requests[-1], "facts")
        assert (here.answer, here.answers, here.evidence) == (there.answer, there.answers, there.evidence)

    @pytest.mark.parametrize("filtering", ["instances", "none"])
    def test_every_filtering_mode_works(self, remote: Sources, filtering: str) -> None:
        result = ask(kerag(remote, filtering=filtering), TEACHER)
        assert (result.answer, result.grounded) == ("German", True)

    def test_an_unknown_name_is_not_a_topic(self, remote: Sources) -> None:
        assert ask(kerag(remote), "Where was Zaphod Beeblebrox born?").reason == "no_topic"

    def test_an_empty_store_knows_nothing(self) -> None:
        program = kerag(over(StoreClient(pyoxigraph.Store())))
        assert ask(program, TEACHER).reason == "no_topic"


class TestLinker:
    def test_it_is_a_linker(self, remote: Sources) -> None:
        linker: Linker = remote.linker
        assert [m.text for m in linker.mentions(read_text("Did Bernhard Heiden meet Luke Fuchs in Frankfurt?"))] == [
            "Bernhard Heiden",
            "Luke Fuchs",
            "Frankfurt",
        ]

    def test_labels_and_aliases_are_distinguished(self, remote: Sources) -> None:
        found = [(c.label, c.source) for text in ("Lukas Foss", "Luke Fuchs") for c in remote.linker.candidates(text)]
        assert found == [("Lukas Foss", "label"), ("Lukas Foss", "alias")]

    def test_homonyms_are_kept(self, elsewhere: Sources) -> None:
        candidates = elsewhere.linker.candidates("Michael Jordan")
        assert {c.id for c in candidates} == {"http://example.org/mj_player", "http://example.org/mj_scholar"}
        assert [elsewhere.graph.node_id(c.node) for c in candidates] == [c.id for c in candidates]

    def test_homonyms_are_limited(self, remote: Sources) -> None:
        assert len(remote.linker.candidates("Michael Jordan", limit=1)) == 1

    @pytest.mark.parametrize("text", ["michael jordan", "Michael jordan", "Bernhard Heiden's", "BERNHARD", "viola", ""])
    def test_capitalised_spellings_are_tried(self, remote: Sources, text: str) -> None:
        assert bool(remote.linker.candidates(text)) == (text in ("michael jordan", "Michael jordan", "viola"))

    @pytest.mark.parametrize(
        "text",
        [
            *('"', "\\", "\n", '" } # ', "' }) RETURN 1 //", "\\u0022", "\\u0060", "x" * 10_000, "\ud83d"),
            *("{?x ?p ?o}", "<http://example.org/heiden>", "$values0"),
        ],
    )
    def test_quoted_text_cannot_inject_a_query(self, elsewhere: Sources, text: str) -> None:
        assert elsewhere.linker.candidates(text) == []
        assert [m.text for m in elsewhere.linker.mentions(read_text(f"{text} Paul Hindemith"))] == ["Paul Hindemith"]

    def test_relations_and_types_are_not_topics(self, store: pyoxigraph.Store) -> None:
        sources = over(StoreClient(store))
        assert sources.linker.candidates("student of") == []
        assert sources.linker.mentions(read_text("who was a student of")) == []

    def test_labels_are_found_only_in_their_exact_spelling(self) -> None:
        store = pyoxigraph.Store()
        turtle = ":z rdfs:label 'Zürich'@en , 'Zurigo'@it ; :p :y . :y rdfs:label 'Zurich' ; :p :z , :x ."
        store.load((PREFIXES + turtle).encode(), pyoxigraph.RdfFormat.TURTLE)
        linker = over(StoreClient(store)).linker
        assert [c.id[-1] for c in linker.candidates("Zurich")] == ["y"]
        # The spellings share a normalised form; both are known once both were asked for.
        assert {c.id[-1] for c in linker.candidates("Zürich")} == {"y", "z"}
        assert linker.candidates("Zurigo") == []

    def test_a_question_needs_few_queries_and_repeats_none(self, store: pyoxigraph.Store) -> None:
        client = StoreClient(store)
        linker = QueriedLinker(SparqlGraph(client))
        linker.mentions(read_text(TEACHER))
        first = len(client.asked)
        assert first <= 5  # the names, and whether what bears them is a node
        linker.mentions(read_text(TEACHER))
        assert len(client.asked) == first

    def test_a_long_question_is_truncated(self, store: pyoxigraph.Store) -> None:
        client = StoreClient(store)
        linker = QueriedLinker(SparqlGraph(client))
        assert linker.mentions(read_text("word " * 2_000 + "Paul Hindemith")) == []
        assert len(client.asked) <= 20

    def test_threads_may_share_it(self, store: pyoxigraph.Store) -> None:
        linker = over(StoreClient(store)).linker
        questions = [TEACHER, "Where was Paul Hindemith born?", "Luke Fuchs?", "Michael Jordan"] * 4
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda q: [m.text for m in linker.mentions(read_text(q))], questions))
        assert found == found[:4] * 4
