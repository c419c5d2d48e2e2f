"""Texts as comparable quantities, many at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from triplecheck.kg.types import XSD, Literal
from triplecheck.kg.values import quantity

_TEMPORAL = pa.array([XSD + name for name in ("date", "dateTime", "gYear", "gYearMonth")], pa.string())
_NUMBER = r"^[+-]?(\d+(\.\d*)?|\.\d+|\d{1,3}(,\d{3})+(\.\d+)?)([eE][+-]?\d+)?$"
_DATE = r"^-?\d{4,}-\d{2}(-\d{2}([T ].*)?)?$"
_EXACT_DIGITS = 15


@dataclass(frozen=True)
class Quantities:
    """What texts denote.

    Attributes:
        kinds: `number`, `time` or a physical dimension of each, dictionary encoded; null where it is none.
        sizes: float64, in the base unit of the kind.
        exact: by row, the exact value where the float is not exact.
    """

    kinds: pa.DictionaryArray
    sizes: pa.Array
    exact: Mapping[int, int | Fraction]


def quantities(texts: pa.Array, datatypes: pa.Array | None = None) -> Quantities:
    """The quantities that texts denote, shape (n,).

    Args:
        texts: string array.
        datatypes: datatype IRIs; null for none.
    """
    plain = pc.utf8_trim_whitespace(texts)
    temporal = pa.array(np.zeros(len(texts), bool)) if datatypes is None else pc.is_in(datatypes, value_set=_TEMPORAL)
    number = pc.and_(pc.invert(temporal), pc.fill_null(pc.match_substring_regex(plain, _NUMBER), False))
    time = pc.or_(temporal, pc.fill_null(pc.match_substring_regex(plain, _DATE), False))
    digits = pc.replace_substring(pc.if_else(number, plain, pa.scalar(None, pa.string())), ",", "")
    sizes = pc.cast(pc.if_else(pc.starts_with(digits, "+"), pc.utf8_slice_codeunits(digits, 1), digits), pa.float64())
    sized = np.array(sizes.fill_null(np.nan))
    kinds = np.where(np.array(number), 0, -1).astype(np.int32)
    for row in np.flatnonzero(np.array(time)).tolist():
        kind = XSD + "date" if datatypes is None or not temporal[row].as_py() else datatypes[row].as_py()
        found = quantity(Literal(plain[row].as_py(), kind))
        if found is not None:
            kinds[row], sized[row] = 1, found.size
    exact: dict[int, int | Fraction] = {}
    long = pc.fill_null(pc.greater(pc.utf8_length(digits), _EXACT_DIGITS), False)
    for row in np.flatnonzero(np.array(long)).tolist():
        value = Fraction(digits[row].as_py())
        if Fraction(sized[row]) != value:
            exact[row] = int(value) if value.denominator == 1 else value
    names = pa.array(["number", "time"], pa.string())
    encoded = pa.DictionaryArray.from_arrays(pa.array(kinds, pa.int32(), mask=kinds < 0), names)
    return Quantities(encoded, pa.array(sized, pa.float64()), exact)


def years(sizes: np.ndarray[tuple[int], np.dtype[np.float64]]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The years of points in time, shape (n,); the year before 1 is 0."""
    days = np.where(np.isfinite(sizes), sizes, 0).astype(np.int64) - _TO_1970
    return days.astype("datetime64[D]").astype("datetime64[Y]").astype(np.int64).astype(np.float64) + 1970


_TO_1970 = 719_163  # days from the last day of year 0 to 1970-01-01


def time_parts(
    sizes: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], ...]:
    """Years, months and days of points in time, each shape (n,)."""
    days = (np.where(np.isfinite(sizes), sizes, 0).astype(np.int64) - _TO_1970).astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    month = (months.astype(np.int64) % 12 + 1).astype(np.float64)
    return years(sizes), month, (days - months).astype(np.int64).astype(np.float64) + 1
