"""Fitting a program on questions with known answers: options on one half, the threshold to abstain on the other.

plan = FitPlan(Know3RAG, Sources.of(kb), read_questions("dev.jsonl"), Roles("openai/gpt-4o-mini"))
fitted = fit_program(plan, "runs/fit", knowledge_base=kb)
print(fitted.sentence, fitted.bundle)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from triplecheck.evals.configuration import plain
from triplecheck.evals.experiments.pictures import picture
from triplecheck.evals.metrics.statistics import area_under_risk_coverage, expected_calibration_error
from triplecheck.evals.progress import Progress
from triplecheck.evals.questions import Question
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.kg._atomic import write_text
from triplecheck.lms import Budget, Roles, Usage, session
from triplecheck.optimize.bundle import Bundle, save_bundle
from triplecheck.optimize.fit.risk_control import (
    Choice,
    Guarantee,
    Point,
    check_guarantee,
    choose_threshold,
    fewest_needed,
    point_at,
)
from triplecheck.optimize.fit.search import Asking, Observed, Search, Searched, Space, nested, observe, sample
from triplecheck.optimize.traces.records import hashed_split
from triplecheck.programs import Know3RAG, Program, Sources
from triplecheck.programs.base import make_program

CALIBRATION = "calibration"
"""Name of the half that the threshold is chosen on."""


@dataclass(frozen=True)
class FitPlan:
    """What to fit, and on which questions.

    Attributes:
        sources: the graph and its indexes.
        questions: dev questions; only those with published answers are used.
        options: options that are not fitted, and initial values of the others.
        compiled: a bundle of the program, if the compiled program is fitted.
        space: options to fit; empty: only the threshold.
        guarantee: see `optimize.fit.risk_control`.
        alpha: maximum share of wrong answers.
        delta: maximum probability that `answered` fails.
        workers: questions to run in parallel.
        budget: for the whole run.
    """

    kind: type[Program]
    sources: Sources
    questions: Sequence[Question]
    roles: Roles = field(default_factory=Roles)
    options: Mapping[str, Any] = field(default_factory=dict)
    compiled: Bundle | None = None
    space: Space = field(default_factory=dict)
    guarantee: Guarantee = "answered"
    alpha: float = 0.1
    delta: float = 0.05
    workers: int = 1
    budget: Budget = field(default_factory=Budget)

    def arguments(self, setting: Mapping[str, Any]) -> dict[str, Any]:
        """All options of the program, with this setting of the fitted ones."""
        return nested({**(self.compiled.options if self.compiled else {}), **self.options}, setting)

    def make(self, setting: Mapping[str, Any]) -> Program:
        """The program with a setting; the compiled one if there is a bundle.

        Raises:
            UserError: unknown option, or invalid value.
        """
        if self.compiled is not None:
            return self.compiled.program(self.sources, self.arguments(setting))
        return make_program(self.kind, self.sources, self.arguments(setting))


@dataclass(frozen=True)
class Fitted:
    """The result of a fit."""

    plan: FitPlan
    searched: Searched
    choice: Choice
    calibration: tuple[Observed, ...]
    """Results of the calibration half, with the chosen options."""
    curve: tuple[Point, ...]
    """Every proposed threshold on the calibration half, in descending order."""
    usage: Usage
    bundle: Path
    picture: Path

    @property
    def sentence(self) -> str:
        """The guarantee in words; if no threshold meets it, the best guarantee that can be met."""
        plan, choice = self.plan, self.choice
        point = choice.point
        share, alpha, sure = _percent(1 - plan.alpha), _percent(plan.alpha), _percent(1 - plan.delta)
        drawn = f"the draw of the {point.asked} calibration questions, for questions drawn like them"
        best = f"answering only with a confidence of at least {point.threshold:.3g},"
        if plan.guarantee == "answered":
            guarantee = f"Of the questions that it answers, it answers at least {share} correctly"
            how = f"with a probability of at least {sure} over {drawn} (Learn then Test, arXiv 2110.01052)"
            best += f" at least {_percent(1 - point.most_wrong)} of its answers are correct"
        else:
            guarantee = f"It answers at most {alpha} of all questions incorrectly"
            how = f"on average over {drawn} (Conformal Risk Control, arXiv 2208.02814)"
            most = _percent((point.wrong + 1) / (point.asked + 1))
            best += f" it answers at most {most} of all questions incorrectly"
        if choice.kept:
            return f"{guarantee}, {how}. It answers {_counts(point)}."
        return (
            f'No threshold meets this guarantee: "{guarantee}", {how}. So the bundle abstains from every question. '
            f"The best guarantee that can be met: {best} ({_counts(point)}). Use a larger alpha, or give "
            "more questions."
        )

    @property
    def notes(self) -> list[str]:
        """Limitations of a fit."""
        plan, observed = self.plan, (*self.searched.chosen.observed, *self.calibration)
        answers = [one for one in observed if one.answered]
        known = {one.confidence for one in answers} - {None}
        found = []
        if len(known) == 1:
            found.append("all answers have the same confidence: a threshold keeps all of them or none")
        unknown = sum(one.confidence is None for one in answers)
        if unknown:
            found.append(
                f"{unknown} of {len(answers)} answers cite nothing and have no confidence: they pass no threshold"
            )
        failed = sum(one.failed for one in observed)
        if failed:
            found.append(f"{failed} of {len(observed)} questions ended in an error and count as unanswered")
        needed = fewest_needed(plan.guarantee, plan.alpha, plan.delta)
        if len(self.calibration) < needed:
            found.append(
                f"{len(self.calibration)} calibration questions are too few for this guarantee; "
                f"it takes {needed} or more"
            )
        program = plan.make({})
        if isinstance(program, Know3RAG) and not program.supervisor.scores:
            found.append("the knowledge base has no embeddings, so theta_0 has no effect")
        if self.searched.left_out:
            found.append(f"{len(self.searched.left_out)} settings were skipped for lack of budget: see not_evaluated")
        return found

    def to_json(self) -> dict[str, Any]:
        """Contents of `fit.json`."""
        plan, choice, searched = self.plan, self.choice, self.searched
        return {
            "format": FORMAT,
            "version": VERSION,
            "program": plan.kind.name,
            "models": plan.roles.to_json(),
            "guarantee": {
                "of": plan.guarantee,
                "alpha": plan.alpha,
                "delta": plan.delta if plan.guarantee == "answered" else None,
                "kept": choice.kept,
                "sentence": self.sentence,
            },
            "options": plain(dict(searched.chosen.setting)),
            "abstain_below": choice.abstain_below,
            "calibration": _point(choice.point) | _quality(self.calibration),
            "notes": self.notes,
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
            "curve": [_point(point) for point in self.curve],
            "reliability": [plain(one) for one in reliability(self.calibration)],
            "usage": self.usage.to_json(),
            "bundle": str(self.bundle),
            "picture": str(self.picture),
        }


def fit_program(
    plan: FitPlan,
    out: Path | str,
    *,
    knowledge_base: KnowledgeBase | None = None,
    progress: Callable[[str, Progress], None] | None = None,
) -> Fitted:
    """Fit a program, and write `fit.json`, `calibration.png` and a bundle.

    If it was killed or stopped by its budget, the same call resumes it; no question is asked twice.

    Args:
        knowledge_base: the knowledge base of the program's graph, if any.
        progress: called with the current part and its progress.

    Raises:
        UserError: too few questions, an unknown option, no answer with a confidence, or `out` holds something else.
        BudgetExceededError: the budget does not cover the unchanged program on one half and the chosen one on the
            other.
        UnavailableError: a model or the graph is not available.
    """
    out = Path(out)
    check_guarantee(plan.guarantee, plan.alpha, plan.delta)
    fitting, calibrating = halves(plan.questions)
    if plan.arguments({}).get("abstain_below") is not None:
        raise UserError("the program already has a fitted threshold: fit the program that it was made from")
    if out.exists() and any(out.iterdir()) and not (out / "fitting").is_dir():
        raise UserError(f"{out}: is not empty and holds no fit; choose another directory")
    with session(plan.roles, plan.budget) as ledger:
        asking = Asking(plan.make, out, ledger, knowledge_base, plan.workers, progress)
        searched = Search(asking, fitting, plan.space, len(calibrating)).run()
        chosen = searched.chosen
        calibration = observe(asking.rows(chosen.setting, calibrating, CALIBRATION))
        proposing, deciding = sample(chosen.observed), sample(calibration)
        if not len(proposing.confidences):
            raise UserError(
                f"none of {len(fitting)} questions got an answer with a confidence "
                f"({sum(one.answered for one in chosen.observed)} got an answer): there is no threshold to fit"
            )
        choice = choose_threshold(proposing, deciding, plan.guarantee, plan.alpha, plan.delta)
        curve = tuple(point_at(deciding, threshold, plan.delta) for threshold in proposing.thresholds)
        usage = ledger.usage()
    fitted = Fitted(
        plan, searched, choice, calibration, curve, usage, bundle=out / "bundle", picture=out / "calibration.png"
    )
    draw(fitted, fitted.picture)
    report = fitted.to_json()
    arguments = plan.arguments({**chosen.setting, "abstain_below": choice.abstain_below})
    program, bare = plan.make(arguments), make_program(plan.kind, plan.sources, arguments)
    about = {"fitted": {name: report[name] for name in ("guarantee", "calibration", "notes")}}
    save_bundle(program, fitted.bundle, plan.roles, bare, about)
    write_text(out / "fit.json", json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    return fitted


def halves(questions: Sequence[Question]) -> tuple[tuple[Question, ...], tuple[Question, ...]]:
    """The questions to choose options on and those to choose the threshold on, split by a hash of their groups.

    Raises:
        UserError: one half is empty.
    """
    usable = [question for question in questions if question.answers_known]
    parts = [hashed_split(f"fit\0{question.group}", 0.5) for question in usable]
    if len(set(parts)) < 2:
        raise UserError(f"{len(usable)} questions with published answers are too few to be halved; give more")
    first, second = (
        tuple(one for one, of in zip(usable, parts, strict=True) if of == part) for part in ("dev", "train")
    )
    return first, second


# The report: in words, and as `fit.json`.

FORMAT, VERSION = "triplecheck-fit", 1
_BINS = 8


@dataclass(frozen=True)
class Bin:
    """Answers of about the same confidence, and the share of them that is right."""

    confidence: float
    right: float
    answers: int


def reliability(observed: Sequence[Observed]) -> list[Bin]:
    """Confidence and accuracy in bins of about equal size; equal confidences share a bin."""
    found = sample(observed)
    sure, right = found.confidences, ~found.wrong
    bin_of = np.searchsorted(np.sort(sure), sure) * _BINS // max(1, len(sure))
    groups = [bin_of == number for number in np.unique(bin_of)]
    return [Bin(float(sure[group].mean()), float(right[group].mean()), int(group.sum())) for group in groups]


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"


def _counts(point: Point) -> str:
    correct = "" if point.right is None else f", {point.answered - point.wrong} of them ({point.right:.0%}) correctly"
    return f"{point.answered} of these {point.asked} questions ({point.coverage:.0%}){correct}"


def _point(point: Point) -> dict[str, Any]:
    right = None if point.right is None else round(point.right, 6)
    return vars(point) | {
        "coverage": round(point.coverage, 6),
        "right": right,
        "most_wrong": round(point.most_wrong, 6),
    }


def _quality(observed: Sequence[Observed]) -> dict[str, float | None]:
    """Calibration error and area under the risk-coverage curve (`evals.metrics.statistics`)."""
    found = sample(observed)
    sure, right = found.confidences.tolist(), (~found.wrong).tolist()
    if not sure:
        return {"ece": None, "aurc": None}
    return {"ece": expected_calibration_error(sure, right), "aurc": area_under_risk_coverage(sure, right)}


# The calibration curve as a picture.

_INCHES = (10.0, 4.4)


def draw(fitted: Fitted, path: Path) -> None:
    """Draw a fit as a PNG. Left: reliability diagram. Right: risk-coverage curve with the chosen threshold."""
    kept = "kept" if fitted.choice.kept else "not kept"
    share = "of the answers" if fitted.plan.guarantee == "answered" else "of all questions"
    with picture(path, _INCHES) as drawn:
        left, right = drawn.subplots(1, 2)
        _reliability(fitted, left)
        _risk(fitted, right)
        drawn.suptitle(f"{fitted.plan.kind.name}: at most {fitted.plan.alpha:.4g} {share} wrong: {kept}")


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
    """Risk-coverage curve. Risk: share of wrong answers among the answers, or among all questions."""
    of_answers = fitted.plan.guarantee == "answered"
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
