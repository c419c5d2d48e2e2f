"""Questions over small graphs made for what users of other tools have reported; the reports are named beside them.

Ten were chosen from people who query graphs and tables: pykeen/pykeen#883 (names such as "nan"),
Knowledge-Graph-Hub/kg-covid-19#127 (missing values), SPARQL-Anything/sparql.anything#625 (quotation marks in TSV),
ad-freiburg/qlever#912 (escapes in exports), RDFLib/rdflib#630 and #803 (times with zones), sparna-git/Sparnatural#190
(dates beside times), eclipse-rdf4j/rdf4j#6048 (dates that are none), HKUDS/LightRAG#3562 (names written together),
ICIJ/datashare#2049 (last names first), RDFLib/prez#430 (true and false).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import pandas
import pytest
from program_parts import PREFIXES, ask, build_turtle, conclude_with, kerag, play, topics

from triplecheck.app.match import matched
from triplecheck.kg import KnowledgeBase, UserError, build
from triplecheck.kg.export_files import export_graph
from triplecheck.kg.readers import read_graph
from triplecheck.programs import KERAG

ENCODER = "all-MiniLM-L6-v2"
decomposed = partial(unicodedata.normalize, "NFD")
Programs = Callable[[str], KERAG]


def given(result: Any) -> set[str]:
    return {answer["label"] for answer in result.answers} or {result.answer}


# --- 1: years before Christ and far years ----------------------------------------------------------
CITIES = ":founded rdfs:label 'founded' . :City rdfs:label 'city' .\n" + "\n".join(
    f":{name} a :City ; rdfs:label '{name}' ; :founded '{year}'^^xsd:gYear ."
    for name, year in {
        "Colonia": "-0038", "Lutetia": "-0052", "Zeroville": "0000", "Novaton": "1810", "Farville": "12019"
    }.items()
)  # fmt: skip


# --- 2 and 3: names as questions spell them ---------------------------------------------------------
FIRMS = ":place rdfs:label 'located in' .\n" + "\n".join(
    f":f{number} rdfs:label '{name}' ; :place :p{number} . :p{number} rdfs:label '{place}' ."
    for number, (name, place) in enumerate(
        {
            "Bill & Tedd LLC": "Oslo", "Ted LLC": "Paris", "A.B.C.": "Quito", "XYZ Motors": "Rome", "Smith": "Lima",
            "Hall and Sons": "Bern", "Sons": "Nice", "Dvořák & Söhne": "Brno", "Jean-Paul Mills": "Metz",
            decomposed("Řím Works"): "Linz",
        }.items()
    )
)  # fmt: skip


def test_patterns_and_queries_find_names_in_another_spelling(tmp_path: Path) -> None:
    base = build_turtle(FIRMS, tmp_path)
    spelt = {"Bill and Tedd LLC": "Oslo", "ABC": "Quito", decomposed("Dvořák & Söhne"): "Brno", "Řím Works": "Linz"}
    for name, place in spelt.items():
        (found,) = matched(base, f"'{name}' 'located in' ?place")["answers"]
        assert found["label"] == place
        assert [base.graph.label(node) for (node,) in base.query(f"SELECT ?x {{ <{name}> <located in> ?x }}").rows] == [
            place
        ]


@pytest.mark.parametrize(
    "question",
    [
        "Where is Smith & Co located?",
        "Where is Smith-Jones located?",
        "Where is Smith Brothers located?",
        "Where is Big Ted LLC located?",
        "Where is Smith GmbH & Co. KG located?",
        "Is Smith Brothers located in Lima?",
        "What is located in Old Oslo?",
    ],
)
def test_a_shorter_name_proves_nothing_of_a_longer_one(about: Programs, question: str) -> None:
    assert ask(about("firms"), question).verdict != "proved"


# --- 5 and 10: exact numbers, also in scientific notation --------------------------------------------
SIZES = ":size rdfs:label 'population' . :City rdfs:label 'city' .\n" + "\n".join(
    f":{name} a :City ; rdfs:label '{name}' ; :size {size} ."
    for name, size in {
        "Tokyo": '"1.3E7"^^xsd:double', "Leeds": "900000", "Bern": '"1.3e5"^^xsd:float',
        "Vasta": 10**20, "Vastra": 10**20 + 1,
    }.items()
)  # fmt: skip


def test_what_is_the_same_is_asked_of_two_things(about: Programs) -> None:
    assert ask(about("sizes"), "Does Tokyo have the same population?").verdict != "proved"


# --- 6 and 8: symmetric and reflexive edges, and proofs of what is asked alone ------------------------
PARTNERS = "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n" + (
    ":partner a owl:SymmetricProperty ; rdfs:label 'partner' . :sib rdfs:label 'sibling of' . "
    ":named rdfs:label 'named after' . :radius rdfs:label 'radius' .\n"
    ":a rdfs:label 'Nordhav' ; :partner :a , :b . :b rdfs:label 'Sunvik' . :c rdfs:label 'Ostmar' ; :partner :a .\n"
    ":e rdfs:label 'Emma' ; :sib :e , :f . :f rdfs:label 'Finn' .\n"
    ":t rdfs:label 'Titan' ; :radius 2575 . :m rdfs:label 'Mercury' ; :radius 2440 ; :named :m .\n"
)


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Who are the partners of Nordhav?", "Sunvik Ostmar"),
        ("Who are the partners of Ostmar?", "Nordhav"),
        ("Who are the partners of Sunvik?", "Nordhav"),
        ("Is Nordhav a partner of Sunvik?", "yes"),
        ("How many partners does Nordhav have?", "2"),
        ("Who are the siblings of Emma?", "Finn"),
        ("Is Sunvik a partner of Nordhav?", "yes"),
    ],
)
def test_no_one_is_a_partner_of_their_own(about: Programs, question: str, names: str) -> None:
    result = ask(about("partners"), question)
    assert given(result) == set(names.split())
    assert all(row["head"] != row["tail"] for row in result.evidence)


def test_the_proof_says_what_follows_from_a_symmetric_relation(about: Programs) -> None:
    result = ask(about("partners"), "Who are the partners of Sunvik?")
    assert [row["properties"] for row in result.evidence] == [[{"inferred": "symmetric"}]]


@pytest.mark.parametrize("question", ["Is Titan larger than Mercury?", "Which is larger, Titan or Mercury?"])
def test_a_proof_shows_what_proves_alone(about: Programs, question: str) -> None:
    result = ask(about("partners"), question)
    assert {row["relation_label"] for row in result.evidence} == {"radius"}
    assert result.verdict == "proved"


# --- with entity types -----------------------------------------------------------------------------
COMPANIES = (
    ":parent rdfs:label 'parent company' . :staff rdfs:label 'employees' . :field rdfs:label 'industry' . "
    ":seat rdfs:label 'headquarters' . :from rdfs:label 'founded in' . :Company rdfs:label 'company' . "
    ":City rdfs:label 'city' . :Person rdfs:label 'person' . :home rdfs:label 'lives in' .\n"
    ":ally rdfs:label 'partner' . :g :ally :g . :h :ally :g .\n"
    ":o a :City ; rdfs:label 'Oslo' . :b a :City ; rdfs:label 'Bergen' . :bank rdfs:label 'banking' . "
    ":oil rdfs:label 'energy' . :food rdfs:label 'food' .\n"
    ":g a :Company ; rdfs:label 'Granite Bank' ; :staff 900 ; :field :bank ; :seat :o ; :parent :f .\n"
    ":h a :Company ; rdfs:label 'Halden Oil' ; :staff 12000 ; :field :oil ; :seat :b ; :from :o .\n"
    ":m a :Company ; rdfs:label 'Moss Foods' ; :staff 300 ; :field :food ; :seat :o ; :parent :f .\n"
    ":f a :Company ; rdfs:label 'Fjell Retail' ; :staff 5000 ; :field :food ; :seat :b .\n"
    ":p a :Person ; rdfs:label 'Ida Moe' ; :home :o . :q a :Person ; rdfs:label 'Jon Lie' ; :home :b .\n"
)


LACKING = ("What is the {} of {}?", "What is {1}'s {0}?", "Tell me the {} of {}.", "Can you tell me the {} of {}?")


@pytest.mark.parametrize("noun", ["stock price", "share price", "revenue", "turnover", "phone number"])
@pytest.mark.parametrize("question", LACKING)
def test_what_the_graph_does_not_have_is_not_answered(about: Programs, question: str, noun: str) -> None:
    result = ask(about("companies"), question.format(noun, "Granite Bank"))
    assert (result.answer, result.reason) == ("", "not_in_facts")


@pytest.mark.parametrize("question", LACKING)
def test_what_others_have_is_not_answered_by_what_stands_beside_it(question: str, tmp_path: Path) -> None:
    graph = [("Nordhav", "revenue", 900), ("Nordhav", "ceo", "Kim"), ("Sorvik", "ceo", "Bo"), ("Sorvik", "ally", "Eld")]
    graph += [("Nordhav", "turnover", 40), ("Eld", "turnover", 7), ("Eld", "ceo", "Ada"), ("Ostmar", "turnover", 5)]
    triples = [(head, relation, str(tail)) for head, relation, tail in graph]
    program = KERAG(KnowledgeBase.from_triples(triples, tmp_path / "kb", encoder=ENCODER))
    assert ask(program, question.format("revenue", "Sorvik")).answer == ""
    beside = ask(program, question.format("revenue", "Ostmar"))
    assert ask(program, question.format("revenue", "Nordhav")).answer == "900"
    assert beside.answer == "" or "the proof does not cover 'revenue'" in beside.doubts


def test_what_is_asked_for_by_its_name_is_not_proved_by_what_stands_beside_it(tmp_path: Path) -> None:
    rows = [("Ada Holt", "plays in club", "Sorvik"), ("Ada Holt", "plays for country", "Norland")]
    base = KnowledgeBase.from_triples([*rows, ("Sorvik", "lies in", "Norland")], tmp_path / "kb", encoder=ENCODER)
    for cited, doubts in (("plays in club", []), ("plays for country", ["the proof does not cover 'football club'"])):
        answer = next(tail for _, relation, tail in rows if relation == cited)
        replies = topics("Ada Holt"), conclude_with(answer, cite=[cited])
        result, _ = play(kerag(base, filtering="none", hops=1), "Which football club does Ada Holt play for?", *replies)
        assert (result.answer, result.doubts) == (answer, doubts)


# --- ten further reports ---------------------------------------------------------------------------
def built(folder: Path, name: str, text: str) -> KnowledgeBase:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return build(read_graph([path]), folder / "kb", encoder=None)


def edges(base: KnowledgeBase) -> set[tuple[str, str, str]]:
    """The triples by label."""
    rows = base.to_pandas()[["head", "relation", "tail"]].itertuples(index=False)
    return {tuple(map(str, row)) for row in rows}  # type: ignore[misc]


@pytest.mark.filterwarnings("ignore:.*was read as a triple")
def test_names_that_look_like_missing_values_are_names(tmp_path: Path) -> None:
    """pykeen/pykeen#883."""
    rows = {("Nan", "lives in", "NA"), ("null", "knows", "nan"), ("None", "knows", "N/A")}
    text = "".join("\t".join(row) + "\n" for row in sorted(rows))
    assert edges(built(tmp_path, "a.tsv", text)) == rows


