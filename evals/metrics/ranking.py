"""On rankings of nodes: Hit@k, Recall@k and the reciprocal rank, as STaRK has them.

Wu et al. 2024, "STaRK: Benchmarking LLM Retrieval on Textual and Relational Knowledge Bases" (arXiv
2404.13207, section 4.1); also reported by 4StepFocus. Each takes a ranking, best first, and gold answers,
of which those without a node cannot be ranked and are left out; None where none is left. A node that
stands in the ranking twice counts at its first place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from triplecheck.evals.metrics.answers import GoldAnswer


def hit_at_k(ranking: Sequence[int], gold: Iterable[GoldAnswer], k: int) -> float | None:
    """1 where one of the first k nodes is a gold answer, else 0."""
    right = _nodes(gold)
    return float(any(not one.isdisjoint(_first(ranking, k)) for one in right)) if right else None


def recall_at_k(ranking: Sequence[int], gold: Iterable[GoldAnswer], k: int) -> float | None:
    """Share of the gold answers that stand among the first k nodes."""
    right = _nodes(gold)
    first = _first(ranking, k)
    return sum(not one.isdisjoint(first) for one in right) / len(right) if right else None


def reciprocal_rank(ranking: Sequence[int], gold: Iterable[GoldAnswer]) -> float | None:
    """1 / the place of the first node that is a gold answer, from 1; 0 where there is none. Its mean is the MRR."""
    right = _nodes(gold)
    if not right:
        return None
    nodes = frozenset[int]().union(*right)
    places = enumerate(dict.fromkeys(ranking), 1)
    return next((1 / place for place, node in places if node in nodes), 0.0)


def _nodes(gold: Iterable[GoldAnswer]) -> list[frozenset[int]]:
    return [one.nodes for one in gold if one.nodes]


def _first(ranking: Sequence[int], k: int) -> frozenset[int]:
    first = frozenset(ranking[:k])
    return first if len(first) == min(k, len(ranking)) else frozenset(list(dict.fromkeys(ranking))[:k])
