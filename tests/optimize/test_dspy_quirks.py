"""Fixes for DSPy's behaviour while an optimizer runs."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import dspy
import dspy.evaluate.evaluate as evaluating
import dspy.predict.parallel as parallel
import pytest
from model_stand_ins import scripted_model
from optimize_parts import Pupil, engines, kerag, plan

from triplecheck.kg import KnowledgeBase
from triplecheck.lms import RolePredict, session
from triplecheck.lms.adapter import UnreadableReplyError
from triplecheck.optimize.compile import compile_program
from triplecheck.optimize.dspy_patches import (
    calls_kept_in,
    keeping_instructions,
    patient,
    quiet,
)
from triplecheck.programs import Sources, program_names, resolve_program

YES = "[[ ## answer ## ]]\nyes\n\n[[ ## completed ## ]]"


def test_slow_examples_are_not_submitted_twice_and_ten_errors_do_not_stop_the_run() -> None:
    for module in (evaluating, parallel):
        assert module.ParallelExecutor(num_threads=1).timeout > 0
        with patient():
            executor = module.ParallelExecutor(num_threads=1, timeout=120)
            assert executor.timeout == 0 and executor.max_errors > 10**6
        assert module.ParallelExecutor(num_threads=1).timeout > 0


def test_calls_are_stored_with_the_run_and_nowhere_else(tmp_path: Path) -> None:
    step = RolePredict("question -> answer")
    for run in range(2):
        # A new process has the same model id and an empty memory.
        with scripted_model([YES] if run == 0 else [], "kept") as engine:
            engine.fingerprint = "always"
            with calls_kept_in(tmp_path / "calls"), session("kept"):
                assert step(question="q?").answer == "yes"
    with scripted_model([YES], "kept") as engine, session("kept"):
        engine.fingerprint = "always"
        step(question="q?")
        assert engine.left == 0, "outside of the run its calls are not known"


def test_bars_and_prints_stay_off_the_terminal(
    bundled: KnowledgeBase, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with engines(pupil=Pupil()), quiet():
        compile_program(plan(bundled, "BootstrapFewShot", teacher="extractive"), tmp_path / "run")
    assert capfd.readouterr() == ("", "")


def test_a_run_leaves_settings_and_cache_as_they_were(bundled: KnowledgeBase, tmp_path: Path) -> None:
    cache, callbacks = dspy.cache, list(dspy.settings.callbacks)
    with engines(pupil=Pupil()):
        compile_program(plan(bundled, "LabeledFewShot"), tmp_path / "run")
    assert dspy.cache is cache
    assert list(dspy.settings.callbacks) == callbacks
    assert dspy.settings.max_errors == 10


def test_an_unreadable_proposal_leaves_the_instruction_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    from dspy.propose.grounded_proposer import GroundedProposer

    asked = dspy.Predict(dspy.Signature("question -> answer", "Answer in a word."))
    refused = UnreadableReplyError(asked.signature, "", "the reply is empty", {})

    def refuse(self: object, **kwargs: object) -> None:
        raise refused

    monkeypatch.setattr(GroundedProposer, "propose_instruction_for_predictor", refuse)
    with keeping_instructions():
        kept = GroundedProposer.propose_instruction_for_predictor(None, predictor=asked)
    assert kept == "Answer in a word."
    with pytest.raises(UnreadableReplyError):
        GroundedProposer.propose_instruction_for_predictor(None, predictor=asked)


class Typed(dspy.Signature):  # type: ignore[misc]
    """Say what is asked."""

    question: str = dspy.InputField()
    weights: dict[int, float] = dspy.InputField()
    about: dict[str, Any] = dspy.InputField()
    rows: list[list[int]] = dspy.InputField()
    pair: tuple[int, str] = dspy.OutputField()
    scores: dict[int, float] = dspy.OutputField()


def test_demonstrations_of_dicts_and_lists_of_numbers_are_equal_after_loading(tmp_path: Path) -> None:
    """stanfordnlp/dspy#677 and #1011."""
    values = {"question": "Q?", "weights": {1: 0.5, 2: 1.0}, "about": {"a": [1, {"b": None}]}, "rows": [[1, 2], []]}
    step, other = RolePredict(Typed), RolePredict(Typed)
    step.demos = [dspy.Example(**values, pair=(1, "x"), scores={3: 0.25}, augmented=True).with_inputs(*values)]
    step.save(tmp_path / "step.json")
    other.load(tmp_path / "step.json")
    assert other.demos == step.demos
    assert other.demos[0].inputs().keys() == step.demos[0].inputs().keys()


@pytest.mark.parametrize("name", program_names())
def test_a_saved_program_has_equal_demonstrations(name: str, bundled: KnowledgeBase, tmp_path: Path) -> None:
    program, other = (resolve_program(name)(Sources.of(bundled)) for _ in range(2))
    program.save(tmp_path / "program.json")
    for step in other.predictors():
        step.demos = []
    other.load(tmp_path / "program.json")
    assert [step.demos for step in other.predictors()] == [step.demos for step in program.predictors()]


def test_a_compiled_ensemble_loads_again(bundled: KnowledgeBase, tmp_path: Path) -> None:
    """stanfordnlp/dspy#775."""
    programs = [kerag(bundled) for _ in range(3)]
    for number, program in enumerate(programs):
        program.predictors()[0].demos = program.predictors()[0].demos[:number]
    reduce = functools.partial(dspy.majority, field="answer")
    ensemble = dspy.Ensemble(reduce_fn=reduce).compile(programs)
    ensemble.save(tmp_path / "ensemble.json")
    other = dspy.Ensemble(reduce_fn=reduce).compile([kerag(bundled) for _ in range(3)])
    other.load(tmp_path / "ensemble.json")
    assert [step.demos for step in other.predictors()] == [step.demos for step in ensemble.predictors()]
    with session("extractive"):
        assert other(question="Who wrote Emma?").answer == "Jane Austen"
