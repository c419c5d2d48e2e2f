"""Exploration: which relations, entities and facts to follow through a graph, and when to stop.

The steps of Think-on-Graph (arXiv 2307.07697), Plan-on-Graph (arXiv 2410.23875) and AnchorRAG
(arXiv 2509.01238). Kept items are named by their numbers, so they cannot be altered.
"""

from __future__ import annotations

from typing import Annotated

import dspy

from triplecheck.signatures.step import Numbers, Step

__all__ = [
    "ExtractKeywords",
    "FilterTriples",
    "JudgeAndGoOn",
    "JudgeSufficiency",
    "NameSubGoals",
    "Reflect",
    "ScoreEntities",
    "ScoreRelations",
    "UpdateMemory",
]


class ExtractKeywords(Step):
    """Proofread the question, and extract the keywords under which to look up where it starts from.

    Mend spelling mistakes and change nothing else. Keywords are the proper names, works and particular
    things that the question mentions, from each of its parts, also abbreviated ones; what it asks for
    is not one. Prefer the spelling of the known names when one of them is meant.
    """

    question: str = dspy.InputField()
    known_names: list[str] = dspy.InputField(
        desc="names of the graph that resemble parts of the question; 'a = b': written a, in the graph b; may be wrong"
    )
    proofread: str = dspy.OutputField(desc="the question, spelt correctly")
    keywords: list[str] = dspy.OutputField(desc="as in the proofread question, most important first")


class ScoreRelations(Step):
    """Choose the paths that contribute most to answering the question, and rate their contribution.

    Each path ends with a relation that may be followed next: forwards (→) or backwards (←). One that
    only leads on towards the answer contributes too. Scores lie between 0 and 1 and sum to 1. If no
    path contributes, choose none.
    """

    question: str = dspy.InputField()
    topics: list[str] = dspy.InputField(desc="'a = b': written a in the question, b in the graph")
    paths: list[str] = dspy.InputField(desc="numbered paths, with what lies at their end")
    most: int = dspy.InputField(desc="how many to choose at most")
    relations: Annotated[list[int], Numbers("paths")] = dspy.OutputField(desc="numbers of the chosen paths, best first")
    scores: list[float] = dspy.OutputField(desc="the score of each, in the same order")


class ScoreEntities(Step):
    """Choose the entities that contribute most to answering the question, and rate their contribution.

    Each was reached along the path before it. One that only leads on towards the answer contributes
    too. Scores lie between 0 and 1 and sum to 1. If no entity contributes, choose none.
    """

    question: str = dspy.InputField()
    reached: list[str] = dspy.InputField(desc="numbered: path: entity")
    most: int = dspy.InputField(desc="how many to choose at most of each path")
    entities: Annotated[list[int], Numbers("reached")] = dspy.OutputField(
        desc="numbers of the chosen entities, best first"
    )
    scores: list[float] = dspy.OutputField(desc="the score of each, in the same order")


class FilterTriples(Step):
    """Keep the facts that are relevant to the question, those included that only lead on towards the answer.

    A fact reads "head → relation → tail | tail ..." or, backwards, "tail ← relation ← head | head ...".
    If none is relevant, keep none.
    """

    question: str = dspy.InputField()
    topics: list[str] = dspy.InputField(desc="'a = b': written a in the question, b in the graph")
    facts: list[str] = dspy.InputField(desc="numbered facts from the knowledge graph")
    relevant: Annotated[list[int], Numbers("facts")] = dspy.OutputField(desc="numbers of the relevant facts")


class JudgeSufficiency(Step):
    """Judge whether the facts suffice to answer the whole question.

    A fact reads "head → relation → tail | tail ..." or, backwards, "tail ← relation ← head | head ...".
    They do not suffice if they only lead part of the way.
    """

    question: str = dspy.InputField()
    topics: list[str] = dspy.InputField(desc="'a = b': written a in the question, b in the graph")
    facts: list[str] = dspy.InputField(desc="numbered facts from the knowledge graph")
    sufficient: bool = dspy.OutputField()


class JudgeAndGoOn(Step):
    """Keep the relevant facts, judge whether they answer the question, and if not choose the paths to follow next.

    A fact reads "head → relation → tail | tail ..." or, backwards, "tail ← relation ← head | head ...".
    Facts that only lead on towards the answer are relevant, but do not suffice. A path goes one relation
    further than the facts; choose those that may lead to what is missing, and none if nothing is.
    """

    question: str = dspy.InputField()
    topics: list[str] = dspy.InputField(desc="'a = b': written a in the question, b in the graph")
    facts: list[str] = dspy.InputField(desc="numbered facts from the knowledge graph")
    paths: list[str] = dspy.InputField(desc="numbered paths, with what lies at their end")
    most: int = dspy.InputField(desc="how many paths to choose at most")
    relevant: Annotated[list[int], Numbers("facts")] = dspy.OutputField(desc="numbers of the relevant facts")
    sufficient: bool = dspy.OutputField(desc="whether the facts answer the whole question")
    follow: Annotated[list[int], Numbers("paths")] = dspy.OutputField(
        desc="numbers of the paths to follow, most promising first"
    )


class NameSubGoals(Step):
    """Break the question down into the things to find out, in the order in which they can be found out.

    A simple question has one. Each is a short phrase.
    """

    question: str = dspy.InputField()
    topics: list[str] = dspy.InputField(desc="'a = b': written a in the question, b in the graph")
    goals: list[str] = dspy.OutputField(desc="what to find out, first things first")


class UpdateMemory(Step):
    """Write down what the facts say about each goal, as far as they say something.

    A fact reads "head → relation → tail | tail ..." or, backwards, "tail ← relation ← head | head ...".
    """

    question: str = dspy.InputField()
    goals: list[str] = dspy.InputField(desc="what to find out")
    facts: list[str] = dspy.InputField(desc="numbered facts from the knowledge graph")
    findings: list[str] = dspy.OutputField(desc="for each goal, in order: what is found, or 'unknown'")


class Reflect(Step):
    """Decide whether a path that was set aside should be followed after all, because the present ones miss a goal.

    Each path ends with a relation that may be followed: forwards (→) or backwards (←). If the present
    paths are on the right way, choose none.
    """

    question: str = dspy.InputField()
    findings: list[str] = dspy.InputField(desc="each goal, and what is known of it")
    topics: list[str] = dspy.InputField(desc="'a = b': written a in the question, b in the graph")
    followed: list[str] = dspy.InputField(desc="paths that are being followed")
    paths: list[str] = dspy.InputField(desc="numbered paths that were set aside")
    revisit: Annotated[list[int], Numbers("paths")] = dspy.OutputField(
        desc="numbers of the paths to go back to, most promising first"
    )
