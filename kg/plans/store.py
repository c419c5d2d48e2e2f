"""A graph as an rdflib store, whose IRIs are those of our export to N-Triples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from rdflib import Literal as RdflibLiteral
from rdflib import URIRef
from rdflib.store import Store
from rdflib.term import Node

from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.export_files import iri_of, relation_iri
from triplecheck.kg.graph import IntArray
from triplecheck.kg.plans.limits import Limits
from triplecheck.kg.readers.rdf import plain_id
from triplecheck.kg.sparql.terms import STRING, literal
from triplecheck.kg.types import Direction, Literal
from triplecheck.kg.vocabulary import RDF, RDFS

TYPE, LABEL = URIRef(RDF + "type"), URIRef(RDFS + "label")

Found = tuple[Node, Node, Node]
_NODE = "urn:triplecheck:node:"
_AT_ONCE = 4096  # edges that are read together
_TICKS = 256  # between two looks at the clock


class GraphStore(Store):  # type: ignore[misc]
    """Implements rdflib's store over a graph, read-only; also `kg.plans.sparql.Spelling`.

    Triples are made as they are asked for: the edges, and for the predicates `rdf:type` and `rdfs:label` the types and
    labels. A variable predicate stands for the relations of the graph and `rdf:type`, not for labels. A blank node has
    an IRI, so that a query can name it.

    Args:
        limits: of the run; time that is over is a `PlanError` while triples are read.
    """

    def __init__(self, graph: ColumnarGraph, limits: Limits) -> None:
        super().__init__()
        self.graph, self.limits = graph, limits
        self.entered: Any = None  # see `rdflib_run`
        self._ticks = 0
        self._terms: dict[int, Node] = {}
        self._iris = [URIRef(relation_iri(graph.relation(number).id)) for number in range(graph.num_relations)]
        self._numbers = {iri: number for number, iri in enumerate(self._iris)}

    def tick(self) -> None:
        """Look at the clock now and then.

        Raises:
            PlanError: the time is over.
        """
        self._ticks += 1
        if self._ticks % _TICKS == 0:
            self.limits.check()

    # --- terms -----------------------------------------------------------------------------------
    def term(self, node: int) -> Node:
        """The term of a node."""
        known = self._terms.get(node)
        if known is None:
            value = self.graph.literal(node)
            if value is None:
                known = URIRef(iri_of(self.graph.node_id(node)))
            else:
                datatype = None if value.datatype == STRING else URIRef(iri_of(value.datatype))
                known = RdflibLiteral(value.lexical, datatype=datatype, normalize=False)
            self._terms[node] = known
        return known

    def number(self, term: Node) -> int | None:
        """The node of a term; None if it is none of the graph."""
        if isinstance(term, RdflibLiteral):
            datatype = STRING if term.datatype is None else plain_id(str(term.datatype))
            return self.graph.find(Literal(str(term), datatype))
        found = self.graph.find(plain_id(str(term)))
        return found if found is not None and found < self.graph.num_entities else None

    def relation_number(self, term: Node) -> int | None:
        """The relation of a predicate; None if it is none of the graph."""
        return self._numbers.get(term) if isinstance(term, URIRef) else None

    # --- spelling --------------------------------------------------------------------------------
    types: Sequence[str] = (TYPE.n3(),)
    labels: Sequence[str] = (LABEL.n3(),)
    language = ""

    def relation(self, relation: int) -> str:
        """Its IRI."""
        return str(self._iris[relation].n3())

    def node(self, node: int) -> Sequence[str]:
        """A stand-in that `meant` reads: rdflib's parser changes the lexical form of values."""
        return (f"<{_NODE}{node}>",)

    def meant(self, term: Node) -> Node:
        """The term that a stand-in means; any other term itself."""
        if isinstance(term, URIRef) and term.startswith(_NODE):
            return self.term(int(term.removeprefix(_NODE)))
        return term

    def type(self, id: str) -> str:
        """Its IRI."""
        return f"<{iri_of(id)}>"

    def value(self, value: Literal) -> str:
        """A value with its datatype."""
        return literal(value.lexical, iri_of(value.datatype))

    def texts(self, value: Literal) -> Sequence[str]:
        """A plain string."""
        return (literal(value.lexical),)

    # --- triples ---------------------------------------------------------------------------------
    def triples(
        self, triple_pattern: tuple[Node | None, Node | None, Node | None], context: object = None
    ) -> Iterator[tuple[Found, Iterator[None]]]:
        """The triples that match; None matches all."""
        for triple in self._matching(*triple_pattern):
            self.tick()
            yield triple, iter(())

    def __len__(self, context: object = None) -> int:
        return self.graph.num_triples

    def _matching(self, head: Node | None, predicate: Node | None, tail: Node | None) -> Iterator[Found]:
        number = None if predicate is None else self.relation_number(predicate)
        is_type = predicate in (None, TYPE)
        if number is not None or predicate is None:
            for one in self._edges(head, number, tail):
                # Where classes are nodes, the types of nodes include them.
                if not (is_type and one[1] == TYPE):
                    yield one
        if is_type:
            yield from self._of_types(head, tail)
        if predicate == LABEL and number is None:
            yield from self._of_labels(head, tail)

    def _edges(self, head: Node | None, relation: int | None, tail: Node | None) -> Iterator[Found]:
        ends = [None if end is None else self.number(end) for end in (head, tail)]
        if (head is not None and ends[0] is None) or (tail is not None and ends[1] is None):
            return
        if ends[0] is not None:
            found = self.graph.expand([ends[0]], relation, Direction.OUT)
            keep = np.ones(len(found), bool) if ends[1] is None else found.tails == ends[1]
            yield from self._made(found.heads[keep], found.relations[keep], found.tails[keep])
        elif ends[1] is not None:
            found = self.graph.expand([ends[1]], relation, Direction.IN)
            yield from self._made(found.heads, found.relations, found.tails)
        else:
            offsets, relations, tails = self.graph.rows(Direction.OUT)
            at = np.arange(len(relations)) if relation is None else np.flatnonzero(relations == relation)
            for start in range(0, len(at), _AT_ONCE):
                part = at[start : start + _AT_ONCE]
                yield from self._made(np.searchsorted(offsets, part, "right") - 1, relations[part], tails[part])

    def _made(self, heads: IntArray, relations: IntArray, tails: IntArray) -> Iterator[Found]:
        for head, relation, tail in zip(heads.tolist(), relations.tolist(), tails.tolist(), strict=True):
            yield self.term(head), self._iris[relation], self.term(tail)

    @cached_property
    def _type_terms(self) -> dict[str, URIRef]:
        return {id: URIRef(iri_of(id)) for id in self.graph.type_ids}

    def _of_types(self, head: Node | None, tail: Node | None) -> Iterator[Found]:
        if head is not None:
            terms = dict.fromkeys((*self._types_of(head), *(edge[2] for edge in self._type_edges(head, None))))
            yield from ((head, TYPE, term) for term in terms if tail in (None, term))
            return
        for id, term in self._type_terms.items():
            if tail in (None, term):
                for node in self.graph.nodes_of_type(id).tolist():
                    yield self.term(node), TYPE, term
        for edge in self._type_edges(None, tail):
            if edge[2] not in self._types_of(edge[0]):
                yield edge

    def _types_of(self, head: Node) -> list[URIRef]:
        node = self.number(head)
        if node is None or node >= self.graph.num_entities:
            return []
        return [self._type_terms[id] for id in self.graph.types(node)]

    def _type_edges(self, head: Node | None, tail: Node | None) -> Iterator[Found]:
        """The types that the graph keeps as edges."""
        number = self._numbers.get(TYPE)
        return iter(()) if number is None else self._edges(head, number, tail)

    def _of_labels(self, head: Node | None, tail: Node | None) -> Iterator[Found]:
        if head is not None:
            node = self.number(head)
            nodes = iter([] if node is None else [(node, self.graph.label(node))])
        else:
            nodes = self.graph.all_labels()
        wanted = None if tail is None else str(tail)
        for node, label in nodes:
            self.tick()
            if node < self.graph.num_entities and wanted in (None, label):
                yield self.term(node), LABEL, RdflibLiteral(label)
