"""`SparqlClient`: answers SPARQL queries. Here: engines in process; over HTTP see `kg.sparql.http`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from triplecheck.kg.errors import GraphUnavailableError
from triplecheck.kg.queried import chunks
from triplecheck.kg.sparql.terms import STRING, Term, TermKind

if TYPE_CHECKING:
    import pyoxigraph
    import rdflib

T = TypeVar("T")
Binding = Mapping[str, Term]
"""One solution: a term per variable; unbound variables are absent."""


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """Limits of one query. Exceeding them is a `GraphUnavailableError`, never a silently truncated result.

    Attributes:
        seconds: from the request to the last row. An engine in process is checked between rows only.
        bytes: size of one HTTP reply.
    """

    seconds: float = 60.0
    rows: int = 1_000_000
    bytes: int = 512 << 20


class QueryRefusedError(GraphUnavailableError):
    """The engine rejects the text of a query."""


class PartialResultsError(GraphUnavailableError):
    """The server gives a part of the results only."""


class SparqlClient(Protocol):
    """Answers SELECT queries. Thread-safe.

    Attributes:
        most_rows: solutions that the server gives at most to one query, if it was found out; one with as many is a
            `PartialResultsError`.
    """

    most_rows: int | None

    @property
    def name(self) -> str:
        """Name of the store in messages."""

    @property
    def keeps_blank_nodes(self) -> bool:
        """Whether the label of a blank node denotes the same node in later queries."""

    def select(self, query: str, bindings: Mapping[str, Term] | None = None) -> list[Binding]:
        """All solutions of a SELECT query.

        Args:
            bindings: terms for variables that the query projects; only with `keeps_blank_nodes`.

        Raises:
            GraphUnavailableError: no reply, a late or too long reply, or no SPARQL results.
        """

    def close(self) -> None:
        """Close connections."""


def bound(rows: Iterable[Binding], *names: str) -> list[Binding]:
    """The solutions that bind some variables: a quoted triple, or what a server leaves out, binds none."""
    return [row for row in rows if all(name in row for name in names)]


def in_parts(
    items: Sequence[T], size: int, ask: Callable[[Sequence[T]], list[Binding]]
) -> Iterator[tuple[Sequence[T], list[Binding]]]:
    """Parts of at most `size` items, and the solutions for each; smaller parts where a server cuts the results.

    Raises:
        PartialResultsError: it cuts those for one item.
    """
    waiting = [*chunks(items, size)]
    while waiting:
        part = waiting.pop(0)
        try:
            rows = ask(part)
        except PartialResultsError:
            if len(part) == 1:
                raise
            half = len(part) // 2
            waiting[:0] = [part[:half], part[half:]]
            continue
        yield part, rows


class Meter:
    """Enforces the limits of one query."""

    def __init__(self, name: str, limits: QueryLimits) -> None:
        self._name, self._limits = name, limits
        self.end = time.monotonic() + limits.seconds
        """When the time is over, by the monotonic clock."""

    def check_time(self) -> None:
        """Raise if the time is over."""
        if time.monotonic() > self.end:
            raise too_slow(self._name, self._limits)

    def check_rows(self, rows: int) -> None:
        """Raise if there are too many solutions."""
        if rows > self._limits.rows:
            raise GraphUnavailableError(
                f"{self._name}: more than {self._limits.rows:,} solutions to one query; "
                "use a limit, or increase QueryLimits.rows"
            )
        if rows % 256 == 0:
            self.check_time()


def too_slow(name: str, limits: QueryLimits) -> GraphUnavailableError:
    """The error for a store that takes too long."""
    return GraphUnavailableError(
        f"{name}: no answer within {limits.seconds:g} s; use a limit, or increase QueryLimits.seconds"
    )


# --- in process ----------------------------------------------------------------------------------
class OxigraphClient:
    """Queries a `pyoxigraph.Store`; all its named graphs are queried as one."""

    name = "pyoxigraph store"
    keeps_blank_nodes = True
    most_rows: int | None = None

    def __init__(self, store: pyoxigraph.Store, limits: QueryLimits | None = None) -> None:
        self._store, self._limits = store, limits or QueryLimits()

    def select(self, query: str, bindings: Mapping[str, Term] | None = None) -> list[Binding]:
        import pyoxigraph as ox

        meter = Meter(self.name, self._limits)
        given: dict[ox.Variable, Any] = {ox.Variable(k): _to_oxigraph(t) for k, t in (bindings or {}).items()}
        rows: list[Binding] = []
        try:
            solutions = self._store.query(query, use_default_graph_as_union=True, substitutions=given or None)
            if not isinstance(solutions, ox.QuerySolutions):
                raise QueryRefusedError(f"{self.name}: only SELECT queries are supported, not {query[:80]}")
            names = [variable.value for variable in solutions.variables]
            for solution in solutions:
                terms = [_from_oxigraph(solution[name]) for name in names]
                rows.append({n: t for n, t in zip(names, terms, strict=True) if t is not None})
                meter.check_rows(len(rows))
        except SyntaxError as error:
            raise QueryRefusedError(f"{self.name} rejects a query: {error.msg}") from error
        except (OSError, RuntimeError) as error:
            raise GraphUnavailableError(f"{self.name} failed on a query: {error}") from error
        meter.check_time()
        return rows

    def close(self) -> None:
        """Does nothing: the caller owns the store."""


def _to_oxigraph(term: Term) -> Any:
    import pyoxigraph as ox

    if term.kind is TermKind.IRI:
        return ox.NamedNode(term.value)
    if term.kind is TermKind.BLANK:
        return ox.BlankNode(term.value)
    if term.language:
        return ox.Literal(term.value, language=term.language)
    return ox.Literal(term.value, datatype=ox.NamedNode(term.datatype))


def _from_oxigraph(term: Any) -> Term | None:
    import pyoxigraph as ox

    if isinstance(term, ox.NamedNode):
        return Term(TermKind.IRI, term.value)
    if isinstance(term, ox.BlankNode):
        return Term(TermKind.BLANK, term.value)
    if isinstance(term, ox.Literal):
        return Term(TermKind.LITERAL, term.value, STRING if term.language else term.datatype.value, term.language or "")
    return None  # unbound, or a quoted triple


class RdflibClient:
    """Queries an `rdflib.Graph` (or a `Dataset` with `default_union`).

    One query at a time: rdflib's query parser is not thread-safe.
    """

    name = "rdflib graph"
    keeps_blank_nodes = True
    most_rows: int | None = None

    def __init__(self, graph: rdflib.Graph, limits: QueryLimits | None = None) -> None:
        self._graph, self._limits = graph, limits or QueryLimits()
        self._lock = threading.Lock()

    def select(self, query: str, bindings: Mapping[str, Term] | None = None) -> list[Binding]:
        from pyparsing.exceptions import ParseBaseException

        given = {name: _to_rdflib(term) for name, term in (bindings or {}).items()}
        rows: list[Binding] = []
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
                raise QueryRefusedError(f"{self.name} rejects a query: {error}") from error
            meter.check_time()
        return rows

    def close(self) -> None:
        """Does nothing: the caller owns the graph."""


def _to_rdflib(term: Term) -> Any:
    import rdflib

    if term.kind is TermKind.IRI:
        return rdflib.URIRef(term.value)
    if term.kind is TermKind.BLANK:
        return rdflib.BNode(term.value)
    if term.language:
        return rdflib.Literal(term.value, lang=term.language)
    return rdflib.Literal(term.value, datatype=rdflib.URIRef(term.datatype))


def _from_rdflib(term: Any) -> Term:
    import rdflib

    if isinstance(term, rdflib.Literal):
        return Term(TermKind.LITERAL, str(term), str(term.datatype or STRING), term.language or "")
    return Term(TermKind.BLANK if isinstance(term, rdflib.BNode) else TermKind.IRI, str(term))
