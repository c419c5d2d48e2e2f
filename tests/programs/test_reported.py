"""Questions over small graphs made for what users of other tools have reported; the reports are named beside them."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from program_parts import build_turtle

from triplecheck.lms import session
from triplecheck.programs import KERAG

ENCODER = "all-MiniLM-L6-v2"
decomposed = partial(unicodedata.normalize, "NFD")
Asked = Callable[[str], Any]


def asking(turtle: str, folder: Path) -> Asked:
    """A function that asks `extractive` about a graph in Turtle."""
    program = KERAG(build_turtle(turtle, folder, encoder=ENCODER))

    def ask(question: str) -> Any:
        with session("extractive"):
            return program(question=question)

    return ask


def given(result: Any) -> set[str]:
    return {answer["label"] for answer in result.answers} or {result.answer}


# --- 1: years before Christ and far years ----------------------------------------------------------
CITIES = ":founded rdfs:label 'founded' . :City rdfs:label 'city' .\n" + "\n".join(
    f":{name} a :City ; rdfs:label '{name}' ; :founded '{year}'^^xsd:gYear ."
    for name, year in {
        "Colonia": "-0038", "Lutetia": "-0052", "Zeroville": "0000", "Novaton": "1810", "Farville": "12019"
    }.items()
)  # fmt: skip


@pytest.fixture(scope="module")
def cities(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    return asking(CITIES, tmp_path_factory.mktemp("cities"))


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Which cities were founded before 1000?", "Colonia Lutetia Zeroville"),
        ("Which cities were founded before 40 BC?", "Lutetia"),
        ("Which cities were founded before 40 B.C.?", "Lutetia"),
        ("Which cities were founded after 40 BC?", "Colonia Zeroville Novaton Farville"),
        ("Which cities were founded in 38 BC?", "Colonia"),
        ("Was Colonia founded in 38 BCE?", "yes"),
        ("Which cities were founded before AD 79?", "Colonia Lutetia Zeroville"),
        ("How many cities were founded before 1 AD?", "3"),
        ("Which cities were founded between 60 and 40 BC?", "Lutetia"),
        ("Which cities were founded between 40 BC and 1900?", "Colonia Zeroville Novaton"),
        ("Which city was founded first?", "Lutetia"),
        ("Which city was founded last?", "Farville"),
        ("Which cities were founded after 10000?", "Farville"),
        ("Was Lutetia founded before Colonia?", "yes"),
    ],
)
def test_years_before_christ_and_far_years_are_compared(cities: Asked, question: str, names: str) -> None:
    """RDFLib/rdflib#2148, #2210 and #3116, ad-freiburg/qlever#2106."""
    result = cities(question)
    assert given(result) == set(names.split())
    assert result.verdict == "proved"


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


@pytest.fixture(scope="module")
def firms(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    return asking(FIRMS, tmp_path_factory.mktemp("firms"))


@pytest.mark.parametrize(
    ("name", "place"),
    [
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
    ],
)
def test_a_name_is_found_in_another_spelling(firms: Asked, name: str, place: str) -> None:
    result = firms(f"Where is {name} located?")
    assert (result.answer, result.verdict) == (place, "proved")


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
def test_a_shorter_name_proves_nothing_of_a_longer_one(firms: Asked, question: str) -> None:
    assert firms(question).verdict != "proved"


# --- 5 and 10: exact numbers, also in scientific notation --------------------------------------------
SIZES = ":size rdfs:label 'population' . :City rdfs:label 'city' .\n" + "\n".join(
    f":{name} a :City ; rdfs:label '{name}' ; :size {size} ."
    for name, size in {
        "Tokyo": '"1.3E7"^^xsd:double', "Leeds": "900000", "Bern": '"1.3e5"^^xsd:float',
        "Vasta": 10**20, "Vastra": 10**20 + 1,
    }.items()
)  # fmt: skip


@pytest.fixture(scope="module")
def sizes(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    return asking(SIZES, tmp_path_factory.mktemp("sizes"))


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Is the population of Tokyo larger than the population of Leeds?", "yes"),
        ("Is the population of Tokyo larger than that of Leeds?", "yes"),
        ("Is Tokyo's population smaller than Leeds's?", "no"),
        ("Is the population of Tokyo greater than 900000?", "yes"),
        ("Is the population of Bern less than 900,000?", "yes"),
        ("Which cities have a population over 1e6?", "Tokyo Vasta Vastra"),
        ("Which city has the largest population?", "Vastra"),
        ("Is the population of Vastra larger than the population of Vasta?", "yes"),
        ("Is the population of Vasta larger than the population of Vastra?", "no"),
        ("Do Vasta and Vastra have the same population?", "no"),
    ],
)
def test_numbers_are_compared_exactly(sizes: Asked, question: str, names: str) -> None:
    result = sizes(question)
    assert (given(result), result.verdict) == (set(names.split()), "proved")


