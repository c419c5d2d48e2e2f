"""Risk control: confidence thresholds with a guarantee. One half of the questions proposes them, the other tests them.

There are two guarantees. They hold for questions from the same distribution, with the same graph and models:

- `answered`: at most a share alpha of the answers is wrong, with a probability of at least 1 - delta over the draw
  of the calibration questions. Method: Learn then Test (Angelopoulos et al. 2021, arXiv 2110.01052) with fixed
  sequence testing. The first half selects the threshold that is most likely to pass; from there on, the second half
  tests each lower threshold at level delta with a binomial test, until one fails. Selective prediction with
  guaranteed risk: Geifman and El-Yaniv 2017 (arXiv 1705.08500).
- `asked`: at most a share alpha of all questions gets a wrong answer, on average over draws of the calibration
  questions. Method: Conformal Risk Control (Angelopoulos et al. 2022, arXiv 2208.02814) with the loss "answered
  and wrong", which is monotone in the threshold: the lowest threshold with (wrong + 1) / (n + 1) <= alpha.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, cast, get_args

import numpy as np
import numpy.typing as npt

from triplecheck.kg import UserError
from triplecheck.kg.errors import extra

Guarantee = Literal["answered", "asked"]

ABSTAIN_ALWAYS = 2.0
"""A threshold above every confidence."""
_STEPS = 20  # thresholds to propose: every additional test is another chance to stop the sequence too early


@dataclass(frozen=True)
class Sample:
    """Confidence and correctness of a program's answers.

    Attributes:
        confidences: of the answers, shape (answered,). Answers without a confidence are left out: they pass no
            threshold.
        wrong: whether each answer is wrong, shape (answered,).
        asked: number of questions, including abstentions.
    """

    confidences: npt.NDArray[np.float64]
    wrong: npt.NDArray[np.bool_]
    asked: int

    def above(self, threshold: float) -> tuple[int, int]:
        """Number of answers with at least this confidence, and how many of them are wrong."""
        given = self.confidences >= threshold
        return int(given.sum()), int(self.wrong[given].sum())

    @cached_property
    def thresholds(self) -> tuple[float, ...]:
        """Thresholds that separate these answers, descending, at even steps of coverage; the last one is 0.

        Each is midway between two confidences, so that rounding on another machine does not change the answers
        above it.
        """
        values, counts = np.unique(self.confidences, return_counts=True)
        between = ((values[1:] + values[:-1]) / 2)[::-1]
        answered = np.cumsum(counts[::-1])[:-1]
        marks = np.arange(1, _STEPS) * len(self.confidences) / _STEPS
        kept = np.unique(np.searchsorted(answered, marks)) if len(between) >= _STEPS else np.arange(len(between))
        return (*(float(between[at]) for at in kept if at < len(between)), 0.0)


@dataclass(frozen=True)
class Point:
    """One threshold on the calibration questions.

    Attributes:
        threshold: minimum confidence of an answer.
        answered: number of answers.
        wrong: number of wrong answers.
        asked: number of questions.
        most_wrong: upper confidence bound of the share of wrong answers, at level 1 - delta (Clopper-Pearson).
            It is valid only for a threshold that was fixed before looking at these questions.
    """

    threshold: float
    answered: int
    wrong: int
    asked: int
    most_wrong: float

    @property
    def coverage(self) -> float:
        """Share of the questions that are answered."""
        return self.answered / self.asked

    @property
    def right(self) -> float | None:
        """Share of correct answers; None if there are no answers."""
        return 1 - self.wrong / self.answered if self.answered else None


@dataclass(frozen=True)
class Choice:
    """The chosen threshold.

    Attributes:
        point: the lowest threshold that meets the guarantee; if none does, the one tested first.
        kept: whether the guarantee is met. If not, the program must abstain from every question.
        tested: the thresholds that were tested, in order.
    """

    point: Point
    kept: bool
    tested: tuple[Point, ...]

    @property
    def abstain_below(self) -> float:
        """The threshold for the program: it abstains below this confidence."""
        return self.point.threshold if self.kept else ABSTAIN_ALWAYS


def check_guarantee(name: str, alpha: float, delta: float) -> Guarantee:
    """Check the name of a guarantee and its parameters.

    Raises:
        UserError: unknown name, or alpha or delta is not between 0 and 1.
    """
    for share, value in (("alpha", alpha), ("delta", delta)):
        if not 0 < value < 1:
            raise UserError(f"{share} must lie between 0 and 1, not at {value:g}")
    if name not in get_args(Guarantee):
        raise UserError(f"no guarantee {name!r}; there are: {', '.join(get_args(Guarantee))}")
    return cast(Guarantee, name)


def choose_threshold(proposing: Sample, deciding: Sample, guarantee: Guarantee, alpha: float, delta: float) -> Choice:
    """The lowest threshold that meets a guarantee.

    Args:
        deciding: the half that tests them.
        alpha: maximum share of wrong answers.
        delta: maximum probability that `answered` fails; with `asked`, used only for `Point.most_wrong`.
    """
    points = [point_at(deciding, threshold, delta) for threshold in proposing.thresholds]
    if guarantee == "asked":
        kept = [point for point in points if (point.wrong + 1) / (point.asked + 1) <= alpha]
        return Choice(kept[-1] if kept else points[0], bool(kept), tuple(points))
    start = _start(proposing, deciding.asked, alpha, delta)
    passed = []
    for point in points[start:]:
        if tail(point.answered, point.wrong, alpha) > delta:
            break
        passed.append(point)
    tested = points[start : start + len(passed) + 1]
    return Choice(passed[-1] if passed else points[start], bool(passed), tuple(tested))


def _start(proposing: Sample, asked: int, alpha: float, delta: float) -> int:
    """Index of the threshold whose test on `asked` questions is most likely to pass; ties: most answers."""
    counts = [proposing.above(threshold) for threshold in proposing.thresholds]
    return max(range(len(counts)), key=lambda at: (_power(*counts[at], asked / proposing.asked, alpha, delta), at))


def _power(answered: int, wrong: int, scale: float, alpha: float, delta: float) -> float:
    """Power of the test with `scale` times as many answers at the same error rate (estimated by Laplace's rule)."""
    with extra("stats", "Fitting"):
        from scipy.special import bdtr

    size = round(answered * scale)
    allowed = int((bdtr(np.arange(size + 1), size, alpha) <= delta).sum()) - 1
    return float(bdtr(allowed, size, (wrong + 1) / (answered + 2))) if allowed >= 0 else 0.0


def point_at(sample: Sample, threshold: float, delta: float) -> Point:
    """Counts and bound of one threshold on a sample."""
    answered, wrong = sample.above(threshold)
    return Point(threshold, answered, wrong, sample.asked, most_wrong(answered, wrong, delta))


def tail(answered: int, wrong: int, alpha: float) -> float:
    """p-value of the hypothesis "the error rate is alpha or more": P(X <= wrong) for X ~ Binomial(answered, alpha)."""
    with extra("stats", "Fitting"):
        from scipy.special import bdtr

    return float(bdtr(wrong, answered, alpha)) if answered else 1.0


def most_wrong(answered: int, wrong: int, delta: float) -> float:
    """Upper end of the one-sided Clopper-Pearson interval for the error rate, at level 1 - delta."""
    with extra("stats", "Fitting"):
        from scipy.special import betaincinv

    return 1.0 if wrong == answered else float(betaincinv(wrong + 1, answered - wrong, 1 - delta))


def fewest_needed(guarantee: Guarantee, alpha: float, delta: float) -> int:
    """Minimum number of calibration questions for a guarantee, reached if every answer is correct."""
    if guarantee == "asked":
        return math.ceil(1 / alpha - 1 - 1e-9)
    return math.ceil(math.log(delta) / math.log(1 - alpha) - 1e-9)


def sample_of(confidences: Sequence[float | None], wrong: Sequence[bool], asked: int) -> Sample:
    """A sample of answers; those without a confidence are left out."""
    known = [(sure, bad) for sure, bad in zip(confidences, wrong, strict=True) if sure is not None]
    sure, bad = zip(*known, strict=True) if known else ((), ())
    return Sample(np.array(sure, np.float64), np.array(bad, bool), asked)
