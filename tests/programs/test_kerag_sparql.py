"""KERAG over a SPARQL engine, in process and over HTTP, with names linked by queries."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pyoxigraph
import pytest
from program_parts import PREFIXES, WORLD, ask, conclude_with, items, keep, kerag, play, topics
from sparql_endpoint import StoreClient, serve

from triplecheck.kg.linking import Linker
from triplecheck.kg.queried_linker import QueriedLinker
from triplecheck.kg.sparql import HttpClient, SparqlGraph
from triplecheck.language.pipeline import read_text
from triplecheck.programs import Sources, replay

TEACHER = "What was the nationality of Bernhard Heiden's teacher?"


def over(client: HttpClient) -> Sources:
    graph = SparqlGraph(client)
    return Sources(graph, QueriedLinker(graph))


@pytest.fixture(scope="module")
def store() -> pyoxigraph.Store:
    store = pyoxigraph.Store()
    store.load((PREFIXES + WORLD).encode(), pyoxigraph.RdfFormat.TURTLE)
    return store


@pytest.fixture(params=["in process", "over HTTP"])
def remote(request: pytest.FixtureRequest, store: pyoxigraph.Store) -> Iterator[Sources]:
    if request.param == "in process":
        yield over(StoreClient(store))
    else:
        with serve(store) as endpoint:
            yield over(HttpClient(endpoint.address + "/sparql"))


class TestKERAG:
    @pytest.mark.parametrize(
        ("question", "answer"),
        [
            (TEACHER, "German"),
            ("Where was Paul Hindemith born?", "Hanau"),
            ("who was the teacher of luke fuchs", "Paul Hindemith"),
        ],
    )
    def test_it_answers_with_proof(self, remote: Sources, question: str, answer: str) -> None:
        result = ask(kerag(remote), question)
        assert (result.answer, result.grounded) == (answer, True)
        assert replay(remote.graph, result.evidence) == []

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

    def test_homonyms_are_kept(self, remote: Sources) -> None:
        candidates = remote.linker.candidates("Michael Jordan")
        assert {c.id for c in candidates} == {"http://example.org/mj_player", "http://example.org/mj_scholar"}
        assert len(remote.linker.candidates("Michael Jordan", limit=1)) == 1
        assert [remote.graph.node_id(c.node) for c in candidates] == [c.id for c in candidates]

    @pytest.mark.parametrize("text", ["michael jordan", "Michael jordan", "Bernhard Heiden's", "BERNHARD", "viola", ""])
    def test_capitalised_spellings_are_tried(self, remote: Sources, text: str) -> None:
        assert bool(remote.linker.candidates(text)) == (text in ("michael jordan", "Michael jordan", "viola"))

    @pytest.mark.parametrize(
        "text",
        ['"', "\\", "\n", '" } # ', "\\u0022", "x" * 10_000, "\ud83d", "{?x ?p ?o}", "<http://example.org/heiden>"],
    )
    def test_quoted_text_cannot_inject_a_query(self, remote: Sources, text: str) -> None:
        assert remote.linker.candidates(text) == []
        assert [m.text for m in remote.linker.mentions(read_text(f"{text} Paul Hindemith"))] == ["Paul Hindemith"]

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
