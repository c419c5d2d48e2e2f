"""The leak check: the same program with the facts withheld.

Correct answers then come from the model, from compiled prompts, or from the wording of the
question: none of it from the knowledge base. The names stay, so that linking goes on as before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from triplecheck.kg import Direction, Graph, IntArray
from triplecheck.kg.graph import Edges, RelationCount, RelationSchema
from triplecheck.programs import Sources


def withhold(sources: Sources) -> Sources:
    """The sources of a program, without any edge, document or embedding."""
    return Sources(FactlessGraph(sources.graph), sources.linker, sources.relations)


class FactlessGraph:
    """A graph whose nodes and relations are known and that has no edge.

    Args:
        graph: gives the nodes and relations.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def __getattr__(self, name: str) -> Any:
        """Ids, labels, types: as in the graph."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._graph, name)

    num_triples = 0

    def degree(self, node: int) -> int:
        """No edge."""
        return 0

    def relations_of(self, node: int) -> list[RelationCount]:
        """No relation."""
        return []

    def neighbors(
        self, node: int, relation: int, direction: Direction = Direction.OUT, limit: int | None = None
    ) -> IntArray:
        """No neighbour."""
        return np.empty(0, np.int64)

    def contains(self, head: int, relation: int, tail: int) -> bool:
        """No edge."""
        return False

    def relation_counts(self, nodes: IntArray | Sequence[int]) -> list[RelationCount]:
        """No relation."""
        return []

    def expand(
        self,
        nodes: IntArray | Sequence[int],
        relation: int | None = None,
        direction: Direction | None = None,
        limit_per_node: int | None = None,
    ) -> Edges:
        """No edge."""
        none = np.empty(0, np.int64)
        return Edges(none, none, none, 0)

    def contains_many(self, heads: IntArray, relations: IntArray, tails: IntArray) -> npt.NDArray[np.bool_]:
        """No edge."""
        return np.zeros(len(heads), bool)

    def schema(self, relation: int) -> RelationSchema:
        """Used nowhere."""
        return RelationSchema(relation, 0, (), ())
