"""Grounding of text triples: from words to the graph's numbers, with a reason for each that cannot be grounded.

The linker turns a mention into an entity. Of homonyms, the graph decides: those between which it has the edge, else the
linker's first. A predicate becomes a relation by exact label or alias, else by the similarity of its vector if that is
above a threshold. A text may state a fact in the other direction ("Nolan directed Inception" for (Inception, director,
Nolan)): both directions are tried, and a swap is noted. It may write a date or number differently than the graph.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product

from triplecheck.kg.graph import Graph
from triplecheck.kg.linking import Linker
from triplecheck.kg.names import normalize
from triplecheck.kg.relation_vectors import RelationVectors, relation_texts
from triplecheck.kg.types import Direction, Edge
from triplecheck.kg.values import agrees


class Skip(StrEnum):
    """Why a triple has no score; the value is readable text."""

    UNKNOWN_HEAD = "the graph does not know the head"
    UNKNOWN_RELATION = "the graph knows no such relation"
    UNKNOWN_TAIL = "the graph does not know the tail"
    DENIAL = "it is a negative statement, and the graph has only positive ones"
    HEAD_WITHOUT_VECTOR = "the head has no embedding"
    TAIL_WITHOUT_VECTOR = "the tail has no embedding"
    NO_REFERENCE = "the graph has no other triple to compare it with"


TextTriple = tuple[str, str, str]
"""Head, predicate and tail as in a text."""

_LEAST_COSINE = 0.5
_IN_GRAPH = 3  # support of a reading that is an edge of the graph
_HOMONYMS = 30
# The vector of a denial is as similar to a relation as that of the statement it denies.
_DENIAL = re.compile(r"\b(?:not|never|cannot|no longer)\b|n['’]t\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Grounded:
    """A text triple and its triple in the graph.

    Attributes:
        text: head, predicate and tail as given.
        triple: head, relation and tail in the graph's direction; None for each unknown part.
        swapped: whether head and tail are swapped in the graph.
        similarity: cosine of predicate and relation; 1 if their names are equal, 0 if no relation was found.
        reason: why it could not be grounded, None if it was.
    """

    text: TextTriple
    triple: tuple[int | None, int | None, int | None]
    swapped: bool = False
    similarity: float = 0.0
    reason: Skip | None = None

    @property
    def edge(self) -> Edge | None:
        """The triple if all its parts are known; the graph need not have it."""
        head, relation, tail = self.triple
        return None if head is None or relation is None or tail is None else (head, relation, tail)


class Grounder:
    """Grounds text triples in one graph. Each distinct string is linked or encoded once.

    Args:
        relations: vectors of its relations, or None to match them by name only.
    """

    def __init__(self, graph: Graph, linker: Linker, relations: RelationVectors | None = None) -> None:
        self._graph = graph
        self._linker = linker
        self._vectors = relations
        self._named = _relations_by_name(graph)
        self._homonyms = functools.cache(self._nodes_named)
        self._relations_of = functools.cache(self._relations_named)

    def ground(self, triples: Iterable[TextTriple], question: str | None = None) -> list[Grounded]:
        """Ground triples, in the order given; a question tells homonyms apart."""
        return [self._one(triple, question) for triple in triples]

    def _one(self, text: TextTriple, question: str | None) -> Grounded:
        heads, tails = self._homonyms(text[0], question), self._homonyms(text[2], question)
        relations, cosine = self._relations_of(text[1])
        likeliest = relations[0] if relations else None
        if not heads:
            unknown = None, likeliest, next(iter(tails), None)
            return Grounded(text, unknown, similarity=cosine, reason=Skip.UNKNOWN_HEAD)
        if likeliest is None:
            denied = _DENIAL.search(text[1])
            reason = Skip.DENIAL if denied else Skip.UNKNOWN_RELATION
            return Grounded(text, (heads[0], None, next(iter(tails), None)), reason=reason)
        straight, triple = self._best_reading(heads, relations, tails) if tails else (True, None)
        if triple is None or not self._graph.contains(*triple):
            value = self._value(heads, relations, text[2])
            if value is not None:
                return Grounded(text, value, similarity=cosine)
        if triple is None:
            return Grounded(text, (heads[0], likeliest, None), similarity=cosine, reason=Skip.UNKNOWN_TAIL)
        return Grounded(text, triple, not straight, cosine)

    def _value(self, heads: Sequence[int], relations: Sequence[int], text: str) -> Edge | None:
        """The edge whose date or number the text writes differently, as "July 25, 1920" does 1920-07-25, if any."""
        if not any(map(str.isdigit, text)):
            return None
        for head, relation in product(heads, relations):
            for tail in self._graph.neighbors(head, relation).tolist():
                value = self._graph.literal(tail)
                if value is not None and agrees(text, value):
                    return head, relation, tail
        return None

    def _best_reading(self, heads: Sequence[int], relations: Sequence[int], tails: Sequence[int]) -> tuple[bool, Edge]:
        """Whether the triple is straight, and the triple: the reading with the most support.

        Of equal support: the first homonyms, then straight, then the first relation.
        """
        best: tuple[int, bool, Edge] | None = None
        for head, tail in sorted(product(heads, tails), key=lambda pair: heads.index(pair[0]) + tails.index(pair[1])):
            for straight, first, last in ((True, head, tail), (False, tail, head)):
                for relation in relations:
                    support = self._support(first, relation, last)
                    if best is None or support > best[0]:
                        best = support, straight, (first, relation, last)
            if best is not None and best[0] == _IN_GRAPH:
                break
        assert best is not None
        return best[1:]

    def _support(self, head: int, relation: int, tail: int) -> int:
        """3 if the graph has the edge; else 1 for each end that has another edge of the relation at the same end."""
        if self._graph.contains(head, relation, tail):
            return _IN_GRAPH
        ends = ((head, Direction.OUT), (tail, Direction.IN))
        return sum(len(self._graph.neighbors(node, relation, way, 1)) > 0 for node, way in ends)

    def _nodes_named(self, text: str, question: str | None) -> list[int]:
        """The nodes with exactly this name, in the linker's order; else the one that fits best; empty if none fits."""
        found = self._linker.candidates(text, question, limit=_HOMONYMS) if text.strip() else []
        return [candidate.node for candidate in found if candidate.is_exact] or [one.node for one in found[:1]]

    def _relations_named(self, predicate: str) -> tuple[Sequence[int], float]:
        """The relation of a predicate, several if they share the name, and its similarity."""
        same = self._named.get(normalize(predicate))
        if same:
            return same, 1.0
        if self._vectors is None or not self._named or not predicate.strip() or _DENIAL.search(predicate):
            return (), 0.0
        # Only the nearest: if the graph could choose among several, it would confirm statements the text does not make.
        cosines = self._vectors.against(predicate)
        best = int(cosines.argmax())
        return ((best,), float(cosines[best])) if cosines[best] >= _LEAST_COSINE else ((), 0.0)


def _relations_by_name(graph: Graph) -> dict[str, Sequence[int]]:
    """Relations by label and alias. All homonyms are kept; the entities decide between them."""
    named: dict[str, dict[int, None]] = {}
    for number in range(graph.num_relations):
        for text in relation_texts(graph.relation(number)):
            named.setdefault(normalize(text), {})[number] = None
    return {name: list(numbers) for name, numbers in named.items()}
