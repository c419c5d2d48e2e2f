"""Finds how the answers of a question follow from the graph.

A data set seldom says this. Of all that gives exactly the known answers, what fits the words of the question best is
taken (`language.relevance`); where nothing gives them there is no derivation, and no right reply to a step.
"""

from __future__ import annotations

from triplecheck.optimize.traces import computed
from triplecheck.optimize.traces.derivations import Asked, Derivation
from triplecheck.optimize.traces.gold_paths import found_paths, given_paths, named_paths


def derive(asked: Asked) -> Derivation | None:
    """The derivation of the answers; None if none is found, or if there are no answers.

    Paths given with the question come first, then relations that it names, then what leads to exactly the answers.
    """
    given = given_paths(asked.graph, asked.question.gold)
    if given:
        return computed.at_ends(asked, given) or (None if asked.computed else Derivation(given))
    if asked.computed:
        return computed.polar(asked) if asked.read.asked.kind == "yes or no" else computed.number(asked)
    if not asked.answers:
        return None
    named = named_paths(asked.graph, asked.question.gold, asked.topics, asked.answers)
    if named:
        return Derivation(named)
    extreme = computed.extreme(asked) if asked.read.compares is not None else None
    return extreme or looked_up(asked) or computed.bounded(asked) or computed.extreme(asked)


def looked_up(asked: Asked) -> Derivation | None:
    """The paths whose shared ends are the answers."""
    paths = found_paths(asked.graph, asked.topics, asked.each_answer, asked.hops)
    return Derivation(paths) if paths else None
