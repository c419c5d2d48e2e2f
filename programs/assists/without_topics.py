"""The assist `without_topics`: an answer that has other things does not have the topic itself."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from triplecheck.kg import Graph
from triplecheck.programs.assists import Assists
from triplecheck.programs.steps import Trace


def without_topics(
    assists: Assists, nodes: Sequence[int], topics: Collection[int], graph: Graph, trace: Trace
) -> list[int]:
    """The nodes of an answer without the topics, unless there are no others.

    Args:
        topics: those that are no answer; empty where the question asks to choose one.
    """
    if "without_topics" not in assists:
        return list(nodes)
    kept = [node for node in nodes if node not in topics] or list(nodes)
    assists.note(trace, "without_topics", "AnswerFromFacts", graph.labels(list(nodes)), graph.labels(kept))
    return kept
