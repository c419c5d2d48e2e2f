"""rdflib's evaluator for what plans do not cover: variable predicates, `LANG`, `CONCAT` ...

A whole query runs over `GraphStore`, within the limits of the run. Property paths are followed by `kg.plans.paths`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
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
from rdflib.term import Node, Variable

from triplecheck.kg.errors import PlanError
from triplecheck.kg.graph import IntArray
from triplecheck.kg.plans import algebra as of
from triplecheck.kg.plans.notation import parsed
from triplecheck.kg.plans.paths import Paths
from triplecheck.kg.plans.plan import Plan
from triplecheck.kg.plans.sparql import write_query
from triplecheck.kg.plans.store import GraphStore
from triplecheck.kg.readers.rdf import plain_id
from triplecheck.kg.sparql.terms import STRING
from triplecheck.kg.types import Literal

MOST_ROWS = 1_000_000
"""Maximum number of rows of a part of a query: they are Python objects."""
_NAME = "triplecheck"

Row = tuple[int | Literal | None, ...]


def evaluate(store: GraphStore, plan: Plan, rows: int) -> tuple[list[Row], int]:
    """The first rows of a plan's result, and how many it has; of an ask one row without cells if it is true.

    Raises:
        PlanError: a limit is reached, or rdflib cannot evaluate the query.
    """
    CUSTOM_EVALS.setdefault(_NAME, _within_limits)
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
