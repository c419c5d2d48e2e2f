"""Risk control: the guarantees of the chosen thresholds hold at the stated rates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triplecheck.kg import UserError
from triplecheck.optimize.fit.risk_control import (
    ABSTAIN_ALWAYS,
    Choice,
    Guarantee,
    Sample,
    check_guarantee,
    choose_threshold,
    fewest_needed,
    most_wrong,
    sample_of,
    tail,
)

ALPHA, DELTA = 0.1, 0.1


def sample(sure: list[float], wrong: list[bool], asked: int | None = None) -> Sample:
    return sample_of(sure, wrong, len(sure) if asked is None else asked)


def draw(rng: np.random.Generator, size: int, levels: int | None) -> Sample:
    """Answers of confidence c are wrong with probability (1 - c) ** 4; nine of ten questions are answered."""
    sure = rng.random(rng.binomial(size, 0.9))
    if levels is not None:
        sure = np.ceil(sure * levels) / levels
    return Sample(sure, rng.random(len(sure)) < (1 - sure) ** 4, size)


def true_risk(threshold: float, levels: int | None, guarantee: Guarantee) -> float:
    grid = (np.arange(2_000) + 0.5) / 2_000 if levels is None else np.arange(1, levels + 1) / levels
    given = grid >= threshold
    if not given.any():
        return 0.0
    wrong = (1 - grid[given]) ** 4
    return float(wrong.mean() if guarantee == "answered" else 0.9 * wrong.sum() / len(grid))


@pytest.mark.parametrize("levels", [None, 4])
@pytest.mark.parametrize("size", [60, 150])
def test_the_error_rate_of_answers_is_below_alpha_with_the_stated_probability(size: int, levels: int | None) -> None:
    rng, runs = np.random.default_rng(0), 200
    broken = kept = 0
    for _ in range(runs):
        choice = choose_threshold(draw(rng, size, levels), draw(rng, size, levels), "answered", ALPHA, DELTA)
        kept += choice.kept
        broken += choice.kept and true_risk(choice.abstain_below, levels, "answered") > ALPHA
    assert broken / runs <= DELTA + 3 * math.sqrt(DELTA * (1 - DELTA) / runs)
    assert kept / runs > 0.3, "the guarantee can be met"


@pytest.mark.parametrize("levels", [None, 4])
def test_the_share_of_wrongly_answered_questions_is_below_alpha_on_average(levels: int | None) -> None:
    rng, alpha = np.random.default_rng(1), 0.05
    risks = []
    for _ in range(200):
        choice = choose_threshold(draw(rng, 40, levels), draw(rng, 40, levels), "asked", alpha, DELTA)
        risks.append(true_risk(choice.abstain_below, levels, "asked"))
    assert np.mean(risks) <= alpha + 3 * np.std(risks) / math.sqrt(len(risks))
    assert np.mean(risks) > alpha / 3, "it answers as much as it may"


answers = st.lists(st.tuples(st.integers(0, 6).map(lambda n: n / 6), st.booleans()), min_size=1, max_size=60)


@settings(max_examples=60)
@given(answers, answers, st.floats(0.02, 0.6), st.sampled_from(["answered", "asked"]))
def test_a_larger_alpha_never_answers_fewer_questions(
    first: list[tuple[float, bool]], second: list[tuple[float, bool]], alpha: float, guarantee: Guarantee
) -> None:
    proposing, deciding = (sample([c for c, _ in some], [w for _, w in some]) for some in (first, second))

    def chosen(alpha: float) -> Choice:
        return choose_threshold(proposing, deciding, guarantee, alpha, DELTA)

    choice = chosen(alpha)
    assert choice.abstain_below in (*proposing.thresholds, ABSTAIN_ALWAYS)
    assert (choice.abstain_below == ABSTAIN_ALWAYS) == (not choice.kept)
    if choice.kept and guarantee == "answered":
        assert all(tail(point.answered, point.wrong, alpha) <= DELTA for point in choice.tested[:-1])
        assert choice.point.most_wrong <= alpha + 1e-9
    if guarantee == "asked":
        assert choice.abstain_below >= chosen(alpha * 1.5).abstain_below


class TestThresholds:
    def test_few_confidences_are_all_separated(self) -> None:
        assert sample([0.2, 0.4, 0.4, 1.0], [False] * 4).thresholds == pytest.approx((0.7, 0.3, 0))

    def test_many_are_thinned_to_even_steps_of_coverage(self) -> None:
        some = sample([n / 1000 for n in range(1000)], [False] * 1000)
        covered = [some.above(threshold)[0] for threshold in some.thresholds]
        assert covered == pytest.approx([50 * n for n in range(1, 21)], abs=1)
        assert list(some.thresholds) == sorted(some.thresholds, reverse=True)

    def test_equal_confidences_are_on_one_side(self) -> None:
        some = sample([0.5] * 30 + [0.9] * 10, [False] * 40)
        assert [some.above(threshold)[0] for threshold in some.thresholds] == [10, 40]

    def test_answers_without_a_confidence_pass_no_threshold(self) -> None:
        some = sample_of([None, 0.4], [True, False], 5)
        assert some.above(0.0) == (1, 0)


def test_if_all_answers_are_right_all_are_given() -> None:
    right = sample([0.1, 0.5, 0.9] * 20, [False] * 60)
    for guarantee in ("answered", "asked"):
        choice = choose_threshold(right, right, guarantee, 0.1, 0.05)
        assert (choice.kept, choice.abstain_below, choice.point.answered) == (True, 0.0, 60)


def test_if_all_answers_are_wrong_none_is_given() -> None:
    wrong = sample([0.1, 0.5, 0.9] * 20, [True] * 60)
    for guarantee in ("answered", "asked"):
        choice = choose_threshold(wrong, wrong, guarantee, 0.1, 0.05)
        assert (choice.kept, choice.abstain_below) == (False, ABSTAIN_ALWAYS)


def test_the_fewest_questions_are_enough_and_one_less_is_not() -> None:
    for guarantee in ("answered", "asked"):
        least = fewest_needed(guarantee, 0.1, 0.05)
        enough, too_few = (sample([0.5] * size, [False] * size) for size in (least, least - 1))
        assert choose_threshold(enough, enough, guarantee, 0.1, 0.05).kept
        assert not choose_threshold(enough, too_few, guarantee, 0.1, 0.05).kept
    assert fewest_needed("answered", 0.1, 0.05) == 29
    assert fewest_needed("asked", 0.1, 0.05) == 9


def test_bounds_are_those_of_the_binomial_distribution() -> None:
    from scipy.stats import binom

    for answered, wrong in ((29, 0), (50, 3), (200, 11)):
        assert tail(answered, wrong, 0.1) == pytest.approx(binom.cdf(wrong, answered, 0.1))
        assert binom.cdf(wrong, answered, most_wrong(answered, wrong, 0.05)) == pytest.approx(0.05)
    assert most_wrong(7, 7, 0.05) == most_wrong(0, 0, 0.05) == tail(0, 0, 0.1) == 1


def test_unknown_guarantees_and_invalid_levels_are_refused() -> None:
    with pytest.raises(UserError, match="answered, asked"):
        check_guarantee("everything", 0.1, 0.05)
    with pytest.raises(UserError, match="alpha must lie between 0 and 1"):
        check_guarantee("asked", 1.0, 0.05)
