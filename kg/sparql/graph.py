"""`SparqlGraph`: a read-only graph backed by a SPARQL endpoint."""

from __future__ import annotations

import functools
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyoxigraph

from triplecheck.kg.errors import GraphUnavailableError
from triplecheck.kg.graph import IntArray, RelationSchema
from triplecheck.kg.queried import MOST_NODES_OF_TYPE, not_too_many, ranked
from triplecheck.kg.sparql._lookup import DescribedGraph, Lookup
from triplecheck.kg.sparql.client import Binding, PartialResultsError, QueryRefusedError, bound
from triplecheck.kg.sparql.http import HttpClient
from triplecheck.kg.sparql.profiles import PROFILES, Profile
from triplecheck.kg.sparql.terms import STRING, Term, TermKind, is_iri, literal, may_be, string_variants
from triplecheck.kg.types import Entity, Literal, Relation
from triplecheck.kg.vocabulary import Vocabulary

_log = logging.getLogger(__name__)

_PAGE, _SMALLEST_PAGE = 1_000, 20  # solutions of a query at once, where a server gives a part of them
_MOST_TYPES = 1000
_TYPE_SAMPLE = 100_000  # type statements, if the store is too slow to count all
_ENTITIES_PER_QUERY = 8


class SparqlGraph(DescribedGraph):
    """Implements `kg.graph.Graph` by SPARQL queries. Thread-safe.

    Edges at blank nodes are left out, because the label of a blank node is valid only within one reply. Every look-up
    may raise `GraphUnavailableError` if the store does not reply within the limits of the client.

    Args:
        client: answers the queries; closed with the graph.
        vocabulary: predicates that describe nodes, which are not relations of the graph; None: those of the profile.
        type_ids: types of entities, most frequent first. None: counted over the whole store on first use.
        relations: all relations, numbered in this order. None: queried from the whole store on first use.
        schemas: the schema of each of these relations; None: counted by the store when asked for.
        profile: what is special about the server.

    Attributes:
        lookup: its numbers and its client, for queries of others.
    """

    def __init__(
        self,
        client: HttpClient,
        vocabulary: Vocabulary | None = None,
        *,
        type_ids: Iterable[str] | None = None,
        relations: Sequence[Relation] | None = None,
        schemas: Iterable[RelationSchema] | None = None,
        type_labels: Mapping[str, str] | None = None,
        profile: Profile = PROFILES["general"],
    ) -> None:
        self._client, self._text_search = client, profile.text_search
        words = vocabulary or profile.vocabulary
        self.lookup = look = Lookup(client, words, profile)
        super().__init__(look, words, relations or (), type_labels or {}, schemas or ())
        self._queries = look.queries
        self._given_types = None if type_ids is None else tuple(type_ids)
        if relations is not None:
            self.num_relations = len(relations)

    # --- sizes: one query over the whole store each, cached --------------------------------------
    @cached_property
    def num_nodes(self) -> int:
        return self._count(self._queries.count_entities()) + self._count(self._queries.count_values())

    @cached_property
    def num_relations(self) -> int:
        ids = sorted({row["p"].value for row in self._all(self._queries.relations(), "p")})
        numbers = [self._look.relations.number(id) for id in ids]
        self._fetch_relations(numbers)
        return len(self._look.relations)

    @cached_property
    def num_triples(self) -> int:
        """Number of edges, without statements of labels and types."""
        return self._count(self._queries.count_triples())

    @cached_property
    def has_types(self) -> bool:
        return bool(self._client.select(self._queries.typed()))

    @cached_property
    def type_ids(self) -> tuple[str, ...]:
        """Types of entities, most frequent first, at most 1,000.

        If the store is too slow to count all type statements, the first 100,000 that it returns are counted.
        """
        ids = self._given_types
        if ids is None:
            try:
                found = self._counted(self._queries.types(_MOST_TYPES))
            except GraphUnavailableError as error:
                _log.warning("Types are counted on a sample only. %s", error)
                found = self._counted(self._queries.types_of_sample(_TYPE_SAMPLE, _MOST_TYPES))
            ids = tuple(id for id, _ in ranked(found))
        self._fetch_type_labels(ids)
        return ids

    def nodes_of_type(self, type_id: str) -> IntArray:
        """Entities of a type, ascending by number, at most 100,000; more are a `GraphUnavailableError`."""
        if not is_iri(type_id):
            return np.empty(0, np.int64)
        rows = self._client.select(self._queries.nodes_of_type(type_id, MOST_NODES_OF_TYPE + 1))
        return not_too_many(self._client.name, type_id, (self._look.number(row["x"]) for row in bound(rows, "x")))

    def _all(self, query: str, name: str) -> list[Binding]:
        """All solutions of a query, page by page where the server gives a part at once."""
        try:
            return bound(self._client.select(query), name)
        except PartialResultsError:
            found: list[Binding] = []
            while page := self._page(functools.partial(_part_of, query, name, len(found)), _PAGE)[0]:
                found += page
            return bound(found, name)

    def _page(self, query_of: Callable[[int], str], limit: int) -> tuple[list[Binding], int]:
        """The solutions of a query with a limit, a lower one where the server gives a part only; and that limit."""
        while True:
            most = self._client.most_rows
            limit = limit if most is None else max(1, min(limit, most - 1))
            try:
                return self._client.select(query_of(limit)), limit
            except PartialResultsError:
                if limit <= _SMALLEST_PAGE:
                    raise
                limit = max(_SMALLEST_PAGE, limit // 2)

    def _count(self, query: str) -> int:
        rows = bound(self._client.select(query), "count")
        if not rows:
            raise GraphUnavailableError(f"{self._client.name} gives no number to a query that counts")
        return int(rows[0]["count"].value)

    # --- ids, labels -----------------------------------------------------------------------------
    def find(self, id: str | Literal) -> int | None:
        """Node of an id: an IRI, else the lexical form of a value."""
        if isinstance(id, Literal):
            return self._find_literal(id)
        known = self._look.nodes.known(Term(TermKind.BLANK, id[2:])) if id.startswith("_:") else None
        if known is not None:
            return known
        try:
            found = self.find_entities([id])
        except QueryRefusedError:
            if _is_strict_iri(id):
                raise
            found = {}
        return found[id] if found else self._find_lexical(id)

    def find_entities(self, ids: Iterable[str]) -> dict[str, int]:
        """Nodes of the ids that are entities."""
        asked = dict.fromkeys(ids)
        found = {id: number for id in asked if (number := self._look.nodes.known(Term(TermKind.IRI, id))) is not None}
        unknown = [id for id in asked if id not in found and is_iri(id)]
        for part, rows in self._look.select(unknown, self._queries.find_entities, _ENTITIES_PER_QUERY):
            for row in rows:
                id = part[int(row["i"].value)]
                found[id] = self._look.number(Term(TermKind.IRI, id))
        return found

    def _find_literal(self, value: Literal) -> int | None:
        known = self._look.nodes.known(Term(TermKind.LITERAL, value.lexical, value.datatype))
        if known is not None:
            return known
        try:
            if not may_be(value.lexical, value.datatype):
                return None
            if value.datatype == STRING:
                terms = string_variants(value.lexical, self._look.languages)
            else:
                terms = [literal(value.lexical, value.datatype)]
        except ValueError:  # not valid Unicode
            return None
        # Virtuoso finds an integer for an equal decimal.
        found = [term for term in self._values(terms) if term.datatype == value.datatype]
        return self._look.number(found[0]) if found else None

    def _find_lexical(self, lexical: str) -> int | None:
        try:
            terms = string_variants(lexical, self._look.languages)
            terms += [
                literal(lexical, kind)
                for kind, _ in self._look.literal_kinds
                if kind != STRING and may_be(lexical, kind)
            ]
        except ValueError:
            return None
        # Of several values, the same one as in the columnar store.
        found = sorted((t for t in self._values(terms) if t.value == lexical), key=lambda t: t.datatype)
        return self._look.number(found[0]) if found else None

    def _values(self, terms: list[str]) -> list[Term]:
        return [row["x"] for row in bound(self._client.select(self._queries.find_values(terms)), "x")]

    def known(self, id: str | Literal) -> int:
        """Number of an entity or value that is known to be in the graph; nothing is queried."""
        if isinstance(id, Literal):
            return self._look.number(Term(TermKind.LITERAL, id.lexical, id.datatype))
        return self._look.number(Term(TermKind.IRI, id))

    def find_relation(self, id: str) -> int | None:
        """Number of a relation; None for predicates of the vocabulary."""
        known = self._look.relations.known(id)
        if known is not None or id in self.vocabulary.not_edges or not is_iri(id):
            return known
        try:
            found = self._client.select(self._queries.find_relation(id))
        except QueryRefusedError:
            if _is_strict_iri(id):
                raise
            return None
        return self._look.relations.number(id) if found else None

    def nodes_named(self, names: Sequence[str]) -> Iterator[tuple[str, int, str]]:
        """(name, node, "label" or "alias"): names without a language and in the languages of the vocabulary."""
        words = self.vocabulary
        rows = bound(self._client.select(self._queries.named(names)), "x", "p", "v")
        numbers = self.find_entities(row["x"].value for row in rows if row["x"].kind is TermKind.IRI)
        for row in rows:
            if row["x"].value in numbers:  # not a class or a relation
                source = "label" if row["p"].value in words.labels else "alias"
                yield row["v"].value, numbers[row["x"].value], source

    def nodes_like(self, text: str, limit: int) -> Iterator[tuple[str, int]]:
        if self._text_search is None:
            return
        try:
            rows = bound(self._client.select(self._text_search(text, self.vocabulary, limit)), "x", "v")
        except QueryRefusedError as error:
            _log.warning("The text index is not used: %s", error)
            self._text_search = None
            return
        numbers = self.find_entities(row["x"].value for row in rows if row["x"].kind is TermKind.IRI)
        yield from ((row["v"].value, numbers[row["x"].value]) for row in rows if row["x"].value in numbers)

    def literal(self, node: int) -> Literal | None:
        term = self._look.nodes.key(node)
        return Literal(term.value, term.datatype) if term.kind is TermKind.LITERAL else None

    @property
    def learned(self) -> dict[str, Any]:
        """How many solutions the server gives at most, if it was found out."""
        return {} if self._client.most_rows is None else {"most_rows": self._client.most_rows}

    # --- everything, for an index --------------------------------------------------------------
    def entities_after(self, last: str | None, limit: int) -> list[Entity]:
        """The next entities by id, with their labels and aliases; at most `limit`, none at the end only.

        Args:
            last: the id after which to begin; None: at the first.
        """
        rows, limit = self._page(lambda rows: self._queries.entities_after(last, rows), limit)
        ids = [row["n"].value for row in bound(rows, "n") if row["n"].kind is TermKind.IRI]
        may_be_cut = ids and len(rows) < limit and self._client.most_rows is None
        if may_be_cut and bound(self._client.select(self._queries.entities_after(ids[-1], 1)), "n"):
            # The server gives fewer than there are, and does not say so: other queries are cut there, too.
            self._client.most_rows = len(rows)
        return self._described(ids)

    def values_after(self, last: str | None, limit: int) -> list[Literal]:
        """The next values by lexical form, as `entities_after`; none is longer than `LONGEST_VALUE`."""
        rows = bound(self._page(lambda rows: self._queries.values_after(last, rows), limit)[0], "y")
        return list(dict.fromkeys(Literal(row["y"].value, row["y"].datatype) for row in rows))

    # --- schema ----------------------------------------------------------------------------------
    def _count_schema(self, relation: int) -> RelationSchema:
        id, queries = self._look.relations.key(relation), self._queries
        ranges = self._counted(queries.count_types(id, "?y", _MOST_TYPES))
        ranges.update(self._counted(queries.count_datatypes(id, _MOST_TYPES)))
        domains = self._counted(queries.count_types(id, "?x", _MOST_TYPES))
        edges = self._count(queries.count_edges(id))
        return RelationSchema(relation, edges, tuple(ranked(domains)), tuple(ranked(ranges)))

    def _counted(self, query: str) -> Counter[str]:
        counts: Counter[str] = Counter()  # Virtuoso counts an IRI and its text apart
        for row in bound(self._client.select(query), "t", "n"):
            counts[row["t"].value] += int(row["n"].value)
        return counts

    def close(self) -> None:
        self._client.close()


def _part_of(query: str, name: str, first: int, rows: int) -> str:
    return f"{query} ORDER BY ?{name} LIMIT {rows} OFFSET {first}"


def _is_strict_iri(text: str) -> bool:
    """Whether an engine must accept the IRI (RFC 3987); the grammar of queries is less strict."""
    try:
        pyoxigraph.NamedNode(text)
    except ValueError:
        return False
    return True
