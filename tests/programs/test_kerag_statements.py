"""KERAG over endpoints that say something about edges: shown in proofs, and compared with times in questions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyoxigraph
import pytest
from program_parts import ask, kerag
from sparql_endpoint import serve

from triplecheck.kg.endpoints import EndpointOptions
from triplecheck.kg.errors import UserError
from triplecheck.kg.knowledge_base import open_remote
from triplecheck.programs import Sources, replay

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
