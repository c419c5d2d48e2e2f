"""DSPy's own optimizers, called as a user's script calls them, start from the demonstrations that a program has."""

from __future__ import annotations

from typing import Any

import dspy
import pytest
from optimize_parts import PUPIL, WRITER, Pupil, Writer, engines, kerag, questions

from triplecheck.kg import KnowledgeBase
from triplecheck.lms import language_model
from triplecheck.optimize.dspy_patches import quiet
from triplecheck.optimize.metrics import feedback_metric

Demos = dict[str, list[dspy.Example]]


def _demos(program: dspy.Module) -> Demos:
    return {name: list(step.demos) for name, step in program.named_predictors()}


class Script:
    """A user's script: a program, a metric and training examples, with a model that is configured."""

    def __init__(self, base: KnowledgeBase) -> None:
        asked = questions("train")[:2]
        self.program = kerag(base)
        self.metric = feedback_metric(base, asked)
        self.train = [dspy.Example(question=one.question).with_inputs("question") for one in asked]

    def mipro(self, demos: int) -> dspy.Module:
        optimizer = dspy.MIPROv2(
            metric=self.metric,
            prompt_model=language_model(WRITER),
            teacher_settings={"lm": language_model("extractive")},
            auto=None,
            num_candidates=4,
            max_bootstrapped_demos=demos,
            max_labeled_demos=0,
            num_threads=1,
        )
        settings: dict[str, Any] = {"num_trials": 3, "minibatch": False, "program_aware_proposer": False}
        return optimizer.compile(self.program, trainset=self.train, valset=self.train, **settings)

    def gepa(self) -> dspy.Module:
        optimizer = dspy.GEPA(
            metric=self.metric, max_metric_calls=8, reflection_lm=language_model(WRITER), num_threads=1
        )
        return optimizer.compile(self.program, trainset=self.train, valset=self.train)

    def bootstrap(self) -> dspy.Module:
        optimizer = dspy.BootstrapFewShot(
            metric=self.metric,
            teacher_settings={"lm": language_model("extractive")},
            max_bootstrapped_demos=2,
            max_labeled_demos=0,
        )
        return optimizer.compile(self.program, trainset=self.train)

    def refine(self) -> dspy.Module:
        refined = dspy.Refine(module=self.program, N=2, reward_fn=lambda _, found: 1.0, threshold=1.0)
        refined(question=self.train[0].question)
        return refined.module


@pytest.fixture
def script(bundled: KnowledgeBase) -> Any:
    with engines(pupil=Pupil(), writer=Writer()), dspy.context(lm=language_model(PUPIL)), quiet():
        yield Script(bundled)


def test_bootstrapped_demonstrations_come_behind_the_worked_examples(script: Script) -> None:
    before, after = _demos(script.program), _demos(script.bootstrap())
    for name, worked in before.items():
        assert worked, "the program has worked examples"
        assert after[name][: len(worked)] == worked
    assert any(len(after[name]) == len(worked) + 2 for name, worked in before.items())
    assert _demos(script.program) == before


def test_mipro_starts_from_the_worked_examples_and_may_keep_them(script: Script) -> None:
    before, after = _demos(script.program), _demos(script.mipro(demos=2))
    assert all(after[name][: len(worked)] == worked for name, worked in before.items())


@pytest.mark.parametrize("optimizer", ["mipro without demonstrations", "gepa", "refine"])
def test_the_worked_examples_stay_where_no_demonstrations_are_chosen(script: Script, optimizer: str) -> None:
    """Of MIPROv2 see stanfordnlp/dspy#9039 and #9938."""
    before = _demos(script.program)
    runs = {"mipro without demonstrations": lambda: script.mipro(demos=0), "gepa": script.gepa, "refine": script.refine}
    assert _demos(runs[optimizer]()) == before == _demos(script.program)


def test_an_optimizer_starts_from_the_demonstrations_that_were_chosen_before(script: Script) -> None:
    for _, step in script.program.named_predictors():
        step.demos = step.demos[:1]
    before, after = _demos(script.program), _demos(script.bootstrap())
    assert all(after[name][:1] == chosen for name, chosen in before.items())
    assert max(map(len, after.values())) == 3
