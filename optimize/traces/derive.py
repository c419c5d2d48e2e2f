"""Finds how the answers of a question follow from the graph.

A data set seldom says this. Of all that gives exactly the known answers, what fits the words of the question best is
taken (`language.relevance`); where nothing gives them there is no derivation, and no right reply to a step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations

from triplecheck.evals.gold import comparable
from triplecheck.kg import Direction, Words
from triplecheck.kg.encode import load_encoder
from triplecheck.kg.patterns import Measured, extremes, measure
from triplecheck.kg.values import mentions, value_of, written
from triplecheck.language.relevance import sense_of
from triplecheck.optimize.traces.derivations import Asked, Derivation, of_one_type
from triplecheck.optimize.traces.gold_paths import (
    GoldPath,
    ends_of,
    found_paths,
    given_paths,
    leading,
    named_paths,
    near,
)
from triplecheck.programs.subgraph import Hop
from triplecheck.signatures.summarize import Operation

_FETCHED = 2_000  # edges per (node, relation, direction)
_LEAST_COMPARED = 2


def derive(asked: Asked) -> Derivation | None:
    """The derivation of the answers; None if none is found, or if there are no answers.

    Paths given with the question come first, then relations that it names, then what leads to exactly the answers.
    """
    given = given_paths(asked.graph, asked.question.gold)
    if given:
        return _at_ends(asked, given) or (None if asked.computed else Derivation(given))
    if asked.computed:
        return _polar(asked) if asked.read.asked.kind == "yes or no" else _number(asked)
    if not asked.answers:
        return None
    named = named_paths(asked.graph, asked.question.gold, asked.topics, asked.answers)
    if named:
        return Derivation(named)
    compared = _extreme(asked) if asked.read.compares is not None else None
    return compared or _looked_up(asked) or _bounded(asked) or _extreme(asked)


def _looked_up(asked: Asked) -> Derivation | None:
    """The paths whose shared ends are the answers."""
    paths = found_paths(asked.graph, asked.topics, asked.each_answer, asked.hops)
    return Derivation(paths) if paths else None


def _at_ends(asked: Asked, paths: Sequence[GoldPath]) -> Derivation | None:
    """What is computed at the ends of given paths; None if the answers are the ends themselves, or nothing fits."""
    if asked.computed:
        return next(_counted(asked, paths), None) or _said(asked, paths)
    found = (_ordered(asked, things, paths) for things in _things(asked, paths))
    return next((one for one in found if one is not None), None)


def _extreme(asked: Asked) -> Derivation | None:
    """The things at the end of a path, or the topics themselves, of which the answers have the most or the least."""
    candidates = [*_among_topics(asked), *_among_things(asked)]
    agreeing = [one for one in candidates if _agrees(asked, one)] or candidates
    return _best(asked, agreeing)


def _bounded(asked: Asked) -> Derivation | None:
    """The things at the end of a path with a value or a name that the question mentions."""
    found = []
    words = Words(asked.question.question)
    for path, _ in _towards(asked):
        for hop in _hops_at(asked, sorted(asked.answers)):
            longer = GoldPath(path.topic, (*path.hops, hop))
            held = {
                start
                for start, value in _edges(asked, ends_of(asked.graph, longer)[-2].tolist(), hop)
                if mentions(asked.question.question, value_of(asked.graph, value))
                or (asked.graph.literal(value) is None and asked.graph.label(value) in words)
            }
            if _are_answers(asked, held):
                found.append(Derivation((longer,), "none", frozenset(held), beyond=True))
    return _best(asked, found)


def _number(asked: Asked) -> Derivation | None:
    """A count, a sum or a difference that is the answer."""
    for length in range(1, asked.hops + 1):
        ways = [[path] for path in asked.ways(length)]
        found = [one for paths in ways for one in _counted(asked, paths)]
        if length == 1 and len(asked.topics) > 1:
            found += [one for paths in _sides(asked) for one in _counted(asked, paths)]
        if found:
            return _best(asked, found)
    return None


def _polar(asked: Asked) -> Derivation | None:
    """What makes a question of yes or no true or false: a comparison of two topics, or a path between them."""
    return _best(asked, [one for paths in _sides(asked) if (one := _said(asked, paths)) is not None]) or _linked(asked)


# --- things that are compared ------------------------------------------------------------------
def _towards(asked: Asked) -> Iterator[tuple[GoldPath, frozenset[int]]]:
    """The paths, with room for one more hop, that lead to all answers and to others."""
    if asked.hops < _LEAST_COMPARED or not asked.answers:
        return
    distances = near(asked.graph, asked.answers, asked.hops - 1)
    for topic in sorted({node for nodes in asked.topics for node in nodes}):
        for path, ends in leading(asked.graph, topic, distances):
            things = frozenset(ends.tolist()) - {topic}
            if not any(things.isdisjoint(answer) for answer in asked.each_answer) and len(things) >= _LEAST_COMPARED:
                yield path, things


def _among_things(asked: Asked) -> Iterator[Derivation]:
    for path, things in _towards(asked):
        for hop in _hops_at(asked, sorted(asked.answers)):
            for some in of_one_type(asked.graph, things, asked.answers):
                found = _ordered(asked, some, [GoldPath(path.topic, (*path.hops, hop))])
                if found is not None:
                    yield found
                    break


def _among_topics(asked: Asked) -> Iterator[Derivation]:
    topics = {node for nodes in asked.topics for node in nodes}
    if len(asked.topics) >= _LEAST_COMPARED and asked.answers and not asked.answers.isdisjoint(topics):
        for paths in _sides(asked):
            found = _ordered(asked, frozenset(path.topic for path in paths), paths)
            if found is not None:
                yield found


def _things(asked: Asked, paths: Sequence[GoldPath]) -> Iterator[frozenset[int]]:
    """What given paths compare: the nodes before their last hop, or those of one type."""
    reached = {node for path in paths for node in ends_of(asked.graph, path)[-2].tolist()}
    return of_one_type(asked.graph, reached, asked.answers & reached)


def _ordered(asked: Asked, things: frozenset[int], paths: Sequence[GoldPath]) -> Derivation | None:
    """The operation over values at the ends of paths that gives the answers; None if there is none."""
    if len(things) < _LEAST_COMPARED:
        return None
    values = _values(asked, things, paths)
    if len({one.size.kind for one in values}) != 1 or len({one.node for one in values}) < _LEAST_COMPARED:
        return None
    operations: tuple[tuple[Operation, bool], ...] = (("max", True), ("min", False))
    for operation, greatest in operations:
        if _are_answers(asked, {one.node for one in extremes(values, greatest=greatest)}):
            return Derivation(tuple(paths), operation, things, beyond=True)
    return None


def _agrees(asked: Asked, found: Derivation) -> bool:
    """Whether the operation is what the comparison of the question means by these values."""
    compares = asked.read.compares
    if compares is None:
        return False
    values = _values(asked, found.ends, found.paths)
    label = asked.graph.relation(found.paths[0].hops[-1].relation).label
    sense = sense_of(compares, label, "time" if values[0].size.is_time else "number", load_encoder().encode)
    return sense.operation == found.operation


def _values(asked: Asked, things: frozenset[int], paths: Sequence[GoldPath]) -> list[Measured]:
    edges = dict.fromkeys(
        (start, hop.relation, value)
        for hop in dict.fromkeys(path.hops[-1] for path in paths)
        for start, value in _edges(asked, sorted(things), hop)
    )
    return measure(asked.graph, edges)


# --- counts and sums ----------------------------------------------------------------------------
def _counted(asked: Asked, paths: Sequence[GoldPath]) -> Iterator[Derivation]:
    """The operations over the shared ends of paths that give the answer."""
    ends = frozenset.intersection(*(frozenset(asked.reached(path).tolist()) for path in paths))
    aggregate = asked.read.aggregate
    if aggregate is None or aggregate.kind == "count":
        if asked.computed == str(len(ends)):
            yield Derivation(tuple(paths), "count", ends)
        for type in sorted({type for node in ends for type in asked.graph.types(node)}):
            some = ends & frozenset(asked.graph.nodes_of_type(type).tolist())
            if len(some) < len(ends) and asked.computed == str(len(some)):
                yield Derivation(tuple(paths), "count", some)
        return
    if aggregate.kind in ("sum", "difference"):
        sizes = [one.size for one in measure(asked.graph, ((paths[0].topic, 0, node) for node in sorted(ends)))]
        if sizes and len({size.kind for size in sizes}) == 1 and not sizes[0].is_time:
            total = sum(size.size for size in sizes)
            operation: Operation = "sum"
            if comparable(written(total, sizes[0].unit)) == comparable(asked.computed):
                yield Derivation(tuple(paths), operation, ends)


# --- yes and no -----------------------------------------------------------------------------------
def _sides(asked: Asked) -> Iterator[tuple[GoldPath, ...]]:
    """For two topics or more: one hop from each, by the same relation where it is compared."""
    sets = [sorted(nodes) for nodes in asked.topics if nodes]
    if len(sets) < _LEAST_COMPARED:
        return
    hops = [dict.fromkeys(path.hops for node in nodes for path in _from(asked, node)) for nodes in sets]
    for shared in hops[0]:
        if all(shared in others for others in hops[1:]):
            nodes = [next(node for node in of if _leads(asked, node, shared)) for of in sets]
            yield tuple(GoldPath(node, shared) for node in nodes)


def _from(asked: Asked, node: int) -> list[GoldPath]:
    return [GoldPath(node, (Hop(c.relation, c.direction),)) for c in asked.graph.relation_counts([node])]


def _leads(asked: Asked, node: int, hops: tuple[Hop, ...]) -> bool:
    return len(ends_of(asked.graph, GoldPath(node, hops))[-1]) > 0


def _said(asked: Asked, paths: Sequence[GoldPath]) -> Derivation | None:
    """Whether the topics share a value, or which has the larger one, if that gives the answer."""
    if len(paths) < _LEAST_COMPARED or asked.computed not in ("yes", "no"):
        return None
    read, is_yes = asked.read, asked.computed == "yes"
    named = asked.graph.relation(paths[0].hops[-1].relation).label in Words(asked.question.question)
    if read.asks_same or (read.compares is None and named):  # "are X and Y of one nationality"
        shared = frozenset.intersection(*(frozenset(asked.reached(path).tolist()) for path in paths))
        return Derivation(tuple(paths), "same") if bool(shared) is is_yes else None
    if read.compares is None:
        return None
    values = [_values(asked, frozenset([path.topic]), [path])[:1] for path in paths[:2]]
    if not all(values) or len({one.size.kind for (one,) in values}) != 1:
        return None
    (first,), (second,) = values
    label = asked.graph.relation(paths[0].hops[-1].relation).label
    sense = sense_of(read.compares, label, "time" if first.size.is_time else "number", load_encoder().encode)
    holds = first.size > second.size if sense.operation == "max" else first.size < second.size
    if holds is not is_yes:
        return None
    return Derivation(tuple(paths), "none", frozenset(), beyond=True, said=asked.computed)


def _linked(asked: Asked) -> Derivation | None:
    """A relation between two topics: the answer is yes."""
    if asked.computed != "yes" or asked.read.compares is not None or asked.read.asks_same:
        return None
    found = []
    for start, end in combinations(asked.topics, 2):
        for topic in sorted(start):
            for path, _ in leading(asked.graph, topic, near(asked.graph, end, 1)):
                found.append(Derivation((path,), "none", frozenset(end), said="yes"))
    return _best(asked, found)


# --- parts ----------------------------------------------------------------------------------------
def _are_answers(asked: Asked, nodes: Collection[int]) -> bool:
    found = set(nodes)
    return found <= asked.answers and not any(found.isdisjoint(answer) for answer in asked.each_answer)


def _best(asked: Asked, found: Sequence[Derivation]) -> Derivation | None:
    """The derivation whose first path fits the question best; of equal paths the first.

    A path that goes on to values has two parts: what they are the values of, and which values.
    """
    if not found:
        return None
    parts = [(hops[:-1], hops[-1:]) if one.beyond else (hops,) for one in found for hops in [one.paths[0].hops]]
    fits = asked.fits([part for whole in parts for part in whole if part])
    return found[max(range(len(found)), key=lambda at: (sum(fits[part] for part in parts[at] if part), -at))]


def _hops_at(asked: Asked, nodes: Sequence[int]) -> list[Hop]:
    return [Hop(c.relation, c.direction) for c in asked.graph.relation_counts(nodes)]


def _edges(asked: Asked, starts: Sequence[int], hop: Hop) -> Iterator[tuple[int, int]]:
    edges = asked.graph.expand(starts, hop.relation, hop.direction, _FETCHED)
    pairs = zip(edges.heads.tolist(), edges.tails.tolist(), strict=True)
    return ((head, tail) if hop.direction is Direction.OUT else (tail, head) for head, tail in pairs)
