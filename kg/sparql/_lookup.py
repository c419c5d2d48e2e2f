"""Look-ups for `SparqlGraph`: numbers for terms, edges of nodes, descriptions of nodes, relations and types."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from triplecheck.kg.errors import GraphUnavailableError
from triplecheck.kg.graph import EdgeProperties, IntArray, RelationSchema
from triplecheck.kg.queried import NODES_PER_QUERY, Found, Numbering, QueriedGraph, chunks, ints
from triplecheck.kg.readable import class_label, entity_label, relation_alias, relation_label
from triplecheck.kg.sparql.client import Binding, PartialResultsError, bound
from triplecheck.kg.sparql.http import HttpClient
from triplecheck.kg.sparql.profiles import WIKIDATA, Profile
from triplecheck.kg.sparql.queries import Queries
from triplecheck.kg.sparql.terms import STRING, Term, TermKind, iri, is_iri, is_language, literal, string_variants
from triplecheck.kg.types import TRUTHS, XSD, Direction, Entity, Literal, Relation
from triplecheck.kg.vocabulary import Vocabulary

_log = logging.getLogger(__name__)

T = TypeVar("T")
_GROUPS_PER_QUERY = 20
_EDGE = ("i", "k")  # a quoted triple at the other end leaves ?k unbound: it is not a node
_COMMON_TYPES = ("string", "integer", "decimal", "double", "float", "boolean", "date", "dateTime", "gYear", "anyURI")


class Lookup:
    """Implements `kg.queried.EdgeLookup` through a client; numbers nodes and relations.

    Blank nodes have no edges: their labels are valid within one reply only.
    """

    def __init__(self, client: HttpClient, words: Vocabulary, profile: Profile) -> None:
        self.client, self.profile = client, profile
        self.queries = Queries(words, profile)
        self.nodes: Numbering[Term] = Numbering("node")
        self.relations: Numbering[str] = Numbering("relation")
        self._language = words.language

    # --- numbers and terms -----------------------------------------------------------------------
    def number(self, term: Term) -> int:
        """Number of a node; a string in several languages is one node."""
        return self.nodes.number(Term(term.kind, term.value, term.datatype))

    def is_blank(self, node: int) -> bool:
        """Whether a query cannot name the node: it is blank, or the store has an IRI that is none."""
        term = self.nodes.key(node)
        written = term.value if term.kind is TermKind.IRI else term.datatype
        return term.kind is TermKind.BLANK or bool(written and not is_iri(written))

    def written(self, node: int) -> list[str]:
        """All terms of a node, as written in a query."""
        term = self.nodes.key(node)
        if term.kind is TermKind.IRI:
            return [iri(term.value)]
        if term.datatype != STRING:
            return [literal(term.value, term.datatype)]
        return string_variants(term.value, self.languages)

    def _named(self, nodes: Iterable[tuple[int, int]]) -> list[tuple[str, int]]:
        return [(text, place) for place, node in nodes for text in self.written(node)]

    @cached_property
    def literal_kinds(self) -> tuple[tuple[str, str], ...]:
        """(datatype, language) of all values; common ones if the store is too slow to list them."""
        if self.profile.literal_kinds is not None:
            return self.profile.literal_kinds
        try:
            rows = self.client.select(self.queries.literal_kinds())
        except GraphUnavailableError as error:
            _log.warning("Values are searched in common datatypes only. %s", error)
            return (*((XSD + name, "") for name in _COMMON_TYPES), (STRING, self._language))
        # Virtuoso gives a text with a language no datatype.
        kinds = ((row["l"].value if "l" in row else "", row) for row in rows)
        return tuple(
            (STRING if language else row["d"].value, language) for language, row in kinds if language or "d" in row
        )

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """Language tags of the values in the store."""
        return tuple(sorted({language for _, language in self.literal_kinds if is_language(language)}))

    # --- edges -----------------------------------------------------------------------------------
    def edges(self, nodes: Sequence[int], relation: int | None, direction: Direction) -> list[Found]:
        id = None if relation is None else self.relations.key(relation)
        found: set[Found] = set()
        asked = self._askable(nodes, direction)

        def query_of(part: Sequence[tuple[int, int]]) -> str:
            return self.queries.edges(self._named(part), id, direction)

        for _, rows in self.select(asked, query_of, names=_EDGE):
            found.update((int(row["i"].value), self._relation(row, relation), self.number(row["k"])) for row in rows)
        return sorted(found)

    def edges_of_groups(
        self, groups: Sequence[tuple[int, int, int]], direction: Direction, limit: int | None = None
    ) -> list[Found]:
        found: set[Found] = set()
        size = NODES_PER_QUERY if limit is None else _GROUPS_PER_QUERY

        def query_of(part: Sequence[tuple[int, int, int]]) -> str:
            texts = [(self.written(node), self.relations.key(r), i) for i, (_, node, r) in enumerate(part)]
            if limit is not None:
                return self.queries.some_edges(texts, direction, limit)
            pairs = [(text, iri(relation), i) for written, relation, i in texts for text in written]
            return self.queries.edges_of_pairs(pairs, direction)

        for part, rows in self.select([g for g in groups if not self.is_blank(g[1])], query_of, size, _EDGE):
            for row in rows:
                place, _, relation = part[int(row["i"].value)]
                found.add((place, relation, self.number(row["k"])))
        return sorted(found)

    def counts(self, nodes: Sequence[int], relation: int | None, direction: Direction) -> list[Found]:
        id = None if relation is None else self.relations.key(relation)
        found: list[Found] = []
        asked = self._askable(nodes, direction)
        for _, rows in self.select(asked, lambda part: self.queries.counts(self._named(part), id, direction)):
            found += [(int(row["i"].value), self._relation(row, relation), int(row["edges"].value)) for row in rows]
        return sorted(found)

    def counts_together(self, nodes: Sequence[int], direction: Direction) -> dict[int, tuple[int, int]]:
        def query_of(part: Sequence[tuple[int, int]]) -> str:
            return self.queries.counts_together(self._named(part), direction)

        total: dict[int, tuple[int, int]] = {}
        asked = self._askable(nodes, direction)
        for _, rows in self.select(asked, query_of, names=("p", "edges", "nodes")):
            for row in rows:
                relation = self._relation(row, None)
                edges, holders = total.get(relation, (0, 0))
                total[relation] = edges + int(row["edges"].value), holders + int(row["nodes"].value)
        return total

    def contained(self, triples: Sequence[tuple[int, int, int]]) -> set[int]:
        named = []
        for place, (head, relation, tail) in enumerate(triples):
            subject, id, is_blank = self.nodes.key(head), self.relations.key(relation), self.is_blank(tail)
            if subject.kind is TermKind.IRI and not is_blank:
                named.append((iri(subject.value), iri(id), tail, place))

        def query_of(part: Sequence[tuple[str, str, int, int]]) -> str:
            return self.queries.contained([(x, p, text, at) for x, p, tail, at in part for text in self.written(tail)])

        return {int(row["i"].value) for _, rows in self.select(named, query_of) for row in rows}

    # --- parts -----------------------------------------------------------------------------------
    def select(
        self,
        items: Sequence[T],
        query_of: Callable[[Sequence[T]], str],
        size: int = NODES_PER_QUERY,
        names: Sequence[str] = ("i",),
    ) -> Iterator[tuple[Sequence[T], list[Binding]]]:
        """Parts of some items, and the solutions of the query of each that bind some names.

        A part has at most `size` items, fewer where a server cuts the results.

        Raises:
            PartialResultsError: it cuts those for one item.
        """
        waiting = [*chunks(items, size)]
        while waiting:
            part = waiting.pop(0)
            try:
                rows = self.client.select(query_of(part))
            except PartialResultsError:
                if len(part) == 1:
                    raise
                half = len(part) // 2
                waiting[:0] = [part[:half], part[half:]]
            else:
                yield part, bound(rows, *names)

    def _askable(self, nodes: Sequence[int], direction: Direction) -> list[tuple[int, int]]:
        """(index, node) of those that a query can name, without literals if the direction is outgoing."""
        kinds = (TermKind.IRI,) if direction is Direction.OUT else (TermKind.IRI, TermKind.LITERAL)
        return [(place, node) for place, node in enumerate(nodes) if self.nodes.key(node).kind in kinds]

    def _relation(self, row: Binding, given: int | None) -> int:
        return self.relations.number(row["p"].value) if given is None else given


# --- descriptions --------------------------------------------------------------------------------
Properties = dict[str, list[Term]]
"""Objects by predicate."""


class DescribedGraph(QueriedGraph):
    """The descriptions of `SparqlGraph`; all but whole entities are kept.

    Args:
        relations: descriptions that are known; they are numbered in this order.
    """

    def __init__(
        self,
        look: Lookup,
        words: Vocabulary,
        relations: Iterable[Relation],
        type_labels: Mapping[str, str],
        schemas: Iterable[RelationSchema],
    ) -> None:
        super().__init__(look, schemas)
        self._look, self.vocabulary = look, words
        self._labels: dict[int, str] = {}
        self._types: dict[int, tuple[str, ...]] = {}
        self._type_labels = dict(type_labels)
        self._relations = {look.relations.number(one.id): one for one in relations}

    def labels(self, nodes: IntArray | Sequence[int]) -> list[str]:
        """Labels of entities, lexical forms of literals; a boolean is "true" or "false"."""
        at = ints(nodes)
        terms = {node: self._look.nodes.key(node) for node in at}
        missing = [n for n, term in terms.items() if n not in self._labels and term.kind is not TermKind.LITERAL]
        if self._look.profile.label_service:
            self._fetch_served_labels(missing)
            missing = []
        # First a label in the preferred language: some entities have labels in 300 languages.
        for language in (self.vocabulary.language, ""):
            missing = [node for node in missing if node not in self._labels]
            properties = self._properties([self.node_id(node) for node in missing], self.vocabulary.labels, language)
            for node in missing:
                if found := self._texts(properties[self.node_id(node)], self.vocabulary.labels):
                    self._labels[node] = found[0]
        return [
            _text_of(term)
            if term.kind is TermKind.LITERAL
            else self._labels.setdefault(node, entity_label(self.node_id(node)))
            for node, term in ((node, terms[node]) for node in at)
        ]

    def _fetch_served_labels(self, nodes: Sequence[int]) -> None:
        """Cache the labels that Wikibase's service gives, in one request per 200 nodes."""
        look, languages = self._look, f"{','.join(self.vocabulary.tags)},mul,en,de,fr,es,it,nl,ru,zh,ja"
        for part in chunks([node for node in nodes if not look.is_blank(node)], NODES_PER_QUERY):
            asked = [(iri(look.nodes.key(node).value), place) for place, node in enumerate(part)]
            for row in look.client.select(look.queries.labelled(asked, languages)):
                if "v" in row and "i" in row and row["v"].value:
                    self._labels[part[int(row["i"].value)]] = row["v"].value

    def node_id(self, node: int) -> str:
        """Id of an entity (`_:label` for a blank node), lexical form of a literal."""
        term = self._look.nodes.key(node)
        return f"_:{term.value}" if term.kind is TermKind.BLANK else term.value

    def entity(self, node: int) -> Entity:
        id, words = self.node_id(node), self.vocabulary
        if self._look.nodes.key(node).kind is TermKind.LITERAL:
            return Entity(id, id)
        properties = self._properties([id], words.described)[id]
        label, aliases = self._names(properties)
        return Entity(
            id=id,
            label=label or entity_label(id),
            aliases=aliases,
            description=next(iter(self._texts(properties, words.descriptions)), ""),
            types=tuple(_ids(properties, words.types)),
        )

    def types(self, node: int) -> tuple[str, ...]:
        term = self._look.nodes.key(node)
        if term.kind is TermKind.LITERAL:
            return (term.datatype,)
        if node not in self._types:
            # Whoever asks for the types of a node asks for those of its neighbours, which were numbered next.
            after = range(node + 1, min(node + NODES_PER_QUERY, len(self._look.nodes)))
            entities = (other for other in after if self._look.nodes.key(other).kind is TermKind.IRI)
            asked = {one: self.node_id(one) for one in (node, *entities) if one not in self._types}
            properties = self._properties(list(asked.values()), self.vocabulary.types)
            self._types |= {one: tuple(_ids(properties[id], self.vocabulary.types)) for one, id in asked.items()}
        return self._types[node]

    def type_label(self, type_id: str) -> str:
        if type_id not in self._type_labels:
            self._fetch_type_labels([type_id])
        return self._type_labels[type_id]

    def _fetch_type_labels(self, ids: Sequence[str]) -> None:
        """Query and cache the labels of many types at once, for `type_label`."""
        missing = [id for id in ids if id not in self._type_labels]
        for id, properties in self._properties(missing, self.vocabulary.labels).items():
            self._type_labels[id] = self._names(properties)[0] or class_label(id)

    def relation(self, relation: int) -> Relation:
        if relation not in self._relations:
            self._fetch_relations([relation])
        return self._relations[relation]

    def _fetch_relations(self, relations: Iterable[int]) -> None:
        """Query and cache the descriptions of many relations at once, for `relation`."""
        words = self.vocabulary
        ids = {relation: self._look.relations.key(relation) for relation in relations}
        asked = {relation: self._described_as(id) for relation, id in ids.items()}
        properties = self._properties(
            tuple(asked.values()), words.labels + words.aliases + words.descriptions + words.domains + words.ranges
        )
        for relation, id in ids.items():
            self._relations[relation] = self._as_relation(id, properties[asked[relation]])

    def _described(self, ids: Sequence[str]) -> list[Entity]:
        """Label and aliases of entities."""
        words, found = self.vocabulary, []
        for id, properties in self._properties(ids, words.labels + words.aliases).items():
            label, aliases = self._names(properties)
            found.append(Entity(id, label or entity_label(id), aliases))
        return found

    @property
    def has_edge_properties(self) -> bool:
        """Whether edges may have properties: the profile says how statements about edges are written."""
        return bool(self._look.profile.statements)

    def edge_properties(self, head: int, relation: int, tail: int) -> tuple[EdgeProperties, ...]:
        """What is said about an edge, (label of the property, value) of each statement; entities by their labels."""
        if not self.has_edge_properties:
            return ()
        look, moved = self._look, self._look.profile.described_as
        subject, id = look.nodes.key(head), look.relations.key(relation)
        if subject.kind is not TermKind.IRI or look.is_blank(tail) or not is_iri(id):
            return ()
        written = " ".join(look.written(tail))
        if look.profile.statements != "wikidata":
            as_terms = look.profile.statements == "rdf-1.2"
            query = look.queries.reified(subject.value, id, written, as_terms=as_terms)
        elif moved is not None and id.startswith(moved[0]):
            property = id.removeprefix(moved[0])
            claim, statement = (f"{WIKIDATA}prop/{place}{property}" for place in ("", "statement/"))
            query = look.queries.qualifiers(subject.value, claim, statement, written)
        else:
            return ()
        by_statement: dict[str, list[tuple[str, Term]]] = defaultdict(list)
        for row in bound(look.client.select(query), "s", "q", "v"):
            by_statement[row["s"].value].append((self._property(row["q"].value), row["v"]))
        said = [pair for pairs in by_statement.values() for pair in pairs]
        entities = dict.fromkeys(term.value for _, term in said if term.kind is TermKind.IRI)
        names = dict.fromkeys(name for name, _ in said)
        labels = self._properties([*names, *entities], self.vocabulary.labels)
        called = {name: self._names(labels[name])[0] or relation_label(name) for name in names}

        def value(term: Term) -> Literal | str:
            if term.kind is TermKind.LITERAL:
                return Literal(term.value, term.datatype)
            return self._names(labels.get(term.value, {}))[0] or entity_label(term.value)

        found = (sorted(((called[n], value(term)) for n, term in pairs), key=str) for pairs in by_statement.values())
        return tuple(sorted(map(tuple, found), key=str))

    def _property(self, predicate: str) -> str:
        """The IRI that has the label of a property of a statement: of a qualifier, the entity of the property."""
        if self._look.profile.statements == "wikidata":
            return f"{WIKIDATA}entity/{predicate.rpartition('/')[2]}"
        return predicate

    def _described_as(self, relation: str) -> str:
        """The IRI that has the label of a relation."""
        moved = self._look.profile.described_as
        if moved is None or not relation.startswith(moved[0]):
            return relation
        return moved[1] + relation.removeprefix(moved[0])

    def _as_relation(self, id: str, properties: Properties) -> Relation:
        words = self.vocabulary
        label, aliases = self._names(properties)
        path = None if label else relation_alias(id)
        return Relation(
            id=id,
            label=label or relation_label(id),
            aliases=(*aliases, path) if path else aliases,
            description=next(iter(self._texts(properties, words.descriptions)), ""),
            domain=next(iter(_ids(properties, words.domains)), None),
            range=next(iter(_ids(properties, words.ranges)), None),
        )

    # --- parts -----------------------------------------------------------------------------------
    def _properties(self, ids: Sequence[str], predicates: Sequence[str], language: str = "") -> dict[str, Properties]:
        """Properties of IRIs; other ids have none."""
        found: dict[str, Properties] = {id: defaultdict(list) for id in ids}
        asked = [id for id in found if is_iri(id)] if predicates else []

        def query_of(part: Sequence[str]) -> str:
            return self._look.queries.described([(iri(id), at) for at, id in enumerate(part)], predicates, language)

        for part, rows in self._look.select(asked, query_of):
            for row in bound(rows, "p", "v"):
                found[part[int(row["i"].value)]][row["p"].value].append(row["v"])
        return found

    def _texts(self, properties: Properties, predicates: Sequence[str]) -> list[str]:
        return self.vocabulary.best_first(
            (place, term.language, term.value)
            for place, predicate in enumerate(predicates)
            for term in properties.get(predicate, ())
            if term.kind is TermKind.LITERAL
        )

    def _names(self, properties: Properties) -> tuple[str | None, tuple[str, ...]]:
        labels = self._texts(properties, self.vocabulary.labels)
        others = dict.fromkeys(labels[1:] + self._texts(properties, self.vocabulary.aliases))
        label = labels[0] if labels else None
        return label, tuple(text for text in others if text != label)


def _text_of(term: Term) -> str:
    return TRUTHS.get(term.value, term.value) if term.datatype == XSD + "boolean" else term.value


def _ids(properties: Properties, predicates: Sequence[str]) -> list[str]:
    """Objects that are IRIs, those of earlier predicates first."""
    return list(
        dict.fromkeys(
            id
            for predicate in predicates
            for id in sorted(term.value for term in properties.get(predicate, ()) if term.kind is TermKind.IRI)
        )
    )
