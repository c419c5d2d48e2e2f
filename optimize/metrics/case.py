"""A question with everything that is known of its answer, looked up in one graph once."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Self

from triplecheck.evals.gold import Gold, linker_names, resolve_gold
from triplecheck.evals.questions import Question
from triplecheck.kg import Direction, Graph, normalize
from triplecheck.kg.plausibility import Grounder
from triplecheck.optimize.metrics.gold_paths import Hops, gold_paths
from triplecheck.programs import Sources

_FURTHEST = 3
_HITS = 5
_NEIGHBOURS = 200


class Case:
    """What a metric holds an answer, or a step on the way to it, against.

    Shared by all copies: optimizers copy what they are given deeply.

    Args:
        question: with its answers.
        sources: the graph and how to find things in it.
    """

    def __init__(self, question: Question, sources: Sources) -> None:
        self.question = question
        self.sources = sources

    @property
    def graph(self) -> Graph:
        """The graph that everything is looked up in."""
        return self.sources.graph

    @cached_property
    def gold(self) -> Gold:
        """The right answers and topics as nodes and forms."""
        return resolve_gold(self.question, self.graph, linker_names(self.sources.linker))

    @cached_property
    def answers(self) -> frozenset[int]:
        """Nodes that are right answers."""
        return frozenset[int]().union(*(answer.nodes for answer in self.gold.answers))

    @cached_property
    def answer_names(self) -> frozenset[str]:
        """Names of right answers, normalised."""
        return frozenset(name for text in self.gold.texts if (name := normalize(text)))

    @cached_property
    def topics(self) -> frozenset[int]:
        """Nodes that the question is about."""
        return frozenset[int]().union(*self.gold.topics)

    @cached_property
    def paths(self) -> tuple[Hops, ...]:
        """Relations that lead from the topics to the answers; none: not known."""
        hops = self.question.hops
        furthest = min(hops, _FURTHEST) if isinstance(hops, int) else _FURTHEST - 1
        return gold_paths(self.graph, self.question, self.gold.topics, self.answers, furthest)

    @cached_property
    def grounder(self) -> Grounder:
        """Places triples in words in the graph."""
        return Grounder(self.graph, self.sources.linker, self.sources.relations)

    def names_answer(self, text: str) -> bool:
        """Whether a text has a right answer in it, as whole words."""
        words = f" {normalize(text)} "
        return any(f" {name} " in words for name in self.answer_names)

    def found_by(self, query: str) -> bool:
        """Whether looking a query up finds a right answer: in a document, or next to what the query names."""
        documents = self.sources.documents
        if documents is not None:
            hits = documents.search(query, _HITS)
            if any(self.names_answer(f"{hit.title} {hit.text}") for hit in hits):
                return True
        return any(self.answers & self._around(node) for node in self._named(query))

    def _named(self, text: str) -> Iterable[int]:
        for mention in self.sources.linker.mentions(text):
            yield from (candidate.node for candidate in self.sources.linker.candidates(mention, None, 1))

    def _around(self, node: int) -> frozenset[int]:
        found = {node}
        for count in self.graph.relation_counts([node]):
            edges = self.graph.expand([node], count.relation, count.direction, _NEIGHBOURS)
            ends = edges.tails if count.direction is Direction.OUT else edges.heads
            found.update(int(end) for end in ends)
        return frozenset(found)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self
