"""What people ask of a small graph whose things have names in lower case, as owners write them; no language model."""

from __future__ import annotations

from typing import Any

import pytest
from program_parts import ask, build_rows, written_rows

from triplecheck.programs import KERAG

ROWS = """
Top Acre|type|field; Top Acre|bears|plums; Top Acre|bears|walnuts; Top Acre|leased by|Lotte Arn
Low Acre|type|field; Low Acre|bears|plums; Low Acre|leased by|Max Dorn; Mill Strip|type|field; Mill Strip|bears|quinces
Mill Strip|leased by|Lotte Arn
plums|type|fruit; plums|months to ripen|5; walnuts|type|fruit; walnuts|months to ripen|7
quinces|type|fruit; quinces|months to ripen|8; medlars|type|fruit; medlars|months to ripen|9
Lotte Arn|type|grower; Max Dorn|type|grower; Lotte Arn|member of|dusk choir; Max Dorn|member of|dusk choir
Lotte Arn|lives in|Vik; Max Dorn|lives in|Osby; dusk choir|type|choir; dusk choir|rehearses in|Long Barn
dusk choir|yearly fee|€30; dawn choir|type|choir; dawn choir|yearly fee|€20
Long Barn|type|barn; Long Barn|stands in|Osby
Old Red|type|vehicle; Old Red|kind|tractor; Old Red|paint|red; Old Red|kept at|Long Barn; Old Red|purchase price|€9,000
Little Blue|type|vehicle; Little Blue|kind|tractor; Little Blue|paint|blue; Little Blue|kept at|High Shed
Little Blue|purchase price|€4,500; Hopper|type|vehicle; Hopper|kind|trailer; Hopper|paint|red; Hopper|kept at|Long Barn
Hopper|purchase price|€700; High Shed|type|barn; High Shed|stands in|Vik
Plum Jam|type|dish; Plum Jam|course|starter; Plum Jam|first made in|1990; Nut Loaf|type|dish; Nut Loaf|course|starter
Nut Loaf|first made in|2001; Quince Pie|type|dish; Quince Pie|course|sweet; Quince Pie|first made in|1995
Plum Jam|started in|1988; Nut Loaf|started in|2000
Long Barn|roof insured for|€4,000; High Shed|roof insured for|€2,500
"""

ANSWERED = {
    "a thing in lower case beside a name": [
        ("Does Mill Strip bear plums?", "no"),
        ("Does Top Acre bear plums?", "yes"),
        ("Are walnuts on Low Acre?", "no"),
        ("Which fields bear both plums and walnuts?", "Top Acre"),
    ],
    "names in lower case of several words": [
        ("Is Lotte Arn in the dusk choir?", "yes"),
        ("What do the dusk choir and the dawn choir cost per year together?", "€50"),
    ],
    "a value that is said of a name": [
        ("Is Old Red red?", "yes"),
        ("Is Little Blue red?", "no"),
    ],
    "a value as a class, and another condition": [
        ("Which tractors are red?", "Old Red"),
        ("Which tractors are not red?", "Little Blue"),
        ("Which tractors are at Long Barn?", "Old Red"),
    ],
    "those that a relation speaks of": [
        ("Which members of the dusk choir live in Vik?", "Lotte Arn"),
        ("Which members of the dusk choir do not live in Vik?", "Max Dorn"),
    ],
    "a value that looks like a verb of another relation": [("How many starters do we have?", "2")],
    "what is insured for more": [("Which is insured for more, Long Barn or High Shed?", "Long Barn")],
    "what two have in common": [("Which choir do Lotte Arn and Max Dorn have in common?", "dusk choir")],
    "values that things are": [("Which fields are with plums?", "Top Acre, Low Acre")],
    "what we pay for": [
        ("What did we pay for Hopper?", "€700"),
        ("How much did we pay for Hopper?", "€700"),
        ("How much did we pay for Hopper and Old Red together?", "€9700"),
    ],
}


@pytest.fixture(scope="module")
def orchards(tmp_path_factory: pytest.TempPathFactory) -> KERAG:
    base = build_rows(written_rows(ROWS), tmp_path_factory.mktemp("orchards"), encoder="all-MiniLM-L6-v2")
    return KERAG(base, verdict="likely")


@pytest.mark.parametrize(("question", "answer"), [pair for pairs in ANSWERED.values() for pair in pairs])
def test_it_is_answered(orchards: KERAG, question: str, answer: str) -> None:
    result: Any = ask(orchards, question)
    assert (result.answer or result.reason) == answer
    assert result.query


def test_a_choir_has_the_members_that_belong_to_it(orchards: KERAG) -> None:
    result: Any = ask(orchards, "Who are the members of the dusk choir?")
    assert (result.answer, result.verdict) == ("Lotte Arn, Max Dorn", "proved")


def test_fruit_is_nobody(orchards: KERAG) -> None:
    assert ask(orchards, "Who bears plums?").verdict != "proved"
