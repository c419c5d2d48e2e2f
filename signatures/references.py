"""Answering with references: writing and checking them, answering from them, and asking the next question.

The steps of Know³-RAG (arXiv 2505.12662) and of the text baselines that it is compared with.
"""

from __future__ import annotations

from typing import Annotated

import dspy

from triplecheck.signatures.step import Numbers, Step

__all__ = [
    "AnswerFromReferences",
    "AnswerWithReferences",
    "AnswerWithTriples",
    "CheckPassages",
    "ExtractTriples",
    "JudgeKnowledge",
    "JudgePassage",
    "NextQuestion",
    "SelectPassages",
    "WritePassage",
    "WritePassages",
]


class AnswerWithReferences(Step):
    """Answer the question with the help of the references. Think step by step.

    Name in full sentences the facts that lead to the answer. References may be irrelevant or wrong:
    where they do not help, rely on your own knowledge.
    """

    question: str = dspy.InputField()
    references: list[str] = dspy.InputField(desc="numbered passages")
    reasoning: str = dspy.OutputField(desc="short, in full sentences")
    answer: str = dspy.OutputField(desc="yes, no, or a few words: a name or value alone; none if unknown")


class AnswerFromReferences(Step):
    """Answer the question with the help of the references, in a few words and without explanation."""

    question: str = dspy.InputField()
    references: list[str] = dspy.InputField(desc="numbered passages")
    answer: str = dspy.OutputField(desc="yes, no, or a few words: a name or value alone; none if unknown")


class AnswerWithTriples(Step):
    """Write down the facts that answer the question, as triples, explain the answer by them, then give it.

    A triple is one line: head | relation | tail. Rely on your own knowledge.
    """

    question: str = dspy.InputField()
    evidence: list[str] = dspy.OutputField(desc="triples: head | relation | tail")
    explanation: str = dspy.OutputField(desc="short")
    answer: str = dspy.OutputField(desc="yes, no, or a few words: a name or value alone; none if unknown")


class WritePassage(Step):
    """Write a passage of background knowledge that helps somebody else to answer the question.

    Name the facts that matter, in a few sentences. It need not answer the question. The related
    entities may be a help, or wrong. If you know nothing about it, write none.
    """

    question: str = dspy.InputField()
    entities: list[str] = dspy.InputField(desc="related entities, some with a description; may be empty")
    passage: str = dspy.OutputField(desc="one paragraph")


class WritePassages(Step):
    """Write two passages of background knowledge that help somebody else to answer the question.

    The first comes from what you know of the question alone; the second is about the related
    entities, too, which may be a help, or wrong. Name the facts that matter, in a few sentences
    each; they need not answer the question. Where you know nothing, write none.
    """

    question: str = dspy.InputField()
    entities: list[str] = dspy.InputField(desc="related entities, some with a description")
    passage: str = dspy.OutputField(desc="one paragraph, from the question alone")
    passage_with_entities: str = dspy.OutputField(desc="one paragraph, with the related entities")


class NextQuestion(Step):
    """Write the one question whose answer is most needed to answer the given question.

    The answer so far may be incomplete or wrong. Find the most important thing that it and the
    references leave open or get wrong, and ask for that alone, naming what it is about.
    """

    question: str = dspy.InputField()
    references: list[str] = dspy.InputField(desc="numbered passages")
    answer_so_far: str = dspy.InputField()
    next_question: str = dspy.OutputField(desc="one question")


class ExtractTriples(Step):
    """Extract the facts that the texts state, as triples.

    Write each on a line of its own: number of the text | head | relation | tail. Take the words from
    the text, and put the full name where the text has a pronoun. Leave out what is not stated.
    """

    texts: list[str] = dspy.InputField(desc="numbered texts")
    entities: list[str] = dspy.InputField(desc="names that may stand in them; may be empty")
    triples: list[str] = dspy.OutputField(desc="number | head | relation | tail")


class SelectPassages(Step):
    """Select the passages that help to answer the question.

    A passage helps if it tells something that leads to the answer, even part of the way. One about
    something else of the same name does not help.
    """

    question: str = dspy.InputField()
    entities: list[str] = dspy.InputField(desc="what the question is about, some with a description")
    passages: list[str] = dspy.InputField(desc="numbered passages")
    useful: Annotated[list[int], Numbers("passages")] = dspy.OutputField(desc="numbers of the passages that help")


class CheckPassages(Step):
    """Select the passages that help to answer the question, and extract the facts that they state.

    A passage helps if it tells something that leads to the answer, even part of the way. One about
    something else of the same name does not help. Then write the facts of those that help as
    triples, each on a line of its own: number of the passage | head | relation | tail. Take the
    words from the passage, and put the full name where it has a pronoun.
    """

    question: str = dspy.InputField()
    entities: list[str] = dspy.InputField(desc="what the question is about, some with a description")
    passages: list[str] = dspy.InputField(desc="numbered passages")
    useful: Annotated[list[int], Numbers("passages")] = dspy.OutputField(desc="numbers of the passages that help")
    triples: list[str] = dspy.OutputField(desc="number | head | relation | tail")


class JudgePassage(Step):
    """Judge whether the passage helps to answer the question.

    It helps if it tells something that leads to the answer, even part of the way. One about something
    else of the same name, or that contradicts what is known of the entities, does not help.
    """

    question: str = dspy.InputField()
    entities: list[str] = dspy.InputField(desc="what the question is about, some with a description")
    passage: str = dspy.InputField()
    helps: bool = dspy.OutputField()


class JudgeKnowledge(Step):
    """Judge whether you know the answer to the question for certain, without looking anything up."""

    question: str = dspy.InputField()
    known: bool = dspy.OutputField()
