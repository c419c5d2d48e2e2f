"""`CypherGraph`: a read-only graph backed by a property graph, embedded or behind a Bolt server."""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from triplecheck.kg.cypher._lookup import Lookup
from triplecheck.kg.cypher.client import CypherClient
from triplecheck.kg.cypher.schema import WORDS, Schema, ladybug_name
from triplecheck.kg.cypher.values import ANY, literals
from triplecheck.kg.graph import EdgeProperties, IntArray, RelationSchema
from triplecheck.kg.names import LONGEST_VALUE
from triplecheck.kg.queried import MOST_NODES_OF_TYPE, NODES_PER_QUERY, QueriedGraph, ints, not_too_many, ranked
from triplecheck.kg.readable import class_label, entity_label, relation_label
from triplecheck.kg.types import Entity, Literal, Relation
from triplecheck.kg.vocabulary import Vocabulary

_NODES_AT_ONCE = 50_000  # of all nodes: each page is sorted by the engine


class CypherGraph(QueriedGraph):
    """Implements `kg.graph.Graph` over a property graph. Thread-safe.

    A node is an entity. Its id is the value of a key property that every node has, if there is one, else the engine's
    own id, which is valid only until the node is deleted or the database is loaded anew. Its labels are its types, the
    first property of `words.labels` that it has is its label. Relationships are edges, parallel ones of one type are
    one edge, and each has its properties as edge properties. The other properties of a node are edges to values, with
    the property as the relation. Points, maps, bytes and lists of floating-point numbers (vectors) are left out.

    Args:
        client: answers the queries; closed with the graph.
        words: the properties that describe; `types` are properties with types that replace the labels.
        key: the property with the ids; None: found when the schema is read.
        relations: all relations, numbered in this order. None: those of the schema.
        described: descriptions of relations; a declared range of XSD is the datatype of the values.
        schemas: the schema of each of these relations; None: counted by the store when asked for.
        type_ids: types of entities, most frequent first. None: counted over the whole graph on first use.
        learned: what `learned` of an earlier graph of the same store was; None: it is read.

    Attributes:
        lookup: its numbers, its schema and its client, for queries of others.
    """

    def __init__(
        self,
        client: CypherClient,
        words: Vocabulary = WORDS,
        key: str | None = None,
        *,
        relations: Sequence[Relation] | None = None,
        described: Iterable[Relation] = (),
        schemas: Iterable[RelationSchema] | None = None,
        type_ids: Iterable[str] | None = None,
        type_labels: Mapping[str, str] | None = None,
        learned: Mapping[str, Any] | None = None,
    ) -> None:
        known = {name: replace(about, id=name) for about in described for name in (ladybug_name(about.id), about.id)}
        known |= {relation.id: relation for relation in relations or ()}
        self.lookup = self._look = Lookup(client, words, key, Schema.of_json(learned) if learned else None, known)
        self._client, self._words = client, words
        super().__init__(self._look, schemas or ())
        self._labels: dict[int, str] = {}
        self._types: dict[int, tuple[str, ...]] = {}
        self._type_labels = type_labels or {}
        self._given_types = None if type_ids is None else tuple(type_ids)
        for relation in relations or ():
            self._look.relations.number(relation.id)

    @property
    def learned(self) -> dict[str, Any]:
        """What was learned of the store, for the index."""
        return self._look.schema.as_json()

    # --- sizes: queries over the whole graph, cached -----------------------------------------------
    @cached_property
    def num_nodes(self) -> int:
        [[entities]] = self._client.rows(self._look.queries.count_nodes())
        return int(entities) + len(self._look.distinct_values())

    @cached_property
    def num_relations(self) -> int:
        for id in sorted({*self._look.schema.types, *self._look.queries.edge_keys}):
            self.find_relation(id)
        return len(self._look.relations)

    @cached_property
    def num_triples(self) -> int:
        return sum(self.schema(relation).edges for relation in range(self.num_relations))

    @cached_property
    def has_types(self) -> bool:
        return bool(self.type_ids)

    @cached_property
    def type_ids(self) -> tuple[str, ...]:
        if self._given_types is not None:
            return self._given_types
        return tuple(type for type, _ in ranked(Counter(dict(self._client.rows(self._look.queries.count_types())))))

    def nodes_of_type(self, type_id: str) -> IntArray:
        """Entities of a type, ascending by number, at most 100,000; more are a `GraphUnavailableError`."""
        if type_id not in self.type_ids:
            return np.empty(0, np.int64)
        rows = self._client.rows(self._look.queries.of_type(type_id, MOST_NODES_OF_TYPE + 1), {"type": type_id})
        return not_too_many(self._client.name, type_id, (self._look.number(*row) for row in rows))

    # --- ids ---------------------------------------------------------------------------------------
    def find(self, id: str | Literal) -> int | None:
        known = self._look.nodes.known(id)
        if known is not None:
            return known
        lexical = id.lexical if isinstance(id, Literal) else id
        if any("\ud800" <= c <= "\udfff" for c in lexical):
            return None
        if isinstance(id, Literal):
            found = [id] if self._look.count_holders([id]) else []
        else:
            entity = self._look.find([id])
            if entity:
                return entity[id]
            found = self._look.values_like(id)
        return self._look.nodes.number(found[0]) if found else None

    def known(self, id: str | Literal) -> int:
        """Number of an entity or value that is known to be in the graph; nothing is queried."""
        return self._look.nodes.number(id)

    def find_relation(self, id: str) -> int | None:
        known = self._look.relations.known(id)
        if known is not None:
            return known
        there = id in self._look.schema.types or any(self._look.property_counts(id)[0].values())
        return self._look.relations.number(id) if there else None

    def literal(self, node: int) -> Literal | None:
        key = self._look.nodes.key(node)
        return key if isinstance(key, Literal) else None

    def nodes_named(self, names: Sequence[str]) -> Iterator[tuple[str, int, str]]:
        sources = dict.fromkeys(self._words.aliases, "alias") | dict.fromkeys(self._words.labels, "label")
        asked = [each for each in self._look.schema.properties if each.key in sources and each.kind in ("string", ANY)]
        queries = {at: (self._look.queries.named(each, at), list(names)) for at, each in enumerate(asked)}
        for at, element, key, name in self._look.together(queries):
            yield str(name), self._look.number(element, key), sources[asked[at].key]

    def nodes_like(self, text: str, limit: int) -> Iterable[tuple[str, int]]:
        return ()

    # --- descriptions: labels and types are kept ---------------------------------------------------
    def node_id(self, node: int) -> str:
        key = self._look.nodes.key(node)
        return key.lexical if isinstance(key, Literal) else key

    def labels(self, nodes: IntArray | Sequence[int]) -> list[str]:
        asked = ints(nodes)
        keys = {node: self._look.nodes.key(node) for node in asked}
        missing = [node for node, key in keys.items() if node not in self._labels and isinstance(key, str)]
        look = self._look
        for label, at in look.anchored(enumerate(missing)):
            names = look.queries.present(look.words.labels, label)
            for place, (types, *cells) in look.ask(look.queries.read(label, names, types=True), at):
                self._labels[missing[place]] = _first(cells) or entity_label(self.node_id(missing[place]))
                self._types[missing[place]] = tuple(dict.fromkeys(types))
        return [
            key.lexical if isinstance(key, Literal) else self._labels.get(node) or entity_label(key)
            for node, key in ((node, keys[node]) for node in asked)
        ]

    def types(self, node: int) -> tuple[str, ...]:
        key = self._look.nodes.key(node)
        if isinstance(key, Literal):
            return (key.datatype,)
        if node not in self._types:
            # Whoever asks for the types of a node asks for those of its neighbours, which were numbered next.
            self.labels(range(node, min(node + NODES_PER_QUERY, len(self._look.nodes))))
        return self._types.get(node, ())

    def entity(self, node: int) -> Entity:
        id, look = self.node_id(node), self._look
        if isinstance(look.nodes.key(node), Literal):
            return Entity(id, id)
        description = ""
        aliases: tuple[str, ...] = ()
        for label, at in look.anchored([(0, node)]):
            texts = look.queries.present(look.words.descriptions, label)
            others = look.queries.present(look.words.aliases, label)
            for _, (_, *cells) in look.ask(look.queries.read(label, [*texts, *others]), at):
                description = _first(cells[: len(texts)]) or ""
                aliases = _texts(cells[len(texts) :])
        name = self.label(node)
        return Entity(id, name, tuple(alias for alias in aliases if alias != name), description, self.types(node))

    def type_label(self, type_id: str) -> str:
        return self._type_labels.get(type_id) or class_label(type_id)

    def relation(self, relation: int) -> Relation:
        id = self._look.relations.key(relation)
        # Types of relationships are usually written in capitals.
        return self._look.described.get(id) or Relation(id, relation_label(id.lower() if id.isupper() else id))

    # --- edge properties ---------------------------------------------------------------------------
    @property
    def has_edge_properties(self) -> bool:
        return self._look.schema.edge_properties

    def edge_properties(self, head: int, relation: int, tail: int) -> tuple[EdgeProperties, ...]:
        type = self._look.relations.key(relation)
        ends = [self._look.nodes.key(node) for node in (head, tail)]
        if type not in self._look.schema.types or any(isinstance(end, Literal) for end in ends):
            return ()
        found = []
        for _, _, about in self._look.joined([head], type, [tail], statements=True):
            pairs = [(key, value) for key, cell in sorted(about.items()) for value in literals(cell)]
            if pairs:
                found.append(tuple(pairs))
        return tuple(sorted(found, key=str))

    # --- everything, for an index ------------------------------------------------------------------
    def entities_after(self, last: str | None, limit: int) -> list[Entity]:
        """The next entities by the engine's id, with labels and aliases; `limit` or more, fewer at the end only.

        Args:
            last: the id after which to begin; None: at the first.
        """
        limit = max(limit, _NODES_AT_ONCE)
        look = self._look
        at = None if last is None else look.elements([look.nodes.number(last)]).get(look.nodes.number(last))
        labels: list[str | None] = [*look.schema.numbers.values()] or [None]
        given: Any = None
        if at is not None:
            [(label, ids)] = look._anchors([(0, at)])
            labels, given = labels[labels.index(label) :], next(iter(ids))
        found: list[Entity] = []
        for label in labels:
            names = look.queries.present(look.words.labels, label)
            others = look.queries.present(look.words.aliases, label)
            query = look.queries.after(label, [*names, *others], limit - len(found), first=given is None)
            for element, key, *cells in look.client.rows(query, {} if given is None else {"last": given}):
                id = self.node_id(look.number(element, key))
                name = _first(cells[: len(names)]) or entity_label(id)
                aliases = tuple(alias for alias in _texts(cells[len(names) :]) if alias != name)
                found.append(Entity(id, name, aliases))
            given = None
            if len(found) >= limit:
                break
        return found

    def values_after(self, last: str | None, limit: int) -> list[Literal]:
        """The next values by lexical form, as `entities_after`; none is longer than `LONGEST_VALUE`."""
        start = 0 if last is None else bisect.bisect_right(self._short_values, last, key=lambda value: value.lexical)
        return self._short_values[start : start + limit]

    @cached_property
    def _short_values(self) -> list[Literal]:
        return self._look.distinct_values(LONGEST_VALUE)

    # --- schema ------------------------------------------------------------------------------------
    def _count_schema(self, relation: int) -> RelationSchema:
        id = self._look.relations.key(relation)
        edges, domain, range = 0, Counter[str](), Counter[str]()
        if id in self._look.schema.types:
            count, heads, tails = (self._client.rows(query) for query in self._look.queries.relationship_schema(id))
            edges += count[0][0]
            domain.update(dict(heads))
            range.update(dict(tails))
        datatypes, heads_by_type = self._look.property_counts(id)
        edges += sum(datatypes.values())
        domain.update(heads_by_type)
        range.update(datatypes)
        return RelationSchema(relation, edges, tuple(ranked(domain)), tuple(ranked(range)))

    def close(self) -> None:
        self._client.close()


def _first(cells: Iterable[Any]) -> str | None:
    return next((text for cell in cells for text in _texts([cell])), None)


def _texts(cells: Iterable[Any]) -> tuple[str, ...]:
    """All texts of some properties."""
    return tuple(dict.fromkeys(value.lexical for cell in cells for value in literals(cell) if value.lexical))
