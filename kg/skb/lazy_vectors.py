"""`LazyVectors`: a matrix of text vectors that is filled as rows are asked for, on disk and for good.

On the default encoder a core makes some 13 vectors of full-length documents a second. A question needs those
of its candidates only; each is made once.
"""

from __future__ import annotations

import json
import secrets
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from triplecheck.kg.encode import Encoder
from triplecheck.kg.errors import KnowledgeBaseError
from triplecheck.kg.progress import ProgressCallback

FloatArray = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]

_CHUNK = 128  # rows encoded between two writes: what a kill may lose
_SCORED_AT_ONCE = 8192  # rows converted to float32 at a time
_ABOUT, _MATRIX, _FILLED = "about.json", "vectors.npy", "filled.npy"


class LazyVectors:
    """Vectors of n texts, in half precision, made when first asked for.

    Several threads, and several processes on one folder, may fill it at the same time: a row is marked as
    filled after its vector is written, and whoever else makes the same row writes the same vector.

    Args:
        folder: where they are kept; made if missing. Where it cannot be written, they are kept in memory.
        rows: how many texts.
        text: the text of a row.
        encoder: makes the vectors. A folder of another encoder, or of another number of rows, is started anew.
    """

    def __init__(self, folder: Path, rows: int, text: Callable[[int], str], encoder: Encoder) -> None:
        self.encoder = encoder
        self._text = text
        self._lock = threading.Lock()
        self._matrix, self._filled = _opened(folder, (rows, encoder.dimensions), encoder.fingerprint)

    def __len__(self) -> int:
        return len(self._filled)

    def missing(self, rows: Rows) -> Rows:
        """Those of the rows that are not filled."""
        missing: Rows = rows[self._filled[rows] == 0]
        return missing

    def fill(self, rows: Rows, progress: ProgressCallback | None = None) -> None:
        """Make the vectors of these rows that are missing. What a kill leaves is gone on with by the next call.

        Args:
            rows: row numbers.
            progress: called as ("encoding documents", done, total).
        """
        missing = np.unique(self.missing(rows))
        for start in range(0, len(missing), _CHUNK):
            if progress is not None:
                progress("encoding documents", start, len(missing))
            some = missing[start : start + _CHUNK]
            vectors = self.encoder.encode([self._text(row) for row in some.tolist()])
            with self._lock:
                self._matrix[some] = vectors
                _flush(self._matrix)
                self._filled[some] = 1
                _flush(self._filled)
        if progress is not None and len(missing):
            progress("encoding documents", len(missing), len(missing))

    def cosines(self, query: FloatArray, rows: Rows) -> FloatArray:
        """Cosine of a query vector with each row, -inf where it is not filled; shape (len(rows),)."""
        scores = np.full(len(rows), -np.inf, np.float32)
        for start in range(0, len(rows), _SCORED_AT_ONCE):
            some = rows[start : start + _SCORED_AT_ONCE]
            filled = self._filled[some] != 0
            # Summed row by row: a matrix product rounds by position, and equal documents must score equal.
            block = self._matrix[some[filled]].astype(np.float32)
            scores[start : start + len(some)][filled] = (block * query).sum(axis=1)
        return scores


def _flush(array: npt.NDArray[np.generic]) -> None:
    if isinstance(array, np.memmap):
        array.flush()


def _opened(
    folder: Path, shape: tuple[int, int], fingerprint: str
) -> tuple[npt.NDArray[np.float16], npt.NDArray[np.uint8]]:
    """Matrix and marks, mapped from the folder, which is made first where it is missing or of something else."""
    about = {"rows": shape[0], "dimensions": shape[1], "fingerprint": fingerprint}
    if not shape[0]:
        return np.empty(shape, np.float16), np.empty(0, np.uint8)
    try:
        if _about(folder) != about:
            _make(folder, shape, about)
        from numpy.lib.format import open_memmap

        return open_memmap(folder / _MATRIX, mode="r+"), open_memmap(folder / _FILLED, mode="r+")
    except (PermissionError, FileExistsError):
        return np.zeros(shape, np.float16), np.zeros(shape[0], np.uint8)
    except ValueError as error:
        raise KnowledgeBaseError(f"{folder}: damaged vectors ({error}); remove the folder") from error


def _about(folder: Path) -> object:
    try:
        return json.loads((folder / _ABOUT).read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return None


def _make(folder: Path, shape: tuple[int, int], about: dict[str, object]) -> None:
    """An empty matrix, which takes no room on disk until rows are written; another process's is kept."""
    from numpy.lib.format import open_memmap

    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = folder.with_name(f".{folder.name}-{secrets.token_hex(4)}")
    try:
        draft.mkdir()
        open_memmap(draft / _MATRIX, mode="w+", dtype=np.float16, shape=shape).flush()
        open_memmap(draft / _FILLED, mode="w+", dtype=np.uint8, shape=shape[:1]).flush()
        (draft / _ABOUT).write_text(json.dumps(about), "utf-8")
        if folder.exists() and _about(folder) != about:
            shutil.rmtree(folder)
        if not folder.exists():
            draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
