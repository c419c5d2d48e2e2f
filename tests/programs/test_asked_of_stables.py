"""What people ask of the tables of a riding club: what they call the whole, what is so, and orders in names."""

from __future__ import annotations

from typing import Any

import pytest
from program_parts import ask, written_tables

from triplecheck.kg import KnowledgeBase
from triplecheck.programs import KERAG

TABLES = {
    "horses": """
        Horse|Born on|Bought year|Feed price|Last visit|Fully shod
        Ash|2010-05-01|2018|£4.10|2024-03-14|yes
        Bramble|2015-04-03|2016|£5.25|2023-11-02|no
        Clover|2008-06-07|2020|£3.90|2024-01-09|yes
    """,
    "riders": """
        Rider|Joined on|Coached by|Rides
        Ada Moss|2011-04-01|Ben Crane|Ash;Clover
        Ben Crane|2009-02-15||Bramble;Ash
        Cleo Hartl|2020-09-30|Ada Moss|Clover
    """,
    "shows": """
        Show|Held on|Sponsored by|Ridden by|Judged by|Tickets sold|Sold out
        Spring Cup|2024-04-06|Hazel & Finch Ltd|Ada Moss;Cleo Hartl|Ben Crane|310|yes
        Autumn Cup|2024-10-05|Hazel & Finch Ltd;Oat Mills plc|Ben Crane;Ada Moss|Cleo Hartl|150|no
        Night Ride|2023-12-30|Oat Mills plc|Cleo Hartl;Ben Crane|Ada Moss|220|yes
    """,
    "sponsors": """
        Sponsor|Sponsor since|Annual gift
        Hazel & Finch Ltd|2012|€1,200
        Oat Mills plc|2009|€850
    """,
    "fences": """
        Fence|Show|Fence number
        The Wall|Spring Cup|1
        The Gate|Spring Cup|2
        The Brush|Spring Cup|3
        The Water|Night Ride|1
    """,
}

ANSWERED = {
    "the whole, which has no name here": [
        ("Who joined the club first, Ada Moss or Ben Crane?", "Ben Crane"),
        ("Which two riders joined the club most recently?", "Ada Moss, Cleo Hartl"),
        ("Which sponsor has been with the club the longest?", "Oat Mills plc"),
        ("When did cleo hartl join the club?", "2020-09-30"),
    ],
    "what is so": [
        ("Which shows were sold out?", "Night Ride, Spring Cup"),
        ("Which shod horses does Ada Moss ride?", "Ash, Clover"),
        ("How many of the shod horses were born before 2010?", "1"),
    ],
    "an order in a name": [
        ("Which horses had their latest visit in 2024?", "Ash, Clover"),
        ("Which horse had the latest visit?", "Ash"),
    ],
    "the youngest by birth, not by a year of another thing": [
        ("Which horse is the youngest one?", "Bramble"),
        ("second oldest horse?", "Ash"),
    ],
    "amounts with their unit": [
        ("What is the feed price of Bramble?", "£5.25"),
        ("Which horses have a feed price between £4.05 and £4.95?", "Ash"),
        ("Who gives more per year, Hazel & Finch or Oat Mills?", "Hazel & Finch Ltd"),
    ],
    "numbers of places in an order": [("How many fences does the Spring Cup have?", "3")],
    "courtesy": [
        ("Could you please give me the names of all riders who ride Clover?", "Ada Moss, Cleo Hartl"),
        ("I would like to know the total annual gift of the sponsors.", "€2050"),
        ("Which horse is the oldest, i.e. the one born first?", "Clover"),
    ],
    "two who do the same": [("Which show did Ada Moss and Ben Crane ride in together?", "Autumn Cup")],
    "a name before a verb that may be a noun": [
        ("Who did Ada Moss coach?", "Cleo Hartl"),
        ("Which riders did Ben Crane coach?", "Ada Moss"),
        ("Which shows were ridden by the riders Ada Moss coached?", "Night Ride, Spring Cup"),
    ],
    "all of a class": [("How many horses are there in total?", "3")],
    "who sponsors": [("Who sponsors both the Autumn Cup and the Night Ride?", "Oat Mills plc")],
}


@pytest.fixture(scope="module")
def stables(tmp_path_factory: pytest.TempPathFactory) -> KERAG:
    folder = tmp_path_factory.mktemp("stables")
    return KERAG(KnowledgeBase.from_tables(written_tables(TABLES, folder), folder / "kb"), verdict="likely")


@pytest.mark.parametrize(("question", "answer"), [pair for pairs in ANSWERED.values() for pair in pairs])
def test_it_is_answered(stables: KERAG, question: str, answer: str) -> None:
    found: Any = ask(stables, question)
    assert ", ".join(sorted(one["label"] for one in found.answers) or [found.answer]) == answer
