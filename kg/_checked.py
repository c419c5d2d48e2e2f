"""Mapped files whose bytes are compared with checksums as they are first read, block by block."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from triplecheck.kg._arrays import load_array
from triplecheck.kg.errors import KnowledgeBaseError

BLOCK = 1 << 20
"""Bytes per checksum."""

_HEADER = 128  # bytes of the header of a .npy file of one dimension
_ARROW_ENDS = 1 << 16  # bytes at both ends of an Arrow file that hold more than its schema and footer

Sums = Callable[[Path], "tuple[int, ...] | None"]
"""The checksums of a file's blocks; None if its bytes need no check, because they were checked whole."""


def unchecked(_path: Path) -> None:
    """No checksums: for files that were just written, or that belong to no knowledge base."""


def checksums(path: Path) -> tuple[int, ...]:
    """The CRC-32 of each block of a file."""
    with path.open("rb") as source:
        return tuple(zlib.crc32(block) for block in iter(lambda: source.read(BLOCK), b""))


def changed(path: Path) -> KnowledgeBaseError:
    """The error for a file with wrong bytes."""
    return KnowledgeBaseError(f"{path}: its content has changed since it was built; build the knowledge base again")


class CheckedBytes:
    """The bytes of a mapped file, of which each block is checked once, before it is first read.

    Args:
        sums: the CRC-32 of each block.
    """

    def __init__(self, path: Path, sums: tuple[int, ...]) -> None:
        self._path = path
        self._sums = sums
        self._bytes = np.memmap(path, np.uint8, "r").view(np.ndarray)
        self._seen = bytearray(len(sums))

    @property
    def complete(self) -> bool:
        """Whether every block has been checked."""
        return all(self._seen)

    def check(self, start: int, stop: int) -> None:
        """Check the blocks of bytes [start, stop).

        Raises:
            KnowledgeBaseError: a byte has changed.
        """
        if start >= stop:  # an empty buffer may lie outside of the file
            return
        for block in range(start // BLOCK, -(-stop // BLOCK)):
            if not self._seen[block]:
                if zlib.crc32(self._bytes[block * BLOCK : (block + 1) * BLOCK].data) != self._sums[block]:
                    raise changed(self._path)
                self._seen[block] = 1


class CheckedArray:
    """A mapped .npy file of one dimension; what is taken from it has been checked."""

    def __init__(self, array: npt.NDArray[Any], offset: int, source: CheckedBytes) -> None:
        self._array = array
        self._offset = offset
        self._source = source

    def __len__(self) -> int:
        return len(self._array)

    @property
    def data(self) -> CheckedArray:
        """For single items, as the memory view of an array."""
        return self

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            start, stop, _ = at.indices(len(self._array))
            self._check(start, max(start, stop))
            return self._array[at]
        if isinstance(at, np.ndarray):
            rows = np.flatnonzero(at) if at.dtype == bool else at
            per_block = BLOCK // self._array.itemsize
            for block in np.unique((rows + self._offset // self._array.itemsize) // per_block).tolist():
                self._source.check(block * BLOCK, block * BLOCK + 1)
            return self._array[at]
        item = self._array[at]
        self._check(int(at) % len(self._array), int(at) % len(self._array) + 1)
        return item.item()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        self._check(0, len(self._array))
        return self._array if dtype is None else self._array.astype(dtype)

    def _check(self, start: int, stop: int) -> None:
        size = self._array.itemsize
        self._source.check(self._offset + start * size, self._offset + stop * size)


def mapped(path: Path, sums: Sums) -> Any:
    """A .npy file as a plain array over the mapped file (the memmap class is slow to slice), or as one that checks."""
    of_file = sums(path)
    if of_file is None:
        return load_array(path, mmap_mode="r").view(np.ndarray)
    source = CheckedBytes(path, of_file)
    source.check(0, _HEADER)
    array = load_array(path, mmap_mode="r")
    return CheckedArray(array.view(np.ndarray), int(array.offset), source)


class CheckedColumn:
    """A column of a mapped Arrow file, of texts or lists of texts; what is taken from it has been checked."""

    def __init__(self, column: pa.Array, base: int, source: CheckedBytes) -> None:
        self._column = column
        self._base = base
        self._source = source

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, row: int) -> Any:
        self._check(row, row + 1)
        return self._column[row]

    def take(self, rows: pa.Array) -> pa.Array:
        """The rows of these numbers."""
        for row in rows.to_pylist() if not self._source.complete else ():
            self._check(row, row + 1)
        return self._column.take(rows)

    def slice(self, start: int, length: int) -> pa.Array:
        """Consecutive rows."""
        self._check(start, min(start + length, len(self._column)))
        return self._column.slice(start, length)

    def _check(self, start: int, stop: int) -> None:
        for address, size in _read(self._column, start, stop) if 0 <= start < len(self._column) else ():
            self._source.check(address - self._base, address - self._base + size)


def _read(column: pa.Array, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Address and size of the bytes that rows [start, stop) consist of; each is checked before the next is found."""
    validity, offsets = column.buffers()[:2]
    first, last = column.offset + start, column.offset + stop
    if validity is not None:
        yield validity.address + first // 8, (last + 7) // 8 - first // 8
    width = 8 if pa.types.is_large_string(column.type) or pa.types.is_large_list(column.type) else 4
    yield offsets.address + first * width, (last - first + 1) * width
    ends = np.frombuffer(offsets, np.int64 if width == 8 else np.int32)
    low, high = int(ends[first]), int(ends[last])
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        if high > low:
            yield from _read(column.values, low, high)
    else:
        data = column.buffers()[2]
        if data is not None:
            yield data.address + low, high - low


def table(path: Path, sums: Sums) -> tuple[pa.Table, Callable[[pa.Array], Any]]:
    """An Arrow file mapped into memory, and what makes its columns check."""
    of_file = sums(path)
    with pa.memory_map(str(path)) as file:
        if of_file is None:
            return pa.ipc.open_file(file).read_all(), lambda column: column
        base = file.read_buffer().address
        source = CheckedBytes(path, of_file)
        source.check(0, min(_ARROW_ENDS, file.size()))
        source.check(max(0, file.size() - _ARROW_ENDS), file.size())
        return pa.ipc.open_file(file).read_all(), lambda column: CheckedColumn(column, base, source)
