"""Scores of triples computed on arrays: one interaction per model, and the scorers that use them.

Each score compares the tail's vector with a query vector computed from head and relation. So one triple takes a few
multiplications, and all tails of a (head, relation) take one pass over the entity matrix. Complex vectors are stored
as pairs of reals (real, imaginary, real, ...): d complex numbers are 2d columns. Models whose score is a neural
network are scored by PyKEEN (`kg.embedding.models.TorchScorer`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from triplecheck.kg._arrays import FloatArray, as_float32
from triplecheck.kg.errors import extra
from triplecheck.kg.graph import IntArray

QueryFunction = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True)
class InnerProduct:
    """Score: the inner product of query and tail.

    ComplEx (Trouillon et al. 2016): Re<h, r, conj(t)>, the inner product of h * r and t taken as pairs of reals.
    DistMult (Yang et al. 2015): <h, r, t>.

    Attributes:
        query: from vectors of heads and relations to those that tails are compared with, shape (n, width).
    """

    query: QueryFunction

    def score(self, queries: FloatArray, tails: FloatArray) -> FloatArray:
        """The score of each query with its own tail: (n, width) and (n, width) to (n,)."""
        scores: FloatArray = np.einsum("nd,nd->n", queries, tails)
        return scores

    def score_all(self, queries: FloatArray, tails: FloatArray) -> FloatArray:
        """The score of each query with every tail: (n, width) and (m, width) to (n, m)."""
        return queries @ tails.T


@dataclass(frozen=True)
class Distance:
    """Score: minus the distance between query and tail; otherwise as `InnerProduct`.

    TransE (Bordes et al. 2013): -|h + r - t|, the 1-norm or the 2-norm.
    RotatE (Sun et al. 2019): -|h * r - t|, the 2-norm, for complex vectors that of the pairs of reals.
    """

    query: QueryFunction
    norm: int

    def score(self, queries: FloatArray, tails: FloatArray) -> FloatArray:
        lengths: FloatArray = np.linalg.norm(queries - tails, self.norm, axis=1)
        return -lengths

    def score_all(self, queries: FloatArray, tails: FloatArray) -> FloatArray:
        with extra("train", "Scoring all entities by distance"):
            from scipy.spatial.distance import cdist

        distances = cdist(queries, tails, "cityblock" if self.norm == 1 else "euclidean")
        scores: FloatArray = -distances.astype(np.float32)
        return scores


Interaction = InnerProduct | Distance
"""The score function of one model."""


def complex_product(left: FloatArray, right: FloatArray) -> FloatArray:
    """Products of complex numbers stored as pairs of reals, shape (n, 2d)."""
    a, b = (np.ascontiguousarray(x).view(np.complex64) for x in (left, right))
    return (a * b).view(np.float32)


def interaction_of(model: str, norm: int = 2) -> Interaction | None:
    """The interaction of a PyKEEN model by name, whatever its case; None if its score needs more than arrays.

    Args:
        norm: of TransE's distances, 1 or 2.
    """
    known: dict[str, Interaction] = {
        "complex": InnerProduct(complex_product),
        "distmult": InnerProduct(np.multiply),
        "transe": Distance(np.add, norm),
        "rotate": Distance(complex_product, 2),
    }
    return known.get(model.casefold())


# --- scorers -------------------------------------------------------------------------------------
# Numbers of the entity matrix per block: converted half precision should fit the processor's cache.
_HALF_BLOCK, _BLOCK = 1 << 18, 1 << 22


class Scorer(Protocol):
    """Scores by a trained model; higher is more plausible. Only the order of scores is meaningful."""

    @property
    def num_entities(self) -> int:
        """Number of entities with a vector: 0 ... num_entities - 1."""
        ...

    def score(self, heads: IntArray, relations: IntArray, tails: IntArray) -> FloatArray:
        """Scores of n triples, shape (n,)."""
        ...

    def all_tails(self, heads: IntArray, relations: IntArray) -> FloatArray:
        """Scores of every entity as the tail, shape (n, entities)."""
        ...

    def all_heads(self, relations: IntArray, tails: IntArray) -> FloatArray:
        """Scores of every entity as the head (by the inverse relation), shape (n, entities)."""
        ...


class ArrayScorer:
    """Scores on arrays, which may be memory-mapped and in half precision.

    Args:
        entities: shape (entities, width), float32 or float16.
        relations: shape (2 * relations, width): relation r in row 2r, its inverse in row 2r + 1.
    """

    def __init__(self, interaction: Interaction, entities: npt.NDArray[Any], relations: npt.NDArray[Any]) -> None:
        self._interaction = interaction
        self._entities = entities
        self._relations = relations

    @property
    def num_entities(self) -> int:
        return len(self._entities)

    def score(self, heads: IntArray, relations: IntArray, tails: IntArray) -> FloatArray:
        queries = self._queries(heads, 2 * np.asarray(relations))
        return self._interaction.score(queries, as_float32(self._entities[np.asarray(tails)]))

    def all_tails(self, heads: IntArray, relations: IntArray) -> FloatArray:
        return self._all(self._queries(heads, 2 * np.asarray(relations)))

    def all_heads(self, relations: IntArray, tails: IntArray) -> FloatArray:
        return self._all(self._queries(tails, 2 * np.asarray(relations) + 1))

    def _queries(self, heads: IntArray, rows: IntArray) -> FloatArray:
        return self._interaction.query(as_float32(self._entities[np.asarray(heads)]), as_float32(self._relations[rows]))

    def _all(self, queries: FloatArray) -> FloatArray:
        scores = np.empty((len(queries), self.num_entities), np.float32)
        size = _HALF_BLOCK if self._entities.dtype == np.float16 else _BLOCK
        rows = max(1, size // self._entities.shape[1])
        for start in range(0, self.num_entities, rows):
            block = as_float32(self._entities[start : start + rows])
            scores[:, start : start + len(block)] = self._interaction.score_all(queries, block)
        return scores
