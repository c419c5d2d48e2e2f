"""Checks before a compile run: whether the optimizer supports the program, and its estimated cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from triplecheck.evals.configuration import plain
from triplecheck.kg import UserError
from triplecheck.kg.errors import require
from triplecheck.lms import Budget, Roles
from triplecheck.lms.kinds import EXTRACTIVE, is_no_language_model
from triplecheck.lms.metering import price_of
from triplecheck.lms.resolve import language_model
from triplecheck.optimize.examples import Pilot, Split
from triplecheck.optimize.spec import OptimizerSpec, Size, Value
from triplecheck.optimize.state import steps_of
from triplecheck.optimize.traces.gold.engine import NAME as GOLD
from triplecheck.optimize.traces.gold.engine import uncomputable
from triplecheck.programs import Program

WRITER_TOKENS = 2_000
"""Assumed tokens (prompt and completion) of one call that writes instructions."""


@dataclass(frozen=True)
class CompilePlan:
    """What to compile, and how.

    Attributes:
        program: to compile; it is not changed.
        questions: for training, validation and measuring.
        optimizer: by name (`optimize.registry`).
        settings: of the optimizer, where they differ from its defaults.
        teacher: the model for collecting demonstrations; `gold` for gold replies, if they can be computed; None:
            the models of the roles.
        prompt_model: the model that writes instructions; None: the default model.
        seed: of all random choices.
        workers: examples to run in parallel.
        budget: for the whole run, including cached calls.
    """

    program: Program
    questions: Split
    optimizer: str
    roles: Roles = field(default_factory=Roles)
    settings: Mapping[str, Any] = field(default_factory=dict)
    step: str | None = None
    teacher: str | None = None
    prompt_model: str | None = None
    seed: int = 0
    workers: int = 1
    budget: Budget = field(default_factory=Budget)


@dataclass(frozen=True)
class Estimate:
    """Maximum cost of compiling, estimated from a few questions."""

    runs: int
    """Runs of the program, including those of the teacher."""
    calls: int
    tokens: int
    dollars: float | None
    """None: the price of a model is unknown."""
    seconds: float
    """At the speed of the first runs, one question at a time."""
    notes: tuple[str, ...] = ()
    """Warnings to print before the run."""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        data: dict[str, Any] = plain(self)
        return data


def check(spec: OptimizerSpec, settings: Mapping[str, Value], plan: CompilePlan) -> None:
    """Refuse a run that cannot work.

    Raises:
        UserError: the run cannot work; the message gives the reason and an alternative.
    """
    program, roles, step, train = plan.program, plan.roles, plan.step, len(plan.questions.train)
    steps = steps_of(program)
    if not steps:
        raise UserError(f"{program.name!r} calls no model: there is nothing to compile")
    if step is not None and step not in steps:
        raise UserError(f"{program.name!r} has no step {step!r}; there are: {', '.join(steps)}")
    if "prompt_model" in spec.needs and (plan.prompt_model or roles.default) == EXTRACTIVE:
        raise UserError(
            f"{spec.name} needs a model that writes instructions, and {EXTRACTIVE} writes none: name one with "
            "--prompt-model, or use an optimizer that only chooses demonstrations, such as "
            "BootstrapFewShotWithRandomSearch"
        )
    if "optuna" in spec.needs:
        require("optimizers", spec.name, "optuna")
    if spec.one_model and len(set(roles.models())) > 1:
        raise UserError(
            f"{spec.name} needs the same model for all roles, not {', '.join(roles.models())}: give one with --lm, "
            "compile one step with --step, or use GEPA"
        )
    if spec.labelled and plan.teacher not in (None, GOLD):
        raise UserError(
            f"{spec.name} draws from right replies, which no model writes: leave out the teacher {plan.teacher}, "
            "or use BootstrapFewShot, which draws from the right runs of a teacher"
        )
    unknown = uncomputable(program) if spec.labelled or plan.teacher == GOLD else {}
    if unknown:
        listed = "; ".join(f"{name}: {reason}" for name, reason in unknown.items())
        way = "use BootstrapFewShot, which draws from right runs" if spec.labelled else "name a model as teacher"
        raise UserError(f"right replies to some steps of {program.name!r} cannot be computed ({listed}): {way}")
    compared = 2 * (len(plan.questions.validation) + len(plan.questions.held_out))
    if plan.budget.calls is not None and plan.budget.calls < compared:
        raise UserError(
            f"a budget of {plan.budget.calls} calls is too small: to compare the program with a compiled one on "
            f"{len(plan.questions.validation)} validation and {len(plan.questions.held_out)} held-out questions takes "
            f"{compared} or more; raise --budget-calls, or give fewer questions with --limit or --held-out"
        )
    least = spec.least_train(settings)
    if train < least:
        raise UserError(f"{spec.name} needs {least} training examples and has {train}: give more questions")


def estimate(
    spec: OptimizerSpec, settings: Mapping[str, Value], plan: CompilePlan, size: Size, *, pilot: Pilot, whole: Pilot
) -> Estimate:
    """Estimate the cost of a run from what a few runs took; the notes compare it with the budget of the plan.

    Args:
        pilot: runs of what is optimized: the program, or one step.
        whole: runs of the program, which is measured before and after on the held-out questions.
    """
    runs = spec.estimate(size, settings)
    # The runs of the optimizer, and the validation set before and after.
    optimized = pilot.runs + runs.program + 2 * size.validation + runs.teacher
    measured = 2 * len(plan.questions.held_out)
    parts = ((optimized / max(1, pilot.runs), pilot), (measured / max(1, whole.runs), whole))
    calls = round(sum(share * one.calls for share, one in parts)) + runs.prompt_model
    tokens = round(sum(share * one.tokens for share, one in parts)) + runs.prompt_model * WRITER_TOKENS
    per_token = pilot.seconds / pilot.tokens if pilot.tokens else 0.0
    seconds = sum(share * one.seconds for share, one in parts) + runs.prompt_model * WRITER_TOKENS * per_token
    dollars = _dollars(runs.prompt_model, parts, plan.prompt_model or plan.roles.default)
    notes = []
    if all(is_no_language_model(model) for model in plan.roles.models()):
        notes.append(
            f"{EXTRACTIVE} ignores instructions and demonstrations: the compiled program will give the same answers"
        )
    if plan.teacher:
        notes.append("the calls of the teacher are estimated like those of the program")
    for name, needed in (("calls", calls), ("tokens", tokens), ("seconds", seconds), ("dollars", dollars)):
        allowed = getattr(plan.budget, name)
        if allowed is not None and needed is not None and needed > allowed:
            notes.append(f"the budget of {allowed:g} {name} may stop it early; it can be resumed")
    return Estimate(optimized + measured, calls, tokens, dollars, round(seconds, 1), tuple(notes))


def _dollars(writes: int, parts: Iterable[tuple[float, Pilot]], prompt_model: str) -> float | None:
    """The price of the pilots, each times its share, and of the writer's calls; None if a model has no known price."""
    total = 0.0
    for share, pilot in parts:
        if pilot.unpriced_calls:
            return None
        total += share * pilot.dollars
    if writes:
        price = price_of(language_model(prompt_model))
        if price is None:
            return None
        total += writes * price.of(WRITER_TOKENS // 2, WRITER_TOKENS // 2)
    return round(total, 4)
