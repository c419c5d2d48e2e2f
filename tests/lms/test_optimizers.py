"""DSPy's optimizers run on programs of role steps."""

from __future__ import annotations

from typing import Any

import dspy
from dspy.teleprompt import BootstrapFewShot, LabeledFewShot
from model_stand_ins import STAND_IN, scripted_model, stand_in_server

from triplecheck.lms import RolePredict, Roles, session
from triplecheck.signatures import JudgeKnowledge, demonstrations
from triplecheck.signatures.demonstrations import is_worked

PARIS = "[[ ## answer ## ]]\nParis\n\n[[ ## completed ## ]]"
ROME = PARIS.replace("Paris", "Rome")


class One(dspy.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.step = RolePredict("question -> answer", role="prune")

    def forward(self, question: str) -> dspy.Prediction:
        return self.step(question=question)


def _examples() -> list[dspy.Example]:
    return [dspy.Example(question=f"Q{number}?", answer="Paris").with_inputs("question") for number in range(2)]


def _exact(example: Any, prediction: Any, trace: Any = None) -> bool:
    return bool(example.answer == prediction.answer)


def test_labelled_examples_become_demonstrations() -> None:
    compiled = LabeledFewShot(k=2).compile(One(), trainset=_examples())
    assert len(compiled.step.demos) == 2
    with scripted_model([PARIS], "a") as engine, session("a"):
        assert compiled(question="new").answer == "Paris"
        assert len(engine.requests[0].messages) == 5


def test_an_optimizer_starts_from_the_worked_examples_and_keeps_them() -> None:
    program, calls = RolePredict(JudgeKnowledge), demonstrations(JudgeKnowledge)
    worked = list(program.demos)
    taught = LabeledFewShot(k=1).compile(program, trainset=calls)
    assert taught.demos[:-1] == worked and not is_worked(taught.demos[-1])
    bare = RolePredict(JudgeKnowledge)
    bare.demos = []
    assert len(LabeledFewShot(k=1).compile(bare, trainset=calls).demos) == 1
    with stand_in_server(lambda _: "Known: yes") as server, server.environment(), session(STAND_IN):
        taught(question="Who?")
    assert [len(request.messages) for request in server.asked] == [2 * len(worked) + 4]
    assert program.demos == worked


def test_a_teacher_with_other_roles_writes_the_demonstrations() -> None:
    with scripted_model([PARIS, PARIS], "teacher") as teacher, scripted_model([ROME], "student"):
        with session("student") as ledger:
            optimizer = BootstrapFewShot(
                metric=_exact, max_labeled_demos=0, teacher_settings={"lm_roles": Roles(default="teacher")}
            )
            compiled = optimizer.compile(One(), trainset=_examples())
            assert compiled(question="new").answer == "Rome"
        assert teacher.left == 0
    assert [demo.answer for demo in compiled.step.demos] == ["Paris", "Paris"]
    assert compiled.step.lm is None
    assert compiled.step.role == "prune"
    assert {name: usage.calls for name, usage in ledger.usage().by_model.items()} == {"teacher": 2, "student": 1}


def test_further_rounds_ask_again_with_another_seed() -> None:
    with scripted_model([ROME, PARIS, PARIS], "a") as engine, session("a"):
        optimizer = BootstrapFewShot(metric=_exact, max_labeled_demos=0, max_rounds=2)
        compiled = optimizer.compile(One(), trainset=_examples()[:1])
        assert [demo.answer for demo in compiled.step.demos] == ["Paris"]
        first, second = engine.requests[:2]
    assert (first.config.seed, first.config.temperature) == (None, None)
    assert (second.config.seed, second.config.temperature) == (1, 1.0)


def test_a_varied_model_that_an_optimizer_sets_is_asked_with_its_seed() -> None:
    with scripted_model([PARIS, ROME], "a") as engine, session("a"):
        program = One()
        for rollout, answer in ((7, "Paris"), (8, "Rome")):
            program.set_lm(dspy.settings.lm.copy(rollout_id=rollout, temperature=1.0))
            assert program(question="Q?").answer == answer
    assert [request.config.seed for request in engine.requests] == [7, 8]


def test_unreadable_replies_do_not_stop_an_optimizer() -> None:
    with scripted_model(["?", "?", PARIS], "a"), session("a"):
        compiled = BootstrapFewShot(metric=_exact, max_labeled_demos=0).compile(One(), trainset=_examples())
    assert len(compiled.step.demos) == 1
