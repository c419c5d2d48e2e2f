"""Assists of AnchorRAG, in the order in which a question meets them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from rapidfuzz.fuzz import ratio

from triplecheck.kg import Candidate, Graph, IntArray, normalize
from triplecheck.programs.assists import Assists
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.steps import Trace
from triplecheck.programs.subgraph import Fact, PathKey

# --- `kept_question`: a model that is asked to proofread a question may answer it or ask another one.
_LEAST_LIKENESS = 70.0  # percent of the characters


def kept_question(assists: Assists, question: str, proofread: str, trace: Trace) -> str:
    """The question with its spelling corrected by a model; as it was asked if the model wrote something else."""
    corrected = " ".join(proofread.split())
    if not corrected:
        return question
    if "kept_question" not in assists or ratio(question.casefold(), corrected.casefold()) >= _LEAST_LIKENESS:
        return corrected
    assists.note(trace, "kept_question", "ExtractKeywords", [corrected], [question])
    return question


# --- `names_first`: anchors are ranked by how well their names fit, and by their relations among similar names. Looser
# matches of a name (misspelt, partial, by meaning) are candidates only where no name fits exactly.
_MARGIN = 0.1
"""How much worse (0 to 1) than the best of its keyword the name of an anchor may fit."""


def names_first(
    assists: Assists, ranked: list[Candidate], of_keywords: Sequence[Sequence[Candidate]], top_m: int, trace: Trace
) -> list[Candidate]:
    """The best candidate of each keyword, then the others by their names and, where these are similar, relations.

    Args:
        top_m: how many become anchors.
    """
    if "names_first" not in assists:
        return ranked
    fitting = [[c for c in some if c.lexical >= max(o.lexical for o in some) - _MARGIN] for some in of_keywords]
    firsts = [some[0] for some in fitting if some]
    found = [*firsts, *sorted((c for some in fitting for c in some[1:]), key=lambda c: -c.score)]
    before, after = ([f"{c.label} <{c.id}>" for c in some[:top_m]] for some in (ranked, found))
    assists.note(trace, "names_first", "ExtractKeywords", before, after)
    return found


# --- `named_first`: where a limit cuts off entities, those that the question names are not cut off.
def named_first(assists: Assists, graph: Graph, question: str, nodes: IntArray, limit: int, trace: Trace) -> IntArray:
    """At most `limit` nodes: the first ones, or those whose names share a word with the question before others."""
    if "named_first" not in assists or len(nodes) <= limit:
        return nodes[:limit]
    words = set(normalize(question).split())
    is_named = np.array([not words.isdisjoint(normalize(label).split()) for label in graph.labels(nodes)])
    kept = np.sort(nodes[np.argsort(~is_named, kind="stable")[:limit]])
    assists.note(trace, "named_first", "entities", *(graph.labels(some) for some in (nodes[:limit], kept)))
    return kept


# --- `leading_facts`: a model follows a path and does not name the fact that leads to it as relevant.
def leading_facts(
    assists: Assists,
    facts: Sequence[Fact],
    relevant: Sequence[Fact],
    shown: Sequence[Fact],
    followed: Iterable[PathKey],
    trace: Trace,
) -> list[Fact]:
    """Of some facts those that the model judged relevant, and those that lead on.

    Args:
        shown: the facts in its prompt. A fact that it had no room for counts as those on the same path.
        followed: the paths that are followed, without their last hops.
    """
    named, offered = set(map(id, relevant)), set(map(id, shown))
    kept = [fact for fact in facts if id(fact) in named]
    if "leading_facts" not in assists:
        return kept
    paths = {fact.path for fact in relevant}
    leads = set(followed) - paths
    found = [
        fact
        for fact in facts
        if id(fact) in named or fact.path in leads or (id(fact) not in offered and fact.path in paths)
    ]
    assists.note(trace, "leading_facts", "JudgeAndGoOn", [f"{len(kept)} facts"], [f"{len(found)} facts"])
    return found


# --- `unjudged_facts`: facts that were not judged sufficient may hold the answer.
def unjudged_facts(
    assists: Assists, kept: int, read: int, answer: Callable[[], Outcome], trace: Trace
) -> Outcome | None:
    """The answer from all facts that were kept; None without one, or if the model has read all of them.

    Args:
        read: how many of them the model has answered from without success.
    """
    found = answer() if "unjudged_facts" in assists and kept > read else None
    if found is None or found.abstained is not None:
        return None
    assists.note(trace, "unjudged_facts", "JudgeSufficiency", [], [found.answer])
    return found
