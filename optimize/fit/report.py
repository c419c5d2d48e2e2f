"""What a fit says for itself: in words, and as `fit.json`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from triplecheck.evals.configuration import plain
from triplecheck.evals.metrics import area_under_risk_coverage, expected_calibration_error
from triplecheck.kg._atomic import write_text
from triplecheck.optimize.fit.promise import Point, fewest_needed
from triplecheck.optimize.fit.space import label
from triplecheck.programs import Know3RAG

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triplecheck.optimize.fit.fitting import Fitted
    from triplecheck.optimize.fit.observed import Observed

FORMAT, VERSION = "triplecheck-fit", 1
_BINS = 8


@dataclass(frozen=True)
class Bin:
    """Answers of about the same confidence.

    Attributes:
        confidence: their mean.
        right: share of right ones.
        answers: how many.
    """

    confidence: float
    right: float
    answers: int


def reliability(observed: Sequence[Observed], bins: int = _BINS) -> list[Bin]:
    """Confidence and accuracy, in bins of about the same number of answers; equal confidences share one."""
    answers = [(one.confidence, one.right) for one in observed if one.answered and one.confidence is not None]
    if not answers:
        return []
    sure, right = (np.array(column, np.float64) for column in zip(*answers, strict=True))
    bin_of = np.searchsorted(np.sort(sure), sure) * bins // len(sure)
    groups = [bin_of == number for number in np.unique(bin_of)]
    return [Bin(float(sure[group].mean()), float(right[group].mean()), int(group.sum())) for group in groups]


def sentence(fitted: Fitted) -> str:
    """What is promised, or that it cannot be, and what can be said instead."""
    plan, choice = fitted.plan, fitted.choice
    point = choice.point
    share, alpha, sure = _percent(1 - plan.alpha), _percent(plan.alpha), _percent(1 - plan.delta)
    drawn = f"the draw of the {point.asked} calibration questions, for questions drawn like them"
    if plan.promise == "answered":
        promise = f"Of the questions that it answers, it answers at least {share} rightly"
        how = f"with a probability of at least {sure} over {drawn} (Learn then Test, arXiv 2110.01052)"
        best = (
            f"answering from a confidence of {point.threshold:.3g} on, it is right in at least "
            f"{_percent(1 - point.most_wrong)} of its answers"
        )
    else:
        promise = f"Of all questions that it is asked, it answers at most {alpha} wrongly"
        how = f"on average over {drawn} (Conformal Risk Control, arXiv 2208.02814)"
        best = (
            f"answering from a confidence of {point.threshold:.3g} on, it answers at most "
            f"{_percent((point.wrong + 1) / (point.asked + 1))} of all questions wrongly"
        )
    if choice.kept:
        return f"{promise}, {how}. It answers {_counts(point)}."
    return (
        f'No threshold keeps this promise: "{promise}", {how}. So the bundle abstains from every question. '
        f"The best that can be promised in this way: {best} ({_counts(point)}). Promise less with a larger alpha, or "
        "give more questions."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"


def _counts(point: Point) -> str:
    rightly = "" if point.right is None else f", {point.answered - point.wrong} of them ({point.right:.0%}) rightly"
    return f"{point.answered} of these {point.asked} questions ({point.coverage:.0%}){rightly}"


def notes(fitted: Fitted) -> list[str]:
    """What limits a fit."""
    plan, observed = fitted.plan, (*fitted.searched.chosen.observed, *fitted.calibration)
    answers = [one for one in observed if one.answered]
    known = {one.confidence for one in answers} - {None}
    found = []
    if len(known) == 1:
        found.append("all answers have the same confidence: a threshold can only let all of them pass, or none")
    unknown = sum(one.confidence is None for one in answers)
    if unknown:
        found.append(
            f"{unknown} of {len(answers)} answers cite nothing and have no confidence: no threshold gives them"
        )
    failed = sum(one.failed for one in observed)
    if failed:
        found.append(f"{failed} of {len(observed)} questions ended in an error and count as unanswered")
    needed = fewest_needed(plan.promise, plan.alpha, plan.delta)
    if len(fitted.calibration) < needed:
        found.append(f"{len(fitted.calibration)} calibration questions cannot promise this; it takes {needed} or more")
    program = plan.make({})
    if isinstance(program, Know3RAG) and not program.supervisor.scores:
        found.append("the knowledge base has no embeddings, so that theta_0 decides nothing")
    if fitted.searched.left_out:
        found.append(f"the budget left out {len(fitted.searched.left_out)} settings: see not_evaluated")
    return found


def plain_report(fitted: Fitted) -> dict[str, Any]:
    """Plain data: what `fit.json` says."""
    plan, choice, searched = fitted.plan, fitted.choice, fitted.searched
    return {
        "format": FORMAT,
        "version": VERSION,
        "program": plan.kind.name,
        "models": plan.roles.to_json(),
        "promise": {
            "of": plan.promise,
            "alpha": plan.alpha,
            "delta": plan.delta if plan.promise == "answered" else None,
            "kept": choice.kept,
            "sentence": sentence(fitted),
        },
        "options": plain(dict(searched.chosen.setting)),
        "abstain_below": choice.abstain_below,
        "calibration": _point(choice.point) | _quality(fitted.calibration),
        "notes": notes(fitted),
        "objective": plan.objective,
        "candidates": [
            {
                "setting": plain(dict(one.setting)),
                "questions": one.scored.scored,
                "right": round(one.scored.score, 6),
                "calls": round(one.scored.calls, 3),
                "replayed": one.replayed,
                "chosen": one is searched.chosen,
            }
            for one in searched.tried
        ],
        "not_evaluated": dict(searched.left_out),
        "tested": [_point(point) for point in choice.tested],
        "curve": [_point(point) for point in fitted.curve],
        "reliability": [plain(one) for one in reliability(fitted.calibration)],
        "usage": fitted.usage.to_json(),
        "bundle": str(fitted.bundle),
        "picture": str(fitted.picture),
    }


def write_report(report: dict[str, Any], path: Path) -> None:
    """Write `fit.json`, whole or not at all."""
    write_text(path, json.dumps(report, indent=1, ensure_ascii=False) + "\n")


def chosen_options(fitted: Fitted) -> str:
    """The chosen options in one line."""
    return label(fitted.searched.chosen.setting)


def _point(point: Point) -> dict[str, Any]:
    right = None if point.right is None else round(point.right, 6)
    return {
        "threshold": point.threshold,
        "asked": point.asked,
        "answered": point.answered,
        "wrong": point.wrong,
        "coverage": round(point.coverage, 6),
        "right": right,
        "most_wrong": round(point.most_wrong, 6),
    }


def _quality(observed: Sequence[Observed]) -> dict[str, float | None]:
    """How well confidences tell right answers from wrong ones (`evals.metrics.calibration`)."""
    answers = [(one.confidence, one.right) for one in observed if one.answered and one.confidence is not None]
    if not answers:
        return {"ece": None, "aurc": None}
    sure, right = zip(*answers, strict=True)
    return {"ece": expected_calibration_error(sure, right), "aurc": area_under_risk_coverage(sure, right)}
