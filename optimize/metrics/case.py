"""What a step is scored against: a question with its known answer, and its gold paths in prompts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import mean
from typing import Any, Self, TypeAlias

import numpy as np

from triplecheck.evals.gold import Gold, linker_names, resolve_gold
from triplecheck.evals.questions import Question
from triplecheck.kg import Direction, Graph, IntArray, Words, normalize
from triplecheck.kg.plausibility import Grounder
from triplecheck.language.pipeline import read_text
from triplecheck.optimize.traces.gold_paths import follow, found_paths, given_paths
from triplecheck.programs import Sources
from triplecheck.programs.subgraph import ARROWS, Hop
from triplecheck.signatures.notation import WrittenHop, clean, is_relation

_SHOWN = 5


@dataclass(frozen=True)
class StepScore:
    """A score from 0 to 1, and why."""

    score: float
    feedback: str = ""


@dataclass(frozen=True)
class StepCall:
    """Inputs and parsed outputs of one call of a step."""

    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]


TracedCall: TypeAlias = tuple[Any, Mapping[str, Any], Any]
"""A predictor, its inputs, its outputs: a row of DSPy's trace."""


def overlap(given: Collection[Any], wanted: Collection[Any], beta: float = 1.0) -> float:
    """F-beta of a set; with beta above 1, recall weighs more than precision."""
    if not given and not wanted:
        return 1.0
    right = len(set(given) & set(wanted))
    weight = beta * beta
    return (1 + weight) * right / (weight * len(set(wanted)) + len(set(given)))


def listed(what: str, items: Sequence[str]) -> str:
    """`what: a; b; c (and 4 more).`, or nothing if there are none."""
    if not items:
        return ""
    more = f" (and {len(items) - _SHOWN} more)" if len(items) > _SHOWN else ""
    return f"{what}: {'; '.join(items[:_SHOWN])}{more}. "


Hops = tuple[Hop, ...]


def gold_paths(
    graph: Graph, question: Question, topics: Sequence[Collection[int]], answers: Collection[int], furthest: int
) -> tuple[Hops, ...]:
    """The relations that lead from topics to answers: those of the data set, else those that fit best.

    Args:
        graph: of the relations.
        question: may name the paths, or the relations along one (`Question.gold`).
        topics: per topic the nodes that it may be.
        answers: nodes at the ends.
        furthest: maximum number of hops of a search.
    """
    own = sorted({node for nodes in topics for node in nodes})
    if not own or not answers:
        return ()
    given = [path.hops for path in given_paths(graph, question.gold)]
    if not given:
        starts, ends = np.array(own, np.int64), set(answers)
        given = [hops for names in _named(question) for hops in _along(graph, names, starts, ends)]
    if not given:
        given = [path.hops for path in found_paths(graph, topics, answers, furthest)]
    return tuple(dict.fromkeys(given))


def leads_on(graph: Graph, written: Sequence[WrittenHop], path: Hops) -> bool:
    """Whether written hops are a prefix of a path."""
    return 0 < len(written) <= len(path) and all(
        is_written(graph, hop, one) for hop, one in zip(path, written, strict=False)
    )


def is_written(graph: Graph, hop: Hop, written: WrittenHop) -> bool:
    """Whether a written hop is this hop, by its label, with or without an alias."""
    label = clean(graph.relation(hop.relation).label)
    return written.arrow == ARROWS[hop.direction] and is_relation(written.label, label)


def _named(question: Question) -> list[list[str]]:
    """Relations that the data set names, by id or label, one list a path."""
    several = question.gold.get("gold_paths")
    one = question.gold.get("relations", question.gold.get("gold_path"))
    lists = several if isinstance(several, list) else [one]
    return [names for names in lists if isinstance(names, list) and names and all(isinstance(n, str) for n in names)]


def _along(graph: Graph, names: Sequence[str], nodes: IntArray, answers: set[int]) -> Iterator[Hops]:
    """The directions in which a chain of relations leads to an answer."""
    for relation in _relations(graph, names[0]):
        for direction in (Direction.OUT, Direction.IN):
            hop = Hop(relation, direction)
            ends = follow(graph, nodes, hop)
            if len(names) == 1:
                if not answers.isdisjoint(ends.tolist()):
                    yield (hop,)
            elif len(ends):
                yield from ((hop, *rest) for rest in _along(graph, names[1:], ends, answers))


def _relations(graph: Graph, name: str) -> list[int]:
    by_id = graph.find_relation(name)
    if by_id is not None:
        return [by_id]
    wanted = normalize(name)
    return [n for n in range(graph.num_relations) if normalize(graph.relation(n).label) == wanted]


_FURTHEST = 3
_HITS = 5
_NEIGHBOURS = 200


class Case:
    """The reference that a metric compares an answer or a step with.

    Copies share one object: optimizers deep-copy their data.

    Args:
        question: with its answers.
        sources: the graph and how to find things in it.
    """

    def __init__(self, question: Question, sources: Sources) -> None:
        self.question = question
        self.sources = sources

    @property
    def graph(self) -> Graph:
        """The graph."""
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
        """Relations that lead from the topics to the answers; empty: not known."""
        hops = self.question.hops
        furthest = min(hops, _FURTHEST) if isinstance(hops, int) else _FURTHEST - 1
        return gold_paths(self.graph, self.question, self.gold.topics, self.answers, furthest)

    @cached_property
    def grounder(self) -> Grounder:
        """Links triples in words to the graph."""
        return Grounder(self.graph, self.sources.linker, self.sources.relations)

    def names_answer(self, text: str) -> bool:
        """Whether a text contains a right answer, as whole words."""
        words = Words(text)
        return any(name in words for name in self.answer_names)

    def found_by(self, query: str) -> bool:
        """Whether a search finds a right answer: in a document, or next to an entity that the query names."""
        documents = self.sources.documents
        if documents is not None:
            hits = documents.search(query, _HITS)
            if any(self.names_answer(f"{hit.title} {hit.text}") for hit in hits):
                return True
        return any(self.answers & self._around(node) for node in self._named(query))

    def _named(self, text: str) -> Iterable[int]:
        for mention in self.sources.linker.mentions(read_text(text, self.sources.language)):
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


StepMetric: TypeAlias = Callable[[StepCall, Case], StepScore | None]
"""None: this call cannot be scored for this question."""


def mean_of(*metrics: StepMetric) -> StepMetric:
    """The mean of several metrics, as one metric of a step. Metrics that cannot score the call are left out."""

    def score(call: StepCall, case: Case) -> StepScore | None:
        found = [scored for metric in metrics if (scored := metric(call, case)) is not None]
        if not found:
            return None
        return StepScore(mean(scored.score for scored in found), "".join(scored.feedback for scored in found))

    return score
