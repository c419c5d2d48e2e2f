"""On proofs: how much of what a program cites does support its answer.

The idea is the citation precision of ALCE (Gao et al. 2023, "Enabling Large Language Models to Generate
Text with Citations", arXiv 2305.14627, section 4.3). There a model judges whether a passage supports a
sentence; over a graph it can be decided.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from triplecheck.kg.types import Edge


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
