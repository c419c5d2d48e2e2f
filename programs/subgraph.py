"""The retrieved subgraph: paths from the topics, and the facts along them.

A fact groups the edges of one (entity, relation, direction), as "head → relation → tail | tail": the
form in which it is shown in a prompt, cited, and split into triples again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from triplecheck.kg import Direction, Graph, IntArray
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.functions import stored_graph
from triplecheck.kg.graph import plain_properties
from triplecheck.kg.relation_vectors import RelationVectors
from triplecheck.kg.types import Edge
from triplecheck.programs.assists.time_conditions import TimeCondition
from triplecheck.signatures.notation import (
    BACKWARD,
    FORWARD,
    WrittenFact,
    WrittenHop,
    WrittenPath,
    clean,
    with_note,
    write_fact,
    write_path,
    write_wordings,
)

PathKey = tuple[int, "tuple[Hop, ...]"]
"""Identifies a path: the topic, and the hops from it."""

ARROWS = {Direction.OUT: FORWARD, Direction.IN: BACKWARD}


@dataclass(frozen=True, slots=True)
class Hop:
    """One relation followed in one direction."""

    relation: int
    direction: Direction


@dataclass(frozen=True)
class Path:
    """Relations followed from a topic, and the nodes at their end.

    Attributes:
        ends: nodes at its end, shape (n,), ascending.
    """

    topic: int
    hops: tuple[Hop, ...] = ()
    ends: IntArray = field(default_factory=lambda: np.empty(0, np.int64), compare=False, hash=False)

    @property
    def key(self) -> PathKey:
        """Identifies the path, without the nodes at its end."""
        return self.topic, self.hops


@dataclass(frozen=True)
class Fact:
    """The edges of one (entity, relation, direction).

    Attributes:
        anchor: the entity from which the relation was followed.
        hop: the relation and direction.
        values: nodes at the other end, in the graph's order.
        total: number of values in the graph; more than `values` if a limit cut some off.
        path: (topic, hops) of the path whose last hop this fact is.
    """

    anchor: int
    hop: Hop
    values: tuple[int, ...]
    total: int
    path: PathKey

    def triples(self, only: Iterable[int] | None = None) -> list[tuple[int, int, int]]:
        """(head, relation, tail) of its edges, of all values or of these."""
        chosen = None if only is None else set(only)
        return [self.edge(value) for value in self.values if chosen is None or value in chosen]

    def edge(self, value: int) -> Edge:
        """(head, relation, tail) of the edge to one value."""
        ends = (self.anchor, value) if self.hop.direction is Direction.OUT else (value, self.anchor)
        return ends[0], self.hop.relation, ends[1]


def reached(facts: Iterable[Fact]) -> dict[int, set[int]]:
    """For each topic of the facts, the nodes that its facts lead to."""
    found: dict[int, set[int]] = {}
    for fact in facts:
        found.setdefault(fact.path[0], set()).update(fact.values)
    return found


class Subgraph:
    """What was retrieved.

    Args:
        condition: the time that the question is about; edges that hold at another time are not fetched.

    Attributes:
        facts: in the order in which they were fetched; see `add`.
        cut: keys of the paths with entities that were not expanded.
    """

    def __init__(self, condition: TimeCondition | None = None) -> None:
        self.facts: list[Fact] = []
        self.cut: set[PathKey] = set()
        self.condition = condition
        # By (path, value) the first fact that leads there, and the paths with a fact that was cut short.
        self._leads: dict[tuple[PathKey, int], Fact] = {}
        self._shortened: set[PathKey] = set()

    def add(self, fact: Fact) -> None:
        """Add a fact."""
        self.facts.append(fact)
        for value in fact.values:
            self._leads.setdefault((fact.path, value), fact)
        if fact.total > len(fact.values):
            self._shortened.add(fact.path)

    def __len__(self) -> int:
        return len(self.facts)

    @property
    def num_triples(self) -> int:
        """Edges in all facts."""
        return sum(len(fact.values) for fact in self.facts)

    @property
    def nodes(self) -> frozenset[int]:
        """Nodes in all facts."""
        return frozenset(node for fact in self.facts for node in (fact.anchor, *fact.values))

    def incomplete(self, fact: Fact) -> bool:
        """Whether a limit cut off entities on the path of a fact, so similar facts may be missing."""
        topic, hops = fact.path
        before = {(topic, hops[:length]) for length in range(1, len(hops))}
        return not self.cut.isdisjoint({*before, fact.path}) or not self._shortened.isdisjoint(before)

    def chain(self, fact: Fact) -> list[tuple[int, int, int]]:
        """Triples that lead from the topic of a fact's path to its anchor, as proof."""
        topic, hops = fact.path
        link = self._leads.get(((topic, hops[:-1]), fact.anchor))
        return [] if link is None else [*self.chain(link), *link.triples([fact.anchor])]


def render_path(name: str, hops: Sequence[Hop], relations: RelationNames, note: str = "") -> str:
    """A path as "Bernhard Heiden → student of → nationality", with a note on the nodes at its end."""
    return write_path(WrittenPath(name, tuple(_written(hop, relations) for hop in hops), note))


