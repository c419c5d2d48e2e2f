"""Planning: which entities a question is about, and which relations to follow from them."""

from __future__ import annotations

from typing import Annotated

import dspy

from triplecheck.signatures.step import NamesIn, Numbers, Step

__all__ = ["NameTopics", "SelectPaths"]


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
