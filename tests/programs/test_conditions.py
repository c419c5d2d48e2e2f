"""Conditions of time in questions, checked against the properties of edges."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyoxigraph
import pytest
from program_parts import ask, conclude_with, items, keep, kerag, play, topics
from sparql_endpoint import serve

from triplecheck import KERAG, AnchorRAG, KnowledgeBase
from triplecheck.app.render import proof_line
from triplecheck.kg import Literal
from triplecheck.kg.endpoints import EndpointOptions
from triplecheck.kg.errors import UserError
from triplecheck.kg.knowledge_base import open_remote
from triplecheck.language.lexicon import lexicon
from triplecheck.language.question import read_question
from triplecheck.programs import Sources, replay
from triplecheck.programs.assists.time_conditions import TimeCondition, time_condition, time_of

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    out = tmp_path_factory.mktemp("team") / "kb"
    return KnowledgeBase.from_triples(ROOT / "examples" / "team.csv", out, edge_properties=["*"])


def dates(**values: str) -> tuple[tuple[str, Literal], ...]:
    return tuple((name.replace("_", " "), Literal(value)) for name, value in values.items())


@pytest.mark.parametrize(
    ("question", "admitted"),
    [
        ("Who led it in 1993?", {"term"}),
        ("Who led it after 1997?", {"open", "day"}),
        ("Who led it before 1990?", set()),
        ("Who led it since 1995?", {"term", "open", "day"}),
        ("Who led it between 1980 and 1990?", {"term"}),
        ("Who led it from 1999 to 2003?", {"open"}),
        ("Who led it in 2004?", {"open", "day"}),
        ("Who led it until 1995?", {"term"}),
    ],
)
def test_a_statement_holds_within_its_time(team: KnowledgeBase, question: str, admitted: set[str]) -> None:
    statements = {
        "term": dates(start_time="1990-05-01", end_time="1997"),
        "open": dates(start="1998"),
        "day": dates(point_in_time="2004-02-03"),
    }
    condition = time_condition(team.graph, read_question(question))
    assert isinstance(condition, TimeCondition)
    assert {name for name, statement in statements.items() if condition.admits(statement)} == admitted
    assert condition.admits((("role", Literal("captain")),))


def test_the_time_of_a_statement() -> None:
    english, german = lexicon("en").moments, lexicon("de").moments
    assert time_of(dates(point_in_time="1991-02-03"), english) == ((1991, 2, 3), (1991, 2, 3))
    assert time_of(dates(year="1991"), english) == ((1991, 1, 1), (1991, 12, 31))
    assert time_of(dates(von="1991", bis="1992"), german) == ((1991, 1, 1), (1992, 12, 31))
    assert time_of(dates(weight="7"), english) is None


def test_a_graph_without_properties_has_no_conditions(bundled: KnowledgeBase) -> None:
    assert time_condition(bundled.graph, read_question("Who won in 1993?")) is None


@pytest.mark.parametrize("program", [KERAG, AnchorRAG])
@pytest.mark.parametrize(
    ("year", "who"), [("2019", {"Chiara Rossi", "Elif Demir"}), ("2021", {"David Kim", "Elif Demir"})]
)
def test_only_edges_of_that_time_answer(team: KnowledgeBase, program: type[KERAG], year: str, who: set[str]) -> None:
    found = program(team)(question=f"Who works in Search in {year}?")
    assert {answer["id"] for answer in found.answers} == who
    assert not any(year in doubt for doubt in found.doubts)


def test_edges_of_another_time_do_not_prove(team: KnowledgeBase) -> None:
    found = KERAG(team, assist="-time_conditions", verdict="any")(question="Who works in Search in 2019?")
    assert (len(found.answers), found.verdict) == (3, "supported")
    assert any("2019" in doubt for doubt in found.doubts)


@pytest.mark.parametrize("when", ["after 2020", "before 2018", "in 2021"])
def test_a_time_that_an_edge_has_is_no_doubt(team: KnowledgeBase, when: str) -> None:
    found = KERAG(team, verdict="any")(question=f"Who works in Search {when}?")
    assert found.answers
    assert found.doubts == []


@pytest.mark.parametrize(
    ("when", "answer"), [("in 2005", "Cars Inc"), ("in 2014", "Boats Ltd"), ("after 2010", "Boats Ltd")]
)
def test_the_values_of_a_blank_node_are_properties_of_its_edges(tmp_path: Path, when: str, answer: str) -> None:
    (tmp_path / "jobs.ttl").write_text(
        """@prefix : <http://e.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        :ana rdfs:label "Ana Ruiz" ; :hasJob [ :employer :boats ; :since 2011 ; :role "captain" ] ,
          [ :employer :cars ; :since 2001 ; :until 2009 ; :role "clerk" ] .
        :boats rdfs:label "Boats Ltd" . :cars rdfs:label "Cars Inc" ."""
    )
    kb = KnowledgeBase.from_triples(tmp_path / "jobs.ttl", tmp_path / "kb")
    found = KERAG(kb, verdict="any")(question=f"Who was the employer of Ana Ruiz {when}?")
    assert found.answer == answer
    assert not any(when[-4:] in doubt for doubt in found.doubts)


def test_a_proof_shows_the_properties(team: KnowledgeBase) -> None:
    found = KERAG(team)(question="Who leads Billing?")
    assert found.evidence[0]["properties"] == [{"from": "2020"}]
    assert "(from: 2020)" in proof_line(found.evidence[0]).plain
    assert "from: 2020" in found.evidence._repr_html_()


class TestPrompts:
    """A language model reads what is said of an edge behind the value."""

    def test_facts_show_the_properties_of_their_edges(self, team: KnowledgeBase) -> None:
        replies = [
            topics("Search"),
            keep("works in"),
            conclude_with("Chiara Rossi {from: 2016}", cite=["Chiara Rossi"]),
        ]
        found, engine = play(kerag(team, hops=1), "Who works in Search?", *replies)
        (fact,) = items(engine.requests[-1], "facts")
        anchor, values = fact.rsplit(" ← ", 1)
        assert anchor == "Search ← works in"
        assert set(values.split(" | ")) == {
            "Chiara Rossi {from: 2016; until: 2019}",
            "David Kim {from: 2020}",
            "Elif Demir {from: 2018}",
        }
        assert [answer["id"] for answer in found.answers] == ["Chiara Rossi"]
        assert found.grounded

    def test_with_a_condition_only_edges_that_hold_are_shown(self, team: KnowledgeBase) -> None:
        replies = [topics("Search"), keep("works in"), conclude_with("David Kim", cite=["David Kim"])]
        _, engine = play(kerag(team, hops=1), "Who works in Search after 2020?", *replies)
        (fact,) = items(engine.requests[-1], "facts")
        assert "Chiara Rossi" not in fact and "David Kim {from: 2020}" in fact


# --- over endpoints that say something about edges
PREFIXES = "".join(
    f"@prefix {name}: <{place}> .\n"
    for name, place in {
        "": "http://e.org/",
        "wd": "http://www.wikidata.org/entity/",
        "wdt": "http://www.wikidata.org/prop/direct/",
        "p": "http://www.wikidata.org/prop/",
        "ps": "http://www.wikidata.org/prop/statement/",
        "pq": "http://www.wikidata.org/prop/qualifier/",
        "wikibase": "http://wikiba.se/ontology#",
        "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
        "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
        "xsd": "http://www.w3.org/2001/XMLSchema#",
    }.items()
)
WIKIDATA = """
wd:P108 a wikibase:Property ; wikibase:directClaim wdt:P108 ; wikibase:propertyType wikibase:WikibaseItem ;
  rdfs:label "employer"@en .
