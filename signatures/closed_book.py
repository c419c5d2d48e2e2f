"""Closed book: answers from a model's own knowledge, without evidence."""

from __future__ import annotations

import dspy

from triplecheck.signatures.step import Step

__all__ = ["AnswerDirectly", "AnswerFromMemory"]


class AnswerDirectly(Step):
    """Answer the question from your own knowledge.

    Give names or values alone, without a sentence around them. Give the most likely answer if you are not sure; leave
    it empty only if nothing is likely.
    """

    question: str = dspy.InputField()
    answers: list[str] = dspy.OutputField(desc="names or values; empty if unknown")


class AnswerFromMemory(Step):
    """Answer the question from your own knowledge. Think step by step.

    Give names or values alone, without a sentence around them. Give the most likely answer if you are not sure; leave
    it empty only if nothing is likely.
    """

    question: str = dspy.InputField()
    reasoning: str = dspy.OutputField(desc="one to three short sentences")
    answers: list[str] = dspy.OutputField(desc="names or values; empty if unknown")
