"""Cells of wide tables as values."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from triplecheck.kg.readers.cells import separator, typed
from triplecheck.kg.types import XSD

Row = list[tuple[str, str | None]]


def values(cells: list[object], split: str | None = None, **options: object) -> list[Row]:
    found = typed(cells, split, **options)  # type: ignore[arg-type]
    return [[(v.text, v.datatype and v.datatype.removeprefix(XSD)) for v in row] for row in found.rows]


def plain(cells: list[object], **options: object) -> list[tuple[str, str | None]]:
    return [row[0] for row in values(cells, **options)]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1,200", "3,400,000", "7"], ["1200", "3400000", "7"]),
        (["1.200,5", "3,4"], ["1200.5", "3.4"]),
        (["1.234", "2.5"], ["1.234", "2.5"]),
        (["1 234 567", "1\u202f000"], ["1234567", "1000"]),
        (["1'234", "2"], ["1234", "2"]),
        (["12,34,567", "1,00,000"], ["1234567", "100000"]),
        (["(1,200)", "−5"], ["-1200", "-5"]),
        (["3.0", "4.0"], ["3", "4"]),
        (["1.3E7", "2e-3"], ["1.3E7", "2e-3"]),
        ([1.0, 3.0, None], ["1", "3"]),
        ([2.5, Decimal("1.50")], ["2.5", "1.5"]),
        ([12345678901234567890123456789012, 12345678901234567890123456789013], None),
    ],
)
def test_numbers_with_thousands_signs_are_numbers(cells: list[object], expected: list[str] | None) -> None:
    assert [row[0][0] for row in values(cells) if row] == (expected or [str(cell) for cell in cells])
    assert typed(cells).kind == "number"


def test_a_point_alone_is_a_thousands_sign_beside_decimal_commas() -> None:
    assert plain(["1.234", "2.500"], decimal_comma=True) == [("1234", "integer"), ("2500", "integer")]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["12%", "7.5 %"], ["12%", "7.5%"]),
        (["$1,200.50", "€3.1", "-£4"], ["$1200.50", "€3.10", "-£4"]),
        (["12 EUR", "CHF 7", "8 zł"], ["€12", "7 CHF", "8 PLN"]),
        (["$1.2M", "$3 billion"], ["$1200000", "$3000000000"]),
        (["1.234,50 €", "(2,75 €)"], ["€1234.50", "-€2.75"]),
    ],
)
def test_percentages_and_money_keep_their_unit(cells: list[object], expected: list[str]) -> None:
    assert plain(cells) == [(text, "string") for text in expected]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["2024-03-05", "1999-12-31"], ["2024-03-05", "1999-12-31"]),
        (["03/04/2024", "25/04/2024"], ["2024-04-03", "2024-04-25"]),
        (["03/04/2024", "04/25/2024"], ["2024-03-04", "2024-04-25"]),
        (["5.3.2024", "6.3.2024"], ["2024-03-05", "2024-03-06"]),
        (["5 March 2024", "March 6, 2024", "07-Mar-2024"], ["2024-03-05", "2024-03-06", "2024-03-07"]),
        (["2024-03-05 00:00:00", "2024-03-06T10:30"], ["2024-03-05", "2024-03-06T10:30:00"]),
        ([dt.date(2024, 3, 5), dt.datetime(2024, 3, 6)], ["2024-03-05", "2024-03-06"]),
        (["2024-05", "2024-06"], ["2024-05", "2024-06"]),
    ],
)
def test_dates_are_dates(cells: list[object], expected: list[str]) -> None:
    assert [text for text, _ in plain(cells)] == expected
    assert typed(cells).kind == "date"


def test_a_date_that_may_begin_with_day_or_month_is_a_text_with_a_note() -> None:
    found = typed(["03/04/2024", "05/06/2024"])
    assert (found.kind, len(found.notes)) == ("text", 1)
    assert "--day-first" in found.notes[0]
    assert plain(["03/04/2024"], day_first=True) == [("2024-04-03", "date")]
    assert plain(["03/04/2024"], day_first=False) == [("2024-03-04", "date")]


def test_dates_that_do_not_exist_are_texts() -> None:
    assert typed(["2024-02-30", "2024-13-01"]).kind != "date"


@pytest.mark.parametrize("cell", ["", "  ", "-", "–", "n/a", "#N/A", "NULL", "nan", None, float("nan")])
def test_empty_cells_are_nothing(cell: object) -> None:
    assert values([cell, "Ada"]) == [[], [("Ada", None)]]


def test_words_for_nothing_are_nothing_in_a_column_of_numbers_alone() -> None:
    assert values(["NA", "12", "7"])[0] == []
    assert values(["NA", "NO", "SE"])[0] == [("NA", None)]


def test_cells_are_split_where_it_is_said() -> None:
    assert values(["Ada; Ben;", "Cleo", ""], "; ") == [
        [("Ada", None), ("Ben", None)],
        [("Cleo", None)],
        [],
    ]
    assert values(["Ada; Ben"]) == [[("Ada; Ben", None)]]
    assert values([["Ada", "Ben"]]) == [[("Ada", None), ("Ben", None)]]


@pytest.mark.parametrize("cell", ["007", "+47 22 33 44 55", "ada@example.org", "https://example.org/a", "x" * 101])
def test_codes_addresses_and_long_texts_name_nothing(cell: str) -> None:
    assert plain([cell]) == [(cell, "string")]


def test_texts_of_many_digits_are_no_numbers() -> None:
    assert plain([10**20]) == [(str(10**20), "integer")]
    assert typed([str(10**20), str(10**20 + 1)]).kind == "text"


def test_yes_and_no_are_booleans() -> None:
    assert plain(["yes", "No", "TRUE"]) == [("true", "boolean"), ("false", "boolean"), ("true", "boolean")]
    assert plain(["Y", "n", "Y"]) == [("true", "boolean"), ("false", "boolean"), ("true", "boolean")]
    assert plain(["Y", "N", "X"]) == [("Y", None), ("N", None), ("X", None)]
    assert plain(["yes", "maybe"]) == [("yes", None), ("maybe", None)]


def test_a_text_among_many_numbers_stays_a_text_and_is_noted() -> None:
    found = typed([*map(str, range(20)), "about 500"])
    assert found.kind == "number"
    assert "about 500" in found.notes[0]


@pytest.mark.parametrize(
    ("cells", "sign"),
    [
        (["Italy; Malta", "Kenya; Sweden", "Peru; Chile", "Cuba"], ";"),
        (["Italy; Malta", "Kenya", "Peru", "Cuba"], None),
        (["Calm, slow; then fast! And loud.", "It begins; it ends. Why?", "One; two? Three!"], None),
        (["Italy;Malta", "Kenya;Sweden", "Peru;Chile"], None),
        (["Ada; Ben", "Ben; Ada"], ";"),
    ],
)
def test_names_between_semicolons_are_a_list(cells: list[str], sign: str | None) -> None:
    assert separator(cells, ()) == sign
