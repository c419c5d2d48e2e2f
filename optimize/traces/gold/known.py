"""What is known of a question's answer, in terms of the graph and of prompts, and the right reply to a step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from triplecheck.kg import Direction, Graph, IntArray
from triplecheck.kg.relation_vectors import RelationVectors
from triplecheck.kg.types import Edge
from triplecheck.lms.prompt import COMPLETED, HEADER, Prompt
from triplecheck.lms.values import render
from triplecheck.optimize.traces.gold_paths import GoldPath, follow
from triplecheck.programs.subgraph import Hop, RelationNames, render_path
from triplecheck.signatures.notation import clean, read_topic

_FETCHED = 2_000  # edges per (node, relation, direction)
_XSD = "http://www.w3.org/2001/XMLSchema#"


@dataclass(frozen=True)
class GoldQuestion:
    """A question, and what is known of its answer in terms of the graph.

    Attributes:
        question: as the prompt has it; a program may have mended its spelling.
        topics: nodes that it is about.
        paths: that lead from them to the answers.
        answers: nodes; empty where the answer is computed, or there is none.
        computed: the answer as text, where it is no node.
        documents: titles of the documents that hold it, where they are known.
        mended: the question as its topics are spelt in the graph.
    """

    question: str
    topics: tuple[int, ...]
    paths: tuple[GoldPath, ...]
    answers: frozenset[int] = frozenset()
    computed: str | None = None
    documents: tuple[str, ...] = ()
    mended: str = ""


class Known:
    """Looks up in a graph, and in prompts, what is known of one question.

    Args:
        graph: that the question is about.
        relations: vectors of its relations, where the program writes them by their nearest wording.
        gold: the question.
    """

    def __init__(self, graph: Graph, relations: RelationVectors | None, gold: GoldQuestion) -> None:
        self.graph = graph
        self.gold = gold
        self.names = RelationNames(graph, relations, gold.question)
        self._labelled: dict[frozenset[int], frozenset[str]] = {}

    # --- along the gold paths ------------------------------------------------------------------
    @cached_property
    def chains(self) -> dict[GoldPath, tuple[frozenset[int], ...]]:
        """Of each gold path, by its number of hops from 0: the nodes there from which it leads to an answer.

        Where the answer is computed from what is at the end of a path, all of it.
        """
        return {path: self._chain(path) for path in self.gold.paths}

    @cached_property
    def measured(self) -> bool:
        """Whether the paths go on from the answers to values by which they are compared."""
        if not self.gold.paths or not self.gold.answers:
            return False
        range_ = self.graph.schema(self.gold.paths[0].hops[-1].relation).range
        ends_in_answers = any(self.graph.literal(node) is not None for node in self.gold.answers)
        return not ends_in_answers and bool(range_) and range_[0][0].startswith(_XSD)

    def alone(self, path: GoldPath) -> bool:
        """Whether a path leads to the answers and to nothing else, so that no other condition is needed."""
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
        """The gold paths, each with a name by which its topic goes in a prompt."""
        return [(name, path) for path in self.gold.paths for name in self.called(path.topic, prompt)]

    def called(self, node: int, prompt: Prompt) -> list[str]:
        """The names by which a node may go in a prompt: as written there, also with what tells homonyms apart."""
        names = (read_topic(line).name for line in prompt.items("topics"))
        return [name for name in names if self.is_called(name, [node])]

    def path_text(self, name: str, hops: Sequence[Hop]) -> str:
        """A path as it stands in a prompt, without a note."""
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
    """A name, and what is left of it without brackets at its end: those may tell it from others of the name."""
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
        taught: whether it can be told from its prompt alone. One that cannot (a passage written from what only
            the graph says) leads the program on, but who learnt it would learn to make things up.
    """

    outputs: Mapping[str, Any]
    taught: bool = True

    @property
    def text(self) -> str:
        """As a model would write it."""
        sections = (f"{HEADER.format(name=name)}\n{_written(value)}" for name, value in self.outputs.items())
        return "\n\n".join([*sections, f"{COMPLETED}\n"])


Solver = Callable[[Known, Prompt], GoldReply | None]
"""From what is known of a question and a prompt about it to the right reply; None where it cannot be computed."""


def _written(value: Any) -> str:
    kind: Any = type(value)
    if isinstance(value, list):
        kind = list[type(value[0])] if value else list[str]  # type: ignore[misc]  # a type that is known at run time
    return render(kind, value)
