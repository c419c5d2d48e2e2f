"""The DSPy optimizers by name, and the reasons why some are not supported."""

from __future__ import annotations

import difflib
from typing import Any

import dspy

from triplecheck.kg import UserError
from triplecheck.lms import TolerantAdapter
from triplecheck.optimize.distil.provider import trainable
from triplecheck.optimize.optimizers.few_shot import (
    BOOTSTRAP_FEW_SHOT,
    LABELED_FEW_SHOT,
    RANDOM_SEARCH,
    right_runs,
)
from triplecheck.optimize.optimizers.instructions import COPRO, GEPA, MIPRO, SIMBA
from triplecheck.optimize.spec import OptimizerJob, OptimizerSpec, Runs

# The optimizer that trains weights: DSPy's `BootstrapFinetune`, on correct runs.


def _finetune(job: OptimizerJob) -> dspy.Module:
    from dspy.teleprompt import BootstrapFinetune

    # DSPy fails on a reply that cannot be parsed, and trains on an empty set without an error: so filter first.
    right = list(right_runs(job))
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


_SPECS = (
    LABELED_FEW_SHOT,
    BOOTSTRAP_FEW_SHOT,
    RANDOM_SEARCH,
    COPRO,
    MIPRO,
    SIMBA,
    GEPA,
    BOOTSTRAP_FINETUNE,
)
_LEFT_OUT = {
    "BootstrapFewShotWithOptuna": "is not seeded; BootstrapFewShotWithRandomSearch also searches demonstrations",
    "KNNFewShot": "calls the teacher again for every question, and its program cannot be saved; use it from DSPy",
    "InferRules": "changes signatures that programs share; GEPA also writes rules into instructions",
    "BetterTogether": "sets one model on every step; use it from DSPy",
    "Ensemble": "returns a program without a trace or a proof; use it from DSPy",
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
