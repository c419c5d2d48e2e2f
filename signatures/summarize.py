"""Summarization: the answer from the retrieved facts."""

from __future__ import annotations

from typing import Annotated, Literal

import dspy

from triplecheck.signatures.step import CopiedFrom, Numbers, Step

__all__ = ["AnswerFromFacts", "Operation"]

Operation = Literal["none", "count", "max", "min", "sum", "difference", "common", "same"]
"""What code computes over the cited facts:

`none` nothing; `count` how many values; `max`, `min` whose value is greatest, smallest (also latest,
earliest); `sum`, `difference` of the values; `common` the values that all cited facts share; `same`
whether the values agree (yes or no).
"""


class AnswerFromFacts(Step):
    """Answer the question from the given facts alone.

    A fact reads "head → relation → tail | tail ..." or, backwards, "tail ← relation ← head | head ...".
    Think step by step, name the numbers of the facts that prove the answer, and copy the answer from
    them as written there. Where the answer takes counting, comparing or intersecting, name the
    operation and cite every fact that it runs over: it is then computed exactly. If the facts do
    not answer the question, leave the facts and the answers empty.
    """

    question: str = dspy.InputField()
    topics: list[str] = dspy.InputField(desc="'a = b': written a in the question, b in the graph")
    facts: list[str] = dspy.InputField(desc="numbered facts from the knowledge graph")
    reasoning: str = dspy.OutputField(desc="short")
    cited: Annotated[list[int], Numbers("facts")] = dspy.OutputField(desc="numbers of the facts that prove the answer")
    operation: Operation = dspy.OutputField()
    answers: Annotated[list[str], CopiedFrom("cited", besides=("yes", "no"))] = dspy.OutputField(
        desc="copied from the cited facts, or yes or no; empty if unknown or computed"
    )
