"""What people ask of the tables of a small database: classes in the plural, keys of other tables, lists in cells."""

from __future__ import annotations

from typing import Any

import pytest
from program_parts import ask, written_tables

from triplecheck.kg import KnowledgeBase
from triplecheck.programs import KERAG

TABLES = {
    "tools": """
        tool_id|tool_name|kind|shelf_id|bought_year|daily_fee_eur|status
        T1|Bosk Drill 18|drill|S1|2012|9|lent
        T2|Bosk Drill 18 Pro|drill|S2|2019|14|free
        T3|Hand Plane No. 4|plane|S1|1998|3|free
        T4|Tile Saw|saw|S2|2016|22|lent
        T5|Belt Sander|sander|S3|2020|12|broken
    """,
    "shelves": """
        shelf_id|shelf_name|opened_year|keeper_id|head_helper_id
        S1|North Shelf|2005|H1|H2
        S2|South Shelf|2011|H2|H2
        S3|Yard Rack|2018|H3|H1
    """,
    "helpers": """
        helper_id|helper_name|shelf_ids|joined_on|hourly_pay_eur|skills
        H1|Ines Mauro|S1;S3|2010-04-01|24|sharpening;wiring
        H2|Pål Strand|S1;S2|2016-09-15|31|wiring
        H3|Rosa Lindqvist|S3|2020-01-07|22|sharpening;welding
    """,
    "borrowers": """
        borrower_id|borrower_name|borrower_since
        B1|Ottoline Weir|2019-03-02
        B2|Ottlin & Daughters Ltd|2021-06-11
        B3|Jonas Weir|2022-10-30
    """,
    "bookings": """
        booking_id|borrower_id|tool_id|start_date|total_eur
        L-101|B1|T1|2024-01-30|18
        L-102|B2|T4|2024-02-03|66
        L-103|B2|T1|2024-02-17|27
        L-104|B3|T3|2024-02-29|6
        L-105|B1|T4|2024-03-01|44
    """,
}

ANSWERED = {
    "several of an order": [
        ("What are the three oldest tools by year?", "Hand Plane No. 4, Bosk Drill 18, Tile Saw"),
        ("Which two tools have the highest daily fee?", "Tile Saw, Bosk Drill 18 Pro"),
        ("What are the top 2 tools by daily fee?", "Tile Saw, Bosk Drill 18 Pro"),
        ("Which of the two is newer, Tile Saw or Belt Sander?", "Belt Sander"),
    ],
    "a month": [
        ("Which bookings started in February 2024?", "L-102, L-103, L-104"),
        ("Which bookings started after February 2024?", "L-105"),
        ("How many bookings started before February 2024?", "1"),
    ],
    "the start and the end of a time": [
        ("Which helpers joined since the start of 2016?", "Pål Strand, Rosa Lindqvist"),
        ("Which helpers joined before the end of 2016?", "Ines Mauro, Pål Strand"),
        ("Which helpers joined after the end of 2016?", "Rosa Lindqvist"),
    ],
    "a deed after which a table is called": [
        ("Which borrowers booked the Tile Saw?", "Ottlin & Daughters Ltd, Ottoline Weir"),
        ("Who booked the Tile Saw?", "Ottlin & Daughters Ltd, Ottoline Weir"),
        ("How many times has Ottlin & Daughters booked with us?", "2"),
    ],
    "values of a column": [
        ("Which tools are lent?", "Bosk Drill 18, Tile Saw"),
        ("Which tools are broken?", "Belt Sander"),
        ("Which helpers know sharpening?", "Ines Mauro, Rosa Lindqvist"),
    ],
    "a key that says no more than that two belong together": [
        ("Which helpers work at the North Shelf?", "Ines Mauro, Pål Strand"),
        ("Who is the head helper of the Yard Rack?", "Ines Mauro"),
    ],
    "a year and not a part of a name": [("Which shelves were opened before 2012?", "North Shelf, South Shelf")],
    "a pay each hour": [("Which helpers earn more than 23 euro per hour?", "Ines Mauro, Pål Strand")],
}


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> KERAG:
    folder = tmp_path_factory.mktemp("tools")
    return KERAG(KnowledgeBase.from_tables(written_tables(TABLES, folder), folder / "kb"), verdict="likely")


@pytest.mark.parametrize(("question", "answer"), [pair for pairs in ANSWERED.values() for pair in pairs])
def test_it_is_answered(tools: KERAG, question: str, answer: str) -> None:
    result: Any = ask(tools, question)
    assert sorted((result.answer or result.reason).split(", ")) == sorted(answer.split(", "))


@pytest.mark.parametrize("question", ["Who is in charge of the Tile Saw?", "Who charges for the Tile Saw?"])
def test_who_is_no_number(tools: KERAG, question: str) -> None:
    result: Any = ask(tools, question)
    assert not any(answer["label"].isdecimal() for answer in result.answers)


def test_the_keys_of_rows_are_not_added_up(tools: KERAG) -> None:
    result: Any = ask(tools, "What do all the bookings of Ottoline Weir add up to?")
    assert "<booking id>" not in result.query


def test_a_name_without_its_legal_form(tools: KERAG) -> None:
    result: Any = ask(tools, "since when is ottlin & daughters a borrower?")
    assert result.answer == "2021-06-11"
