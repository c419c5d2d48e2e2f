"""`time_conditions`: conditions of time in a question ("in 1993", "after 2005"), checked by the properties of edges.

An edge whose statement has a start, an end or a point in time (a term of office, a date of membership) holds at that
time only. Edges without such properties hold always. The values of a blank node that joins the parts of a statement
(`ex:ana ex:job [ ex:employer ex:boats ; ex:since 2011 ]`) are properties of its edges.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from triplecheck.kg import Graph, Literal, normalize
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.functions import stored_graph
from triplecheck.kg.graph import EdgeProperties
from triplecheck.kg.types import Direction, Edge
from triplecheck.language.question import Question
from triplecheck.programs.assists import Assists

Day = tuple[int, int, int]
"""Year, month, day."""
_FIRST: Day = (-(10**6), 1, 1)
_LAST: Day = (10**6, 12, 31)

_DATE = re.compile(r"(-?\d{1,6})(?:-(\d{2}))?(?:-(\d{2}))?(?:T.*)?")


@dataclass(frozen=True)
class TimeCondition:
    """A time that a question is about.

    Attributes:
        text: in the question's words.
        start, end: the first and the last day.
    """

    text: str
    start: Day
    end: Day
    moments: Mapping[str, Sequence[str]]

    def admits(self, statement: EdgeProperties) -> bool:
        """Whether a statement holds at some time within the condition, or says nothing of time."""
        span = time_of(statement, self.moments)
        return span is None or (span[0] <= self.end and self.start <= span[1])

    def holds(self, graph: Graph, edge: Edge) -> bool:
        """Whether one of the statements of an edge holds; an edge without properties does."""
        statements = graph.edge_properties(*edge)
        own = not statements or any(map(self.admits, statements))
        return own and all(map(self.admits, _joined(graph, edge)))

    def is_proved_by(self, graph: Graph, edges: Iterable[Edge]) -> bool:
        """Whether all edges hold within the condition, and one of them says so by its time."""
        edges = list(edges)
        statements = [s for edge in edges for s in (*graph.edge_properties(*edge), *_joined(graph, edge))]
        timed = any(time_of(statement, self.moments) is not None and self.admits(statement) for statement in statements)
        return timed and all(self.holds(graph, edge) for edge in edges)


def holding_at(assists: Assists, graph: Graph, question: Question) -> TimeCondition | None:
    """The condition that edges must meet to be fetched, if there is one."""
    return time_condition(graph, question) if "time_conditions" in assists else None


def time_condition(graph: Graph, question: Question) -> TimeCondition | None:
    """The condition of time of a question; None if it has none, or nothing is said about any edge of the graph."""
    if not question.times or not (graph.has_edge_properties or _has_blank_nodes(graph)):
        return None
    limit = next((one for one in question.times if not one.month), None)
    if limit is None:  # a month of any year
        return None
    start = _FIRST if limit.start is None else (limit.start, 1, 1)
    end = _LAST if limit.end is None else (limit.end, 12, 31)
    return TimeCondition(limit.text, start, end, question.parse.lexicon.moments)


def _has_blank_nodes(graph: Graph) -> bool:
    stored = stored_graph(graph)
    return isinstance(stored, ColumnarGraph) and stored.has_blank_nodes


def _joined(graph: Graph, edge: Edge) -> list[EdgeProperties]:
    """The values of the blank nodes at the ends of an edge, in files only: of a server, each would be a query."""
    if not _has_blank_nodes(graph):
        return []
    found: list[EdgeProperties] = []
    for node in (edge[0], edge[2]):
        if graph.literal(node) is None and graph.node_id(node).startswith("_:"):
            out = graph.expand([node], direction=Direction.OUT)
            pairs = zip(out.relations.tolist(), map(graph.literal, out.tails.tolist()), strict=True)
            found.append(
                tuple((graph.relation(relation).label, value) for relation, value in pairs if value is not None)
            )
    return found


def time_of(statement: EdgeProperties, moments: Mapping[str, Sequence[str]]) -> tuple[Day, Day] | None:
    """The first and the last day of a statement; None if none of its properties is named as one of the moments."""
    start = end = None
    for name, value in statement:
        words = set(normalize(name).split())
        match = _DATE.fullmatch(value.lexical.strip()) if isinstance(value, Literal) else None
        if match is None:
            continue
        year, month, day = int(match[1]), match[2], match[3]
        first, last = (year, int(month or 1), int(day or 1)), (year, int(month or 12), int(day or 31))
        if not words.isdisjoint(moments.get("start", ())):
            start = first
        elif not words.isdisjoint(moments.get("end", ())):
            end = last
        elif not words.isdisjoint(moments.get("point", ())):
            start, end = first, last
    return None if start is None and end is None else (start or _FIRST, end or _LAST)
