"""Questions over small graphs made for what users of other tools have reported; the reports are named beside them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from program_parts import build_turtle

from triplecheck.lms import session
from triplecheck.programs import KERAG

ENCODER = "all-MiniLM-L6-v2"
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
