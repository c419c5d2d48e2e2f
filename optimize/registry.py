"""The DSPy optimizers by name, and the reasons why some are not supported."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import dspy

from triplecheck.kg import UserError
from triplecheck.lms import TolerantAdapter
from triplecheck.optimize.distil.provider import trainable
from triplecheck.optimize.optimizers.few_shot import (
    BOOTSTRAP_FEW_SHOT,
    KNN_FEW_SHOT,
    LABELED_FEW_SHOT,
    OPTUNA,
    RANDOM_SEARCH,
    right_runs,
)
from triplecheck.optimize.optimizers.instructions import COPRO, GEPA, INFER_RULES, MIPRO, SIMBA
from triplecheck.optimize.optimizers.modules import Voting
from triplecheck.optimize.spec import OptimizerJob, OptimizerSpec, Runs, Size, Value
from triplecheck.optimize.state import steps_of

# The optimizer that trains weights: DSPy's `BootstrapFinetune`, on correct runs.


def _finetune(job: OptimizerJob) -> dspy.Module:
    from dspy.teleprompt import BootstrapFinetune

    # DSPy fails on a reply that cannot be parsed, and trains on an empty set without an error: so filter first.
    right = [example for example, _ in right_runs(job)]
    if not right:
        raise UserError(
            "no training question was answered correctly, so there is nothing to train on: use another teacher"
        )

    def metric(example: Any, prediction: Any, trace: Any = None) -> bool:
        return bool(job.metric(example, prediction, trace or []))

    teacher = job.student.deepcopy()
    student = job.student.deepcopy()  # the optimizer changes it
    student.set_lm(trainable(dspy.settings.lm, job.log_dir.parent / "models"))
    # One model for all steps: with one per step, DSPy mixes up the rows of a step that is called several times.
    optimizer = BootstrapFinetune(
        metric=metric, multitask=True, adapter=TolerantAdapter(), exclude_demos=True, num_threads=job.workers
    )
    with dspy.context(**job.teacher_settings):
        return optimizer.compile(student, trainset=right, teacher=teacher)


BOOTSTRAP_FINETUNE = OptimizerSpec(
    "BootstrapFinetune",
    "trains the model's weights on the calls of correct runs",
    _finetune,
    lambda size, settings: Runs(teacher=2 * size.train),
    writes=("weights",),
    needs=frozenset({"trainable", "whole"}),
    one_model=True,
    deterministic=False,
    short=("Finetune",),
)


# Combinations: several optimizers in sequence, and ensembles of programs.

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
        UserError: unknown name, or an optimizer that cannot be part of a strategy.
    """
    known = {name.casefold(): spec for spec in _PARTS for name in (spec.name, *spec.short)}
    found = []
    for part in str(settings["strategy"]).split(ARROW):
        if part.strip().casefold() not in known:
            names = ", ".join(spec.name for spec in _PARTS)
            raise UserError(f"BetterTogether: no optimizer {part.strip()!r} in its strategy; there are: {names}")
        found.append(known[part.strip().casefold()])
    return found


def _better_together(job: OptimizerJob) -> dspy.Module:
    from dspy.teleprompt import BetterTogether
    from dspy.teleprompt.teleprompt import Teleprompter

    class Part(Teleprompter):  # type: ignore[misc]
        """An optimizer of the registry, with DSPy's interface."""

        def __init__(self, spec: OptimizerSpec, number: int) -> None:
            self.spec, self.number = spec, number

        def compile(self, student: Any, *, trainset: Any, teacher: Any = None, valset: Any = None) -> Any:
            # BetterTogether sets a model on every step, but here roles choose the models.
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
        prompt_model=sum(one.prompt_model for one in runs),
    )


def _ensemble(job: OptimizerJob) -> dspy.Module:
    return Voting([part.deepcopy() for part in job.parts])


BETTER_TOGETHER = OptimizerSpec(
    "BetterTogether",
    "runs several optimizers in sequence, each on the result of the one before",
    _better_together,
    _together_runs,
    writes=("demonstrations", "instructions"),
    needs=frozenset({"validation"}),
    settings={"strategy": "BootstrapFewShotWithRandomSearch -> GEPA"},
    one_model=True,
)
ENSEMBLE = OptimizerSpec(
    "Ensemble",
    "runs several compiled programs and returns the majority answer",
    _ensemble,
    lambda size, settings: Runs(),
    writes=("several",),
    needs=frozenset({"parts", "whole"}),
    least_train=lambda _: 0,
)


_SPECS = (
    LABELED_FEW_SHOT,
    BOOTSTRAP_FEW_SHOT,
    RANDOM_SEARCH,
    OPTUNA,
    KNN_FEW_SHOT,
    COPRO,
    MIPRO,
    INFER_RULES,
    SIMBA,
    GEPA,
    BETTER_TOGETHER,
    ENSEMBLE,
    BOOTSTRAP_FINETUNE,
)
_LEFT_OUT = {
    "AvatarOptimizer": "does not run with this DSPy; GEPA also rewrites instructions from feedback",
    "SignatureOptimizer": "is deprecated; COPRO is its new name",
    "GRPO": "trains weights by reinforcement learning on a separate cluster; BootstrapFinetune trains them on traces",
}


def optimizer_specs() -> tuple[OptimizerSpec, ...]:
    """All optimizers."""
    return _SPECS


def optimizer_names() -> list[str]:
    """Names of all optimizers, as in DSPy."""
    return [spec.name for spec in _SPECS]


def resolve_optimizer(name: str) -> OptimizerSpec:
    """The optimizer of a name, ignoring case, hyphens and underscores.

    Raises:
        UserError: unknown name, or an optimizer that is not supported; the message lists the others.
    """
    plain = _plain(name)
    for spec in _SPECS:
        if plain in (_plain(spec.name), *map(_plain, spec.short)):
            return spec
    for left_out, reason in _LEFT_OUT.items():
        if plain == _plain(left_out):
            raise UserError(f"{left_out} {reason}")
    near = difflib.get_close_matches(plain, [_plain(known) for known in optimizer_names()], 1)
    meant = next((f" (did you mean {known}?)" for known in optimizer_names() if near and _plain(known) == near[0]), "")
    raise UserError(f"no optimizer {name!r}{meant}; there are: {', '.join(optimizer_names())}")


def _plain(name: str) -> str:
    return name.casefold().replace("-", "").replace("_", "")
