"""Checking a conclusion: whether the facts prove an answer, and which of two answers they prove."""

from __future__ import annotations

from typing import Literal

import dspy

from triplecheck.signatures.step import Step

__all__ = ["JudgeProof", "SettleAnswer"]


class JudgeProof(Step):
    """Judge whether the facts prove that the answer answers the question.

    The facts are true: "A | born in | B" says that A was born in B. They may still be about something else than the
    question: another relation (where somebody died, not where he was born), another thing of the same name, a
    condition that no fact states, or only a part of the way. Then they prove nothing. Rely on the facts, not on your
    own knowledge.
    """

    question: str = dspy.InputField()
    answer: str = dspy.InputField()
    triples: list[str] = dspy.InputField(desc="the facts: head | relation | tail")
    reasoning: str = dspy.OutputField(desc="what the question asks for and what the facts say, in one or two sentences")
    entails: bool = dspy.OutputField(desc="whether the facts prove that this is the answer to the question")


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
