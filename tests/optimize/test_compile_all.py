"""Every optimizer improves a simulated model that scores 0 untrained, and its bundle gives the same answers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from optimize_parts import CAREFULLY, PUPIL, WRITER, Pupil, Writer, engines, kerag, plan, questions, small_split

from triplecheck import signatures
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.lms import Roles, session
from triplecheck.optimize.bundle import load_bundle
from triplecheck.optimize.candidates import Candidates
from triplecheck.optimize.compile import compile_program
from triplecheck.optimize.state import state_key, state_of, steps_of, with_state
from triplecheck.programs import Sources, resolve_program, to_json
from triplecheck.signatures.demonstrations import is_worked

TAUGHT = {"teacher": "extractive"}
CASES: dict[str, dict[str, Any]] = {
    "LabeledFewShot": {"settings": {"demos": 2}},
    "BootstrapFewShot": {"teacher": "gold", "settings": {"demos": 2}},
    "BootstrapFewShotWithRandomSearch": TAUGHT | {"settings": {"candidates": 1, "demos": 2}},
    "COPRO": {"settings": {"breadth": 2, "depth": 1}},
    "MIPROv2": TAUGHT | {"settings": {"candidates": 2, "trials": 2, "demos": 1}},
    "SIMBA": {"settings": {"batch": 2, "candidates": 2, "steps": 2}},
    "GEPA": {"settings": {"rounds": 3, "batch": 2}},
}
ESTIMATED = ("BootstrapFewShotWithRandomSearch", "MIPROv2", "GEPA")
"""Optimizers whose estimate is an upper bound of the calls."""


@pytest.mark.parametrize("optimizer", CASES)
def test_a_compiled_program_scores_better_and_its_bundle_gives_the_same_answers(
    optimizer: str, bundled: KnowledgeBase, tmp_path: Path
) -> None:
    words = {name: s.instructions for name, s in vars(signatures).items() if hasattr(s, "instructions")}
    writer = Writer()
    with engines(pupil=Pupil(), writer=writer):
        made = compile_program(
            plan(bundled, optimizer, prompt_model=WRITER, **CASES[optimizer]), tmp_path / "run", knowledge_base=bundled
        )
        assert made.before is not None and made.after is not None and made.bundle is not None
        assert (made.before.scores.f1, made.after.scores.f1) == (0, 1)
        assert made.held_out is not None and (made.held_out.won, made.held_out.lost) == (2, 0)
        assert not made.failures
        assert made.chosen is not None and made.chosen.score == 1
        bundle = load_bundle(made.bundle)
        assert bundle.notes(Sources.of(bundled)) == []
        asked = questions("dev")[3].question
        with session(PUPIL):
            answers = [bundle.program(Sources.of(bundled))(question=asked) for _ in range(2)]
    assert made.usage.calls <= made.estimate.calls or optimizer not in ESTIMATED
    if optimizer == "GEPA":
        prompts = " ".join(str(request.messages) for request in writer.requests)
        assert "The correct answer is: " in prompts
        assert "The topics are correct. No answer was given (not_in_facts)." in prompts
    assert answers[0].answer
    assert to_json(answers[0])["steps"] == to_json(answers[1])["steps"]
    # Every candidate is on disk, with its score; and what programs share is as it was.
    assert {one.stem for one in (tmp_path / "run" / "candidates").iterdir()} >= {one.key for one in made.candidates}
    assert json.loads((tmp_path / "run" / "report.json").read_text())["chosen"]["score"] == 1
    assert words == {name: s.instructions for name, s in vars(signatures).items() if hasattr(s, "instructions")}


def test_runs_that_share_their_calls_ask_for_none_twice(bundled: KnowledgeBase, tmp_path: Path) -> None:
    pupil = Pupil()
    with engines(pupil=pupil, writer=Writer()):
        for optimizer in ("LabeledFewShot", "BootstrapFewShot"):
            asked, given = len(pupil.requests), plan(bundled, optimizer, settings={"demos": 1})
            made = compile_program(given, tmp_path / optimizer, calls=tmp_path / "calls", estimate_only=True)
            assert made.estimate.tokens > 0
    assert asked == len(pupil.requests) > 0


def test_a_step_is_compiled_alone_by_its_own_metric(bundled: KnowledgeBase, tmp_path: Path) -> None:
    writer = Writer(["Be quick.", CAREFULLY])
    with engines(pupil=Pupil(), writer=writer):
        given = {"settings": {"breadth": 3, "depth": 1}, "prompt_model": WRITER, "step": "summarize"}
        made = compile_program(plan(bundled, "COPRO", **given), tmp_path / "run", knowledge_base=bundled)
    assert made.before is not None and made.after is not None and made.chosen is not None
    assert (made.before.scores.f1, made.after.scores.f1) == (0, 1)
    assert made.chosen.calls == 1
    assert {one.score for one in made.candidates} == {0.0, 1.0}
    state = state_of(load_bundle(tmp_path / "run" / "bundle").program(Sources.of(bundled)))
    assert state["summarize"]["instructions"] == CAREFULLY
    assert set(made.usage.by_model) == {PUPIL, WRITER}, "right replies, from which inputs are recorded, cost nothing"
    assert state["select_paths"] == state_of(kerag(bundled))["select_paths"]


@pytest.mark.parametrize("name", ["anchorrag", "4stepfocus", "tog"])
def test_steps_of_every_system_get_demonstrations_from_their_own_calls(
    name: str, bundled: KnowledgeBase, tmp_path: Path
) -> None:
    program = resolve_program(name)(Sources.of(bundled))
    given = replace(plan(bundled, "LabeledFewShot", settings={"demos": 1}), program=program, roles=Roles("extractive"))
    made = compile_program(given, tmp_path / "run")
    assert made.after is not None and made.after.scores.f1 == 1
    written, (shown,) = state_key(state_of(program)), [one for one in made.candidates if one != made.chosen]
    assert made.chosen is not None and made.chosen.key == written, "of two that score alike, the program as written"
    taught = with_state(program, json.loads((tmp_path / "run" / "candidates" / f"{shown.key}.json").read_text()))
    own = {name: [demo for demo in step.demos if not is_worked(demo)] for name, step in steps_of(taught).items()}
    assert max(len(demos) for demos in own.values()) == 1
    for name, step in steps_of(taught).items():
        assert step.demos == [*steps_of(program)[name].demos, *own[name]], "the worked examples come first"
        assert all(set(step.signature.fields) <= set(demo.keys()) for demo in step.demos), "no half demonstrations"


def test_labelled_demonstrations_are_right_replies_not_the_calls_of_right_runs(
    bundled: KnowledgeBase, tmp_path: Path
) -> None:
    pupil = Pupil()
    with engines(pupil=pupil):  # untaught, it answers nothing: no run is right
        given = plan(bundled, "LabeledFewShot", settings={"demos": 2}, questions=small_split(4))
        made = compile_program(given, tmp_path / "run")
    (taught,) = [one for one in made.candidates if one.key != state_key(state_of(given.program))]
    state = json.loads((tmp_path / "run" / "candidates" / f"{taught.key}.json").read_text())
    own = {name: [demo for demo in row["demos"] if not demo.get("worked")] for name, row in state.items()}
    assert {name: len(demos) for name, demos in own.items()} == {"name_topics": 2, "select_paths": 2, "summarize": 2}
    asked = {one.question: one for one in given.questions.train}
    for demo in own["summarize"]:
        assert [text.casefold() for text in demo["answers"]] == [
            label.casefold() for label in asked[demo["question"]].answer_labels or asked[demo["question"]].answers
        ]


def test_a_run_with_another_configuration_is_not_resumed(bundled: KnowledgeBase, tmp_path: Path) -> None:
    with engines(pupil=Pupil(), writer=Writer()):
        first = plan(bundled, "LabeledFewShot")
        compile_program(first, tmp_path / "run", estimate_only=True)
        other = plan(bundled, "LabeledFewShot", questions=small_split(5))
        with pytest.raises(UserError, match=r"holds a run with another configuration \(questions.train was"):
            compile_program(other, tmp_path / "run", estimate_only=True)


def test_a_program_with_several_models_keeps_them(bundled: KnowledgeBase, tmp_path: Path) -> None:
    pupil = Pupil()
    with engines(pupil=pupil):
        roles = Roles("extractive", {"answer": PUPIL})
        made = compile_program(plan(bundled, "BootstrapFewShot", roles=roles, **TAUGHT), tmp_path / "run")
        assert made.bundle is not None
        bundle = load_bundle(made.bundle)
    assert bundle.roles == roles
    assert all(step.lm is None for step in bundle.program(Sources.of(bundled)).predictors())
    assert made.after is not None and made.after.scores.f1 == 1


def test_scores_survive_an_incomplete_line(tmp_path: Path) -> None:
    candidates = Candidates(tmp_path)
    key = candidates.seen({"step": {"demos": []}})
    candidates.score(key, "a", 0.5, 3)
    candidates.score(key, "b", 1.0, 1)
    with (tmp_path / "scores.jsonl").open("a") as file:
        file.write('{"candidate": "x", "exa')
    (one,) = Candidates(tmp_path).over(["a", "b"])
    assert (one.key, one.score, one.calls) == (key, 0.75, 2)
    assert Candidates(tmp_path).over(["a", "b", "c"]) == []
