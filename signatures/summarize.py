"""Summarization: the answer from the retrieved facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import dspy

from triplecheck.signatures.step import CopiedFrom, Numbers, Step

__all__ = ["AnswerFromFacts", "Operation", "with_known_answer", "without_reasoning"]

Operation = Literal["none", "count", "max", "min", "sum", "difference", "common", "same"]
"""What code computes over the cited facts; `AnswerFromFacts` explains each to the model."""


class AnswerFromFacts(Step):
    """Answer the question from the facts alone.

    "Skerry Point → height → 31" says that the height of Skerry Point is 31.
    "Skerry Point ← keeper of ← Olaf Moe | Jens Moe" says that Olaf Moe and Jens Moe are keepers of Skerry Point.

    Reason first. Then cite the facts that prove the answer: every fact on the way from the topic to the answer. Copy
    the answers from the cited facts, all of them if there are several. Answer yes or no only if the question asks
    whether something is so. If the facts do not answer the question, cite none and leave the answers empty.

    The operation is none, unless the answer has to be computed; code then computes it from the cited facts, and you
    leave the answers empty:
    - count: how many values there are.
    - max, min: the thing whose value is the largest or smallest. The latest or youngest has the max date, the
      earliest or oldest the min date. Cite the facts with the values to compare.
    - sum, difference: of the cited numbers or dates.
    - common: the values that several facts share.
    - same: whether two things share a value, yes or no.
    """

    question: str = dspy.InputField()
    topics: list[str] = dspy.InputField(desc="'a = b' means that the question writes a and the graph writes b")
    facts: list[str] = dspy.InputField()
    reasoning: str = dspy.OutputField(desc="one to three short sentences")
    cited: Annotated[list[int], Numbers("facts", "fact")] = dspy.OutputField(desc="the facts that prove the answer")
    operation: Operation = dspy.OutputField(desc="usually none")
    answers: Annotated[list[str], CopiedFrom("cited", besides=("yes", "no"))] = dspy.OutputField(
        desc="copied from the cited facts; empty if computed or unknown"
    )


def without_reasoning(step: type[Step]) -> type[Step]:
    """The base prompt of KERAG: an answering step without a field to reason in."""
    instructions = step.instructions.replace("Reason first. Then cite", "Cite")
    return step.with_instructions(instructions).without("reasoning")


def with_known_answer(question: str, answers: Sequence[str]) -> str:
    """A question that shows its answer, for a model that is to explain it (STaR)."""
    return f"{question} (The answer is {', '.join(answers)}. Show how the facts lead to it.)"
