"""Optimizers that choose demonstrations.

`max_labeled_demos` is always 0: a training example is a question with its answer, not the inputs and outputs of a
step. With other values, DSPy also silently replaces the models of the teacher. `max_rounds` is always 1: further
rounds change the temperature of a default model that programs with roles do not use.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import dspy

from triplecheck.kg import TriplecheckError
from triplecheck.optimize.spec import OptimizerJob, OptimizerSpec, Runs, Size, Value
from triplecheck.optimize.state import steps_of

# Demonstrations: calls with right replies, or the calls of each step in runs whose answer the evidence supports.

Demos = dict[str, list[dspy.Example]]


def labelled_calls(job: OptimizerJob) -> Demos:
    """The calls of each step with right replies: those of the teacher with the full score of the step's own metric.

    What the whole run answers does not count: a right reply is an example wherever the others of its run lead.
    """
    program = job.student.deepcopy()
    names = {id(step): name for name, step in steps_of(program).items()}
    found: Demos = {}
    for example in job.train:
        with dspy.context(trace=[], **job.teacher_settings):
            # A right reply that cannot be computed ends the run, and the calls before it count.
            with suppress(TriplecheckError):
                program(**example.inputs())
            calls = list(dspy.settings.trace)
        for step, inputs, outputs in calls:
            if id(step) in names and job.metric.is_right(example, (step, inputs, outputs)):
                shown = dspy.Example(augmented=True, **inputs, **dict(outputs.items())).with_inputs(*inputs)
                found.setdefault(names[id(step)], []).append(shown)
    return found


def _labeled(job: OptimizerJob) -> dspy.Module:
    """`LabeledFewShot` for each step, with right replies as the labelled examples."""
    from dspy.teleprompt import LabeledFewShot

    labelled, student = labelled_calls(job), job.student
    for name, step in steps_of(student).items():
        calls = labelled.get(name, [])
        random.Random(job.seed).shuffle(calls)
        if calls:  # a step without any keeps its worked examples
            # It takes a module with predictors, and a step is one.
            step.demos = LabeledFewShot(k=int(job.settings["demos"])).compile(step, trainset=calls).demos
    return student


def _bootstrap(job: OptimizerJob) -> dspy.Module:
    from dspy.teleprompt import BootstrapFewShot

    return BootstrapFewShot(**_bootstrapping(job)).compile(job.student, trainset=_shuffled(job))


def _random_search(job: OptimizerJob) -> dspy.Module:
    from dspy.teleprompt import BootstrapFewShotWithRandomSearch

    count, validation = int(job.settings["candidates"]), list(job.validation)
    optimizer = BootstrapFewShotWithRandomSearch(
        **_bootstrapping(job), num_candidate_programs=count, num_threads=job.workers
    )
    # Without seed -2: with labelled examples only, of which there are none, it is the bare program again.
    seeds = [-3, -1, *range(count)]
    return optimizer.compile(job.student, trainset=_shuffled(job), valset=validation, restrict=seeds)


def _bootstrapping(job: OptimizerJob) -> dict[str, Any]:
    most = {"max_bootstrapped_demos": int(job.settings["demos"]), "max_labeled_demos": 0, "max_rounds": 1}
    return {"metric": job.metric, "teacher_settings": job.teacher_settings, **most}


def _shuffled(job: OptimizerJob) -> list[dspy.Example]:
    train = list(job.train)
    random.Random(job.seed).shuffle(train)
    return train


def _search(size: Size, settings: Mapping[str, Value]) -> Runs:
    candidates = int(settings["candidates"])
    return Runs(program=(candidates + 2) * size.validation, teacher=(candidates + 1) * size.train)


LABELED_FEW_SHOT = OptimizerSpec(
    "LabeledFewShot",
    "gives each step demonstrations drawn from right replies, which the known answers give without a model",
    _labeled,
    lambda size, settings: Runs(),
    writes=("demonstrations",),
    settings={"demos": 4},
    labelled=True,
)
BOOTSTRAP_FEW_SHOT = OptimizerSpec(
    "BootstrapFewShot",
    "gives all steps demonstrations from the first correct runs",
    _bootstrap,
    lambda size, settings: Runs(teacher=size.train),
    writes=("demonstrations",),
    settings={"demos": 4},
)
RANDOM_SEARCH = OptimizerSpec(
    "BootstrapFewShotWithRandomSearch",
    "bootstraps several sets of demonstrations and keeps the best one",
    _random_search,
    _search,
    writes=("demonstrations",),
    needs=frozenset({"validation"}),
    settings={"demos": 4, "candidates": 8},
    short=("RandomSearch",),
)
