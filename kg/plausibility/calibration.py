"""How well a score separates true triples from corrupted ones, measured on held-out triples.

True triples are the test triples of the embeddings. Corrupted ones have another tail that the graph does not confirm,
drawn from all entities (`random`) or from the other tails of the relation (`consistent`: the right type, harder).
Answers of one to five triples are measured too, where a corrupted answer has one corrupted triple: sum and mean
differ only there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.embedding.ranking import Triples, triples_of
from triplecheck.kg.errors import UserError
from triplecheck.kg.plausibility.scores import METHODS, Plausibility

CORRUPTIONS = ("random", "consistent")
UNITS = ("triple", "sum", "mean")
"""What is classified: single triples, or answers by the sum or the mean over their triples."""

_DRAWS = 20
_LARGEST_ANSWER = 5


@dataclass(frozen=True)
class Roc:
    """A receiver operating characteristic: scores below a threshold are classified as true.

    Attributes:
        method: of `kg.plausibility.scores.METHODS`.
        auroc: the probability that a corrupted one has a higher score than a true one; equal scores count half.
        threshold: maximises true positives minus false positives (Youden's J); lower scores count as true.
        false_positives, true_positives: the curve, shares, from (0, 0) to (1, 1).
        scored: number of (true, corrupted) with a score.
        unscored: number without a score.
    """

    method: str
    corruption: str
    unit: str
    auroc: float
    threshold: float
    false_positives: npt.NDArray[np.float64]
    true_positives: npt.NDArray[np.float64]
    scored: tuple[int, int]
    unscored: int


def calibrate(
    plausibility: Plausibility,
    *,
    limit: int = 2000,
    seed: int = 0,
    methods: Sequence[str] = METHODS,
    corruptions: Sequence[str] = CORRUPTIONS,
) -> list[Roc]:
    """Curves of methods, corruptions and all units on at most `limit` test triples.

    A true triple is compared only with the graph's other triples, as if the graph did not contain it.

    Raises:
        UserError: the embeddings have no held-out triples.
    """
    test = plausibility.embeddings.test
    rng = np.random.default_rng(seed)
    true = test[np.sort(rng.permutation(len(test))[:limit])]
    curves = []
    for corruption in corruptions:
        kept, corrupted = corrupt(plausibility.graph, true, plausibility.embeddings.about.num_entities, corruption, rng)
        if len(kept) == 0:
            raise UserError("there are no held-out triples to calibrate on; train on a graph with more triples")
        answers = rng.permutation(len(kept))
        sizes = rng.integers(1, _LARGEST_ANSWER + 1, len(kept))
        starts = np.concatenate([[0], np.cumsum(sizes)])
        starts = starts[starts < len(kept)]
        for method in methods:
            judge = replace(plausibility, method=method, leave_out=True)
            good, bad = judge.triple_scores(kept), judge.triple_scores(corrupted)
            curves.append(_roc(method, corruption, "triple", good, bad))
            in_answers = good[answers]
            with_one_bad = in_answers.copy()
            with_one_bad[starts] = bad[answers][starts]
            lengths = np.diff(np.append(starts, len(kept)))
            for unit, by in (("sum", 1), ("mean", lengths)):
                sums = (np.add.reduceat(scores, starts) / by for scores in (in_answers, with_one_bad))
                curves.append(_roc(method, corruption, unit, *sums))
    return curves


def separating_threshold(plausibility: Plausibility) -> float | None:
    """The score below which an answer is likelier true, by the method and the aggregate of a plausibility.

    Youden's J on answers of held-out triples, corrupted by tails of the right type. None if nothing can be scored.
    """
    if len(plausibility.embeddings.test) == 0:
        return None
    try:
        curves = calibrate(plausibility, limit=500, methods=(plausibility.method,), corruptions=("consistent",))
    except UserError:  # no triple can be corrupted
        return None
    (found,) = (curve.threshold for curve in curves if curve.unit == plausibility.aggregate)
    return found if math.isfinite(found) else None


def corrupt(
    graph: ColumnarGraph, triples: Triples, num_entities: int, corruption: str, rng: np.random.Generator
) -> tuple[Triples, Triples]:
    """Triples (n, 3) and their corrupted forms, which are not in the graph, row by row.

    Tails are drawn from 0 ... num_entities - 1. Triples that could not be corrupted are left out of both.
    """
    corrupted = triples.copy()
    open_ = np.arange(len(triples))
    pairs = None
    if corruption == "consistent":
        pool = triples_of(graph, values=True)
        # Each tail once per relation: otherwise frequent tails would be drawn over and over.
        pairs = np.unique(pool[pool[:, 2] < num_entities, 1:], axis=0)
    for _ in range(_DRAWS):
        if len(open_) == 0:
            break
        if pairs is None:
            drawn = rng.integers(0, num_entities, len(open_))
        else:
            relations = triples[open_, 1]
            low, high = (np.searchsorted(pairs[:, 0], relations, side) for side in ("left", "right"))
            drawn = pairs[rng.integers(low, high), 1]
        corrupted[open_, 2] = drawn
        open_ = open_[graph.contains_many(*corrupted[open_].T)]
    kept = np.ones(len(triples), bool)
    kept[open_] = False
    return triples[kept], corrupted[kept]


def _roc(method: str, corruption: str, unit: str, good: npt.NDArray[np.float64], bad: npt.NDArray[np.float64]) -> Roc:
    unscored = int(np.isnan(good).sum() + np.isnan(bad).sum())
    good, bad = np.sort(good[~np.isnan(good)]), np.sort(bad[~np.isnan(bad)])
    thresholds = np.unique(np.concatenate([good, bad]))
    # At each threshold: the shares at or below it.
    hits = np.concatenate([[0.0], np.searchsorted(good, thresholds, "right") / max(len(good), 1)])
    alarms = np.concatenate([[0.0], np.searchsorted(bad, thresholds, "right") / max(len(bad), 1)])
    auroc = float((np.diff(alarms) * (hits[1:] + hits[:-1]) / 2).sum()) if len(good) and len(bad) else float("nan")
    best = int(np.argmax(hits - alarms))
    following = np.append(thresholds, thresholds[-1:] + 1.0)
    threshold = float((following[best - 1] + following[best]) / 2) if best else float("nan")
    return Roc(method, corruption, unit, auroc, threshold, alarms, hits, (len(good), len(bad)), unscored)
