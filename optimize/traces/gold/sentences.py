"""Edges of a graph as sentences, and back: what a passage states, where it was written of edges.

English as far as `optimize.synth` has it; the relation stands in the sentence in the words of its label.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from triplecheck.kg import Direction, Graph
from triplecheck.kg.types import Edge
from triplecheck.optimize.synth.english import (
    End,
    EndKind,
    Kind,
    Wording,
    end_of,
    noun_phrase,
    predicate,
    questions,
    read_wording,
)
from triplecheck.programs.subgraph import Hop, notation

_THING = End(EndKind.UNKNOWN)
_FETCHED = 200  # edges per (node, relation, direction) in which a sentence is looked for


def sentence(graph: Graph, edge: Edge) -> str:
    """An edge as a sentence: "Alien was directed by Ridley Scott.", "The place of birth of Kant is Königsberg."."""
    head, relation, tail = edge
    subject, end = notation(graph.label(head)), notation(graph.label(tail))
    wording = _wording(graph, relation)
    said = predicate(wording, Direction.IN, end) if wording.kind is not Kind.NOUN else None
    told = f"{subject} {said}" if said else f"{noun_phrase(wording, Direction.OUT, subject, _THING)} is {end}"
    return f"{told[0].upper()}{told[1:]}."


def triple(graph: Graph, edge: Edge) -> tuple[str, str, str]:
    """An edge as a model would extract it from its sentence."""
    head, relation, tail = edge
    return notation(graph.label(head)), notation(graph.relation(relation).label), notation(graph.label(tail))


def question_for(graph: Graph, node: int, hop: Hop, ends: Sequence[int]) -> str:
    """The question for what a relation leads to from a node."""
    name, wording = notation(graph.label(node)), _wording(graph, hop.relation)
    asked = questions(wording, hop.direction, name, end_of(graph, ends, hop.relation, hop.direction))
    return asked[0] if asked else f"What has {name} as {wording.text}?"


def stated(graph: Graph, text: str, edges: Iterable[Edge]) -> tuple[list[Edge], bool]:
    """Those of some edges that a text states, in its order, and whether it states nothing else.

    Args:
        graph: of the edges.
        text: a passage, or a reply with its answer at the end.
        edges: that it may state.
    """
    found = {edge: at for edge in edges if (at := text.find(sentence(graph, edge))) >= 0}
    left = text
    for edge in sorted(found, key=lambda edge: -len(sentence(graph, edge))):
        left = left.replace(sentence(graph, edge), "")
    left, _, _ = left.partition("The answer is ")
    return sorted(found, key=lambda edge: (found[edge], edge)), not left.strip()


def edges_in(graph: Graph, text: str, nodes: Iterable[int]) -> list[Edge]:
    """Edges at some nodes both ends of which a text names."""
    found: dict[Edge, None] = {}
    for node in nodes:
        edges = graph.expand([node], None, None, _FETCHED)
        columns = zip(edges.heads.tolist(), edges.relations.tolist(), edges.tails.tolist(), strict=True)
        rows = [(head, relation, tail) for head, relation, tail in columns]
        others = graph.labels([tail if head == node else head for head, _, tail in rows]) if rows else []
        found |= {edge: None for edge, label in zip(rows, others, strict=True) if notation(label) in text}
    return list(found)


def named_nodes(lines: Iterable[str], names: Callable[[str], Iterable[int]]) -> list[int]:
    """The nodes that the lines of a prompt name: "label", or "label: description"."""
    nodes: dict[int, None] = {}
    for line in lines:
        ends = [at for at in range(len(line)) if line.startswith(": ", at)]
        texts = (line, *(line[:at] for at in ends))
        nodes |= dict.fromkeys(next((found for text in texts if (found := list(names(text)))), []))
    return list(nodes)


def _wording(graph: Graph, relation: int) -> Wording:
    label = notation(graph.relation(relation).label)
    return read_wording(label) or Wording(Kind.NOUN, label)