def test_a_missing_value_of_a_frame_is_no_triple() -> None:
    """Knowledge-Graph-Hub/kg-covid-19#127."""
    frame = pandas.DataFrame({"h": ["a", "b", "c"], "r": ["size"] * 3, "t": [1.5, float("nan"), 2.0]})
    with pytest.raises(UserError, match="row 2 has no tail"):
        KnowledgeBase.from_triples(frame)
    dates = [pandas.Timestamp("2020-01-01"), pandas.NaT]
    ships = pandas.DataFrame({"name": ["Aurora", "Celeste"], "size": [float("nan"), 2.0], "built": dates})
    assert edges(KnowledgeBase.from_tables({"ships": ships})) == {
        ("Aurora", "built", "2020-01-01"),
        ("Celeste", "size", "2"),
    }


def test_quotation_marks_of_a_table_without_quoting_are_text(tmp_path: Path) -> None:
    """SPARQL-Anything/sparql.anything#625."""
    text = '"Kostas Tsianos" Theatre\tlocated in\tLarissa\n5" pipe\tlocated in\tOslo\n'
    assert edges(built(tmp_path, "a.tsv", text)) == {
        ('"Kostas Tsianos" Theatre', "located in", "Larissa"),
        ('5" pipe', "located in", "Oslo"),
    }


