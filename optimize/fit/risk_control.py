"""Thresholds on confidence that keep a promise: one half of the questions proposes them, the other half decides.

Two promises, for questions drawn like these, of the same graph by the same models:

- `answered`: of the questions that are answered, at most a share alpha is answered wrongly. It holds with a
  probability of at least 1 - delta over the draw of the calibration questions. Learn then Test (Angelopoulos et al.
  2021, arXiv 2110.01052) with fixed sequence testing: the first half names the threshold that looks likeliest to
  pass; from there on the second half tests one lower threshold after the other, each at level delta by the binomial
  tail, until one fails. Selective prediction with guaranteed risk is from Geifman and El-Yaniv 2017 (arXiv
  1705.08500).
- `asked`: of all questions that are asked, at most a share alpha is answered wrongly, on average over draws of the
  calibration questions. Conformal Risk Control (Angelopoulos et al. 2022, arXiv 2208.02814) of the loss "answered
  and wrong", which falls as the threshold rises: the lowest threshold with (wrong + 1) / (n + 1) <= alpha.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from triplecheck.kg import UserError

Promise = Literal["answered", "asked"]

ABSTAIN_ALWAYS = 2.0
"""A threshold above every confidence."""
_STEPS = 20  # thresholds proposed: each that is tested on the way may end the sequence by bad luck


@dataclass(frozen=True)
class Sample:
    """What a program did with some questions.

    Attributes:
        confidences: of the answers, shape (answered,); those it gave without one are left out, since no
            threshold lets them pass.
        wrong: whether each is wrong, shape (answered,).
        asked: questions in all, abstentions too.
    """

    confidences: npt.NDArray[np.float64]
    wrong: npt.NDArray[np.bool_]
    asked: int

    def above(self, threshold: float) -> tuple[int, int]:
        """How many are answered where confidences below the threshold are not enough, and how many of them wrongly."""
        given = self.confidences >= threshold
        return int(given.sum()), int(self.wrong[given].sum())

    @cached_property
    def thresholds(self) -> tuple[float, ...]:
        """Thresholds that tell these answers apart, descending, at even steps of coverage; the last one is 0.

        Each lies midway between two confidences: computed anew on another machine, none changes sides.
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
        threshold: answers of at least this confidence are given.
        answered: how many are.
        wrong: how many of them wrongly.
        asked: questions in all.
        most_wrong: with probability 1 - delta, no larger share of such answers is wrong (Clopper-Pearson); it
            holds for a threshold that was named before looking.
    """

    threshold: float
    answered: int
    wrong: int
    asked: int
    most_wrong: float

    @property
    def coverage(self) -> float:
        """Share of the questions that is answered."""
        return self.answered / self.asked

    @property
    def right(self) -> float | None:
        """Share of the answers that is right; None where there are none."""
        return 1 - self.wrong / self.answered if self.answered else None


@dataclass(frozen=True)
class Choice:
    """What becomes of a promise.

    Attributes:
        point: the lowest threshold that keeps it; where none does, the one that looked likeliest beforehand.
        kept: whether it is kept. Else nothing but abstaining from all questions keeps it.
        tested: thresholds that were tried, in order.
    """

    point: Point
    kept: bool
    tested: tuple[Point, ...]

    @property
    def abstain_below(self) -> float:
        """The threshold that keeps the promise."""
        return self.point.threshold if self.kept else ABSTAIN_ALWAYS


def check_promise(name: str, alpha: float, delta: float) -> Promise:
    """The promise of this name.

    Raises:
        UserError: there is none, or alpha or delta is no share between 0 and 1.
    """
    for share, value in (("alpha", alpha), ("delta", delta)):
        if not 0 < value < 1:
            raise UserError(f"{share} must lie between 0 and 1, not at {value:g}")
    for promise in get_args(Promise):
        if name == promise:
            return promise  # type: ignore[no-any-return]
    raise UserError(f"no promise {name!r}; there are: {', '.join(get_args(Promise))}")


def choose_threshold(proposing: Sample, deciding: Sample, promise: Promise, alpha: float, delta: float) -> Choice:
    """The lowest threshold that keeps a promise.

    Args:
        proposing: of the half that thresholds are taken from.
        deciding: of the other half.
        promise: see above.
        alpha: share of wrong ones that is allowed.
        delta: probability with which `answered` may fail; with `asked`, only for `Point.most_wrong`.
    """
    points = [point_at(deciding, threshold, delta) for threshold in proposing.thresholds]
    if promise == "asked":
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
    """The threshold whose test on so many questions is the likeliest to pass; of equal ones that with most answers."""
    counts = [proposing.above(threshold) for threshold in proposing.thresholds]
    return max(range(len(counts)), key=lambda at: (_power(*counts[at], asked / proposing.asked, alpha, delta), at))


def _power(answered: int, wrong: int, scale: float, alpha: float, delta: float) -> float:
    """Chance to pass of a test with `scale` times as many answers, whose errors are as frequent (Laplace's rule)."""
    from scipy.special import bdtr

    size = round(answered * scale)
    allowed = int((bdtr(np.arange(size + 1), size, alpha) <= delta).sum()) - 1
    return float(bdtr(allowed, size, (wrong + 1) / (answered + 2))) if allowed >= 0 else 0.0


def point_at(sample: Sample, threshold: float, delta: float) -> Point:
    """A threshold on a sample."""
    answered, wrong = sample.above(threshold)
    return Point(threshold, answered, wrong, sample.asked, most_wrong(answered, wrong, delta))


def tail(answered: int, wrong: int, alpha: float) -> float:
    """p-value of "a share of alpha or more is wrong": the chance of as few wrong ones, or fewer, at alpha."""
    from scipy.special import bdtr

    return float(bdtr(wrong, answered, alpha)) if answered else 1.0


def most_wrong(answered: int, wrong: int, delta: float) -> float:
    """Upper end of the one-sided Clopper-Pearson interval for the share of wrong ones, at level 1 - delta."""
    from scipy.special import betaincinv

    return 1.0 if wrong == answered else float(betaincinv(wrong + 1, answered - wrong, 1 - delta))


def fewest_needed(promise: Promise, alpha: float, delta: float) -> int:
    """Calibration questions without which no promise can be made: all right, and `answered`: all answered."""
    if promise == "asked":
        return math.ceil(1 / alpha - 1 - 1e-9)
    return math.ceil(math.log(delta) / math.log(1 - alpha) - 1e-9)


def sample_of(confidences: Sequence[float | None], wrong: Sequence[bool], asked: int) -> Sample:
    """A sample of answers, those without a confidence left out."""
    known = [(sure, bad) for sure, bad in zip(confidences, wrong, strict=True) if sure is not None]
    sure, bad = zip(*known, strict=True) if known else ((), ())
    return Sample(np.array(sure, np.float64), np.array(bad, bool), asked)
