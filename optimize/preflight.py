"""Before anything is spent: whether an optimizer can work on this program at all, and what it may take."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dspy

from triplecheck.kg import UserError
from triplecheck.lms import Budget, Roles, Usage
from triplecheck.lms.metering import price_of
from triplecheck.lms.resolve import EXTRACTIVE, language_model
from triplecheck.optimize.distil.provider import is_trainable
from triplecheck.optimize.registry import strategy
from triplecheck.optimize.spec import OptimizerSpec, Size, Value
from triplecheck.optimize.state import steps_of
from triplecheck.programs import Program

WRITER_TOKENS = 2_000
"""Prompt and completion tokens of one call that writes instructions, where nothing better is known."""


@dataclass(frozen=True)
class Estimate:
    """What compiling may take at most, from what a few questions took."""

    runs: int
    """Runs of the program, the teacher's included."""
    calls: int
    tokens: int
    dollars: float | None
    """None: a model's price is not known."""
    notes: tuple[str, ...] = ()
    """What is worth knowing before it begins."""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "runs": self.runs,
            "calls": self.calls,
            "tokens": self.tokens,
            "dollars": self.dollars,
            "notes": list(self.notes),
        }


def check(
    spec: OptimizerSpec,
    settings: Mapping[str, Value],
    program: Program,
    *,
    roles: Roles,
    prompt_model: str | None,
    step: str | None,
    train: int,
    parts: Sequence[Program] = (),
) -> None:
    """Refuse what cannot work.

    Args:
        spec: the optimizer.
        settings: checked ones.
        program: to be compiled.
        roles: the models of the roles.
        prompt_model: the model that writes instructions; None: the default model of the roles.
        step: the one step to compile, if not the whole.
        train: training examples.
        parts: programs to combine.

    Raises:
        UserError: it cannot; the message says why and what can be done.
    """
    steps = steps_of(program)
    if not steps:
        raise UserError(f"{program.name!r} asks no model anything, so that there is nothing to compile in it")
    if step is not None and step not in steps:
        raise UserError(f"{program.name!r} has no step {step!r}; there are: {', '.join(steps)}")
    specs = [spec] + (strategy(settings) if "strategy" in settings else [])
    needs = frozenset[str]().union(*(one.needs for one in specs))
    if step is not None and "whole" in needs:
        raise UserError(f"{spec.name} works on whole programs: leave out --step, or take BootstrapFewShot")
    writing = prompt_model or roles.default
    if "prompt_model" in needs and writing == EXTRACTIVE:
        raise UserError(
            f"{spec.name} needs a model that writes instructions, and {EXTRACTIVE} writes none: name one with "
            "--prompt-model, or use an optimizer that only chooses demonstrations, such as "
            "BootstrapFewShotWithRandomSearch"
        )
    if "optuna" in needs and importlib.util.find_spec("optuna") is None:
        raise UserError(f"{spec.name} needs the package optuna: pip install 'triplecheck[optimizers]'")
    if any(one.one_model for one in specs) and len(set(roles.models())) > 1:
        raise UserError(
            f"{spec.name} puts one model on all steps, and here play {', '.join(roles.models())}: give one with --lm, "
            "compile one step with --step, or take GEPA"
        )
    if "trainable" in needs and not is_trainable(language_model(roles.default)):
        raise UserError(
            f"{spec.name} trains weights, and {roles.default} has none that can be trained here: give a model "
            "with a provider that trains, or take an optimizer of prompts"
        )
    if "parts" in needs:
        _check_parts(spec, program, parts)
    least = max(one.least_train(settings if one is spec else one.checked({})) for one in specs)
    if train < least:
        raise UserError(f"{spec.name} needs {least} training examples and has {train}: give more questions")


def _check_parts(spec: OptimizerSpec, program: Program, parts: Sequence[Program]) -> None:
    if len(parts) < 2:
        raise UserError(f"{spec.name} combines two or more bundles: name each with --part")
    others = sorted({part.name for part in parts} - {program.name})
    if others:
        raise UserError(
            f"{spec.name} combines bundles of one program, {program.name!r}, and not of {', '.join(others)}"
        )


def estimate(
    spec: OptimizerSpec,
    settings: Mapping[str, Value],
    size: Size,
    *,
    per_run: Usage,
    pilots: int,
    roles: Roles,
    prompt_model: str | None,
    teacher: Roles | None,
    budget: Budget,
    held_out: int,
) -> Estimate:
    """What compiling may take.

    Args:
        spec: the optimizer.
        settings: checked ones.
        size: numbers of examples and steps.
        per_run: what `pilots` runs took.
        pilots: how many.
        roles: the models of the roles.
        prompt_model: the model that writes instructions.
        teacher: models of the roles while demonstrations are collected.
        budget: what may be spent.
        held_out: questions that are asked before and after.
    """
    runs = spec.estimate(size, settings)
    # Besides what the optimizer does: the program before and after, on the validation set and the held-out questions.
    program = runs.program + 2 * size.validation
    total = pilots + program + runs.teacher + 2 * held_out
    pilots = max(1, pilots)
    calls = round(total * per_run.calls / pilots) + runs.prompt_model
    tokens = round(total * per_run.tokens / pilots) + runs.prompt_model * WRITER_TOKENS
    dollars = _dollars(runs.prompt_model, total / pilots, per_run, prompt_model or roles.default)
    notes = []
    if all(model == EXTRACTIVE for model in roles.models()):
        notes.append(f"{EXTRACTIVE} reads no instructions and no demonstrations: what is compiled will answer alike")
    if teacher is not None:
        notes.append("demonstrations are the teacher's; its calls are estimated as the program's own")
    for name, needed in (("calls", calls), ("tokens", tokens), ("dollars", dollars)):
        allowed = getattr(budget, name)
        if allowed is not None and needed is not None and needed > allowed:
            notes.append(f"the budget of {allowed:g} {name} may stop it early; it can be resumed")
    return Estimate(total, calls, tokens, dollars, tuple(notes))


def _dollars(writes: int, runs: float, per_run: Usage, prompt_model: str) -> float | None:
    if per_run.unpriced_calls:
        return None
    total = runs * per_run.dollars
    if writes:
        price = price_of(language_model(prompt_model))
        if price is None:
            return None
        total += writes * price.of(WRITER_TOKENS // 2, WRITER_TOKENS // 2)
    return round(total, 4)


def step_count(student: dspy.Module) -> int:
    """Steps that an optimizer sees."""
    return len(student.predictors())