@pytest.mark.parametrize("suffix", ["nt", "csv", "parquet", "graphml"])
def test_what_is_exported_is_read_again(suffix: str, tmp_path: Path) -> None:
    """ad-freiburg/qlever#912 and #3064: quotation marks, tabs, line feeds and carriage returns."""
    rows = [("Ann", "says", 'a "quoted"\tword\r\nline\rend\\n'), ("Ann", "knows", "Bob\\t")]
    base = KnowledgeBase.from_triples(rows)
    export_graph(base.graph, tmp_path / f"out.{suffix}")
    again = build(read_graph([tmp_path / f"out.{suffix}"]), tmp_path / "kb", encoder=None)
    assert edges(again) == edges(base) == set(rows)
    with pytest.raises(UserError, match="has a tab or a line break"):
        export_graph(base.graph, tmp_path / "out.tsv")


TIMES = (
    ":at rdfs:label 'start date' . :Event rdfs:label 'event' .\n"
    ":a a :Event ; rdfs:label 'Alfa Fair' ; :at '2020-01-01T01:00:00+05:00'^^xsd:dateTime .\n"
    ":b a :Event ; rdfs:label 'Beta Fair' ; :at '2019-12-31T22:00:00Z'^^xsd:dateTime .\n"
    ":c a :Event ; rdfs:label 'Gala Fair' ; :at '2021-01-19'^^xsd:date .\n"
    ":d a :Event ; rdfs:label 'Zeta Fair' ; :at '2021-09-24-06:00'^^xsd:date .\n"
)


