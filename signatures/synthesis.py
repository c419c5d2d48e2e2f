"""Synthesis: paraphrases of questions that were generated from a graph."""

from __future__ import annotations

import dspy

from triplecheck.signatures.step import Step

__all__ = ["ParaphraseQuestion"]


class ParaphraseQuestion(Step):
    """Ask the same question in other words, as different people would.

    Every wording must have exactly the same answer. Copy every name letter by letter, and mention no other names. Vary
    the form: full questions, requests, plain search words.
    """

    question: str = dspy.InputField()
    names: list[str] = dspy.InputField(desc="names in the question, to copy unchanged")
    count: int = dspy.InputField(desc="the number of wordings")
    paraphrases: list[str] = dspy.OutputField(desc="one wording per line")
