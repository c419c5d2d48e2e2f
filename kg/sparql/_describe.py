"""What the graph says about nodes, relations and types, apart from edges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from triplecheck.kg.readable import entity_label, relation_alias, relation_label
from triplecheck.kg.sparql._lookup import NODES_PER_QUERY, Lookup, chunks
from triplecheck.kg.sparql.client import Row
from triplecheck.kg.sparql.terms import Kind, Term, iri, is_iri
from triplecheck.kg.types import Entity, Relation
from triplecheck.kg.vocabulary import Vocabulary

Said = dict[str, list[Term]]
"""Objects by predicate."""


class Describer:
    """Labels, descriptions and types, by queries; labels are asked for once."""

    def __init__(self, look: Lookup, words: Vocabulary) -> None:
        self._look, self._words = look, words
        self._labels: dict[int, str] = {}
        self._type_labels: dict[str, str] = {}
        self._relations: dict[int, Relation] = {}

    def labels(self, nodes: Sequence[int]) -> list[str]:
        """Labels of entities, lexical forms of literals."""
        terms = {node: self._look.nodes.key(node) for node in nodes}
        missing = [n for n, term in terms.items() if n not in self._labels and term.kind is not Kind.LITERAL]
        # A label in the wanted language first: some entities have a label in each of 300.
        for language in (self._words.language, ""):
            missing = [node for node in missing if node not in self._labels]
            for node, said in zip(missing, self._said(missing, self._words.labels, language), strict=True):
                if found := self._texts(said, self._words.labels):
                    self._labels[node] = found[0]
        return [
            term.value if term.kind is Kind.LITERAL else self._labels.setdefault(node, entity_label(self.id(node)))
            for node, term in ((node, terms[node]) for node in nodes)
        ]

    def id(self, node: int) -> str:
        """Id of an entity, lexical form of a literal."""
        term = self._look.nodes.key(node)
        return f"_:{term.value}" if term.kind is Kind.BLANK else term.value

    def entity(self, node: int) -> Entity:
        """All of an entity in one query."""
        id, words = self.id(node), self._words
        if self._look.nodes.key(node).kind is Kind.LITERAL:
            return Entity(id, id)
        said = self._said([node], words.described)[0]
        label, aliases = self._names(said)
        descriptions = self._texts(said, words.descriptions)
        return Entity(
            id=id,
            label=label or entity_label(id),
            aliases=aliases,
            description=descriptions[0] if descriptions else "",
            types=tuple(_ids(said, words.types)),
        )

    def types(self, node: int) -> tuple[str, ...]:
        """Types of an entity, the datatype of a literal."""
        term = self._look.nodes.key(node)
        if term.kind is Kind.LITERAL:
            return (term.datatype,)
        return tuple(_ids(self._said([node], self._words.types)[0], self._words.types))

    def type_label(self, id: str) -> str:
        """Label of a type or datatype, asked for once."""
        if id not in self._type_labels:
            label, _ = self._names(self._said_of(id, self._words.labels))
            self._type_labels[id] = label or entity_label(id)
        return self._type_labels[id]

    def fetch_type_labels(self, ids: Sequence[str]) -> None:
        """Ask for the labels of many types at once, so that `type_label` needs no query for them."""
        look, words = self._look, self._words
        for part in chunks([id for id in ids if is_iri(id)] if words.labels else [], NODES_PER_QUERY):
            found: list[Said] = [defaultdict(list) for _ in part]
            for row in look.client.select(
                look.queries.described([(iri(id), i) for i, id in enumerate(part)], words.labels)
            ):
                if "v" in row:
                    found[int(row["i"].value)][row["p"].value].append(row["v"])
            for id, said in zip(part, found, strict=True):
                self._type_labels[id] = self._names(said)[0] or entity_label(id)

    def relation(self, relation: int) -> Relation:
        """All of a relation, asked for once."""
        if relation not in self._relations:
            id, words = self._look.relations.key(relation), self._words
            said = self._said_of(id, words.labels + words.aliases + words.descriptions + words.domains + words.ranges)
            label, aliases = self._names(said)
            path = None if label else relation_alias(id)
            descriptions = self._texts(said, words.descriptions)
            domains, ranges = _ids(said, words.domains), _ids(said, words.ranges)
            self._relations[relation] = Relation(
                id=id,
                label=label or relation_label(id),
                aliases=(*aliases, path) if path else aliases,
                description=descriptions[0] if descriptions else "",
                domain=domains[0] if domains else None,
                range=ranges[0] if ranges else None,
            )
        return self._relations[relation]

    # --- parts -----------------------------------------------------------------------------------
    def _said(self, nodes: Sequence[int], predicates: Iterable[str], language: str = "") -> list[Said]:
        """What the predicates say of each node."""
        look, predicates = self._look, tuple(predicates)
        rows: list[tuple[int, Row]] = []
        if not predicates:
            return [{} for _ in nodes]
        named = [(place, node) for place, node in enumerate(nodes) if not look.is_blank(node)]
        for part in chunks(named, NODES_PER_QUERY):
            texts = [(iri(look.nodes.key(node).value), place) for place, node in part]
            found = look.client.select(look.queries.described(texts, predicates, language))
            rows += [(int(row["i"].value), row) for row in found]
        for place, node in enumerate(nodes):
            if look.is_blank(node) and look.client.keeps_blank_nodes:
                found = look.client.select(look.queries.described_bound(predicates), {"x": look.nodes.key(node)})
                rows += [(place, row) for row in found]
        said: list[Said] = [defaultdict(list) for _ in nodes]
        for place, row in rows:
            if "v" in row:
                said[place][row["p"].value].append(row["v"])
        return said

    def _said_of(self, id: str, predicates: Sequence[str]) -> Said:
        """The same for something that is no node."""
        found: Said = defaultdict(list)
        if predicates and is_iri(id):
            for row in self._look.client.select(self._look.queries.described([(iri(id), 0)], predicates)):
                if "v" in row:
                    found[row["p"].value].append(row["v"])
        return found

    def _texts(self, said: Said, predicates: Sequence[str]) -> list[str]:
        return self._words.best_first(
            (place, term.language, term.value)
            for place, predicate in enumerate(predicates)
            for term in said.get(predicate, ())
            if term.kind is Kind.LITERAL
        )

    def _names(self, said: Said) -> tuple[str | None, tuple[str, ...]]:
        labels = self._texts(said, self._words.labels)
        others = dict.fromkeys(labels[1:] + self._texts(said, self._words.aliases))
        label = labels[0] if labels else None
        return label, tuple(text for text in others if text != label)


def _ids(said: Said, predicates: Sequence[str]) -> list[str]:
    """Objects that are IRIs, those of earlier predicates first."""
    return list(
        dict.fromkeys(
            id
            for predicate in predicates
            for id in sorted(term.value for term in said.get(predicate, ()) if term.kind is Kind.IRI)
        )
    )