def render_fact(fact: Fact, names: dict[int, str], relations: RelationNames, graph: Graph | None = None) -> str:
    """A fact as it is written in the prompt.

    Args:
        names: the text of each node, with homonyms disambiguated.
        graph: where the properties of its edges are; None writes none. Of a graph on a server none are written, because
            each would be a query.
    """
    values = tuple(names[value] for value in fact.values)
    more = max(fact.total - len(values), 0)
    said: tuple[str, ...] = ()
    if graph is not None and isinstance(stored_graph(graph), ColumnarGraph) and graph.has_edge_properties:
        said = tuple(_said_of(graph, fact.edge(value)) for value in fact.values)
    hop = _written(fact.hop, relations)
    return write_fact(WrittenFact(names[fact.anchor], hop, values, more, edges=said if any(said) else ()))


def _said_of(graph: Graph, edge: Edge) -> str:
    """The statements of an edge: "from: 2017; until: 2019 / from: 2021"."""
    statements = map(plain_properties, graph.edge_properties(*edge))
    texts = (clean("; ".join(f"{name}: {value}" for name, value in one.items())) for one in statements)
    return write_wordings([text for text in texts if text])


def _written(hop: Hop, relations: RelationNames) -> WrittenHop:
    return WrittenHop(relations[hop.relation], ARROWS[hop.direction])


class RelationNames:
    """The text of each relation in the prompts of one question: its label, and an alias if that is more similar.

    Computed on demand: a graph may have many relations, and may be remote.

    Args:
        vectors: of all their wordings; None to write labels alone.
    """

    def __init__(self, graph: Graph, vectors: RelationVectors | None, question: str) -> None:
        self._graph = graph
        self._nearest = None if vectors is None else vectors.nearest_wordings(question)
        self._names: dict[int, str] = {}

    def __getitem__(self, relation: int) -> str:
        if relation not in self._names:
            about = self._graph.relation(relation)
            at = 0 if self._nearest is None else int(self._nearest[relation])
            self._names[relation] = clean(write_wordings([about.label, *([about.aliases[at - 1]] if at else ())]))
        return self._names[relation]


def node_names(graph: Graph, nodes: Iterable[int]) -> dict[int, str]:
    """A distinct text for each node: its label, with type, description or id if labels coincide.

    Marks of the notation are taken out of labels, so that a fact can be read back.
    """
    order = list(dict.fromkeys(nodes))
    labels = graph.labels(order) if order else []
    plain = {n: clean(label) or clean(graph.node_id(n)) or "?" for n, label in zip(order, labels, strict=True)}
    names = dict(plain)
    for distinction in _DISTINCTIONS:
        for node in _alike(names):
            # Literals with the same text are the same; entities are disambiguated.
            if graph.literal(node) is None and (what := clean(distinction(graph, node))):
                names[node] = with_note(plain[node], what)
    return names


def by_plain_name(graph: Graph, nodes: Collection[int]) -> dict[str, list[int]]:
    """Nodes by their label in prompts, without the note that tells homonyms apart."""
    order = sorted(nodes)
    found: dict[str, list[int]] = {}
    for node, label in zip(order, graph.labels(order) if order else [], strict=True):
        found.setdefault(clean(label), []).append(node)
    return found


def nodes_called(graph: Graph, text: str, nodes: Mapping[str, Sequence[int]]) -> Iterator[int]:
    """The nodes of `by_plain_name` that a text of a prompt names, with a note of `node_names` or without."""
    yield from nodes.get(text, ())
    starts = (text[:at] for at in range(len(text)) if text.startswith(" (", at))
    yield from (node for start in starts for node in nodes.get(start, ()) if text in noted_names(graph, node))


def noted_names(graph: Graph, node: int) -> set[str]:
    """The texts of a node in prompts where a note tells it from homonyms."""
    plain = clean(graph.label(node))
    notes = (clean(distinction(graph, node)) for distinction in _DISTINCTIONS)
    return {with_note(plain, note) for note in notes if note}


def names_of_facts(graph: Graph, facts: Iterable[Fact], topics: Mapping[int, str]) -> dict[int, str]:
    """The text of each node in a prompt with facts; `topics` have theirs."""
    return node_names(graph, [node for fact in facts for node in (fact.anchor, *fact.values)]) | dict(topics)


def _alike(names: dict[int, str]) -> list[int]:
    by_name: dict[str, list[int]] = {}
    for node, name in names.items():
        by_name.setdefault(name, []).append(node)
    return [node for same in by_name.values() if len(same) > 1 for node in same]


_DISTINCTIONS: tuple[Callable[[Graph, int], str], ...] = (
    lambda graph, node: ", ".join(graph.type_label(kind) for kind in graph.types(node)[:2]),
    lambda graph, node: graph.entity(node).description[:60],
    lambda graph, node: graph.node_id(node),
    lambda graph, node: f"no. {node}",
)
"""What tells homonyms apart, in the order in which it is tried."""
