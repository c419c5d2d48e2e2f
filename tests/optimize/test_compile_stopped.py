"""A used-up budget, a dead server and an error in a metric stop an optimizer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dspy.lm15 import ServerError
from optimize_parts import ANSWERING, Babbling, Pupil, engines, plan

from triplecheck.kg import KnowledgeBase, UnavailableError, UserError
from triplecheck.lms import Budget, BudgetExceededError, ModelReplyError
from triplecheck.lms.engines import messages_of
from triplecheck.optimize.compile import compile_program
from triplecheck.optimize.spec import OptimizerSpec, Runs

TAUGHT: dict[str, Any] = {"teacher": "extractive", "settings": {"candidates": 2, "demos": 1}}
SEARCH = "BootstrapFewShotWithRandomSearch"


class Dying(Pupil):
    """Unavailable after some calls."""

    def __init__(self, calls: int) -> None:
        super().__init__()
        self.calls = calls

    def complete(self, request: Any) -> Any:
        self.calls -= 1
        if self.calls < 0:
            raise ServerError("the server is gone")
        return super().complete(request)


def test_a_used_up_budget_stops_the_run_and_a_larger_one_resumes_it(bundled: KnowledgeBase, tmp_path: Path) -> None:
    pupil = Pupil()
    with engines(pupil=pupil):
        with pytest.raises(BudgetExceededError, match=r"budget of .* calls is used up.*same command again to resume"):
            compile_program(plan(bundled, SEARCH, budget=Budget(calls=25), **TAUGHT), tmp_path / "run")
        first = len(pupil.requests)
        assert first <= 25
        assert not (tmp_path / "run" / "bundle").exists()
        made = compile_program(plan(bundled, SEARCH, budget=Budget(calls=500), **TAUGHT), tmp_path / "run")
        taken_up = len(pupil.requests)
        compile_program(plan(bundled, SEARCH, **TAUGHT), tmp_path / "other")
    assert made.after is not None and made.after.scores.f1 == 1
    assert taken_up == len(pupil.requests) - taken_up, "a call was made twice"


def test_a_budget_below_the_estimate_is_noted_before_the_run(bundled: KnowledgeBase, tmp_path: Path) -> None:
    pupil = Pupil()
    with engines(pupil=pupil):
        given = plan(bundled, SEARCH, budget=Budget(calls=30), **TAUGHT)
        found = compile_program(given, tmp_path / "run", estimate_only=True)
    assert "the budget of 30 calls may stop it early" in " ".join(found.estimate.notes)
    assert found.bundle is None
    assert len(pupil.requests) == 9, "three questions, three steps each"


def test_a_dead_server_does_not_count_as_a_score_of_0(bundled: KnowledgeBase, tmp_path: Path) -> None:
    with engines(pupil=Dying(12)), pytest.raises(UnavailableError, match=r"same command again to resume"):
        compile_program(plan(bundled, SEARCH, **TAUGHT), tmp_path / "run")
    scored = (tmp_path / "run" / "scores.jsonl").read_text()
    with engines(pupil=Pupil()):
        made = compile_program(plan(bundled, SEARCH, **TAUGHT), tmp_path / "run")
    assert (tmp_path / "run" / "scores.jsonl").read_text().startswith(scored)
    assert made.after is not None and made.after.scores.f1 == 1
    assert not made.failures


def test_an_error_in_a_metric_is_raised_unchanged(
    bundled: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr("triplecheck.optimize.scoring.whole", broken)
    with engines(pupil=Pupil()), pytest.raises(ZeroDivisionError, match="a mistake"):
        compile_program(plan(bundled, SEARCH, **TAUGHT), tmp_path / "run")


def test_a_failed_question_counts_as_wrong_and_is_reported(bundled: KnowledgeBase, tmp_path: Path) -> None:
    class Fragile(Pupil):
        """Always fails on one question."""

        def complete(self, request: Any) -> Any:
            text = messages_of(request)[-1]["content"]
            if ANSWERING in text and f"\n{asked}\n" in text:
                from dspy.lm15 import ContextLengthError

                raise ContextLengthError("too long")
            return super().complete(request)

    given = plan(bundled, "LabeledFewShot", settings={"demos": 1})
    asked = given.questions.validation[0].question
    with engines(pupil=Fragile()):
        made = compile_program(given, tmp_path / "run")
    assert made.failures == {"PromptTooLongError": 2}, "before and after"
    assert [one.score for one in made.candidates] == [0.5, 0.0]


def test_a_model_that_writes_nothing_readable_stops_before_the_optimizer(
    bundled: KnowledgeBase, tmp_path: Path
) -> None:
    babbling = Babbling()
    told = "none of 3 runs gives replies that can be read: pupil"
    with engines(pupil=babbling), pytest.raises(ModelReplyError, match=told):
        compile_program(plan(bundled, "BootstrapFewShot"), tmp_path / "run")
    assert len(babbling.requests) == 6, "each is asked twice"


def test_errors_of_an_optimizer_name_it_and_the_log(
    bundled: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(_: Any) -> Any:
        raise RuntimeError("deep inside")

    spec = OptimizerSpec("Broken", "fails", run, lambda *_: Runs(), writes=("demonstrations",))
    monkeypatch.setattr("triplecheck.optimize.compile.resolve_optimizer", lambda _: spec)
    with (
        engines(pupil=Pupil()),
        pytest.raises(UserError, match=r"Broken failed \(RuntimeError: deep inside\); .*optimizer.log"),
    ):
        compile_program(plan(bundled, "Broken"), tmp_path / "run")
