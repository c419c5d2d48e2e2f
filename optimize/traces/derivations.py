"""How the answers of a question follow from the graph: paths that lead to them, and what is computed at their ends."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from triplecheck.evals.gold import Gold, linker_names
from triplecheck.evals.questions import Question
from triplecheck.kg import Graph, IntArray, normalize
from triplecheck.kg.encode import load_encoder
from triplecheck.language.pipeline import read_text
from triplecheck.language.question import Question as ReadQuestion
from triplecheck.language.question import read_question
from triplecheck.language.relevance import PathRelevance
from triplecheck.optimize.traces.gold_paths import GoldPath, ends_of
from triplecheck.programs import Sources
from triplecheck.programs.subgraph import ARROWS, Hop
from triplecheck.signatures.notation import WrittenHop, clean
from triplecheck.signatures.summarize import Operation

_MEANT = 5  # nodes that a name in a question may mean
_OFFERED = 400  # paths that are compared with a question


@dataclass(frozen=True)
class Derivation:
    """How the answers follow from the graph.

    Attributes:
        paths: from the topics. Several are conditions that must all hold, or sides that are compared.
        operation: what is computed, as in `signatures.AnswerFromFacts`.
        ends: the nodes that are counted or compared, or whose values are; empty: whatever the paths lead to.
        beyond: whether the last hop leads from the answers, or from what is compared, to values.
        said: the answer, if neither a node nor an operation gives it: yes or no.
    """

    paths: tuple[GoldPath, ...]
    operation: Operation = "none"
    ends: frozenset[int] = frozenset()
    beyond: bool = False
    said: str = ""

    @property
    def topics(self) -> tuple[int, ...]:
        """The nodes that the paths start from."""
        return tuple(dict.fromkeys(path.topic for path in self.paths))


@dataclass(frozen=True)
class Asked:
    """A question whose derivation is looked for.

    Attributes:
        sources: the graph, and how to find things in it.
        gold: its answers and topics as nodes.
        hops: maximum distance of answers from the topics.
    """

    sources: Sources
    question: Question
    gold: Gold
    hops: int

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self.sources.graph

    @cached_property
    def each_answer(self) -> tuple[frozenset[int], ...]:
        """Per answer in the graph the nodes that it may be: a value may have the same text as the name of a thing."""
        names, graph = linker_names(self.sources.linker), self.graph
        found = [set(answer.nodes) for answer in self.gold.answers if answer.nodes]
        for nodes in found:
            alike = {node for label in graph.labels(sorted(nodes)) for node in names(label)}
            nodes |= {node for node in alike if graph.literal(node) is not None}
        return tuple(map(frozenset, found))

    @cached_property
    def answers(self) -> frozenset[int]:
        """Nodes that are right answers."""
        return frozenset[int]().union(*self.each_answer)

    @cached_property
    def computed(self) -> str:
        """The answer as text, if it is computed; else empty."""
        return normalize(self.question.answers[0]) if self.question.computed and self.question.answers else ""

    @cached_property
    def topics(self) -> tuple[frozenset[int], ...]:
        """Per topic the nodes that it may be; what the question mentions, if the data set names none."""
        if self.gold.topics:
            return self.gold.topics
        linker, text = self.sources.linker, self.question.question
        mentions = linker.mentions(read_text(text, self.sources.language))
        found = (frozenset(c.node for c in linker.candidates(mention, None, _MEANT)) for mention in mentions)
        return tuple(dict.fromkeys(nodes for nodes in found if nodes))

    @cached_property
    def read(self) -> ReadQuestion:
        """The question, read."""
        shown = [self.graph.label(min(nodes)) for nodes in self.topics if nodes]
        return read_question(self.question.question, list(map(clean, shown)), language=self.sources.language)

    def fits(self, paths: Sequence[tuple[Hop, ...]]) -> dict[tuple[Hop, ...], float]:
        """How well each path fits the question; greater is better."""
        distinct = list(dict.fromkeys(paths))
        scores = PathRelevance(self.read, load_encoder().encode).paths([self._written(hops) for hops in distinct])
        return dict(zip(distinct, scores.tolist(), strict=True))

    def _written(self, hops: Sequence[Hop]) -> tuple[WrittenHop, ...]:
        return tuple(WrittenHop(clean(self.graph.relation(h.relation).label), ARROWS[h.direction]) for h in hops)

    def reached(self, path: GoldPath) -> IntArray:
        """The nodes at the end of a path, without its topic."""
        ends = ends_of(self.graph, path)[-1]
        return ends[ends != path.topic] if len(path.hops) > 1 else ends

    def ways(self, length: int) -> Iterator[GoldPath]:
        """All paths of a length from the topics, at most `_OFFERED`."""
        left = _OFFERED
        for topic in sorted({node for nodes in self.topics for node in nodes}):
            for path in _ways(self.graph, topic, length):
                if not left:
                    return
                left -= 1
                yield path


def _ways(graph: Graph, topic: int, length: int) -> Iterator[GoldPath]:
    before = [GoldPath(topic, ())] if length == 1 else _ways(graph, topic, length - 1)
    for path in before:
        for count in graph.relation_counts(ends_of(graph, path)[-1]):
            yield GoldPath(topic, (*path.hops, Hop(count.relation, count.direction)))


def of_one_type(graph: Graph, nodes: Collection[int], like: Collection[int]) -> Iterator[frozenset[int]]:
    """The nodes, then those of each type that all of some nodes have."""
    yield frozenset(nodes)
    shared = [set(graph.types(node)) for node in like]
    for type in sorted(set.intersection(*shared)) if shared else ():
        yield frozenset(nodes) & frozenset(graph.nodes_of_type(type).tolist())
