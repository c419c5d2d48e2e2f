"""What plans need of quantities besides `kg.values`: the units of columns, parts of points in time, sizes in words."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from triplecheck.kg.types import XSD, Literal
from triplecheck.kg.values import Exact, quantity, unit, written
from triplecheck.kg.values.units import whole

Floats = npt.NDArray[np.float64]

WIDEST = 2.0**53
"""Up to here float64 holds every integer."""

# The number of a quantity, so that what remains tells its unit.
_NUMBER = r"[+−-]?[0-9](?:[0-9.,\p{Z}]*[0-9])?(?:[eE][+-]?[0-9]+)?"
_TO_1970 = 719_163  # days from the last day of year 0 to 1970-01-01
_FARTHEST = 1e15  # days; numpy counts years up to here
_DIGITS = 15
_LEAST = 1e-200  # smaller sizes are as they are
_MONEY = "money "


# --- units ---------------------------------------------------------------------------------------
def units_of(texts: pa.Array, datatypes: pa.Array) -> tuple[npt.NDArray[np.int64], list[str]]:
    """The units that quantities are written in.

    Args:
        texts: strings, shape (n,), all of them quantities.
        datatypes: the IRIs of their datatypes, shape (n,); null for none.

    Returns:
        A code per row, shape (n,), and the unit of each code.
    """
    rests = pc.replace_substring_regex(texts, _NUMBER, "\n", max_replacements=1).dictionary_encode()
    codes = rests.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    first = np.zeros(len(rests.dictionary), np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    found = []
    for row in first.tolist():
        one = quantity(Literal(texts[row].as_py(), datatypes[row].as_py() or XSD + "string"))
        found.append("" if one is None else one.unit)
    return codes, found


def scale_of(unit_text: str) -> tuple[float, float]:
    """One of a unit, and its zero, in the base unit; 1 and 0 for no unit."""
    found = unit(unit_text) if unit_text else None
    return (1.0, 0.0) if found is None else (float(found.factor), float(found.offset))


def size_in_words(size: float, rest: float, unit_text: str, is_difference: bool) -> str:
    """A computed size as text in a unit, without the digits that rounding left: "970 km", "€14.60"."""
    found = unit(unit_text)
    exact = whole(Fraction(size) + Fraction(rest))
    if found is not None and found.offset and not is_difference:  # its zero is far from 0, so round first
        exact = whole(Fraction(f"{float(exact):.{_DIGITS}g}"))
    amount: Exact = exact
    if found is not None:
        amount = whole(Fraction(exact) / found.factor) if is_difference else found.amount(exact)
    if amount != round(amount) or abs(amount) < 10**_DIGITS:
        amount = whole(Fraction(f"{float(amount):.{_DIGITS}g}"))
    if found is None:  # of one graph
        return written(amount, unit_text)
    text = written(whole(Fraction(amount * found.factor)), unit_text, difference=True)
    number = text.removeprefix(unit_text) if found.is_sign else text.partition(" ")[0]
    if found.kind.startswith(_MONEY) and len(number.partition(".")[2]) == 1:
        return text.replace(number, f"{number}0", 1)
    return text


def without_noise(sizes: Floats, rows: npt.NDArray[np.bool_]) -> Floats:
    """Computed sizes, shape (n,), with decimals rounded to 15 significant digits: .1 + .2 is .3.

    Args:
        rows: which of them are decimals.
    """
    rows = rows & np.isfinite(sizes) & (np.abs(sizes) < 10.0**_DIGITS) & (np.abs(sizes) > _LEAST)
    scale = 10.0 ** (_DIGITS - 1 - np.floor(np.log10(np.where(rows, np.abs(sizes), 1.0))))
    return np.where(rows, np.round(sizes * scale) / scale, sizes)


# --- points in time ------------------------------------------------------------------------------
def years(sizes: Floats) -> Floats:
    """The years of points in time, shape (n,); the year before 1 is 0."""
    return _calendar_days(sizes).astype("datetime64[Y]").astype(np.int64).astype(np.float64) + 1970


def starts_of(years: Floats) -> Floats:
    """The first day of each year, as a point in time, shape (n,)."""
    first = (years.astype(np.int64) - 1970).astype("datetime64[Y]").astype("datetime64[D]")
    return first.astype(np.int64).astype(np.float64) + _TO_1970


def time_parts(sizes: Floats) -> tuple[Floats, Floats, Floats]:
    """Years, months and days of points in time, each shape (n,)."""
    days = _calendar_days(sizes)
    months = days.astype("datetime64[M]")
    month = (months.astype(np.int64) % 12 + 1).astype(np.float64)
    return years(sizes), month, (days - months).astype(np.int64).astype(np.float64) + 1


def _calendar_days(sizes: Floats) -> npt.NDArray[np.datetime64]:
    known = np.where(np.abs(sizes) < _FARTHEST, sizes, 0)
    return (np.floor(known).astype(np.int64) - _TO_1970).astype("datetime64[D]")


def lacking(exact: Exact, size: float) -> float:
    """What a float lacks to the exact size; 0 if it is too large for a float."""
    return float(Fraction(exact) - Fraction(size)) if math.isfinite(size) else 0.0
