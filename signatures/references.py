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

    In the reasoning, state in full sentences the facts that lead to the answer. References may be irrelevant or wrong:
    where they do not help, rely on your own knowledge. Answer yes or no only if the question asks whether something is
    so; otherwise give a name or value alone. Give the most likely answer if you are not sure; write none only if
    nothing is likely.
    """

    question: str = dspy.InputField()
    references: list[str] = dspy.InputField()
    reasoning: str = dspy.OutputField(desc="one to three sentences")
    answer: str = dspy.OutputField(desc="a name, a value, or a few words")


class AnswerFromReferences(Step):
    """Answer the question with the help of the references, without an explanation.

    References may be irrelevant or wrong: where they do not help, rely on your own knowledge. Answer yes or no only if
    the question asks whether something is so; otherwise give a name or value alone. Give the most likely answer if you
    are not sure; write none only if nothing is likely.
    """

    question: str = dspy.InputField()
    references: list[str] = dspy.InputField()
    answer: str = dspy.OutputField(desc="a name, a value, or a few words")


class AnswerWithTriples(Step):
    """Write the facts that answer the question as triples, explain the answer with them, then give the answer.

    A triple is one line: head | relation | tail. Rely on your own knowledge. Answer yes or no only if the question asks
    whether something is so; otherwise give a name or value alone. Give the most likely answer if you are not sure;
    write none only if nothing is likely.
    """

    question: str = dspy.InputField()
    evidence: list[str] = dspy.OutputField(desc="triples: head | relation | tail")
    explanation: str = dspy.OutputField(desc="one or two sentences")
    answer: str = dspy.OutputField(desc="a name, a value, or a few words")


class WritePassage(Step):
    """Write a passage of background knowledge that helps someone else to answer the question.

    State only facts that you are sure of, in a few sentences. The passage need not answer the question. Leave out
    related entities that have nothing to do with the question. If you are sure of nothing, write none.
    """

    question: str = dspy.InputField()
    entities: list[str] = dspy.InputField(desc="related entities, some with a description")
    reasoning: str = dspy.OutputField(desc="what you know about the subject, in one short sentence", default="")
    passage: str = dspy.OutputField(desc="one paragraph")


class WritePassages(Step):
    """Write two passages of background knowledge that help someone else to answer the question.

    Write the first from what you know about the question alone, the second with the related entities, too. Leave out
    entities that have nothing to do with the question. State only facts that you are sure of, in a few sentences each.
    The passages need not answer the question. If you are sure of nothing, write none.
    """

    question: str = dspy.InputField()
    entities: list[str] = dspy.InputField(desc="related entities, some with a description")
    reasoning: str = dspy.OutputField(desc="what you know about the subject, in one short sentence", default="")
    passage: str = dspy.OutputField(desc="one paragraph, from the question alone")
    passage_with_entities: str = dspy.OutputField(desc="one paragraph, with the related entities")


class NextQuestion(Step):
    """Write the one question whose answer is needed most to answer the given question.

    The answer so far may be incomplete or wrong. Find the most important thing that it and the references leave open or
    get wrong. Ask for that alone, and name what it is about.
    """

    question: str = dspy.InputField()
    references: list[str] = dspy.InputField()
    answer_so_far: str = dspy.InputField()
    reasoning: str = dspy.OutputField(desc="what is missing or wrong, in one short sentence", default="")
    next_question: str = dspy.OutputField(desc="one question")


class ExtractTriples(Step):
    """Extract the facts that the texts state, as triples.

    Write one fact per line: number of the text | head | relation | tail. Use the words of the text, and the full name
    where the text has a pronoun. If one of the given relations says the same, write that relation instead; most of them
    are in no text. Write each fact once. Leave out what the text does not state.
    """

    entities: list[str] = dspy.InputField(desc="names that may occur in the texts")
    relations: list[str] = dspy.InputField(desc="of a knowledge graph; may be empty")
    texts: list[str] = dspy.InputField()
    triples: list[str] = dspy.OutputField(desc="number | head | relation | tail")


class SelectPassages(Step):
    """Select the passages that help to answer the question.

    A passage helps if it says something that leads to the answer, even part of the way. A passage about something else
    with the same name does not help.
    """

    question: str = dspy.InputField()
    entities: list[str] = dspy.InputField(desc="what the question is about, some with a description")
    passages: list[str] = dspy.InputField()
    reasoning: str = dspy.OutputField(desc="one short sentence", default="")
    useful: Annotated[list[int], Numbers("passages")] = dspy.OutputField(desc="the passages that help")


class CheckPassages(Step):
    """Select the passages that help to answer the question, and extract the facts that they state.

    A passage helps if it says something that leads to the answer, even part of the way. A passage about something else
    with the same name does not help. Then write the facts of the selected passages as triples, one per line: number of
    the passage | head | relation | tail. Use the words of the passage, and the full name where it has a pronoun. If one
    of the given relations says the same, write that relation instead.
    """

    question: str = dspy.InputField()
    entities: list[str] = dspy.InputField(desc="what the question is about, some with a description")
    relations: list[str] = dspy.InputField(desc="of a knowledge graph; may be empty")
    passages: list[str] = dspy.InputField()
    reasoning: str = dspy.OutputField(desc="one short sentence", default="")
    useful: Annotated[list[int], Numbers("passages")] = dspy.OutputField(desc="the passages that help")
    triples: list[str] = dspy.OutputField(desc="number | head | relation | tail")


class JudgePassage(Step):
    """Judge whether the passage helps to answer the question.

    A passage helps if it says something that leads to the answer, even part of the way. A passage about something else
    with the same name, or one that contradicts what is known about the entities, does not help.
    """

    question: str = dspy.InputField()
    entities: list[str] = dspy.InputField(desc="what the question is about, some with a description")
    passage: str = dspy.InputField()
    reasoning: str = dspy.OutputField(desc="one short sentence", default="")
    helps: bool = dspy.OutputField()


class JudgeKnowledge(Step):
    """Judge whether you know the answer to the question for certain, without looking anything up."""

    question: str = dspy.InputField()
    reasoning: str = dspy.OutputField(desc="one short sentence", default="")
    known: bool = dspy.OutputField()
