"""Comparison of values, with SPARQL's three truth values: true, false and error.

Quantities of one kind are compared by size: numbers exactly, however large, "800 g" with "3 kg", also if they are
texts or labels of entities, as in graphs from plain tables. A number without a unit gets the unit of the values
that it is compared with, if they all have the same one: 20 is less than "27 kg". A point in time is compared with a
whole number by its year. Two entities are equal if they are the same; an entity equals a text that is its label.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from triplecheck.kg.plans.quantities import starts_of, years
from triplecheck.kg.plans.terms import BOOLEAN, ERROR, NUMBER, TEXT, THING, TIME, Codes, Terms, Values

FALSE, TRUE, WRONG = 0, 1, -1
_FIRST_YEAR, _LAST_YEAR = 1000.0, 2999.0  # other whole numbers are hardly years
_CLOSE = 1e-12  # by which numbers differ, relatively, that are equal but for rounding

Flags = npt.NDArray[np.bool_]

_OF_SIGN = {"=": np.equal, "!=": np.not_equal, "<": np.less, ">": np.greater}
_OF_SIGN |= {"<=": np.less_equal, ">=": np.greater_equal}
_OF_TEXT = {"=": pc.equal, "!=": pc.not_equal, "<": pc.less, ">": pc.greater}
_OF_TEXT |= {"<=": pc.less_equal, ">=": pc.greater_equal}


def compare(terms: Terms, operator: str, left: Values, right: Values) -> Codes:
    """TRUE, FALSE or WRONG (an error) per row, shape (n,)."""
    truth = np.full(len(left), WRONG, np.int8)
    equality = operator in ("=", "!=")
    same = _same(left, right)
    both_things = _are_entities(terms, left) & _are_entities(terms, right)
    sized = (left.kinds == right.kinds) & ((left.kinds >= NUMBER) | (left.kinds == BOOLEAN))
    if equality:
        sized &= ~both_things
    _put(truth, sized, _ordered(operator, _sign(left, right)))
    for a, b, sign in ((left, right, 1), (right, left, -1)):
        dated = (a.kinds == TIME) & (b.kinds == NUMBER) & (b.sizes == np.floor(b.sizes))
        if dated.any():
            _put(truth, dated, _ordered(operator, sign * np.sign(years(a.sizes) - b.sizes)))
        bare = (a.kinds > TIME) & (b.kinds == NUMBER)
        if bare.any() and (amounts := _in_own_unit(terms, a, bare)) is not None:
            above = np.where(np.isclose(amounts, b.sizes, rtol=_CLOSE, atol=0), 0, np.sign(amounts - b.sizes))
            _put(truth, bare, _ordered(operator, sign * above))
    texts = (left.kinds == TEXT) & (right.kinds == TEXT)
    if equality:
        _put(truth, both_things, same if operator == "=" else ~same)
        named = {TEXT, THING}
        texts |= np.isin(left.kinds, list(named)) & np.isin(right.kinds, list(named)) & ~both_things
        mixed = ((left.kinds == THING) & (right.kinds >= BOOLEAN)) | ((right.kinds == THING) & (left.kinds >= BOOLEAN))
        mixed &= ~texts & ~both_things
        _put(truth, mixed, np.full(len(left), operator == "!="))
    rows = np.flatnonzero(texts)
    if len(rows):
        at = pa.array(rows, pa.int64())
        found = _OF_TEXT[operator](terms.texts(left).take(at), terms.texts(right).take(at))
        truth[rows] = np.array(found, bool)
    if operator in ("=", "<=", ">="):
        truth[same & (left.kinds != ERROR)] = TRUE
    return truth


def one_of(terms: Terms, value: Values, others: Sequence[Values]) -> Codes:
    """Whether a value equals any of others: TRUE if so, else WRONG if a comparison was an error, else FALSE."""
    truths = (compare(terms, "=", value, other) for other in others)
    return functools.reduce(either, truths, np.full(len(value), FALSE, np.int8))


def _in_own_unit(terms: Terms, values: Values, rows: Flags) -> npt.NDArray[np.float64] | None:
    """The number that each size is written with, 27 for "27 kg", shape (n,); None if the sizes in `rows` have several
    units."""
    factors, zeros = terms.scales(values.unit_codes)
    alike = all((own == own[0]).all() for own in (values.kinds[rows], factors[rows], zeros[rows]))
    return (values.sizes - zeros) / factors if alike else None


def _same(left: Values, right: Values) -> Flags:
    if left.ids is None or right.ids is None:
        return np.zeros(len(left), bool)
    return np.asarray((left.ids == right.ids) & (left.ids >= 0))


def _are_entities(terms: Terms, values: Values) -> Flags:
    if values.ids is None:
        return np.zeros(len(values), bool)
    is_node = (values.ids >= 0) & (values.ids < terms.graph.num_entities)
    return np.asarray(is_node | ((values.kinds == THING) & (values.ids >= terms.nodes)))


def _sign(left: Values, right: Values) -> npt.NDArray[np.float64]:
    with np.errstate(invalid="ignore"):
        by_size = np.sign(left.sizes - right.sizes)
    by_size[left.sizes == right.sizes] = 0.0  # also of infinities
    found: npt.NDArray[np.float64] = np.where(by_size == 0, np.sign(left.rests - right.rests), by_size)
    return found


def _ordered(operator: str, sign: npt.NDArray[np.float64]) -> Flags:
    return np.asarray(_OF_SIGN[operator](sign, 0))


def _put(truth: Codes, where: Flags, found: Flags) -> None:
    truth[where] = found[where]


# --- three truth values --------------------------------------------------------------------------
def truth_of(terms: Terms, values: Values) -> Codes:
    """The effective boolean value (SPARQL 1.1, section 17.2.2)."""
    truth = np.full(len(values), WRONG, np.int8)
    sized = (values.kinds == BOOLEAN) | (values.kinds == NUMBER)
    truth[sized] = values.sizes[sized] != 0
    texts = np.flatnonzero(values.kinds == TEXT)
    if len(texts):
        lengths = pc.utf8_length(terms.texts(values).take(pa.array(texts, pa.int64())))
        truth[texts] = np.array(lengths) > 0
    return truth


def both(left: Codes, right: Codes) -> Codes:
    """And: false if one is false, else an error if one is an error."""
    found: Codes = np.where((left == FALSE) | (right == FALSE), FALSE, np.minimum(left, right)).astype(np.int8)
    return found


def either(left: Codes, right: Codes) -> Codes:
    """Or: true if one is true, else an error if one is an error."""
    found: Codes = np.where((left == TRUE) | (right == TRUE), TRUE, np.minimum(left, right)).astype(np.int8)
    return found


def negated(truth: Codes) -> Codes:
    """Not: an error stays one."""
    found: Codes = np.where(truth == WRONG, WRONG, 1 - truth).astype(np.int8)
    return found


def _with_years_as_times(values: Values) -> Values:
    """The values with times in place of whole numbers, if some are times and all numbers may be years.

    `compare` takes any whole number for a year. Here a number that is none would be put in the wrong place.
    """
    is_year = values.kinds == NUMBER
    sizes = values.sizes[is_year]
    may_be = (sizes == np.floor(sizes)) & (sizes >= _FIRST_YEAR) & (sizes <= _LAST_YEAR)
    if not is_year.any() or not may_be.all() or not (values.kinds == TIME).any():
        return values
    return replace(
        values,
        kinds=np.where(is_year, TIME, values.kinds).astype(values.kinds.dtype),
        sizes=np.where(is_year, starts_of(np.where(is_year, values.sizes, 0.0)), values.sizes),
        rests=np.where(is_year, 0.0, values.rests),
    )


# --- order ---------------------------------------------------------------------------------------
def places(terms: Terms, values: Values, descending: bool = False) -> npt.NDArray[np.int64]:
    """Places of values in their order, shape (n,), from 0 on; equal values share one.

    Numbers and times by size, texts and entities by their text. Unbound rows come first, last if descending. Where
    SPARQL leaves the order open, values of the most frequent kind come before those of other kinds, in both
    directions: the heaviest of some boats is none whose weight is "unknown".
    """
    n = len(values)
    if n == 0:
        return np.empty(0, np.int64)
    values = _with_years_as_times(values)
    is_text = (values.kinds == TEXT) | (values.kinds == THING)
    kinds = np.where(is_text, THING, values.kinds).astype(np.int64)
    counts = np.bincount(kinds)
    counts[ERROR] = 0
    group = kinds + 2
    group[kinds == int(counts.argmax())] = 1
    group[kinds == ERROR] = np.iinfo(np.int64).max if descending else 0
    texts = np.zeros(n, np.int64)
    if is_text.any():
        rows = np.flatnonzero(is_text)
        encoded = terms.texts(values).take(pa.array(rows, pa.int64())).dictionary_encode()
        order = pc.sort_indices(encoded.dictionary).to_numpy()
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        texts[rows] = place[encoded.indices.to_numpy()]
    plain = is_text | (values.kinds == ERROR)
    sizes, rests = (np.where(plain, 0.0, column) for column in (values.sizes, values.rests))
    way = -1 if descending else 1
    columns = (group, way * sizes, way * rests, way * texts)
    order = np.lexsort(columns[::-1])
    changed = np.zeros(n, bool)
    for column in columns:
        ordered = column[order]
        changed[1:] |= ordered[1:] != ordered[:-1]
    found = np.empty(n, np.int64)
    found[order] = np.cumsum(changed)
    return found
