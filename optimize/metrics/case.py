"""What a step is scored against: a question with its known answer, and its gold paths in prompts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import mean
from typing import Any, Self, TypeAlias

from triplecheck.evals.gold import Gold, linker_names, resolve_gold
from triplecheck.evals.questions import Question
from triplecheck.kg import Graph, Words, normalize
from triplecheck.kg.plausibility import Grounder
from triplecheck.language.pipeline import read_text
from triplecheck.optimize.traces.derivations import Asked, Derivation
from triplecheck.optimize.traces.derive import derive
from triplecheck.optimize.traces.queries import is_right, right_query
from triplecheck.programs import Sources
from triplecheck.programs.subgraph import ARROWS, Hop, by_plain_name, nodes_called
from triplecheck.signatures.notation import WrittenHop, clean, is_relation, read_fact, split_note

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


def leads_on(graph: Graph, written: Sequence[WrittenHop], path: Hops) -> bool:
    """Whether written hops are a prefix of a path."""
    return 0 < len(written) <= len(path) and all(
        is_written(graph, hop, one) for hop, one in zip(path, written, strict=False)
    )


def is_written(graph: Graph, hop: Hop, written: WrittenHop) -> bool:
    """Whether a written hop is this hop, by its label, with or without an alias."""
    label = clean(graph.relation(hop.relation).label)
    return written.arrow == ARROWS[hop.direction] and is_relation(written.label, label)


_FURTHEST = 3
_HITS = 5
_NEIGHBOURS = 200


class Case:
    """The reference that a metric compares an answer or a step with.

    Copies share one object: optimizers deep-copy their data.
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
    def answer_labels(self) -> tuple[str, ...]:
        """The right answers in words."""
        return tuple(dict.fromkeys(self.graph.labels(sorted(self.answers)))) if self.answers else self.gold.texts

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
        return () if self.derivation is None else tuple(dict.fromkeys(path.hops for path in self.derivation.paths))

    @cached_property
    def derivation(self) -> Derivation | None:
        """How the answers follow from the graph; None: not known, or there are none."""
        return derive(self._asked)

    @cached_property
    def query(self) -> str | None:
        """The query that gives the answers, `none` if a look-up is enough or there are none; None: not known."""
        return right_query(self._asked, self.derivation)

    def answered_by(self, query: str) -> bool:
        """Whether there are right answers, and a query gives exactly these."""
        return bool(self.gold.answers) and is_right(self._asked, query)

    @cached_property
    def _asked(self) -> Asked:
        hops = self.question.hops
        furthest = max(_FURTHEST - 1, min(hops, _FURTHEST)) if isinstance(hops, int) else _FURTHEST - 1
        return Asked(self.sources, self.question, self.gold, furthest)

    @cached_property
    def grounder(self) -> Grounder:
        """Links triples in words to the graph."""
        return Grounder(self.graph, self.sources.linker, self.sources.relations)

    def answer_called(self, text: str) -> int | None:
        """The node of the right answer that a text names as prompts name it; None if it names none."""
        return next(nodes_called(self.graph, text, self._answers_by_name), None)

    @cached_property
    def _answers_by_name(self) -> Mapping[str, Sequence[int]]:
        return by_plain_name(self.graph, self.answers)

    def names_answer(self, text: str) -> bool:
        """Whether a text contains a right answer, as whole words."""
        words = Words(text)
        return any(name in words for name in self.answer_names)

    def holds_answer(self, line: str) -> bool:
        """Whether a fact contains a right answer; a namesake, which its note tells from an answer, is none."""
        fact = read_fact(line)
        names = [line] if fact is None else [fact.anchor, *fact.values, *fact.edges]
        return any(self.names_answer(name) for name in names if not self._is_namesake(name))

    def _is_namesake(self, name: str) -> bool:
        return split_note(name)[0] in self._answers_by_name and self.answer_called(name) is None

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
        edges = self.graph.expand([node], None, None, _NEIGHBOURS)
        return frozenset([node, *edges.heads.tolist(), *edges.tails.tolist()])

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
