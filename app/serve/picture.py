"""The picture of an answer: the part of the graph that the program looked at, kept, and proved its answer with.

What a program *proved* is its evidence. What it *kept* are the triples between the nodes that it retrieved. What it
*looked at* are the relations that it was offered and did not follow, each with one example. The last are read from
the trace, in which paths are written in the notation of prompts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from triplecheck.app.serve.types import Picture, PictureEdge, PictureNode, Weight
from triplecheck.kg.graph import Graph
from triplecheck.kg.types import Direction
from triplecheck.programs.outcome import evidence_edges
from triplecheck.programs.steps import Linked, Pruned, TraceEvent
from triplecheck.signatures.notation import BACKWARD, clean, read_path, split_note, without_note, wordings

if TYPE_CHECKING:
    from triplecheck.kg.patterns import SchemaNames

Edge = tuple[int, int, int]

_MOST_EDGES = 48
_MOST_LOOKED_AT = 14
_MOST_ENDS = 50  # nodes from which an example of an offered relation is taken
_MOST_RETRIEVED = 2_000
_EDGES_PER_NODE = 100
_ORDER: dict[Weight, int] = {"proved": 0, "kept": 1, "looked_at": 2}


def picture_of(graph: Graph, names: SchemaNames, result: Any) -> Picture:
    """The picture of a prediction.

    Args:
        result: the prediction of a program; the nearest facts of an abstention count as kept.
    """
    topics = _topics(graph, result.steps)
    proved = [edge for edge in evidence_edges(graph, result.evidence) if edge is not None]
    nearest = [edge for edge in evidence_edges(graph, result.nearest) if edge is not None]
    answers = {node for row in result.answers if (node := graph.find(row["id"])) is not None}
    drawn: dict[Edge, Weight] = dict.fromkeys(proved, "proved")
    more: dict[Edge, int] = {}
    core = {end for head, _, tail in proved for end in (head, tail)} | set(topics) | answers
    kept = [edge for edge in (*nearest, *_between(graph, result.retrieved, core)) if edge not in drawn]
    room = max(_MOST_EDGES - len(drawn), 0)
    drawn |= dict.fromkeys(kept[:room], "kept")
    for edge, total in _looked_at(graph, names, result.steps, topics):
        if edge not in drawn and sum(weight == "looked_at" for weight in drawn.values()) < _MOST_LOOKED_AT:
            drawn[edge] = "looked_at"
            more[edge] = total - 1
    return _picture(graph, drawn, more, topics, answers, left_out=max(len(kept) - room, 0))


def _topics(graph: Graph, steps: Iterable[TraceEvent]) -> dict[int, str]:
    """The nodes that the question names, with their names in the trace."""
    found: dict[int, str] = {}
    for step in steps:
        if isinstance(step, Linked):
            for id in step.chosen:
                node = graph.find(id)
                if node is not None:
                    found.setdefault(node, graph.label(node))
    return found


def _between(graph: Graph, retrieved: Iterable[int], core: set[int]) -> list[Edge]:
    """The triples between retrieved nodes; those at the topics, the proof and the answers first."""
    nodes = np.array(sorted(retrieved)[:_MOST_RETRIEVED], np.int64)
    if len(nodes) < 2:
        return []
    # Most retrieved nodes are ends: it is enough to look from the core, then from the others.
    edges: dict[Edge, int] = {}
    inside = set(nodes.tolist())
    starts = [node for node in nodes.tolist() if node in core] or nodes.tolist()[:_MOST_ENDS]
    found = graph.expand(starts, None, None, _EDGES_PER_NODE)
    for edge in zip(found.heads.tolist(), found.relations.tolist(), found.tails.tolist(), strict=True):
        if edge[0] in inside and edge[2] in inside:
            edges[edge] = (edge[0] in core) + (edge[2] in core)
    return sorted(edges, key=lambda edge: -edges[edge])


def _looked_at(
    graph: Graph, names: SchemaNames, steps: Sequence[TraceEvent], topics: dict[int, str]
) -> Iterator[tuple[Edge, int]]:
    """An example of each relation that was offered and not followed, with the number of its triples."""
    for step in steps:
        if not isinstance(step, Pruned):
            continue
        kept = {without_note(line) for line in step.kept}
        for line in step.offered:
            if without_note(line) not in kept and (found := _example(graph, names, line, topics)) is not None:
                yield found


def _example(graph: Graph, names: SchemaNames, line: str, topics: dict[int, str]) -> tuple[Edge, int] | None:
    """The first triple at the end of a written path, and how many there are; None if the path cannot be read."""
    path = read_path(line)
    topic = split_note(path.topic)[0]
    ends: list[int] = [node for node, name in topics.items() if clean(name) in (path.topic, topic)]
    for at, hop in enumerate(path.hops):
        relation = next(iter(names.relations(wordings(hop.label)[0])), None)
        if relation is None or not ends:
            return None
        direction = Direction.IN if hop.arrow == BACKWARD else Direction.OUT
        last = at == len(path.hops) - 1
        found = graph.expand(ends[:_MOST_ENDS], relation, direction, 1 if last else None)
        if last:
            triples = zip(found.heads.tolist(), found.relations.tolist(), found.tails.tolist(), strict=True)
            edge = next(iter(triples), None)
            return None if edge is None else (edge, found.total)
        ends = np.unique(found.heads if direction is Direction.IN else found.tails).tolist()
    return None


def _picture(
    graph: Graph,
    drawn: dict[Edge, Weight],
    more: dict[Edge, int],
    topics: Iterable[int],
    answers: set[int],
    left_out: int,
) -> Picture:
    weights: dict[int, Weight] = dict.fromkeys((*topics, *answers), "kept")
    for (head, _, tail), weight in drawn.items():
        for end in (head, tail):
            weights[end] = min(weight, weights.get(end, weight), key=_ORDER.__getitem__)
    order = list(weights)
    labels = dict(zip(order, graph.labels(order) if order else [], strict=True))
    named = set(topics)
    nodes = [
        PictureNode(
            id=f"n{node}",
            node=graph.node_id(node),
            label=labels[node],
            is_value=graph.literal(node) is not None,
            weight=weight,
            part="answer" if node in answers else "topic" if node in named else "",
        )
        for node, weight in weights.items()
    ]
    edges = [
        PictureEdge(
            source=f"n{head}",
            target=f"n{tail}",
            relation=graph.relation(relation).id,
            label=graph.relation(relation).label,
            weight=weight,
            more=more.get((head, relation, tail), 0),
        )
        for (head, relation, tail), weight in drawn.items()
    ]
    return Picture(nodes=nodes, edges=edges, left_out=left_out)
