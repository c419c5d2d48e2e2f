"""Compile without an optimizer: what pays is tried, the whole program decides, and what won becomes a bundle."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import dspy
import pytest
from optimize_parts import PUPIL, Babbling, Pupil, engines, kerag, questions

import triplecheck
from triplecheck.evals import Question
from triplecheck.evals.questions import question_row
from triplecheck.kg import KnowledgeBase, TriplecheckError, UserError
from triplecheck.lms import Budget, BudgetExceededError, ModelReplyError, Roles, session
from triplecheck.optimize.bundle import load_bundle
from triplecheck.optimize.candidates import Gain
from triplecheck.optimize.examples import three_parts
from triplecheck.optimize.paired import Measured
from triplecheck.optimize.state import state_of
from triplecheck.optimize.students import resolve_students
from triplecheck.optimize.tuning.cost import Cost, Purse
from triplecheck.optimize.tuning.result import ALL, WRITTEN, Tuned
from triplecheck.optimize.tuning.run import estimated, is_cheaper, is_kept, is_worth_it, tune
from triplecheck.optimize.tuning.tries import TunePlan
from triplecheck.programs import Sources, resolve_program

KINDS = ("one_hop", "alias", "homonym", "misspelt")


def _asked() -> list[Question]:
    return [question for part in ("train", "dev") for question in questions(part, KINDS)]


def _plan(base: KnowledgeBase, model: str = PUPIL, budget: Budget | None = None) -> TunePlan:
    return TunePlan(kerag(base), three_parts(_asked()), Roles(model), budget=budget or Budget())


@pytest.fixture(scope="module")
def tuned(bundled: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> tuple[Tuned, Path]:
    """A compiled pupil, and the directory of the run."""
    out = tmp_path_factory.mktemp("tuned")
    with engines(pupil=Pupil()):
        return tune(_plan(bundled), out, knowledge_base=bundled), out


def test_what_won_becomes_a_bundle(tuned: tuple[Tuned, Path], bundled: KnowledgeBase) -> None:
    result, out = tuned
    lines = {line.name: line for line in result.choices}
    written, all_kept = lines[WRITTEN], lines[ALL]
    assert written.test is not None and all_kept.test is not None and result.gain is not None
    assert written.test.share < 0.2 and all_kept.test.share > 0.8
    assert all_kept.gain is not None and all_kept.gain.is_clear and all_kept.gain.lost == 0
    assert [row.name for row in result.rows] == [WRITTEN, ALL]
    # Behind the baseline, which proves nearly all, demonstrations have nothing left to win, and cost tokens.
    own = lines["summarize: own"]
    assert own.note.startswith("0.04 to 1.00") and own.validation is not None and not own.kept
    before = lines["cascade: extractive first"].validation
    assert before is not None and own.validation.share == before.share and own.validation.tokens > before.tokens
    assert result.bundle == out / "bundle"
    with engines(pupil=Pupil()), session(PUPIL):
        asked = result.program.deepcopy(), load_bundle(result.bundle).program(Sources.of(bundled))
        answers = [program(question=questions("dev")[0].question).answer for program in asked]
    assert answers[0] and answers[0] == answers[1]


def test_the_table_says_what_was_not_tried_and_why(tuned: tuple[Tuned, Path]) -> None:
    result, out = tuned
    notes = {line.name: line.note for line in result.choices if line.validation is None}
    assert "questions are too few" in notes["a ranker of paths, trained"]
    free = {line.name for line in result.choices if line.name.endswith(": none") and "recorded calls" in line.note}
    assert free & {"name_topics: none", "select_paths: none"}, "a step without room may save tokens"
    assert result.brackets[0].step == "summarize"
    assert (out / "report.json").is_file()


def test_a_figure_has_one_interval(tuned: tuple[Tuned, Path]) -> None:
    test = tuned[0].choices[0].test
    assert test is not None and tuned[0].rows[0].scores.intervals["accuracy"] == test.interval


def test_where_nothing_wins_there_is_no_bundle(bundled: KnowledgeBase, tmp_path: Path) -> None:
    result = tune(_plan(bundled, "extractive"), tmp_path, knowledge_base=bundled)
    assert result.bundle is None and result.gain is None and not (tmp_path / "bundle").exists()
    assert [line.name for line in result.choices if line.kept] == [WRITTEN]
    assert result.choices[0].test is not None
    notes = {line.note for line in result.choices if line.name.endswith(": demonstrations")}
    assert notes == {"not tried: no language model is asked there"}
    assert {one.step for one in result.brackets} == {"name_topics", "select_paths", "summarize"}


@pytest.mark.parametrize(
    ("won", "lost", "is_enough"), [(0, 0, False), (1, 0, False), (2, 0, True), (10, 6, False), (11, 6, True)]
)
def test_a_choice_that_saves_nothing_wins_by_a_margin(won: int, lost: int, is_enough: bool) -> None:
    gain = Gain(won, lost, 100, 1.0)
    assert is_kept(gain, saves=False) is is_enough
    assert is_kept(gain, saves=True)
    assert not is_kept(Gain(won, won + 1, 100, 1.0), saves=True)


@pytest.mark.parametrize(
    ("before", "after", "saves"),
    [
        ((4.0, 3000), (2.0, 3000), True),
        ((4.0, 3000), (3.99, 3000), False),
        ((4.0, 3000), (2.0, 4000), False),
        ((4.0, 3000), (4.0, 2000), True),
        ((0.0, 0.0), (0.0, 0.0), False),
    ],
)
def test_little_is_no_saving(before: tuple[float, float], after: tuple[float, float], saves: bool) -> None:
    assert is_cheaper(before, after) is saves


@pytest.mark.parametrize(
    ("won", "lost", "p", "before", "after", "is_kept"),
    [
        (9, 1, 0.02, 4.0, 4.0, True),
        (3, 0, 0.25, 4.0, 4.0, False),
        (0, 0, 1.0, 4.0, 2.0, True),
        (1, 2, 1.0, 4.0, 1.0, False),
        (3, 0, 0.25, 0.0, 0.0, False),
        (1, 1, 1.0, 4.0, 2.0, True),
        (12, 12, 1.0, 4.0, 2.0, False),
    ],
)
def test_a_result_wins_by_more_than_chance_or_saves_calls(
    won: int, lost: int, p: float, before: float, after: float, is_kept: bool
) -> None:
    assert is_worth_it(Gain(won, lost, 52, p), before, after) is is_kept


@pytest.mark.parametrize(
    ("budget", "told"),
    [
        (Budget(calls=50), r"a budget of 50 calls is too small: .* raise --budget-calls"),
        (Budget(tokens=1000), "a budget of 1000 tokens is too small"),
    ],
)
def test_a_budget_that_shows_nothing_is_refused_before_a_call(
    budget: Budget, told: str, bundled: KnowledgeBase, tmp_path: Path
) -> None:
    pupil = Pupil()
    with engines(pupil=pupil), pytest.raises(UserError, match=told):
        tune(_plan(bundled, budget=budget), tmp_path, knowledge_base=bundled)
    assert not pupil.requests


def test_a_model_that_writes_nothing_readable_is_found_with_a_few_calls(bundled: KnowledgeBase, tmp_path: Path) -> None:
    pupil = Babbling()
    with engines(pupil=pupil), pytest.raises(TriplecheckError, match="none of 3 replies to step 'name_topics' can be"):
        tune(_plan(bundled), tmp_path, knowledge_base=bundled)
    assert len(pupil.requests) == 6, "each is asked twice"


@pytest.mark.parametrize("name", ["io", "chainofknowledge"])
def test_where_right_replies_cannot_be_computed_the_model_and_the_budget_are_checked_too(
    name: str, bundled: KnowledgeBase, tmp_path: Path
) -> None:
    pupil = Babbling()
    plan = replace(_plan(bundled), program=resolve_program(name)(Sources.of(bundled)))
    with engines(pupil=pupil):
        with pytest.raises(UserError, match="a budget of 50 calls is too small"):
            tune(replace(plan, budget=Budget(calls=50)), tmp_path / "small", knowledge_base=bundled)
        assert not pupil.requests
        with pytest.raises(ModelReplyError, match="none of 3 runs gives replies that can be read"):
            tune(plan, tmp_path / "unread", knowledge_base=bundled)
    assert len(pupil.requests) <= 12


def test_answers_that_are_not_in_the_graph_are_refused_before_a_call(bundled: KnowledgeBase, tmp_path: Path) -> None:
    pupil = Pupil()
    asked = [replace(one, answers=("xyz",), answer_labels=(), answer_aliases=()) for one in _asked()]
    plan = replace(_plan(bundled), questions=three_parts(asked))
    with engines(pupil=pupil), pytest.raises(UserError, match=r"for 0 of 44 questions .* names of this graph"):
        tune(plan, tmp_path, knowledge_base=bundled)
    assert not pupil.requests


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"students": "genius"}, "no student 'genius'; there are ranker"),
        ({"students": ["none", "ranker"]}, "none and ranker: name the students to train, or none alone"),
        ({"prompt_model": dspy.LM("openai/some")}, "the prompt model is a LM: name it"),
        ({"prompt_model": "extractive"}, "extractive writes no instructions"),
        ({"program": dspy.Predict("question -> answer")}, "Predict is no program of Triplecheck"),
    ],
)
def test_a_wrong_argument_is_named(given: dict[str, Any], told: str, bundled: KnowledgeBase, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=told):
        triplecheck.compile(
            **{"program": kerag(bundled), "trainset": _asked(), "out": tmp_path, "roles": PUPIL} | given
        )


def test_one_student_may_be_named_by_a_text() -> None:
    assert [one.name for one in resolve_students("ranker")] == ["ranker"]


def test_a_program_without_models_is_refused(bundled: KnowledgeBase, tmp_path: Path) -> None:
    plan = TunePlan(resolve_program("bm25")(bundled), three_parts(_asked()))
    with pytest.raises(UserError, match="calls no model"):
        tune(plan, tmp_path)


def test_python_gets_the_compiled_program(tuned: tuple[Tuned, Path], bundled: KnowledgeBase, tmp_path: Path) -> None:
    whole, out = tuned
    program, examples = kerag(bundled), [dspy.Example(**question_row(one)).with_inputs("question") for one in _asked()]
    with engines(pupil=Pupil()), session(PUPIL):
        made = triplecheck.compile(program, examples, out=out)
        assert state_of(made) == state_of(whole.program) != state_of(program)
        made.save(tmp_path / "made", save_program=True)
        again = dspy.load(tmp_path / "made", allow_pickle=True)
        assert state_of(again) == state_of(made)
    with pytest.raises(UserError, match="2 questions with answers are too few"):
        triplecheck.compile(program, examples[:2], out=tmp_path / "run")


def _measured(calls: int, tokens: int = 100, unpriced: int = 0) -> Measured:
    """A question that took so many calls, each of 2 seconds and a tenth of a cent."""
    each = {
        "prompt_tokens": tokens,
        "completion_tokens": 0,
        "unpriced_calls": unpriced,
        "seconds": 2.0,
        "dollars": 0.001,
    }
    part = {"calls": calls, "cached_calls": 0, **{name: calls * value for name, value in each.items()}}
    return Measured({"q": {"usage": {"by_model": {PUPIL: part}}}})


def test_what_a_question_takes_is_told_by_its_calls_of_language_models() -> None:
    measured, unpriced = _measured(3), _measured(3, unpriced=1)
    assert (measured.calls, measured.tokens, measured.seconds) == (3, 300, 6)
    assert measured.dollars == pytest.approx(0.003) and unpriced.dollars is None


def test_calls_are_reserved_by_what_a_question_was_measured_to_take() -> None:
    with session() as ledger:
        cost = Cost(per_question=2.0, tokens_per_call=100.0, least=20, whole=99)
        purse = Purse(cost, Budget(calls=100), ledger, 15, 15)
        assert purse.allows_questions(20) and not purse.allows_questions(21)
        more, fewer = purse.with_measured(_measured(3)), purse.with_measured(_measured(1))
        assert more.allows_questions(3) and not more.allows_questions(4)
        assert fewer.allows_questions(70) and not fewer.allows_questions(71)
        # What asks the model less is cheap to measure on the test questions too.
        assert purse.allows(62.5, 0.5) and not purse.allows(63, 0.5)


@pytest.mark.parametrize("budget", [Budget(tokens=8000), Budget(dollars=0.04), Budget(seconds=80.0)])
def test_tokens_dollars_and_seconds_are_reserved_too(budget: Budget) -> None:
    cost = Cost(per_question=1.0, tokens_per_call=1.0, least=20, whole=99, dollars_per_call=0.0)
    with session() as ledger:
        purse = Purse(cost, budget, ledger, 10, 10).with_measured(_measured(1, tokens=200))
        assert purse.allows(19) and not purse.allows(21)


def test_what_was_measured_until_the_budget_is_used_up_is_the_result(
    tuned: tuple[Tuned, Path], bundled: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Purse, "allows", lambda *_: True)
    with engines(pupil=Pupil()):
        spent = tune(replace(_plan(bundled, budget=Budget(calls=600)), students=()), tmp_path, knowledge_base=bundled)
        assert spent.stopped is not None and "budget of 600 calls is used up" in spent.stopped
        assert spent.choices[0].validation is not None and (tmp_path / "report.json").is_file()
        whole = tune(replace(_plan(bundled), students=()), tmp_path, knowledge_base=bundled)
    assert whole.stopped is None and whole.gain == tuned[0].gain


def test_a_cascade_is_tried_with_a_budget_for_the_questions_that_get_to_the_model(
    bundled: KnowledgeBase, tmp_path: Path
) -> None:
    plan = TunePlan(kerag(bundled), three_parts(_asked()), Roles(PUPIL), students=())
    with engines(pupil=Pupil()):
        least = estimated(plan, tmp_path / "estimate", knowledge_base=bundled).least
        spare = replace(plan, budget=Budget(calls=least))
        result = tune(spare, tmp_path / "run", knowledge_base=bundled)
    assert result.usage.calls <= least
    assert any(line.validation is not None for line in result.choices[1:]), "a budget that passes allows a choice"


def test_what_a_budget_does_not_allow_is_left_out_and_a_larger_one_goes_on(
    tuned: tuple[Tuned, Path], bundled: KnowledgeBase, tmp_path: Path
) -> None:
    def with_budget(**limits: float) -> Tuned:
        return tune(_plan(bundled, budget=Budget(**limits)), tmp_path, knowledge_base=bundled)  # type: ignore[arg-type]

    with engines(pupil=Pupil()):
        with pytest.raises(BudgetExceededError, match="to resume"):
            with_budget(seconds=0.01)
        small = with_budget(calls=450)
        assert small.usage.calls <= 450
        assert small.brackets == () and any("budget does not allow" in line.note for line in small.choices)
        assert with_budget().gain == tuned[0].gain
        # What was asked costs nothing more.
        again = with_budget(calls=450)
        assert (again.gain, again.brackets) == (tuned[0].gain, tuned[0].brackets)
