"""Judging: whether an answer means one of the right answers in other words."""

from __future__ import annotations

import dspy

from triplecheck.signatures.step import Step

__all__ = ["JudgeAnswer"]


class JudgeAnswer(Step):
    """Judge whether the reply gives a right answer to the question.

    The right answers are listed. A reply that says the same in other words (another spelling, unit or level of detail)
    is correct. A reply that contradicts the list, names something else, or adds wrong answers to a right one is not.
    Rely on the list, not on your own knowledge.
    """

    question: str = dspy.InputField()
    right: list[str] = dspy.InputField(desc="the right answers")
    reply: str = dspy.InputField(desc="the answer to judge")
    reasoning: str = dspy.OutputField(desc="one short sentence", default="")
    correct: bool = dspy.OutputField()
