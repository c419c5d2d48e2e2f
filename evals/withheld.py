"""The leak check: run the same program on a graph without facts.

Answers that are still correct come from the model, from compiled prompts, or from the question's wording, not from
the knowledge base. Names are kept, so linking is unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from triplecheck.kg import Direction, Entity, Graph, IntArray, Literal, Relation
from triplecheck.kg.graph import Edges, RelationCount, RelationSchema
from triplecheck.programs import Sources


def withhold(sources: Sources) -> Sources:
    """Return a program's sources without edges, documents and embeddings."""
    return Sources(FactlessGraph(sources.graph), sources.linker, sources.relations)


class FactlessGraph:
    """Implements `kg.graph.Graph`: the nodes, relations, labels and types of a graph, without its edges.

    Args:
        graph: the graph whose nodes and relations are kept.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    num_triples = 0

    # --- as in the graph -------------------------------------------------------------------------
    @property
    def num_nodes(self) -> int:
        """As in the graph."""
        return self._graph.num_nodes

    @property
    def num_relations(self) -> int:
        """As in the graph."""
        return self._graph.num_relations

    @property
    def has_types(self) -> bool:
        """As in the graph."""
        return self._graph.has_types

    @property
    def type_ids(self) -> tuple[str, ...]:
        """As in the graph."""
        return self._graph.type_ids

    def nodes_of_type(self, type_id: str) -> IntArray:
        """As in the graph."""
        return self._graph.nodes_of_type(type_id)

    def find(self, id: str | Literal) -> int | None:
        """As in the graph."""
        return self._graph.find(id)

    def find_relation(self, id: str) -> int | None:
        """As in the graph."""
        return self._graph.find_relation(id)

    def node_id(self, node: int) -> str:
        """As in the graph."""
        return self._graph.node_id(node)

    def label(self, node: int) -> str:
        """As in the graph."""
        return self._graph.label(node)

    def labels(self, nodes: IntArray | Sequence[int]) -> list[str]:
        """As in the graph."""
        return self._graph.labels(nodes)

    def entity(self, node: int) -> Entity:
        """As in the graph."""
        return self._graph.entity(node)

    def literal(self, node: int) -> Literal | None:
        """As in the graph."""
        return self._graph.literal(node)

    def types(self, node: int) -> tuple[str, ...]:
        """As in the graph."""
        return self._graph.types(node)

    def type_label(self, type_id: str) -> str:
        """As in the graph."""
        return self._graph.type_label(type_id)

    def relation(self, relation: int) -> Relation:
        """As in the graph."""
        return self._graph.relation(relation)

    def close(self) -> None:
        """As in the graph."""
        self._graph.close()

    # --- edges: none -----------------------------------------------------------------------------
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
        """No edge, no types."""
        return RelationSchema(relation, 0, (), ())
