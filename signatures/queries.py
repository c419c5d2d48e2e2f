"""Query generation: a query over the graph that computes what a question asks."""

from __future__ import annotations

import dspy

from triplecheck.signatures.step import Step

__all__ = ["WriteQuery"]


class WriteQuery(Step):
    """Write a query that computes the answer to the question from a knowledge graph, if the question needs one.

    A question needs a query if something is counted, summed, compared, ordered, excluded or bounded, if it expects
    yes or no, or if it describes things by their class and more than one condition. Write none if it asks only for
    what stands beside one topic, such as the height of a lighthouse.

    The query is SPARQL with names in angle brackets: SELECT or ASK. SELECT answers which, who, what and how many; ASK
    answers yes or no. Copy the patterns that the question means from those listed, also their direction, without the
    parentheses. A ?x beside a topic may have any name. Write every name in brackets, also after a: ?ship a <ship>.

    - Count different things: SELECT (COUNT(DISTINCT ?ship) AS ?n)
    - The most: GROUP BY, then ORDER BY DESC(?n) LIMIT 1. The oldest has the largest age and the first year.
    - Excluded: FILTER NOT EXISTS { ... }. One of several: VALUES ?company { <A> <B> }.
    - Years and numbers: FILTER(?year < 1950). The year of a date: YEAR(?date).

    Use every condition of the question, and add none. If a word of the question has no relation, write none.
    """

    question: str = dspy.InputField()
    topics: list[str] = dspy.InputField(desc="things that the question names, with their class")
    beside: list[str] = dspy.InputField(desc="triple patterns that the topics have, with the class or the value of ?x")
    classes: list[str] = dspy.InputField(desc="with the number of things of each")
    relations: list[str] = dspy.InputField(
        desc="triple patterns of the graph, with what is at both ends and an example"
    )
    problem: str = dspy.InputField(desc="what was wrong with the query before; empty at first")
    query: str = dspy.OutputField(desc="the query, or none")
    reasoning: str = dspy.OutputField(desc="why there is none, in one short sentence", default="")