def test_what_is_before_a_date_is_not_proved_by_what_is_at_it(tmp_path: Path) -> None:
    """eclipse-rdf4j/rdf4j#6048: values that are no dates among those that are, here the most."""
    base = build_turtle(TIMES + ":c :at 'soon' , 'later' , 'never' .", tmp_path, encoder=ENCODER)
    assert ask(KERAG(base), "Which events have a start date before 2021-01-19?").verdict != "proved"


OWNERS = ":owner rdfs:label 'owner' .\n" + "\n".join(
    f":n{number} rdfs:label '{name}' ; :owner :o{number} . :o{number} rdfs:label '{owner}' ."
    for number, (name, owner) in enumerate(
        {"System Admin": "Ida Moe", "NewsRoom": "Al Fo", "Doe, John": "Jon Lie", "Smith, Mary Ann": "Per By"}.items()
    )
)


SHIPS = {
    "name": ["Aurora", "Borealis", "Celeste"],
    "insured": [True, False, True],
    "home port": ["Oslo", "Oslo", "Bergen"],
}
TRUTHS = (
    ":Ship rdfs:label 'ship' . :insured rdfs:label 'insured' .\n"
    ":a a :Ship ; rdfs:label 'Aurora' ; :insured '1'^^xsd:boolean . :b a :Ship ; rdfs:label 'Borealis' ; "
    ":insured '0'^^xsd:boolean . :c a :Ship ; rdfs:label 'Celeste' ; :insured true .\n"
)


