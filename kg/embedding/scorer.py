"""`Scorer`: how plausible a trained model finds triples.

Most models are scored on their arrays (`ArrayScorer`); those whose score is a network of its own run in PyKEEN
(`kg.embedding.torch_scorer`).
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from triplecheck.kg._half import as_float32
from triplecheck.kg.embedding.interactions import FloatArray, Interaction
from triplecheck.kg.graph import IntArray

# Numbers of the entity matrix at a time: half precision is to stay in the processor's cache once converted.
_HALF_BLOCK, _BLOCK = 1 << 18, 1 << 22


class Scorer(Protocol):
    """Scores by a trained model; greater is more plausible, and that is all a score says."""

    @property
    def num_entities(self) -> int:
        """Entities that have a vector: 0 ... num_entities - 1."""
        ...

    @property
    def num_relations(self) -> int:
        """Relations of the graph; their inverses are not counted."""
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
    """Scores on the arrays themselves, which may be memory-mapped and in half precision.

    Args:
        interaction: the model's.
        entities: shape (entities, width), float32 or float16.
        relations: shape (2 * relations, width): relation r in row 2r, its inverse in row 2r + 1.
    """

    def __init__(self, interaction: Interaction, entities: npt.NDArray[Any], relations: npt.NDArray[Any]) -> None:
        self._interaction = interaction
        self._entities = entities
        self._relations = relations

    @property
    def num_entities(self) -> int:
        """See `Scorer`."""
        return len(self._entities)

    @property
    def num_relations(self) -> int:
        """See `Scorer`."""
        return len(self._relations) // 2

    def score(self, heads: IntArray, relations: IntArray, tails: IntArray) -> FloatArray:
        """See `Scorer`."""
        queries = self._queries(heads, 2 * np.asarray(relations))
        return self._interaction.score(queries, as_float32(self._entities[np.asarray(tails)]))

    def all_tails(self, heads: IntArray, relations: IntArray) -> FloatArray:
        """See `Scorer`."""
        return self._all(self._queries(heads, 2 * np.asarray(relations)))

    def all_heads(self, relations: IntArray, tails: IntArray) -> FloatArray:
        """See `Scorer`."""
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
