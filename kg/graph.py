"""`Graph`: the protocol of all stores.

Three stores implement it: `kg.columnar.ColumnarGraph` (memory-mapped arrays), `kg.sparql.SparqlGraph` (any SPARQL
endpoint) and `kg.cypher.CypherGraph` (property graphs). One contract test suite runs on all.

Nodes and relations are integers, valid for the life of the graph object; `find` and `node_id` convert between them and
string ids. A node is an entity or a literal value; a literal can only be the tail of an edge. Arrays are int64 unless
stated otherwise and must not be written to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from triplecheck.kg.types import Direction, Entity, Literal, Relation

IntArray = npt.NDArray[np.integer]

EdgeProperties = tuple[tuple[str, Literal | str], ...]
"""What one statement of an edge says besides it: (name, value), such as ("start time", 1993); a string is an entity."""


def plain_properties(statement: EdgeProperties) -> dict[str, str]:
    """The properties of one statement as text."""
    return {name: value.lexical if isinstance(value, Literal) else value for name, value in statement}


@dataclass(frozen=True, slots=True)
class RelationCount:
    """Edges of one relation and direction at a set of nodes.

    Attributes:
        direction: OUT if the nodes are heads, IN if they are tails.
        edges: number of edges.
        nodes: number of the given nodes with at least one such edge.
    """

    relation: int
    direction: Direction
    edges: int
    nodes: int


@dataclass(frozen=True, slots=True)
class Edges:
    """Edges as parallel arrays of length n, always from head to tail, whichever direction was followed.

    Attributes:
        heads: nodes, shape (n,).
        relations: relations, shape (n,).
        tails: nodes, shape (n,).
        total: number of matching edges; greater than n if a limit cut some off.
    """

    heads: IntArray
    relations: IntArray
    tails: IntArray
    total: int

    def __len__(self) -> int:
        return len(self.heads)


@dataclass(frozen=True, slots=True)
class RelationSchema:
    """One relation in the schema: its number of edges, and the types of its heads and tails.

    Attributes:
        edges: number of its edges.
        domain: (type id, number of edges whose head has that type), most frequent first.
        range: (type id or datatype IRI, number of edges whose tail has it), most frequent first.
    """

    relation: int
    edges: int
    domain: tuple[tuple[str, int], ...]
    range: tuple[tuple[str, int], ...]


@runtime_checkable
class Graph(Protocol):
    """A read-only knowledge graph.

    `find` and `find_relation` return None for an unknown id. An integer that the graph did not return is a programming
    error (IndexError). A remote store may raise `GraphUnavailableError` from every look-up.
    """

    @property
    def num_nodes(self) -> int:
        """Number of entities and values."""

    @property
    def num_relations(self) -> int:
        """Number of relations with edges."""

    @property
    def num_triples(self) -> int:
        """Number of edges, duplicates merged."""

    # --- ids, labels -------------------------------------------------------------------------
    def find(self, id: str | Literal) -> int | None:
        """Node of an id. A string is first looked up as an entity id, then as the lexical form of a value."""

    def find_relation(self, id: str) -> int | None:
        """Relation of an id."""

    def node_id(self, node: int) -> str:
        """Id of an entity, lexical form of a literal."""

    def label(self, node: int) -> str:
        """Label of an entity, lexical form of a literal."""

    def labels(self, nodes: IntArray | Sequence[int]) -> list[str]:
        """Labels of many nodes."""

    def entity(self, node: int) -> Entity:
        """Label, aliases, description and types; a literal has only a label."""

    def literal(self, node: int) -> Literal | None:
        """The value of a literal node, None for an entity."""

    def types(self, node: int) -> tuple[str, ...]:
        """Type ids of an entity, the datatype of a literal."""

    def type_label(self, type_id: str) -> str:
        """Label of a type; made from its id if the graph has none."""

    def relation(self, relation: int) -> Relation:
        """Label, aliases, description, declared domain and range."""

    # --- look-ups ----------------------------------------------------------------------------
    def degree(self, node: int) -> int:
        """Number of edges in both directions."""

    def relations_of(self, node: int) -> list[RelationCount]:
        """Relations at one node, outgoing first, then incoming, each by relation number."""

    def neighbors(
        self, node: int, relation: int, direction: Direction = Direction.OUT, limit: int | None = None
    ) -> IntArray:
        """Nodes at the other end of the edges of one (node, relation, direction), ascending."""

    def contains(self, head: int, relation: int, tail: int) -> bool:
        """Whether the graph has this edge."""

    @property
    def has_edge_properties(self) -> bool:
        """Whether any edge has properties."""

    def edge_properties(self, head: int, relation: int, tail: int) -> tuple[EdgeProperties, ...]:
        """The properties of an edge, one entry per statement; empty if it has none or is not in the graph."""

    # --- batched -----------------------------------------------------------------------------
    def relation_counts(self, nodes: IntArray | Sequence[int]) -> list[RelationCount]:
        """Relations at a set of nodes, with counts but without the edges."""

    def expand(
        self,
        nodes: IntArray | Sequence[int],
        relation: int | None = None,
        direction: Direction | None = None,
        limit_per_node: int | None = None,
    ) -> Edges:
        """Edges at the nodes, of one relation or all, in one direction or both.

        `limit_per_node` bounds the edges per (node, relation, direction); `Edges.total` counts all of them.
        """

    def contains_many(self, heads: IntArray, relations: IntArray, tails: IntArray) -> npt.NDArray[np.bool_]:
        """Which of the edges the graph has, shape (n,)."""

    # --- schema ------------------------------------------------------------------------------
    @property
    def has_types(self) -> bool:
        """Whether any entity has a type."""

    @property
    def type_ids(self) -> tuple[str, ...]:
        """Types of entities, most frequent first, equally frequent ones by id. A remote store may return a part."""

    def nodes_of_type(self, type_id: str) -> IntArray:
        """Entities of a type, ascending, shape (n,); empty if the type is unknown.

        Raises:
            GraphUnavailableError: a remote store has too many of them to send.
        """

    def schema(self, relation: int) -> RelationSchema:
        """Number of edges of a relation, and the types at both ends."""

    def close(self) -> None:
        """Release files and connections; the graph cannot be used afterwards."""
