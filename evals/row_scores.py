"""What a row's answer, ranking and citations are worth: metrics, applied to a prediction over its graph.

Each function gives some fields of a row (`evals.rows`), by name.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import dspy

from triplecheck.evals.gold import Gold
from triplecheck.evals.identifiers import spellings
from triplecheck.evals.metrics import (
    Predicted,
    citation_precision,
    exact_match,
    hit,
    hit_at_k,
    hits_at_1,
    lenient_match,
    recall_at_k,
    reciprocal_rank,
    set_scores,
    token_f1,
)
from triplecheck.kg import Graph
from triplecheck.programs.outcome import evidence_edges

ON_ANSWERS = ("hits_at_1", "hit", "precision", "recall", "f1", "exact_match", "token_f1", "lenient_match")
ON_RANKING = ("hit_at_1_ranked", "hit_at_5", "recall_at_20", "mrr")
RANKED = 100
"""How many of the ranked nodes a row keeps; scores are of the whole ranking."""


def answer_scores(
    graph: Graph, prediction: dspy.Prediction, predicted: Sequence[Predicted], gold: Gold
) -> dict[str, float]:
    """Scores of the answer, as nodes and as one text."""
    scores = set_scores(predicted, gold.answers)
    text = prediction.answer if predicted else ""
    return {
        "hits_at_1": hits_at_1(predicted, gold.answers),
        "hit": hit(predicted, gold.answers),
        "precision": scores.precision,
        "recall": scores.recall,
        "f1": scores.f1,
        "exact_match": exact_match(text, gold.texts),
        "token_f1": token_f1(text, gold.texts),
        "lenient_match": lenient_match(text, gold_names(graph, gold)),
    }


def gold_names(graph: Graph, gold: Gold) -> list[str]:
    """The gold answers as people write them: without ids that are no names."""
    return [text for text in gold.texts if not _is_bare_id(graph, text)] or list(gold.texts)


def _is_bare_id(graph: Graph, text: str) -> bool:
    nodes = (graph.find(way) for way in spellings(text))
    return any(node is not None and graph.label(node) != text for node in nodes)


def ranking_scores(graph: Graph, prediction: dspy.Prediction, gold: Gold) -> dict[str, Any]:
    """The beginning of the ranking, and its scores; those are null where the program did not rank."""
    ranking = [int(node) for node in getattr(prediction, "ranking", None) or ()]
    if not ranking:
        return {"ranking": [], **dict.fromkeys(ON_RANKING)}
    return {
        "ranking": [graph.node_id(node) for node in ranking[:RANKED]],
        "hit_at_1_ranked": hit_at_k(ranking, gold.answers, 1),
        "hit_at_5": hit_at_k(ranking, gold.answers, 5),
        "recall_at_20": recall_at_k(ranking, gold.answers, 20),
        "mrr": reciprocal_rank(ranking, gold.answers),
    }


def citation_score(graph: Graph, prediction: dspy.Prediction, linked: Collection[int]) -> float | None:
    """Citation precision of the evidence; None where nothing was answered or cited."""
    if prediction.abstained or not prediction.evidence:
        return None
    edges = evidence_edges(graph, prediction.evidence)
    if not prediction.answers:
        return citation_precision(edges, None, linked)
    # By id: a value may stand in the graph with several datatypes, and an answer names none of them.
    ids = {answer["id"] for answer in prediction.answers}
    ends = {node for edge in edges if edge is not None for node in (edge[0], edge[2])}
    return citation_precision(edges, {node for node in ends if graph.node_id(node) in ids}, linked)
