"""Gold paths from a question's topics to its answers: given with the question, or found by search.

A question may give them under `gold_paths`: a list of `{"topic": ID, "hops": [[RELATION, "out"], ...]}`, with `in`
for a relation followed backwards (`gold_row` writes them). Otherwise all paths up to a length are compared with the
answers, and those that lead exactly to them are taken. Relations with the same answers cannot be distinguished; of
equally good paths, the shortest are taken.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from triplecheck.kg import Direction, Graph, IntArray
from triplecheck.programs.subgraph import Hop

_WAYS = {"out": Direction.OUT, "in": Direction.IN}
_FRONTIER = 300  # maximum nodes from which a path is extended
_FETCHED = 2_000  # edges per (node, relation, direction)
_NEAR = 50_000  # maximum nodes at one distance from the answers; with more, this distance is not filtered


@dataclass(frozen=True)
class GoldPath:
    """Hops from a topic to the answers, or to the values by which answers are compared."""

    topic: int
    hops: tuple[Hop, ...]


def given_paths(graph: Graph, gold: Mapping[str, Any]) -> tuple[GoldPath, ...]:
    """The paths given with a question; empty if there are none, or if one is not valid in this graph."""
    rows = gold.get("gold_paths")
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        return ()
    found = [_given(graph, row) for row in rows]
    return tuple(path for path in found if path is not None) if None not in found else ()


def gold_row(graph: Graph, path: GoldPath) -> dict[str, Any]:
    """A path in the format of `gold_paths`."""
    hops = [[graph.relation(hop.relation).id, hop.direction.name.lower()] for hop in path.hops]
    return {"topic": graph.node_id(path.topic), "hops": hops}


def _given(graph: Graph, row: Mapping[str, Any]) -> GoldPath | None:
    topic = graph.find(str(row.get("topic")))
    hops = []
    for relation, way in row.get("hops", ()):
        number = graph.find_relation(str(relation))
        if number is None or way not in _WAYS:
            return None
        hops.append(Hop(number, _WAYS[way]))
    return None if topic is None or not hops else GoldPath(topic, tuple(hops))


def found_paths(
    graph: Graph, topics: Iterable[Collection[int]], answers: Collection[int], hops: int
) -> tuple[GoldPath, ...]:
    """The best paths of each topic, whose shared ends are exactly the answers; empty if there are none.

    Several topics are conditions that must all hold. A path may also lead back to a topic ("the other films of
    ..."). Answers that are computed from the ends (a count, a maximum) are not found.

    Args:
        graph: the graph.
        topics: per topic, its candidate nodes.
        answers: nodes to reach.
        hops: maximum length of a path.
    """
    distances = near(graph, answers, hops)
    wanted = np.array(sorted(answers), np.int64)
    found: list[GoldPath] = []
    shared: IntArray | None = None
    own = {node for nodes in topics for node in nodes}
    for nodes in topics:
        fits: dict[tuple[int, int], list[tuple[GoldPath, IntArray]]] = {}
        for topic in sorted(nodes):
            for path, ends in _leading(graph, topic, distances):
                if np.isin(wanted, ends).all():
                    fits.setdefault((len(ends), len(path.hops)), []).append((path, ends))
        if fits:
            best = fits[min(fits)]
            found += [path for path, _ in best]
            shared = best[0][1] if shared is None else np.intersect1d(shared, best[0][1])
    exact = shared is not None and set(shared.tolist()) - own == set(answers) - own
    return tuple(dict.fromkeys(found)) if exact else ()


def near(graph: Graph, answers: Collection[int], hops: int) -> list[set[int] | None]:
    """By number of hops from 0 to one less: the nodes at that distance from an answer; None: more than `_NEAR`."""
    found: list[set[int] | None] = [set(answers)]
    for _ in range(hops - 1):
        last = found[-1]
        edges = None if last is None else graph.expand(sorted(last), None, None, _FETCHED)
        following = None if edges is None else {*edges.heads.tolist(), *edges.tails.tolist()}
        found.append(None if following is None or len(following) > _NEAR else following)
    return found


def _leading(graph: Graph, topic: int, near: list[set[int] | None]) -> Iterator[tuple[GoldPath, IntArray]]:
    """Paths that lead to at least one answer, each with all nodes at its end."""
    frontier: list[tuple[tuple[Hop, ...], IntArray]] = [((), np.array([topic], np.int64))]
    for left in range(len(near) - 1, -1, -1):
        reached = []
        for hops, nodes in frontier:
            for count in graph.relation_counts(nodes):
                hop = Hop(count.relation, count.direction)
                ends = follow(graph, nodes, hop)
                at_end = set(ends.tolist())
                path = (*hops, hop)
                if not at_end.isdisjoint(near[0] or ()):
                    yield GoldPath(topic, path), ends
                before = near[left]
                if left and (before is None or not at_end.isdisjoint(before)):
                    reached.append((path, ends[:_FRONTIER]))
        frontier = reached


def follow(graph: Graph, nodes: IntArray, hop: Hop) -> IntArray:
    """Nodes at the other end of a relation, ascending and unique."""
    edges = graph.expand(nodes, hop.relation, hop.direction, _FETCHED)
    return np.unique(edges.tails if hop.direction is Direction.OUT else edges.heads).astype(np.int64)
