"""Which stage lost a wrong answer: the error analysis of KERAG (arXiv 2509.04716)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import numpy as np

from triplecheck.kg import Graph

Stage = Literal[
    "linking",
    "retrieval",
    "filtering",
    "summarization",
    "abstained",
    "answered_unanswerable",
    "unreadable_reply",
    "unplaced",
]

_FETCHED = 100_000  # edges looked at per (node, relation, direction); a hub beyond that is everyone's neighbour


def lost_at(
    *,
    answerable: bool,
    answered: bool,
    unreadable: bool,
    link_recall: float | None,
    retrieval_recall: float | None,
    within_reach: Callable[[], bool],
) -> Stage:
    """The stage at which an answer that is not accurate was lost. The first that applies:

    - `unreadable_reply`: a model's replies could not be read;
    - `answered_unanswerable`: there was nothing to answer;
    - `abstained`: a gold answer was retrieved, or that cannot be told while a topic was linked, yet the
      program gave no answer;
    - `summarization`: a gold answer was retrieved, another answer was given;
    - `linking`: no gold topic was linked;
    - `filtering`: no gold answer was retrieved, although one lies within reach of the topic: some path
      that leads to it was not kept, or a bound cut it off;
    - `retrieval`: no gold answer lies within reach;
    - `unplaced`: it cannot be told, because the answer is no node or the program does not say what it
      retrieved.
    """
    if unreadable:
        return "unreadable_reply"
    if not answerable:
        return "answered_unanswerable"
    if retrieval_recall:
        return "summarization" if answered else "abstained"
    if link_recall == 0:
        return "linking"
    if retrieval_recall is None:
        return "unplaced" if answered else "abstained"
    return "filtering" if within_reach() else "retrieval"


def within_hops(graph: Graph, starts: Iterable[int], ends: Iterable[int], hops: int) -> bool:
    """Whether some end lies at most `hops` edges away from some start, whichever way the edges point.

    Two balls are grown towards each other, so that no more than half the way is searched from either side.
    """
    near, far = np.unique(np.fromiter(starts, np.int64)), np.unique(np.fromiter(ends, np.int64))
    if not len(near) or not len(far):
        return False
    for hop in range(hops):
        if len(np.intersect1d(near, far)):
            return True
        if hop % 2 == 0:
            near = _ball(graph, near)
        else:
            far = _ball(graph, far)
    return len(np.intersect1d(near, far)) > 0


def _ball(
    graph: Graph, nodes: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    edges = graph.expand(nodes, limit_per_node=_FETCHED)
    return np.unique(np.concatenate((nodes, edges.heads, edges.tails)).astype(np.int64))
