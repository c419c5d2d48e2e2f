"""Closed book: answers from a model's own knowledge, without evidence."""

from __future__ import annotations

import dspy

from triplecheck.signatures.step import Step

__all__ = ["AnswerDirectly", "AnswerFromMemory"]


class AnswerDirectly(Step):
    """Answer the question from your own knowledge."""

    question: str = dspy.InputField()
    answers: list[str] = dspy.OutputField(desc="one answer per line, a name or value alone; empty if unknown")


class AnswerFromMemory(Step):
    """Answer the question from your own knowledge. Think step by step.

    If you do not know the answer, leave it empty.
    """

    question: str = dspy.InputField()
    reasoning: str = dspy.OutputField(desc="short")
    answers: list[str] = dspy.OutputField(desc="one answer per line, a name or value alone; empty if unknown")