def test_what_is_the_same_is_asked_of_two_things(sizes: Asked) -> None:
    assert sizes("Does Tokyo have the same population?").verdict != "proved"


# --- 6 and 8: symmetric and reflexive edges, and proofs of what is asked alone ------------------------
FIRM_PARTNERS = (
    ":partner a owl:SymmetricProperty ; rdfs:label 'partner' . :sib rdfs:label 'sibling of' . "
    ":named rdfs:label 'named after' . :radius rdfs:label 'radius' .\n"
    ":a rdfs:label 'Nordhav' ; :partner :a , :b . :b rdfs:label 'Sunvik' . :c rdfs:label 'Ostmar' ; :partner :a .\n"
    ":e rdfs:label 'Emma' ; :sib :e , :f . :f rdfs:label 'Finn' .\n"
    ":t rdfs:label 'Titan' ; :radius 2575 . :m rdfs:label 'Mercury' ; :radius 2440 ; :named :m .\n"
)


@pytest.fixture(scope="module")
def partners(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    owl = "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
    return asking(owl + FIRM_PARTNERS, tmp_path_factory.mktemp("partners"))


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Who are the partners of Nordhav?", "Sunvik"),
        ("How many partners does Nordhav have?", "1"),
        ("Who are the siblings of Emma?", "Finn"),
        ("Is Sunvik a partner of Nordhav?", "yes"),
    ],
)
def test_no_one_is_a_partner_of_their_own(partners: Asked, question: str, names: str) -> None:
    result = partners(question)
    assert given(result) == set(names.split())
    assert all(row["head"] != row["tail"] for row in result.evidence)


@pytest.mark.parametrize("question", ["Is Titan larger than Mercury?", "Which is larger, Titan or Mercury?"])
def test_a_proof_shows_what_proves_alone(partners: Asked, question: str) -> None:
    result = partners(question)
    assert {row["relation_label"] for row in result.evidence} == {"radius"}
    assert result.verdict == "proved"


# --- with entity types -----------------------------------------------------------------------------
COMPANIES = (
    ":parent rdfs:label 'parent company' . :staff rdfs:label 'employees' . :field rdfs:label 'industry' . "
    ":seat rdfs:label 'headquarters' . :from rdfs:label 'founded in' . :Company rdfs:label 'company' . "
    ":City rdfs:label 'city' . :Person rdfs:label 'person' . :home rdfs:label 'lives in' .\n"
    ":o a :City ; rdfs:label 'Oslo' . :b a :City ; rdfs:label 'Bergen' . :bank rdfs:label 'banking' . "
    ":oil rdfs:label 'energy' . :food rdfs:label 'food' .\n"
    ":g a :Company ; rdfs:label 'Granite Bank' ; :staff 900 ; :field :bank ; :seat :o ; :parent :f .\n"
    ":h a :Company ; rdfs:label 'Halden Oil' ; :staff 12000 ; :field :oil ; :seat :b ; :from :o .\n"
    ":m a :Company ; rdfs:label 'Moss Foods' ; :staff 300 ; :field :food ; :seat :o ; :parent :f .\n"
    ":f a :Company ; rdfs:label 'Fjell Retail' ; :staff 5000 ; :field :food ; :seat :b .\n"
    ":p a :Person ; rdfs:label 'Ida Moe' ; :home :o . :q a :Person ; rdfs:label 'Jon Lie' ; :home :b .\n"
)


@pytest.fixture(scope="module")
def companies(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    return asking(COMPANIES, tmp_path_factory.mktemp("companies"))


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Which company has the most employees?", {"Halden Oil"}),
        ("Which company has the fewest employees?", {"Moss Foods"}),
        ("Which companies are headquartered in Oslo?", {"Granite Bank", "Moss Foods"}),
        ("Which companies are based in Oslo?", {"Granite Bank", "Moss Foods"}),
        ("How many companies are based in Oslo?", {"2"}),
        ("Is Moss Foods based in Oslo?", {"yes"}),
        ("Which people live in Oslo?", {"Ida Moe"}),
        ("How many people are there?", {"2"}),
    ],
)
def test_companies(companies: Asked, question: str, names: set[str]) -> None:
    result = companies(question)
    assert (given(result), result.verdict) == (names, "proved")


@pytest.mark.parametrize("noun", ["stock price", "share price", "revenue", "turnover", "phone number"])
def test_what_the_graph_does_not_have_is_not_proved(companies: Asked, noun: str) -> None:
    for question in (f"What is the {noun} of Granite Bank?", f"What is Granite Bank's {noun}?"):
        assert companies(question).verdict != "proved"
