"""Optimizers made of others, and programs made of several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import dspy

from triplecheck.kg import UserError
from triplecheck.optimize.optimizers.few_shot import BOOTSTRAP_FEW_SHOT, LABELED_FEW_SHOT, OPTUNA, RANDOM_SEARCH
from triplecheck.optimize.optimizers.instructions import COPRO, INFER_RULES, MIPRO
from triplecheck.optimize.optimizers.reflective import GEPA, SIMBA
from triplecheck.optimize.optimizers.voting import Voting
from triplecheck.optimize.optimizers.weights import BOOTSTRAP_FINETUNE
from triplecheck.optimize.spec import Job, OptimizerSpec, Runs, Size, Value
from triplecheck.optimize.state import steps_of

_PARTS = (
    LABELED_FEW_SHOT,
    BOOTSTRAP_FEW_SHOT,
    RANDOM_SEARCH,
    OPTUNA,
    COPRO,
    MIPRO,
    INFER_RULES,
    SIMBA,
    GEPA,
    BOOTSTRAP_FINETUNE,
)
ARROW = "->"


def strategy(settings: Mapping[str, Value]) -> list[OptimizerSpec]:
    """The optimizers of a strategy, in order.

    Raises:
        UserError: one of them is none, or cannot be one of several.
    """
    known = {name.casefold(): spec for spec in _PARTS for name in (spec.name, *spec.short)}
    found = []
    for part in str(settings["strategy"]).split(ARROW):
        if part.strip().casefold() not in known:
            names = ", ".join(spec.name for spec in _PARTS)
            raise UserError(f"BetterTogether: no optimizer {part.strip()!r} in its strategy; there are: {names}")
        found.append(known[part.strip().casefold()])
    return found


def _better_together(job: Job) -> dspy.Module:
    from dspy.teleprompt import BetterTogether
    from dspy.teleprompt.teleprompt import Teleprompter

    class Part(Teleprompter):  # type: ignore[misc]
        """An optimizer of the registry, as DSPy calls one."""

        def __init__(self, spec: OptimizerSpec, number: int) -> None:
            self.spec, self.number = spec, number

        def compile(self, student: Any, *, trainset: Any, teacher: Any = None, valset: Any = None) -> Any:
            # It asks for a model on every step and nobody here may: roles say who plays.
            bare = student.deepcopy()
            bare.set_lm(None)
            own = replace(
                job,
                student=bare,
                train=trainset,
                validation=valset or job.validation,
                settings=self.spec.checked({}),
                log_dir=job.log_dir / f"{self.number}-{self.spec.name}",
            )
            compiled = self.spec.run(own)
            compiled._compiled = False
            for step in steps_of(compiled).values():
                step.lm = step.lm or dspy.settings.lm
            return compiled

    parts = {f"s{number}": Part(spec, number) for number, spec in enumerate(strategy(job.settings))}
    job.student.set_lm(dspy.settings.lm)
    optimizer = BetterTogether(metric=job.metric, **parts)
    compiled = optimizer.compile(
        job.student,
        trainset=list(job.train),
        valset=list(job.validation),
        num_threads=job.workers,
        seed=job.seed,
        strategy=" -> ".join(parts),
    )
    if compiled.flag_compilation_error_occurred:
        raise UserError(f"a part of the strategy {job.settings['strategy']!r} failed; optimizer.log says why")
    for step in steps_of(compiled).values():
        step.lm = None if step.lm is not None and step.lm.model == dspy.settings.lm.model else step.lm
    return compiled


def _together_runs(size: Size, settings: Mapping[str, Value]) -> Runs:
    parts = [(spec, spec.checked({})) for spec in strategy(settings)]
    runs = [spec.estimate(size, own) for spec, own in parts]
    between = (len(runs) + 1) * size.validation
    return Runs(
        program=sum(one.program for one in runs) + between,
        teacher=sum(one.teacher for one in runs),
        writer=sum(one.writer for one in runs),
    )


def _ensemble(job: Job) -> dspy.Module:
    return Voting([part.deepcopy() for part in job.parts])


BETTER_TOGETHER = OptimizerSpec(
    "BetterTogether",
    "runs several optimizers one after the other, each on what the last one made",
    _better_together,
    _together_runs,
    writes=("demonstrations", "instructions"),
    needs=frozenset({"validation"}),
    settings={"strategy": "BootstrapFewShotWithRandomSearch -> GEPA"},
    one_model=True,
)
ENSEMBLE = OptimizerSpec(
    "Ensemble",
    "has several compiled programs answer and gives the answer of most",
    _ensemble,
    lambda size, settings: Runs(),
    writes=("several",),
    needs=frozenset({"parts", "whole"}),
    least_train=lambda _: 0,
)
