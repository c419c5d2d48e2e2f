"""How well a score tells true triples from corrupted ones, on triples that training never saw.

True: the embeddings' test triples. Corrupted: the same with another tail that the graph does not confirm, drawn from
all entities (`random`) or from the tails that the relation has elsewhere (`consistent`: the right type, the hard
ones). Also for answers of one to five triples, of which the corrupted have one corrupted triple: there sum and mean
differ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.embedding.split import Triples, triples_of
from triplecheck.kg.errors import UserError
from triplecheck.kg.plausibility.scores import METHODS, Plausibility

CORRUPTIONS = ("random", "consistent")
UNITS = ("triple", "sum", "mean")
"""What is told apart: single triples, or answers by the sum or the mean over their triples."""

_DRAWS = 20
_LARGEST_ANSWER = 5


@dataclass(frozen=True)
class Roc:
    """A receiver operating characteristic: a score below a threshold is taken for true.

    Attributes:
        method: of `kg.plausibility.scores.METHODS`.
        corruption: of `CORRUPTIONS`.
        unit: of `UNITS`.
        auroc: the chance that a corrupted one has a higher score than a true one, equal scores counted half.
        threshold: where true positives minus false positives are most (Youden's J): below it, taken for true.
        false_positives, true_positives: the curve, shares, from (0, 0) to (1, 1).
        scored: (true, corrupted) that could be scored and are compared.
        unscored: those that could not.
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


def calibrate(plausibility: Plausibility, *, limit: int = 2000, seed: int = 0) -> list[Roc]:
    """Curves of all methods, corruptions and units on at most `limit` test triples.

    A true triple is compared with the graph's other triples only, as if the graph did not hold it.

    Raises:
        UserError: the embeddings hold out no triples.
    """
    test = plausibility.embeddings.test
    rng = np.random.default_rng(seed)
    true = test[np.sort(rng.permutation(len(test))[:limit])]
    curves = []
    for corruption in CORRUPTIONS:
        kept, corrupted = corrupt(plausibility.graph, true, plausibility.embeddings.about.num_entities, corruption, rng)
        if len(kept) == 0:
            raise UserError("there are no held-out triples to calibrate on; train on a graph with more triples")
        answers = rng.permutation(len(kept))
        sizes = rng.integers(1, _LARGEST_ANSWER + 1, len(kept))
        starts = np.concatenate([[0], np.cumsum(sizes)])
        starts = starts[starts < len(kept)]
        for method in METHODS:
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


def corrupt(
    graph: ColumnarGraph, triples: Triples, num_entities: int, corruption: str, rng: np.random.Generator
) -> tuple[Triples, Triples]:
    """Triples and their corrupted forms, row by row; those that no draw could corrupt are left out of both.

    Args:
        graph: what it confirms is not corrupted.
        triples: shape (n, 3).
        num_entities: tails are drawn from 0 ... num_entities - 1.
        corruption: of `CORRUPTIONS`.
        rng: draws.
    """
    corrupted = triples.copy()
    open_ = np.arange(len(triples))
    pool = triples_of(graph, values=True) if corruption == "consistent" else None
    if pool is not None:
        pool = pool[pool[:, 2] < num_entities]
        pool = pool[np.argsort(pool[:, 1], kind="stable")]
        # Each tail once for a relation: a frequent one would else be drawn again and again.
        pairs = np.unique(pool[:, 1:], axis=0)
    for _ in range(_DRAWS):
        if len(open_) == 0:
            break
        if pool is None:
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
