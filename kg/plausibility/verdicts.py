"""Verdicts on statements: in the graph, contradicted, plausible, implausible or unknown.

A relation counts as functional if nearly every head has one tail. Then a tail other than the graph's is a
contradiction, unless the two tails are connected themselves (a city and its country). Dates and numbers are compared
as values. If the graph neither has nor contradicts a statement, the embeddings judge it by the rank of its tail.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.plausibility.ground import Grounded
from triplecheck.kg.plausibility.scores import Plausibility
from triplecheck.kg.types import Direction, Edge
from triplecheck.kg.values import agrees

_SHOWN = 3  # edges of evidence
_HEADS, _ONE_TAIL = 20, 0.95  # of a functional relation: least number of heads, least share of them with one tail


class TripleVerdict(StrEnum):
    """The verdict on a statement; the value is readable text."""

    IN_GRAPH = "in the graph"
    CONTRADICTED = "contradicted"
    PLAUSIBLE = "plausible"
    IMPLAUSIBLE = "implausible"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class JudgedTriple:
    """A statement and its verdict.

    Attributes:
        grounded: the statement, grounded in the graph.
        why: the reason in words.
        evidence: edges that support the verdict: the statement itself, or what the graph has instead.
        tail_rank: share of all entities that the embeddings prefer as its tail; None if not ranked.
    """

    grounded: Grounded
    verdict: TripleVerdict
    why: str
    evidence: tuple[Edge, ...] = ()
    tail_rank: float | None = None


class GraphJudge:
    """Judges statements by one graph. Which relations are functional is cached.

    Args:
        ranks: its plausibility by `tail_rank`; None for a graph without embeddings.
        plausible: maximum rank of a plausible tail, a share of all entities.
    """

    def __init__(self, graph: ColumnarGraph, ranks: Plausibility | None = None, *, plausible: float = 0.05) -> None:
        self._graph, self._ranks, self._plausible = graph, ranks, plausible
        self._functional: dict[int, bool] = {}

    def judge(self, grounded: Grounded) -> JudgedTriple:
        """The verdict on one statement."""
        head, relation, tail = grounded.triple
        if head is None or relation is None:
            return JudgedTriple(grounded, TripleVerdict.UNKNOWN, str(grounded.reason))
        there = tuple((head, relation, tail) for tail in self._graph.neighbors(head, relation).tolist())
        if tail is not None and self._graph.contains(head, relation, tail):
            return JudgedTriple(grounded, TripleVerdict.IN_GRAPH, "the graph says so", ((head, relation, tail),))
        by_value = self._by_value(grounded, relation, there)
        if by_value is not None:
            return by_value
        if tail is None:
            # The graph may have the same entity under a name that the linker does not find.
            return JudgedTriple(grounded, TripleVerdict.UNKNOWN, str(grounded.reason), there[:_SHOWN])
        if there and self._graph.literal(tail) is not None and all(self._graph.literal(t) is None for _, _, t in there):
            return JudgedTriple(grounded, TripleVerdict.UNKNOWN, "the graph has no value there", there[:_SHOWN])
        if there and self.is_functional(relation):
            between = self._between(there, tail)
            if between:
                why = "the graph has a tail that is itself connected with this one"
                return JudgedTriple(grounded, TripleVerdict.PLAUSIBLE, why, (*there[:_SHOWN], *between))
            why = "the graph has another tail, and nearly every head of this relation has one"
            return JudgedTriple(grounded, TripleVerdict.CONTRADICTED, why, there[:_SHOWN])
        return self._by_rank(grounded, there[:_SHOWN])

    def _by_value(self, grounded: Grounded, relation: int, there: tuple[Edge, ...]) -> JudgedTriple | None:
        """The verdict on a value that the graph does not have there; None if no values can be compared."""
        values = {edge: self._graph.literal(edge[2]) for edge in there}
        others = tuple(
            edge for edge, value in values.items() if value is not None and agrees(grounded.text[2], value) is False
        )
        if not others:
            return None
        if self.is_functional(relation):
            why = "the graph has another value, and nearly every head of this relation has one"
            return JudgedTriple(grounded, TripleVerdict.CONTRADICTED, why, others[:_SHOWN])
        return JudgedTriple(grounded, TripleVerdict.UNKNOWN, "the graph has other values", others[:_SHOWN])

    def is_functional(self, relation: int) -> bool:
        """Whether nearly every head of a relation has one tail."""
        if relation not in self._functional:
            offsets, relations, _ = self._graph.rows(Direction.OUT)
            heads = np.searchsorted(offsets, np.flatnonzero(relations == relation), "right") - 1
            tails = np.unique(heads, return_counts=True)[1]
            self._functional[relation] = len(tails) >= _HEADS and float((tails == 1).mean()) >= _ONE_TAIL
        return self._functional[relation]

    def _between(self, there: tuple[Edge, ...], tail: int) -> tuple[Edge, ...]:
        """Edges in either direction between the graph's tails and another tail."""
        edges = self._graph.expand([tail for _, _, tail in there], direction=None)
        rows = zip(edges.heads.tolist(), edges.relations.tolist(), edges.tails.tolist(), strict=True)
        return tuple(dict.fromkeys((h, r, t) for h, r, t in rows if tail in (h, t)))[:_SHOWN]

    def _by_rank(self, grounded: Grounded, there: tuple[Edge, ...]) -> JudgedTriple:
        if self._ranks is None:
            return JudgedTriple(grounded, TripleVerdict.UNKNOWN, "the graph does not say, and has no embeddings", there)
        (scored,) = self._ranks.relative_score([grounded]).triples
        if scored.score is None:
            return JudgedTriple(grounded, TripleVerdict.UNKNOWN, f"the graph does not say, and {scored.skipped}", there)
        verdict = TripleVerdict.PLAUSIBLE if scored.score <= self._plausible else TripleVerdict.IMPLAUSIBLE
        why = f"the graph does not say; its embeddings prefer {scored.score:.1%} of all entities as the tail"
        return JudgedTriple(grounded, verdict, why, there, scored.score)
