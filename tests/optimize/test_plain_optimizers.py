"""DSPy's own optimizers, called as a user's script calls them, start from the demonstrations that a program has."""

from __future__ import annotations

from typing import Any

import dspy
import pytest
from optimize_parts import PUPIL, WRITER, Pupil, Writer, engines, kerag, questions

from triplecheck.kg import KnowledgeBase
from triplecheck.lms import language_model
from triplecheck.lms.engines import messages_of
from triplecheck.optimize.dspy_patches import quiet
from triplecheck.optimize.metrics import feedback_metric

Demos = dict[str, list[dspy.Example]]


def _demos(program: dspy.Module) -> Demos:
    return {name: list(step.demos) for name, step in program.named_predictors()}


class Script:
    """A user's script: a program, a metric and training examples, with a model that is configured."""

    def __init__(self, base: KnowledgeBase, pupil: Pupil) -> None:
        asked = questions("train")[:2]
        self.program = kerag(base)
        self.pupil = pupil
        self.metric = feedback_metric(base, asked)
        self.train = [
            dspy.Example(question=one.question, answers=list(one.answers)).with_inputs("question") for one in asked
        ]

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
    pupil = Pupil()
    with engines(pupil=pupil, writer=Writer()), dspy.context(lm=language_model(PUPIL)), quiet():
        yield Script(bundled, pupil)


def test_bootstrapped_demonstrations_come_behind_the_worked_examples(script: Script) -> None:
    before, after = _demos(script.program), _demos(script.bootstrap())
    for name, worked in before.items():
        assert worked, "the program has worked examples"
        assert after[name][: len(worked)] == worked
    assert any(len(after[name]) == len(worked) + 2 for name, worked in before.items())
    assert _demos(script.program) == before


@pytest.mark.parametrize("optimizer", ["random search", "simba", "better together"])
def test_other_optimizers_keep_the_worked_examples(script: Script, optimizer: str) -> None:
    random = dspy.BootstrapFewShotWithRandomSearch(
        metric=script.metric, max_bootstrapped_demos=1, num_candidate_programs=1, num_threads=1
    )
    simba = dspy.SIMBA(metric=script.metric, bsize=2, num_candidates=1, max_steps=1, max_demos=1, num_threads=1)
    before, data = _demos(script.program), {"trainset": script.train}
    if optimizer == "better together":
        script.program.set_lm(language_model(PUPIL))
        made = dspy.BetterTogether(metric=script.metric, p=random, w=simba)
        after = made.compile(
            script.program, **data, valset=script.train, strategy="p", shuffle_trainset_between_steps=False
        )
    else:
        after = (simba if optimizer == "simba" else random).compile(script.program, **data)
    assert all(all(demo in _demos(after)[name] for demo in worked) for name, worked in before.items())


@pytest.mark.parametrize("optimizer", ["labelled", "bootstrap"])
def test_training_questions_are_no_half_demonstrations_of_a_step(script: Script, optimizer: str) -> None:
    """By default DSPy puts whole training examples into every step."""
    if optimizer == "labelled":
        compiled = dspy.LabeledFewShot(k=2).compile(script.program, trainset=script.train)
    else:
        compiled = dspy.BootstrapFewShot(metric=script.metric).compile(script.program, trainset=script.train)
    script.pupil.requests.clear()
    compiled(question="Who directed Alien?")
    told = [message["content"] for request in script.pupil.requests for message in messages_of(request)]
    assert told and not any("Not supplied for this particular example" in text for text in told)


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
