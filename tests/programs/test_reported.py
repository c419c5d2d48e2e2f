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
