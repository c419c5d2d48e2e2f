"""`described`: things that a question describes by their class instead of naming them: "the longest river".

A model says which class, relation and choice the description means (`PickFromClass`); code picks the things.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from triplecheck.kg import Direction, Graph, IntArray, normalize
from triplecheck.kg.patterns import BoundPattern, Link, Query, extreme, match
from triplecheck.kg.types import Edge
from triplecheck.kg.values import quantity, value_of
from triplecheck.language.described import asked_class, describe, nouns, says_nothing_else
from triplecheck.lms import RolePredict
from triplecheck.programs.assists.table import Assists
from triplecheck.programs.base import Program
from triplecheck.programs.expansion import valid_numbers
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.steps import Linked, Picked, Trace, Truncated, listed
from triplecheck.programs.subgraph import RelationNames
from triplecheck.programs.topics import Topic
from triplecheck.signatures import Choice, PickFromClass
from triplecheck.signatures.notation import ANYTHING_WITH, WrittenRelation, clean, with_note, write_relation

_CLASSES, _RELATIONS = 12, 40
_SAMPLED, _PER_NODE = 300, 5
_AROUND = 1_000  # things next to a place, by each relation
_HEADS = 10  # relations whose heads are offered as a class
_MOSTLY = 0.8  # share of values that must be numbers or dates
_TYPES_SHOWN = 2


@dataclass(frozen=True)
class Group:
    """The things that a description means.

    Attributes:
        description: the words of the question.
        nodes: the things, ascending; all of them if several are equally extreme.
        choice: how they were picked.
        size: number of things among which they were picked.
        evidence: the triples that single them out.
        whole: whether the question asks for nothing else, so that they are its answer.
    """

    description: str
    nodes: tuple[int, ...]
    choice: Choice
    size: int
    evidence: tuple[Edge, ...]
    whole: bool

    def outcome(self, graph: Graph) -> Outcome:
        """The things, or their number, as the answer."""
        if self.choice == "count":
            return Outcome(str(self.size), grounded=True)
        return Outcome(", ".join(graph.labels(list(self.nodes))), self.nodes, self.evidence, grounded=True)

    def topics(self, graph: Graph, limit: int, trace: Trace) -> tuple[int, ...]:
        """The things as topics, at most `limit`; the trace records that they are linked."""
        chosen = self.nodes[:limit]
        if len(chosen) < len(self.nodes):
            trace.add(Truncated(f"things that are {self.description}", len(chosen), len(self.nodes)))
        labels = zip(chosen, graph.labels(list(chosen)), strict=True)
        rows = [{"id": graph.node_id(node), "label": label, "source": "picked", "score": 1.0} for node, label in labels]
        trace.add(Linked(self.description, rows, [str(row["id"]) for row in rows]))
        return chosen


@dataclass(frozen=True)
class _Option:
    """A relation by which things of a class may be singled out.

    `other` is the type at its other end; None for numbers, dates, and things without a type.
    """

    types: tuple[str, ...]
    relation: int
    directions: tuple[Direction, ...]
    other: str | None
    line: str


def picking_step(assists: Assists) -> RolePredict | None:
    """The step that says what a description means, if it is asked for."""
    return RolePredict(PickFromClass, role="extract") if "described" in assists else None


def described(assists: Assists, classes: Classes, step: RolePredict | None, trace: Trace) -> Group | None:
    """The things that a question describes, if it does so by a superlative or names no topic; else None.

    Args:
        assists: those in use.
        classes: that the question speaks of.
        step: of `picking_step`.
        trace: records what was picked.
    """
    if step is None or "described" not in assists or not (classes.describes or not classes.topics):
        return None
    picked = classes.pick(step, trace)
    if picked is not None:
        named = [topic.written for topic in classes.topics]
        assists.note(trace, "described", "PickFromClass", named, [picked.description])
    return picked


class Classes:
    """The classes that one question speaks of.

    Args:
        program: has the graph.
        question: the question.
        topics: the things that it names.
        shown: these as prompts show them.
        relations: the wording of each relation in prompts.
    """

    def __init__(
        self, program: Program, question: str, topics: Sequence[Topic], shown: Sequence[str], relations: RelationNames
    ) -> None:
        self.topics = topics
        self._shown = shown
        self._program = program
        self._graph = program.graph
        self._question = question
        self._relations = relations
        self._read = program.read(question, shown)
        self._domains: dict[str, int] = {}

    @functools.cached_property
    def _ids(self) -> dict[str, list[str]]:
        """The classes that the question names, each with the ids of its types."""
        labels: dict[str, list[str]] = {}
        for id in self._graph.type_ids:
            labels.setdefault(clean(self._graph.type_label(id)), []).append(id)
        return {name: labels[name] for name in nouns(self._read, list(labels))[:_CLASSES]}

    @property
    def asked(self) -> tuple[str, tuple[str, ...]] | None:
        """The class of things that the question asks for, in words and as ids of types; None if it names none."""
        names = asked_class(self._read, list(self._ids))
        return (names[0], tuple(id for name in names for id in self._ids[name])) if names else None

    @property
    def describes(self) -> bool:
        """Whether the question describes things of a class of the graph by a superlative."""
        found = describe(self._read, list(self._ids), self._relation_labels())
        return found is not None and bool(found.names) and found.choice not in ("all", "count")

    def pick(self, step: RolePredict, trace: Trace) -> Group | None:
        """Ask what the question describes, and pick it; None if it describes nothing of the graph."""
        members = {name: self._members(ids) for name, ids in self._ids.items()} or self._heads()
        if not members:
            return None
        options = self._options(members)
        reply = step(
            question=self._question,
            topics=list(self._shown),
            classes=[with_note(name, str(len(nodes))) for name, nodes in members.items()],
            relations=[option.line for option in options],
        )
        self._program.wrote(trace, step, reply)
        names = list(members)
        chosen = [names[n - 1] for n in valid_numbers("class", reply.chosen, len(names), trace)]
        by = [options[n - 1] for n in valid_numbers("relation", reply.by, len(options), trace)]
        if reply.description.strip().casefold() in ("", "none"):
            return None
        if any(normalize(topic.written) not in normalize(reply.description) for topic in self.topics):
            return None  # the question says more of what it names than the description
        if reply.choice == "count" and not self._read.counts:
            return None  # the question does not ask how many
        nodes = np.unique(np.concatenate([members[name] for name in chosen])) if chosen else None
        return self._picked(reply.description.strip(), reply.choice, chosen, nodes, by, trace)

    # --- what is offered -----------------------------------------------------------------------
    def _members(self, types: Sequence[str]) -> IntArray:
        return np.unique(np.concatenate([self._graph.nodes_of_type(id) for id in types]))

    def _heads(self) -> dict[str, IntArray]:
        """Where no class is named, everything that has a relation, for the relations that fit the question best."""
        vectors = self._program.sources.relations
        if vectors is None:
            return {}
        found = {}
        for relation in np.argsort(-vectors.against(self._question), kind="stable")[:_HEADS].tolist():
            heads = match(self._graph, Query((BoundPattern("x", Link((relation,)), "y", ""),))).nodes("x")
            if heads is not None and len(heads):
                name = f"{ANYTHING_WITH}{self._relations[relation]}"
                found[name] = heads
                self._domains[name] = relation
        return found

    def _relation_labels(self) -> list[str]:
        return [self._graph.relation(number).label for number in range(self._graph.num_relations)]

    def _options(self, members: Mapping[str, IntArray]) -> list[_Option]:
        """The relations of the classes; without a class, those of numbers and dates that fit the question best."""
        found: dict[str, _Option] = {}
        for name, nodes in members.items():
            sample = (
                nodes[np.linspace(0, len(nodes) - 1, min(_SAMPLED, len(nodes))).astype(int)] if len(nodes) else nodes
            )
            only = self._domains.get(name)
            for count in self._graph.relation_counts(sample):
                if only is not None and (count.relation, count.direction) != (only, Direction.OUT):
                    continue
                for option in self._at(name, sample, count.relation, count.direction):
                    known = found.get(option.line)
                    both = option if known is None else _merged(known, option)
                    found[option.line] = both
        options = list(found.values())
        vectors = self._program.sources.relations
        if vectors is not None and len(options) > _RELATIONS:
            scores = vectors.against(self._question)
            options.sort(key=lambda option: -float(scores[option.relation]))
        return options[:_RELATIONS]

    def _at(self, name: str, sample: IntArray, relation: int, direction: Direction) -> list[_Option]:
        edges = self._graph.expand(sample, relation, direction, _PER_NODE)
        far = (edges.tails if direction is Direction.OUT else edges.heads)[:_SAMPLED].tolist()
        sizes = [quantity(value_of(self._graph, node)) for node in far]
        types = tuple(self._ids.get(name, ()))
        kinds = Counter(size.sense for size in sizes if size is not None)
        label = self._relations[relation]
        if direction is Direction.OUT and kinds.total() >= _MOSTLY * len(far):
            what = "date" if kinds.most_common(1)[0][0] == "time" else "number"
            return [_Option(types, relation, (direction,), None, write_relation(WrittenRelation(label, name, what)))]
        near = edges.heads if direction is Direction.OUT else edges.tails
        note = "one each" if len(np.unique(near)) == len(near) else ""
        others = Counter(kind for node in far for kind in self._graph.types(node))
        if not others:
            line = with_note(write_relation(WrittenRelation(label, name, "thing")), note)
            return [_Option(types, relation, (direction,), None, line)]
        found = []
        for other, _ in others.most_common(_TYPES_SHOWN):
            end = clean(self._graph.type_label(other))
            ends = (name, end) if direction is Direction.OUT else (end, name)
            line = with_note(write_relation(WrittenRelation(label, *ends)), note)
            found.append(_Option(types, relation, (direction,), other, line))
        return found

    # --- picking -------------------------------------------------------------------------------
    def _picked(
        self,
        description: str,
        choice: Choice,
        names: Sequence[str],
        nodes: IntArray | None,
        by: Sequence[_Option],
        trace: Trace,
    ) -> Group | None:
        if nodes is None:
            return None
        nodes, evidence = self._around(nodes, description)
        if not len(nodes):
            return None
        size = len(nodes)
        whole = says_nothing_else(self._read, description)
        if choice in ("max", "min", "most", "fewest"):
            if not by:
                return None
            found = (
                self._extreme(nodes, by[0], greatest=choice == "max")
                if choice in ("max", "min")
                else self._counted(nodes, by[0], greatest=choice == "most")
            )
            if found is None:
                return None
            nodes, singled_out = found
            evidence = (
                *(edge for edge in evidence if not {edge[0], edge[2]}.isdisjoint(found[0].tolist())),
                *singled_out,
            )
        result = str(size) if choice == "count" else listed(self._graph.labels(nodes))
        relation = self._relations[by[0].relation] if by and choice not in ("all", "count") else ""
        trace.add(Picked(description, ", ".join(names), choice, relation, size, result, whole))
        return Group(description, tuple(nodes.tolist()), choice, size, evidence, whole)

    def _around(self, nodes: IntArray, description: str) -> tuple[IntArray, tuple[Edge, ...]]:
        """Of some things those that are related to the topics in their description, and the triples that say so.

        Of several relations it is the one that is most similar to the description.
        """
        evidence: list[Edge] = []
        places: dict[str, list[int]] = {}
        for topic in self.topics:
            if normalize(topic.written) in normalize(description):
                places.setdefault(topic.written, []).append(topic.node)
        for place in places.values():
            found, edges = self._next_to(place, nodes, description)
            if not len(found):  # "rivers in the country": through things that are next to both
                around = self._graph.expand(place, limit_per_node=_AROUND)
                between = np.unique(np.concatenate([around.heads, around.tails]))
                found, edges = self._next_to(between, nodes, description)
            nodes = found
            evidence += edges
        return nodes, tuple(evidence)

    def _next_to(
        self, places: IntArray | Sequence[int], nodes: IntArray, description: str
    ) -> tuple[IntArray, list[Edge]]:
        """Of some things those next to places by one relation, and the edges between."""
        found: list[tuple[int, Edge]] = []
        for direction in Direction:
            edges = self._graph.expand(places, None, direction)
            far = edges.tails if direction is Direction.OUT else edges.heads
            kept = np.isin(far, nodes)
            columns = (far, edges.heads, edges.relations, edges.tails)
            rows = zip(*(column[kept].tolist() for column in columns), strict=True)
            found += [(end, (head, relation, tail)) for end, head, relation, tail in rows]
        relations = np.unique(np.array([relation for _, (_, relation, _) in found], np.int64))
        vectors = self._program.sources.relations
        if len(relations) > 1 and vectors is not None:
            relations = relations[[int(np.argmax(vectors.against(description)[relations]))]]
        chosen = [(end, edge) for end, edge in found if edge[1] in relations]
        return np.unique(np.array([end for end, _ in chosen], np.int64)), [edge for _, edge in chosen]

    def _extreme(self, nodes: IntArray, by: _Option, *, greatest: bool) -> tuple[IntArray, tuple[Edge, ...]] | None:
        found = extreme(self._graph, nodes, by.relation, greatest=greatest)
        return (np.array(found.nodes, np.int64), found.triples) if found.nodes else None

    def _counted(self, nodes: IntArray, by: _Option, *, greatest: bool) -> tuple[IntArray, tuple[Edge, ...]] | None:
        """Those with the most or fewest different things at the other end of a relation."""
        wanted = None if by.other is None else self._graph.nodes_of_type(by.other)
        near, far, edges = [], [], []
        for direction in by.directions:
            found = self._graph.expand(nodes, by.relation, direction)
            one, two = (found.heads, found.tails) if direction is Direction.OUT else (found.tails, found.heads)
            kept = np.ones(len(two), bool) if wanted is None else np.isin(two, wanted)
            near.append(one[kept])
            far.append(two[kept])
            edges.append(np.stack([found.heads[kept], found.tails[kept]], axis=1))
        pairs, first = np.unique(
            np.stack([np.concatenate(near), np.concatenate(far)], axis=1), axis=0, return_index=True
        )
        if not len(pairs):
            return None
        starts, numbers = np.unique(pairs[:, 0], return_counts=True)
        best = starts[numbers == (numbers.max() if greatest else numbers.min())]
        ends = np.concatenate(edges)[first[np.isin(pairs[:, 0], best)]].tolist()
        return best, tuple((head, by.relation, tail) for head, tail in ends)


def _merged(one: _Option, other: _Option) -> _Option:
    directions = tuple(dict.fromkeys((*one.directions, *other.directions)))
    return _Option(tuple(dict.fromkeys((*one.types, *other.types))), one.relation, directions, one.other, one.line)
