"""Retrieval by patterns: the question as triple patterns, and scores of the candidates."""

from __future__ import annotations

import dspy

from triplecheck.signatures.step import Step

__all__ = ["ScoreCandidate", "ScoreCandidates", "TripletsFromQuery"]


class TripletsFromQuery(Step):
    """Write the question as triple patterns over a knowledge graph; code then looks up what satisfies them.

    A pattern is one line, as in SPARQL with names in angle brackets: ?x <keeper of> <Skerry Point>. Its ends are a name
    that the question mentions, or an unknown such as ?x. The same unknown in several patterns is the same thing. Say
    the type of each unknown with a: ?x a <person>.

    Take the relation from the list, and copy it exactly, without its types. "keeper of / keeps: person to lighthouse"
    means that a person is keeper of a lighthouse, so the person comes first and the lighthouse last. Take types from
    the list, and use the spelling of a known name where it is meant. Leave out what no relation can express. Then name
    the unknown that the question asks for.
    """

    types: list[str] = dspy.InputField(desc="types of entities in the graph")
    relations: list[str] = dspy.InputField(desc="relations of the graph; some with the common types of head and tail")
    question: str = dspy.InputField()
    known_names: list[str] = dspy.InputField(
        desc="with types; 'a = b' means that the question writes a and the graph writes b"
    )
    reasoning: str = dspy.OutputField(desc="one short sentence", default="")
    triplets: list[str] = dspy.OutputField(desc="patterns, one a line")
    answer: str = dspy.OutputField(desc="the unknown that the question asks for, such as ?x")


class ScoreCandidates(Step):
    """Judge how well each candidate answers the question, from 0 (not at all) to 1 (fully).

    Rely on what is written about each candidate: a text, and facts from a knowledge graph. Write one line for every
    candidate: its number, a colon, the score, and the reason in a few words, as in "3: 0.8 plays the bass".
    """

    question: str = dspy.InputField()
    candidates: list[str] = dspy.InputField(desc="name, text, facts")
    verdicts: list[str] = dspy.OutputField(desc="number: score and reason")


class ScoreCandidate(Step):
    """Judge how well the candidate answers the question, from 0 (not at all) to 1 (fully).

    Rely on what is written about it: a text, and facts from a knowledge graph.
    """

    question: str = dspy.InputField()
    candidate: str = dspy.InputField(desc="name, text, facts")
    reason: str = dspy.OutputField(desc="a few words")
    score: float = dspy.OutputField(desc="from 0 to 1")
