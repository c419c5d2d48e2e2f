"""rdflib's evaluator for what plans do not cover: variable predicates, `LANG`, `CONCAT` ...

A whole query runs over the graph as an rdflib store, whose IRIs are those of our export to N-Triples, within the limits
of the run. Property paths are followed by `kg.plans.paths`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from rdflib import Graph as RdflibGraph
from rdflib import Literal as RdflibLiteral
from rdflib import URIRef
from rdflib.paths import AlternativePath, InvPath, MulPath, SequencePath
from rdflib.paths import Path as RdflibPath
from rdflib.plugins.sparql import CUSTOM_EVALS
from rdflib.plugins.sparql.evaluate import evalPart
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.plugins.sparql.sparql import QueryContext
from rdflib.store import Store
from rdflib.term import Node, Variable

from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.errors import PlanError
from triplecheck.kg.export_files import iri_of, relation_iri
from triplecheck.kg.graph import IntArray
from triplecheck.kg.plans import algebra as of
from triplecheck.kg.plans.limits import Limits
from triplecheck.kg.plans.notation import parsed
from triplecheck.kg.plans.paths import Paths
from triplecheck.kg.plans.plan import Plan
from triplecheck.kg.plans.sparql import write_query
from triplecheck.kg.readers.rdf import plain_id
from triplecheck.kg.sparql.terms import STRING, literal
from triplecheck.kg.types import Direction, Literal
from triplecheck.kg.vocabulary import RDF, RDFS

MOST_ROWS = 1_000_000
"""Maximum number of rows of a part of a query: they are Python objects."""
TYPE, LABEL = URIRef(RDF + "type"), URIRef(RDFS + "label")
_NAME = "triplecheck"
_NODE = "urn:triplecheck:node:"
_AT_ONCE = 4096  # edges that are read together
_TICKS = 256  # between two looks at the clock

Row = tuple[int | Literal | None, ...]
Found = tuple[Node, Node, Node]


def evaluate(graph: ColumnarGraph, limits: Limits, plan: Plan, rows: int) -> tuple[list[Row], int]:
    """The first rows of a plan's result, and how many it has; of an ask one row without cells if it is true.

    Raises:
        PlanError: a limit is reached, or rdflib cannot evaluate the query.
    """
    CUSTOM_EVALS.setdefault(_NAME, _within_limits)
    store = GraphStore(graph, replace(limits, rows=MOST_ROWS))
    try:
        query = parsed(write_query(plan.algebra, store, ask=plan.kind == "ask"))
        context = QueryContext(RdflibGraph(store=store, bind_namespaces="none"), initBindings={})
        context.prologue = query.prologue
        found = evalPart(context, _meant(query.algebra, store))
        if plan.kind == "ask":
            return ([()] if found["askAnswer"] else []), int(found["askAnswer"])
        names = [Variable(name) for name in plan.variables]
        cell = functools.cache(functools.partial(_cell, store))
        listed: list[Row] = []
        total = 0
        for solution in found["bindings"]:
            if total < rows:
                listed.append(tuple(cell(solution.get(name)) for name in names))
            total += 1
        return listed, total
    except PlanError:
        raise
    except RecursionError:
        raise PlanError("the query needs too many steps, one inside the other") from None
    except Exception as error:  # noqa: BLE001 - rdflib raises plain exceptions for what it does not know
        raise PlanError(f"the query cannot be evaluated: {str(error) or type(error).__name__}") from None


def _cell(store: GraphStore, term: Node | None) -> int | Literal | None:
    """A node, or what is none: a computed value, the label of a relation or a class."""
    node = None if term is None else store.number(term)
    if term is None or node is not None:
        return node
    if isinstance(term, RdflibLiteral):
        return Literal(str(term), str(term.datatype or STRING))
    relation = store.relation_number(term)
    if relation is not None:
        return Literal(store.graph.relation(relation).label)
    return Literal(store.graph.type_label(plain_id(str(term))))


# --- what the query means ------------------------------------------------------------------------
def _meant(part: Any, store: GraphStore) -> Any:
    """A query with terms for stand-ins, and our paths for rdflib's."""
    if isinstance(part, CompValue | dict):
        for key, value in part.items():
            if key != "_vars":
                part[key] = _meant(value, store)
        # rdflib sets what it makes of the pattern of EXISTS as an attribute.
        for key, value in getattr(part, "__dict__", {}).items():
            if isinstance(value, CompValue):
                setattr(part, key, _meant(value, store))
        return part
    if isinstance(part, list):
        part[:] = [_meant(one, store) for one in part]
        return part
    if isinstance(part, tuple):
        return tuple(_meant(one, store) for one in part)
    if isinstance(part, RdflibPath):
        try:
            return _OurPath(part, _path(part, store))
        except LookupError:
            return part
    return store.meant(part) if isinstance(part, Node) else part


