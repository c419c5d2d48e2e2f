"""`VectorIndex`: nearest rows of a matrix to a query.

Scores are inner products; on vectors of length 1 (as `kg.encode` returns) they are cosines. Up to about 200,000 rows
the search is exact: a matrix product over the memory-mapped matrix. Above that an HNSW graph (Malkov and Yashunin
2018, faiss) proposes candidates, which are scored exactly.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from triplecheck.kg._arrays import FloatArray, RowArray, as_float32, load_array
from triplecheck.kg.errors import KnowledgeBaseError
from triplecheck.kg.values import parse_json

HNSW_ROWS = 200_000
"""Rows above which `VectorIndex.save` adds an HNSW graph."""

_FORMAT = "triplecheck-vectors"
_VERSION = 1
_MANIFEST = "vectors.json"

_BLOCK_ROWS = 1024  # rows that fit the processor's cache during conversion
_BLOCK_QUERIES = 64
_MIN_CANDIDATES = 64  # minimum number of candidates from the HNSW graph
_ROUNDING = 1e-5  # above the error of a float32 inner product of unit vectors


class VectorIndex:
    """Search over n vectors of d dimensions; row numbers are the caller's ids. Thread-safe.

    Attributes:
        vectors: shape (n, d), float32 or float16, memory-mapped if opened from a directory.
        metadata: stored with the vectors, e.g. the fingerprint of their encoder.
    """

    def __init__(self, vectors: npt.NDArray[np.floating[Any]], metadata: Mapping[str, str] | None = None) -> None:
        """Search in memory.

        Args:
            vectors: shape (n, d). float16 and float32 are not copied.

        Raises:
            ValueError: the array has another shape.
        """
        if vectors.ndim != 2:
            raise ValueError(f"vectors must have the shape (rows, dimensions), not {vectors.shape}")
        self.vectors = vectors if vectors.dtype in (np.float16, np.float32) else vectors.astype(np.float32)
        self.metadata = dict(metadata or {})
        self._hnsw_path: Path | None = None

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return int(self.vectors.shape[1])

    # --- search ------------------------------------------------------------------------------
    def search(
        self, query: npt.ArrayLike, k: int, within: npt.NDArray[np.integer] | None = None
    ) -> tuple[RowArray, FloatArray]:
        """The k best rows, best first; equal scores by row number.

        The score of a row does not depend on the search (alone, in a batch, restricted, by HNSW).

        Args:
            query: one vector (d,) or several (q, d).
            k: number of rows; fewer are returned if there are fewer.
            within: search only these rows, in any order; no others are read.

        Returns:
            Rows, int64, and scores, float32; of shape (min(k, rows),) or (q, min(k, rows)).

        Raises:
            ValueError: a query has another number of dimensions or is not finite.
            IndexError: `within` names a row that does not exist.
        """
        queries = np.asarray(query, dtype=np.float32)
        if queries.ndim not in (1, 2) or queries.shape[-1] != self.dimensions:
            raise ValueError(f"these vectors have {self.dimensions} dimensions, the query has shape {queries.shape}")
        if not np.isfinite(queries).all():
            raise ValueError("a query vector must be finite")
        batch = np.atleast_2d(queries)
        allowed = None if within is None else np.unique(np.asarray(within, dtype=np.int64))
        if allowed is not None and len(allowed) and not 0 <= allowed[0] <= allowed[-1] < len(self):
            raise IndexError(f"`within` names rows from {allowed[0]} to {allowed[-1]}; there are {len(self)}")
        k = max(0, min(k, len(self) if allowed is None else len(allowed)))
        rows = np.empty((len(batch), k), np.int64)
        scores = np.empty((len(batch), k), np.float32)
        if k:
            for number, candidates in enumerate(self._candidates(batch, k, allowed)):
                rows[number], scores[number] = self._rank(batch[number], candidates, k)
        return (rows, scores) if queries.ndim == 2 else (rows[0], scores[0])

    def _candidates(self, queries: FloatArray, k: int, allowed: RowArray | None) -> Iterator[RowArray]:
        """Per query at least k rows, including the k best."""
        # A graph search for a tenth of all rows is slower than a full scan.
        if allowed is None and self._hnsw_path is not None and 10 * k < len(self) and find_spec("faiss"):
            import faiss

            wanted = max(2 * k, _MIN_CANDIDATES)
            effort = faiss.SearchParametersHNSW(efSearch=2 * wanted)  # type: ignore[attr-defined, unused-ignore]
            proposed = self._hnsw.search(np.ascontiguousarray(queries), wanted, params=effort)[1]
            for number, row in enumerate(proposed):
                found = row[row >= 0]  # -1: the graph ran out of neighbours
                yield found if len(found) >= k else next(self._scan(queries[number : number + 1], k, None))
        else:
            yield from self._scan(queries, k, allowed)

    def _scan(self, queries: FloatArray, k: int, allowed: RowArray | None) -> Iterator[RowArray]:
        size = len(self) if allowed is None else len(allowed)
        for first in range(0, len(queries), _BLOCK_QUERIES):
            some = queries[first : first + _BLOCK_QUERIES]
            scores = np.empty((len(some), size), np.float32)
            step = _BLOCK_ROWS if self.vectors.dtype == np.float16 else 32 * _BLOCK_ROWS
            for start in range(0, size, step):
                stop = min(start + step, size)
                block = self.vectors[start:stop] if allowed is None else self.vectors[allowed[start:stop]]
                np.matmul(some, as_float32(block).T, out=scores[:, start:stop])
            for query, row in zip(some, scores, strict=True):
                # A matrix product rounds by position: rows within rounding of the k-th best are scored again.
                margin = _ROUNDING * max(1.0, float(np.abs(row).max()), float(np.linalg.norm(query)))
                best = np.flatnonzero(row >= np.partition(row, size - k)[size - k] - margin)
                yield best if allowed is None else allowed[best]

    def _rank(self, query: FloatArray, candidates: RowArray, k: int) -> tuple[RowArray, FloatArray]:
        """The k best candidates by a score that depends only on row and query."""
        candidates = np.sort(candidates)
        exact = query.astype(np.float64)
        scores = np.empty(len(candidates), np.float32)
        for start in range(0, len(candidates), _BLOCK_ROWS):
            block = self.vectors[candidates[start : start + _BLOCK_ROWS]].astype(np.float64)
            scores[start : start + _BLOCK_ROWS] = (block * exact).sum(axis=1)
        order = np.argsort(-scores, kind="stable")[:k]
        return candidates[order], scores[order]

    @cached_property
    def _hnsw(self) -> Any:
        import faiss

        try:
            graph = faiss.read_index(str(self._hnsw_path), faiss.IO_FLAG_MMAP_IFC)
        except RuntimeError as error:
            raise KnowledgeBaseError(f"{self._hnsw_path}: damaged HNSW graph; build the vectors again") from error
        if (graph.ntotal, graph.d) != self.vectors.shape:
            raise KnowledgeBaseError(
                f"{self._hnsw_path}: the HNSW graph has {graph.ntotal} rows of {graph.d} dimensions, the vectors "
                f"have {len(self)} of {self.dimensions}; build the vectors again"
            )
        return graph

    # --- on disk -----------------------------------------------------------------------------
    def save(self, directory: Path | str, *, float16: bool = False, hnsw_rows: int = HNSW_ROWS) -> None:
        """Write the vectors, and above `hnsw_rows` rows an HNSW graph over them.

        The graph needs faiss, of the extra `large`. Without it, all vectors are compared, which is exact and slower.

        A reader sees the old index or the new one, never a mixture; an open index stays usable.

        Args:
            directory: created if missing; an index already there is replaced.
            float16: half the size; scores change by about 1e-4.
            hnsw_rows: number of rows above which a graph is added.

        Raises:
            ValueError: a vector is not finite (or not in float16's range).
        """
        place = Path(directory)
        place.mkdir(parents=True, exist_ok=True)
        stem = f"vectors-{secrets.token_hex(4)}"
        written = [place / f"{stem}.npy"]
        try:
            _write_matrix(written[0], self.vectors, np.float16 if float16 else self.vectors.dtype.type)
            if len(self) > hnsw_rows and find_spec("faiss"):
                written.append(place / f"{stem}.hnsw")
                _write_hnsw(written[1], self.vectors)
            manifest = {
                "format": _FORMAT,
                "version": _VERSION,
                "rows": len(self),
                "dimensions": self.dimensions,
                "files": {path.name: path.stat().st_size for path in written},
                "metadata": self.metadata,
            }
            draft = place / f"{stem}.json"
            written.append(draft)
            draft.write_text(json.dumps(manifest, indent=1), "utf-8")
            draft.replace(place / _MANIFEST)
        except BaseException:
            for path in written:
                path.unlink(missing_ok=True)
            raise
        for path in place.glob("vectors-*"):
            if path not in written:
                path.unlink()

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
            matrix, *graph = sizes
            vectors = load_array(place / matrix, mmap_mode="r" if manifest["rows"] else None)
            shape = (manifest["rows"], manifest["dimensions"])
            if vectors.shape != shape or vectors.dtype not in (np.float16, np.float32):
                raise KnowledgeBaseError(
                    f"{place / matrix}: {vectors.dtype} of shape {vectors.shape}, not {shape} as in {_MANIFEST}; "
                    "build the vectors again"
                )
            index = cls(vectors, manifest["metadata"])
            index._hnsw_path = place / graph[0] if graph else None
        except FileNotFoundError as error:
            raise KnowledgeBaseError(f"{place}: no vector index here ({error.filename} is missing)") from error
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise KnowledgeBaseError(f"{place}: damaged vector index ({error}); build the vectors again") from error
        return index


def _write_matrix(path: Path, vectors: npt.NDArray[np.floating[Any]], dtype: type[np.floating[Any]]) -> None:
    """Write a .npy file, checked block by block and synced to disk."""
    header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": vectors.shape}
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, len(vectors), _BLOCK_ROWS):
            with np.errstate(over="ignore"):
                block = np.ascontiguousarray(vectors[start : start + _BLOCK_ROWS], dtype=dtype)
            if not np.isfinite(block).all():
                bad = start + int(np.flatnonzero(~np.isfinite(block).all(axis=1))[0])
                raise ValueError(f"the vector of row {bad} is not finite in {np.dtype(dtype).name}")
            file.write(block.data)
        file.flush()
        os.fsync(file.fileno())


def _write_hnsw(path: Path, vectors: npt.NDArray[np.floating[Any]]) -> None:
    import faiss

    # The graph's own copy of the vectors only guides the search, so half precision is enough.
    graph: Any = faiss.index_factory(vectors.shape[1], "HNSW32,SQfp16", faiss.METRIC_INNER_PRODUCT)
    graph.hnsw.efConstruction = 80
    graph.train(vectors[:1].astype(np.float32))
    for start in range(0, len(vectors), 16 * _BLOCK_ROWS):
        graph.add(vectors[start : start + 16 * _BLOCK_ROWS].astype(np.float32))
    faiss.write_index(graph, str(path))
