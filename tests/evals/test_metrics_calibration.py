"""Calibration and risk-coverage, against examples worked by hand and what must always hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplecheck.evals.metrics.statistics import area_under_risk_coverage, expected_calibration_error, risk_coverage

answers = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=30)


class TestCalibrationError:
    def test_by_hand(self) -> None:
        # Two bins: (0.2, 0.4) with one right: |0.3 - 0.5|; (0.9, 0.9) with both right: |0.9 - 1|; each half.
        sure, right = [0.2, 0.4, 0.9, 0.9], [True, False, True, True]
        assert expected_calibration_error(sure, right, bins=2) == pytest.approx(0.15)

    def test_bins_are_open_below_and_closed_above(self) -> None:
        # 0.5 lies in the lower of two bins, with 0.1 and not with 0.9.
        assert expected_calibration_error([0.1, 0.5, 0.9], [False, True, True], bins=2) == pytest.approx(
            (0.4 + 0.1) / 3
        )

    def test_bins_of_equal_mass(self) -> None:
        # Halves (0.1, 0.2) and (0.3, 0.4), though all lie in one bin of equal width.
        sure, right = [0.4, 0.1, 0.3, 0.2], [True, False, True, False]
        assert expected_calibration_error(sure, right, bins=2, by="mass") == pytest.approx((0.3 + 1.3) / 4)
        assert expected_calibration_error(sure, right, bins=2) == pytest.approx(1.0 / 4)

    def test_perfect_confidence_has_no_error(self) -> None:
        assert expected_calibration_error([1, 1, 0], [True, True, False]) == 0
        assert expected_calibration_error([0.5, 0.5], [True, False], by="mass") == 0

    @given(answers, st.sampled_from(["width", "mass"]), st.integers(1, 20), st.randoms())
    def test_it_is_bounded_and_without_order(
        self, found: list[tuple[float, bool]], by: str, bins: int, random: object
    ) -> None:
        error = expected_calibration_error(*zip(*found, strict=True), bins=bins, by=by)  # type: ignore[arg-type]
        overall = abs(np.mean([sure - right for sure, right in found]))
        assert overall - 1e-9 <= error <= 1 + 1e-9
        random.shuffle(found)  # type: ignore[attr-defined]
        assert error == pytest.approx(expected_calibration_error(*zip(*found, strict=True), bins=bins, by=by))  # type: ignore[arg-type]

    @pytest.mark.parametrize(("sure", "right"), [([], []), ([0.5], []), ([1.1], [True]), ([float("nan")], [True])])
    def test_nonsense_is_refused(self, sure: list[float], right: list[bool]) -> None:
        with pytest.raises(ValueError, match="confidence"):
            expected_calibration_error(sure, right)
        with pytest.raises(ValueError, match="bins"):
            expected_calibration_error([0.5], [True], bins=0)


class TestRiskCoverage:
    def test_by_hand(self) -> None:
        curve = risk_coverage([0.3, 0.9, 0.6], [False, True, False])
        assert curve.coverage == pytest.approx([1 / 3, 2 / 3, 1])
        assert curve.risk == pytest.approx([0, 1 / 2, 2 / 3])
        assert area_under_risk_coverage([0.3, 0.9, 0.6], [False, True, False]) == pytest.approx(7 / 18)

    def test_equal_confidences_are_as_good_as_any_order_of_them(self) -> None:
        # In one order 0, 1/2, in the other 1, 1/2: the mean is 1/2 throughout.
        assert risk_coverage([0.5, 0.5], [True, False]).risk == pytest.approx([0.5, 0.5])

    @given(answers, st.randoms())
    def test_bounds_and_order(self, found: list[tuple[float, bool]], random: object) -> None:
        sure, right = zip(*found, strict=True)
        area, errors = area_under_risk_coverage(sure, right), 1 - np.mean(right)
        assert risk_coverage(sure, right).risk[-1] == pytest.approx(errors)
        best = area_under_risk_coverage([float(one) for one in right], right)
        worst = area_under_risk_coverage([float(not one) for one in right], right)
        assert best - 1e-9 <= area <= worst + 1e-9
        random.shuffle(found)  # type: ignore[attr-defined]
        assert area == pytest.approx(area_under_risk_coverage(*zip(*found, strict=True)))
