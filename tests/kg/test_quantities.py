"""Literal values that can be compared."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplecheck.kg.types import XSD, Literal
from triplecheck.kg.values import Quantity, date_of, quantity, written


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


@pytest.mark.parametrize("lexical", ["", "twelve", "NaN", "inf", "1.2.3", "12-13"])
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


@pytest.mark.parametrize(
    ("lexical", "size"),
    [
        ("1,150", 1150),
        ("1 150", 1150),
        ("-12\u202f345.5", Fraction(-24691, 2)),
        ("1.5e3", 1500),
        ("0.1", Fraction(1, 10)),
        ("\u22125", -5),
        ("12345678901234567890", 12345678901234567890),
    ],
)
def test_numbers_are_exact_and_may_have_signs_of_thousands(lexical: str, size: Fraction) -> None:
    assert quantity(Literal(lexical)) == Quantity("number", size)


def test_numbers_of_20_digits_differ_though_their_floats_do_not() -> None:
    first, second = "12345678901234567890", "12345678901234567891"
    assert float(first) == float(second)
    assert quantity(Literal(first)) != quantity(Literal(second))


@pytest.mark.parametrize("lexical", ["1.150,5", "1,15", "1,1500", "1e999", "1e99999999999999999999", "9" * 5000])
def test_a_number_that_is_written_otherwise_or_too_long_is_text(lexical: str) -> None:
    assert quantity(Literal(lexical)) is None


@pytest.mark.parametrize(
    ("lexical", "kind", "size"),
    [
        ("3 kg", "mass", 3),
        ("800 g", "mass", Fraction(4, 5)),
        ("3kg", "mass", 3),
        ("1,150 km", "length", 1_150_000),
        ("6 feet", "length", Fraction(1143, 625)),
        ("5 km²", "area", 5_000_000),
        ("5 sq mi", "area", Fraction(40468564224, 3125)),
        ("36 km/h", "speed", 10),
        ("2 kilograms per cubic metre", "density", 2),
        ("20 °C", "temperature", Fraction(5863, 20)),
        ("90 min", "duration", 5400),
        ("12 %", "share", Fraction(3, 25)),
        ("12%", "share", Fraction(3, 25)),
        ("2 MB", "information", 16_000_000),
        ("$1,200", "money USD", 1200),
        ("-$5", "money USD", -5),
        ("$5 CAD", "money CAD", 5),
        ("12.50 €", "money EUR", Fraction(25, 2)),
        ("EUR 12", "money EUR", 12),
        ("3 kg/m", "kilogram meter^-1", 3),
    ],
)
def test_a_number_with_a_unit_is_in_the_base_unit_of_its_kind(lexical: str, kind: str, size: Fraction) -> None:
    assert quantity(Literal(lexical)) == Quantity(kind, size)


@pytest.mark.parametrize(
    "lexical",
    "3 Doors Down|50 Cent|2 Fast|7 min past|8 Mile|127 Hours|21 Grams|12 monkeys|5G|3D|7a|5 pm|3 cats|9 points|BMW 320|"
    "$5 km|USD 5 EUR|2001: A Space Odyssey|50 dB".split("|"),
)
def test_names_and_unknown_units_are_text(lexical: str) -> None:
    assert quantity(Literal(lexical)) is None


def test_units_of_one_dimension_are_in_order() -> None:
    sizes = [quantity(Literal(text)) for text in ("2 lb", "999 g", "1 kg", "3 tonnes")]
    assert all(one is not None for one in sizes)
    assert sizes == sorted(sizes)  # type: ignore[type-var]


@pytest.mark.parametrize(("datatype", "lexical"), [("boolean", "1"), ("anyURI", "1999"), ("gYear", "3 kg")])
def test_a_datatype_may_say_that_a_text_is_no_number(datatype: str, lexical: str) -> None:
    assert quantity(Literal(lexical, XSD + datatype)) is None


def test_a_duration_is_in_seconds() -> None:
    assert typed("P1DT1H0.5S", "dayTimeDuration") == Quantity("duration", Fraction(180_001, 2))
    assert typed("-P1Y", "duration").size == -365.25 * 86_400
    assert typed("PT90M", "duration") == quantity(Literal("90 min"))


def test_years_before_christ_and_after_9999_need_no_datatype() -> None:
    texts = ["-12026-01-01", "-0044-03-15", "-44-03-16", "0001-01-01", "9999-12-31", "12026-01-01"]
    in_order = [quantity(Literal(text)) for text in texts]
    assert {one.kind for one in in_order if one is not None} == {"time"}
    assert in_order == sorted(in_order)  # type: ignore[type-var]


def test_points_in_time_are_compared_in_utc() -> None:
    morning = typed("2001-05-03T08:00:00+02:00", "dateTime")
    assert morning == typed("2001-05-03T06:00:00Z", "dateTime") == quantity(Literal("2001-05-03 06:00"))
    assert typed("2001-05-03", "date") < morning < typed("2001-05-04", "date")
    assert typed("2001-05-03T25:00:00Z", "dateTime") == typed("2001-05-03", "date")


def test_a_date_is_known_as_far_as_it_is_written() -> None:
    assert [date_of(Literal(text)) for text in ("1999", "1999-05", "1999-05-03")] == [(1999,), (1999, 5), (1999, 5, 3)]


@pytest.mark.parametrize(
    ("size", "unit", "text"),
    [
        (470, "kg", "470 kg"),
        (470, "g", "470000 g"),
        (Fraction(19, 5), "", "3.8"),
        (Fraction(-1, 2), "$", "-$0.5"),
        (Fraction(1, 3), "", "0.333333333333"),
        (Fraction(3, 20), "%", "15 %"),
        (10, "", "10"),
    ],
)
def test_a_size_is_written_in_a_unit(size: Fraction, unit: str, text: str) -> None:
    assert written(size, unit) == text


def test_a_difference_of_temperatures_has_no_zero() -> None:
    assert written(10, "°C", difference=True) == "10 °C"
    assert written(Fraction(5863, 20), "°C") == "20 °C"


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**30), max_value=10**30))
def test_a_written_number_is_read_as_it_was(number: object) -> None:
    found = quantity(Literal(f"{number:f}"))
    assert found is not None and found.size == Fraction(str(number))
    assert quantity(Literal(written(found.size))) == found
