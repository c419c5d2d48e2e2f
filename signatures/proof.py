"""Checking a conclusion: which of two answers the facts prove."""

from __future__ import annotations

from typing import Literal

import dspy

from triplecheck.signatures.step import Step

__all__ = ["SettleAnswer"]


class SettleAnswer(Step):
    """Decide which of two answers to a question is right.

    Both come from the same facts: one was written down, the other was computed with an operation over the facts at the
    ends of their paths. Check whether the operation, and what it runs over, is what the question asks for. If it is,
    the computed answer is right. If the facts prove neither answer, reply neither.
    """

    question: str = dspy.InputField()
    facts: list[str] = dspy.InputField(desc="the facts that were cited")
    written: str = dspy.InputField(desc="the answer that was written down")
    operation: str = dspy.InputField(desc="what was computed over the facts")
    computed: str = dspy.InputField(desc="its result")
    reasoning: str = dspy.OutputField(desc="one or two short sentences")
    right: Literal["computed", "written", "neither"] = dspy.OutputField()
