"""Array helpers: compressed sparse rows without Python loops, half precision to single, and .npy files."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
FloatArray = npt.NDArray[np.float32]
"""Vectors or scores."""
RowArray = npt.NDArray[np.int64]

_one_header = threading.Lock()


def concat_ranges(starts: Array, stops: Array) -> Array:
    """All integers of the ranges [starts[i], stops[i]), concatenated: (n,) and (n,) to int64 (sum of the lengths,)."""
    lengths = stops - starts
    total = int(lengths.sum())
    if total == 0:
        return np.empty(0, np.int64)
    shift = np.repeat(starts - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
    positions: Array = np.arange(total, dtype=np.int64) + shift
    return positions


def bisect_ranges(values: Array, starts: Array, stops: Array, targets: Array, side: str = "left") -> Array:
    """`numpy.searchsorted` in many sorted slices of one array at once.

    Args:
        values: shape (m,), ascending within each slice.
        starts, stops: the slices, shape (n,).
        targets: the value to look for in each slice, shape (n,).
        side: "left": first position whose value is not below the target; "right": first position above it.

    Returns:
        Absolute positions, int64, shape (n,).
    """
    low = starts.astype(np.int64, copy=True)
    high = stops.astype(np.int64, copy=True)
    while True:
        open_ = low < high
        if not open_.any():
            return low
        middle = (low + high) >> 1
        at = values[np.where(open_, middle, 0)] if len(values) else middle
        go_right = (at < targets) if side == "left" else (at <= targets)
        go_right &= open_
        low = np.where(go_right, middle + 1, low)
        high = np.where(open_ & ~go_right, middle, high)


def distinct(values: Array) -> Array:
    """The distinct values, ascending. Ten times as fast as `numpy.unique` for millions of integers, which it hashes."""
    ordered = np.sort(values)
    if len(ordered) == 0:
        return ordered
    return ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))]


def used(codes: Array, size: int) -> npt.NDArray[np.bool_]:
    """Which of the codes 0 ... size - 1 occur, shape (size,)."""
    flags = np.zeros(size, bool)
    flags[codes] = True
    return flags


def positions_in_runs(keys: Array) -> Array:
    """0, 1, 2 ... within each run of equal neighbours, int64, shape as `keys`."""
    if len(keys) == 0:
        return np.empty(0, np.int64)
    first = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    lengths = np.diff(np.append(first, len(keys)))
    return np.arange(len(keys), dtype=np.int64) - np.repeat(first, lengths)


def smallest_unsigned(maximum: int) -> npt.DTypeLike:
    """The narrowest unsigned dtype that holds `maximum`."""
    return np.min_scalar_type(max(int(maximum), 0))


def load_array(path: Path, *, mmap_mode: Literal["r"] | None = None) -> Any:
    """`numpy.load` without pickle, for several threads.

    numpy reads a file's header with `ast.literal_eval`, which fails in two threads at once in Python 3.11 before
    3.11.8; so one thread at a time opens a file.

    Raises:
        ValueError: not a .npy file, or one of Python objects.
    """
    with _one_header:
        return np.load(path, mmap_mode=mmap_mode, allow_pickle=False)


@contextlib.contextmanager
def npy_file(path: Path, dtype: npt.DTypeLike) -> Iterator[Callable[[Array], None]]:
    """Write one array of unknown length by a function that appends pieces (n,), byte for byte as `numpy.save` does."""
    kind, rows = np.dtype(dtype), 0
    with path.open("wb") as file:

        def begin() -> None:
            header = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": (rows,)}
            np.lib.format.write_array_header_1_0(file, header)  # of the same length for every number of rows

        def write(piece: Array) -> None:
            nonlocal rows
            file.write(np.ascontiguousarray(piece, kind).data)
            rows += len(piece)

        begin()
        yield write
        file.seek(0)
        begin()


def as_float32(block: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.float32]:
    """float16 to float32, six times as fast as numpy (finite values only); float32 is returned unchanged."""
    if block.dtype == np.float32:
        return block.astype(np.float32, copy=False)
    # Shift exponent and mantissa to their positions in float32; the exponent biases differ by 112.
    bits = block.view(np.int16).astype(np.int32)
    bits <<= 13
    bits &= np.int32(-0x70002000)
    values: npt.NDArray[np.float32] = bits.view(np.float32)
    values *= np.float32(2.0**112)
    return values
