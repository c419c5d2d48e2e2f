"""Intervals and tests, against SciPy and against distributions that can be written down."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from triplecheck.evals.metrics.statistics import bootstrap_interval, mcnemar, paired_bootstrap, randomisation

scores = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=12)
pairs = st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=12)


def systems(n: int, *, binary: bool, seed: int = 7) -> tuple[list[float], list[float]]:
    random = np.random.default_rng(seed)
    a, b = random.random(n), random.random(n) ** 0.8
    return ((a > 0.5).astype(float).tolist(), (b > 0.5).astype(float).tolist()) if binary else (a.tolist(), b.tolist())


@pytest.mark.parametrize("binary", [True, False])
def test_the_interval_is_that_of_scipy(binary: bool) -> None:
    values, _ = systems(300, binary=binary)
    theirs = stats.bootstrap(
        (np.array(values),), np.mean, n_resamples=10_000, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    assert bootstrap_interval(values) == pytest.approx((theirs.low, theirs.high), abs=0.003)


@pytest.mark.parametrize("binary", [True, False])
def test_the_paired_bootstrap_is_that_of_scipy(binary: bool) -> None:
    a, b = systems(300, binary=binary)
    differences = np.array(b) - np.array(a)
    theirs = stats.bootstrap(
        (np.array(a), np.array(b)),
        lambda x, y, axis: np.mean(y - x, axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=10_000,
        method="percentile",
        rng=np.random.default_rng(1),
    )
    found = paired_bootstrap(a, b)
    assert found.difference == pytest.approx(differences.mean())
    assert (found.low, found.high) == pytest.approx(theirs.confidence_interval, abs=0.004)
    moved = theirs.bootstrap_distribution - differences.mean()
    assert found.p_value == pytest.approx(np.mean(np.abs(moved) >= abs(differences.mean())), abs=0.02)


@pytest.mark.parametrize("binary", [True, False])
def test_the_randomisation_test_is_that_of_scipy(binary: bool) -> None:
    a, b = systems(120, binary=binary)
    theirs = stats.permutation_test(
        (np.array(b), np.array(a)),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=10_000,
        rng=np.random.default_rng(1),
    )
    assert randomisation(a, b) == pytest.approx(theirs.pvalue, abs=0.02)


@given(pairs)
def test_the_randomisation_test_is_right_where_all_ways_round_can_be_tried(found: list[tuple[float, float]]) -> None:
    differences = [y - x for x, y in found if x != y]
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    exact = np.mean([one >= abs(sum(differences)) - 1e-9 for one in sums])
    a, b = zip(*found, strict=True)
    assert randomisation(a, b) == pytest.approx(exact, abs=0.03)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_mcnemar_is_the_binomial_test_on_what_differs(found: list[tuple[bool, bool]]) -> None:
    a, b = [float(x) for x, _ in found], [float(y) for _, y in found]
    wins, losses = sum(y > x for x, y in found), sum(x > y for x, y in found)
    exact = stats.binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    assert mcnemar(a, b) == pytest.approx(exact)
    assert mcnemar(a, b) == mcnemar(b, a)


def test_mcnemar_by_hand() -> None:
    # 1 of 6 differing questions falls to a: 2 * (1 + 6) / 64.
    assert mcnemar([1, 0, 0, 0, 0, 0, 1], [0, 1, 1, 1, 1, 1, 1]) == pytest.approx(14 / 64)
    with pytest.raises(ValueError, match="0 and 1"):
        mcnemar([0.5], [1])


@given(scores)
def test_an_interval_contains_the_mean_and_is_within_the_range_of_the_values(values: list[float]) -> None:
    low, high = bootstrap_interval(values, samples=500)
    assert min(values) <= low + 1e-9
    assert low - 1e-9 <= np.mean(values) <= high + 1e-9
    assert high <= max(values) + 1e-9
    assert (low, high) == bootstrap_interval(values[::-1], samples=500), "order and nothing else is changed"


@given(pairs)
def test_a_system_does_not_differ_from_itself_and_the_order_of_two_only_turns_the_sign(
    found: list[tuple[float, float]],
) -> None:
    a, b = zip(*found, strict=True)
    assert paired_bootstrap(a, a, samples=200).p_value == randomisation(a, a) == 1
    there, back = paired_bootstrap(a, b, samples=200), paired_bootstrap(b, a, samples=200)
    assert there.difference == pytest.approx(-back.difference)
    assert 0 < there.p_value <= 1


def test_a_seed_decides_the_draw() -> None:
    values, _ = systems(200, binary=False)
    assert bootstrap_interval(values, seed=3) == bootstrap_interval(values, seed=3)
    assert bootstrap_interval(values, seed=3) != bootstrap_interval(values, seed=4)


def test_scores_that_do_not_pair_are_refused() -> None:
    with pytest.raises(ValueError, match="paired"):
        paired_bootstrap([1.0], [1.0, 0.0])
    with pytest.raises(ValueError, match="at least one score"):
        bootstrap_interval([])
