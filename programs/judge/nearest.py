"""The facts nearest to a question that has no answer."""

from __future__ import annotations

import numpy as np

from triplecheck.kg import Direction
from triplecheck.kg.types import Edge
from triplecheck.programs.judge.proof import LEAST_COVERAGE, Proof
from triplecheck.programs.subgraph import Hop

_MOST_RELATIONS = 200
_NEAREST, _VALUES = 3, 3  # relations, and values of each


def nearest_facts(proof: Proof) -> tuple[str, tuple[Edge, ...]]:
    """The part of the question that the graph says least of, if there is one, and the facts around the topics whose
    relations are nearest to the question."""
    topics = list(proof.topics)
    counts = proof.graph.relation_counts(topics)[:_MOST_RELATIONS] if topics else []
    if not counts:
        return "", ()
    hops = [Hop(count.relation, count.direction) for count in counts]
    written = [proof.write(hop) for hop in hops]
    similar = proof.relevance.similarity([hop.label for hop in written])
    best = similar.max(axis=0)
    weakest = int(best.argmin())
    missing = proof.relevance.segments[weakest].text if best[weakest] < 2 * LEAST_COVERAGE else ""
    triples: list[Edge] = []
    for at in np.argsort(-similar.max(axis=1), kind="stable")[:_NEAREST]:
        hop = hops[at]
        for topic in topics:
            for value in proof.graph.neighbors(topic, hop.relation, hop.direction, limit=_VALUES).tolist():
                ends = (topic, value) if hop.direction is Direction.OUT else (value, topic)
                triples.append((ends[0], hop.relation, ends[1]))
    return missing, tuple(dict.fromkeys(triples))[: _NEAREST * _VALUES]
