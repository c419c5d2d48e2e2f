"""How sure an answer is by its proof: for programs that say nothing of it themselves.

The number lies in [0, 1] and puts answers in an order; it is no share of right ones. A threshold on it can be fitted
(`optimize.fit`). A program that knows better sets `Outcome.confidence`: Know³-RAG by the scores of its triples,
self-consistency by its votes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from triplecheck.kg import Graph, normalize
from triplecheck.kg.encode import Encoder
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.steps import Expanded, Step

_SHOWN = 8  # triples of a proof that are compared with the question: a long one is no better described by its end
_UNPROVED = 0.5


def proof_confidence(
    graph: Graph, encoder: Encoder | None, question: str, found: Outcome, steps: Sequence[Step]
) -> float | None:
    """likeness / sqrt(paths), halved where the proof does not hold for all of the answer.

    likeness: cosine of the question and the proof in words, at least 0; without an encoder the share of the
    question's words that stand in the proof. paths: how many were followed until the proof was found; who followed
    one had no doubt where to look.

    Args:
        graph: gives the words.
        encoder: of sentences, where there is one.
        question: in natural language.
        found: an answer.
        steps: its trace.

    Returns:
        None where the answer cites nothing: then nothing can be told.
    """
    if not found.evidence:
        return None
    paths = sum(isinstance(step, Expanded) for step in steps)
    sure = _likeness(encoder, question, _in_words(graph, found)) / math.sqrt(max(1, paths))
    return sure if found.grounded else sure * _UNPROVED


def _in_words(graph: Graph, found: Outcome) -> str:
    edges = found.evidence[:_SHOWN]
    labels = iter(graph.labels([end for head, _, tail in edges for end in (head, tail)]))
    return "; ".join(f"{next(labels)} {graph.relation(relation).label} {next(labels)}" for _, relation, _ in edges)


def _likeness(encoder: Encoder | None, question: str, proof: str) -> float:
    if encoder is None:
        asked, said = set(normalize(question).split()), set(normalize(proof).split())
        return len(asked & said) / max(1, len(asked))
    first, second = encoder.encode([question, proof])
    return min(1.0, max(0.0, float(first @ second)))
