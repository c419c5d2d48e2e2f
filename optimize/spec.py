"""What is known of an optimizer before it runs: what it needs, what it takes, and how to call it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import dspy

from triplecheck.kg import UserError
from triplecheck.lms import Roles
from triplecheck.optimize.scoring import Metric

Need = Literal["validation", "prompt_model", "optuna", "trainable", "parts", "whole"]
"""What an optimizer cannot do without: a validation set; a model that writes instructions; the package
optuna; a model whose weights can be trained; other programs to combine; the whole program, not a step."""

Writes = Literal["demonstrations", "instructions", "weights", "several"]
"""What it changes."""

Resumes = Literal["calls", "checkpoint"]
"""How a run that was killed is taken up: from the calls that are cached, or from the optimizer's own checkpoint."""

Value = int | float | str


@dataclass(frozen=True)
class Size:
    """What an estimate is made from: numbers of examples, steps and workers."""

    train: int
    validation: int
    steps: int


@dataclass(frozen=True)
class Runs:
    """How often an optimizer runs things, at most: the program, the teacher, the model that writes."""

    program: int = 0
    teacher: int = 0
    prompt_model: int = 0


@dataclass(frozen=True)
class OptimizerJob:
    """What an optimizer is given.

    Attributes:
        student: the program or step; the optimizer may change it.
        train, validation: examples.
        metric: scores predictions.
        settings: checked against the spec.
        seed: for everything that is drawn.
        workers: examples under way at once.
        teacher: models of the roles while demonstrations are collected; None: the student's models.
        prompt_model: the model that writes instructions.
        log_dir: for checkpoints.
        parts: other programs, for an optimizer that combines them.
    """

    student: dspy.Module
    train: Sequence[dspy.Example]
    validation: Sequence[dspy.Example]
    metric: Metric
    settings: Mapping[str, Value]
    seed: int
    workers: int
    teacher: Roles | None
    prompt_model: Any
    log_dir: Path
    parts: Sequence[dspy.Module] = ()

    @property
    def teacher_settings(self) -> dict[str, Any]:
        """As DSPy's optimizers take them: roles, since a predictor's own model would be replaced without a word."""
        return {} if self.teacher is None else {"lm_roles": self.teacher}


@dataclass(frozen=True)
class OptimizerSpec:
    """An optimizer."""

    name: str
    summary: str
    """What it does, in a line."""
    run: Callable[[OptimizerJob], dspy.Module] = field(repr=False)
    estimate: Callable[[Size, Mapping[str, Value]], Runs] = field(repr=False)
    writes: tuple[Writes, ...]
    needs: frozenset[Need] = frozenset()
    settings: Mapping[str, Value] = field(default_factory=dict, hash=False)
    """Its settings with their defaults."""
    one_model: bool = False
    """Whether all roles must have the same model."""
    resumes: Resumes = "calls"
    deterministic: bool = True
    """Whether equal replies of the models lead to an equal program."""
    least_train: Callable[[Mapping[str, Value]], int] = field(default=lambda _: 1, repr=False)
    """Training examples that it cannot do with fewer of."""
    short: tuple[str, ...] = ()
    """Other names."""

    def checked(self, given: Mapping[str, Any]) -> dict[str, Value]:
        """The settings, those given over the defaults.

        Raises:
            UserError: there is no such setting, or it is of another type.
        """
        found = dict(self.settings)
        for name, value in given.items():
            if name not in found:
                there = ", ".join(f"{key}={value}" for key, value in self.settings.items()) or "none"
                raise UserError(f"{self.name} has no setting {name!r}; there are: {there}")
            kind = type(found[name])
            if kind is float and isinstance(value, int) and not isinstance(value, bool):
                value = float(value)
            if type(value) is not kind or (isinstance(value, int | float) and value < 0):
                raise UserError(f"{self.name}: {name} is {value!r}, not of the kind of its default {found[name]!r}")
            found[name] = value
        return found
