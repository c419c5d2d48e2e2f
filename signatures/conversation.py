"""Conversations: questions that refer to earlier ones."""

from __future__ import annotations

import re

import dspy

from triplecheck.signatures.step import Step

__all__ = ["RewriteFollowUp"]

_TURN = re.compile(r"(.*?)(?: Answer: (.*))?", re.DOTALL)
_NO_ANSWER = "none"


def write_turn(question: str, answer: str) -> str:
    """A question and its answer as one item of a conversation; an empty answer is written as none."""
    return f"{question} Answer: {answer or _NO_ANSWER}"


def read_turn(text: str) -> tuple[str, str]:
    """The question and the answer of an item; the answer is empty if there is none."""
    match = _TURN.fullmatch(text.strip())
    assert match is not None
    answer = (match[2] or "").strip()
    return match[1].strip(), "" if answer == _NO_ANSWER else answer


class RewriteFollowUp(Step):
    """Rewrite the question so that it can be understood without the conversation.

    Replace pronouns, and other words that refer to the conversation, by the names that they stand for. Add what the
    question leaves out. Change nothing else, and do not answer. If the question can be understood alone, copy it.
    """

    conversation: list[str] = dspy.InputField(desc="earlier questions with their answers, the latest last")
    question: str = dspy.InputField()
    reasoning: str = dspy.OutputField(desc="what the question refers to, in one short sentence", default="")
    rewritten: str = dspy.OutputField(desc="one question")
