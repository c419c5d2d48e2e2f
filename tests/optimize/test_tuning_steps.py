"""Steps are tuned alone: their calls are recorded once, and demonstrations are drawn from what is right."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request, Response, ServerError
from optimize_parts import CAREFULLY, PUPIL, WRITER, Pupil, Writer, engines, kerag, questions

from triplecheck.evals import Question
from triplecheck.evals.questions import parse_question
from triplecheck.kg import KnowledgeBase, UnavailableError, UserError
from triplecheck.lms import Budget, BudgetExceededError, session
from triplecheck.optimize.dspy_patches import patient
from triplecheck.optimize.examples import split, three_parts
from triplecheck.optimize.fit.fitting import halves
from triplecheck.optimize.metrics import Case
from triplecheck.optimize.paired import Measured
from triplecheck.optimize.tuning.recorded import RecordedCall, record
from triplecheck.optimize.tuning.steps import StepChoice, best_demos, demo_sets, own_demos, rewritten
from triplecheck.optimize.tuning.tries import threshold_of
from triplecheck.programs import KERAG, Sources
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.steps import Assisted, Trace
from triplecheck.signatures.demonstrations import is_worked

KINDS = ("one_hop", "count", "unanswerable", "conjunction")


def test_three_parts_leave_enough_to_tell_a_gain() -> None:
    def asked(count: int, **more: Any) -> list[Question]:
        return [Question(f"q{n}", f"Question {n}?", ("a",), **more) for n in range(count)]

    for count, sizes in {
        300: (100, 100, 100),
        1000: (550, 150, 300),
        60: (16, 24, 20),
        150: (63, 37, 50),
        200: (63, 71, 66),
    }.items():
        found = three_parts(asked(count))
        assert (len(found.train), len(found.validation), len(found.held_out)) == sizes
        parts = [{question.id for question in part} for part in vars(found).values()]
        assert len(set.union(*parts)) == count
    held_out = asked(25)
    found = three_parts(asked(100), held_out)
    assert set(found.held_out) == set(held_out) and not set(found.train) & set(held_out)
    with pytest.raises(UserError, match=r"30 questions with answers are too few .* give 60 or more"):
        three_parts(asked(30))
    nothing = [replace(question, answers=()) for question in asked(90)]
    with pytest.raises(UserError, match="0 questions with answers are too few to tell a gain from chance: give 60"):
        three_parts(nothing)
    assert len(three_parts([*asked(60), *(replace(one, id=f"n{one.id}", question=one.id) for one in nothing)]).train)
    lines = [parse_question({"id": f"q{n}", "question": f"Question {n}?"}) for n in range(90)]
    with pytest.raises(UserError, match=r"0 questions with answers .*\(90 of 90 lines have no field `answers`\)"):
        three_parts(lines)


def test_a_choice_changes_what_it_is_about_and_nothing_else(bundled: KnowledgeBase) -> None:
    program = kerag(bundled)
    worked, words = list(program.summarize.demos), program.summarize.signature.instructions
    own = (dspy.Example(question="Who?"),)
    other = StepChoice("summarize", "another instruction", None, "Look twice.", 0.0, 1.0, 1)
    for choice, demos, text in (
        (other, worked, "Look twice."),
        (StepChoice("summarize", "own", own, None, 0.0, 1.0, 1), list(own), words),
    ):
        step = StepChoice.from_json(choice.to_json(), program.summarize.signature).applied(program).summarize
        assert ([dict(demo) for demo in step.demos], step.signature.instructions) == ([dict(d) for d in demos], text)


def _call(id: str, kind: str, text: str = "", *, full: bool = True) -> RecordedCall:
    return RecordedCall(id, kind, dspy.Example(question=f"{id} {text}", known=True), full)


def test_calls_are_recorded_once_with_right_replies(bundled: KnowledgeBase, tmp_path: Path) -> None:
    pupil, asked = Pupil(), [question for kind in KINDS for question in questions("train", (kind,))[:3]]
    with engines(pupil=pupil), session("pupil") as ledger:
        first = record(kerag(bundled), asked, tmp_path)
        (file,) = tmp_path.iterdir()
        written = file.stat().st_mtime_ns
        again = record(kerag(bundled), asked, tmp_path)
    assert not pupil.requests and not ledger.usage().by_model.get("pupil"), "right replies cost no call of the model"
    assert file.stat().st_mtime_ns == written and again == first
    assert set(first) == {"name_topics", "select_paths", "summarize"}
    assert {call.id for call in first["name_topics"]} <= {question.id for question in asked}
    assert all(call.full for call in first["summarize"])
    assert {"look-up", "count"} <= {call.kind for call in first["summarize"]}


def test_recording_goes_on_after_the_questions_that_were_recorded(bundled: KnowledgeBase, tmp_path: Path) -> None:
    asked, program = questions("train")[:4], kerag(bundled)
    told: list[int] = []

    def stops(what: str, done: int, total: int | None) -> None:
        told.append(done)
        if len(told) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        record(program, asked, tmp_path, stops)
    (file,) = (tmp_path / "recorded").iterdir()
    with file.open("a") as half:
        half.write('{"id": "ha')
    found = record(program, asked, tmp_path, stops)
    assert told == [0, 1, 2, 2, 3]
    assert found == record(program, asked, tmp_path / "whole")
    assert {call.id for calls in found.values() for call in calls} == {question.id for question in asked}


def test_the_threshold_leaves_out_answers_where_there_are_none() -> None:
    def row(confidence: float | None, *, right: bool, answerable: bool = True, status: str = "ok") -> dict[str, Any]:
        crag = "accurate" if right else "hallucinated"
        return {"confidence": confidence, "crag": crag, "answerable": answerable, "status": status}

    sure = [row(0.9, right=True), row(0.8, right=True)]
    unsure = [row(0.3, right=False, answerable=False), row(None, right=False, answerable=False)]
    found = threshold_of(Measured({str(at): one for at, one in enumerate([*sure, *unsure])}))
    assert found == 0.8
    right = [*unsure, row(0.2, right=True), row(0.25, right=True), row(0.1, right=True)]
    assert threshold_of(Measured({str(at): one for at, one in enumerate([*sure, *right])})) == 0.1
    wrong = [row(0.1, right=False), row(0.0, right=True, answerable=False, status="abstained")]
    assert threshold_of(Measured({str(at): one for at, one in enumerate([*sure, *wrong])})) is None
    assert threshold_of(Measured({})) is None


class Mended(KERAG):
    """A program in which an assist changes what the step `NameTopics` gave."""

    def run(self, question: str, trace: Trace) -> Outcome:
        trace.add(Assisted("all_topics", "NameTopics", ["before"], ["after"]))
        return super().run(question, trace)


def test_a_reply_that_an_assist_mended_is_no_demonstration(bundled: KnowledgeBase, tmp_path: Path) -> None:
    program = Mended(Sources.of(bundled), hops=1, assist="-plans")
    with session("extractive"):
        found = record(program, questions("train")[:3], tmp_path)
    assert not any(call.full for call in found["name_topics"]) and own_demos(found["name_topics"], 0, 4) == []
    assert all(call.full for call in found["summarize"])


def test_own_demonstrations_are_drawn_from_every_kind_and_only_from_right_calls() -> None:
    calls = [_call(f"a{n}", "look-up", "long " * n) for n in range(5)]
    calls += [_call("b", "count"), _call("c", "extreme"), _call("d", "bound", full=False)]
    drawn = own_demos(calls, seed=0, most=4)
    names = [demo.question.split()[0] for demo in drawn]
    assert {"b", "c"} < set(names) and "d" not in names
    assert len(names) == len(set(names)) == 4
    assert names == [demo.question.split()[0] for demo in own_demos(list(reversed(calls)), seed=0, most=4)]
    assert len(own_demos(calls[:1], seed=0, most=4)) == 1


def test_short_calls_are_preferred() -> None:
    calls = [_call("a", "look-up", "long " * 50), _call("b", "look-up"), _call("c", "look-up", "long " * 20)]
    assert own_demos(calls, seed=0, most=1)[0].question.strip() == "b"


def test_the_sets_are_worked_both_own_and_none(bundled: KnowledgeBase) -> None:
    step = kerag(bundled).select_paths
    own = [_call("a", "look-up")]
    sets = demo_sets(step, own)
    assert list(sets) == ["worked", "worked + own", "none", "own"]
    assert list(sets["worked"]) == step.demos and len(sets["worked + own"]) == len(step.demos) + 1
    assert not any(map(is_worked, sets["own"])) and sets["none"] == ()
    assert list(demo_sets(step, [])) == ["worked", "none"], "without own calls there are two"
    step.demos = []
    assert {name: len(demos) for name, demos in demo_sets(step, own).items()} == {"none": 0, "own": 1}


def test_wordings_of_one_question_stay_together() -> None:
    asked = [
        Question(f"q{n}-{w}", f"Question {n}, wording {w}?", ("a",), extra={"group": f"g{n}"})
        for n in range(100)
        for w in range(3)
    ]
    for parts in (three_parts(asked), three_parts(asked[60:], asked[:66]), split(asked), halves(asked)):
        groups = [{one.group for one in part} for part in (parts if isinstance(parts, tuple) else vars(parts).values())]
        assert all(groups) and len(set.union(*groups)) == sum(map(len, groups))


def test_too_few_groups_are_refused() -> None:
    asked = [Question(f"q{n}", f"Question {n}?", ("a",), extra={"group": "ab"[n % 2]}) for n in range(100)]
    with pytest.raises(UserError, match="too few groups"):
        three_parts(asked)


def test_a_line_separator_in_a_recorded_call_is_text(bundled: KnowledgeBase, tmp_path: Path) -> None:
    (one,) = questions("train", ("one_hop",))[:1]
    asked = [replace(one, question=f"{one.question}\u2028Please")]
    first = record(kerag(bundled), asked, tmp_path)
    assert first and record(kerag(bundled), asked, tmp_path) == first


class Mortal(Pupil):
    """Cannot be reached while it is `gone`."""

    gone = False

    def complete(self, request: Request) -> Response:
        if self.gone:
            raise ServerError("the server is gone")
        return super().complete(request)


class Unreachable(Writer):
    """Never there."""

    def complete(self, request: Request) -> Response:
        raise ServerError("the writer is gone")


class Fatal(Writer):
    """The pupil is gone as soon as it is asked for advice."""

    def __init__(self, pupil: Mortal) -> None:
        super().__init__()
        self.pupil = pupil

    def complete(self, request: Request) -> Response:
        self.pupil.gone = True
        return super().complete(request)


def test_an_outage_or_a_spent_budget_while_an_instruction_is_rewritten_is_no_verdict(
    bundled: KnowledgeBase, tmp_path: Path
) -> None:
    program = KERAG(Sources.of(bundled), hops=1, assist="-plans", demos="none")
    asked = questions("train")[:6]
    calls = record(program, asked, tmp_path)["summarize"]
    cases = {one.id: Case(one, program.sources) for one in asked}

    def found(budget: Budget, writer: Writer, pupil: Pupil) -> StepChoice | None:
        with engines(pupil=pupil, writer=writer), patient(), session(PUPIL, budget) as ledger:
            return rewritten(
                *(program, "summarize", calls, calls, cases),
                prompt_model=WRITER,
                out=tmp_path / "out",
                ledger=ledger,
                budget=budget,
            )

    with pytest.raises(UnavailableError, match=r"writer \(role prompt model.*the writer is gone"):
        found(Budget(), Unreachable(), Pupil())
    mortal = Mortal()
    with pytest.raises(UnavailableError, match="the server is gone"):
        found(Budget(), Fatal(mortal), mortal)
    with pytest.raises(BudgetExceededError, match="the budget of 3 calls is used up"):
        found(Budget(calls=3), Writer(), Pupil())
    choice = found(Budget(), Writer(), Pupil())
    assert choice is not None and (choice.before, choice.after, choice.instructions) == (0.0, 1.0, CAREFULLY)


@pytest.mark.parametrize(
    ("none", "chosen"), [([0.0] * 6, "own"), ([1.0, 1.0, 1.0, 1.0, 0.0, 0.0], "own"), ([1.0] * 5 + [0.0], "none")]
)
def test_of_demonstrations_that_differ_by_chance_the_shortest_are_taken(
    none: list[float], chosen: str, bundled: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    demos = [dspy.Example(question=f"Question {at}?") for at in range(3)]
    sets = {"worked": (demos[0],), "worked + own": tuple(demos), "none": (), "own": tuple(demos[1:])}
    found = {1: [0.0] * 6, 3: [1.0] * 6, 0: none, 2: [1.0] * 5 + [0.0]}
    monkeypatch.setattr("triplecheck.optimize.tuning.steps.scores", lambda step, *_: found[len(step.demos)])
    calls = [_call(f"q{at}", "look-up") for at in range(6)]
    choice = best_demos(kerag(bundled), "summarize", sets, calls, {})
    assert choice is not None and (choice.what, choice.demos) == (chosen, sets[chosen])
    assert (choice.before, choice.after) == (0.0, 5 / 6)
