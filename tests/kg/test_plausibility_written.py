"""Values in texts compared with literals of a graph."""

from __future__ import annotations

import pytest

from triplecheck.kg.types import XSD, Literal
from triplecheck.kg.values import agrees, mentions

BIRTH = Literal("1899-08-13", XSD + "date")
YEAR = Literal("1979", XSD + "gYear")
PEOPLE = Literal("84000000", XSD + "integer")
WEIGHT = Literal("3 kg")
HEIGHT = Literal("1.85", XSD + "decimal")


@pytest.mark.parametrize(
    ("written", "value", "agreed"),
    [
        ("13 August 1899", BIRTH, True),
        ("13th of August, 1899", BIRTH, True),
        ("August 13, 1899", BIRTH, True),
        ("August 1899", BIRTH, True),
        ("1899", BIRTH, True),
        ("1899-08-13", BIRTH, True),
        ("14 August 1899", BIRTH, False),
        ("September 1899", BIRTH, False),
        ("1900", BIRTH, False),
        ("London", BIRTH, None),
        ("1979", YEAR, True),
        ("May 1979", YEAR, True),
        ("1980", YEAR, False),
        ("84 million", PEOPLE, True),
        ("84,000,000", PEOPLE, True),
        ("84.2 million", PEOPLE, False),
        ("0.1 billion", PEOPLE, True),
        ("83999999", PEOPLE, False),
        ("84 million people", PEOPLE, True),
        ("many", PEOPLE, None),
        ("1.85 m", HEIGHT, True),
        ("1.9", HEIGHT, True),
        ("1.8", HEIGHT, False),
        ("1979", Literal("a text"), None),
        ("13 Aug. 1899", BIRTH, True),
        ("13.8.1899", BIRTH, True),
        ("8/13/1899", BIRTH, True),
        ("13/8/1899", BIRTH, True),
        ("84 000 000", PEOPLE, True),
        ("84,0000", PEOPLE, None),
        ("84.0 million", Literal("84,000,000"), True),
        ("12345678901234567891", Literal("12345678901234567890"), False),
        ("3 kg", WEIGHT, True),
        ("3000 g", WEIGHT, True),
        ("3", WEIGHT, True),
        ("3.0 kilograms", Literal("2960 g"), True),
        ("4 kg", WEIGHT, False),
        ("3 km", WEIGHT, None),
        ("$1,200", Literal("1200"), True),
        ("15 March 44 BC", Literal("-44-03-15"), True),
        ("12026-01-01", Literal("12026-01-01"), True),
    ],
)
def test_a_value_agrees_at_the_precision_of_the_text(written: str, value: Literal, agreed: bool | None) -> None:
    assert agrees(written, value) is agreed


@pytest.mark.parametrize(
    ("sentence", "value", "mentioned"),
    [
        ("It weighs 3.0 kg.", Literal("2990 g"), True),
        ("It weighs 3.0 kg.", Literal("3.1 kg"), False),
        ("It is 3 km long.", WEIGHT, False),
        ("It has 3 of them.", WEIGHT, True),
        ("It was " + "9" * 5000 + " m.", WEIGHT, False),
        ("She came on 12026-01-01.", Literal("12026-01-01"), True),
    ],
)
def test_a_sentence_mentions_a_value_at_its_precision(sentence: str, value: Literal, mentioned: bool) -> None:
    assert mentions(sentence, value) is mentioned
