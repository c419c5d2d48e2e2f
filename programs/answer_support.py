"""Which triples of the graph support an answer in words: those that the text around it states and the graph has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from triplecheck.kg import normalize
from triplecheck.kg.types import Edge
from triplecheck.programs.base import Sources
from triplecheck.programs.closed_book import named_entity
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.reliability import Reliability
from triplecheck.programs.steps import Checked, Trace


def supported(
    sources: Sources, answer: str, reliability: Reliability, entities: Sequence[int], trace: Trace
) -> Outcome:
    """The outcome of an answer.

    Its evidence is what the text around it states and the graph has. It is grounded where these triples lead
    from an entity of the question to the answer; a yes or no never is. Where the answer is exactly the name of
    an entity, or the end of such a triple by another name, the entity stands in `answers`.

    Args:
        sources: the graph and its linker.
        answer: in words.
        reliability: the triples of the text around it.
        entities: of the question.
        trace: told what was found.
    """
    graph = sources.graph
    stated = [(rated, edge) for rated in reliability.triples if (edge := rated.edge) is not None]
    edges = tuple(dict.fromkeys(edge for _, edge in stated))
    named = named_entity(graph, sources.linker, answer)
    ends = {} if named is None else {named: None}
    wanted = normalize(answer)
    for rated, (head, _, tail) in stated:
        first, _, second = rated.grounded.text
        if rated.grounded.swapped:
            first, second = second, first
        for node, written in ((head, first), (tail, second)):
            if wanted in (normalize(written), normalize(graph.label(node))):
                ends.setdefault(node)
    reached = connected(edges, entities)
    proved = [node for node in ends if node in reached and node not in entities]
    trace.add(Checked("answer", bool(proved), f"{len(edges)} of {len(reliability.triples)} triples are in the graph"))
    answers = proved[:1] or ([] if named is None else [named])
    nodes = tuple(node for node in answers if graph.literal(node) is None)
    return Outcome(answer, nodes, edges, grounded=bool(proved))


def connected(edges: Iterable[Edge], starts: Iterable[int]) -> set[int]:
    """Nodes that edges, followed either way, lead to from some nodes, these included."""
    edges = list(edges)
    reached = set(starts)
    while True:
        more = {end for head, _, tail in edges if {head, tail} & reached for end in (head, tail)} - reached
        if not more:
            return reached
        reached |= more
