"""Look-ups for `CypherGraph`: numbers for nodes and relations, edges of nodes, descriptions."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from triplecheck.kg.cypher.client import CypherClient, Row
from triplecheck.kg.cypher.queries import Queries
from triplecheck.kg.cypher.schema import Property, Schema, read_schema
from triplecheck.kg.cypher.values import ANY, COMPARED, KINDS, datatype_of, kind_of, literals, natives
from triplecheck.kg.errors import KnowledgeBaseError
from triplecheck.kg.queried import NODES_PER_QUERY, Found, Numbering, chunks
from triplecheck.kg.types import XSD, Direction, Literal, Relation
from triplecheck.kg.vocabulary import Vocabulary

_GROUPS_PER_QUERY = 20
_PARTS_PER_QUERY = 50

Key = str | Literal
"""A node outside: the id of an entity, or a value."""
Anchor = tuple[str | None, dict[Any, list[int]]]
"""Nodes of one query: their label where it is known, and the places of each by what identifies it there."""


def element_id(cell: Any) -> str:
    """The engine's id of a node as text."""
    return f"{cell['table']}:{cell['offset']}" if isinstance(cell, dict) else str(cell)


class Lookup:
    """Implements `kg.queried.EdgeLookup` through a client; numbers nodes and relations. Thread-safe.

    Args:
        described: descriptions of relations; a declared range of XSD is the datatype of the values.
    """

    def __init__(
        self,
        client: CypherClient,
        words: Vocabulary,
        key: str | None,
        schema: Schema | None,
        described: Mapping[str, Relation],
    ) -> None:
        self.client, self.words, self.described = client, words, described
        self.nodes: Numbering[Key] = Numbering("node")
        self.relations: Numbering[str] = Numbering("relation")
        self._key, self._given = key, schema
        self._elements: dict[int, str] = {}
        self._property_counts: dict[str, tuple[dict[str, int], dict[str, int]]] = {}
        self._lock = threading.Lock()

    @cached_property
    def schema(self) -> Schema:
        """Labels, keys and types; read on first use."""
        with self._lock:
            return self._given or read_schema(self.client, self._key)

    @cached_property
    def queries(self) -> Queries:
        """Writes the queries."""
        return Queries(self.client.dialect, self.schema, self.words)

    def datatype(self, key: str) -> str | None:
        """The declared datatype of a property's values."""
        about = self.described.get(key)
        declared = None if about is None else about.range
        return declared if declared and declared.startswith(XSD) else None

    # --- nodes ---------------------------------------------------------------------------------
    def number(self, cell: Any, key: Any) -> int:
        """Number of the node with this id of the engine and this key.

        Raises:
            KnowledgeBaseError: another node has the same key.
        """
        element = element_id(cell)
        id = element if key is None else str(key)
        number = self.nodes.number(id)
        if self._elements.setdefault(number, element) != element:
            raise KnowledgeBaseError(
                f"{self.client.name}: two nodes have the {self.schema.key} {id!r}, or the graph has changed; "
                "name a key that is unique, or open it again"
            )
        return number

    def elements(self, numbers: Iterable[int]) -> dict[int, str]:
        """The engine's ids of entities; those that are not in the graph are left out."""
        asked = [n for n in dict.fromkeys(numbers) if isinstance(self.nodes.key(n), str)]
        missing = [str(self.nodes.key(n)) for n in asked if n not in self._elements]
        if missing:
            self.find(missing)
        return {n: self._elements[n] for n in asked if n in self._elements}

    def find(self, ids: Sequence[str]) -> dict[str, int]:
        """Numbers of the entities with these ids; the others are left out."""
        wanted = [id for id in dict.fromkeys(ids) if id.isascii() or not any("\ud800" <= c <= "\udfff" for c in id)]
        found: dict[str, int] = {}
        if self.schema.key is not None:
            every = () if self.client.dialect.tables else (None,)
            for label in (*self.schema.indexed, *every):
                ahead = [id for id in wanted if id not in found]
                for part in chunks(ahead, NODES_PER_QUERY):
                    found |= self._with_keys(part, label)
        for id in wanted:
            if id not in found and (number := self._by_element(id)) is not None:
                found[id] = number
        return found

    def _with_keys(self, ids: Sequence[str], label: str | None) -> dict[str, int]:
        kinds = {
            each.kind
            for each in self.schema.properties
            if each.key == self.schema.key and label in (None, each.label) and not each.many
        }
        keys = natives(ids, *sorted(kinds))
        rows = self.client.rows(self.queries.located(label), {"keys": keys}) if keys else []
        return {str(key): self.number(element, key) for element, key in rows if str(key) in ids}

    def _by_element(self, id: str) -> int | None:
        """An entity without a key, by the engine's id."""
        try:
            [(label, at)] = self._anchors([(0, id)])
            rows = self.client.rows(self.queries.exists(label), {"at": list(at)})
        except ValueError:
            return None  # not an id of this engine
        return self.number(*rows[0]) if rows and rows[0][1] is None else None

    def _anchors(self, elements: Iterable[tuple[int, str]]) -> list[Anchor]:
        """(place, engine's id) by query."""
        if not self.client.dialect.tables:
            numbered = self.client.dialect.element.startswith("id(")
            whole: dict[Any, list[int]] = {}
            for place, element in elements:
                whole.setdefault(int(element) if numbered else element, []).append(place)
            return [(None, whole)] if whole else []
        by_label: dict[str, dict[Any, list[int]]] = {}
        for place, element in elements:
            table, _, offset = element.partition(":")
            if not table.isdecimal() or not offset.isdecimal() or int(table) not in self.schema.numbers:
                raise ValueError(element)
            by_label.setdefault(self.schema.numbers[int(table)], {}).setdefault(int(offset), []).append(place)
        return list(by_label.items())

    def anchored(self, nodes: Iterable[tuple[int, int]]) -> Iterator[Anchor]:
        """Some entities, given as (place, node), in groups of the size of one query."""
        listed = list(nodes)
        known = self.elements(node for _, node in listed)
        for part in chunks([(place, known[node]) for place, node in listed if node in known], NODES_PER_QUERY):
            yield from self._anchors(part)

    def ask(self, query: str, at: Mapping[Any, list[int]], **others: Any) -> Iterator[tuple[int, Row]]:
        """(place, rest of the row) of a query whose rows begin with what identifies a node."""
        for row in self.client.rows(query, {"at": list(at), **others}):
            for place in at[row[0]]:
                yield place, row[1:]

    def _split(self, nodes: Sequence[int]) -> tuple[list[tuple[int, int]], dict[Literal, list[int]]]:
        """(place, entity), and the places of each value."""
        entities, values = [], defaultdict(list)
        for place, node in enumerate(nodes):
            key = self.nodes.key(node)
            if isinstance(key, Literal):
                values[key].append(place)
            else:
                entities.append((place, node))
        return entities, values

    # --- edges ---------------------------------------------------------------------------------
    def edges(self, nodes: Sequence[int], relation: int | None, direction: Direction) -> list[Found]:
        id = None if relation is None else self.relations.key(relation)
        entities, values = self._split(nodes)
        found: set[Found] = set()
        if entities and (id is None or id in self.schema.types):
            for label, at in self.anchored(entities):
                for place, (type, *far) in self.ask(self.queries.relationships(label, id, direction), at):
                    found.add((place, self.relations.number(type), self.number(*far)))
        if direction is Direction.OUT:
            found.update(self._values_of(entities, id))
        else:
            for node, key, value in self._holders(list(values), id):
                found.update((place, self.relations.number(key), node) for place in values[value])
        return sorted(found)

    def _values_of(self, entities: Sequence[tuple[int, int]], id: str | None) -> Iterator[Found]:
        keys = [key for key in self.queries.edge_keys if id in (None, key)]
        labels = [key for key in self.words.labels if key in self.schema.keys]
        for label, at in self.anchored(entities) if keys else ():
            asked = self.queries.present(keys, label)
            names = self.queries.present(labels, label)
            if not asked:
                continue
            for place, (_, *cells) in self.ask(self.queries.read(label, [*asked, *names]), at):
                named = next(
                    (name for name, cell in zip(names, cells[len(asked) :], strict=True) if cell is not None), None
                )
                for key, cell in zip(asked, cells, strict=False):
                    for value in () if key == named else literals(cell, self.datatype(key)):
                        yield place, self.relations.number(key), self.nodes.number(value)

    def _holders(
        self, values: Sequence[Literal], id: str | None = None, limit: int | None = None
    ) -> Iterator[tuple[int, str, Literal]]:
        """(entity, property, value) of all entities that have one of the values, or of some for each property."""
        wanted, asked = set(values), self._properties(id)
        end = "" if limit is None else f" LIMIT {limit:d}"
        for part in chunks(values, NODES_PER_QUERY):
            queries = {}
            for index, found in enumerate(asked):
                natural = self._natural(part, found.key, found.kind)
                query = self.queries.having(found, index) if natural else None
                if query is not None:
                    queries[index] = query + end, natural
            for index, element, key, cell in self.together(queries):
                for value in literals(cell, self.datatype(asked[index].key)):
                    if value in wanted:
                        yield self.number(element, key), asked[index].key, value

    def together(self, queries: Mapping[int, tuple[str, list[Any]]]) -> Iterator[Row]:
        """The rows of several queries. An engine whose columns have no types gets many queries in one request.

        Args:
            queries: by index, the text of each and what its parameter `$values<index>` holds.
        """
        size = 1 if self.client.dialect.tables else _PARTS_PER_QUERY
        for part in chunks(list(queries.items()), size):
            text = " UNION ALL ".join(query for _, (query, _) in part)
            yield from self.client.rows(text, {f"values{index}": values for index, (_, values) in part})

    def _properties(self, id: str | None = None) -> list[Property]:
        keys = self.queries.edge_keys
        return [each for each in self.schema.properties if each.key in keys and id in (None, each.key)]

    def _natural(self, values: Iterable[Literal], key: str, kind: str) -> list[Any]:
        """Those of the values that a property of this kind may have, as the engine compares them."""
        expected = self.datatype(key) or (None if kind == ANY else datatype_of(kind))
        found = natives([value.lexical for value in values if expected in (None, value.datatype)], kind)
        return [float(value) for value in found] if COMPARED.get(kind) == "double" else found

    def count_holders(self, values: Sequence[Literal], id: str | None = None) -> dict[tuple[str, Literal], int]:
        """Number of entities that have one of the values, by property and value."""
        total: dict[tuple[str, Literal], int] = defaultdict(int)
        kinds = sorted({(each.key, each.kind, each.many) for each in self._properties(id)})
        asked = [
            (kind, place)
            for key, kind, many in kinds
            for place in self.queries.places(key)
            if place.many is many and place.kind in ("", kind)
        ]
        for part in chunks(values, NODES_PER_QUERY):
            wanted, queries = set(part), {}
            for index, (kind, place) in enumerate(asked):
                natural = self._natural(part, place.key, kind)
                query = self.queries.compared(place, kind, index) if natural else None
                if query is not None:
                    queries[index] = query, natural
            for index, cell, holders in self.together(queries):
                kind, key = asked[index][0], asked[index][1].key
                for value in literals(cell, self.datatype(key)):
                    # A number of another kind that is equal is counted with its own kind.
                    own = kind == ANY or self.datatype(key) or value.datatype == datatype_of(kind)
                    if own and value in wanted:
                        total[key, value] += holders
        return total

    def values_like(self, lexical: str) -> list[Literal]:
        """Values of the graph with this lexical form, by datatype."""
        kinds = {kind for each in self._properties() for kind in (KINDS if each.kind == ANY else (each.kind,))}
        declared = {self.datatype(each.key) for each in self._properties()} - {None}
        asked = [Literal(lexical, datatype) for datatype in sorted({*map(datatype_of, kinds), *map(str, declared)})]
        return sorted({value for _, value in self.count_holders(asked)}, key=lambda value: value.datatype)

    def edges_of_groups(
        self, groups: Sequence[tuple[int, int, int]], direction: Direction, limit: int | None = None
    ) -> list[Found]:
        if limit is not None:
            return sorted(self._limited(groups, direction, limit)) if limit else []
        by_relation: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for place, node, relation in groups:
            by_relation[relation].append((place, node))
        found: list[Found] = []
        for relation, members in by_relation.items():
            edges = self.edges([node for _, node in members], relation, direction)
            found += [(members[at][0], relation, far) for at, _, far in edges]
        return sorted(found)

    def _limited(self, groups: Sequence[tuple[int, int, int]], direction: Direction, limit: int) -> Iterator[Found]:
        """At most `limit` edges of each group."""
        linked = [
            (at, node, r)
            for at, (_, node, r) in enumerate(groups)
            if isinstance(self.nodes.key(node), str) and self.relations.key(r) in self.schema.types
        ]
        found: dict[int, dict[int, None]] = defaultdict(dict)
        for part in chunks(linked, _GROUPS_PER_QUERY):
            for at, far in self._some(part, direction, limit):
                found[at][far] = None
        for at, (place, node, relation) in enumerate(groups):
            id, value = self.relations.key(relation), self.nodes.key(node)
            ends = found[at]
            # The same relation may also lead to values.
            if direction is Direction.OUT and id in self.queries.edge_keys and len(ends) < limit:
                ends |= dict.fromkeys(far for _, _, far in sorted(self._values_of([(0, node)], id)))
            elif isinstance(value, Literal) and direction is Direction.IN:
                ends |= dict.fromkeys(holder for holder, _, _ in self._holders([value], id, limit))
            yield from ((place, relation, far) for far in list(ends)[:limit])

    def _some(
        self, groups: Sequence[tuple[int, int, int]], direction: Direction, limit: int
    ) -> Iterator[tuple[int, int]]:
        """(place, far node): at most `limit` relationships of each (place, entity, type)."""
        known = self.elements(node for _, node, _ in groups)
        texts, parameters = [], {}
        for index, (place, node, relation) in enumerate(groups):
            if node in known:
                [(label, at)] = self._anchors([(0, known[node])])
                type = self.relations.key(relation)
                texts.append(self.queries.some(label, type, direction, index, place, limit))
                parameters[f"at{index}"] = next(iter(at))
        for place, *far in self.client.rows(" UNION ALL ".join(texts), parameters) if texts else ():
            yield place, self.number(*far)

    def counts(self, nodes: Sequence[int], relation: int | None, direction: Direction) -> list[Found]:
        id = None if relation is None else self.relations.key(relation)
        entities, values = self._split(nodes)
        total: dict[tuple[int, int], int] = defaultdict(int)
        if entities and (id is None or id in self.schema.types):
            for label, at in self.anchored(entities):
                for place, (type, edges) in self.ask(self.queries.counts(label, id, direction), at):
                    total[place, self.relations.number(type)] += edges
        if direction is Direction.OUT:
            for place, number, _ in set(self._values_of(entities, id)):
                total[place, number] += 1
        elif values:
            for (key, value), holders in self.count_holders(list(values), id).items():
                for place in values[value]:
                    total[place, self.relations.number(key)] += holders
        return sorted((place, number, edges) for (place, number), edges in total.items())

    def counts_together(self, nodes: Sequence[int], direction: Direction) -> dict[int, tuple[int, int]]:
        total: dict[int, tuple[int, int]] = {}
        for _, relation, edges in self.counts(nodes, None, direction):
            before = total.get(relation, (0, 0))
            total[relation] = (before[0] + edges, before[1] + 1)
        return total

    def contained(self, triples: Sequence[tuple[int, int, int]]) -> set[int]:
        by_relation: dict[int, list[int]] = defaultdict(list)
        for index, (head, relation, tail) in enumerate(triples):
            self.nodes.key(tail)
            if isinstance(self.nodes.key(head), str):
                by_relation[relation].append(index)
        found: set[int] = set()
        for relation, listed in by_relation.items():
            id = self.relations.key(relation)
            for part in chunks(listed, NODES_PER_QUERY):
                heads = [(index, triples[index][0]) for index in part]
                present = {(triples[index][0], far) for index, _, far in self._values_of(heads, id)}
                if id in self.schema.types:
                    linked = self.joined([head for _, head in heads], id, [triples[index][2] for index in part])
                    present |= {(head, tail) for head, tail, _ in linked}
                found.update(index for index in part if (triples[index][0], triples[index][2]) in present)
        return found

    def joined(
        self, heads: Sequence[int], type: str, tails: Sequence[int], *, statements: bool = False
    ) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """(head, tail, properties if asked for) of the relationships from one of the heads to one of the tails."""
        known = self.elements(tails)
        of_element = {element: node for node, element in known.items()}
        to = list(dict.fromkeys(near for _, at in self._anchors(enumerate(known.values())) for near in at))
        asked = list(dict.fromkeys(heads))
        for label, at in self.anchored(enumerate(asked)) if to else ():
            query = self.queries.between(label, type, statements=statements)
            for place, (far, *about) in self.ask(query, at, to=to):
                tail = of_element.get(element_id(far))
                if tail is not None:
                    yield asked[place], tail, about[0] if about else {}

    # --- the whole graph -----------------------------------------------------------------------
    def distinct_values(self, longest: int | None = None) -> list[Literal]:
        """All values by lexical form, or those of at most `longest` characters."""
        found: set[Literal] = set()
        for key in self.queries.edge_keys:
            for place in self.queries.places(key):
                query = self.queries.values(place, longest)
                for [cell] in self.client.rows(query) if query else ():
                    found.update(literals(cell, self.datatype(key)))
        return sorted(found, key=lambda value: (value.lexical, value.datatype))

    def property_counts(self, key: str) -> tuple[dict[str, int], dict[str, int]]:
        """Edges of a property by datatype, and by type of the head; cached."""
        if key not in self._property_counts:
            self._property_counts[key] = self._count_property(key)
        return self._property_counts[key]

    def _count_property(self, key: str) -> tuple[dict[str, int], dict[str, int]]:
        datatypes: dict[str, int] = defaultdict(int)
        heads: dict[str, int] = defaultdict(int)
        declared = self.datatype(key)
        for place in self.queries.places(key) if key in self.queries.edge_keys else ():
            queries = list(self.queries.property_schema(place))
            for kind, edges in self.client.rows(queries[0]) if queries else ():
                known = kind_of(str(kind)) if self.client.dialect.kind else (str(kind), False)
                if known is not None:
                    datatypes[declared or datatype_of(known[0])] += edges
            for type, edges in self.client.rows(queries[1]) if queries else ():
                heads[type] += edges
        return dict(datatypes), dict(heads)
