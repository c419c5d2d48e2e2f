"""`typed_paths`: "which lakes are in Norway" asks for the lakes among all that is in Norway."""

from __future__ import annotations

from dataclasses import replace

from triplecheck.kg import Direction, Graph
from triplecheck.language.described import asked_class
from triplecheck.language.question import Question
from triplecheck.programs.assists.table import Assists
from triplecheck.programs.expansion import edges_of
from triplecheck.programs.subgraph import Path
from triplecheck.signatures.notation import clean

_MOST_TYPED = 100_000  # edges that are looked at to tell which lead to things of a type


AskedClass = tuple[str, tuple[str, ...]]
"""A class of a graph in words, and the ids of its types."""


def class_asked_for(graph: Graph, read: Question) -> AskedClass | None:
    """The class of things that a question asks for; None if it names none."""
    labels: dict[str, list[str]] = {}
    for id in graph.type_ids:
        labels.setdefault(clean(graph.type_label(id)), []).append(id)
    names = asked_class(read, list(labels))
    return (names[0], tuple(id for name in names for id in labels[name])) if names else None


def typed_paths(
    assists: Assists, graph: Graph, offers: list[tuple[Path, int]], asked: AskedClass | None
) -> list[tuple[Path, int]]:
    """The offers, with hops to things of the asked class in place of those that lead to these alone, or after them."""
    if asked is None or "typed_paths" not in assists:
        return offers
    kind, types = asked
    found = []
    for path, edges in offers:
        hop = replace(path.hops[-1], kind=kind, types=types)
        schema = graph.schema(hop.relation)
        side = dict(schema.range if hop.direction is Direction.OUT else schema.domain)
        fits = edges <= _MOST_TYPED and not side.keys().isdisjoint(types)
        number = edges_of(graph, path.ends, hop, 0).total if fits else 0
        if number < edges:
            found.append((path, edges))
        if number:
            found.append((Path(path.topic, (*path.hops[:-1], hop), path.ends), number))
    return found
