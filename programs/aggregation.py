"""Aggregations: computed by code over the facts at the ends of the cited paths.

They are refused if values are missing that were not fetched. Superlatives use `kg.patterns`; sets do not, because they
are sets of fetched values and not matches over the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from triplecheck.kg import Graph
from triplecheck.kg.patterns import Measured, extremes, measure
from triplecheck.kg.types import Edge
from triplecheck.kg.values import Date, date_of, quantity, value_of, written
from triplecheck.programs.subgraph import Fact

EXTREMES = ("max", "min")
_NOT_ADDED = {"time": "dates", "temperature": "temperatures"}


@dataclass(frozen=True)
class Result:
    """The result of an operation.

    Attributes:
        nodes: nodes of the graph that are the answer, where it consists of such.
        triples: what it was computed from.
    """

    text: str
    nodes: tuple[int, ...]
    triples: tuple[Edge, ...]


class NotComputableError(ValueError):
    """The facts do not fit the operation; the message says why."""


def aggregate(graph: Graph, operation: str, facts: Sequence[Fact]) -> Result:
    """Run one of the operations of `signatures.summarize.Operation` (other than `none`) over `terminal` facts.

    Raises:
        NotComputableError: no facts, or facts that do not fit the operation.
    """
    if not facts:
        raise NotComputableError("no facts were cited")
    match operation:
        case "count":
            return _count(_distinct(facts))
        case "max" | "min":
            return _extreme(graph, _distinct(facts), largest=operation == "max")
        case "sum" | "difference":
            return _arithmetic(graph, _distinct(facts), operation)
        case "common":
            return _common(graph, facts)
        case "same":
            return _same(facts)
    raise NotComputableError(f"no such operation: {operation}")


def is_measured(graph: Graph, fact: Fact) -> bool:
    """Whether all values of a fact are numbers, with or without a unit, or dates."""
    return all(quantity(value_of(graph, value)) is not None for value in fact.values)


def terminal(facts: Sequence[Fact]) -> list[Fact]:
    """The facts at the ends of the cited paths, without the bridge facts that only lead to their anchors.

    A bridge fact is on the path of another fact, or has no value but the anchor of another fact. Of two facts that
    lead to each other, neither is a bridge fact. Facts that lead back to their topic are left out if there are others.
    """
    ahead = [fact for fact in facts if fact.values != (fact.path[0],)] or facts
    return [fact for fact in ahead if not any(_leads_to(fact, other) for other in ahead if other != fact)]


def _leads_to(fact: Fact, other: Fact) -> bool:
    topic, hops = fact.path
    if topic == other.path[0] and len(hops) < len(other.path[1]) and other.path[1][: len(hops)] == hops:
        return True
    return fact.values == (other.anchor,) and other.values != (fact.anchor,)


def _distinct(facts: Sequence[Fact]) -> list[Fact]:
    """Each fact once, also where several paths lead to it."""
    return list({(fact.anchor, fact.hop): fact for fact in facts}.values())


def _all(facts: Sequence[Fact]) -> tuple[Edge, ...]:
    return tuple(dict.fromkeys(triple for fact in facts for triple in fact.triples()))


def _is_cut(fact: Fact) -> bool:
    return fact.total > len(fact.values)


def _refuse_cut(facts: Sequence[Fact], wanted: str) -> None:
    if any(map(_is_cut, facts)):
        raise NotComputableError(f"not all values were fetched, so that {wanted}")


def _of_others(fact: Fact) -> Fact:
    """A fact without the edge from a thing to itself, if it has others: no one is a partner of their own."""
    if len(fact.values) < 2 or fact.anchor not in fact.values:
        return fact
    return replace(fact, values=tuple(value for value in fact.values if value != fact.anchor), total=fact.total - 1)


def _count(facts: Sequence[Fact]) -> Result:
    facts = list(map(_of_others, facts))
    if len(facts) == 1:
        # The graph's own total is exact even if not all values were fetched.
        return Result(str(facts[0].total), (), _all(facts))
    _refuse_cut(facts, "the union of several facts cannot be counted")
    return Result(str(len({value for fact in facts for value in fact.values})), (), _all(facts))


def _measure(graph: Graph, facts: Sequence[Fact]) -> list[Measured]:
    values = ((fact.anchor, fact.hop.relation, value) for fact in facts for value in fact.values)
    found = measure(graph, values)
    if not found:
        raise NotComputableError("no cited value is a number or a date")
    if len(kinds := {one.size.kind for one in found}) > 1:
        what = "numbers and dates" if kinds == {"number", "time"} else " and ".join(sorted(kinds))
        raise NotComputableError(f"{what} cannot be compared")
    return found


def _extreme(graph: Graph, facts: Sequence[Fact], *, largest: bool) -> Result:
    """The entities whose value is extreme; if all values belong to one entity, the value itself."""
    found = _measure(graph, facts)
    if len({one.relation for one in found}) > 1:
        raise NotComputableError("values of different relations cannot be compared")
    _refuse_cut(facts, "another one may be more extreme")
    several = len({fact.anchor for fact in facts}) > 1
    winners = extremes(found, greatest=largest)
    nodes = tuple(dict.fromkeys(one.node if several else one.value for one in winners))
    return Result(", ".join(graph.labels(list(nodes))), nodes, _all(facts))


def _arithmetic(graph: Graph, facts: Sequence[Fact], operation: str) -> Result:
    found = _measure(graph, facts)
    _refuse_cut(facts, f"the {operation} of all of them is not known")
    if len(found) < sum(len(fact.values) for fact in facts):
        raise NotComputableError(f"some of the values are no numbers, so the {operation} of all is not known")
    sizes = sorted(one.size for one in found)
    # In the unit of the greatest: 3 kg and 800 g are 3.8 kg.
    kind, unit = sizes[-1].kind, sizes[-1].unit
    if operation == "difference":
        if len(found) != 2:
            raise NotComputableError(f"a difference takes two values, not {len(found)}")
        if sizes[-1].is_time:
            text = str(_years_between(graph, *sorted(found, key=lambda one: one.size)))
        else:
            text = written(sizes[1].size - sizes[0].size, unit, difference=True)
    elif kind in _NOT_ADDED:
        raise NotComputableError(f"{_NOT_ADDED[kind]} cannot be added up")
    else:
        text = written(sum(size.size for size in sizes), unit)
    return Result(text, (), _all(facts))


def _years_between(graph: Graph, earlier: Measured, later: Measured) -> int:
    """Whole years from one date to another; the difference of calendar years if a date is only a year."""
    first, last = (date_of(value_of(graph, one.value)) for one in (earlier, later))
    assert first is not None and last is not None
    full = len(first) > 1 and len(last) > 1
    return last[0] - first[0] - int(full and _of_year(last) < _of_year(first))


def _of_year(date: Date) -> tuple[int, int]:
    """Month and day, the first if it is not known."""
    return date[1], date[2] if len(date) > 2 else 1


def _common(graph: Graph, facts: Sequence[Fact]) -> Result:
    """Values that the paths share, other than their topics: united within a path, intersected between paths."""
    sets: dict[object, list[Fact]] = {}
    for fact in facts:
        sets.setdefault(fact.path, []).append(fact)
    if len(sets) < 2:
        sets = {fact.anchor: [fact] for fact in facts}
    if len(sets) < 2:
        raise NotComputableError("there is only one set of values, nothing to intersect it with")
    whole = [group for group in sets.values() if not any(map(_is_cut, group))]
    if not whole:
        raise NotComputableError("not all values were fetched, so that more may be shared")
    # A shared value is in each complete set; the graph says whether it is in the others too.
    shared = set.intersection(*({value for fact in group for value in fact.values} for group in whole))
    shared -= {fact.path[0] for fact in facts}
    proofs = [{node: _edges_to(graph, group, node) for node in sorted(shared)} for group in sets.values()]
    nodes = tuple(node for node in sorted(shared) if all(edges[node] for edges in proofs))
    if not nodes:
        raise NotComputableError("the cited facts share no value")
    triples = dict.fromkeys(edge for edges in proofs for node in nodes for edge in edges[node])
    return Result(", ".join(graph.labels(list(nodes))), nodes, tuple(triples))


def _edges_to(graph: Graph, facts: Sequence[Fact], node: int) -> list[Edge]:
    """The edges of facts that lead to a node, fetched or not."""
    edges = []
    for fact in facts:
        edge = fact.edge(node)
        if node in fact.values or (_is_cut(fact) and graph.contains(*edge)):
            edges.append(edge)
    return edges


def _same(facts: Sequence[Fact]) -> Result:
    """Yes if the topics share a value, otherwise no; with one topic, the cited entities are compared."""
    sets: dict[int, set[int]] = {}
    by_topic = len({fact.path[0] for fact in facts}) > 1
    for fact in facts:
        sets.setdefault(fact.path[0] if by_topic else fact.anchor, set()).update(fact.values)
    if len(sets) < 2:
        raise NotComputableError("the facts are about one entity only, nothing to compare it with")
    if set.intersection(*sets.values()):
        return Result("yes", (), _all(facts))
    _refuse_cut(facts, "they may share one that was not")
    return Result("no", (), _all(facts))
