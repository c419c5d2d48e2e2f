"""One function per kind of question: draws a question from the graph, or raises `DrawError`."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from triplecheck.evals.retrieval.conditions import TARGET, PatternText, solve
from triplecheck.kg import Direction, IntArray, KnowledgeBase, normalize
from triplecheck.kg.patterns import extreme
from triplecheck.kg.types import XSD
from triplecheck.kg.values import quantity, value_of
from triplecheck.kg.values.units import OWN
from triplecheck.optimize.synth.english import (
    End,
    EndKind,
    Wording,
    WordingKind,
    end_of,
    noun_phrase,
    plural,
    predicate,
    questions,
    wordings_of,
)
from triplecheck.optimize.traces.gold_paths import GoldPath, follow
from triplecheck.programs.subgraph import Hop

MOST_ANSWERS = 10
_NAME_LENGTH = 60  # characters
_BARE_ID = re.compile(r"[/#:]|^[a-zA-Z]?\d+$")
_LOOKED_AT = 50  # things of a class, for their values
_MEASURED = {
    XSD + kind for kind in ("integer", "decimal", "double", "float", "int", "gYear", "date", "nonNegativeInteger")
}


class DrawError(Exception):
    """A random draw gives no valid question."""


def require(met: object) -> None:
    """Raise `DrawError` unless a condition is met."""
    if not met:
        raise DrawError


class Surroundings:
    """Draws nodes and edges of a knowledge base at random, for questions with at most so many answers."""

    def __init__(self, kb: KnowledgeBase, lot: random.Random, most_answers: int = MOST_ANSWERS) -> None:
        self.kb, self.graph, self.lot, self.most_answers = kb, kb.columnar, lot, most_answers
        self._wordings = functools.cache(lambda relation: wordings_of(self.graph, relation))
        self.is_named = functools.lru_cache(100_000)(self._named)
        """Whether a node has a readable name that no other node has."""

    def entity(self) -> int:
        """A random node with a unique name."""
        return self.named(self.lot.randrange(self.graph.num_entities))

    def named(self, node: int) -> int:
        """The node, if it has a unique name."""
        require(self.is_named(node))
        return node

    def name(self, node: int) -> str:
        """The name of a node in a question."""
        return " ".join(self.graph.label(node).split())

    def can_be_told(self, nodes: Sequence[int] | IntArray) -> bool:
        """Whether all of them have a label that is not just an id."""
        labels = self.graph.labels([int(node) for node in nodes if self.graph.literal(int(node)) is None])
        return all(label.strip() and not _BARE_ID.search(label) for label in labels)

    def wordings(self, relation: int) -> Sequence[Wording]:
        """All wordings of a relation, in random order."""
        found = list(self._wordings(relation))
        self.lot.shuffle(found)
        return found

    def hops(self, nodes: Sequence[int] | IntArray, *, to_entities: bool = False) -> list[Hop]:
        """The relations of some nodes, in random order."""
        found = [
            Hop(count.relation, count.direction)
            for count in self.graph.relation_counts(nodes)
            if self._wordings(count.relation)
            and not (to_entities and count.direction is Direction.OUT and count.relation in self.measures)
        ]
        self.lot.shuffle(found)
        return found

    def ends(self, nodes: Sequence[int] | IntArray, hop: Hop) -> IntArray:
        """Nodes at the other end of a relation, ascending and unique."""
        return follow(self.graph, np.asarray(nodes, np.int64), hop)

    def are_entities(self, nodes: Sequence[int] | IntArray) -> bool:
        """Whether none of them is a literal."""
        return all(self.graph.literal(int(node)) is None for node in nodes)

    @functools.cached_property
    def measures(self) -> frozenset[int]:
        """Relations whose values are mostly numbers, dates or amounts in a unit."""
        return frozenset(filter(self._measures, range(self.graph.num_relations)))

    def _measures(self, relation: int) -> bool:
        schema = self.graph.schema(relation)
        kind = schema.range[0][0] if schema.range else ""
        if kind in _MEASURED or kind.startswith(OWN):
            return True
        if kind != XSD + "string" or not schema.domain:
            return False
        heads = self.graph.nodes_of_type(schema.domain[0][0])[:_LOOKED_AT]
        tails = self.graph.expand(heads, relation, Direction.OUT, 1).tails.tolist()
        sizes = [quantity(value_of(self.graph, int(tail))) for tail in tails]
        return 2 * sum(size is not None for size in sizes) > len(sizes)

    def _named(self, node: int) -> bool:
        label = self.name(node)
        if not 2 <= len(label) <= _NAME_LENGTH or self.graph.literal(node) is not None or _BARE_ID.search(label):
            return False
        return len({named.node for named in self.kb.names.nodes(normalize(label))}) == 1


@dataclass(frozen=True)
class Draft:
    """A question before its wording is chosen.

    Attributes:
        kind: from `optimize.synth.shapes.KINDS`.
        topics: nodes that it names.
        answers: nodes; empty if the answer is `computed`, or if there is none.
        paths: to the answers, or to the values by which they are compared.
        hops: length of the longest path.
        computed: the answer as text, if it is a number.
    """

    kind: str
    wordings: tuple[str, ...]
    topics: tuple[int, ...]
    answers: tuple[int, ...]
    paths: tuple[GoldPath, ...]
    hops: int
    computed: str | None = None


def solved(kb: KnowledgeBase, paths: Sequence[GoldPath]) -> IntArray:
    """The nodes at the end of all these paths, by the exact pattern solver."""
    rows: list[PatternText] = []
    for number, path in enumerate(paths):
        near = kb.graph.node_id(path.topic)
        for step, hop in enumerate(path.hops, 1):
            far = f"?{TARGET}" if step == len(path.hops) else f"?p{number}_{step}"
            ends = (near, far) if hop.direction is Direction.OUT else (far, near)
            rows.append((ends[0], kb.graph.relation(hop.relation).id, ends[1]))
            near = far
    return solve(kb, rows)


def holds(kb: KnowledgeBase, paths: Sequence[GoldPath], nodes: IntArray) -> bool:
    """Whether the solver finds exactly these nodes at the end of all paths."""
    return np.array_equal(np.unique(solved(kb, paths)), np.unique(nodes))


_MIDDLE = 5  # maximum intermediate nodes behind a singular noun phrase
_COUNTED = (2, 60)
_COMPARED = (3, 40)
_GREATEST = {"number": ("greatest", "largest"), "date": ("latest",), "year": ("latest",)}
_SMALLEST = {"number": ("smallest", "lowest"), "date": ("earliest",), "year": ("earliest",)}
_GREATER = {"number": ("greater", "larger"), "date": ("later",), "year": ("later",)}
_SMALLER = {"number": ("smaller", "lower"), "date": ("earlier",), "year": ("earlier",)}


def _chain(around: Surroundings, length: int) -> Draft:
    """One, two or three relations in sequence."""
    topic = around.entity()
    names, hops = [around.name(topic)], tuple[Hop, ...]()
    ends: IntArray = np.array([topic], np.int64)
    for step in range(1, length + 1):
        last = step == length
        hop = _next(around, ends, hops, to_entities=not last)
        before, ends = ends, around.ends(ends, hop)
        hops = (*hops, hop)
        require(len(ends) <= (around.most_answers if last else _MIDDLE) and topic not in ends)
        require(not np.isin(ends, before).any())
        end = end_of(around.graph, ends, hop.relation, hop.direction)
        if last:
            wordings = tuple(
                text
                for name in names
                for wording in around.wordings(hop.relation)
                for text in questions(wording, hop.direction, name, end, many=len(ends) > 1)
            )
            return _draft(around, ("one", "two", "three")[length - 1], wordings, (GoldPath(topic, hops),), ends)
        require(around.are_entities(ends))
        phrases = [
            noun_phrase(wording, hop.direction, name, end)
            for name in names
            for wording in around.wordings(hop.relation)
        ]
        names = [phrase for phrase in phrases if phrase][:_MIDDLE]
    raise DrawError


def _next(around: Surroundings, ends: IntArray, hops: Sequence[Hop], *, to_entities: bool) -> Hop:
    """A relation other than the last one, so that the path does not lead back."""
    found = around.hops(ends, to_entities=to_entities)
    return _first(hop for hop in found if not hops or hop.relation != hops[-1].relation)


def _first(hops: Iterable[Hop]) -> Hop:
    for hop in hops:
        return hop
    raise DrawError


def conjunction(around: Surroundings) -> Draft:
    """Two conditions, each of which alone has more answers."""
    conditions = _conditions(around, around.entity())
    require(len(conditions) > 1)
    paths = tuple(GoldPath(topic, (hop,)) for topic, hop in conditions[:2])
    sets = [around.ends([path.topic], path.hops[0]) for path in paths]
    shared = np.intersect1d(sets[0], sets[1])
    topics = [path.topic for path in paths]
    require(topics[0] != topics[1] and 0 < len(shared) < min(map(len, sets)) and not np.isin(topics, shared).any())
    ends = [end_of(around.graph, shared, path.hops[0].relation, path.hops[0].direction) for path in paths]
    end = next((end for end in ends if end.kind is EndKind.PERSON), ends[0])
    many = len(shared) > 1 and end.kind is not EndKind.PERSON and bool(end.noun)
    texts = []
    for first in _predicates(around, paths[0], many):
        for second in _predicates(around, paths[1], many):
            both = f"{first} and {second}"
            texts += [f"Who {both}?"] if end.kind is EndKind.PERSON else []
            texts += [f"Which {plural(end.noun)} {both}?"] if many else []
            texts += [f"Which {end.noun} {both}?"] if end.noun and not many else []
            texts += [f"What {both}?"] if not end.noun else []
    return _draft(around, "conjunction", tuple(texts), paths, shared)


def _conditions(around: Surroundings, answer: int) -> list[tuple[int, Hop]]:
    """One edge per relation of a node with a named other end: that end, and the hop from it to the node."""
    found = []
    for hop in around.hops([answer], to_entities=True):
        ends = around.ends([answer], hop)
        end = int(around.lot.choice(ends.tolist()))
        back = Hop(hop.relation, hop.direction.reverse)
        if around.is_named(end) and _predicates(around, GoldPath(end, (back,)), False):
            found.append((end, back))
    return found


def _predicates(around: Surroundings, path: GoldPath, many: bool) -> list[str]:
    hop, name = path.hops[0], around.name(path.topic)
    found = (predicate(wording, hop.direction, name, many=many) for wording in around.wordings(hop.relation))
    return [text for text in found if text]


def count(around: Surroundings) -> Draft:
    """The number of nodes at the end of a relation."""
    topic = around.entity()
    hop = _next(around, np.array([topic]), (), to_entities=True)
    ends = around.ends([topic], hop)
    require(_COUNTED[0] <= len(ends) <= _COUNTED[1] and around.are_entities(ends))
    end, name, texts = end_of(around.graph, ends, hop.relation, hop.direction), around.name(topic), []
    for wording in around.wordings(hop.relation):
        if hop.direction is Direction.OUT and wording.kind is WordingKind.NOUN:
            texts.append(f"How many {plural(wording.text)} does {name} have?")
        clause = predicate(wording, hop.direction, name, many=True)
        if hop.direction is Direction.IN and clause and (end.noun or end.kind is EndKind.PERSON):
            texts.append(f"How many {plural(end.noun or 'person')} {clause}?")
    return _draft(around, "count", tuple(texts), (GoldPath(topic, (hop,)),), ends, computed=str(len(ends)))


def comparison(around: Surroundings) -> Draft:
    """Which of two nodes has the greater or smaller value."""
    graph = around.graph
    first = around.entity()
    hop = _measure(around, [first])
    second = _like(around, first)
    require(second != first and hop in around.hops([second]))
    pair = np.array(sorted((first, second)), np.int64)
    require(all(len(around.ends([node], hop)) == 1 for node in pair))
    greatest = around.lot.random() < 0.5
    found = extreme(graph, pair, hop.relation, greatest=greatest)
    if found is None:
        raise DrawError
    value = end_of(graph, around.ends([first], hop), hop.relation, hop.direction)
    end = end_of(graph, pair, hop.relation, Direction.IN)
    a, b = (around.name(node) for node in around.lot.sample((first, second), 2))
    who = "Who" if end.kind is EndKind.PERSON else f"Which {end.noun}" if end.noun else "Which"
    texts = []
    for noun, word in _measured_by(around, hop, value, _GREATER if greatest else _SMALLER):
        which = "who" if who == "Who" else "which"
        texts += [f"{who} has the {word} {noun}, {a} or {b}?", f"Of {a} and {b}, {which} has the {word} {noun}?"]
    paths = (GoldPath(first, (hop,)), GoldPath(second, (hop,)))
    return _draft(around, "comparison", tuple(texts), paths, np.array([found], np.int64), check=False)


def superlative(around: Surroundings) -> Draft:
    """Which node at the end of a relation has the greatest or smallest value."""
    graph = around.graph
    topic = around.entity()
    hop = _next(around, np.array([topic]), (), to_entities=True)
    members = around.ends([topic], hop)
    require(_COMPARED[0] <= len(members) <= _COMPARED[1] and around.are_entities(members))
    measure = _measure(around, members)
    require(holds(around.kb, (GoldPath(topic, (hop,)),), members))
    greatest = around.lot.random() < 0.5
    found = extreme(graph, members, measure.relation, greatest=greatest)
    if found is None:
        raise DrawError
    value = end_of(graph, around.ends(members, measure), measure.relation, measure.direction)
    end, name, texts = end_of(graph, members, hop.relation, hop.direction), around.name(topic), []
    for noun, word in _measured_by(around, measure, value, _GREATEST if greatest else _SMALLEST):
        for wording in around.wordings(hop.relation):
            phrase = noun_phrase(wording, hop.direction, name, end, many=True)
            if phrase:
                which = "who" if end.kind is EndKind.PERSON else "which"
                texts += [f"Which of {phrase} has the {word} {noun}?", f"Of {phrase}, {which} has the {word} {noun}?"]
    path = GoldPath(topic, (hop, measure))
    return _draft(around, "superlative", tuple(texts), (path,), np.array([found], np.int64), check=False)


def unanswerable(around: Surroundings) -> Draft:
    """A relation that the named node does not have, but another node of the same type has."""
    graph = around.graph
    model = around.entity()
    hop = _next(around, np.array([model]), (), to_entities=False)
    require(hop.direction is Direction.OUT)
    end = end_of(graph, around.ends([model], hop), hop.relation, hop.direction)
    topic = _like(around, model)
    require(topic != model and all(h.relation != hop.relation for h in around.hops([topic])))
    texts = [
        text for w in around.wordings(hop.relation) for text in questions(w, hop.direction, around.name(topic), end)
    ]
    require(texts)
    return Draft("unanswerable", tuple(texts), (topic,), (), (), 1)


def _measure(around: Surroundings, nodes: Sequence[int] | IntArray) -> Hop:
    found = around.hops(nodes)
    return _first(hop for hop in found if hop.direction is Direction.OUT and hop.relation in around.measures)


def _measured_by(
    around: Surroundings, hop: Hop, value: End, words: dict[str, tuple[str, ...]]
) -> list[tuple[str, str]]:
    """Nouns for the compared value, each with a comparative or superlative adjective."""
    fitting = words.get(value.kind.value, ())
    return [(w.text, word) for w in around.wordings(hop.relation) if w.kind is WordingKind.NOUN for word in fitting]


def _like(around: Surroundings, node: int) -> int:
    """A node of the same type; in a graph without types, a node with the same relation to the same node."""
    types = around.graph.types(node)
    if types:
        nodes = around.graph.nodes_of_type(types[0])
    else:
        hop = around.hops([node])[0]
        ends = around.ends([node], hop)
        nodes = around.ends([int(around.lot.choice(ends.tolist()))], Hop(hop.relation, hop.direction.reverse))
    return around.named(int(around.lot.choice(nodes.tolist())))


def _draft(
    around: Surroundings,
    kind: str,
    wordings: tuple[str, ...],
    paths: tuple[GoldPath, ...],
    ends: IntArray,
    *,
    computed: str | None = None,
    check: bool = True,
) -> Draft:
    """The draft, unless it has no wording or too many answers, or the solver finds other answers."""
    require(wordings and (computed is not None or 0 < len(ends) <= around.most_answers) and around.can_be_told(ends))
    require(not check or holds(around.kb, paths, ends))
    answers = () if computed is not None else tuple(int(node) for node in ends)
    topics = tuple(dict.fromkeys(path.topic for path in paths))
    return Draft(kind, wordings, topics, answers, paths, max(len(path.hops) for path in paths), computed)


SHAPES: dict[str, Callable[[Surroundings], Draft]] = {
    "one": functools.partial(_chain, length=1),
    "two": functools.partial(_chain, length=2),
    "three": functools.partial(_chain, length=3),
    "conjunction": conjunction,
    "count": count,
    "comparison": comparison,
    "superlative": superlative,
    "unanswerable": unanswerable,
}
KINDS = tuple(SHAPES)
