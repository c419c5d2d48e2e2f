"""Numbers in, numbers out: the edges that `SparqlGraph` hands out, chunk by chunk of nodes."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TypeVar

from triplecheck.kg.errors import GraphUnavailableError
from triplecheck.kg.sparql.client import Row, SparqlClient
from triplecheck.kg.sparql.numbers import Numbering
from triplecheck.kg.sparql.queries import Queries
from triplecheck.kg.sparql.terms import STRING, Kind, Term, iri, literal, string_variants
from triplecheck.kg.types import XSD, Direction
from triplecheck.kg.vocabulary import Vocabulary

_log = logging.getLogger(__name__)

NODES_PER_QUERY = 200
_GROUPS_PER_QUERY = 20
_COMMON_TYPES = ("string", "integer", "decimal", "double", "float", "boolean", "date", "dateTime", "gYear", "anyURI")

Found = tuple[int, int, int]
"""(place of the node in the list asked for, relation, node at the other end)."""

T = TypeVar("T")


def chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Consecutive parts of at most `size`."""
    return (items[at : at + size] for at in range(0, len(items), size))


class Lookup:
    """Asks a client about edges and keeps the numbers of nodes and relations."""

    def __init__(
        self, client: SparqlClient, words: Vocabulary, literal_kinds: tuple[tuple[str, str], ...] | None
    ) -> None:
        self.client = client
        self.queries = Queries(words, client.keeps_blank_nodes)
        self.nodes: Numbering[Term] = Numbering("node")
        self.relations: Numbering[str] = Numbering("relation")
        self._language = words.language
        self._given_kinds = literal_kinds

    # --- numbers and terms -----------------------------------------------------------------------
    def number(self, term: Term) -> int:
        """Number of a node; a string in several languages is one node."""
        return self.nodes.number(Term(term.kind, term.value, term.datatype))

    def is_blank(self, node: int) -> bool:
        """Whether a query cannot name the node."""
        return self.nodes.key(node).kind is Kind.BLANK

    def written(self, node: int) -> list[str]:
        """All terms of a node, as they stand in a query."""
        term = self.nodes.key(node)
        if term.kind is Kind.IRI:
            return [iri(term.value)]
        if term.datatype != STRING:
            return [literal(term.value, term.datatype)]
        return string_variants(term.value, self.languages)

    def _named(self, nodes: Iterable[tuple[int, int]]) -> list[tuple[str, int]]:
        return [(text, place) for place, node in nodes for text in self.written(node)]

    @cached_property
    def literal_kinds(self) -> tuple[tuple[str, str], ...]:
        """(datatype, language) of all values; the common ones where the store is too large to tell."""
        if self._given_kinds is not None:
            return self._given_kinds
        try:
            rows = self.client.select(self.queries.literal_kinds())
        except GraphUnavailableError as error:
            _log.warning("Values are looked for in common datatypes only; give literal_kinds to be exact. %s", error)
            return (*((XSD + name, "") for name in _COMMON_TYPES), (STRING, self._language))
        kinds = ((row["l"].value if "l" in row else "", row) for row in rows if "d" in row)
        return tuple((STRING if language else row["d"].value, language) for language, row in kinds)

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """Language tags of the values in the store."""
        return tuple(sorted({language for _, language in self.literal_kinds if language}))

    # --- edges -----------------------------------------------------------------------------------
    def edges(self, nodes: Sequence[int], relation: int | None, direction: Direction) -> list[Found]:
        """All edges of the nodes in one direction."""
        id = None if relation is None else self.relations.key(relation)
        places = self._askable(nodes, direction)
        found: set[Found] = set()
        for part in chunks([p for p in places if not self.is_blank(p[1])], NODES_PER_QUERY):
            for row in self.client.select(self.queries.edges(self._named(part), id, direction)):
                number = self._relation(row) if relation is None else relation
                found.update(self._far(row, number))
        for place, node in places:
            if self.is_blank(node):
                found.update((place, r, far) for r, far in self._edges_of_blank(node, relation, direction))
        return sorted(found)

    def some_edges(self, groups: Sequence[tuple[int, int, int]], direction: Direction, limit: int) -> list[Found]:
        """At most `limit` edges for each (place, node, relation)."""
        found: set[Found] = set()
        for part in chunks([g for g in groups if not self.is_blank(g[1])], _GROUPS_PER_QUERY):
            relation_at = {place_in_part: (place, r) for place_in_part, (place, _, r) in enumerate(part)}
            texts = [(self.written(node), self.relations.key(r), i) for i, (_, node, r) in enumerate(part)]
            for row in self.client.select(self.queries.some_edges(texts, direction, limit)):
                place, relation = relation_at[int(row["i"].value)]
                found.update((place, relation, far) for _, _, far in self._far(row, relation))
        for place, node, relation in groups:
            if self.is_blank(node):
                edges = sorted(self._edges_of_blank(node, relation, direction))[:limit]
                found.update((place, r, far) for r, far in edges)
        return sorted(found)

    def edges_of_groups(self, groups: Sequence[tuple[int, int, int]], direction: Direction) -> list[Found]:
        """All edges of each (place, node, relation)."""
        found: set[Found] = set()
        for part in chunks([g for g in groups if not self.is_blank(g[1])], NODES_PER_QUERY):
            at = {i: (place, relation) for i, (place, _, relation) in enumerate(part)}
            pairs = [
                (text, iri(self.relations.key(r)), i)
                for i, (_, node, r) in enumerate(part)
                for text in self.written(node)
            ]
            for row in self.client.select(self.queries.edges_of_pairs(pairs, direction)):
                place, relation = at[int(row["i"].value)]
                found.update((place, relation, far) for _, _, far in self._far(row, relation))
        for place, node, relation in groups:
            if self.is_blank(node):
                found.update((place, r, far) for r, far in self._edges_of_blank(node, relation, direction))
        return sorted(found)

    def counts(self, nodes: Sequence[int], relation: int | None, direction: Direction) -> list[Found]:
        """(place, relation, number of edges) in one direction."""
        id = None if relation is None else self.relations.key(relation)
        places = self._askable(nodes, direction)
        found: list[Found] = []
        for part in chunks([p for p in places if not self.is_blank(p[1])], NODES_PER_QUERY):
            for row in self.client.select(self.queries.counts(self._named(part), id, direction)):
                number = self._relation(row) if relation is None else relation
                found.append((int(row["i"].value), number, int(row["edges"].value)))
        for place, node in places:
            if self.is_blank(node):
                edges = self._edges_of_blank(node, relation, direction)
                found += [(place, r, sum(1 for other, _ in edges if other == r)) for r in {r for r, _ in edges}]
        return sorted(found)

    def counts_together(self, nodes: Sequence[int], direction: Direction) -> dict[int, tuple[int, int]]:
        """Edges and nodes with an edge, by relation."""
        places = self._askable(nodes, direction)
        found: list[Found] = []
        for part in chunks([p for p in places if not self.is_blank(p[1])], NODES_PER_QUERY):
            for row in self.client.select(self.queries.counts_together(self._named(part), direction)):
                found.append((self._relation(row), int(row["edges"].value), int(row["nodes"].value)))
        blank = [node for _, node in places if self.is_blank(node)]
        found += [(relation, edges, 1) for _, relation, edges in self.counts(blank, None, direction)]
        total: dict[int, tuple[int, int]] = {}
        for relation, edges, holders in found:
            before = total.get(relation, (0, 0))
            total[relation] = (before[0] + edges, before[1] + holders)
        return total

    def contained(self, triples: Sequence[tuple[int, int, int]]) -> set[int]:
        """Places of the triples that are edges."""
        found: set[int] = set()
        named = [
            (place, triple)
            for place, triple in enumerate(triples)
            if self.nodes.key(triple[0]).kind is Kind.IRI and not self.is_blank(triple[2])
        ]
        for part in chunks(named, NODES_PER_QUERY):
            rows = [
                (iri(self.nodes.key(head).value), iri(self.relations.key(relation)), text, place)
                for place, (head, relation, tail) in part
                for text in self.written(tail)
            ]
            found.update(int(row["i"].value) for row in self.client.select(self.queries.contained(rows)))
        for place, (head, relation, tail) in enumerate(triples):
            self.relations.key(relation)
            if self.is_blank(head):
                if (relation, tail) in self._edges_of_blank(head, relation, Direction.OUT):
                    found.add(place)
            elif self.is_blank(tail) and (relation, head) in self._edges_of_blank(tail, relation, Direction.IN):
                found.add(place)
        return found

    # --- parts -----------------------------------------------------------------------------------
    def _askable(self, nodes: Sequence[int], direction: Direction) -> list[tuple[int, int]]:
        """(place, node) without the literals that have no edge in this direction."""
        kinds = [self.nodes.key(node).kind for node in nodes]
        return [
            (place, node)
            for place, (node, kind) in enumerate(zip(nodes, kinds, strict=True))
            if direction is Direction.IN or kind is not Kind.LITERAL
        ]

    def _relation(self, row: Row) -> int:
        return self.relations.number(row["p"].value)

    def _far(self, row: Row, relation: int) -> list[Found]:
        # A quoted triple at the other end leaves ?k unbound: it is no node.
        return [(int(row["i"].value), relation, self.number(row["k"]))] if "k" in row else []

    def _edges_of_blank(self, node: int, relation: int | None, direction: Direction) -> set[tuple[int, int]]:
        """(relation, other end). A query cannot name a blank node, so it is bound from outside."""
        if not self.client.keeps_blank_nodes:
            return set()
        rows = self.client.select(self.queries.edges_of_bound(direction), {"x": self.nodes.key(node)})
        edges = {(self._relation(row), self.number(row["y"])) for row in rows if "y" in row}
        return {edge for edge in edges if relation is None or edge[0] == relation}
