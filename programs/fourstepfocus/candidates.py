"""Candidates of 4StepFocus: what made a node one, its score, and its text in a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from triplecheck.kg import Graph
from triplecheck.kg.skb import NodeSearches
from triplecheck.kg.types import Edge
from triplecheck.programs.fourstepfocus.rerank import CandidateScore, cut_texts
from triplecheck.programs.steps import Ranked, Trace
from triplecheck.programs.subgraph import node_names
from triplecheck.signatures.notation import FORWARD, WrittenFact, WrittenHop, clean, with_note, write_fact


@dataclass(frozen=True)
class RankedNode:
    """A node that may be an answer (an element of C_filtered or C_additional).

    Attributes:
        vector_score: similarity of its document and the question; None if there was nothing to compare.
        triples: what made it a candidate; none for one that the search added.
        satisfies: whether it satisfies the patterns (C_filtered).
    """

    node: int
    vector_score: float | None
    triples: tuple[Edge, ...] = ()
    satisfies: bool = False
    score: CandidateScore = field(default_factory=CandidateScore)

    def place(self, graph: Graph, place: int) -> Ranked:
        """Its place in the ranking, for the trace."""
        return Ranked(
            place,
            graph.node_id(self.node),
            graph.label(self.node),
            "patterns" if self.satisfies else "search",
            written_edges(graph, self.triples),
            self.vector_score,
            self.score.value,
            self.score.reason,
        )


def candidate_texts(
    graph: Graph, searches: NodeSearches | None, candidates: Sequence[RankedNode], characters: int, trace: Trace
) -> list[str]:
    """Each candidate for the prompt: its name and types, its text, its supporting triples."""
    names = node_names(graph, [c.node for c in candidates])
    texts = cut_texts([clean(_document(graph, searches, c.node)) for c in candidates], characters, trace)
    lines = []
    for candidate, text in zip(candidates, texts, strict=True):
        kinds = ", ".join(clean(graph.type_label(t)) for t in graph.types(candidate.node)[:2])
        facts = "; ".join(written_edges(graph, candidate.triples))
        parts = [with_note(names[candidate.node], kinds), text, f"Facts: {facts}" if facts else ""]
        lines.append(". ".join(part for part in parts if part))
    return lines


def _document(graph: Graph, searches: NodeSearches | None, node: int) -> str:
    row = -1 if searches is None else int(searches.documents.rows_of([node])[0])
    if searches is None or row < 0:
        return graph.entity(node).description
    return searches.documents.text(row).partition("\n")[2]  # its first line is the label


def written_edges(graph: Graph, triples: Sequence[Edge]) -> list[str]:
    """Triples in the notation of facts."""
    labels = graph.labels([end for head, _, tail in triples for end in (head, tail)]) if triples else []
    ends = iter(clean(label) for label in labels)
    hops = (WrittenHop(clean(graph.relation(relation).label), FORWARD) for _, relation, _ in triples)
    return [write_fact(WrittenFact(next(ends), hop, (next(ends),))) for hop in hops]
