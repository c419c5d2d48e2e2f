"""`homonyms`: the words beside a name single out what it means: its type ("the play Macbeth") or a year that it has."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from triplecheck.kg import Candidate, Direction, Graph, normalize
from triplecheck.programs.assists import Assists
from triplecheck.programs.steps import Trace

_EQUAL = 0.05  # candidates whose names fit worse than the best by more than this are not meant
_YEAR = re.compile(r"\b[12][0-9]{3}\b")
_YEARS_LOOKED_AT = 3  # values per relation

Candidates = tuple[Candidate, ...]


def homonyms(
    assists: Assists, graph: Graph, question: str, names: Mapping[str, Candidates], trace: Trace | None
) -> tuple[dict[str, Candidates], set[str]]:
    """What each name of a question means, and the years that single out one of several: these are no topics themselves.

    Args:
        names: as the question writes them, with their candidates.
    """
    meant, used = dict(names), set[str]()
    for written, candidates in names.items() if "homonyms" in assists else ():
        equal = equally_written(candidates)
        if len(equal) < 2:
            continue
        before, _, after = normalize(question).partition(normalize(written))
        typed = [c for c in equal if _has_type_beside(graph, c, f" {before.strip()}", f"{after.strip()} ")] or equal
        years = {c: year for c in typed for year in _YEAR.findall(f"{before} {after}") if _has_year(graph, c, year)}
        found = list(years) or typed
        used |= set(years.values()) if len(years) < len(typed) else set()
        if len(found) < len(equal):
            meant[written] = tuple(found)
            if trace is not None:
                assists.note(trace, "homonyms", "topics", [c.id for c in candidates], [c.id for c in found])
    return meant, used


def equally_written(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates whose names fit nearly as well as the best."""
    best = max(c.lexical for c in candidates)
    return [c for c in candidates if c.lexical >= best - _EQUAL]


def _has_type_beside(graph: Graph, candidate: Candidate, before: str, after: str) -> bool:
    kinds = (normalize(graph.type_label(t)) for t in graph.types(candidate.node))
    return any(
        before.endswith((f" {kind}", f" {kind} the")) or after.startswith((f"{kind} ", f"the {kind} "))
        for kind in kinds
        if kind
    )


def _has_year(graph: Graph, candidate: Candidate, year: str) -> bool:
    edges = graph.expand([candidate.node], None, Direction.OUT, limit_per_node=_YEARS_LOOKED_AT)
    values = (graph.literal(tail) for tail in edges.tails.tolist())
    return any(value is not None and _YEAR.match(value.lexical) and value.lexical[:4] == year for value in values)
