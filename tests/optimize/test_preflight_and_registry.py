"""Optimizers by name; runs that cannot work are refused in advance, with an alternative."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from optimize_parts import PUPIL, WRITER, Pupil, Writer, engines, kerag

from triplecheck.evals import Question
from triplecheck.kg import KnowledgeBase, TriplecheckError, UserError
from triplecheck.lms import Budget, Roles
from triplecheck.optimize.examples import Pilot, Split, split
from triplecheck.optimize.preflight import CompilePlan, check, estimate
from triplecheck.optimize.registry import optimizer_names, optimizer_specs, resolve_optimizer
from triplecheck.optimize.spec import Size
from triplecheck.optimize.traces.gold.engine import uncomputable
from triplecheck.programs import Sources, resolve_program

WORKING = "LabeledFewShot BootstrapFewShot BootstrapFewShotWithRandomSearch COPRO MIPROv2 SIMBA GEPA".split()


def test_every_supported_optimizer_is_registered() -> None:
    assert optimizer_names() == WORKING
    for name in WORKING:
        assert resolve_optimizer(name.upper()).name == name
    assert resolve_optimizer("random-search").name == "BootstrapFewShotWithRandomSearch"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("KNN-FewShot", "use it from DSPy"),
        ("AvatarOptimizer", "does not run with this DSPy; GEPA"),
        ("SignatureOptimizer", "is deprecated; COPRO"),
        ("GRPO", "on a separate cluster; .*distill --student lora"),
        ("BootstrapFinetune", "the rows of all steps; .*distill --student lora"),
        ("GEPPA", r"did you mean GEPA\?.*LabeledFewShot"),
    ],
)
def test_unsupported_optimizers_are_refused_with_the_reason(name: str, why: str) -> None:
    with pytest.raises(UserError, match=why):
        resolve_optimizer(name)


@pytest.mark.parametrize("spec", optimizer_specs(), ids=lambda spec: spec.name)
def test_settings_are_checked_against_their_defaults(spec: Any) -> None:
    assert spec.checked({}) == dict(spec.settings)
    with pytest.raises(UserError, match=f"{spec.name} has no setting 'depht'; there are"):
        spec.checked({"depht": 1})
    for name, default in spec.settings.items():
        assert spec.checked({name: default})[name] == default
        with pytest.raises(UserError, match=f"{name} is"):
            spec.checked({name: [1]})


def compile_plan(program: Any, name: str, train: int = 50, **given: Any) -> CompilePlan:
    asked = (Question("q", "q?", ("a",)),) * train
    return CompilePlan(program, Split(asked, (), ()), name, **{"roles": Roles(PUPIL), "prompt_model": WRITER} | given)


def refused(base: KnowledgeBase, name: str, program: Any = None, **given: Any) -> str:
    spec, plan = resolve_optimizer(name), compile_plan(program or kerag(base), name, **given)
    with engines(pupil=Pupil(), writer=Writer()), pytest.raises(TriplecheckError) as error:
        check(spec, spec.checked({}), plan)
    return str(error.value)


def test_runs_that_cannot_work_are_refused_with_an_alternative(bundled: KnowledgeBase) -> None:
    bm25 = resolve_program("bm25")(Sources.of(bundled))
    several = Roles(PUPIL, {"answer": "extractive"})
    assert "calls no model" in refused(bundled, "GEPA", bm25)
    assert "there are: name_topics, select_paths, summarize" in refused(bundled, "GEPA", step="prune")
    assert "name one with --prompt-model" in refused(bundled, "COPRO", prompt_model="extractive")
    assert "name one with --prompt-model" in refused(bundled, "GEPA", prompt_model=None, roles=Roles("extractive"))
    assert "give one with --lm" in refused(bundled, "SIMBA", roles=several)
    assert "needs 16 training examples and has 5" in refused(bundled, "SIMBA", train=5)
    assert "draws from right replies, which no model writes" in refused(bundled, "LabeledFewShot", teacher=PUPIL)
    memory = resolve_program("io")(Sources.of(bundled))
    assert "AnswerDirectly: " in (told := refused(bundled, "LabeledFewShot", memory))
    assert told.endswith("use BootstrapFewShot, which draws from right runs")
    assert refused(bundled, "BootstrapFewShot", memory, teacher="gold").endswith("name a model as teacher")


def test_without_optuna_its_optimizers_say_how_to_get_it(
    bundled: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("triplecheck.kg.errors.find_spec", lambda name: None)
    assert r"pip install 'triplecheck[optimizers]'" in refused(bundled, "MIPROv2")


@pytest.mark.parametrize("name", ["anchorrag", "4stepfocus", "kerag", "know3rag", "io", "cot", "tog", "pog"])
def test_every_system_can_be_compiled(name: str, bundled: KnowledgeBase) -> None:
    program_class = resolve_program(name)
    try:
        program = program_class(Sources.of(bundled))
    except UserError as error:
        pytest.skip(f"not over the bundled knowledge base: {error}")
    with engines(pupil=Pupil(), writer=Writer()):
        for spec in optimizer_specs():
            if not (spec.labelled and uncomputable(program)):
                check(spec, spec.checked({}), compile_plan(program, spec.name))


def test_questions_are_split_by_their_ids() -> None:
    asked = [Question(f"q{n}", f"question {n}?", ("a",)) for n in range(400)]
    hidden = Question("hidden", "and this?", answers_known=False)
    found = split([*asked, hidden])
    ids = [{question.id for question in part} for part in (found.train, found.validation, found.held_out)]
    assert set.union(*ids) == {question.id for question in asked} and sum(map(len, ids)) == 400
    assert split(asked[:200]).train == tuple(q for q in found.train if q in asked[:200])
    given = split(asked[:300], held_out=asked[300:])
    assert len(given.train) + len(given.validation) == 300 and len(given.held_out) == 100
    with pytest.raises(UserError, match="1 held-out questions are among those to compile with"):
        split(asked[:300], held_out=asked[299:])
    with pytest.raises(UserError, match=r"too few: the .* part is empty"):
        split(asked[:1])


def test_the_estimate_says_how_long_it_takes_at_the_speed_of_the_first_runs(bundled: KnowledgeBase) -> None:
    spec = resolve_optimizer("LabeledFewShot")
    made = compile_plan(kerag(bundled), spec.name, budget=Budget(seconds=100))
    took = Pilot(runs=2, seconds=60.0, calls=8, tokens=4_000, unpriced_calls=0, dollars=0.0)
    with engines(pupil=Pupil(), writer=Writer()):
        found = estimate(spec, spec.checked({}), made, Size(train=10, validation=4, steps=3), pilot=took, whole=took)
    runs = 2 + 2 * 4
    assert (found.runs, found.calls, found.seconds) == (runs, runs * 4, runs * 30.0)
    assert any("budget of 100 seconds" in note for note in found.notes)


def test_a_step_is_optimized_at_its_own_price_and_measured_at_that_of_the_program(bundled: KnowledgeBase) -> None:
    spec = resolve_optimizer("LabeledFewShot")
    made = compile_plan(kerag(bundled), spec.name, step="summarize")
    made = replace(made, questions=replace(made.questions, held_out=(Question("q", "who?", ("a",)),)))
    call, run = (Pilot(1, seconds, calls, 100 * calls, 0, 0.0) for seconds, calls in ((10.0, 1), (50.0, 5)))
    with engines(pupil=Pupil(), writer=Writer()):
        found = estimate(spec, spec.checked({}), made, Size(train=10, validation=4, steps=1), pilot=call, whole=run)
    optimized, measured = 1 + 2 * 4, 2
    assert (found.runs, found.calls, found.tokens) == (
        optimized + measured,
        optimized + 5 * measured,
        100 * (optimized + 5 * measured),
    )
    assert found.seconds == 10.0 * optimized + 50.0 * measured


def test_instructions_take_the_time_of_their_tokens(bundled: KnowledgeBase) -> None:
    spec, size = resolve_optimizer("COPRO"), Size(train=0, validation=1, steps=1)
    took = Pilot(runs=1, seconds=10.0, calls=1, tokens=1_000, unpriced_calls=0, dollars=0.0)
    with engines(pupil=Pupil(), writer=Writer()):
        made = compile_plan(kerag(bundled), spec.name)
        found = estimate(spec, spec.checked({"breadth": 2, "depth": 1}), made, size, pilot=took, whole=took)
    assert found.seconds == found.runs * 10.0 + 20.0, "one instruction of 2,000 tokens"
