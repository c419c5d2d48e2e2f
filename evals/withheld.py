"""The leak check: run the same program on a graph without facts.

Answers that are still correct come from the model, from compiled prompts, or from the question's wording, not from
the knowledge base. Names are kept, so linking is unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from triplecheck.kg import Direction, Graph, IntArray
from triplecheck.kg.graph import Edges, RelationCount, RelationSchema
from triplecheck.programs import Sources


def withhold(sources: Sources) -> Sources:
    """Return a program's sources without edges, documents and embeddings."""
    return Sources(
        cast(Graph, FactlessGraph(sources.graph)), sources.linker, sources.relations, language=sources.language
    )


class FactlessGraph:
    """Implements `kg.graph.Graph`: the nodes, relations, labels and types of a graph, without its edges."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    num_triples = 0

    def __getattr__(self, name: str) -> Any:
        # Nodes, relations, labels and types are those of the graph; only what the protocol names is passed on.
        if name.startswith("_") or not hasattr(Graph, name):
            raise AttributeError(name)
        return getattr(self._graph, name)

    # --- edges: none -----------------------------------------------------------------------------
    def degree(self, node: int) -> int:
        return 0

    def relations_of(self, node: int) -> list[RelationCount]:
        return []

    def neighbors(
        self, node: int, relation: int, direction: Direction = Direction.OUT, limit: int | None = None
    ) -> IntArray:
        return np.empty(0, np.int64)

    def contains(self, head: int, relation: int, tail: int) -> bool:
        return False

    def relation_counts(self, nodes: IntArray | Sequence[int]) -> list[RelationCount]:
        return []

    def expand(
        self,
        nodes: IntArray | Sequence[int],
        relation: int | None = None,
        direction: Direction | None = None,
        limit_per_node: int | None = None,
    ) -> Edges:
        none = np.empty(0, np.int64)
        return Edges(none, none, none, 0)

    def contains_many(self, heads: IntArray, relations: IntArray, tails: IntArray) -> npt.NDArray[np.bool_]:
        return np.zeros(len(heads), bool)

    def schema(self, relation: int) -> RelationSchema:
        return RelationSchema(relation, 0, (), ())
