"""`VectorIndex`: nearest rows of a matrix to a query. `LazyVectors`: a matrix that is computed little by little.

Scores are inner products; on vectors of length 1 (as `kg.encode` returns) they are cosines. The search is exact: a
matrix product over the memory-mapped matrix.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.format import open_memmap

from triplecheck.kg._arrays import FloatArray, RowArray, as_float32, load_array
from triplecheck.kg._atomic import draft_directory, replaced_directory
from triplecheck.kg.encode import Encoder
from triplecheck.kg.errors import KnowledgeBaseError
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.values import parse_json

_FORMAT = "triplecheck-vectors"
_VERSION = 1
_MANIFEST = "vectors.json"

_BLOCK_ROWS = 1024  # rows that fit the processor's cache during conversion
_ROUNDING = 1e-5  # above the error of a float32 inner product of unit vectors


class VectorIndex:
    """Search over n vectors of d dimensions; row numbers are the caller's ids. Thread-safe.

    Attributes:
        vectors: shape (n, d), float32 or float16, memory-mapped if opened from a directory.
        metadata: stored with the vectors, e.g. the fingerprint of their encoder.
    """

    def __init__(self, vectors: npt.NDArray[np.floating[Any]], metadata: Mapping[str, str] | None = None) -> None:
        self.vectors = vectors
        self.metadata = dict(metadata or {})

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return int(self.vectors.shape[1])

    # --- search ------------------------------------------------------------------------------
    def search(
        self, query: FloatArray, k: int, within: npt.NDArray[np.integer] | None = None
    ) -> tuple[RowArray, FloatArray]:
        """The k best rows, best first; equal scores by row number.

        The score of a row does not depend on what else is searched.

        Args:
            query: shape (d,).
            k: number of rows; fewer are returned if there are fewer.
            within: search only these rows, in any order; no others are read.

        Returns:
            Rows, int64, and scores, float32, shape (min(k, rows),).
        """
        allowed = None if within is None else np.unique(np.asarray(within, dtype=np.int64))
        k = min(k, len(self) if allowed is None else len(allowed))
        if k <= 0:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        candidates = self._candidates(query, k, allowed)
        exact = query.astype(np.float64)
        scores = np.empty(len(candidates), np.float32)
        for start in range(0, len(candidates), _BLOCK_ROWS):
            block = self.vectors[candidates[start : start + _BLOCK_ROWS]].astype(np.float64)
            scores[start : start + _BLOCK_ROWS] = (block * exact).sum(axis=1)
        order = np.argsort(-scores, kind="stable")[:k]
        return candidates[order], scores[order]

    def _candidates(self, query: FloatArray, k: int, allowed: RowArray | None) -> RowArray:
        """At least k rows, including the k best, ascending."""
        size = len(self) if allowed is None else len(allowed)
        scores = np.empty(size, np.float32)
        for start in range(0, size, _BLOCK_ROWS):
            rows = slice(start, min(start + _BLOCK_ROWS, size))
            block = self.vectors[rows] if allowed is None else self.vectors[allowed[rows]]
            np.matmul(as_float32(block), query, out=scores[rows])
        # A matrix product rounds by position: rows within rounding of the k-th best are scored again.
        margin = _ROUNDING * max(1.0, float(np.abs(scores).max()), float(np.linalg.norm(query)))
        best = np.flatnonzero(scores >= np.partition(scores, size - k)[size - k] - margin)
        return best if allowed is None else allowed[best]

    # --- on disk -----------------------------------------------------------------------------
    def save(self, directory: Path | str) -> None:
        """Write the vectors in half precision into a directory, which is created or replaced.

        A reader sees the old index or the new one, never a mixture; an open index stays usable.

        Raises:
            ValueError: a vector is not finite in half precision.
            StorageError: the disk is full, read-only or broken.
        """
        with replaced_directory(Path(directory)) as place:
            matrix = place / "vectors.npy"
            _write_matrix(matrix, self.vectors)
            manifest = {
                "format": _FORMAT,
                "version": _VERSION,
                "rows": len(self),
                "dimensions": self.dimensions,
                "files": {matrix.name: matrix.stat().st_size},
                "metadata": self.metadata,
            }
            (place / _MANIFEST).write_text(json.dumps(manifest, indent=1), "utf-8")

    @classmethod
    def open(cls, directory: Path | str) -> VectorIndex:
        """Map a saved index into memory (about a millisecond for any size).

        Raises:
            KnowledgeBaseError: there is no index, or one of its files is missing, truncated or of another index.
        """
        place = Path(directory)
        try:
            manifest = parse_json((place / _MANIFEST).read_text("utf-8"))
            if manifest["format"] != _FORMAT or manifest["version"] != _VERSION:
                raise KnowledgeBaseError(
                    f"{place}: vectors of format {manifest['format']} {manifest['version']}, this version reads "
                    f"{_FORMAT} {_VERSION}; build them again"
                )
            sizes: dict[str, int] = manifest["files"]
            for name, size in sizes.items():
                found = (place / name).stat().st_size
                if found != size:
                    raise KnowledgeBaseError(
                        f"{place / name}: {found} bytes instead of {size}; build the vectors again"
                    )
            matrix = next(iter(sizes))
            vectors = load_array(place / matrix, mmap_mode="r" if manifest["rows"] else None)
            shape = (manifest["rows"], manifest["dimensions"])
            if vectors.shape != shape or vectors.dtype not in (np.float16, np.float32):
                raise KnowledgeBaseError(
                    f"{place / matrix}: {vectors.dtype} of shape {vectors.shape}, not {shape} as in {_MANIFEST}; "
                    "build the vectors again"
                )
            return cls(vectors, manifest["metadata"])
        except FileNotFoundError as error:
            raise KnowledgeBaseError(f"{place}: no vector index here ({error.filename} is missing)") from error
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise KnowledgeBaseError(f"{place}: damaged vector index ({error}); build the vectors again") from error


def _write_matrix(path: Path, vectors: npt.NDArray[np.floating[Any]]) -> None:
    """Write a .npy file, checked block by block and synced to disk."""
    header = {"descr": "<f2", "fortran_order": False, "shape": vectors.shape}
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, len(vectors), _BLOCK_ROWS):
            with np.errstate(over="ignore"):
                block = np.ascontiguousarray(vectors[start : start + _BLOCK_ROWS], "<f2")
            if not np.isfinite(block).all():
                bad = start + int(np.flatnonzero(~np.isfinite(block).all(axis=1))[0])
                raise ValueError(f"the vector of row {bad} is not finite in float16")
            file.write(block.data)
        file.flush()
        os.fsync(file.fileno())


# --- vectors that are computed little by little --------------------------------------------------
_CHUNK = 256  # rows encoded between two writes: the work that an interruption can lose
_SCORED_AT_ONCE = 8192  # rows converted to float32 per block
_ABOUT, _MATRIX, _FILLED = "about.json", "vectors.npy", "filled.npy"


class LazyVectors:
    """Vectors of n texts, in half precision, computed when first needed and kept on disk.

    Several threads, and several processes on one folder, may fill it at the same time: a row is marked as filled after
    its vector is written, and others that compute the same row write the same vector.

    Args:
        folder: created if missing. If it is not writable, the vectors are kept in memory.
        encoder: makes the vectors. A folder of another encoder or number of rows is replaced.

    Attributes:
        matrix: all vectors, shape (n, d), float16; zero where they are missing.
    """

    def __init__(
        self, folder: Path, rows: int, text: Callable[[int], str], encoder: Encoder, what: str = "documents"
    ) -> None:
        self.encoder = encoder
        self._what = f"encoding {what}"
        self._text = text
        self._lock = threading.Lock()
        self.matrix, self._filled = _opened(folder, (rows, encoder.dimensions), encoder.fingerprint)

    @property
    def complete(self) -> bool:
        """Whether all rows are filled."""
        return bool(self._filled.all())

    def filled(self) -> tuple[RowArray, npt.NDArray[np.float16]]:
        """The rows that are filled, and their vectors."""
        rows = np.flatnonzero(self._filled)
        return rows, self.matrix[rows]

    def fill(self, rows: RowArray | None = None, progress: ProgressCallback = no_progress) -> None:
        """Compute the missing vectors of these rows. If interrupted, the next call resumes.

        Args:
            rows: row numbers; None: all.
            progress: called as ("encoding documents", done, total), or what else they are.
        """
        wanted = np.arange(len(self._filled)) if rows is None else np.unique(rows)
        missing = wanted[self._filled[wanted] == 0]
        done = len(wanted) - len(missing)
        for start in range(0, len(missing), _CHUNK):
            progress(self._what, done + start, len(wanted))
            some = missing[start : start + _CHUNK]
            vectors = self.encoder.encode([self._text(row) for row in some.tolist()])
            with self._lock:
                self.matrix[some] = vectors
                _flush(self.matrix)
                self._filled[some] = 1
                _flush(self._filled)
        if len(missing):
            progress(self._what, len(wanted), len(wanted))

    def cosines(self, query: FloatArray, rows: RowArray) -> FloatArray:
        """Cosine of a query vector with each row, -inf for rows that are not filled; shape (len(rows),)."""
        scores = np.full(len(rows), -np.inf, np.float32)
        for start in range(0, len(rows), _SCORED_AT_ONCE):
            some = rows[start : start + _SCORED_AT_ONCE]
            filled = self._filled[some] != 0
            # Summed row by row: a matrix product rounds by position, and equal documents must score equal.
            block = self.matrix[some[filled]].astype(np.float32)
            scores[start : start + len(some)][filled] = (block * query).sum(axis=1)
        return scores


def _flush(array: npt.NDArray[np.generic]) -> None:
    if isinstance(array, np.memmap):
        array.flush()


def _opened(
    folder: Path, shape: tuple[int, int], fingerprint: str
) -> tuple[npt.NDArray[np.float16], npt.NDArray[np.uint8]]:
    """Matrix and filled flags, mapped from the folder, which is created if missing or not matching."""
    about = {"rows": shape[0], "dimensions": shape[1], "fingerprint": fingerprint}
    if not shape[0]:
        return np.empty(shape, np.float16), np.empty(0, np.uint8)
    try:
        if _about(folder) != about:
            _make(folder, shape, about)
        return open_memmap(folder / _MATRIX, mode="r+"), open_memmap(folder / _FILLED, mode="r+")
    except (PermissionError, FileExistsError):
        return np.zeros(shape, np.float16), np.zeros(shape[0], np.uint8)
    except ValueError as error:
        raise KnowledgeBaseError(f"{folder}: damaged vectors ({error}); remove the folder") from error


def _about(folder: Path) -> object:
    try:
        return parse_json((folder / _ABOUT).read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return None


def _make(folder: Path, shape: tuple[int, int], about: dict[str, object]) -> None:
    """Create an empty matrix, sparse on disk until rows are written; one made by another process is kept."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with draft_directory(folder) as draft:
        new = draft / folder.name
        new.mkdir()
        open_memmap(new / _MATRIX, mode="w+", dtype=np.float16, shape=shape).flush()
        open_memmap(new / _FILLED, mode="w+", dtype=np.uint8, shape=shape[:1]).flush()
        (new / _ABOUT).write_text(json.dumps(about), "utf-8")
        if folder.exists() and _about(folder) != about:
            shutil.rmtree(folder)
        if not folder.exists():
            new.rename(folder)
