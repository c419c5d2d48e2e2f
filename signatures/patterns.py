"""Retrieval by patterns: the question as triple patterns, and scores of the candidates."""

from __future__ import annotations

import dspy

from triplecheck.signatures.step import Step

__all__ = ["ReviseTriplets", "ScoreCandidate", "ScoreCandidates", "TripletsFromQuery"]


class TripletsFromQuery(Step):
    """Write the question as triple patterns over a knowledge graph, so that code can look up what satisfies them.

    A pattern is one line: head | relation | tail. Head and tail are the name of a particular thing
    that the question mentions, or an unknown, written ?x or with its type ?x:Type. Take relations
    and types from the given ones, and the spelling of known names where one of them is meant. Use
    one unknown in several patterns to say that it is the same thing. Leave out what no relation can
    express. Then name the unknown that the question asks for.
    """

    types: list[str] = dspy.InputField(desc="types of entities in the graph; may be empty")
    relations: list[str] = dspy.InputField(desc="relations of the graph, some with the types at both ends")
    question: str = dspy.InputField()
    known_names: list[str] = dspy.InputField(
        desc="names of the graph found in the question, with their types; 'a = b': written a, in the graph b"
    )
    triplets: list[str] = dspy.OutputField(desc="patterns: head | relation | tail")
    answer: str = dspy.OutputField(desc="the unknown that is asked for, such as ?x")


class ReviseTriplets(Step):
    """Write the triple patterns anew, so that they say what the question asks and something can satisfy them.

    A pattern is one line: head | relation | tail, where head and tail are names or unknowns such as
    ?x or ?x:Type. Looked up in the graph, the given patterns failed for the reason given: mend or
    leave out the one at fault, and keep the others. Then name the unknown that is asked for.
    """

    types: list[str] = dspy.InputField(desc="types of entities in the graph; may be empty")
    relations: list[str] = dspy.InputField(desc="relations of the graph, some with the types at both ends")
    question: str = dspy.InputField()
    known_names: list[str] = dspy.InputField(
        desc="names of the graph found in the question, with their types; 'a = b': written a, in the graph b"
    )
    failed: list[str] = dspy.InputField(desc="the patterns that failed")
    reasons: list[str] = dspy.InputField(desc="which of them is at fault, and why")
    revised: list[str] = dspy.OutputField(desc="patterns: head | relation | tail")
    answer: str = dspy.OutputField(desc="the unknown that is asked for, such as ?x")


class ScoreCandidates(Step):
    """Judge how well each candidate answers the question, from 0 (not at all) to 1 (fully).

    Go by what is written of each candidate: a text, and facts from a knowledge graph. For each
    candidate write one line: its number, a colon, the score, and why in a few words, as in
    "3: 0.8 plays the bass". Leave none out.
    """

    question: str = dspy.InputField()
    candidates: list[str] = dspy.InputField(desc="numbered candidates: name, text, facts")
    verdicts: list[str] = dspy.OutputField(desc="number: score, and why")


class ScoreCandidate(Step):
    """Judge how well the candidate answers the question, from 0 (not at all) to 1 (fully).

    Go by what is written of it: a text, and facts from a knowledge graph.
    """

    question: str = dspy.InputField()
    candidate: str = dspy.InputField(desc="name, text, facts")
    score: float = dspy.OutputField(desc="from 0 to 1")
    reason: str = dspy.OutputField(desc="a few words")
