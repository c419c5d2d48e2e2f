"""Link prediction: at which rank a model sees the true entity among all of them.

Filtered (Bordes et al. 2013): other entities known to be true are left out. Realistic rank (PyKEEN's name; Berrendorf
et al. 2020): the mean of the best and the worst rank among equal scores. Tails and heads are predicted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from triplecheck.kg._ranges import concat_ranges
from triplecheck.kg.embedding.scorer import Scorer
from triplecheck.kg.embedding.split import Split, Triples
from triplecheck.kg.progress import ProgressCallback

_SCORES_AT_ONCE = 1 << 24


@dataclass(frozen=True)
class Quality:
    """Link-prediction quality, over both directions.

    Attributes:
        mrr: mean reciprocal rank.
        hits_at_1: share of ranks that are 1.
        hits_at_10: share of ranks up to 10.
        triples: how many were predicted, each once by its tail and once by its head.
    """

    mrr: float
    hits_at_1: float
    hits_at_10: float
    triples: int


def quality(scorer: Scorer, triples: Triples, split: Split, progress: ProgressCallback | None = None) -> Quality:
    """Predict tails and heads of triples, filtered by all parts of the split."""
    ranks = ranks_of(scorer, triples, split, progress)
    if len(ranks) == 0:
        return Quality(float("nan"), float("nan"), float("nan"), 0)
    return Quality(float((1 / ranks).mean()), float((ranks <= 1).mean()), float((ranks <= 10).mean()), len(triples))


def ranks_of(
    scorer: Scorer, triples: Triples, split: Split, progress: ProgressCallback | None = None
) -> npt.NDArray[np.float64]:
    """Realistic ranks, first of all tails, then of all heads, shape (2n,)."""
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
            # The true entity itself was among those left out.
            equal = (scores == true[:, None]).sum(axis=1)
            # A score that is no number beats nothing.
            ranks.append(np.where(np.isfinite(true), 1 + greater + equal / 2, scorer.num_entities))
            if progress is not None:
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
        """(row of the batch, far end) of everything known."""
        keys = self._keys(batch)
        starts, stops = (np.searchsorted(self._sorted, keys, side) for side in ("left", "right"))
        return np.repeat(np.arange(len(batch)), stops - starts), self._far[concat_ranges(starts, stops)]
