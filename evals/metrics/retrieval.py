"""On what a program found on its way: gold answers in the retrieved triples, gold topics among the linked nodes."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from triplecheck.evals.metrics.answers import GoldAnswer


def retrieval_recall(retrieved: Collection[int] | None, gold: Sequence[GoldAnswer]) -> float | None:
    """Share of the gold answers that stand in the retrieved triples (KERAG, arXiv 2509.04716).

    Args:
        retrieved: nodes of the retrieved triples; None where the program does not say.
        gold: those without a node cannot be retrieved and are left out; None where none is left.
    """
    present = [one for one in gold if one.nodes]
    if retrieved is None or not present:
        return None
    nodes = retrieved if isinstance(retrieved, set | frozenset) else frozenset(retrieved)
    return sum(not one.nodes.isdisjoint(nodes) for one in present) / len(present)


def link_recall(linked: Collection[int], topics: Sequence[frozenset[int]]) -> float | None:
    """Share of the gold topics that were linked; None where no topic is known.

    Args:
        linked: nodes that the program linked.
        topics: nodes that each gold topic may be. A topic that is not in the graph is never linked.
    """
    if not topics:
        return None
    nodes = frozenset(linked)
    return sum(not topic.isdisjoint(nodes) for topic in topics) / len(topics)


def anchor_accuracy(anchors: Collection[int], topics: Sequence[frozenset[int]]) -> float | None:
    """1 where a gold topic is among the chosen anchors, else 0; None where no topic is known.

    Its mean is the share of questions that are begun from a right place: the accuracy of anchor
    identification that AnchorRAG reports (Xu et al. 2025, arXiv 2509.01238, section 4.7 and figure 3,
    top). The paper gives no formula; one gold topic of several is enough here, `link_recall` counts them.

    Args:
        anchors: nodes from which the program began.
        topics: nodes that each gold topic may be.
    """
    if not topics:
        return None
    return float(not frozenset[int]().union(*topics).isdisjoint(anchors))
