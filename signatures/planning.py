"""Planning: which entities a question is about, and which relations to follow from them."""

from __future__ import annotations

from typing import Annotated

import dspy

from triplecheck.signatures.step import Numbers, Step

__all__ = ["NameTopics", "SelectPaths"]


class NameTopics(Step):
    """Name the entities that the question starts from, so that they can be looked up in a knowledge graph.

    A topic is a particular person, place, work or thing that the question names; what the question
    asks for is not a topic. Usually there is one; a comparison or a combined condition has two or
    more. Prefer the spelling of the known names when one of them is meant, even where the question
    misspells it.
    """

    types: list[str] = dspy.InputField(desc="types of entities in the graph; may be empty")
    question: str = dspy.InputField()
    known_names: list[str] = dspy.InputField(
        desc="names of the graph found in the question, with their types; 'a = b': written a, in the graph b"
    )
    topics: list[str] = dspy.OutputField(desc="names as in the graph")
    domain: str = dspy.OutputField(desc="type of the topics, one of the given types, or 'unknown'")


class SelectPaths(Step):
    """Select the paths through a knowledge graph that may lead to what the question asks for.

    Each path starts at a topic and follows one more relation: forwards (→) or backwards (←). Keep
    every path that may matter, also those that only lead on towards the answer; leave out the rest.
    """

    question: str = dspy.InputField()
    topics: list[str] = dspy.InputField(desc="'a = b': written a in the question, b in the graph")
    paths: list[str] = dspy.InputField(desc="numbered paths, with what lies at their end")
    keep: Annotated[list[int], Numbers("paths")] = dspy.OutputField(
        desc="numbers of the paths to follow, most promising first"
    )
