"""Vector search: exact, restricted, approximate, and on disk."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from triplecheck.kg._arrays import as_float32
from triplecheck.kg.errors import KnowledgeBaseError
from triplecheck.kg.vectors import VectorIndex

random = np.random.default_rng(7)


def unit(rows: int, dimensions: int = 16) -> np.ndarray:
    drawn = random.standard_normal((rows, dimensions)).astype(np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


VECTORS = unit(3000)
QUERIES = unit(10)


def best(rows: np.ndarray, query: np.ndarray, k: int) -> list[int]:
    return np.argsort(-(rows.astype(np.float64) @ query), kind="stable")[:k].tolist()


@pytest.fixture(params=["in memory", "saved"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> VectorIndex:
    built = VectorIndex(VECTORS)
    if request.param == "in memory":
        return built
    built.save(tmp_path / "index")
    return VectorIndex.open(tmp_path / "index")


# --- search ----------------------------------------------------------------------------------
def test_the_best_rows_come_first_with_their_inner_products(index: VectorIndex) -> None:
    stored = np.asarray(index.vectors, np.float32)
    for query in QUERIES:
        rows, scores = index.search(query, 5)
        assert rows.tolist() == best(stored, query, 5)
        np.testing.assert_allclose(scores, stored[rows] @ query, atol=1e-6)


def test_only_rows_within_are_answered(index: VectorIndex) -> None:
    within = np.array([2999, 5, 1700, 5, 42])
    rows, scores = index.search(QUERIES[0], 3, within)
    allowed = np.unique(within)
    assert rows.tolist() == allowed[best(np.asarray(index.vectors, np.float32)[allowed], QUERIES[0], 3)].tolist()
    everything = dict(zip(*(part.tolist() for part in index.search(QUERIES[0], 3000)), strict=True))
    assert [everything[row] for row in rows.tolist()] == scores.tolist()


def test_fewer_are_returned_if_there_are_fewer(index: VectorIndex) -> None:
    assert index.search(QUERIES[0], 10, np.array([3, 1]))[0].shape == (2,)
    assert index.search(QUERIES[0], 10, np.array([], np.int64))[1].shape == (0,)
    assert index.search(QUERIES[0], 0)[0].shape == (0,)
    assert sorted(index.search(QUERIES[0], 5000)[0].tolist()) == list(range(3000))


def test_equal_scores_are_ordered_by_row() -> None:
    repeated = np.tile(unit(1, 384), (1100, 1))
    rows, scores = VectorIndex(repeated).search(unit(1, 384)[0], 1100)
    assert rows.tolist() == list(range(1100))
    assert len(set(scores.tolist())) == 1
    assert VectorIndex(repeated).search(unit(1, 384)[0], 3)[0].tolist() == [0, 1, 2]


def test_half_precision_is_read_exactly() -> None:
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    finite = every[np.isfinite(every)]
    np.testing.assert_array_equal(as_float32(finite), finite.astype(np.float32))


# --- on disk ---------------------------------------------------------------------------------
def test_an_index_comes_back_in_half_precision(tmp_path: Path) -> None:
    VectorIndex(VECTORS, {"encoder": "all-MiniLM-L6-v2"}).save(tmp_path / "new" / "place")
    opened = VectorIndex.open(tmp_path / "new" / "place")
    np.testing.assert_array_equal(opened.vectors, VECTORS.astype(np.float16))
    assert isinstance(opened.vectors, np.memmap)
    assert opened.metadata == {"encoder": "all-MiniLM-L6-v2"}


def test_no_vectors_are_an_index_too(tmp_path: Path) -> None:
    VectorIndex(np.empty((0, 16), np.float32)).save(tmp_path)
    assert VectorIndex.open(tmp_path).search(QUERIES[0], 3)[0].tolist() == []


def test_saving_again_replaces_and_leaves_an_open_index_usable(tmp_path: Path) -> None:
    VectorIndex(VECTORS).save(tmp_path)
    before = VectorIndex.open(tmp_path)
    VectorIndex(VECTORS[:7]).save(tmp_path)
    assert len(VectorIndex.open(tmp_path)) == 7
    assert len(list(tmp_path.iterdir())) == 2
    assert before.search(VECTORS[2000], 1, np.arange(3000))[0].tolist() == [2000]


def test_a_vector_that_is_not_finite_is_refused_and_nothing_is_replaced(tmp_path: Path) -> None:
    VectorIndex(VECTORS[:7]).save(tmp_path)
    bad = VECTORS.copy()
    bad[1234, 3] = math.inf
    with pytest.raises(ValueError, match="1234"):
        VectorIndex(bad).save(tmp_path)
    with pytest.raises(ValueError, match="float16"):
        VectorIndex(np.full((2, 4), 1e6, np.float32)).save(tmp_path)
    assert len(VectorIndex.open(tmp_path)) == 7
    assert len(list(tmp_path.iterdir())) == 2


def test_a_directory_without_an_index_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeBaseError, match="no vector index"):
        VectorIndex.open(tmp_path)


def test_a_file_cut_short_is_named(tmp_path: Path) -> None:
    VectorIndex(VECTORS).save(tmp_path)
    path = tmp_path / "vectors.npy"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(KnowledgeBaseError, match=r"npy: .* bytes instead of"):
        VectorIndex.open(tmp_path)


def test_a_matrix_of_another_shape_is_refused(tmp_path: Path) -> None:
    VectorIndex(VECTORS).save(tmp_path)
    (path,) = tmp_path.glob("*.npy")
    np.save(path, VECTORS.reshape(1500, 32).astype(np.float16))
    with pytest.raises(KnowledgeBaseError, match=r"\(1500, 32\)"):
        VectorIndex.open(tmp_path)


@pytest.mark.parametrize("manifest", ["", "[]", "{}", '{"format": "something else", "version": 1}'])
def test_a_foreign_manifest_is_refused(tmp_path: Path, manifest: str) -> None:
    (tmp_path / "vectors.json").write_text(manifest)
    with pytest.raises(KnowledgeBaseError):
        VectorIndex.open(tmp_path)
