"""The optimizer that trains weights: DSPy's `BootstrapFinetune`, on runs that came out right."""

from __future__ import annotations

from typing import Any

import dspy

from triplecheck.kg import UserError
from triplecheck.lms import TolerantAdapter
from triplecheck.optimize.distil.provider import trainable
from triplecheck.optimize.optimizers.traces import right_runs
from triplecheck.optimize.spec import Job, OptimizerSpec, Runs


def _finetune(job: Job) -> dspy.Module:
    from dspy.teleprompt import BootstrapFinetune

    # It fails on an example that cannot be read, and trains on nothing where there is nothing: so look first.
    right = [example for example, _ in right_runs(job)]
    if not right:
        raise UserError(
            "no training question was answered rightly, so that there is nothing to train on: another teacher"
        )

    def metric(example: Any, prediction: Any, trace: Any = None) -> bool:
        return bool(job.metric(example, prediction, trace or []))

    teacher = job.student.deepcopy()
    student = job.student.deepcopy()  # it changes what it is given
    student.set_lm(trainable(dspy.settings.lm, job.log_dir.parent / "models"))
    # One model for all steps: told apart, it would mix up the rows of a step that is called several times.
    optimizer = BootstrapFinetune(
        metric=metric, multitask=True, adapter=TolerantAdapter(), exclude_demos=True, num_threads=job.workers
    )
    with dspy.context(**job.teacher_settings):
        return optimizer.compile(student, trainset=right, teacher=teacher)


BOOTSTRAP_FINETUNE = OptimizerSpec(
    "BootstrapFinetune",
    "trains the model's weights on the calls of runs that came out right",
    _finetune,
    lambda size, settings: Runs(teacher=2 * size.train),
    writes=("weights",),
    needs=frozenset({"trainable", "whole"}),
    one_model=True,
    deterministic=False,
    short=("Finetune",),
)
