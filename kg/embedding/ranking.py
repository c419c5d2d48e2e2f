"""Train, validation and test triples, and link prediction: the rank of the true entity among all entities.

Ranks are filtered (Bordes et al. 2013): other entities known to be true are left out. They are realistic ranks
(PyKEEN's name; Berrendorf et al. 2020): the mean of the best and the worst rank among equal scores. Both tails and
heads are predicted.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from triplecheck.kg._arrays import concat_ranges
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.embedding.scoring import Scorer
from triplecheck.kg.errors import UserError
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.types import Direction

Triples = npt.NDArray[np.int64]
"""Shape (n, 3): heads, relations, tails."""

_LEAST_TRIPLES = 20


@dataclass(frozen=True)
class TripleSplit:
    """Triples of one graph in three parts.

    Attributes:
        train: contains every entity and relation that occurs.
        validation: for early stopping.
        test: for the final evaluation.
    """

    train: Triples
    validation: Triples
    test: Triples
    num_entities: int
    num_relations: int

    @property
    def fingerprint(self) -> str:
        """Hash of the split."""
        digest = hashlib.sha256(repr((self.num_entities, self.num_relations)).encode())
        for part in (self.train, self.validation, self.test):
            digest.update(np.ascontiguousarray(part).data)
            digest.update(b"|")
        return digest.hexdigest()


def triples_of(graph: ColumnarGraph, *, values: bool = False) -> Triples:
    """All triples between entities; with `values` also those whose tail is a literal.

    Raises:
        UserError: too few triples to train on.
    """
    edges = graph.expand(np.arange(graph.num_entities), direction=Direction.OUT)
    triples = np.stack([edges.heads, edges.relations, edges.tails], axis=1).astype(np.int64)
    kept = triples if values else triples[triples[:, 2] < graph.num_entities]
    if len(kept) < _LEAST_TRIPLES:
        raise UserError(f"{len(kept)} triples between entities are too few to train embeddings on")
    return kept


def split(triples: Triples, num_entities: int, num_relations: int, held_out: float, seed: int) -> TripleSplit:
    """Hold out a share of the triples, none of which occurs twice, drawn uniformly among those that can be held out.

    A triple can be held out if its head, relation and tail each occur in another training triple.
    """
    order = np.random.default_rng(seed).permutation(len(triples))
    shuffled = triples[order]
    nodes = np.concatenate([shuffled[:, 0], shuffled[:, 2]])
    needed = np.zeros(len(triples), bool)
    needed[np.unique(nodes, return_index=True)[1] % len(triples)] = True
    needed[np.unique(shuffled[:, 1], return_index=True)[1]] = True
    # From the end, where hardly any triple is needed: at the start only popular nodes can be spared.
    spare = np.flatnonzero(~needed)[::-1][: round(held_out * len(triples))]
    kept = np.ones(len(triples), bool)
    kept[spare] = False
    half = len(spare) // 2
    return TripleSplit(shuffled[kept], shuffled[spare[:half]], shuffled[spare[half:]], num_entities, num_relations)


# --- link prediction -----------------------------------------------------------------------------
_SCORES_AT_ONCE = 1 << 24


@dataclass(frozen=True)
class Quality:
    """Mean reciprocal rank, and shares of ranks up to 1 and 10; the tail and the head of each triple are predicted."""

    mrr: float
    hits_at_1: float
    hits_at_10: float
    triples: int


def quality(scorer: Scorer, triples: Triples, split: TripleSplit, progress: ProgressCallback = no_progress) -> Quality:
    """Predict tails and heads of triples, filtered by all triples of the split."""
    ranks = ranks_of(scorer, triples, split, progress)
    if len(ranks) == 0:
        return Quality(float("nan"), float("nan"), float("nan"), 0)
    return Quality(float((1 / ranks).mean()), float((ranks <= 1).mean()), float((ranks <= 10).mean()), len(triples))


def ranks_of(
    scorer: Scorer, triples: Triples, split: TripleSplit, progress: ProgressCallback = no_progress
) -> npt.NDArray[np.float64]:
    """Realistic ranks of all tails, then of all heads, shape (2n,)."""
    known = np.concatenate([split.train, split.validation, split.test])
    size = max(1, _SCORES_AT_ONCE // scorer.num_entities)
    ranks = []
    for near, far in ((0, 2), (2, 0)):
        index = _Known(known, near, far, split.num_relations)
        for start in range(0, len(triples), size):
            batch = triples[start : start + size]
            if far == 2:
                scores = scorer.all_tails(batch[:, 0], batch[:, 1])
            else:
                scores = scorer.all_heads(batch[:, 1], batch[:, 2])
            true = scores[np.arange(len(batch)), batch[:, far]].copy()
            scores[index.cells(batch)] = -np.inf
            greater = (scores > true[:, None]).sum(axis=1)
            # The true entity itself was filtered out.
            equal = (scores == true[:, None]).sum(axis=1)
            # A score that is not finite ranks last.
            ranks.append(np.where(np.isfinite(true), 1 + greater + equal / 2, scorer.num_entities))
            progress("ranking", start + len(batch) + (0 if far == 2 else len(triples)), 2 * len(triples))
    return np.concatenate(ranks) if ranks else np.empty(0)


class _Known:
    """All far ends of (near end, relation)."""

    def __init__(self, triples: Triples, near: int, far: int, num_relations: int) -> None:
        self._near, self._relations = near, num_relations
        keys = self._keys(triples)
        order = np.argsort(keys, kind="stable")
        self._sorted, self._far = keys[order], triples[order, far]

    def _keys(self, triples: Triples) -> npt.NDArray[np.int64]:
        return triples[:, self._near] * self._relations + triples[:, 1]

    def cells(self, batch: Triples) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """(row of the batch, far end) of all known triples."""
        keys = self._keys(batch)
        starts, stops = (np.searchsorted(self._sorted, keys, side) for side in ("left", "right"))
        return np.repeat(np.arange(len(batch)), stops - starts), self._far[concat_ranges(starts, stops)]
