"""Tables of solutions: int64 columns of terms, joined, filtered and made distinct without Python loops.

A term is a number: a node of the graph, or from the number of its nodes on a computed value (`kg.plans.terms`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from triplecheck.kg._arrays import concat_ranges
from triplecheck.kg.graph import IntArray
from triplecheck.kg.plans.limits import Limits

UNBOUND = -1
"""Stands in a column where a variable has no value."""

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Table:
    """Solutions.

    Attributes:
        columns: terms by variable, each shape (length,).
        length: number of rows.
    """

    columns: Mapping[str, IntArray]
    length: int

    @classmethod
    def one(cls) -> Table:
        """One solution without variables."""
        return cls({}, 1)

    @classmethod
    def empty(cls, names: Iterable[str]) -> Table:
        """No solution."""
        return cls({name: np.empty(0, np.int64) for name in names}, 0)

    def __len__(self) -> int:
        return self.length

    def take(self, rows: IntArray) -> Table:
        """Some of the rows, in the given order."""
        return Table({name: column[rows] for name, column in self.columns.items()}, len(rows))

    def filter(self, keep: Flags) -> Table:
        """The rows that are flagged."""
        return self.take(np.flatnonzero(keep))

    def only(self, names: Iterable[str]) -> Table:
        """Some of the columns; unknown ones are unbound."""
        nothing = np.full(self.length, UNBOUND, np.int64)
        return Table({name: self.columns.get(name, nothing) for name in names}, self.length)

    def extended(self, name: str, column: IntArray) -> Table:
        """With one more column."""
        return Table({**self.columns, name: column}, self.length)


def concat(tables: Sequence[Table]) -> Table:
    """The rows of all; a column that a table does not have is unbound there."""
    names = list(dict.fromkeys(name for table in tables for name in table.columns))
    padded = [table.only(names) for table in tables]
    length = sum(table.length for table in tables)
    return Table({name: np.concatenate([one.columns[name] for one in padded]) for name in names}, length)


# --- keys ----------------------------------------------------------------------------------------
def factorized(column: IntArray) -> tuple[IntArray, int]:
    """Codes of the distinct values in the order of their appearance, shape (n,), and their number."""
    if len(column) == 0:
        return np.empty(0, np.int64), 0
    values = np.ascontiguousarray(column, np.int64)
    array = pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values)]).dictionary_encode()
    return array.indices.to_numpy().astype(np.int64), len(array.dictionary)


def codes(columns: Sequence[IntArray], length: int) -> tuple[IntArray, int]:
    """Codes of the distinct rows in the order of their appearance, shape (length,), and their number."""
    if not columns:
        return np.zeros(length, np.int64), min(length, 1)
    found, number = factorized(columns[0])
    for column in columns[1:]:
        more, count = factorized(column)
        found, number = factorized(found * max(count, 1) + more)
    return found, number


def first_rows(found: IntArray, number: int) -> IntArray:
    """The first row of each code, shape (number,)."""
    first = np.empty(number, np.int64)
    first[found[::-1]] = np.arange(len(found) - 1, -1, -1)
    return first


# --- joins ---------------------------------------------------------------------------------------
def matching(left: Table, right: Table, shared: Sequence[str], limits: Limits) -> tuple[IntArray, IntArray]:
    """Pairs of rows that agree on the shared variables, where unbound agrees with all.

    Returns:
        Rows of the left, ascending, and rows of the right, each shape (n,).

    Raises:
        PlanError: there are more pairs than the limit on rows.
    """
    if left.length == 0 or right.length == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    parts, budget = [], limits.rows
    for left_rows, left_bound in _by_bound(left, shared):
        for right_rows, right_bound in _by_bound(right, shared):
            on = [name for name, a, b in zip(shared, left_bound, right_bound, strict=True) if a and b]
            pairs = _equal(left, left_rows, right, right_rows, on, budget)
            if pairs is None:
                raise limits.too_many()
            parts.append(pairs)
            budget -= len(pairs[0])
    if len(parts) == 1:
        return parts[0]
    lefts, rights = (np.concatenate([part[at] for part in parts]) for at in (0, 1))
    order = np.lexsort((rights, lefts))
    return lefts[order], rights[order]


def _by_bound(table: Table, shared: Sequence[str]) -> list[tuple[IntArray, tuple[bool, ...]]]:
    """The rows by which of the shared variables are bound."""
    bound = [table.columns[name] != UNBOUND for name in shared]
    if all(flags.all() for flags in bound):
        return [(np.arange(table.length), (True,) * len(shared))]
    pattern = sum(flags.astype(np.int64) << at for at, flags in enumerate(bound))
    return [
        (np.flatnonzero(pattern == one), tuple(bool(one >> at & 1) for at in range(len(shared))))
        for one in np.unique(pattern).tolist()
    ]


def _equal(
    left: Table, left_rows: IntArray, right: Table, right_rows: IntArray, on: Sequence[str], budget: int
) -> tuple[IntArray, IntArray] | None:
    """The pairs of some rows that agree on bound variables; None if there are more than the budget."""
    both = [np.concatenate([left.columns[name][left_rows], right.columns[name][right_rows]]) for name in on]
    keys = both[0] if len(both) == 1 else codes(both, len(left_rows) + len(right_rows))[0]
    left_keys, right_keys = keys[: len(left_rows)], keys[len(left_rows) :]
    order = np.argsort(right_keys, kind="stable")
    ordered = right_keys[order]
    start, stop = np.searchsorted(ordered, left_keys), np.searchsorted(ordered, left_keys, "right")
    counts = stop - start
    if int(counts.sum()) > budget:
        return None
    return left_rows[np.repeat(np.arange(len(left_rows)), counts)], right_rows[order[concat_ranges(start, stop)]]


def joined(left: Table, right: Table, limits: Limits) -> Table:
    """The solutions of both that agree.

    Raises:
        PlanError: they are more than the limit on rows.
    """
    shared = [name for name in left.columns if name in right.columns]
    return merged(left, right, *matching(left, right, shared, limits))


def merged(left: Table, right: Table, left_rows: IntArray, right_rows: IntArray) -> Table:
    """Rows of the left beside rows of the right; what one leaves unbound is taken from the other."""
    columns = {name: column[left_rows] for name, column in left.columns.items()}
    for name, column in right.columns.items():
        there = column[right_rows]
        columns[name] = np.where(columns[name] == UNBOUND, there, columns[name]) if name in columns else there
    return Table(columns, len(left_rows))
