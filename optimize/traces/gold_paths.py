"""Gold paths from a question's topics to its answers: given with the question, or found by search.

A question may give them under `gold_paths`: a list of `{"topic": ID, "hops": [[RELATION, "out"], ...]}`, with `in`
for a relation followed backwards (`gold_row` writes them). Otherwise all paths up to a length are compared with the
answers, and those that lead exactly to them are taken. Relations with the same answers cannot be distinguished; of
equally good paths, the shortest are taken.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from triplecheck.kg import Direction, Graph, IntArray, normalize
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


def named_paths(
    graph: Graph, gold: Mapping[str, Any], topics: Iterable[Collection[int]], answers: Collection[int]
) -> tuple[GoldPath, ...]:
    """The paths to an answer along the relations that the data set names, by id or label, in either direction.

    Args:
        topics: per topic, its candidate nodes.
    """
    several = gold.get("gold_paths")
    one = gold.get("relations", gold.get("gold_path"))
    lists = several if isinstance(several, list) else [one]
    named = [names for names in lists if isinstance(names, list) and names and all(isinstance(n, str) for n in names)]
    own = sorted({node for nodes in topics for node in nodes}) if named else []
    wanted = set(answers)
    found = (
        GoldPath(topic, hops)
        for names in named
        for topic in own
        for hops in _along(graph, names, np.array([topic], np.int64), wanted)
    )
    return tuple(dict.fromkeys(found))


def _along(graph: Graph, names: Sequence[str], nodes: IntArray, answers: set[int]) -> Iterator[tuple[Hop, ...]]:
    """The directions in which a chain of relations leads to an answer."""
    for relation in _relations(graph, names[0]):
        for direction in (Direction.OUT, Direction.IN):
            hop = Hop(relation, direction)
            ends = follow(graph, nodes, hop)
            if len(names) == 1:
                if not answers.isdisjoint(ends.tolist()):
                    yield (hop,)
            elif len(ends):
                yield from ((hop, *rest) for rest in _along(graph, names[1:], ends, answers))


def _relations(graph: Graph, name: str) -> list[int]:
    by_id = graph.find_relation(name)
    if by_id is not None:
        return [by_id]
    wanted = normalize(name)
    return [n for n in range(graph.num_relations) if normalize(graph.relation(n).label) == wanted]


def found_paths(
    graph: Graph, topics: Iterable[Collection[int]], answers: Sequence[Collection[int]], hops: int
) -> tuple[GoldPath, ...]:
    """The shortest paths from each topic, whose shared ends are exactly the answers; empty if there are none.

    Several topics are conditions that must all hold. A path may also lead back to a topic ("the other films of
    ..."), and need not come back to it on its way. Answers that are computed from the ends (a count, a maximum) are
    not found.

    Args:
        topics: per topic, its candidate nodes.
        answers: per answer, the nodes that it may be.
        hops: maximum length of a path.
    """
    every = {node for nodes in answers for node in nodes}
    listed = [set(nodes) for nodes in topics]
    distances = near(graph, every, hops) if every else []
    for length in range(1, len(distances) + 1):
        for returning in (True, False) if length > 1 else (True,):
            found = _exact(graph, listed, answers, distances[:length], returning=returning)
            if found:
                return found
    return ()


def _exact(
    graph: Graph,
    topics: Sequence[Collection[int]],
    answers: Sequence[Collection[int]],
    distances: list[set[int] | None],
    *,
    returning: bool,
) -> tuple[GoldPath, ...]:
    found: list[GoldPath] = []
    shared: IntArray | None = None
    own = {node for nodes in topics for node in nodes}
    for nodes in topics:
        fits: dict[tuple[int, int], list[tuple[GoldPath, IntArray]]] = {}
        for topic in sorted(nodes):
            for path, ends in leading(graph, topic, distances, returning=returning):
                at_end = set(ends.tolist())
                if not any(at_end.isdisjoint(answer) for answer in answers):
                    fits.setdefault((len(ends), len(path.hops)), []).append((path, ends))
        if fits:
            best = fits[min(fits)]
            found += [path for path, _ in best]
            shared = best[0][1] if shared is None else np.intersect1d(shared, best[0][1])
    every = {node for nodes in answers for node in nodes} - own
    left = set() if shared is None else set(shared.tolist()) - own
    needed = [answer for answer in answers if not every.isdisjoint(answer)]
    exact = shared is not None and left <= every and not any(left.isdisjoint(answer) for answer in needed)
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


def leading(
    graph: Graph, topic: int, near: list[set[int] | None], *, returning: bool = True
) -> Iterator[tuple[GoldPath, IntArray]]:
    """Paths that lead to at least one answer, each with all nodes at its end.

    Args:
        topic: where they start.
        near: see `near`; its length is that of the longest path.
        returning: whether a path may go on from the topic when it comes back to it.
    """
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
                onward = ends if returning else ends[ends != topic]
                if left and len(onward) and (before is None or not at_end.isdisjoint(before)):
                    reached.append((path, onward[:_FRONTIER]))
        frontier = reached


def follow(graph: Graph, nodes: IntArray, hop: Hop) -> IntArray:
    """Nodes at the other end of a relation, ascending and unique."""
    edges = graph.expand(nodes, hop.relation, hop.direction, _FETCHED)
    return np.unique(edges.tails if hop.direction is Direction.OUT else edges.heads).astype(np.int64)


def ends_of(graph: Graph, path: GoldPath) -> list[IntArray]:
    """The nodes that a path reaches, for each number of hops from 0."""
    levels: list[IntArray] = [np.array([path.topic], np.int64)]
    for hop in path.hops:
        levels.append(follow(graph, levels[-1], hop))
    return levels