@pytest.mark.parametrize("memory", [None, 0.5])
def test_one_and_zero_are_stored_and_exported_as_true_and_false(tmp_path: Path, memory: float | None) -> None:
    path = tmp_path / "ships.ttl"
    path.write_text(PREFIXES + TRUTHS, encoding="utf-8")
    base = build([path], tmp_path / "kb", encoder=None, memory=memory)
    tails = {tail for _, relation, tail in edges(base) if relation.endswith("insured")}
    assert tails == {"true", "false"}
    assert base.manifest.counts["values"] == 2
    for query in ("SELECT ?x { ?x <insured> true }", "SELECT ?x { ?x <insured> ?y . FILTER(?y) }"):
        assert len(base.query(query).rows) == 2
    export_graph(base.columnar, tmp_path / "out.nt")
    assert '"1"^^' not in (tmp_path / "out.nt").read_text(encoding="utf-8")


GRAPHS = {
    "cities": CITIES,
    "firms": FIRMS,
    "sizes": SIZES,
    "partners": PARTNERS,
    "companies": COMPANIES,
    "times": TIMES,
    "owners": OWNERS,
    "truths": TRUTHS,
}


@pytest.fixture(scope="module")
def about(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    """The program over a graph of this file."""

    @cache
    def program(name: str) -> KERAG:
        folder = tmp_path_factory.mktemp(name)
        if name == "ships":
            return KERAG(KnowledgeBase.from_tables({"ships": pandas.DataFrame(SHIPS)}, folder / "kb"))
        return KERAG(build_turtle(GRAPHS[name], folder, encoder=ENCODER))

    return program


PROVED = {
    # RDFLib/rdflib#2148, #2210 and #3116, ad-freiburg/qlever#2106
    "cities": [
        ("Which cities were founded before 1000?", "Colonia, Lutetia, Zeroville"),
        ("Which cities were founded before 40 BC?", "Lutetia"),
        ("Which cities were founded before 40 B.C.?", "Lutetia"),
        ("Which cities were founded after 40 BC?", "Colonia, Zeroville, Novaton, Farville"),
        ("Which cities were founded in 38 BC?", "Colonia"),
        ("Was Colonia founded in 38 BCE?", "yes"),
        ("Which cities were founded before AD 79?", "Colonia, Lutetia, Zeroville"),
        ("How many cities were founded before 1 AD?", "3"),
        ("Which cities were founded between 60 and 40 BC?", "Lutetia"),
        ("Which cities were founded between 40 BC and 1900?", "Colonia, Zeroville, Novaton"),
        ("Which city was founded first?", "Lutetia"),
        ("Which city was founded last?", "Farville"),
        ("Which cities were founded after 10000?", "Farville"),
        ("Was Lutetia founded before Colonia?", "yes"),
    ],
    "sizes": [
        ("Is the population of Tokyo larger than the population of Leeds?", "yes"),
        ("Is the population of Tokyo larger than that of Leeds?", "yes"),
        ("Is Tokyo's population smaller than Leeds's?", "no"),
        ("Is the population of Tokyo greater than 900000?", "yes"),
        ("Is the population of Bern less than 900,000?", "yes"),
        ("Which cities have a population over 1e6?", "Tokyo, Vasta, Vastra"),
        ("Which city has the largest population?", "Vastra"),
        ("Is the population of Vastra larger than the population of Vasta?", "yes"),
        ("Is the population of Vasta larger than the population of Vastra?", "no"),
        ("Do Vasta and Vastra have the same population?", "no"),
    ],
    "partners": [
        ("Is Nordhav a partner of Nordhav?", "yes"),  # the graph says so
        ("Is Nordhav a partner of itself?", "yes"),
        ("Is Ostmar a partner of Ostmar?", "no"),
        ("Is Ostmar a partner of itself?", "no"),
        ("Is Finn a sibling of Finn?", "no"),
    ],
    "companies": [
        ("Which company has the most employees?", "Halden Oil"),
        ("Which company has the fewest employees?", "Moss Foods"),
        ("Which companies are headquartered in Oslo?", "Granite Bank, Moss Foods"),
        ("Which companies are based in Oslo?", "Granite Bank, Moss Foods"),
        ("How many companies are based in Oslo?", "2"),
        ("Is Moss Foods based in Oslo?", "yes"),
        ("Which companies are partners of Granite Bank?", "Halden Oil"),
        ("Which companies are not partners of Granite Bank?", "Fjell Retail, Moss Foods"),
        ("Which people live in Oslo?", "Ida Moe"),
        ("How many people are there?", "2"),
        ("Can you tell me the industry of Granite Bank?", "banking"),
        ("Could you please list the companies that are based in Oslo?", "Granite Bank, Moss Foods"),
        ("Please list all companies with fewer than 1000 employees.", "Granite Bank, Moss Foods"),
        ("Do you know whether Moss Foods is based in Oslo?", "yes"),
        ("Are Granite Bank and Moss Foods headquartered in Oslo?", "yes"),
        ("Are Granite Bank and Halden Oil headquartered in Oslo?", "no"),
        ("Is Granite Bank headquartered in Oslo?", "yes"),
    ],
    # RDFLib/rdflib#34, #630 and #803, sparna-git/Sparnatural#190
    "times": [
        ("Which event has the earliest start date?", "Alfa Fair"),
        ("Is the start date of Alfa Fair earlier than that of Beta Fair?", "yes"),
        ("Which events have a start date before 2021-01-19?", "Alfa Fair, Beta Fair"),
        ("Which events started before 19 January 2021?", "Alfa Fair, Beta Fair"),
        ("Which events started in 2021?", "Gala Fair, Zeta Fair"),
        ("Which event started last?", "Zeta Fair"),
    ],
    # RDFLib/prez#430; and what "and" joins holds of each
    "ships": [
        ("Is Aurora insured?", "yes"),
        ("Is Borealis insured?", "no"),
        ("Is Borealis not insured?", "yes"),
        ("Which ships are insured?", "Aurora, Celeste"),
        ("Which ships are not insured?", "Borealis"),
        ("How many ships are insured?", "2"),
        ("Are Aurora and Celeste insured?", "yes"),
        ("Are Aurora and Borealis insured?", "no"),
    ],
    # The lexical space of `xsd:boolean`, https://www.w3.org/TR/xmlschema11-2/#boolean
    "truths": [
        ("Is Aurora insured?", "yes"),
        ("Is Borealis insured?", "no"),
        ("Which ships are insured?", "Aurora, Celeste"),
        ("How many ships are not insured?", "1"),
    ],
    "firms": [
        (f"Where is {name} located?", right)
        for name, right in [
            ("Bill & Tedd LLC", "Oslo"),
            ("Bill and Tedd LLC", "Oslo"),
            ("Ted LLC", "Paris"),
            ("Hall & Sons", "Bern"),
            ("A.B.C.", "Quito"),
            ("ABC", "Quito"),
            ("X.Y.Z. Motors", "Rome"),
            ("Dvořák & Söhne", "Brno"),
            (decomposed("Dvořák & Söhne"), "Brno"),
            ("Dvořák und Söhne", "Brno"),
            (decomposed("Řím Works"), "Linz"),
            ("Řím Works", "Linz"),
            ("Řím\N{NO-BREAK SPACE}Works", "Linz"),
            ("Ř\N{SOFT HYPHEN}ím Works", "Linz"),
            ("".join(chr(ord(c) + 0xFEE0) if c.isalpha() else c for c in "Ted LLC"), "Paris"),
            ("Jean\N{NON-BREAKING HYPHEN}Paul Mills", "Metz"),
        ]
    ],
    # HKUDS/LightRAG#3562, ICIJ/datashare#2049
    "owners": [
        (f"Who is the owner of {name}?", right)
        for name, right in [
            ("SystemAdmin", "Ida Moe"),
            ("system-admin", "Ida Moe"),
            ("News Room", "Al Fo"),
            ("John Doe", "Jon Lie"),
            ("Doe, John", "Jon Lie"),
            ("Mary Ann Smith", "Per By"),
        ]
    ],
}


@pytest.mark.parametrize(
    ("graph", "question", "answers"), [(graph, *row) for graph, rows in PROVED.items() for row in rows]
)
def test_it_is_proved(about: Programs, graph: str, question: str, answers: str) -> None:
    result = ask(about(graph), question)
    assert (given(result), result.verdict) == (set(answers.split(", ")), "proved")
