"""Checking a conclusion: whether the facts prove an answer, and which of two answers they prove."""

from __future__ import annotations

import dspy

from triplecheck.signatures.step import Step

__all__ = ["JudgeProof"]


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
