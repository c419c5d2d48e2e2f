"""Exact aggregation over retrieved facts: what a language model should not do in its head.

Each operation takes facts that were cited and gives the answer with the triples that it rests on, or
a reason why it cannot be computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kg import Graph, Literal
from kg.values import Quantity, quantity
from programs.subgraph import Fact

Edge = tuple[int, int, int]


@dataclass(frozen=True)
class Computed:
    """The result of an operation.

    Attributes:
        text: the answer.
        nodes: nodes of the graph that are the answer, where it consists of such.
        triples: what it was computed from.
    """

    text: str
    nodes: tuple[int, ...]
    triples: tuple[Edge, ...]


class NotComputableError(ValueError):
    """The facts do not fit the operation; the message says why."""


def aggregate(graph: Graph, operation: str, facts: Sequence[Fact]) -> Computed:
    """Run one of the operations of `signatures.summarize.Operation` (other than `none`) over facts.

    Raises:
        NotComputableError: no facts, or facts that do not fit the operation.
    """
    if not facts:
        raise NotComputableError("no facts were cited")
    match operation:
        case "count":
            return _count(facts)
        case "max" | "min":
            return _extreme(graph, facts, largest=operation == "max")
        case "sum" | "difference":
            return _arithmetic(graph, facts, operation)
        case "common":
            return _common(graph, facts)
        case "same":
            return _same(facts)
    raise NotComputableError(f"no such operation: {operation}")


def _all(facts: Sequence[Fact]) -> tuple[Edge, ...]:
    return tuple(dict.fromkeys(triple for fact in facts for triple in fact.triples()))


def _count(facts: Sequence[Fact]) -> Computed:
    if len(facts) == 1:
        # The graph's own total: exact also where not all values were fetched.
        return Computed(str(facts[0].total), (), _all(facts))
    if any(fact.total > len(fact.values) for fact in facts):
        raise NotComputableError("several facts were cut short, so that their union cannot be counted")
    return Computed(str(len({value for fact in facts for value in fact.values})), (), _all(facts))


def _quantities(graph: Graph, facts: Sequence[Fact]) -> list[tuple[Quantity, Fact, int]]:
    found = []
    for fact in facts:
        for value in fact.values:
            literal = graph.literal(value) or Literal(graph.label(value))
            size = quantity(literal)
            if size is not None:
                found.append((size, fact, value))
    if not found:
        raise NotComputableError("no cited value is a number or a date")
    if len({size.kind for size, _, _ in found}) > 1:
        raise NotComputableError("numbers and dates cannot be compared")
    return found


def _extreme(graph: Graph, facts: Sequence[Fact], *, largest: bool) -> Computed:
    """The entities whose value is extreme; where all values belong to one entity, the value itself."""
    found = _quantities(graph, facts)
    if len({fact.hop.relation for _, fact, _ in found}) > 1:
        raise NotComputableError("values of different relations cannot be compared")
    best = (max if largest else min)(size for size, _, _ in found)
    winners = [(fact.anchor, value) for size, fact, value in found if size == best]
    several = len({fact.anchor for fact in facts}) > 1
    nodes = tuple(dict.fromkeys(anchor if several else value for anchor, value in winners))
    return Computed(", ".join(graph.labels(list(nodes))), nodes, _all(facts))


def _arithmetic(graph: Graph, facts: Sequence[Fact], operation: str) -> Computed:
    found = _quantities(graph, facts)
    sizes = [size.size for size, _, _ in found]
    if operation == "difference":
        if len(sizes) != 2:
            raise NotComputableError(f"a difference takes two values, not {len(sizes)}")
        result = abs(sizes[0] - sizes[1])
        if found[0][0].kind == "time":
            result = round(result / 365.2425)
    else:
        if found[0][0].kind == "time":
            raise NotComputableError("dates cannot be added up")
        result = sum(sizes)
    text = str(int(result)) if float(result).is_integer() else f"{result:.10g}"
    return Computed(text, (), _all(facts))


def _common(graph: Graph, facts: Sequence[Fact]) -> Computed:
    """Values that the paths share: united within a path, intersected between paths."""
    by_path: dict[object, set[int]] = {}
    for fact in facts:
        by_path.setdefault(fact.path, set()).update(fact.values)
    if len(by_path) < 2:
        by_path = {fact.anchor: set(fact.values) for fact in facts}
    if len(by_path) < 2:
        raise NotComputableError("there is only one set of values, nothing to intersect it with")
    shared = set.intersection(*by_path.values())
    if not shared:
        raise NotComputableError("the cited facts share no value")
    nodes = tuple(sorted(shared))
    triples = tuple(dict.fromkeys(t for fact in facts for t in fact.triples(nodes)))
    return Computed(", ".join(graph.labels(list(nodes))), nodes, triples)


def _same(facts: Sequence[Fact]) -> Computed:
    """Yes where the cited facts share a value, no where they do not."""
    anchors: dict[int, set[int]] = {}
    for fact in facts:
        anchors.setdefault(fact.anchor, set()).update(fact.values)
    if len(anchors) < 2:
        raise NotComputableError("the facts are about one entity only, nothing to compare it with")
    return Computed("yes" if set.intersection(*anchors.values()) else "no", (), _all(facts))
