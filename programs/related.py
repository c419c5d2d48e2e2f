"""Entities of a graph that are related to a query: Know³-RAG's Algorithm 1 (arXiv 2505.12662, appendix A)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from triplecheck.kg import Direction, Linker
from triplecheck.kg.graph import Graph, RelationCount
from triplecheck.programs.base import Sources
from triplecheck.programs.reliability import NameLinker
from triplecheck.programs.steps import Linked, Trace, Truncated

# Ordinary words that some name of the graph consists of are less salient.
_LEAST_SALIENCE = 0.25
_LONGEST_DESCRIPTION = 120  # characters


@dataclass(frozen=True)
class RelatedSizes:
    """How many related entities a query gets.

    Attributes:
        linked: entities that the query names.
        local: neighbours of each, by the relation most similar to the query.
        predicted: tails of each that the embeddings rank best.
        relations: k: the relations most similar to the query, over which these are predicted.
        compared: relations of one entity that are compared with the query, those with the fewest edges.
    """

    linked: int = 3
    local: int = 3
    predicted: int = 1
    relations: int = 3
    compared: int = 64


@dataclass(frozen=True)
class Related:
    """E_t: three kinds of entities, as nodes, none twice."""

    linked: tuple[int, ...] = ()
    local: tuple[int, ...] = ()
    predicted: tuple[int, ...] = ()

    @property
    def nodes(self) -> tuple[int, ...]:
        """All of them."""
        return self.linked + self.local + self.predicted


def linked_entities(graph: Graph, linker: Linker, query: str, most: int, trace: Trace) -> tuple[int, ...]:
    """The entities that a query names, the most salient first."""
    names = NameLinker(linker)
    found: dict[int, None] = {}
    for mention in names.mentions(query):
        if mention.salience < _LEAST_SALIENCE or len(found) == most:
            continue
        candidates = [c for c in names.candidates(mention, query) if graph.literal(c.node) is None]
        if candidates:
            found[candidates[0].node] = None
            rows = [{"id": c.id, "label": c.label, "source": c.source, "score": round(c.score, 4)} for c in candidates]
            trace.add(Linked(mention.text, rows, [candidates[0].id]))
    return tuple(found)


def names_in(graph: Graph, linker: Linker, text: str, most: int = 20) -> list[str]:
    """Names of the graph that stand in a text, as the graph spells them, for a prompt."""
    unseen = Trace()  # a hint for a prompt links nothing
    return graph.labels(linked_entities(graph, linker, text, most, unseen))


def related_entities(sources: Sources, query: str, sizes: RelatedSizes, trace: Trace) -> Related:
    """Algorithm 1: entities that the query names, their neighbours, and tails that the embeddings predict.

    An entity without a vector has local neighbours only.
    """
    graph = sources.graph
    linked = linked_entities(graph, sources.linker, query, sizes.linked, trace)
    listed = dict.fromkeys(linked)
    local: list[int] = []
    predicted: list[int] = []
    for node in linked:
        relations = _by_similarity(sources, node, query, sizes, trace)
        for node_there in _neighbours(graph, node, relations, sizes.local):
            if node_there not in listed:
                listed[node_there] = None
                local.append(node_there)
        outgoing = [r.relation for r in relations if r.direction is Direction.OUT][: sizes.relations]
        for tail in _predicted(sources, node, outgoing, sizes.predicted, listed):
            listed[tail] = None
            predicted.append(tail)
    return Related(linked, tuple(local), tuple(predicted))


def described(graph: Graph, nodes: tuple[int, ...]) -> list[str]:
    """Entities for a prompt: label, and description where there is one."""
    lines = []
    for node in nodes:
        entity = graph.entity(node)
        about = entity.description[:_LONGEST_DESCRIPTION]
        lines.append(f"{graph.label(node)}: {about}" if about else graph.label(node))
    return lines


def _by_similarity(sources: Sources, node: int, query: str, sizes: RelatedSizes, trace: Trace) -> list[RelationCount]:
    """Relations at a node by the cosine of "entity relation" with the query; without an encoder by fewest edges."""
    graph = sources.graph
    relations = sorted(graph.relations_of(node), key=lambda count: count.edges)
    if len(relations) > sizes.compared:
        trace.add(Truncated(f"relations of {graph.label(node)}", sizes.compared, len(relations)))
        relations = relations[: sizes.compared]
    encoder = None if sources.knowledge_base is None else sources.knowledge_base.encoder
    if encoder is None or not relations:
        return relations
    label = graph.label(node)
    vectors = encoder.encode([query, *(f"{label} {graph.relation(r.relation).label}" for r in relations)])
    order = np.argsort(-(vectors[1:] @ vectors[0]), kind="stable")
    return [relations[i] for i in order.tolist()]


def _neighbours(graph: Graph, node: int, relations: list[RelationCount], most: int) -> list[int]:
    if not relations or most <= 0:
        return []
    best = relations[0]
    found: list[int] = graph.neighbors(node, best.relation, best.direction, most).tolist()
    return found


def _predicted(sources: Sources, node: int, relations: list[int], most: int, listed: dict[int, None]) -> list[int]:
    """Tails that the embeddings rank best over some relations, without the head and without those listed."""
    base = sources.knowledge_base
    embeddings = None if base is None else base.embeddings
    if embeddings is None or most <= 0 or not embeddings.knows(node):
        return []
    scored: dict[int, float] = {}
    for relation in relations:
        for tail in embeddings.best_tails(node, relation, most, [node, *listed]):
            scored[tail.node] = max(tail.score, scored.get(tail.node, -np.inf))
    return sorted(scored, key=lambda tail: (-scored[tail], tail))[:most]
