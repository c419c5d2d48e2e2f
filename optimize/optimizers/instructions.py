"""Optimizers that write instructions and keep those that score best."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import dspy

from triplecheck.optimize.spec import Job, OptimizerSpec, Runs, Size, Value


def _copro(job: Job) -> dspy.Module:
    from dspy.teleprompt import COPRO as Copro  # noqa: N811 - it is a class

    optimizer = Copro(
        prompt_model=job.writer,
        metric=job.metric,
        breadth=int(job.settings["breadth"]),
        depth=int(job.settings["depth"]),
        init_temperature=float(job.settings["temperature"]),
    )
    # It knows one set of examples, by which it chooses.
    return optimizer.compile(
        job.student, trainset=list(job.validation), eval_kwargs={"num_threads": job.workers, "display_progress": False}
    )


def _copro_runs(size: Size, settings: Mapping[str, Value]) -> Runs:
    breadth, depth = int(settings["breadth"]), int(settings["depth"])
    # With several steps, every instruction so far is tried anew at each depth.
    tried = breadth * (depth * (depth + 1) // 2 if size.steps > 1 else depth)
    writer = size.steps * (breadth - 1 + breadth * (depth - 1))
    return Runs(program=size.steps * tried * size.validation, writer=writer)


def _mipro(job: Job) -> dspy.Module:
    from dspy.teleprompt import MIPROv2

    optimizer = MIPROv2(
        metric=job.metric,
        prompt_model=job.writer,
        teacher_settings=job.teacher_settings,
        max_bootstrapped_demos=int(job.settings["demos"]),
        max_labeled_demos=0,
        auto=None,
        num_candidates=int(job.settings["candidates"]),
        num_threads=job.workers,
        seed=job.seed + 1,  # 0 would be taken for none
        init_temperature=float(job.settings["temperature"]),
    )
    return optimizer.compile(
        job.student,
        trainset=list(job.train),
        valset=list(job.validation),
        num_trials=int(job.settings["trials"]),
        minibatch=False,
        # It would read the source code of this machine into the prompts.
        program_aware_proposer=False,
    )


def _mipro_runs(size: Size, settings: Mapping[str, Value]) -> Runs:
    candidates, trials = int(settings["candidates"]), int(settings["trials"])
    return Runs(
        program=(trials + 1) * size.validation,
        teacher=candidates * size.train,
        writer=10 + candidates * size.steps,
    )


def _infer_rules(job: Job) -> dspy.Module:
    from dspy.teleprompt import InferRules

    class Rules(InferRules):  # type: ignore[misc]
        """DSPy's writes into signature classes, which all programs share; and its examples are not a step's."""

        def get_predictor_demos(self, trainset: Any, predictor: Any) -> list[dict[str, Any]]:
            fields = predictor.signature.fields
            return [{name: demo[name] for name in fields if name in demo} for demo in predictor.demos]

        def induce_natural_language_rules(self, predictor: Any, trainset: Any) -> str:
            if not predictor.demos:
                return ""  # rules out of nothing are no rules
            return str(super().induce_natural_language_rules(predictor, trainset))

        def update_program_instructions(self, predictor: Any, natural_language_rules: str) -> None:
            if natural_language_rules:
                predictor.signature = predictor.signature.with_instructions(predictor.signature.instructions)
                super().update_program_instructions(predictor, natural_language_rules)

    train = list(job.train)
    random.Random(job.seed).shuffle(train)
    optimizer = Rules(
        num_candidates=int(job.settings["candidates"]),
        num_rules=int(job.settings["rules"]),
        num_threads=job.workers,
        teacher_settings=job.teacher_settings,
        metric=job.metric,
        max_bootstrapped_demos=int(job.settings["demos"]),
        max_labeled_demos=0,
    )
    optimizer.rules_induction_program.teacher_settings = {"lm": job.writer}
    return optimizer.compile(job.student, trainset=train, valset=list(job.validation))


COPRO = OptimizerSpec(
    "COPRO",
    "has instructions written, and from how they score better ones, step after step",
    _copro,
    _copro_runs,
    writes=("instructions",),
    needs=frozenset({"validation", "writer"}),
    settings={"breadth": 4, "depth": 2, "temperature": 1.4},
    least_train=lambda _: 0,
)
MIPRO = OptimizerSpec(
    "MIPROv2",
    "writes instructions, bootstraps demonstrations, and searches the best combination",
    _mipro,
    _mipro_runs,
    writes=("instructions", "demonstrations"),
    needs=frozenset({"validation", "writer", "optuna"}),
    settings={"demos": 3, "candidates": 4, "trials": 10, "temperature": 1.0},
    short=("MIPRO",),
)
INFER_RULES = OptimizerSpec(
    "InferRules",
    "has rules read off right runs, and adds those to the instructions that score best",
    _infer_rules,
    lambda size, settings: Runs(
        program=int(settings["candidates"]) * size.validation,
        teacher=size.train,
        writer=int(settings["candidates"]) * size.steps,
    ),
    writes=("instructions", "demonstrations"),
    needs=frozenset({"validation", "writer"}),
    settings={"demos": 4, "candidates": 4, "rules": 8},
)
