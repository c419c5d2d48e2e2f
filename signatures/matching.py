"""Schema linking: which classes and relations of a graph the words of a question mean."""

from __future__ import annotations

import dspy

from triplecheck.signatures.step import Step

__all__ = ["MatchWords"]


class MatchWords(Step):
    """Say which class or relation of a knowledge graph each word of a question means.

    People ask in words of their own. "Which kit does Ann look after?" speaks of the class equipment and of the relation
    keeper. Copy each word, and write the name that it means in this question, or none if no name means it.
    """

    classes: list[str] = dspy.InputField(desc="of things")
    relations: list[str] = dspy.InputField(desc="with what is at both ends, and an example")
    question: str = dspy.InputField()
    words: list[str] = dspy.InputField(desc="of the question, that no name has")
    meanings: list[str] = dspy.OutputField(desc="each as: word = name, or word = none")
