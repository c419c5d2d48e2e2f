"""Clients for stores in the same process: pyoxigraph and rdflib."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from triplecheck.kg.errors import GraphUnavailableError
from triplecheck.kg.sparql.client import Limits, Meter, QueryRefusedError, Row
from triplecheck.kg.sparql.terms import STRING, Kind, Term

if TYPE_CHECKING:
    import pyoxigraph
    import rdflib


class OxigraphClient:
    """Asks a `pyoxigraph.Store`; its named graphs are read as one."""

    name = "pyoxigraph store"
    keeps_blank_nodes = True

    def __init__(self, store: pyoxigraph.Store, limits: Limits | None = None) -> None:
        self._store, self._limits = store, limits or Limits()

    def select(self, query: str, bindings: Mapping[str, Term] | None = None) -> list[Row]:
        """See `SparqlClient.select`."""
        import pyoxigraph as ox

        meter = Meter(self.name, self._limits)
        given: dict[ox.Variable, Any] = {ox.Variable(k): _to_oxigraph(t) for k, t in (bindings or {}).items()}
        rows: list[Row] = []
        try:
            solutions = self._store.query(query, use_default_graph_as_union=True, substitutions=given or None)
            if not isinstance(solutions, ox.QuerySolutions):
                raise QueryRefusedError(f"{self.name}: only SELECT queries are asked, this is none: {query[:80]}")
            names = [variable.value for variable in solutions.variables]
            for solution in solutions:
                terms = [_from_oxigraph(solution[name]) for name in names]
                rows.append({n: t for n, t in zip(names, terms, strict=True) if t is not None})
                meter.check_rows(len(rows))
        except SyntaxError as error:
            raise QueryRefusedError(f"{self.name} refuses a query: {error.msg}") from error
        except (OSError, RuntimeError) as error:
            raise GraphUnavailableError(f"{self.name} failed on a query: {error}") from error
        meter.check_time()
        return rows

    def close(self) -> None:
        """The store stays its owner's."""


def _to_oxigraph(term: Term) -> Any:
    import pyoxigraph as ox

    if term.kind is Kind.IRI:
        return ox.NamedNode(term.value)
    if term.kind is Kind.BLANK:
        return ox.BlankNode(term.value)
    if term.language:
        return ox.Literal(term.value, language=term.language)
    return ox.Literal(term.value, datatype=ox.NamedNode(term.datatype))


def _from_oxigraph(term: Any) -> Term | None:
    import pyoxigraph as ox

    if isinstance(term, ox.NamedNode):
        return Term(Kind.IRI, term.value)
    if isinstance(term, ox.BlankNode):
        return Term(Kind.BLANK, term.value)
    if isinstance(term, ox.Literal):
        return Term(Kind.LITERAL, term.value, STRING if term.language else term.datatype.value, term.language or "")
    return None  # unbound, or a quoted triple


class RdflibClient:
    """Asks an `rdflib.Graph` (or a `Dataset` with `default_union`).

    One query at a time: rdflib's query parser is not safe to use from several threads.
    """

    name = "rdflib graph"
    keeps_blank_nodes = True

    def __init__(self, graph: rdflib.Graph, limits: Limits | None = None) -> None:
        self._graph, self._limits = graph, limits or Limits()
        self._lock = threading.Lock()

    def select(self, query: str, bindings: Mapping[str, Term] | None = None) -> list[Row]:
        """See `SparqlClient.select`."""
        from pyparsing.exceptions import ParseBaseException

        given = {name: _to_rdflib(term) for name, term in (bindings or {}).items()}
        rows: list[Row] = []
        with self._lock:
            meter = Meter(self.name, self._limits)
            try:
                result = self._graph.query(query, initBindings=given)
                names = [str(name) for name in result.vars or ()]
                for solution in result:
                    found = zip(names, solution, strict=True)
                    rows.append({name: _from_rdflib(term) for name, term in found if term is not None})
                    meter.check_rows(len(rows))
            except ParseBaseException as error:
                raise QueryRefusedError(f"{self.name} refuses a query: {error}") from error
            meter.check_time()
        return rows

    def close(self) -> None:
        """The graph stays its owner's."""


def _to_rdflib(term: Term) -> Any:
    import rdflib

    if term.kind is Kind.IRI:
        return rdflib.URIRef(term.value)
    if term.kind is Kind.BLANK:
        return rdflib.BNode(term.value)
    if term.language:
        return rdflib.Literal(term.value, lang=term.language)
    return rdflib.Literal(term.value, datatype=rdflib.URIRef(term.datatype))


def _from_rdflib(term: Any) -> Term:
    import rdflib

    if isinstance(term, rdflib.Literal):
        return Term(Kind.LITERAL, str(term), str(term.datatype or STRING), term.language or "")
    return Term(Kind.BLANK if isinstance(term, rdflib.BNode) else Kind.IRI, str(term))
