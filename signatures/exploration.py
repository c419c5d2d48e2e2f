"""Exploration: which relations, entities and facts to follow through a graph, and when to stop.

The steps of Think-on-Graph (arXiv 2307.07697), Plan-on-Graph (arXiv 2410.23875) and AnchorRAG
(arXiv 2509.01238). Kept items are named by their numbers, so they cannot be altered.
"""

from __future__ import annotations

from typing import Annotated

import dspy

from triplecheck.signatures.step import NamesIn, Numbers, Step

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
    """Correct the spelling of the question, then list the keywords from which a search for the answer starts.

    Change nothing but the spelling. Keywords are the particular people, places, works and things that the question
    mentions by name, also by an abbreviation. What the question asks for is not a keyword, and neither is a type such
    as "film" or "city".

    The known names are names of the graph that resemble parts of the question. Use their spelling where one of them is
    meant. Ignore the others.
    """

    question: str = dspy.InputField()
    known_names: list[str] = dspy.InputField(desc="'a = b' means that the question writes a and the graph writes b")
    proofread: str = dspy.OutputField(desc="the question, spelled correctly")
    keywords: Annotated[list[str], NamesIn("known_names")] = dspy.OutputField(desc="names, the most important first")


class ScoreRelations(Step):
    """Choose the paths that help most to answer the question, and score them.

    "Skerry Point → height" leads from Skerry Point to its height. "Skerry Point ← keeper of" leads backwards, to
    everyone who is keeper of Skerry Point. The parentheses say how many things are at the end, and their type or an
    example.

    A path that leads part of the way to the answer helps, too. Scores are between 0 and 1 and add up to 1. If no path
    helps, choose none.
    """

    question: str = dspy.InputField()
    topics: list[str] = dspy.InputField(desc="'a = b' means that the question writes a and the graph writes b")
    paths: list[str] = dspy.InputField()
    most: int = dspy.InputField(desc="the largest number of paths to choose")
    reasoning: str = dspy.OutputField(desc="one short sentence", default="")
    relations: Annotated[dict[int, float], Numbers("paths", "path")] = dspy.OutputField(
        desc="the chosen paths, the best first"
    )


class ScoreEntities(Step):
    """Choose the entities that help most to answer the question, and score them.

    Each line gives a path and an entity that it leads to. An entity that leads part of the way to the answer helps,
    too. Scores are between 0 and 1 and add up to 1. If no entity helps, choose none.
    """

    question: str = dspy.InputField()
    reached: list[str] = dspy.InputField(desc="path: entity")
    most: int = dspy.InputField(desc="the largest number of entities to choose for each path")
    reasoning: str = dspy.OutputField(desc="one short sentence", default="")
    entities: Annotated[dict[int, float], Numbers("reached", "reached")] = dspy.OutputField(
        desc="the chosen entities, the best first"
    )


class FilterTriples(Step):
    """Keep the facts that help to answer the question.

    "Skerry Point → height → 31" says that the height of Skerry Point is 31.
    "Skerry Point ← keeper of ← Olaf Moe | Jens Moe" says that Olaf Moe and Jens Moe are keepers of Skerry Point.

    A fact that leads part of the way to the answer helps, too. If no fact helps, keep none.
    """

    question: str = dspy.InputField()
    topics: list[str] = dspy.InputField(desc="'a = b' means that the question writes a and the graph writes b")
    facts: list[str] = dspy.InputField()
    reasoning: str = dspy.OutputField(desc="one short sentence", default="")
    relevant: Annotated[list[int], Numbers("facts", "fact")] = dspy.OutputField(desc="the facts to keep")


class JudgeSufficiency(Step):
    """Judge whether the facts are enough to answer the whole question.

    "Skerry Point → height → 31" says that the height of Skerry Point is 31.
    "Skerry Point ← keeper of ← Olaf Moe | Jens Moe" says that Olaf Moe and Jens Moe are keepers of Skerry Point.

    Facts that lead only part of the way to the answer are not enough.
    """

    question: str = dspy.InputField()
    topics: list[str] = dspy.InputField(desc="'a = b' means that the question writes a and the graph writes b")
    facts: list[str] = dspy.InputField()
    reasoning: str = dspy.OutputField(desc="one short sentence", default="")
    sufficient: bool = dspy.OutputField()


class JudgeAndGoOn(Step):
    """Keep the facts that help, judge whether they are enough to answer the question, and if not choose where to go on.

    "Skerry Point → height → 31" says that the height of Skerry Point is 31.
    "Skerry Point ← keeper of ← Olaf Moe | Jens Moe" says that Olaf Moe and Jens Moe are keepers of Skerry Point.

    A fact that leads part of the way to the answer helps, too, but is not enough. Each path goes one relation further
    than the facts. If the facts are not enough, choose the paths that may lead to what is missing; otherwise choose
    none.
    """

    question: str = dspy.InputField()
    topics: list[str] = dspy.InputField(desc="'a = b' means that the question writes a and the graph writes b")
    facts: list[str] = dspy.InputField()
    paths: list[str] = dspy.InputField(desc="in parentheses: how many things are at the end, and their type")
    most: int = dspy.InputField(desc="the largest number of paths to choose")
    reasoning: str = dspy.OutputField(desc="one or two short sentences", default="")
    relevant: Annotated[list[int], Numbers("facts", "fact")] = dspy.OutputField(desc="the facts to keep")
    sufficient: bool = dspy.OutputField(desc="whether the facts answer the whole question")
    follow: Annotated[list[int], Numbers("paths", "path")] = dspy.OutputField(desc="the paths to follow")


class NameSubGoals(Step):
    """Break the question down into the things to find out, in the order in which they can be found out.

    A simple question has one goal. Each goal is a short phrase.
    """

    question: str = dspy.InputField()
    topics: list[str] = dspy.InputField(desc="'a = b' means that the question writes a and the graph writes b")
    goals: list[str] = dspy.OutputField(desc="what to find out, the first step first")


class UpdateMemory(Step):
    """Write down what the facts say about each goal.

    "Skerry Point → height → 31" says that the height of Skerry Point is 31.
    "Skerry Point ← keeper of ← Olaf Moe | Jens Moe" says that Olaf Moe and Jens Moe are keepers of Skerry Point.
    """

    question: str = dspy.InputField()
    goals: list[str] = dspy.InputField(desc="what to find out")
    facts: list[str] = dspy.InputField()
    findings: list[str] = dspy.OutputField(desc="for each goal, in order: what the facts say, or unknown")


class Reflect(Step):
    """Decide whether to go back to paths that were set aside, because the followed paths miss a goal.

    "Skerry Point → height" leads from Skerry Point to its height. "Skerry Point ← keeper of" leads backwards, to
    everyone who is keeper of Skerry Point.

    If the followed paths can reach every goal, choose none.
    """

    question: str = dspy.InputField()
    findings: list[str] = dspy.InputField(desc="each goal, and what is known about it")
    topics: list[str] = dspy.InputField(desc="'a = b' means that the question writes a and the graph writes b")
    followed: list[str] = dspy.InputField(desc="the followed paths")
    paths: list[str] = dspy.InputField(desc="the paths that were set aside")
    reasoning: str = dspy.OutputField(desc="one short sentence", default="")
    revisit: Annotated[list[int], Numbers("paths", "path")] = dspy.OutputField(
        desc="the paths to go back to, the best first"
    )
