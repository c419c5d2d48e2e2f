"""With the option `samples` a model answers several times, and the answer of most of them counts."""

from __future__ import annotations

import pytest
from program_parts import conclude_with, kerag, play, steps, topics

from triplecheck.kg import UserError
from triplecheck.programs import Sources
from triplecheck.programs.steps import Checked, Computed, Wrote

QUESTION = "What was the nationality of Bernhard Heiden's teacher?"
GERMAN = conclude_with("German", cite=["Paul Hindemith → nationality"])
HANAU = conclude_with("Hanau", cite=["Paul Hindemith → born in"])
COUNTED = conclude_with(cite=["Paul Hindemith → nationality"], operation="count")


def test_the_answer_of_most_samples_counts(sources: Sources) -> None:
    found, engine = play(
        kerag(sources, filtering="none", samples=3), QUESTION, topics("Bernhard Heiden"), HANAU, GERMAN, GERMAN
    )
    assert found.answer == "German" and engine.left == 0
    assert steps(found, Checked)[-1].reason == "2 of 3 samples say 'German'"
    assert len([step for step in steps(found, Wrote) if step.signature == "AnswerFromFacts"]) == 3
    assert not any("samples" in doubt for doubt in found.doubts)


def test_an_answer_without_a_majority_is_not_proved(sources: Sources) -> None:
    found, _ = play(kerag(sources, filtering="none", samples=2), QUESTION, topics("Bernhard Heiden"), GERMAN, HANAU)
    assert found.answer == "German" and found.verdict == "supported"
    assert "only 1 of 2 samples say 'German'" in found.doubts


def test_what_a_sample_that_lost_computed_is_not_in_the_trace(sources: Sources) -> None:
    how_many = "How many nationalities did Bernhard Heiden's teacher have?"
    insisting = [GERMAN] * 4  # a name is doubted, since a number is asked for
    found, _ = play(
        kerag(sources, filtering="none", samples=3), how_many, topics("Bernhard Heiden"), COUNTED, *insisting
    )
    assert found.answer == "German" and steps(found, Computed) == []


def test_a_sample_that_cannot_be_read_has_no_vote(sources: Sources) -> None:
    found, _ = play(
        kerag(sources, filtering="none", samples=2), QUESTION, topics("Bernhard Heiden"), "perhaps", "perhaps", GERMAN
    )
    assert found.answer == "German"
    nothing, _ = play(kerag(sources, filtering="none", samples=2), QUESTION, topics("Bernhard Heiden"), *["no"] * 4)
    assert nothing.reason == "unreadable_reply"


def test_no_sample_is_rejected(sources: Sources) -> None:
    with pytest.raises(UserError, match="samples must be at least 1"):
        play(kerag(sources, filtering="none", samples=0), QUESTION, topics("Bernhard Heiden"))
