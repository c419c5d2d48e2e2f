"""Synthesis: paraphrases of questions that were generated from a graph."""

from __future__ import annotations

import dspy

from triplecheck.signatures.step import Step

__all__ = ["ParaphraseQuestion"]


class ParaphraseQuestion(Step):
    """Ask the same in other words, as different people would.

    Each wording must have exactly the same answer. Write every name as it is given, letter by letter, and
    name nothing else. Vary the form: full questions, requests, plain search words.
    """

    question: str = dspy.InputField()
    names: list[str] = dspy.InputField(desc="names in the question, to be kept as they are")
    count: int = dspy.InputField(desc="how many wordings")
    paraphrases: list[str] = dspy.OutputField(desc="one wording per line")
