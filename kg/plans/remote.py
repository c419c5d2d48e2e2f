"""Plans for graphs on a server: SPARQL endpoints get SPARQL, property graphs Cypher."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import Any

from triplecheck.kg.cypher.graph import CypherGraph
from triplecheck.kg.cypher.values import literals
from triplecheck.kg.errors import PlanError
from triplecheck.kg.graph import Graph
from triplecheck.kg.plans import algebra as of
from triplecheck.kg.plans.cypher import NODE, VALUE, write_cypher
from triplecheck.kg.plans.plan import Plan
from triplecheck.kg.plans.sparql import write_query
from triplecheck.kg.sparql.client import QueryRefusedError
from triplecheck.kg.sparql.graph import SparqlGraph
from triplecheck.kg.sparql.terms import Term, TermKind, iri, literal, string_variants
from triplecheck.kg.types import Literal
from triplecheck.kg.waiting import StillRunningError, within

Row = tuple[int | Literal | None, ...]


def ask_server(graph: Graph, plan: Plan, seconds: float, rows: int) -> tuple[list[Row], int, str]:
    """The first rows of a plan's result, how many the server gave, and a note; see `rdflib_run.evaluate`.

    Raises:
        PlanError: the graph is of another kind, the server refuses the query, or the time is over.
        GraphUnavailableError: the server does not answer.
    """
    if not isinstance(graph, SparqlGraph | CypherGraph):
        raise PlanError("queries are not supported on this kind of graph")
    try:
        if isinstance(graph, SparqlGraph):
            found = within(seconds, partial(_Endpoint(graph, plan).rows, rows + 1))
        else:
            found = within(seconds, partial(_of_property_graph, graph, plan, rows + 1))
    except StillRunningError:
        raise PlanError(
            f"the server takes longer than {seconds:g} s; narrow the query, or allow more seconds"
        ) from None
    except QueryRefusedError as error:
        raise PlanError(str(error)) from None
    note = "the server answered this query: it has no proof"
    if len(found) > rows:
        note += f", and there are more than {rows:,} rows"
    return found[:rows], len(found), note


class _Endpoint:
    """Implements `kg.plans.sparql.Spelling` for a SPARQL endpoint, and asks it."""

    def __init__(self, graph: SparqlGraph, plan: Plan) -> None:
        self._graph, self._look, self._plan = graph, graph.lookup, plan
        words = graph.vocabulary
        self.types: Sequence[str] = [iri(one) for one in words.types]
        self.labels: Sequence[str] = [iri(one) for one in words.labels]
        self.language = words.language
        self._of_graph = {
            end.name
            for one in of.parts(plan.algebra)
            if isinstance(one, of.TriplePattern) and isinstance(one.predicate, of.Relations | of.Path | of.Var)
            for end in one.ends
            if isinstance(end, of.Var)
        }

    # --- terms -----------------------------------------------------------------------------------
    def relation(self, relation: int) -> str:
        return iri(self._look.relations.key(relation))

    def node(self, node: int) -> Sequence[str]:
        return [] if self._look.is_blank(node) else self._look.written(node)

    def type(self, id: str) -> str:
        return iri(id)

    def value(self, value: Literal) -> str:
        return literal(value.lexical, value.datatype)

    def texts(self, value: Literal) -> Sequence[str]:
        return string_variants(value.lexical, self._look.languages)

    # --- rows ------------------------------------------------------------------------------------
    def rows(self, most: int) -> list[Row]:
        """The first rows; of an ask one without cells if it is true."""
        is_ask, names = self._plan.kind == "ask", self._plan.variables
        query = write_query(self._plan.algebra, self, rows=1 if is_ask else most)
        found = [tuple(self._cell(name, row.get(name)) for name in names) for row in self._look.client.select(query)]
        # A string in two languages is one node here.
        return list(dict.fromkeys(found)) if self._plan.algebra.distinct else found

    def _cell(self, name: str, term: Term | None) -> int | Literal | None:
        if term is None:
            return None
        if term.kind is TermKind.LITERAL and name not in self._of_graph:
            return Literal(term.value, term.datatype)
        if term.kind is TermKind.IRI and term.value in self._relations:
            return Literal(self._relations[term.value])
        return self._look.number(term)

    @cached_property
    def _relations(self) -> dict[str, str]:
        """Labels of relations by id, if a variable stands for relations."""
        patterns = (one for one in of.parts(self._plan.algebra) if isinstance(one, of.TriplePattern))
        if not any(isinstance(one.predicate, of.Var) for one in patterns):
            return {}
        found = (self._graph.relation(number) for number in range(self._graph.num_relations))
        return {one.id: one.label for one in found}


def _of_property_graph(graph: CypherGraph, plan: Plan, most: int) -> list[Row]:
    """The first rows; of an ask one without cells if it is true."""
    text, parameters, kinds = write_cypher(graph, plan, most)
    found = graph.lookup.client.rows(text, parameters)
    if plan.kind == "ask":
        return [()] if found else []
    return [tuple(_cells(graph, iter(row), kinds)) for row in found]


def _cells(
    graph: CypherGraph, cells: Iterator[Any], kinds: Sequence[tuple[str, str]]
) -> Iterator[int | Literal | None]:
    look = graph.lookup
    for kind, key in kinds:
        cell = next(cells)
        if kind == NODE:
            node_key = next(cells)
            yield None if cell is None else look.number(cell, node_key)
            continue
        value = next(iter(literals(cell, look.datatype(key) if kind == VALUE else None)), None)
        yield look.nodes.number(value) if kind == VALUE and value is not None else value