wd:P580 rdfs:label "start time"@en . wd:P582 rdfs:label "end time"@en . wd:P1365 rdfs:label "replaces"@en .
wd:Q1 rdfs:label "Nora Lund"@en ; wdt:P108 wd:Q3 , wd:Q4 ; p:P108 :a , :b .
:a ps:P108 wd:Q3 ; pq:P580 "1990-01-01"^^xsd:date ; pq:P582 "1994-01-01"^^xsd:date ; pq:P1365 wd:Q2 .
:b ps:P108 wd:Q4 ; pq:P580 "2006-05-01"^^xsd:date .
wd:Q2 rdfs:label "Per Holm"@en . wd:Q3 rdfs:label "Nordic Light"@en . wd:Q4 rdfs:label "Mountain Bank"@en .
"""
NAMES = """
:employer rdfs:label "employer" . :from rdfs:label "start time" . :until rdfs:label "end time" .
:nora rdfs:label "Nora Lund" ; :employer :light , :bank . :per rdfs:label "Per Holm" .
:light rdfs:label "Nordic Light" . :bank rdfs:label "Mountain Bank" .
"""
FIRST = ':from "1990-01-01"^^xsd:date ; :until "1994-01-01"^^xsd:date ; :replaces :per'
SECOND = ':from "2006-05-01"^^xsd:date'
GRAPHS = {
    "wikidata": WIKIDATA,
    "reification": NAMES
    + f"[] a rdf:Statement ; rdf:subject :nora ; rdf:predicate :employer ; rdf:object :light ; {FIRST} . "
    + f"[] a rdf:Statement ; rdf:subject :nora ; rdf:predicate :employer ; rdf:object :bank ; {SECOND} .",
    "rdf-1.2": NAMES + f":nora :employer :light {{| {FIRST} |}} . :nora :employer :bank {{| {SECOND} |}} .",
}


@pytest.fixture(scope="module", params=list(GRAPHS))
def remote(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sources]:
    store = pyoxigraph.Store()
    store.load((PREFIXES + GRAPHS[request.param]).encode(), pyoxigraph.RdfFormat.TURTLE)
    given = {"profile": "wikidata-qlever"} if request.param == "wikidata" else {"statements": request.param}
    with serve(store) as endpoint:
        options = EndpointOptions(f"{endpoint.address}/sparql", **given)  # type: ignore[arg-type]
        yield Sources.of(open_remote(options, tmp_path_factory.mktemp("cache")))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who was the employer of Nora Lund in 1993?", "Nordic Light"),
        ("Who was the employer of Nora Lund after 2007?", "Mountain Bank"),
        ("Who was the employer of Nora Lund in 2010?", "Mountain Bank"),
    ],
)
def test_a_time_in_the_question_chooses_the_edge(remote: Sources, question: str, answer: str) -> None:
    result = ask(kerag(remote), question)
    assert (result.answer, result.grounded) == (answer, True)
    assert replay(remote.graph, result.evidence) == []


def test_the_proof_shows_what_is_said_about_the_edge(remote: Sources) -> None:
    (row,) = ask(kerag(remote), "Who was the employer of Nora Lund in 1993?").evidence
    assert row["properties"] == [{"end time": "1994-01-01", "replaces": "Per Holm", "start time": "1990-01-01"}]


def test_no_edge_holds_at_another_time(remote: Sources) -> None:
    assert ask(kerag(remote), "Who was the employer of Nora Lund in 1950?").answers == []


def test_statements_are_written_in_one_of_three_ways(tmp_path: Path) -> None:
    with serve(pyoxigraph.Store()) as endpoint, pytest.raises(UserError, match=r"wikidata, reification, rdf-1\.2"):
        open_remote(EndpointOptions(f"{endpoint.address}/sparql", statements="stars"), tmp_path)
