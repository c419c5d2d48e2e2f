"""Planning: which entities a question is about, and which relations to follow from them."""

from __future__ import annotations

from typing import Annotated, Literal

import dspy

from triplecheck.signatures.step import NamesIn, Numbers, Step

__all__ = ["Choice", "NameTopics", "PickFromClass", "SelectPaths"]

Choice = Literal["all", "count", "max", "min", "most", "fewest"]
"""What code picks from a class; `PickFromClass` explains each to the model."""


class NameTopics(Step):
    """Name the things that the question starts from, so that they can be looked up in a knowledge graph.

    A topic is a particular person, place, work or thing that the question mentions by name. What the question asks
    for is not a topic, and neither is a type such as "film" or "city". Most questions have one topic; a comparison or
    a combined condition has two or more.

    The known names are names of the graph that resemble parts of the question. Copy those that are meant, without the
    type in parentheses, even if the question misspells them. Ignore the others.
    """

    types: list[str] = dspy.InputField(desc="types of the things that the known names may mean")
    question: str = dspy.InputField()
    known_names: list[str] = dspy.InputField(
        desc="with types; 'a = b' means that the question writes a and the graph writes b"
    )
    topics: Annotated[list[str], NamesIn("known_names")] = dspy.OutputField(desc="names, as the graph writes them")
    domain: str = dspy.OutputField(desc="the type of the topics, or unknown")


class PickFromClass(Step):
    """Say which things the question describes instead of naming them, so that code can pick them from a graph.

    A question describes things by their class, and often by what singles them out: "the tallest lighthouse on Holm",
    "the company that owns the most ships", "how many islands are there". Copy all words of the question that describe
    the things, and select their class and the choice:
    - all, count: everything of the class, or how many there are. Select no relation.
    - max, min: the thing whose number or date is the largest or smallest. Select the relation to this number or date.
      The oldest has the min date, the newest the max date.
    - most, fewest: the thing that is related to the most or fewest others. Select this relation.

    "height: lighthouse to number" says that a lighthouse has a height; "(one each)", that none has several. If the
    question describes nothing of these classes, write none, and select no class.
    """

    question: str = dspy.InputField()
    topics: list[str] = dspy.InputField(desc="things that the question names")
    classes: list[str] = dspy.InputField(desc="with the number of things of each")
    relations: list[str] = dspy.InputField(desc="relations of these classes, with what is at both ends")
    reasoning: str = dspy.OutputField(desc="one short sentence", default="")
    description: str = dspy.OutputField(desc="copied from the question, or none")
    chosen: Annotated[list[int], Numbers("classes")] = dspy.OutputField(desc="their class")
    choice: Choice = dspy.OutputField()
    by: Annotated[list[int], Numbers("relations")] = dspy.OutputField(desc="the relation, or none")


class SelectPaths(Step):
    """Select the paths through a knowledge graph that lead towards the answer.

    "Skerry Point → height" leads from Skerry Point to its height. "Skerry Point ← keeper of" leads backwards, to
    everyone who is keeper of Skerry Point. The parentheses say how many things are at the end, and their type or an
    example.

    Select one to five paths, the best first. If the answer is further away, select the paths that lead part of the
    way. A comparison takes the same relation of each thing that it compares. If no path helps, select none.
    """

    question: str = dspy.InputField()
    topics: list[str] = dspy.InputField(desc="'a = b' means that the question writes a and the graph writes b")
    paths: list[str] = dspy.InputField()
    reasoning: str = dspy.OutputField(desc="one short sentence", default="")
    keep: Annotated[list[int], Numbers("paths", "path")] = dspy.OutputField(desc="the selected paths")
