"""Judging: whether an answer means one of the right answers in other words."""

from __future__ import annotations

import dspy

from triplecheck.signatures.step import Step

__all__ = ["JudgeAnswer"]


class JudgeAnswer(Step):
    """Judge whether the reply gives a right answer to the question.

    The right answers are listed; other words for one of them (another spelling, unit or level of detail
    that means the same) are right too. A reply that contradicts them, names something else, or names
    wrong answers beside a right one is not right. Rely on the list, not on your own knowledge.
    """

    question: str = dspy.InputField()
    right: list[str] = dspy.InputField(desc="the right answers")
    reply: str = dspy.InputField(desc="the answer to be judged")
    correct: bool = dspy.OutputField()
