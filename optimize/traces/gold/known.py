"""Known answers in terms of the graph and of prompts, and the right reply to a step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from triplecheck.kg import Direction, Graph, IntArray
from triplecheck.kg.types import Edge
from triplecheck.lms.prompt import COMPLETED, HEADER, Prompt
from triplecheck.lms.values import SCORES, render
from triplecheck.optimize.traces.gold_paths import GoldPath, follow
from triplecheck.programs.subgraph import Hop, RelationNames, render_path
from triplecheck.signatures.notation import clean, read_topic

_FETCHED = 2_000  # edges per (node, relation, direction)
_XSD = "http://www.w3.org/2001/XMLSchema#"


@dataclass(frozen=True)
class GoldQuestion:
    """A question and its answer in terms of the graph.

    Attributes:
        question: as in the prompt, possibly with corrected spelling.
        topics: nodes that it is about.
        paths: that lead from them to the answers.
        answers: nodes; empty if the answer is computed, or there is none.
        computed: the answer as text, if it is not a node.
        documents: titles of the documents with the answer, if known.
        mended: the question with its topics spelt as in the graph.
        plan: the query that computes the answer, or `none` if the graph cannot tell; None: not known.
    """

    question: str
    topics: tuple[int, ...]
    paths: tuple[GoldPath, ...]
    answers: frozenset[int] = frozenset()
    computed: str | None = None
    documents: tuple[str, ...] = ()
    mended: str = ""
    plan: str | None = None


class KnownGold:
    """Finds the gold paths of one question in the graph and in prompts.

    Args:
        graph: that the question is about.
        gold: the question.
    """

    def __init__(self, graph: Graph, gold: GoldQuestion) -> None:
        self.graph = graph
        self.gold = gold
        self.names = RelationNames(graph, None, gold.question)
        self._labelled: dict[frozenset[int], frozenset[str]] = {}

    # --- along the gold paths ------------------------------------------------------------------
    @cached_property
    def chains(self) -> dict[GoldPath, tuple[frozenset[int], ...]]:
        """Per gold path, for each number of hops from 0: the nodes from which the path leads to an answer.

        If the answer is computed from the end of the path, all nodes.
        """
        return {path: self._chain(path) for path in self.gold.paths}

    @cached_property
    def measured(self) -> bool:
        """Whether the paths continue from the answers to values that are compared."""
        if not self.gold.paths or not self.gold.answers:
            return False
        range_ = self.graph.schema(self.gold.paths[0].hops[-1].relation).range
        ends_in_answers = any(self.graph.literal(node) is not None for node in self.gold.answers)
        return not ends_in_answers and bool(range_) and range_[0][0].startswith(_XSD)

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The types of the answers, as prompts write them."""
        types = {kind for node in self.gold.answers for kind in self.graph.types(node)}
        return frozenset(clean(self.graph.type_label(kind)) for kind in types)

    def alone(self, path: GoldPath) -> bool:
        """Whether a path leads only to the answers, so no other condition is needed."""
        ends = set(self._reached(path)[-1].tolist())
        return bool(self.gold.answers) and ends - set(self.gold.topics) <= self.gold.answers

    def edges(self, path: GoldPath) -> list[list[Edge]]:
        """The edges of a path that lead to an answer, hop by hop."""
        chain = self.chains[path]
        return [
            list(_edges(self.graph, sorted(before), hop, after))
            for before, hop, after in zip(chain, path.hops, chain[1:], strict=False)
        ]

    def _reached(self, path: GoldPath) -> list[IntArray]:
        levels: list[IntArray] = [np.array([path.topic], np.int64)]
        for hop in path.hops:
            levels.append(follow(self.graph, levels[-1], hop))
        return levels

    def _chain(self, path: GoldPath) -> tuple[frozenset[int], ...]:
        levels = self._reached(path)
        last = frozenset(levels[-1].tolist())
        if self.gold.computed is None and not self.measured:
            last &= self.gold.answers
        kept = [last]
        for nodes, hop in zip(reversed(levels[:-1]), reversed(path.hops), strict=True):
            back = follow(self.graph, np.array(sorted(kept[0]), np.int64), Hop(hop.relation, hop.direction.reverse))
            kept.insert(0, frozenset(nodes.tolist()) & frozenset(back.tolist()))
        return tuple(kept)

    # --- in the words of prompts ---------------------------------------------------------------
    def starts(self, prompt: Prompt) -> list[tuple[str, GoldPath]]:
        """The gold paths, each with a name of its topic in a prompt."""
        return [(name, path) for path in self.gold.paths for name in self.called(path.topic, prompt)]

    def called(self, node: int, prompt: Prompt) -> list[str]:
        """The names of a node among the topics of a prompt."""
        names = (read_topic(line).name for line in prompt.items("topics"))
        return [name for name in names if self.is_called(name, [node])]

    def path_text(self, name: str, hops: Sequence[Hop]) -> str:
        """A path as it stands in a prompt, its relations by their labels alone, without a note."""
        return render_path(name, hops, self.names)

    def is_called(self, text: str, nodes: Collection[int]) -> bool:
        """Whether a text of a prompt is the name of one of these nodes."""
        return not self._labels(frozenset(nodes)).isdisjoint(_without_notes(text))

    def is_answer(self, text: str) -> bool:
        """Whether a text of a prompt is the name of an answer."""
        return self.is_called(text, self.gold.answers)

    def _labels(self, nodes: frozenset[int]) -> frozenset[str]:
        if nodes not in self._labelled:
            self._labelled[nodes] = frozenset(map(clean, self.graph.labels(sorted(nodes) or [])))
        return self._labelled[nodes]


def _without_notes(text: str) -> set[str]:
    """A name, and its prefixes without the notes that tell homonyms apart."""
    starts = [at for at in range(len(text)) if text.startswith(" (", at)]
    return {text, *(text[:at] for at in starts)}


def _edges(graph: Graph, starts: Sequence[int], hop: Hop, ends: Collection[int]) -> Iterator[Edge]:
    found = graph.expand(starts, hop.relation, hop.direction, _FETCHED)
    for head, tail in zip(found.heads.tolist(), found.tails.tolist(), strict=True):
        if (tail if hop.direction is Direction.OUT else head) in ends:
            yield head, hop.relation, tail


@dataclass(frozen=True)
class GoldReply:
    """A right reply.

    Attributes:
        outputs: by output field.
        taught: whether it follows from the prompt alone, so it can be a training row. A passage written from the graph
            does not: a student would learn to make things up.
    """

    outputs: Mapping[str, Any]
    taught: bool = True

    @property
    def text(self) -> str:
        """As a model would write it."""
        sections = (f"{HEADER.format(name=name)}\n{_written(value)}" for name, value in self.outputs.items())
        return "\n\n".join([*sections, f"{COMPLETED}\n"])


Solver = Callable[[KnownGold, Prompt], GoldReply | None]
"""Computes the right reply to a prompt about a known question; None if it cannot be computed."""


def _written(value: Any) -> str:
    kind: Any = SCORES if isinstance(value, dict) else type(value)
    if isinstance(value, list):
        kind = list[type(value[0])] if value else list[str]  # type: ignore[misc]  # a type that is known at run time
    return render(kind, value)
