"""Optimizers that look at what went well and badly, and rewrite instructions accordingly."""

from __future__ import annotations

from collections.abc import Mapping

import dspy

from triplecheck.optimize.spec import Job, OptimizerSpec, Runs, Size, Value


def _simba(job: Job) -> dspy.Module:
    from dspy.teleprompt import SIMBA as Simba  # noqa: N811 - it is a class

    optimizer = Simba(
        metric=job.metric,
        bsize=int(job.settings["batch"]),
        num_candidates=int(job.settings["candidates"]),
        max_steps=int(job.settings["steps"]),
        max_demos=int(job.settings["demos"]),
        prompt_model=job.writer,
        num_threads=job.workers,
    )
    return optimizer.compile(job.student, trainset=list(job.train), seed=job.seed)


def _simba_runs(size: Size, settings: Mapping[str, Value]) -> Runs:
    batch, candidates, steps = (int(settings[name]) for name in ("batch", "candidates", "steps"))
    runs = steps * batch * (2 * candidates + 1) + (candidates + 1) * size.train
    return Runs(program=runs, writer=steps * (candidates + 1))


def _gepa(job: Job) -> dspy.Module:
    from dspy.teleprompt import GEPA as Gepa  # noqa: N811 - it is a class

    job.log_dir.mkdir(parents=True, exist_ok=True)
    optimizer = Gepa(
        metric=job.metric.with_feedback,
        max_metric_calls=_metric_calls(len(job.validation), job.settings),
        reflection_minibatch_size=int(job.settings["batch"]),
        reflection_lm=job.writer,
        num_threads=job.workers,
        log_dir=str(job.log_dir),
        seed=job.seed,
        add_format_failure_as_feedback=True,
    )
    return optimizer.compile(job.student, trainset=list(job.train), valset=list(job.validation))


def _metric_calls(validation: int, settings: Mapping[str, Value]) -> int:
    return validation + int(settings["rounds"]) * (2 * int(settings["batch"]) + validation)


def _gepa_runs(size: Size, settings: Mapping[str, Value]) -> Runs:
    # What a round begins is finished, so that it may take one validation set more.
    calls = _metric_calls(size.validation, settings) + size.validation
    return Runs(program=calls, writer=calls // (2 * int(settings["batch"])))


SIMBA = OptimizerSpec(
    "SIMBA",
    "samples runs, and turns what tells good from bad ones into rules and demonstrations",
    _simba,
    _simba_runs,
    writes=("instructions", "demonstrations"),
    needs=frozenset({"writer"}),
    settings={"batch": 16, "candidates": 4, "steps": 4, "demos": 3},
    one_model=True,
    least_train=lambda settings: int(settings["batch"]),
)
GEPA = OptimizerSpec(
    "GEPA",
    "rewrites instructions from feedback in words and keeps a Pareto front of programs",
    _gepa,
    _gepa_runs,
    writes=("instructions",),
    needs=frozenset({"validation", "writer"}),
    settings={"rounds": 10, "batch": 3},
    resumes="checkpoint",
)
