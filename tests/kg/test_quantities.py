"""Literal values that can be compared."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplecheck.kg.types import XSD, Literal
from triplecheck.kg.values import Quantity, quantity


def typed(lexical: str, datatype: str) -> Quantity:
    found = quantity(Literal(lexical, XSD + datatype))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("lexical", "size"), [("42", 42), ("-7", -7), ("+0.50", 0.5), (".5", 0.5), ("1e3", 1000), (" 12 ", 12)]
)
@pytest.mark.parametrize("datatype", ["integer", "decimal", "double", "string"])
def test_numbers_are_numbers_whatever_their_datatype(lexical: str, size: float, datatype: str) -> None:
    assert typed(lexical, datatype) == Quantity("number", size)


@pytest.mark.parametrize("lexical", ["", "twelve", "12 km", "1,000", "NaN", "inf", "1.2.3", "12-13"])
def test_text_is_no_quantity(lexical: str) -> None:
    assert quantity(Literal(lexical)) is None


def test_a_date_is_found_without_a_datatype() -> None:
    assert quantity(Literal("2014-07-13")) == typed("2014-07-13", "date")


def test_a_year_is_a_number_unless_it_is_typed_as_a_year() -> None:
    assert quantity(Literal("1895")) == Quantity("number", 1895)
    assert typed("1895", "gYear").kind == "time"


def test_points_in_time_of_several_precisions_are_in_order() -> None:
    in_order = [
        typed("-0044-03-15", "date"),
        typed("0001", "gYear"),
        typed("1895-11", "gYearMonth"),
        typed("1895-11-16", "date"),
        typed("1895-11-17T10:30:00Z", "dateTime"),
        typed("12025", "gYear"),
    ]
    assert in_order == sorted(in_order)
    assert len(set(in_order)) == len(in_order)


@given(st.dates(), st.dates())
def test_dates_are_as_far_apart_as_in_the_calendar(a: dt.date, b: dt.date) -> None:
    assert typed(a.isoformat(), "date").size - typed(b.isoformat(), "date").size == (a - b).days


@pytest.mark.parametrize("lexical", ["1895-13-01", "1895-02-30", "1895-00-00"])
def test_an_impossible_date_counts_as_its_year(lexical: str) -> None:
    assert typed(lexical, "date") == typed("1895", "gYear")


def test_a_year_that_is_none_is_no_quantity() -> None:
    assert quantity(Literal("unknown", XSD + "gYear")) is None
