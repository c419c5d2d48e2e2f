"""Optimizers that write instructions and keep those that score best."""

from __future__ import annotations

from collections.abc import Mapping

import dspy

from triplecheck.optimize.dspy_patches import keeping_instructions
from triplecheck.optimize.spec import OptimizerJob, OptimizerSpec, Runs, Size, Value


def _copro(job: OptimizerJob) -> dspy.Module:
    from dspy.teleprompt import COPRO as Copro  # noqa: N811 - it is a class

    optimizer = Copro(
        prompt_model=job.prompt_model,
        metric=job.metric,
        breadth=int(job.settings["breadth"]),
        depth=int(job.settings["depth"]),
        init_temperature=float(job.settings["temperature"]),
    )
    # It takes one set of examples, on which it compares instructions.
    return optimizer.compile(
        job.student, trainset=list(job.validation), eval_kwargs={"num_threads": job.workers, "display_progress": False}
    )


def _copro_runs(size: Size, settings: Mapping[str, Value]) -> Runs:
    breadth, depth = int(settings["breadth"]), int(settings["depth"])
    # With several steps, all earlier instructions are evaluated again at each depth.
    tried = breadth * (depth * (depth + 1) // 2 if size.steps > 1 else depth)
    prompt_model = size.steps * (breadth - 1 + breadth * (depth - 1))
    return Runs(program=size.steps * tried * size.validation, prompt_model=prompt_model)


def _mipro(job: OptimizerJob) -> dspy.Module:
    from dspy.teleprompt import MIPROv2

    optimizer = MIPROv2(
        metric=job.metric,
        prompt_model=job.prompt_model,
        teacher_settings=job.teacher_settings,
        max_bootstrapped_demos=int(job.settings["demos"]),
        max_labeled_demos=0,
        auto=None,
        num_candidates=int(job.settings["candidates"]),
        num_threads=job.workers,
        seed=job.seed + 1,  # 0 would count as no seed
        init_temperature=float(job.settings["temperature"]),
    )
    with keeping_instructions():
        return optimizer.compile(
            job.student,
            trainset=list(job.train),
            valset=list(job.validation),
            num_trials=int(job.settings["trials"]),
            minibatch=False,
            # It would put the program's source code into the prompts.
            program_aware_proposer=False,
        )


def _mipro_runs(size: Size, settings: Mapping[str, Value]) -> Runs:
    candidates, trials = int(settings["candidates"]), int(settings["trials"])
    return Runs(
        program=(trials + 1) * size.validation,
        teacher=candidates * size.train,
        prompt_model=10 + candidates * size.steps,
    )


COPRO = OptimizerSpec(
    "COPRO",
    "writes instructions and improves them by their scores, one step after the other",
    _copro,
    _copro_runs,
    writes=("instructions",),
    needs=frozenset({"validation", "prompt_model"}),
    settings={"breadth": 4, "depth": 2, "temperature": 1.4},
    least_train=lambda _: 0,
)
MIPRO = OptimizerSpec(
    "MIPROv2",
    "writes instructions, bootstraps demonstrations, and searches for the best combination",
    _mipro,
    _mipro_runs,
    writes=("instructions", "demonstrations"),
    needs=frozenset({"validation", "prompt_model", "optuna"}),
    settings={"demos": 3, "candidates": 4, "trials": 10, "temperature": 1.0},
    short=("MIPRO",),
)
# Optimizers that rewrite instructions after comparing good and bad runs.


def _simba(job: OptimizerJob) -> dspy.Module:
    from dspy.teleprompt import SIMBA as Simba  # noqa: N811 - it is a class

    optimizer = Simba(
        metric=job.metric,
        bsize=int(job.settings["batch"]),
        num_candidates=int(job.settings["candidates"]),
        max_steps=int(job.settings["steps"]),
        max_demos=int(job.settings["demos"]),
        prompt_model=job.prompt_model,
        num_threads=job.workers,
    )
    return optimizer.compile(job.student, trainset=list(job.train), seed=job.seed)


def _simba_runs(size: Size, settings: Mapping[str, Value]) -> Runs:
    batch, candidates, steps = (int(settings[name]) for name in ("batch", "candidates", "steps"))
    runs = steps * batch * (2 * candidates + 1) + (candidates + 1) * size.train
    return Runs(program=runs, prompt_model=steps * (candidates + 1))


def _gepa(job: OptimizerJob) -> dspy.Module:
    from dspy.teleprompt import GEPA as Gepa  # noqa: N811 - it is a class

    job.log_dir.mkdir(parents=True, exist_ok=True)
    optimizer = Gepa(
        metric=job.metric.with_feedback,
        max_metric_calls=_metric_calls(len(job.validation), job.settings),
        reflection_minibatch_size=int(job.settings["batch"]),
        reflection_lm=job.prompt_model,
        num_threads=job.workers,
        log_dir=str(job.log_dir),
        seed=job.seed,
        add_format_failure_as_feedback=True,
    )
    return optimizer.compile(job.student, trainset=list(job.train), valset=list(job.validation))


def _metric_calls(validation: int, settings: Mapping[str, Value]) -> int:
    return validation + int(settings["rounds"]) * (2 * int(settings["batch"]) + validation)


def _gepa_runs(size: Size, settings: Mapping[str, Value]) -> Runs:
    # A round that has started is finished: up to one more validation set.
    calls = _metric_calls(size.validation, settings) + size.validation
    return Runs(program=calls, prompt_model=calls // (2 * int(settings["batch"])))


SIMBA = OptimizerSpec(
    "SIMBA",
    "samples runs, and derives rules and demonstrations from the differences between good and bad ones",
    _simba,
    _simba_runs,
    writes=("instructions", "demonstrations"),
    needs=frozenset({"prompt_model"}),
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
    needs=frozenset({"validation", "prompt_model"}),
    settings={"rounds": 10, "batch": 3},
    resumes="checkpoint",
)