def _path(path: Any, store: GraphStore) -> of.Predicate:
    """Our path for one of rdflib's.

    Raises:
        LookupError: it has other predicates than relations.
    """
    match path:
        case URIRef():
            number = store.relation_number(path)
            if number is None:
                raise LookupError(path)
            return of.Relations(str(path), (number,))
        case InvPath():
            return of.Inverse(_path(path.arg, store))
        case MulPath():
            return of.Path(path.mod, (_path(path.path, store),))
        case SequencePath():
            return of.Chain(tuple(_path(one, store) for one in path.args))
    operator = "|" if isinstance(path, AlternativePath) else "!"
    return of.Path(operator, tuple(_path(one, store) for one in path.args))


class _OurPath(RdflibPath):  # type: ignore[misc]
    """A path that is followed without recursion."""

    def __init__(self, path: RdflibPath, ours: of.Predicate) -> None:
        self._path, self._ours = path, ours

    def eval(self, graph: Any, subj: Any = None, obj: Any = None) -> Iterator[tuple[Any, Any]]:
        store = graph.store
        ends: list[IntArray | None] = []
        for end in (subj, obj):
            node = None if end is None else store.number(end)
            ends.append(None if end is None else np.array([] if node is None else [node], np.int64))
        heads, tails = Paths(store.graph, store.limits).pairs(self._ours, *ends)
        for head, tail in zip(heads.tolist(), tails.tolist(), strict=True):
            yield store.term(head), store.term(tail)

    def n3(self, namespace_manager: Any = None) -> str:
        return str(self._path.n3(namespace_manager))

    def __repr__(self) -> str:
        return repr(self._path)


# --- limits --------------------------------------------------------------------------------------
def _within_limits(context: Any, part: Any) -> Any:
    """Evaluates a part of a query over `GraphStore` with a look at the clock for each row.

    rdflib calls it before it evaluates the part itself, whatever the store.

    Raises:
        NotImplementedError: rdflib shall evaluate the part itself.
    """
    store = getattr(context.graph, "store", None)
    if not isinstance(store, GraphStore) or store.entered is part:
        if isinstance(store, GraphStore):
            store.entered = None
        raise NotImplementedError
    if part.name == "Join" and not part.lazy:
        return _counted(store, _joined(store, *_both(context, part)))
    if part.name == "Minus":
        return _counted(store, _left(store, *_both(context, part)))
    store.entered = part
    found = evalPart(context, part)
    return found if isinstance(found, Mapping) else _counted(store, found)


def _both(context: Any, part: Any) -> tuple[Iterable[Any], list[Any]]:
    return evalPart(context, part.p1), list(dict.fromkeys(evalPart(context, part.p2)))


def _joined(store: GraphStore, left: Iterable[Any], right: list[Any]) -> Iterator[Any]:
    for one in left:
        for other in right:
            store.tick()
            if one.compatible(other):
                yield one.merge(other)


def _left(store: GraphStore, left: Iterable[Any], right: list[Any]) -> Iterator[Any]:
    """The solutions of the left that agree with none of the right."""
    for one in left:
        for other in right:
            store.tick()
            if one.compatible(other) and not one.disjointDomain(other):
                break
        else:
            yield one


def _counted(store: GraphStore, rows: Iterable[Any]) -> Iterator[Any]:
    for number, row in enumerate(rows):
        store.tick()
        if number == store.limits.rows:
            raise store.limits.too_many()
        yield row


# --- the store -----------------------------------------------------------------------------------
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
        self.entered: Any = None  # see `_within_limits`
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
                # `_of_types` yields the edges to classes, also where classes are nodes.
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

    @functools.cached_property
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
