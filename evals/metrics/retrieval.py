"""On what a program found on its way: gold answers in the retrieved triples, gold topics among the linked nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from triplecheck.evals.metrics.answers import GoldAnswer
from triplecheck.kg.types import Edge

# On rankings of nodes: Hit@k, Recall@k and the reciprocal rank, as STaRK has them.
#
# Wu et al. 2024, "STaRK: Benchmarking LLM Retrieval on Textual and Relational Knowledge Bases" (arXiv
# 2404.13207, section 4.1); also reported by 4StepFocus. Each takes a ranking, best first, and gold answers,
# of which those without a node cannot be ranked and are left out; None where none is left. A node that
# stands in the ranking twice counts at its first place.


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


# On proofs: how much of what a program cites does support its answer.
#
# The idea is the citation precision of ALCE (Gao et al. 2023, "Enabling Large Language Models to Generate
# Text with Citations", arXiv 2305.14627, section 4.3). There a model judges whether a passage supports a
# sentence; over a graph it can be decided.


def citation_precision(
    cited: Sequence[Edge | None], answers: Collection[int] | None, topics: Collection[int]
) -> float | None:
    """Share of the cited triples that support the answer; None where nothing is cited.

    A cited triple supports the answer where it is in the graph and belongs to a connected group of
    cited triples that are, in which both an answer stands and a node from which the program began. Where
    no node is the answer (a count, yes or no) the group is what the answer was computed from, and only
    has to be connected with the beginning. The direction of triples does not matter.

    Args:
        cited: (head, relation, tail) nodes; None for a triple that is not in the graph.
        answers: nodes that the program answered with; None for a computed answer.
        topics: nodes that the program linked. Without any no chain has a beginning, and nothing supports.
    """
    if not cited:
        return None
    group = _Groups()
    for edge in cited:
        if edge is not None:
            group.join(edge[0], edge[2])
    begun = {group.of(node) for node in topics}
    proven = begun & {group.of(node) for node in answers} if answers is not None else begun
    return sum(edge is not None and group.of(edge[0]) in proven for edge in cited) / len(cited)


class _Groups:
    """Nodes that are connected with each other (union-find)."""

    def __init__(self) -> None:
        self._parents: dict[int, int] = {}

    def of(self, node: int) -> int:
        """What stands for a node's group."""
        parents = self._parents
        while (parent := parents.get(node, node)) != node:
            parents[node] = parents.get(parent, parent)
            node = parent
        return node

    def join(self, a: int, b: int) -> None:
        """Make two nodes' groups one."""
        self._parents[self.of(a)] = self.of(b)


# Head, torso and tail: questions by how popular what they are about is.
#
# Sun et al. 2024, "Head-to-Tail: How Knowledgeable are Large Language Models (LLMs)?" (arXiv 2308.10168,
# section 2.1): entities in descending order of popularity; the head are those that hold the first third of
# all popularity, the torso the second, the tail the rest. Here the distribution is that of the questions.

BANDS = ("head", "torso", "tail")


def bands(popularities: Sequence[float | str | None]) -> list[str | None]:
    """The band of each question, shape (n,).

    Args:
        popularities: how popular its topic is, a number from 0 up (a count of views or of edges); or the
            name of its band, which is kept; or None, which has none. Those of the same number share a band.
    """
    found: list[str | None] = [one if isinstance(one, str) else None for one in popularities]
    numbered = [(place, one) for place, one in enumerate(popularities) if one is not None and not isinstance(one, str)]
    if not numbered:
        return found
    sizes, group, counts = np.unique([-number for _, number in numbered], return_inverse=True, return_counts=True)
    held = np.cumsum(-sizes * counts)
    before = np.concatenate(([0.0], held[:-1]))
    # A third of nothing is nothing: where no topic has any popularity, all are of the tail.
    parts = np.floor(3 * before / held[-1]).astype(int) if held[-1] > 0 else np.full(len(sizes), 2)
    for (place, _), part in zip(numbered, parts[group], strict=True):
        found[place] = BANDS[min(int(part), 2)]
    return found
