"""With the option `judge_proof` a model says whether the evidence proves the answer."""

from __future__ import annotations

from program_parts import conclude_with, fields, kerag, play, steps, topics

from triplecheck.kg import KnowledgeBase
from triplecheck.programs import KERAG, Sources
from triplecheck.programs.steps import Checked, Wrote

QUESTION = "What was the nationality of Bernhard Heiden's teacher?"
REPLIES = (topics("Bernhard Heiden"), conclude_with("German", cite=["Paul Hindemith → nationality"]))


def test_a_proof_that_the_model_denies_leaves_a_doubt(sources: Sources) -> None:
    program = kerag(sources, filtering="none", judge_proof=True)
    reasoning = "The facts say where he was born."
    (denied, engine) = play(program, QUESTION, *REPLIES, fields(reasoning=reasoning, entails="False"))
    assert denied.answer == "German" and denied.verdict == "supported"
    assert denied.doubts[0] == f"the model finds no proof: {reasoning}"
    assert "Paul Hindemith | nationality | German" in engine.prompts[-1]
    assert [step.signature for step in steps(denied, Wrote)][-1] == "JudgeProof"
    assert not steps(denied, Checked)[-1].passed


def test_a_proof_that_the_model_finds_leaves_none(sources: Sources) -> None:
    program = kerag(sources, filtering="none", judge_proof=True)
    found, _ = play(program, QUESTION, *REPLIES, fields(reasoning="They say it.", entails="True"))
    assert found.answer == "German" and not any("the model finds" in doubt for doubt in found.doubts)


def test_a_judgement_that_cannot_be_read_changes_nothing(sources: Sources) -> None:
    program = kerag(sources, filtering="none", judge_proof=True)
    found, _ = play(program, QUESTION, *REPLIES, "perhaps", "perhaps")
    assert found.answer == "German" and not any("the model finds" in doubt for doubt in found.doubts)


def test_it_is_a_step_that_optimizers_see(bundled: KnowledgeBase) -> None:
    assert "judge_proof" in dict(KERAG(bundled, judge_proof=True).named_predictors())
    assert "judge_proof" not in dict(KERAG(bundled).named_predictors())


def test_the_baseline_judges_by_the_names_of_relations(bundled: KnowledgeBase) -> None:
    right = KERAG(bundled, judge_proof=True)(question="What is the capital of Mongolia?")
    assert [step.outputs["entails"] for step in steps(right, Wrote) if step.signature == "JudgeProof"] == [True]
