"""`named_first`: where a limit cuts off entities, those that the question names are not cut off."""

from __future__ import annotations

import numpy as np

from triplecheck.kg import Graph, IntArray, normalize
from triplecheck.programs.assists.table import Assists
from triplecheck.programs.steps import Trace


def named_first(assists: Assists, graph: Graph, question: str, nodes: IntArray, limit: int, trace: Trace) -> IntArray:
    """At most `limit` nodes: the first ones, or those whose names share a word with the question before others."""
    if "named_first" not in assists or len(nodes) <= limit:
        return nodes[:limit]
    words = set(normalize(question).split())
    is_named = np.array([not words.isdisjoint(normalize(label).split()) for label in graph.labels(nodes)])
    kept = np.sort(nodes[np.argsort(~is_named, kind="stable")[:limit]])
    assists.note(trace, "named_first", "entities", *(graph.labels(some) for some in (nodes[:limit], kept)))
    return kept
