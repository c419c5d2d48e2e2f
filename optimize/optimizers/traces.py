"""Demonstrations from runs of a program: the calls of each step in runs whose answer was right and proved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dspy

from triplecheck.kg import TriplecheckError
from triplecheck.optimize.spec import Job
from triplecheck.optimize.state import steps_of

Demos = dict[str, list[dspy.Example]]


def right_runs(job: Job) -> Iterator[tuple[dspy.Example, Demos]]:
    """Each training example that is answered rightly, with the calls of every step on the way.

    A run that fails gives none: what failed is counted where runs are watched.
    """
    program = job.student.deepcopy()
    names = {id(step): name for name, step in steps_of(program).items()}
    for example in job.train:
        with dspy.context(trace=[], **job.teacher_settings):
            try:
                prediction = program(**example.inputs())
            except TriplecheckError:
                continue
            trace = list(dspy.settings.trace)
        if not job.metric(example, prediction, trace):
            continue
        demos: Demos = {}
        for step, inputs, outputs in trace:
            if id(step) in names:
                demos.setdefault(names[id(step)], []).append(demonstration(inputs, outputs))
        yield example, demos


def demonstration(inputs: Any, outputs: Any) -> dspy.Example:
    """A call as a demonstration."""
    return dspy.Example(augmented=True, **dict(inputs), **dict(outputs.items())).with_inputs(*inputs)
