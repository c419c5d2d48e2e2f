"""Fitting a program on questions with known answers: its options on one half, when to abstain on the other.

plan = Plan(Know3RAG, Sources.of(kb), read_questions("dev.jsonl"), Roles("openai/gpt-4o-mini"))
fitted = fit_program(plan, "runs/fit", knowledge_base=kb)
print(fitted.sentence, fitted.bundle)
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from triplecheck.evals.progress import Progress
from triplecheck.evals.questions import Question
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.lms import Budget, Roles, Usage, session
from triplecheck.optimize.bundle import Bundle, save_bundle
from triplecheck.optimize.fit.asking import Asking
from triplecheck.optimize.fit.observed import Observed, observe, sample
from triplecheck.optimize.fit.picture import draw
from triplecheck.optimize.fit.promise import Choice, Point, Promise, check_promise, choose_threshold, point_at
from triplecheck.optimize.fit.report import notes, plain_report, sentence, write_report
from triplecheck.optimize.fit.search import Search, Searched
from triplecheck.optimize.fit.space import Option, nested
from triplecheck.optimize.optimizers.voting import Voting
from triplecheck.optimize.pareto import Objective
from triplecheck.programs import Program, Sources
from triplecheck.programs.options import make_program

CALIBRATION = "calibration"
"""Names the half that the threshold is chosen on."""


@dataclass(frozen=True)
class Plan:
    """What to fit, and to what.

    Attributes:
        kind: the program.
        sources: the graph and how to find things in it.
        questions: dev questions; those whose answers are published are taken.
        roles: who plays.
        options: arguments of the program that are not fitted, and where the others start.
        compiled: a bundle of the program, to be fitted as it was compiled.
        space: options to be fitted, with the values to be tried; none: the threshold alone.
        objective: how to choose among candidates.
        promise: see `optimize.fit.promise`.
        alpha: share of wrong ones that it allows.
        delta: probability with which `answered` may fail.
        workers: questions under way at once.
        budget: on everything.
    """

    kind: type[Program]
    sources: Sources
    questions: Sequence[Question]
    roles: Roles = field(default_factory=Roles)
    options: Mapping[str, Any] = field(default_factory=dict)
    compiled: Bundle | None = None
    space: tuple[Option, ...] = ()
    objective: Objective = "accuracy"
    promise: Promise = "answered"
    alpha: float = 0.1
    delta: float = 0.05
    workers: int = 1
    budget: Budget = field(default_factory=Budget)

    def arguments(self, setting: Mapping[str, Any]) -> dict[str, Any]:
        """All arguments of the program, with a setting of those that are fitted."""
        return nested({**(self.compiled.options if self.compiled else {}), **self.options}, setting)

    def make(self, setting: Mapping[str, Any]) -> Program:
        """The program with a setting, compiled where it is.

        Raises:
            UserError: it takes no such option, or not of this value.
        """
        if self.compiled is not None:
            return self.compiled.program(self.sources, self.arguments(setting))
        return make_program(self.kind, self.sources, self.arguments(setting))


@dataclass(frozen=True)
class Fitted:
    """What came of it."""

    plan: Plan
    searched: Searched
    choice: Choice
    calibration: tuple[Observed, ...]
    """The questions of the half that the threshold was chosen on, with the chosen options."""
    curve: tuple[Point, ...]
    """Every threshold that was proposed, on these questions, from the highest down."""
    usage: Usage
    bundle: Path
    picture: Path

    @property
    def sentence(self) -> str:
        """What is promised, in words; or that it cannot be."""
        return sentence(self)

    @property
    def notes(self) -> list[str]:
        """What else is to be known about it."""
        return notes(self)

    def to_json(self) -> dict[str, Any]:
        """Plain data: what `fit.json` says."""
        return plain_report(self)


def fit_program(
    plan: Plan,
    out: Path | str,
    *,
    knowledge_base: KnowledgeBase | None = None,
    progress: Callable[[str, Progress], None] | None = None,
) -> Fitted:
    """Fit a program, and write `fit.json`, `calibration.png` and a bundle.

    Killed, or stopped by its budget, it is taken up again by the same call: nothing is asked twice.

    Args:
        plan: what to do.
        out: directory of the run.
        knowledge_base: where the program's graph is from one.
        progress: told the half that is being asked, and how far it is.

    Raises:
        UserError: too few questions, an option that does not exist, answers without any confidence, or a
            directory that holds something else.
        BudgetExceededError: it was not enough for the program as it is on one half, and the chosen one on the other.
        UnavailableError: a model or the graph is out of reach.
    """
    out = Path(out)
    check_promise(plan.promise, plan.alpha, plan.delta)
    fitting, calibrating = halves(plan.questions)
    if isinstance(plan.make({}), Voting):
        raise UserError("an ensemble has no confidence of its own: fit one of the programs that it is made of")
    if plan.arguments({}).get("abstain_below") is not None:
        raise UserError("the program abstains by a fitted threshold already: fit the program that it was made from")
    if out.exists() and any(out.iterdir()) and not (out / "fitting").is_dir():
        raise UserError(f"{out}: is not empty and holds no fit; choose another directory")
    with session(plan.roles, plan.budget) as ledger:
        asking = Asking(plan.make, out, ledger, knowledge_base, plan.workers, progress)
        searched = Search(asking, fitting, plan.space, plan.objective, len(calibrating)).run()
        chosen = searched.chosen
        calibration = observe(asking.rows(chosen.setting, calibrating, CALIBRATION))
        proposing, deciding = sample(chosen.observed), sample(calibration)
        if not len(proposing.confidences):
            raise UserError(
                f"none of {len(fitting)} questions got an answer that says how sure it is "
                f"({sum(one.answered for one in chosen.observed)} got one at all): there is no threshold to fit"
            )
        choice = choose_threshold(proposing, deciding, plan.promise, plan.alpha, plan.delta)
        curve = tuple(point_at(deciding, threshold, plan.delta) for threshold in proposing.thresholds)
        usage = ledger.usage()
    fitted = Fitted(
        plan, searched, choice, calibration, curve, usage, bundle=out / "bundle", picture=out / "calibration.png"
    )
    draw(fitted, fitted.picture)
    report = fitted.to_json()
    arguments = plan.arguments({**chosen.setting, "abstain_below": choice.abstain_below})
    program, bare = plan.make(arguments), make_program(plan.kind, plan.sources, arguments)
    about = {"fitted": {name: report[name] for name in ("promise", "calibration", "notes")}}
    save_bundle(program, fitted.bundle, plan.roles, bare, about)
    write_report(report, out / "fit.json")
    return fitted


def halves(questions: Sequence[Question]) -> tuple[tuple[Question, ...], tuple[Question, ...]]:
    """The questions to choose options on, and those to choose the threshold on, by a hash of their ids.

    Raises:
        UserError: one of them is empty.
    """
    usable = [question for question in questions if question.answers_known]
    first = tuple(question for question in usable if _fits(question.id))
    second = tuple(question for question in usable if not _fits(question.id))
    if not first or not second:
        raise UserError(f"{len(usable)} questions with published answers are too few to be halved; give more")
    return first, second


def _fits(id: str) -> bool:
    return hashlib.sha256(f"fit\0{id}".encode("utf-8", "surrogatepass")).digest()[0] < 128
