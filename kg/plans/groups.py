"""Groups and what is computed over them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from triplecheck.kg.graph import IntArray
from triplecheck.kg.plans.algebra import HIDDEN, Aggregate, Expression, Group, Var
from triplecheck.kg.plans.compare import places
from triplecheck.kg.plans.quantities import WIDEST, without_noise
from triplecheck.kg.plans.tables import UNBOUND, Table, codes, first_rows
from triplecheck.kg.plans.terms import DECIMAL, ERROR, INTEGER, NUMBER, TIME, Terms, Values

GROUP = "#group"
"""The column with the number of the group."""

Floats = npt.NDArray[np.float64]

ValuesOf = Callable[[Expression, Table], Values]


def grouped(terms: Terms, values_of: ValuesOf, group: Group, table: Table) -> tuple[Table, IntArray, tuple[str, ...]]:
    """One row per group.

    Returns:
        Keys that are variables, aggregates and the number of the group; the group of each row, shape (length,); and
        what went wrong, as sentences.
    """
    keys = [_key(terms, values_of, key, table) for key in group.keys]
    found, number = codes(keys, table.length) if keys else (np.zeros(table.length, np.int64), 1)
    first = first_rows(found, number)
    named = zip(group.keys, keys, strict=True)
    columns: dict[str, IntArray] = {key.name: column[first] for key, column in named if isinstance(key, Var)}
    notes: list[str] = []
    for one in group.aggregates:
        columns[one.result] = _Aggregation(terms, values_of, table, found, number, notes).run(one)
    columns[GROUP] = np.arange(number)
    return Table(columns, number), found, tuple(notes)


def _key(terms: Terms, values_of: ValuesOf, key: Expression, table: Table) -> IntArray:
    if isinstance(key, Var):
        return table.columns.get(key.name, np.full(table.length, UNBOUND, np.int64))
    return terms.ids(values_of(key, table))


class _Aggregation:
    def __init__(
        self, terms: Terms, values_of: ValuesOf, table: Table, groups: IntArray, number: int, notes: list[str]
    ) -> None:
        self._terms, self._values_of = terms, values_of
        self._table, self._groups, self._number, self._notes = table, groups, number, notes

    def run(self, one: Aggregate) -> IntArray:
        """The term of each group, shape (number,)."""
        if one.of is None:
            return self._count_rows(one.distinct)
        values = self._values_of(one.of, self._table)
        rows: IntArray = np.arange(self._table.length)
        if one.distinct:
            rows = first_rows(*codes([self._groups, self._terms.ids(values)], len(rows)))
        match one.name:
            case "count":
                bound = rows[values.kinds[rows] != ERROR]
                return self._integers(np.bincount(self._groups[bound], minlength=self._number))
            case "sample":
                return self._sample(values)
            case "min" | "max":
                return self._extreme(values, one.name == "max")
            case "group_concat":
                return self._joined(values, rows, one.separator)
        return self._sum(values, rows, one)

    def _count_rows(self, distinct: bool) -> IntArray:
        groups = self._groups
        if distinct:
            shown = [column for name, column in self._table.columns.items() if not name.startswith(HIDDEN)]
            groups = groups[first_rows(*codes([groups, *shown], self._table.length))]
        return self._integers(np.bincount(groups, minlength=self._number))

    def _sample(self, values: Values) -> IntArray:
        result = np.full(self._number, UNBOUND, np.int64)
        good = np.flatnonzero(values.kinds != ERROR)[::-1]
        result[self._groups[good]] = self._terms.ids(values)[good]
        return result

    def _joined(self, values: Values, rows: IntArray, separator: str) -> IntArray:
        """The texts of each group, in the order of their rows."""
        rows = np.sort(rows[values.kinds[rows] != ERROR])
        listed: list[list[str]] = [[] for _ in range(self._number)]
        texts = self._terms.texts(values).take(pa.array(rows)).to_pylist()
        for group, text in zip(self._groups[rows].tolist(), texts, strict=True):
            listed[group].append(text)
        return self._terms.ids(Values.of_texts(pa.array([separator.join(one) for one in listed], pa.string())))

    def _extreme(self, values: Values, greatest: bool) -> IntArray:
        """The term itself, so that it keeps its node."""
        result = np.full(self._number, UNBOUND, np.int64)
        good = np.flatnonzero(values.kinds != ERROR)
        order = good[np.argsort(places(self._terms, values, greatest)[good], kind="stable")[::-1]]
        result[self._groups[order]] = self._terms.ids(values)[order]
        return result

    def _sum(self, values: Values, rows: IntArray, one: Aggregate) -> IntArray:
        """Sum or average; unbound where a value is none that can be added, or values are of different kinds."""
        kinds, groups = values.kinds[rows], self._groups[rows]
        good = (kinds >= NUMBER) & (kinds != TIME)
        bad = np.bincount(groups[~good], minlength=self._number) > 0
        if not good.all():
            text = self._terms.texts(values)[int(rows[np.flatnonzero(~good)[0]])].as_py()
            shown = "unbound" if text is None else repr(text)
            self._notes.append(f"{int((~good).sum()):,} of {len(rows):,} values cannot be added, such as {shown}")
        kind = np.full(self._number, NUMBER, np.int8)
        kind[groups[good]] = kinds[good]
        mixed = np.bincount(groups[good], (kinds[good] != kind[groups[good]]).astype(float), self._number) > 0
        if mixed.any():
            several = sorted(self._terms.kinds[code - NUMBER] for code in np.unique(kinds[good]).tolist())
            self._notes.append(f"values of several kinds cannot be added: {', '.join(several)}")
        at, groups = rows[good], groups[good]
        sizes, rests = values.sizes[at], values.rests[at]
        units: IntArray = np.zeros(self._number, np.int64)
        if values.units is not None and values.units[at].any():
            units = _most_frequent(groups, values.units[at], self._number)
            if one.name == "sum":  # of degrees Celsius above their zero
                sizes, units = sizes - self._terms.scales(values.units[at])[1], self._terms.differences(units)
        sums: Floats = np.bincount(groups, sizes, self._number).astype(np.float64)
        counts = np.bincount(groups, minlength=self._number)
        forms = np.full(self._number, INTEGER, np.int8)
        np.maximum.at(forms, groups, values.forms[at])
        lost: Floats = np.zeros(self._number)
        if rests.any() or np.bincount(groups, np.abs(sizes), self._number).max(initial=0.0) >= WIDEST:
            sums, lost = _exact_sums(groups, sizes, rests, sums, forms)
        if one.name == "avg":
            whole = np.maximum(counts, 1)
            sums, lost = sums / whole, lost / whole
            forms = np.maximum(forms, np.where(counts > 0, DECIMAL, INTEGER)).astype(np.int8)
        if one.name == "sum":
            sums = without_noise(sums, (forms == DECIMAL) & (counts > 1))
        good_groups = ~bad & ~mixed & np.isfinite(sums)
        kinds = np.where(good_groups, kind, ERROR).astype(np.int8)
        return self._terms.ids(Values(kinds, sums, lost, forms, units=units))

    def _integers(self, numbers: IntArray) -> IntArray:
        n = len(numbers)
        return self._terms.ids(Values.of_numbers(numbers.astype(np.float64), INTEGER, np.ones(n, bool)))


def _most_frequent(groups: IntArray, units: IntArray, number: int) -> IntArray:
    """The most frequent unit of each group, shape (number,); 0 for groups without rows."""
    width = int(units.max(initial=0)) + 1
    counts = np.bincount(groups * width + units, minlength=number * width).reshape(number, width)
    found: IntArray = counts.argmax(axis=1)
    return found


def _exact_sums(
    groups: IntArray, sizes: Floats, rests: Floats, sums: Floats, forms: npt.NDArray[np.int8]
) -> tuple[Floats, Floats]:
    """Sums of integers of any size, as floats and what they lack; other sums as they are."""
    sums, lost = sums.copy(), np.zeros(len(sums))
    order = np.argsort(groups, kind="stable")
    ends = np.searchsorted(groups[order], np.arange(len(sums) + 1))
    for group in np.flatnonzero((forms == INTEGER) & np.isfinite(sums)).tolist():
        rows = order[ends[group] : ends[group + 1]]
        whole = sum(map(int, sizes[rows].tolist())) + sum(map(int, rests[rows].tolist()))
        sums[group] = float(whole)
        lost[group] = float(whole - int(sums[group]))
    return sums, lost
