"""On confidence, and on chance: calibration, intervals, and tests of a difference between two systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

# On confidence: whether it tells right answers from wrong ones, and whether it is the share of right ones.
#
# All take confidences in [0, 1] and whether each answer is right, both of shape (n,), n > 0, in any order:
# answers of the same confidence are told apart by nothing.

Floats = npt.NDArray[np.float64]


def expected_calibration_error(
    confidences: Sequence[float],
    correct: Sequence[bool],
    *,
    bins: int = 15,
    by: Literal["width", "mass"] = "width",
) -> float:
    """ECE: the mean distance of confidence from accuracy, over bins, weighted by their size.

    Guo et al. 2017, "On Calibration of Modern Neural Networks" (arXiv 1706.04599, equation 3).

    Args:
        confidences: of each answer.
        correct: whether it is right.
        bins: how many.
        by: `width`: bins ((m-1)/M, m/M], as there; `mass`: bins of the same number of answers (Nixon et
            al. 2019, "Measuring Calibration in Deep Learning", arXiv 1904.01685), of which equal
            confidences share one.
    """
    sure, right = _checked(confidences, correct)
    if bins < 1:
        raise ValueError(f"{bins} bins: there must be 1 or more")
    if by == "width":
        bin_of = np.searchsorted(np.arange(1, bins) / bins, sure)
    else:
        bin_of = np.searchsorted(np.sort(sure), sure) * bins // len(sure)
    gaps = np.bincount(bin_of, weights=right - sure, minlength=bins)
    return float(np.abs(gaps).sum() / len(sure))


@dataclass(frozen=True)
class RiskCoverage:
    """What is wrong among the most confident answers, for every share of them that is given.

    Attributes:
        coverage: shares of the answers that are given, shape (n,), ascending: 1/n, 2/n ... 1.
        risk: share of wrong ones among those, shape (n,).
    """

    coverage: Floats
    risk: Floats


def risk_coverage(confidences: Sequence[float], correct: Sequence[bool]) -> RiskCoverage:
    """The risk-coverage curve (El-Yaniv and Wiener 2010; Geifman and El-Yaniv 2017, arXiv 1705.08500).

    Where confidences are equal, the risk is its mean over the orders in which the answers may be given.
    """
    sure, right = _checked(confidences, correct)
    _, group, sizes = np.unique(-sure, return_inverse=True, return_counts=True)
    errors = np.bincount(group, weights=1 - right) / sizes
    given = np.arange(1, len(sure) + 1)
    return RiskCoverage(given / len(sure), np.cumsum(np.repeat(errors, sizes)) / given)


def area_under_risk_coverage(confidences: Sequence[float], correct: Sequence[bool]) -> float:
    """AURC: the mean risk over all coverages (Geifman et al. 2019, arXiv 1805.08206, equation 3); 0 is best."""
    return float(risk_coverage(confidences, correct).risk.mean())


def _checked(confidences: Sequence[float], correct: Sequence[bool]) -> tuple[Floats, Floats]:
    sure, right = np.asarray(confidences, np.float64), np.asarray(correct, np.float64)
    if sure.shape != right.shape or sure.ndim != 1 or not len(sure):
        raise ValueError(f"confidences of shape {sure.shape} for answers of shape {right.shape}")
    if not ((sure >= 0) & (sure <= 1)).all():
        raise ValueError("a confidence lies outside of [0, 1]")
    return sure, right


# Confidence intervals of means, and paired significance tests of two systems on the same questions.
#
# Resampling is seeded. It draws counts of the distinct values instead of rows: these follow a multinomial
# (bootstrap) or binomial (flipped signs) distribution, so the result has the distribution of row-wise resampling.
# `scipy.stats.bootstrap` and `permutation_test` draw row by row: hundreds of times slower on 5,000 questions.

SAMPLES = 10_000
_AT_ONCE = 2_000_000  # numbers drawn at a time


def bootstrap_interval(
    values: Sequence[float], *, level: float = 0.95, samples: int = SAMPLES, seed: int = 0
) -> tuple[float, float]:
    """The percentile bootstrap interval of a mean (Efron and Tibshirani 1993, chapter 13).

    If all values are equal, so are both ends of the interval.

    Args:
        values: shape (n,), n > 0.
        level: confidence level.
        samples: number of resamples.
        seed: of the resampling.
    """
    means = _resampled_means(_array(values), samples, seed)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


@dataclass(frozen=True)
class PairedDifference:
    """The mean of `b - a` over the same questions.

    Attributes:
        difference: the mean.
        low: lower end of its interval.
        high: upper end of its interval.
        p_value: two-sided.
    """

    difference: float
    low: float
    high: float
    p_value: float


def paired_bootstrap(
    a: Sequence[float], b: Sequence[float], *, level: float = 0.95, samples: int = SAMPLES, seed: int = 0
) -> PairedDifference:
    """The paired bootstrap test: questions are resampled, each with both systems' scores.

    Koehn 2004, "Statistical Significance Tests for Machine Translation Evaluation"; the p-value as in
    Berg-Kirkpatrick et al. 2012, "An Empirical Investigation of Statistical Significance in NLP": the
    resampled differences are moved to a mean of 0, and those count that lie as far out as the one found.

    Args:
        a: scores of one system, shape (n,), n > 0.
        b: scores of the other on the same questions.
        level: confidence level.
        samples: number of resamples.
        seed: of the resampling.
    """
    differences = _differences(a, b)
    found = float(differences.mean())
    means = _resampled_means(differences, samples, seed)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return PairedDifference(found, float(low), float(high), _share_as_far_out(means - found, found))


def randomisation(a: Sequence[float], b: Sequence[float], *, samples: int = SAMPLES, seed: int = 0) -> float:
    """Two-sided p-value of the paired randomisation test of means: the sign of each difference is flipped at random.

    Noreen 1989, "Computer-Intensive Methods for Testing Hypotheses"; Yeh 2000, "More accurate tests for
    the statistical significance of result differences".

    Args:
        a: scores of one system, shape (n,), n > 0.
        b: scores of the other on the same questions.
        samples: number of permutations.
        seed: of the drawing.
    """
    differences = _differences(a, b)
    sizes, counts = np.unique(np.abs(differences[differences != 0]), return_counts=True)
    if not len(sizes):
        return 1.0
    random = np.random.default_rng(seed)
    step = max(1, _AT_ONCE // len(sizes))
    sums = np.concatenate(
        [
            (2 * random.binomial(counts, 0.5, (min(step, samples - start), len(sizes))) - counts) @ sizes
            for start in range(0, samples, step)
        ]
    )
    return _share_as_far_out(sums / len(differences), float(differences.mean()))


def mcnemar(a: Sequence[float], b: Sequence[float]) -> float:
    """Two-sided p-value of McNemar's exact test, for scores that are 0 or 1.

    Of the questions on which the systems differ, each is as likely to fall to either (McNemar 1947; the
    binomial form: Dietterich 1998, "Approximate Statistical Tests for Comparing Supervised Classification
    Learning Algorithms").
    """
    differences = _differences(a, b)
    if not np.isin(np.concatenate((a, b)), (0, 1)).all():
        raise ValueError("McNemar's test is for scores of 0 and 1")
    differing, wins = int((differences != 0).sum()), int((differences > 0).sum())
    from scipy.stats import binomtest  # loads slowly

    return float(binomtest(wins, differing).pvalue) if differing else 1.0


def _resampled_means(values: Floats, samples: int, seed: int) -> Floats:
    distinct, counts = np.unique(values, return_counts=True)
    random = np.random.default_rng(seed)
    step = max(1, _AT_ONCE // len(distinct))
    draws = [
        random.multinomial(len(values), counts / len(values), min(step, samples - start)) @ distinct
        for start in range(0, samples, step)
    ]
    return np.concatenate(draws) / len(values)


def _share_as_far_out(centred: Floats, found: float) -> float:
    """Never 0: the observed sample counts as one of the possible samples."""
    rounding = 1e-12
    return float((np.count_nonzero(np.abs(centred) >= abs(found) - rounding) + 1) / (len(centred) + 1))


def _differences(a: Sequence[float], b: Sequence[float]) -> Floats:
    if len(a) != len(b):
        raise ValueError(f"{len(a)} scores cannot be paired with {len(b)}")
    return np.round(_array(b) - _array(a), 12)  # what is the same up to rounding is the same


def _array(values: Sequence[float]) -> Floats:
    array = np.asarray(values, np.float64)
    if array.ndim != 1 or not len(array):
        raise ValueError(f"scores of shape {array.shape}: one dimension with at least one score is needed")
    return array
