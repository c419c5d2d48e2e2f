"""The text of all queries of `SparqlGraph`.

In all of them, `?i` is the position of a node in the given list (a node may have several terms: one string in three
languages), `?x` the node itself, `?y` the other end, and `?k` the other end without its language.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from triplecheck.kg.names import LONGEST_VALUE
from triplecheck.kg.sparql.profiles import Profile
from triplecheck.kg.sparql.terms import STRING, iri, literal
from triplecheck.kg.types import Direction
from triplecheck.kg.vocabulary import RDF, RDFS, Vocabulary

QUALIFIER = "http://www.wikidata.org/prop/qualifier/P"
"""How the predicates of Wikidata's qualifiers begin."""

_PATTERN = {Direction.OUT: "{x} {p} ?y", Direction.IN: "?y {p} {x}"}
_NO_BLANK = " FILTER(!isBlank(?x) && !isBlank(?y))"
_PLAIN = f"IF(isLiteral(?y) && (LANG(?y) != '' || DATATYPE(?y) = <{STRING}>), STR(?y), ?y)"


class Queries:
    """Writes queries for one vocabulary. They leave out the edges of blank nodes."""

    def __init__(self, words: Vocabulary, profile: Profile) -> None:
        self._words, self._profile = words, profile
        not_edge = ", ".join(iri(p) for p in words.not_edges)
        self._not_edge = f" FILTER(?p NOT IN ({not_edge}))" if not_edge else ""
        if profile.edges:
            starts = " || ".join(f"STRSTARTS(STR(?p), {literal(prefix)})" for prefix in profile.edges)
            self._not_edge += f" FILTER({starts})"
        self._edge = self._not_edge + _NO_BLANK
        # A path must not be empty; without type predicates, use one that no store has.
        self._type = "|".join(iri(p) for p in words.types or ("urn:triplecheck:none",))

    def _edges_at(self, direction: Direction, relation: str | None) -> str:
        if relation is not None:
            return _PATTERN[direction].format(x="?x", p=iri(relation)) + _NO_BLANK
        return _PATTERN[direction].format(x="?x", p="?p") + self._edge

    # --- edges ---------------------------------------------------------------------------------
    def edges(self, nodes: Iterable[tuple[str, int]], relation: str | None, direction: Direction) -> str:
        """Rows (?i, ?p, ?k), ?p absent for a given relation; `nodes` are (term, index)."""
        where = f"{_values('?x ?i', nodes)} {self._edges_at(direction, relation)}"
        return self._far("?i" if relation is not None else "?i ?p", where, direction)

    def _far(self, variables: str, where: str, direction: Direction = Direction.OUT) -> str:
        """Distinct rows of the variables and ?k."""
        if direction is Direction.IN:
            return f"SELECT DISTINCT {variables} (?y AS ?k) WHERE {{ {where} }}"
        if not self._profile.texts_apart:
            return f"SELECT DISTINCT {variables} ({_PLAIN} AS ?k) WHERE {{ {where} }}"
        plain = f"{where} FILTER(isIRI(?y) || (LANG(?y) = '' && DATATYPE(?y) != <{STRING}>)) BIND(?y AS ?k)"
        tagged = f"{where} FILTER(isLiteral(?y) && (LANG(?y) != '' || DATATYPE(?y) = <{STRING}>)) BIND(STR(?y) AS ?k)"
        return f"SELECT DISTINCT {variables} ?k WHERE {{ {{ {plain} }} UNION {{ {tagged} }} }}"

    def edges_of_pairs(self, pairs: Iterable[tuple[str, str, int]], direction: Direction) -> str:
        """Rows (?i, ?k) for (node term, relation term, index)."""
        where = f"{_values('?x ?p ?i', pairs)} {_PATTERN[direction].format(x='?x', p='?p')}{_NO_BLANK}"
        return self._far("?i", where, direction)

    def some_edges(self, groups: Sequence[tuple[list[str], str, int]], direction: Direction, limit: int) -> str:
        """Rows (?i, ?k), at most `limit` for each (terms of a node, relation, index)."""
        parts = []
        for terms, relation, place in groups:
            where = f"VALUES ?x {{ {' '.join(terms)} }} {self._edges_at(direction, relation)}"
            parts.append(f"{{ {self._far(f'({place} AS ?i)', where, direction)} LIMIT {limit} }}")
        return f"SELECT ?i ?k WHERE {{ {' UNION '.join(parts)} }}"

    def counts(self, nodes: Iterable[tuple[str, int]], relation: str | None, direction: Direction) -> str:
        """Rows (?i, ?p, ?edges)."""
        inner = self.edges(nodes, relation, direction)
        group = "?i" if relation is not None else "?i ?p"
        return f"SELECT {group} (COUNT(*) AS ?edges) WHERE {{ {inner} }} GROUP BY {group}"

    def counts_together(self, nodes: Iterable[tuple[str, int]], direction: Direction) -> str:
        """Rows (?p, ?edges, ?nodes)."""
        inner = self.edges(nodes, None, direction)
        return f"SELECT ?p (COUNT(*) AS ?edges) (COUNT(DISTINCT ?i) AS ?nodes) WHERE {{ {inner} }} GROUP BY ?p"

    def contained(self, triples: Iterable[tuple[str, str, str, int]]) -> str:
        """Rows (?i) of the triples that are in the graph."""
        return f"SELECT DISTINCT ?i WHERE {{ {_values('?x ?p ?y ?i', triples)} ?x ?p ?y }}"

    # --- single ids ----------------------------------------------------------------------------
    def find_entities(self, ids: Sequence[str]) -> str:
        """Rows (?i): the indices of the IRIs that are nodes."""
        found = (f"{{ SELECT ({at} AS ?i) WHERE {{ {self._is_entity(id)} }} LIMIT 1 }}" for at, id in enumerate(ids))
        return f"SELECT ?i WHERE {{ {' UNION '.join(found)} }}"

    def _is_entity(self, id: str) -> str:
        """A solution if the IRI is a node."""
        node = iri(id)
        edges = [_PATTERN[way].format(x=node, p="?p") + self._not_edge + " FILTER(!isBlank(?y))" for way in Direction]
        predicates = _values("?p", [(iri(p),) for p in self._words.described])
        return " UNION ".join(
            f"{{ {part} }}" for part in (*edges, f"{predicates} {node} ?p ?y{self._not_schema(node)}")
        )

    def find_values(self, terms: Iterable[str]) -> str:
        """Rows (?x): the literals that are nodes, as written in the store."""
        where = f"{_values('?x', [(t,) for t in terms])} {self._edges_at(Direction.IN, None)}"
        return f"SELECT DISTINCT ?x WHERE {{ {where} }}"

    def named(self, names: Iterable[str]) -> str:
        """Rows (?x, ?p, ?v): everything with one of these names, without a language and in those of the vocabulary."""
        words = self._words
        tags = dict.fromkeys((words.language, *words.tags))
        texts = " ".join(text for name in names for text in (literal(name), *(literal(name, language=t) for t in tags)))
        predicates = " ".join(iri(p) for p in words.labels + words.aliases)
        return f"SELECT DISTINCT ?x ?p ?v WHERE {{ VALUES ?v {{ {texts} }} VALUES ?p {{ {predicates} }} ?x ?p ?v }}"

    def find_relation(self, id: str) -> str:
        """One row if the IRI is a relation."""
        return f"SELECT (1 AS ?found) WHERE {{ {self._edges_at(Direction.OUT, id)} }} LIMIT 1"

    def _not_schema(self, node: str) -> str:
        """Neither a class nor a relation."""
        classes = ", ".join(iri(c) for c in self._words.classes + self._words.properties)
        return f" FILTER NOT EXISTS {{ ?member {self._type} {node} }} FILTER NOT EXISTS {{ ?head {node} ?tail }}" + (
            f" FILTER NOT EXISTS {{ {node} {self._type} ?c FILTER(?c IN ({classes})) }}" if classes else ""
        )

    # --- descriptions --------------------------------------------------------------------------
    def described(self, nodes: Iterable[tuple[str, int]], predicates: Iterable[str], language: str = "") -> str:
        """Rows (?i, ?p, ?v); with a language only texts in that language or without a tag."""
        tagged = f" FILTER(LANG(?v) = '' || langMatches(LANG(?v), {literal(language)}))" if language else ""
        # The nodes are repeated in each branch: engines that join the list afterwards would read all labels.
        asked = _values("?x ?i", nodes)
        parts = (f"{{ {asked} ?x {iri(p)} ?v{tagged} BIND({iri(p)} AS ?p) }}" for p in predicates)
        return f"SELECT DISTINCT ?i ?p ?v WHERE {{ {' UNION '.join(parts)} }}"

    def labelled(self, nodes: Iterable[tuple[str, int]], languages: str) -> str:
        """Rows (?i, ?v): a label of each node in the first of these languages that has one, by Wikibase's service."""
        asked = _values("?x ?i", nodes)
        service = (
            "SERVICE <http://wikiba.se/ontology#label> { <http://www.bigdata.com/rdf#serviceParam> "
            f"<http://wikiba.se/ontology#language> {literal(languages)} . ?x {iri(RDFS + 'label')} ?v }}"
        )
        return f"SELECT ?i ?v WHERE {{ {asked} {service} }}"

    def qualifiers(self, head: str, claim: str, statement: str, tail: str) -> str:
        """Rows (?s, ?q, ?v): the qualifiers of each statement of an edge in Wikidata's model."""
        where = f"VALUES ?tail {{ {tail} }} {iri(head)} {iri(claim)} ?s . ?s {iri(statement)} ?tail . ?s ?q ?v"
        return f"SELECT ?s ?q ?v WHERE {{ {where} FILTER(STRSTARTS(STR(?q), {literal(QUALIFIER)})) }}"

    def reified(self, head: str, relation: str, tail: str, *, as_terms: bool) -> str:
        """Rows (?s, ?q, ?v): what is said of each statement about an edge.

        Args:
                as_terms: whether statements name the edge as a term (RDF 1.2) or by its three parts (reification).
        """
        parts = [iri(RDF + name) for name in ("subject", "predicate", "object", "reifies", "type")]
        edge = f"?s {parts[0]} {iri(head)} ; {parts[1]} {iri(relation)} ; {parts[2]} ?tail"
        if as_terms:
            edge = f"?s {parts[3]} <<( {iri(head)} {iri(relation)} ?tail )>>"
        return (
            f"SELECT DISTINCT ?s ?q ?v WHERE {{ VALUES ?tail {{ {tail} }} {edge} . ?s ?q ?v "
            f"FILTER(?q NOT IN ({', '.join(parts)})) }}"
        )

    # --- the whole graph -----------------------------------------------------------------------
    def relations(self) -> str:
        """Rows (?p)."""
        return self._profile.relations or f"SELECT DISTINCT ?p WHERE {{ ?x ?p ?y{self._edge} }}"

    def literal_kinds(self) -> str:
        """Rows (?d, ?l): every datatype and language of a value."""
        where = f"?x ?p ?y{self._edge} FILTER(isLiteral(?y))"
        return f"SELECT DISTINCT (DATATYPE(?y) AS ?d) (LANG(?y) AS ?l) WHERE {{ {where} }}"

    def typed(self) -> str:
        """One row if anything has a type."""
        return f"SELECT (1 AS ?found) WHERE {{ ?x {self._type} ?y FILTER(isIRI(?y)) }} LIMIT 1"

    def types(self, limit: int) -> str:
        """Rows (?t, ?n), most frequent first: types of entities."""
        return _ranked(f"SELECT DISTINCT ?x ?t WHERE {{ {self._entity_types()} }}", limit)

    def types_of_sample(self, sample: int, limit: int) -> str:
        """The same over the first `sample` type statements that the store returns."""
        return _ranked(f"SELECT ?x ?t WHERE {{ ?x {self._type} ?t FILTER(isIRI(?t)) }} LIMIT {sample}", limit)

    def nodes_of_type(self, type_id: str, limit: int) -> str:
        """Rows (?x): entities of a type."""
        return f"SELECT DISTINCT ?x WHERE {{ VALUES ?t {{ {iri(type_id)} }} {self._entity_types()} }} LIMIT {limit}"

    def _entity_types(self) -> str:
        """?x is an entity of type ?t. Classes and relations are entities only if they have edges."""
        schema = ", ".join(iri(c) for c in self._words.classes + self._words.properties)
        typed = f"?x {self._type} ?t FILTER(isIRI(?t) && !isBlank(?x)"
        if not schema:
            return f"{typed})"
        edges = (f"EXISTS {{ {_PATTERN[way].format(x='?x', p='?p')}{self._edge} }}" for way in Direction)
        return (
            f"{{ {typed} && ?t NOT IN ({schema})) }} UNION "
            f"{{ {typed} && ?t IN ({schema})) FILTER({' || '.join(edges)}) }}"
        )

    def count_entities(self) -> str:
        """One row (?count)."""
        return f"SELECT (COUNT(DISTINCT ?n) AS ?count) WHERE {{ {self._entities()} }}"

    def _entities(self) -> str:
        """?n is an entity."""
        predicates = _values("?p", [(iri(p),) for p in self._words.described])
        described = f"{predicates} ?n ?p ?o{self._not_schema('?n')} FILTER(!isBlank(?n))"
        out = f"?x ?p ?y{self._edge} BIND(?x AS ?n)"
        into = f"?x ?p ?y{self._edge} FILTER(!isLiteral(?y)) BIND(?y AS ?n)"
        return f"{{ {out} }} UNION {{ {into} }} UNION {{ {described} }}"

    def entities_after(self, last: str | None, limit: int) -> str:
        """Rows (?n), ascending: the ids of the entities after one."""
        after = "" if last is None else f" FILTER(STR(?n) > {literal(last)})"
        return f"SELECT DISTINCT ?n WHERE {{ {self._entities()}{after} }} ORDER BY STR(?n) LIMIT {limit}"

    def values_after(self, last: str | None, limit: int) -> str:
        """Rows (?y), ascending by lexical form: values of at most `LONGEST_VALUE` characters after one."""
        after = "" if last is None else f" && STR(?y) > {literal(last)}"
        where = f"?x ?p ?y{self._edge} FILTER(isLiteral(?y) && STRLEN(STR(?y)) <= {LONGEST_VALUE}{after})"
        return f"SELECT DISTINCT ?y WHERE {{ {where} }} ORDER BY STR(?y) LIMIT {limit}"

    def count_values(self) -> str:
        """One row (?count)."""
        return _number_of(self._far("", f"?x ?p ?y{self._edge} FILTER(isLiteral(?y))"))

    def count_triples(self) -> str:
        """One row (?count)."""
        return _number_of(self._far("?x ?p", f"?x ?p ?y{self._edge}"))

    # --- schema --------------------------------------------------------------------------------
    def count_edges(self, relation: str) -> str:
        """One row (?count)."""
        return _number_of(self._far("?x", self._edges_at(Direction.OUT, relation)))

    def count_types(self, relation: str, node: str, limit: int) -> str:
        """Rows (?t, ?n), most frequent first: types of the heads (`?x`) or tails (`?y`)."""
        return self._grouped(relation, f"{node} {self._type} ?t FILTER(isIRI(?t))", limit)

    def count_datatypes(self, relation: str, limit: int) -> str:
        """Rows (?t, ?n), most frequent first: datatypes of the tails."""
        datatype = f"IF(LANG(?y) != '', '{STRING}', STR(DATATYPE(?y)))"
        return self._grouped(relation, f"FILTER(isLiteral(?y)) BIND({datatype} AS ?t)", limit)

    def _grouped(self, relation: str, condition: str, limit: int) -> str:
        where = f"{self._edges_at(Direction.OUT, relation)} . {condition}"
        return _ranked(self._far("?x ?t", where), limit)


def _number_of(inner: str) -> str:
    return f"SELECT (COUNT(*) AS ?count) WHERE {{ {inner} }}"


def _ranked(inner: str, limit: int) -> str:
    return f"SELECT ?t (COUNT(*) AS ?n) WHERE {{ {{ {inner} }} }} GROUP BY ?t ORDER BY DESC(?n) ?t LIMIT {limit}"


def _values(variables: str, rows: Iterable[tuple[str | int, ...]]) -> str:
    lines = " ".join(f"({' '.join(map(str, row))})" for row in rows)
    return f"VALUES ({variables}) {{ {lines} }}"
