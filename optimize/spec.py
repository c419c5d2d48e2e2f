"""The specification of an optimizer: its requirements, settings, estimated cost, and the function that runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import dspy

from triplecheck.kg import UserError
from triplecheck.lms import Roles
from triplecheck.optimize.scoring import Metric

Need = Literal["validation", "prompt_model", "optuna"]
"""Requirements of an optimizer: a validation set; a model that writes instructions; the package optuna."""

Writes = Literal["demonstrations", "instructions"]
"""What an optimizer changes."""

Resumes = Literal["calls", "checkpoint"]
"""How a killed run is resumed: by replaying cached calls, or from the optimizer's own checkpoint."""

Value = int | float | str


@dataclass(frozen=True)
class Size:
    """Input of an estimate: numbers of training examples, validation examples and steps."""

    train: int
    validation: int
    steps: int


@dataclass(frozen=True)
class Runs:
    """Maximum number of runs of the program and of the teacher, and of calls of the prompt model."""

    program: int = 0
    teacher: int = 0
    prompt_model: int = 0


@dataclass(frozen=True)
class OptimizerJob:
    """Input of an optimizer.

    Attributes:
        student: the program or step; the optimizer may change it.
        train, validation: examples.
        metric: scores predictions.
        settings: checked against the spec.
        seed: of all random choices.
        workers: examples to run in parallel.
        teacher: models of the roles while demonstrations are collected; None: the student's models.
        prompt_model: the model that writes instructions.
        log_dir: directory for checkpoints.
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

    @property
    def teacher_settings(self) -> dict[str, Any]:
        """The teacher for DSPy's optimizers: as roles, because DSPy silently overrides a predictor's own model."""
        return {} if self.teacher is None else {"lm_roles": self.teacher}


@dataclass(frozen=True)
class OptimizerSpec:
    """An optimizer."""

    name: str
    summary: str
    """One line on what it does."""
    run: Callable[[OptimizerJob], dspy.Module] = field(repr=False)
    estimate: Callable[[Size, Mapping[str, Value]], Runs] = field(repr=False)
    writes: tuple[Writes, ...]
    needs: frozenset[Need] = frozenset()
    settings: Mapping[str, Value] = field(default_factory=dict, hash=False)
    """Its settings with their defaults."""
    one_model: bool = False
    """Whether all roles must have the same model."""
    resumes: Resumes = "calls"
    least_train: Callable[[Mapping[str, Value]], int] = field(default=lambda _: 1, repr=False)
    """Minimum number of training examples."""
    short: tuple[str, ...] = ()
    """Other names."""
    labelled: bool = False
    """Whether it draws from right replies alone: its teacher is `gold`, never a model."""

    def checked(self, given: Mapping[str, Any]) -> dict[str, Value]:
        """The settings, with defaults for those that are not given.

        Raises:
            UserError: unknown setting, or a value of the wrong type.
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
                raise UserError(
                    f"{self.name}: {name} is {value!r}, not a valid {kind.__name__}; its default is {found[name]!r}"
                )
            found[name] = value
        return found
