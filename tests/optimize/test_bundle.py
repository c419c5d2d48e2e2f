"""Bundles: a compiled program is restored exactly, or refused."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optimize_parts import kerag, questions

import triplecheck.programs.kerag as module
from triplecheck.kg import KnowledgeBase, ReadError, UserError
from triplecheck.kg.ranker import GENERAL
from triplecheck.lms import RolePredict, Roles, session
from triplecheck.optimize.bundle import load_bundle, save_bundle
from triplecheck.optimize.state import state_key, state_of, steps_of, with_state
from triplecheck.programs import KERAG, Sources
from triplecheck.signatures import AnswerFromFacts

EXTRACTIVE = Roles("extractive")


def compiled(base: KnowledgeBase) -> KERAG:
    program = kerag(base)
    program.select_paths.demos = [
        dspy.Example(augmented=True, question="q?", topics=["a"], paths=["a → b", "ü"], keep=[2]).with_inputs(
            "question"
        )
    ]
    program.select_paths.config = {"temperature": 0.5, "max_tokens": 64}
    program.summarize.signature = program.summarize.signature.with_instructions("Look twice.")
    return program


@pytest.fixture
def saved(bundled: KnowledgeBase, tmp_path: Path) -> Path:
    return save_bundle(compiled(bundled), tmp_path / "bundle", EXTRACTIVE, kerag(bundled), {"optimizer": "by hand"})


def test_a_saved_program_is_loaded_unchanged(saved: Path, bundled: KnowledgeBase) -> None:
    bundle = load_bundle(saved)
    program = bundle.program(Sources.of(bundled))
    assert isinstance(program, KERAG) and program.options.hops == 1
    assert state_of(program) == state_of(compiled(bundled))
    assert program.select_paths.config == {"temperature": 0.5, "max_tokens": 64}
    (demo,) = program.select_paths.demos
    assert isinstance(demo, dspy.Example) and demo.keep == [2]
    assert program.summarize.signature.instructions == "Look twice."
    assert program.summarize.signature.__name__ == "AnswerFromFacts", "traces name the step by it"
    assert AnswerFromFacts.instructions != "Look twice.", "the class that all programs share is as it was"
    assert (bundle.roles, bundle.about) == (EXTRACTIVE, {"optimizer": "by hand"})
    assert bundle.notes(Sources.of(bundled)) == []


def test_options_given_on_loading_win_over_those_saved(saved: Path, bundled: KnowledgeBase) -> None:
    program = load_bundle(saved).program(Sources.of(bundled), {"preset": "paper", "abstain_below": 0.5})
    assert isinstance(program, KERAG)
    assert (program.options.hops, program.options.limits.candidates, program.abstain_below) == (2, 1, 0.5)


def test_options_given_on_loading_may_exclude_steps_and_add_some(bundled: KnowledgeBase, tmp_path: Path) -> None:
    fewer = KERAG(bundled, assist="-plans")
    fewer.summarize.signature = fewer.summarize.signature.with_instructions("Look twice.")
    bundle = load_bundle(save_bundle(fewer, tmp_path / "bundle", EXTRACTIVE))
    assert steps_of(bundle.program(Sources.of(bundled))).keys() == steps_of(fewer).keys()
    other = bundle.program(Sources.of(bundled), {"assist": "all", "filtering": "none"})
    assert steps_of(other).keys() == steps_of(KERAG(bundled, filtering="none")).keys()
    assert other.summarize.signature.instructions == "Look twice."
    assert other.write_query.demos == KERAG(bundled).write_query.demos


def test_without_worked_examples_a_bundle_keeps_its_own(saved: Path, bundled: KnowledgeBase) -> None:
    program = load_bundle(saved).program(Sources.of(bundled), {"demos": "none"})
    assert {name: len(step.demos) for name, step in steps_of(program).items() if step.demos} == {"select_paths": 1}


def test_an_unknown_version_or_a_step_that_is_gone_is_refused(saved: Path, bundled: KnowledgeBase) -> None:
    manifest = json.loads((saved / "manifest.json").read_text())
    (saved / "manifest.json").write_text(json.dumps(manifest | {"version": 99}))
    with pytest.raises(ReadError, match="not a bundle of version 2"):
        load_bundle(saved)
    manifest["signatures"]["unused"] = manifest["signatures"].pop("select_paths")
    (saved / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(UserError, match="step 'select_paths' is new; step 'unused' is gone"):
        load_bundle(saved).program(Sources.of(bundled))


def test_a_bundle_is_two_files_of_plain_json(saved: Path) -> None:
    assert sorted(path.name for path in saved.iterdir()) == ["manifest.json", "program.json"]
    for path in saved.iterdir():
        assert "\n" in path.read_text("utf-8") and json.loads(path.read_bytes())
    assert "ü" in (saved / "program.json").read_text("utf-8")


def test_another_process_answers_the_same(saved: Path, bundled: KnowledgeBase) -> None:
    asked = questions("dev")[0].question
    with session("extractive"):
        here = load_bundle(saved).program(Sources.of(bundled))(question=asked)
    words = ["ask", asked, "--kb", str(bundled.path), "--bundle", str(saved), "--json"]
    command = [sys.executable, "-m", "triplecheck.app.main", *words]
    there = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert there["answers"] == here.answers
    assert there["steps"] == json.loads(json.dumps([step.to_json() for step in here.steps]))


def test_a_step_with_changed_fields_is_refused_with_the_changes(
    saved: Path, bundled: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    class SelectPaths(dspy.Signature):  # type: ignore[misc]
        """Select."""

        question: str = dspy.InputField()
        paths: list[str] = dspy.InputField()
        keep: list[str] = dspy.OutputField()

    monkeypatch.setattr(module, "SelectPaths", SelectPaths)
    with pytest.raises(UserError) as refused:
        load_bundle(saved).program(Sources.of(bundled))
    message = str(refused.value)
    assert "select_paths.keep was output list[int], is output list[str]" in message
    assert "select_paths.topics was input list[str], is not there" in message
    assert "Compile it again" in message


def test_fields_in_another_order_are_refused(
    saved: Path, bundled: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = module.NameTopics.fields
    turned = dspy.Signature(dict(reversed(fields.items())), module.NameTopics.instructions)
    monkeypatch.setattr(module, "NameTopics", turned)
    with pytest.raises(UserError, match="name_topics has its fields in another order"):
        load_bundle(saved).program(Sources.of(bundled))


def test_changed_instructions_are_noted_and_the_compiled_ones_kept(
    saved: Path, bundled: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = module.SelectPaths.instructions
    monkeypatch.setattr(module, "SelectPaths", module.SelectPaths.with_instructions("Other words."))
    bundle = load_bundle(saved)
    assert "text of step 'select_paths' has changed" in " ".join(bundle.notes(Sources.of(bundled)))
    assert bundle.program(Sources.of(bundled)).select_paths.signature.instructions == words


def test_other_models_and_versions_are_noted(saved: Path, bundled: KnowledgeBase) -> None:
    manifest = json.loads((saved / "manifest.json").read_text())
    manifest["versions"]["dspy"] = "2.0"
    manifest["model_ids"] |= {"extractive": "extractive@other", "openai/x": "openai/x@other"}
    (saved / "manifest.json").write_text(json.dumps(manifest))
    notes = " ".join(load_bundle(saved).notes(Sources.of(bundled)))
    assert "compiled with dspy 2.0" in notes
    assert "the model openai/x has changed" in notes
    assert "the model extractive" not in notes, "its code is that of the version"
    notes = " ".join(load_bundle(saved).notes(Sources.of(bundled), Roles("openai/x")))
    assert "compiled for default=extractive, run with default=openai/x" in notes


@pytest.mark.parametrize("damage", ["edited", "torn", "missing", "foreign", "lacking"])
def test_a_damaged_bundle_is_refused(damage: str, saved: Path) -> None:
    program, manifest = saved / "program.json", saved / "manifest.json"
    if damage == "edited":
        program.write_text(program.read_text().replace("Look twice.", "Look thrice."))
    elif damage == "torn":
        program.write_bytes(program.read_bytes()[:-40])
    elif damage == "missing":
        program.unlink()
    elif damage == "foreign":
        manifest.write_text("{}")
    else:
        kept = json.loads(manifest.read_text())
        del kept["signatures"]
        manifest.write_text(json.dumps(kept))
    with pytest.raises(ReadError, match=r"program\.json|manifest\.json"):
        load_bundle(saved)


def test_a_trained_ranker_is_part_of_a_bundle(bundled: KnowledgeBase, tmp_path: Path) -> None:
    ranker = tmp_path / "trained.safetensors"
    shutil.copy(GENERAL, ranker)
    save_bundle(KERAG(Sources.of(bundled).with_ranker(ranker)), tmp_path / "bundle", EXTRACTIVE)
    ranker.unlink()
    program = load_bundle(tmp_path / "bundle").program(bundled)
    assert program.sources.ranker == tmp_path / "bundle" / "ranker.safetensors"
    with session(EXTRACTIVE):
        assert program(question="What is the capital of Mongolia?").answer == "Ulaanbaatar"
    (tmp_path / "bundle" / "ranker.safetensors").write_bytes(b"another")
    with pytest.raises(ReadError, match="is not the ranker that the bundle was saved with"):
        load_bundle(tmp_path / "bundle")


def test_the_bundle_in_the_repository_is_loaded_with_its_ranker(bundled: KnowledgeBase) -> None:
    found = load_bundle(Path(__file__).parents[2] / "examples" / "compiled" / "worldcup")
    program = found.program(bundled)
    assert program.sources.given_ranker == found.ranker and found.ranker is not None
    assert not [note for note in found.notes(program.sources) if "has changed" in note]
    with session(found.roles):
        assert program(question="What is the capital of Mongolia?").answer == "Ulaanbaatar"


def test_an_ensemble_is_no_bundle(bundled: KnowledgeBase, tmp_path: Path) -> None:
    both = dspy.Ensemble(reduce_fn=dspy.majority).compile([kerag(bundled), kerag(bundled)])
    with pytest.raises(UserError, match="EnsembledProgram is no program of this package: keep it with its `save`"):
        save_bundle(both, tmp_path / "bundle", EXTRACTIVE)


def test_a_bundle_replaces_only_a_bundle(saved: Path, bundled: KnowledgeBase) -> None:
    save_bundle(kerag(bundled), saved, EXTRACTIVE, kerag(bundled))
    assert load_bundle(saved).state == state_of(kerag(bundled))
    other = saved.parent / "notes"
    other.mkdir()
    (other / "thesis.txt").write_text("mine")
    with pytest.raises(UserError, match="exists and is not a bundle"):
        save_bundle(kerag(bundled), other, EXTRACTIVE, kerag(bundled))
    assert (other / "thesis.txt").read_text() == "mine"


def test_a_state_that_is_not_plain_data_is_refused(bundled: KnowledgeBase, tmp_path: Path) -> None:
    program = kerag(bundled)
    program.select_paths.demos = [{"question": object()}]
    with pytest.raises(UserError, match=r"select_paths\.question is a object"):
        save_bundle(program, tmp_path / "bundle", EXTRACTIVE, kerag(bundled))
    assert not (tmp_path / "bundle").exists()


def test_a_part_that_was_compiled_before_is_saved_too(bundled: KnowledgeBase) -> None:
    class Outer(KERAG):
        def __init__(self, sources: Sources) -> None:
            super().__init__(sources)
            self.inner = Inner()

    class Inner(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.step = RolePredict("question -> answer")
            self._compiled = True

    program = Outer(Sources.of(bundled))
    assert "inner.step" not in dict(program.named_predictors()), "DSPy leaves it out"
    program.inner.step.demos = [dspy.Example(question="q", answer="a")]
    assert state_of(with_state(Outer(Sources.of(bundled)), state_of(program)))["inner.step"]["demos"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)


@given(demos=st.lists(st.fixed_dictionaries({"question": st.text(), "keep": VALUES}), max_size=3))
def test_any_plain_demonstration_is_restored(demos: list[dict[str, Any]]) -> None:
    class One(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.step = RolePredict("question -> keep")

    program = One()
    program.step.demos = demos
    state = state_of(program)
    back = with_state(One(), json.loads(json.dumps(state)))
    assert state_of(back) == state
    assert state_key(state_of(back)) == state_key(state)
    assert [dict(demo.items()) for demo in back.step.demos] == demos
