"""How reliable a text is by the graph: the scores of its triples, and the threshold they are compared with.

Source: Know³-RAG (arXiv 2505.12662), section 4.2.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from triplecheck.kg import Linker, UserError, normalize
from triplecheck.kg.linking import Candidate
from triplecheck.kg.mentions import Mention, ReadText
from triplecheck.kg.plausibility import Grounded, Grounder, Plausibility, TextTriple, separating_threshold
from triplecheck.kg.types import Edge
from triplecheck.programs.assists import Assists
from triplecheck.programs.assists.know3rag import graph_value
from triplecheck.programs.base import Sources
from triplecheck.programs.closed_book import named_entity
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.steps import Checked, Trace

NO_EMBEDDINGS = "the knowledge base has no embeddings"

# Candidates that share only a word or a topic with a mention are not what it names.
_LOOSE = ("partial", "dense")
_SIGNED = ("raw", "per_relation")


@dataclass(frozen=True)
class Rated:
    """One triple of a text.

    Attributes:
        grounded: the triple in words, and its nodes and relation in the graph.
        score: the relative triple score S (Eq. 2); None if it was skipped.
        skipped: why; empty if it was not.
    """

    grounded: Grounded
    in_graph: bool
    score: float | None
    skipped: str

    @property
    def edge(self) -> Edge | None:
        """Its edge in the graph; None if the graph does not have it."""
        return self.grounded.edge if self.in_graph else None

    def to_json(self) -> dict[str, Any]:
        """Its plain form in a trace."""
        head, relation, tail = self.grounded.text
        parts: dict[str, Any] = {"head": head, "relation": relation, "tail": tail, "in_graph": self.in_graph}
        return parts | ({"score": self.score} if not self.skipped else {"skipped": self.skipped})


@dataclass(frozen=True)
class Reliability:
    """How reliable a text is.

    Attributes:
        triples: of the text, in order.
        score: s of Eq. 1; lower is more reliable, +inf if no triple has a score.
        reason: why it is +inf; empty if it is not.
    """

    triples: tuple[Rated, ...]
    score: float
    reason: str = ""


class Supervisor:
    """Grounds triples of texts in a graph and scores them (Eq. 2). Without embeddings nothing has a score.

    It caches its results, and copies of a program share it.

    Args:
        sources: the graph, its linker, and its embeddings if there are any.
        scoring: of `kg.plausibility.METHODS`.
        aggregate: `sum` or `mean` over the triples of a text.

    Raises:
        UserError: no such scoring or aggregate.
    """

    def __init__(self, sources: Sources, scoring: str, aggregate: str) -> None:
        self.sources = sources
        self._scoring = scoring
        self._aggregate = aggregate

    @functools.cached_property
    def _grounder(self) -> Grounder:
        return Grounder(self.sources.graph, NameLinker(self.sources.linker), self.sources.relations)

    @functools.cached_property
    def _plausibility(self) -> Plausibility | None:
        base = self.sources.knowledge_base
        return (
            None if base is None or base.embeddings is None else Plausibility.of(base, self._scoring, self._aggregate)
        )

    @property
    def scores(self) -> bool:
        """Whether there are embeddings to score by."""
        return self._plausibility is not None

    def theta_0(self, c: float) -> float | None:
        """theta_0 whose threshold of turn 0 separates the graph's own triples from corrupted ones best.

        Computed once for each scoring and aggregate of the sources. None without embeddings or held-out triples.
        """
        if self._plausibility is None:
            return None
        known, key = self.sources.separating_thresholds, (self._scoring, self._aggregate)
        if key not in known:
            known[key] = separating_threshold(self._plausibility)
        found = known[key]
        return None if found is None else max(0.0, found) * (1 + math.e) / c

    def rate(self, triples: Sequence[TextTriple], question: str) -> Reliability:
        """Ground the triples of one text in the graph, look them up, and score them.

        Args:
            question: tells homonyms apart.
        """
        grounded = self._grounder.ground(triples, question)
        edges = [one.edge for one in grounded]
        there = [edge is not None and self.sources.graph.contains(*edge) for edge in edges]
        if self._plausibility is None:
            rated = [Rated(g, found, None, g.reason or NO_EMBEDDINGS) for g, found in zip(grounded, there, strict=True)]
            return Reliability(tuple(rated), math.inf, NO_EMBEDDINGS if triples else "there are no triples")
        scores = self._plausibility.relative_score(grounded)
        rated = [
            Rated(g, found, s.score, s.skipped or "")
            for g, found, s in zip(grounded, there, scores.triples, strict=True)
        ]
        return Reliability(tuple(rated), scores.score, scores.reason)

    def confidence(self, reliability: Reliability) -> float | None:
        """From 0 to 1, in the order of the scores and not calibrated; None without embeddings.

        1 / (1 + s) of scores that are at least 0, the logistic function of -s of those that may be negative.
        """
        if self._plausibility is None:
            return None
        score = reliability.score
        return 1 / (1 + score) if self._scoring not in _SIGNED else (1 - math.tanh(score / 2)) / 2

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self


class NameLinker:
    """A linker that takes nothing for a name that only shares a word or a topic with it."""

    def __init__(self, linker: Linker) -> None:
        self._linker = linker

    def mentions(self, question: ReadText) -> list[Mention]:
        """See `kg.Linker`."""
        return self._linker.mentions(question)

    def candidates(
        self, text: str | Mention, question: str | None = None, limit: int = 10, **how: Any
    ) -> list[Candidate]:
        """See `kg.Linker`; names that fit exactly or but for their spelling."""
        found = self._linker.candidates(text, question, limit, **how)
        return [candidate for candidate in found if candidate.source not in _LOOSE]


def threshold(theta_0: float, turn: int, c: float = 128.0) -> float:
    """theta_t = theta_0 * c / (1 + exp(1 - theta_0 * t)): what the score of turn t must stay below (section 4.2).

    Args:
        theta_0: at least 0; depends on the model and the data set (Table 6).
        turn: t, from 0.

    Raises:
        UserError: theta_0 is negative.
    """
    if theta_0 < 0:
        raise UserError(f"theta_0 must be at least 0, not {theta_0}")
    return theta_0 * c / (1 + math.exp(1 - theta_0 * turn))


def supported(
    assists: Assists, sources: Sources, answer: str, reliability: Reliability, entities: Sequence[int], trace: Trace
) -> Outcome:
    """The outcome of an answer.

    Its evidence is the triples of the surrounding text that the graph has. It is grounded if they lead from an
    entity of the question to the answer; a yes or no never is. If the answer is exactly the name of an entity, or
    another name of the end of such a triple, the entity is in `answers`, and so is a value at this end.
    """
    graph = sources.graph
    stated = [(rated, edge) for rated in reliability.triples if (edge := rated.edge) is not None]
    edges = tuple(dict.fromkeys(edge for _, edge in stated))
    named = named_entity(graph, sources.linker, answer)
    ends = {} if named is None else {named: None}
    wanted = normalize(answer)
    for rated, (head, _, tail) in stated:
        first, _, second = rated.grounded.text
        if rated.grounded.swapped:
            first, second = second, first
        for node, written in ((head, first), (tail, second)):
            if wanted in (normalize(written), normalize(graph.label(node))):
                ends.setdefault(node)
    reached = connected(edges, entities)
    proved = [node for node in ends if node in reached and node not in entities]
    trace.add(Checked("answer", bool(proved), f"{len(edges)} of {len(reliability.triples)} triples are in the graph"))
    answers = proved[:1] or ([] if named is None else [named])
    said = graph_value(assists, graph, answer, answers, trace)
    return Outcome(said, tuple(answers), edges, grounded=bool(proved))


def connected(edges: Iterable[Edge], starts: Iterable[int]) -> set[int]:
    """The nodes that edges, in either direction, connect with some nodes, including these."""
    edges = list(edges)
    reached = set(starts)
    while True:
        more = {end for head, _, tail in edges if {head, tail} & reached for end in (head, tail)} - reached
        if not more:
            return reached
        reached |= more
