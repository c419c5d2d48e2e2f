"""`near_relations`: a model that extracts triples sees how the graph names the relations that a text may state."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from triplecheck.kg import Words
from triplecheck.kg.relation_vectors import relation_texts
from triplecheck.programs.assists.table import Assists
from triplecheck.programs.base import Sources


def near_relations(
    assists: Assists, sources: Sources, texts: Sequence[str], top_k: int = 2, most: int = 30
) -> list[str]:
    """Labels of a few relations that the texts may state, for a prompt; none without the assist.

    First come the relations whose name occurs in a text, then the `top_k` most similar ones of each text. Without
    vectors all others follow, if the graph has at most `most` relations.

    Args:
        sources: the graph, and the vectors of its relations if there are any.
    """
    if "near_relations" not in assists:
        return []
    graph, vectors = sources.graph, sources.relations
    words = Words(*texts)
    numbers = range(graph.num_relations)
    named = [n for n in numbers if any(name in words for name in relation_texts(graph.relation(n)))]
    similar: list[int] = []
    if vectors is not None and texts:
        best = np.argsort(-np.stack([vectors.against(text) for text in texts]), axis=1, kind="stable")[:, :top_k]
        similar = best.T.ravel().tolist()  # the best of each text, then the second best
    elif vectors is None and len(numbers) <= most:
        similar = list(numbers)
    chosen = list(dict.fromkeys(named + similar))[:most]
    return list(dict.fromkeys(graph.relation(number).label for number in chosen))
