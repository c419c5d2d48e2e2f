"""Texts of a graph as values, typed once: numbers, points in time, quantities with a unit; and texts from outside."""

from typing import TYPE_CHECKING

from triplecheck.kg._lazy import lazily

if TYPE_CHECKING:
    from triplecheck.kg.values.columns import quantities
    from triplecheck.kg.values.in_texts import agrees, dates_in, mentions, written_date
    from triplecheck.kg.values.records import HALF_A_CHARACTER, parse_json, parse_record, valid
    from triplecheck.kg.values.typed import Date, Quantity, date_of, quantity, value_of, written
    from triplecheck.kg.values.units import OWN, Exact, converted, unit

__all__ = [
    "Date",
    "Exact",
    "HALF_A_CHARACTER",
    "OWN",
    "Quantity",
    "agrees",
    "converted",
    "date_of",
    "dates_in",
    "mentions",
    "parse_json",
    "parse_record",
    "quantities",
    "quantity",
    "unit",
    "valid",
    "value_of",
    "written",
    "written_date",
]

__getattr__ = lazily(__name__)
