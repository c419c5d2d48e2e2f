"""The assist `asked_part`: talk beside a question is left out."""

from __future__ import annotations

import pytest
from program_parts import steps

from triplecheck.kg import KnowledgeBase
from triplecheck.programs import KERAG
from triplecheck.programs.steps import Assisted

QUESTION = "Who taught Bernhard Heiden?"


def test_talk_withholds_no_answer(bundled: KnowledgeBase) -> None:
    found = KERAG(bundled, verdict="likely")(question=f"My aunt adores quizzes. {QUESTION}")
    assert found.answer == "Paul Hindemith" and found.verdict == "proved"
    assert [(step.name, step.after) for step in steps(found, Assisted)][:1] == [("asked_part", [QUESTION])]


@pytest.mark.parametrize(
    "talk",
    ["I only listen to operas.", "My aunt has been to mongolia.", "I want to know about the capital."],
    ids=["a class", "a name", "a relation"],
)
def test_talk_that_names_something_of_the_graph_stays(bundled: KnowledgeBase, talk: str) -> None:
    found = KERAG(bundled)(question=f"{talk} {QUESTION}")
    assert "asked_part" not in [step.name for step in steps(found, Assisted)]


def test_without_the_assist_the_question_is_whole(bundled: KnowledgeBase) -> None:
    found = KERAG(bundled, assist="none")(question=f"My aunt adores quizzes. {QUESTION}")
    assert steps(found, Assisted) == []
