"""Metrics on rankings, retrieved triples, linked nodes and citations, and popularity bands."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from triplecheck.evals.metrics.answers import GoldAnswer
from triplecheck.kg.types import Edge

# Rankings of nodes: Hit@k, Recall@k and the reciprocal rank, as in STaRK.
#
# Wu et al. 2024, "STaRK: Benchmarking LLM Retrieval on Textual and Relational Knowledge Bases" (arXiv
# 2404.13207, section 4.1); 4StepFocus reports them too. Each takes a ranking, best first, and gold answers. Gold
# answers without a node cannot be ranked and are ignored; the result is None if none is left. A repeated node counts
# at its first rank.


def hit_at_k(ranking: Sequence[int], gold: Iterable[GoldAnswer], k: int) -> float | None:
    """Return 1 if one of the first k nodes is a gold answer, else 0."""
    right = _nodes(gold)
    return float(any(not one.isdisjoint(_first(ranking, k)) for one in right)) if right else None


def recall_at_k(ranking: Sequence[int], gold: Iterable[GoldAnswer], k: int) -> float | None:
    """Return the share of gold answers among the first k nodes."""
    right = _nodes(gold)
    first = _first(ranking, k)
    return sum(not one.isdisjoint(first) for one in right) / len(right) if right else None


def reciprocal_rank(ranking: Sequence[int], gold: Iterable[GoldAnswer]) -> float | None:
    """Return 1 / the rank (from 1) of the first gold answer; 0 if none is ranked. The mean is the MRR."""
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


def retrieval_recall(retrieved: Collection[int] | None, gold: Sequence[GoldAnswer]) -> float | None:
    """Return the share of gold answers in the retrieved triples (KERAG, arXiv 2509.04716).

    Args:
        retrieved: nodes of the retrieved triples; None: the program does not report them.
        gold: gold answers; those without a node are ignored. The result is None if none is left.
    """
    present = [one for one in gold if one.nodes]
    if retrieved is None or not present:
        return None
    nodes = retrieved if isinstance(retrieved, set | frozenset) else frozenset(retrieved)
    return sum(not one.nodes.isdisjoint(nodes) for one in present) / len(present)


def link_recall(linked: Collection[int], topics: Sequence[frozenset[int]]) -> float | None:
    """Return the share of gold topics that were linked; None if no topic is known.

    Args:
        topics: for each gold topic, the nodes that it may refer to. A topic outside the graph is never linked.
    """
    if not topics:
        return None
    nodes = frozenset(linked)
    return sum(not topic.isdisjoint(nodes) for topic in topics) / len(topics)


def anchor_accuracy(anchors: Collection[int], topics: Sequence[frozenset[int]]) -> float | None:
    """Return 1 if a gold topic is among the anchors, else 0; None if no topic is known.

    The mean is AnchorRAG's accuracy of anchor identification (Xu et al. 2025, arXiv 2509.01238, section 4.7 and
    figure 3, top). The paper gives no formula; here one of several gold topics is enough. `link_recall` counts all.

    Args:
        anchors: nodes from which the program starts.
        topics: for each gold topic, the nodes that it may refer to.
    """
    if not topics:
        return None
    return float(not frozenset[int]().union(*topics).isdisjoint(anchors))


# Citations: the share of cited triples that support the answer.
#
# Adapted from the citation precision of ALCE (Gao et al. 2023, "Enabling Large Language Models to Generate
# Text with Citations", arXiv 2305.14627, section 4.3). In ALCE a model judges whether a passage supports a sentence;
# in a graph it can be computed.


def citation_precision(
    cited: Sequence[Edge | None], answers: Collection[int] | None, topics: Collection[int]
) -> float | None:
    """Return the share of cited triples that support the answer; None if nothing is cited.

    A cited triple supports the answer if it is in the graph and its connected component, over all cited triples in
    the graph, contains a linked node and an answer node. For a computed answer (a count, yes or no) the component
    needs only a linked node. Edge direction is ignored.

    Args:
        cited: (head, relation, tail) nodes; None for a triple that is not in the graph.
        answers: nodes of the program's answers; None for a computed answer.
        topics: nodes that the program linked; if empty, no triple supports the answer.
    """
    if not cited:
        return None
    groups: list[set[int]] = []
    for head, _, tail in filter(None, cited):
        joined = [group for group in groups if head in group or tail in group]
        groups = [group for group in groups if group not in joined] + [{head, tail}.union(*joined)]
    ends = (topics,) if answers is None else (topics, answers)
    proven = set[int]().union(*(group for group in groups if not any(map(group.isdisjoint, ends))))
    return sum(edge is not None and edge[0] in proven for edge in cited) / len(cited)


# Head, torso and tail: questions by the popularity of their topic.
#
# Sun et al. 2024, "Head-to-Tail: How Knowledgeable are Large Language Models (LLMs)?" (arXiv 2308.10168,
# section 2.1): with entities in descending order of popularity, the head holds the first third of all popularity,
# the torso the second and the tail the last. Here the distribution is over the topics of the questions.

BANDS = ("head", "torso", "tail")


def bands(popularities: Sequence[float | str | None]) -> list[str | None]:
    """Return the band of each question, shape (n,).

    Args:
        popularities: per question, the popularity of its topic: a number >= 0 (a count of views or edges), the
            name of a band (kept), or None (no band). Equal numbers share a band.
    """
    found: list[str | None] = [one if isinstance(one, str) else None for one in popularities]
    numbered = [(place, one) for place, one in enumerate(popularities) if one is not None and not isinstance(one, str)]
    if not numbered:
        return found
    sizes, group, counts = np.unique([-number for _, number in numbered], return_inverse=True, return_counts=True)
    held = np.cumsum(-sizes * counts)
    before = np.concatenate(([0.0], held[:-1]))
    # If every popularity is 0, all questions are in the tail.
    parts = np.floor(3 * before / held[-1]).astype(int) if held[-1] > 0 else np.full(len(sizes), 2)
    for (place, _), part in zip(numbered, parts[group], strict=True):
        found[place] = BANDS[min(int(part), 2)]
    return found
