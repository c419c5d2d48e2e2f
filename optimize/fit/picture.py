"""The calibration curve as a picture: what confidences are worth, and what a threshold on them leaves."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triplecheck.kg._atomic import write_bytes
from triplecheck.optimize.fit.report import reliability

if TYPE_CHECKING:
    from triplecheck.optimize.fit.fitting import Fitted

_INCHES = (10.0, 4.4)
_DOTS_PER_INCH = 120


def draw(fitted: Fitted, path: Path) -> None:
    """Draw a fit as a PNG: reliability at the left, risk and coverage with the chosen threshold at the right."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=_INCHES, layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    _reliability(fitted, left)
    _risk(fitted, right)
    kept = "kept" if fitted.choice.kept else "not kept"
    share = "of the answers" if fitted.plan.promise == "answered" else "of all questions"
    figure.suptitle(f"{fitted.plan.kind.name}: at most {fitted.plan.alpha:.4g} {share} wrong: {kept}")
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=_DOTS_PER_INCH, format="png", metadata={"Software": None})
    write_bytes(path, drawn.getvalue())


def _reliability(fitted: Fitted, axes: Any) -> None:
    bins = reliability(fitted.calibration)
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=1, linestyle="--")
    axes.plot([one.confidence for one in bins], [one.right for one in bins], marker="o")
    for one in bins:
        axes.annotate(str(one.answers), (one.confidence, one.right), textcoords="offset points", xytext=(4, 5), size=8)
    if fitted.choice.kept:
        axes.axvline(fitted.choice.point.threshold, color="tab:red", linewidth=1)
    axes.set(xlabel="confidence", ylabel="right answers", xlim=(0, 1), ylim=(0, 1.05), title="calibration half")
    axes.grid(alpha=0.3)


def _risk(fitted: Fitted, axes: Any) -> None:
    """Risk is what the promise is about: wrong answers among the given ones, or among all questions."""
    of_answers = fitted.plan.promise == "answered"
    points = [point for point in fitted.curve if point.answered or not of_answers]
    coverage = [point.coverage for point in points]
    risk = [point.wrong / (point.answered if of_answers else point.asked) for point in points]
    axes.plot(coverage, risk, marker=".", label="wrong")
    if of_answers:
        bound = [point.most_wrong for point in points]
        axes.plot(coverage, bound, linestyle=":", label=f"upper bound, {1 - fitted.plan.delta:.4g} for each")
    axes.axhline(
        fitted.plan.alpha, color="tab:red", linewidth=1, linestyle="--", label=f"alpha {fitted.plan.alpha:.4g}"
    )
    if fitted.choice.kept:
        chosen = fitted.choice.point
        height = chosen.wrong / (chosen.answered if of_answers else chosen.asked)
        axes.plot(chosen.coverage, height, "o", color="tab:red", label=f"chosen: {chosen.threshold:.3g}")
    axes.set(
        xlabel="share of questions answered",
        ylabel="wrong answers" if of_answers else "wrong answers of all questions",
        xlim=(0, 1.02),
        ylim=(0, 1),
        title="by threshold",
    )
    axes.legend(frameon=False, fontsize=8)
    axes.grid(alpha=0.3)
