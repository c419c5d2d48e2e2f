"""Known answers in terms of the graph and of prompts, and the right reply to a step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from triplecheck.kg import Direction, Graph, TriplecheckError
from triplecheck.kg.types import Edge
from triplecheck.lms.prompt import COMPLETED, HEADER, Prompt
from triplecheck.lms.values import SCORES, render
from triplecheck.optimize.traces.derivations import Asked, Derivation
from triplecheck.optimize.traces.gold_paths import GoldPath, ends_of, follow
from triplecheck.optimize.traces.queries import NONE
from triplecheck.programs.subgraph import Hop, RelationNames, by_plain_name, nodes_called, render_path
from triplecheck.signatures.notation import read_topic

_FETCHED = 2_000  # edges per (node, relation, direction)


class NoRightReplyError(TriplecheckError):
    """No right reply to a step can be computed: it is not known how the answer follows from the graph."""

    lasting = True


@dataclass(frozen=True, eq=False)
class KnownGold:
    """A question and its answer in terms of the graph; finds its gold paths in the graph and in prompts.

    Attributes:
        question: as in the prompt, possibly with corrected spelling.
        topics: nodes that it is about.
        derivation: how the answers follow from the graph; None: not known, or there are none.
        answers: nodes; empty if the answer is computed, or there is none.
        computed: the answer as text, if it is not a node.
        documents: titles of the documents with the answer, if known.
        mended: the question with its topics spelt as in the graph.
        query: that gives the answer, `none` if a look-up is enough or there is no answer; None: not known.
        asked: the question, with the sources that queries are checked on; None: none is checked.
    """

    graph: Graph
    question: str
    topics: tuple[int, ...]
    derivation: Derivation | None = None
    answers: frozenset[int] = frozenset()
    computed: str | None = None
    documents: tuple[str, ...] = ()
    mended: str = ""
    query: str | None = None
    asked: Asked | None = None
    _by_name: dict[frozenset[int], Mapping[str, list[int]]] = field(default_factory=dict, init=False, repr=False)

    @property
    def paths(self) -> tuple[GoldPath, ...]:
        """That lead from the topics to the answers; empty: not known, or there are none."""
        return () if self.derivation is None else self.derivation.paths

    @property
    def is_solved(self) -> bool:
        """Whether it is known how the answers follow from the graph, or that there are none."""
        return self.derivation is not None or not (self.answers or self.computed)

    @property
    def has_topics(self) -> bool:
        """Whether its topics are known: a query that answers it without any shows that there are none."""
        return bool(self.topics) or self.query not in (None, NONE)

    @cached_property
    def names(self) -> RelationNames:
        """The relations as prompts write them."""
        return RelationNames(self.graph, None, self.question)

    # --- along the gold paths ------------------------------------------------------------------
    @cached_property
    def chains(self) -> dict[GoldPath, tuple[frozenset[int], ...]]:
        """Per gold path, for each number of hops from 0: the nodes from which the path leads to an answer.

        If the answer is computed from the end of the path, all nodes.
        """
        return {path: self._chain(path) for path in self.paths}

    @property
    def measured(self) -> bool:
        """Whether the paths continue from the answers, or from what is compared, to values."""
        return self.derivation is not None and self.derivation.beyond

    def alone(self, path: GoldPath) -> bool:
        """Whether a path leads only to the answers, so no other condition is needed."""
        ends = set(ends_of(self.graph, path)[-1].tolist())
        return bool(self.answers) and ends - set(self.topics) <= self.answers

    def edges(self, path: GoldPath) -> list[list[Edge]]:
        """The edges of a path that lead to an answer, hop by hop."""
        chain = self.chains[path]
        return [
            list(_edges(self.graph, sorted(before), hop, after))
            for before, hop, after in zip(chain, path.hops, chain[1:], strict=False)
        ]

    def _chain(self, path: GoldPath) -> tuple[frozenset[int], ...]:
        levels = ends_of(self.graph, path)
        last = frozenset(levels[-1].tolist())
        if self.computed is None and not self.measured:
            last &= self.answers
        kept = [last]
        for nodes, hop in zip(reversed(levels[:-1]), reversed(path.hops), strict=True):
            back = follow(self.graph, np.array(sorted(kept[0]), np.int64), Hop(hop.relation, hop.direction.reverse))
            kept.insert(0, frozenset(nodes.tolist()) & frozenset(back.tolist()))
        return tuple(kept)

    # --- in the words of prompts ---------------------------------------------------------------
    def starts(self, prompt: Prompt) -> list[tuple[str, GoldPath]]:
        """The gold paths, each with a name of its topic in a prompt."""
        return [(name, path) for path in self.paths for name in self.called(path.topic, prompt)]

    def called(self, node: int, prompt: Prompt) -> list[str]:
        """The names of a node among the topics of a prompt."""
        names = (read_topic(line).name for line in prompt.items("topics"))
        return [name for name in names if self.is_called(name, [node])]

    def path_text(self, name: str, hops: Sequence[Hop]) -> str:
        """A path as it stands in a prompt, its relations by their labels alone, without a note."""
        return render_path(name, hops, self.names)

    def is_called(self, text: str, nodes: Collection[int]) -> bool:
        """Whether a text of a prompt is the name of one of these nodes, with the note that tells homonyms apart."""
        key = frozenset(nodes)
        if key not in self._by_name:
            self._by_name[key] = by_plain_name(self.graph, key)
        return next(nodes_called(self.graph, text, self._by_name[key]), None) is not None

    def is_answer(self, text: str) -> bool:
        """Whether a text of a prompt is the name of an answer."""
        return self.is_called(text, self.answers)


def _edges(graph: Graph, starts: Sequence[int], hop: Hop, ends: Collection[int]) -> Iterator[Edge]:
    found = graph.expand(starts, hop.relation, hop.direction, _FETCHED)
    for head, tail in zip(found.heads.tolist(), found.tails.tolist(), strict=True):
        if (tail if hop.direction is Direction.OUT else head) in ends:
            yield head, hop.relation, tail


@dataclass(frozen=True)
class GoldReply:
    """A right reply.

    Attributes:
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
