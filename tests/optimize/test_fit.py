"""Fitting a program: the chosen options, the threshold, the files, and the settings that a budget skips."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from dspy.lm15 import Request, Response

from triplecheck.evals import Question
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.lms import Budget, BudgetExceededError, RolePredict, Roles, register_engine, session, unregister_engine
from triplecheck.lms.engines import reply
from triplecheck.optimize.fit import FitPlan, fit_program, read_space, space_of
from triplecheck.optimize.fit.fitting import halves
from triplecheck.optimize.fit.search import held, nested
from triplecheck.programs import KERAG, KERAGLimits, Outcome, Program, ProgramOptions, Sources, resolve_program
from triplecheck.programs.base import make_program
from triplecheck.programs.steps import Trace

COUNTER = "counter"
SPACE = {"skill": (0.2, 0.9, 0.5), "slow": (True,)}


class Counter:
    """Counts its calls."""

    fingerprint = "1"

    def __init__(self) -> None:
        self.calls = 0

    def complete(self, request: Request) -> Response:
        self.calls += 1
        return reply(request, "[[ ## answer ## ]]\nwell\n\n[[ ## completed ## ]]", prompt_tokens=1, completion_tokens=1)

    def __deepcopy__(self, memo: dict[int, object]) -> Counter:
        return self


@dataclass(frozen=True)
class GuesserOptions(ProgramOptions):
    skill: float = 0.5
    slow: bool = False


class Guesser(Program):
    """Answers "HARDNESS CONFIDENCE" correctly if its skill is at least the hardness; "-" means no confidence."""

    name: ClassVar[str] = "guesser"
    Options: ClassVar[type[ProgramOptions]] = GuesserOptions
    options: GuesserOptions

    def __init__(self, sources: Sources, **options: Any) -> None:
        super().__init__(sources, **options)
        self.step = RolePredict("question -> answer", role="answer")

    def run(self, question: str, trace: Trace) -> Outcome:
        _, hardness, sure = question.split()
        for turn in range(2 if self.options.slow else 1):
            self.step(question=f"{question} {turn}")
        if sure == "crash":
            raise ZeroDivisionError("it broke")
        confidence = None if sure == "-" else float(sure)
        return Outcome("right" if self.options.skill >= float(hardness) else "wrong", confidence=confidence)


@pytest.fixture
def counter() -> Iterator[Counter]:
    engine = Counter()
    register_engine(COUNTER, engine)
    yield engine
    unregister_engine(COUNTER)


def ask(number: int, hardness: float, sure: float | str) -> Question:
    return Question(f"q{number}", f"q{number} {hardness} {sure}", ("right",))


def questions(count: int = 120) -> list[Question]:
    """A quarter is too hard for a skill of 0.5; those answers have a lower confidence."""
    return [ask(n, 0.8, 0.1 + n % 3 / 10) if n % 4 == 0 else ask(n, 0.3, 0.5 + n % 5 / 10) for n in range(count)]


def plan(knowledge_base: KnowledgeBase, **given: Any) -> FitPlan:
    given.setdefault("questions", questions())
    return FitPlan(Guesser, Sources.of(knowledge_base), roles=Roles(COUNTER), **given)


def test_the_threshold_lets_right_answers_pass(bundled: KnowledgeBase, counter: Counter, tmp_path: Path) -> None:
    fitted = fit_program(plan(bundled), tmp_path / "run", knowledge_base=bundled)
    assert fitted.choice.kept and 0.3 < fitted.choice.abstain_below <= 0.5
    assert fitted.choice.point.wrong == 0
    assert fitted.sentence.startswith("Of the questions that it answers, it answers at least 90% correctly, with a")
    report = json.loads((tmp_path / "run" / "fit.json").read_text("utf-8"))
    assert report["abstain_below"] == fitted.choice.abstain_below
    assert report["guarantee"]["sentence"] == fitted.sentence and report["calibration"]["right"] == 1
    assert len(report["curve"]) == len(fitted.curve) and report["candidates"][0]["chosen"]
    assert (tmp_path / "run" / "calibration.png").read_bytes().startswith(b"\x89PNG")
    manifest = json.loads((tmp_path / "run" / "bundle" / "manifest.json").read_text("utf-8"))
    assert manifest["options"]["abstain_below"] == fitted.choice.abstain_below
    program = make_program(Guesser, Sources.of(bundled), manifest["options"])
    with session(COUNTER):
        sure, unsure, unsaid = (program(question=f"a 0.3 {sure}") for sure in ("0.9", "0.2", "-"))
    assert (sure.abstained, sure.answer) == (False, "right")
    assert (unsure.abstained, unsure.reason, unsure.confidence) == (True, "low_confidence", 0.2)
    assert (unsaid.abstained, unsaid.answer) == (True, "")


def test_options_are_chosen_one_after_the_other(bundled: KnowledgeBase, counter: Counter, tmp_path: Path) -> None:
    fitted = fit_program(plan(bundled, space=SPACE), tmp_path / "run")
    tried = [dict(one.setting) for one in fitted.searched.tried]
    assert tried == [
        {"skill": 0.5, "slow": False},
        {"skill": 0.2, "slow": False},
        {"skill": 0.9, "slow": False},
        {"skill": 0.9, "slow": True},
    ]
    assert dict(fitted.searched.chosen.setting) == {"skill": 0.9, "slow": False}, "as right as the slow one, for less"
    assert fitted.choice.abstain_below == 0, "all is right"


def test_asked_questions_are_not_asked_again(bundled: KnowledgeBase, counter: Counter, tmp_path: Path) -> None:
    first = fit_program(plan(bundled, space=SPACE), tmp_path / "run")
    asked = counter.calls
    again = fit_program(plan(bundled, space=SPACE), tmp_path / "run")
    assert counter.calls == asked
    usage = {"usage"}
    assert {k: v for k, v in again.to_json().items() if k not in usage} == {
        k: v for k, v in first.to_json().items() if k not in usage
    }


def test_a_budget_leaves_out_settings_by_name(bundled: KnowledgeBase, counter: Counter, tmp_path: Path) -> None:
    fitting, calibrating = halves(questions())
    enough = 2 * len(fitting) + len(calibrating)
    fitted = fit_program(plan(bundled, space=SPACE, budget=Budget(calls=enough)), tmp_path / "run")
    assert counter.calls <= enough and len(fitted.searched.tried) == 2
    assert list(fitted.searched.left_out) == ["skill=0.9, slow=False", "skill=0.5, slow=True"]
    assert "calls" in fitted.searched.left_out["skill=0.9, slow=False"]
    assert any("2 settings were skipped" in note for note in fitted.notes)


def test_a_run_stopped_by_its_budget_is_resumed(bundled: KnowledgeBase, counter: Counter, tmp_path: Path) -> None:
    with pytest.raises(BudgetExceededError):
        fit_program(plan(bundled, budget=Budget(calls=30)), tmp_path / "run")
    assert counter.calls == 30 and not (tmp_path / "run" / "fit.json").exists()
    assert fit_program(plan(bundled), tmp_path / "run").choice.kept
    assert counter.calls == len(questions())


@pytest.mark.parametrize("guarantee", ["answered", "asked"])
def test_an_unmet_guarantee_is_reported_with_the_best_one_that_can_be_met(
    guarantee: Any, bundled: KnowledgeBase, counter: Counter, tmp_path: Path
) -> None:
    hard = [ask(n, 0.8, 0.5) for n in range(40)]
    fitted = fit_program(plan(bundled, questions=hard, guarantee=guarantee), tmp_path / "run")
    assert fitted.sentence.startswith("No threshold meets this guarantee")
    assert (
        "abstains from every question" in fitted.sentence
        and "The best guarantee that can be met: answering only with" in fitted.sentence
    )
    assert any("same confidence" in note for note in fitted.notes)
    assert any("it takes 29 or more" in note for note in fitted.notes) == (guarantee == "answered")
    options = json.loads((fitted.bundle / "manifest.json").read_text("utf-8"))["options"]
    with session(COUNTER):
        assert make_program(Guesser, Sources.of(bundled), options)(question="a 0.1 1.0").abstained


def test_errors_count_as_unanswered_and_are_noted(bundled: KnowledgeBase, counter: Counter, tmp_path: Path) -> None:
    fitted = fit_program(plan(bundled, questions=[*questions(), ask(999, 0.3, "crash")]), tmp_path / "run")
    assert any("1 of 121 questions ended in an error" in note for note in fitted.notes)


class TestWhatCannotBeFitted:
    def test_no_or_too_few_questions(self, bundled: KnowledgeBase, counter: Counter, tmp_path: Path) -> None:
        for few in ([], questions(1), [Question("a", "a 0.3 0.9", (), answers_known=False)] * 9):
            with pytest.raises(UserError, match="too few to be halved"):
                fit_program(plan(bundled, questions=few), tmp_path / "run")

    def test_no_confidence(self, bundled: KnowledgeBase, counter: Counter, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="no threshold to fit"):
            fit_program(plan(bundled, questions=[ask(n, 0.3, "-") for n in range(20)]), tmp_path / "run")

    def test_an_option_that_does_not_exist(self, bundled: KnowledgeBase, counter: Counter, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="no option 'size'"):
            fit_program(plan(bundled, space={"size": (1,)}), tmp_path / "run")

    def test_a_directory_of_something_else(self, bundled: KnowledgeBase, counter: Counter, tmp_path: Path) -> None:
        (tmp_path / "mine.txt").write_text("mine")
        with pytest.raises(UserError, match="holds no fit"):
            fit_program(plan(bundled), tmp_path)

    def test_what_is_fitted_already(self, bundled: KnowledgeBase, counter: Counter, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="already has a fitted threshold"):
            fit_program(plan(bundled, options={"abstain_below": 0.4}), tmp_path / "run")


class TestSpace:
    def test_every_option_that_is_fitted_by_default_exists(self, bundled: KnowledgeBase) -> None:
        for name in ("know3rag", "kerag", "anchorrag", "4stepfocus"):
            kind, space = resolve_program(name), space_of(name)
            for option, values in space.items():
                for value in values:
                    made = make_program(kind, Sources.of(bundled), nested({}, {option: value}))
                    assert held(made, [option]) == {option: value}
        assert space_of("io") == {}

    def test_values_are_read(self) -> None:
        assert read_space(["a.b=0.1, 2,none", "c=bm25,true"]) == {"a.b": (0.1, 2, None), "c": ("bm25", True)}
        with pytest.raises(UserError, match="write NAME=VALUE,VALUE"):
            read_space(["a"])
        with pytest.raises(UserError, match="given twice"):
            read_space(["a=1", "a=2"])

    def test_a_setting_leaves_the_rest_of_a_table(self) -> None:
        assert nested({"limits": {"values": 5}}, {"limits.candidates": 1, "hops": 2}) == {
            "limits": {"values": 5, "candidates": 1},
            "hops": 2,
        }
        with pytest.raises(UserError, match="not a table"):
            nested({"limits": 3}, {"limits.candidates": 1})

    def test_values_that_are_given_are_found(self, bundled: KnowledgeBase) -> None:
        program = KERAG(Sources.of(bundled), hops=1, limits=KERAGLimits(candidates=7))
        assert held(program, space_of("kerag")) == {"hops": 1, "limits.candidates": 7}
