"""`QueriedGraph`: what the stores behind a query language have in common: numbers, and the look-ups of `Graph`."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from triplecheck.kg.errors import GraphUnavailableError
from triplecheck.kg.graph import Edges, Graph, IntArray, RelationCount, RelationSchema
from triplecheck.kg.types import Direction, Edge, Entity, Literal

NODES_PER_QUERY = 200
MOST_NODES_OF_TYPE = 100_000
_KEPT_COUNTS = 50_000  # nodes whose relations are kept

Key = TypeVar("Key", bound=Hashable)
T = TypeVar("T")

Found = tuple[int, int, int]
"""(index of the node in the given list, relation, node at the other end)."""


def chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Consecutive parts of at most `size`."""
    return (items[at : at + size] for at in range(0, len(items), size))


def ints(numbers: IntArray | Sequence[int]) -> list[int]:
    """Numbers as a list of Python's."""
    found: list[int] = np.asarray(numbers, np.int64).tolist()
    return found


def ranked(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Ids with their counts, most frequent first, equally frequent ones by id."""
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def not_too_many(store: str, type_id: str, nodes: Iterable[int]) -> IntArray:
    """The distinct nodes of a type, ascending by number, shape (n,).

    Raises:
        GraphUnavailableError: there are more than 100,000.
    """
    found = list(nodes)
    if len(found) > MOST_NODES_OF_TYPE:
        raise GraphUnavailableError(
            f"{store}: more than {MOST_NODES_OF_TYPE:,} nodes of the type {type_id}; "
            "use a narrower type, or load the graph into a knowledge base (`triplecheck kb build`)"
        )
    return np.unique(np.array(found, np.int64))


class Numbering(Generic[Key]):
    """Numbers keys 0, 1, 2 ... in order of first use. Thread-safe."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock = threading.Lock()
        self._numbers: dict[Key, int] = {}
        self._keys: list[Key] = []

    def __len__(self) -> int:
        return len(self._keys)

    def number(self, key: Key) -> int:
        """Number of a key; a new key gets the next number."""
        known = self._numbers.get(key)
        if known is not None:
            return known
        with self._lock:
            if key not in self._numbers:
                self._keys.append(key)  # first, as other threads read without the lock
                self._numbers[key] = len(self._keys) - 1
            return self._numbers[key]

    def known(self, key: Key) -> int | None:
        """Number of a key that was numbered before, else None."""
        return self._numbers.get(key)

    def key(self, number: int) -> Key:
        """The key of a number.

        Raises:
            IndexError: no key has this number.
        """
        if not 0 <= number < len(self._keys):
            raise IndexError(f"no {self._what} {number} in this graph")
        return self._keys[number]


class RemoteGraph(Graph, Protocol):
    """A graph on a server, of which an index can be built."""

    def known(self, id: str | Literal) -> int:
        """Number of an entity or value that is known to be in the graph; nothing is queried."""

    def prefetch(self, nodes: IntArray | Sequence[int]) -> None:
        """Query and keep the labels and the relations of many nodes at once."""

    def nodes_named(self, names: Sequence[str]) -> Iterable[tuple[str, int, str]]:
        """(name, node, "label" or "alias") of the entities with one of these names."""

    def nodes_like(self, text: str, limit: int) -> Iterable[tuple[str, int]]:
        """(name, node) of entities whose names the text index of the server finds; none without one."""

    @property
    def learned(self) -> dict[str, Any]:
        """What was learned of the store, for the index; it is not asked for again."""

    def entities_after(self, last: str | None, limit: int) -> list[Entity]:
        """The next entities by id, with labels and aliases; none at the end only."""

    def values_after(self, last: str | None, limit: int) -> list[Literal]:
        """The next values by lexical form; none at the end only."""


class EdgeLookup(Protocol):
    """Queries edges of numbered nodes."""

    def edges(self, nodes: Sequence[int], relation: int | None, direction: Direction) -> list[Found]:
        """All edges of the nodes in one direction, ascending."""

    def edges_of_groups(
        self, groups: Sequence[tuple[int, int, int]], direction: Direction, limit: int | None = None
    ) -> list[Found]:
        """All edges of each (place, node, relation), or at most `limit` of them, ascending."""

    def counts(self, nodes: Sequence[int], relation: int | None, direction: Direction) -> list[Found]:
        """(place, relation, number of edges) in one direction, ascending."""

    def counts_together(self, nodes: Sequence[int], direction: Direction) -> dict[int, tuple[int, int]]:
        """Edges and nodes with an edge, by relation."""

    def contained(self, triples: Sequence[tuple[int, int, int]]) -> set[int]:
        """Indices of the triples that are edges."""


class QueriedGraph:
    """The look-ups of `kg.graph.Graph` by queries. Thread-safe.

    Nodes and relations are numbered when first seen, so numbers differ between two graph objects over one store. Which
    edges a limit leaves out depends on the store.
    """

    def __init__(self, look: EdgeLookup, schemas: Iterable[RelationSchema] = ()) -> None:
        self._edges = look
        self._schemas = {schema.relation: schema for schema in schemas}
        self._counts: dict[int, list[RelationCount]] = {}

    def labels(self, nodes: IntArray | Sequence[int]) -> list[str]:
        """Labels of entities, made from their ids if they have none; lexical forms of literals. 200 in one query."""
        raise NotImplementedError

    def label(self, node: int) -> str:
        return self.labels([node])[0]

    # --- look-ups --------------------------------------------------------------------------------
    def degree(self, node: int) -> int:
        return sum(count.edges for count in self.relations_of(node))

    def relations_of(self, node: int) -> list[RelationCount]:
        self.prefetch([node])
        return list(self._counts[node])

    def prefetch(self, nodes: IntArray | Sequence[int]) -> None:
        """Query and keep the labels and the relations of many nodes at once."""
        at = list(dict.fromkeys(ints(nodes)))
        self.labels(at)
        missing = [node for node in at if node not in self._counts]
        found: dict[int, list[RelationCount]] = {node: [] for node in missing}
        for direction in Direction:
            for place, relation, edges in self._edges.counts(missing, None, direction) if missing else ():
                found[missing[place]].append(RelationCount(relation, direction, edges, 1))
        if len(self._counts) > _KEPT_COUNTS:
            self._counts = {node: self._counts[node] for node in at if node in self._counts}
        self._counts |= found

    def neighbors(
        self, node: int, relation: int, direction: Direction = Direction.OUT, limit: int | None = None
    ) -> IntArray:
        """Nodes at the other end, ascending by number; a limit returns any of them."""
        if limit is None:
            found = self._edges.edges([node], relation, direction)
        else:
            found = self._edges.edges_of_groups([(0, node, relation)], direction, limit)
        return np.array([far for _, _, far in found], np.int64)

    def contains(self, head: int, relation: int, tail: int) -> bool:
        return bool(self._edges.contained([(head, relation, tail)]))

    # --- batched ---------------------------------------------------------------------------------
    def relation_counts(self, nodes: IntArray | Sequence[int]) -> list[RelationCount]:
        """Relations at a set of nodes, counted by the store."""
        return [
            RelationCount(relation, direction, edges, holders)
            for direction in Direction
            for relation, (edges, holders) in sorted(self._edges.counts_together(ints(nodes), direction).items())
        ]

    def expand(
        self,
        nodes: IntArray | Sequence[int],
        relation: int | None = None,
        direction: Direction | None = None,
        limit_per_node: int | None = None,
    ) -> Edges:
        """Edges at the nodes. With a limit the store counts first, so that hubs are not sent completely."""
        at = ints(nodes)
        edges: list[Edge] = []
        total = 0
        for way in Direction if direction is None else (direction,):
            found, matching = self._expand(at, relation, way, limit_per_node)
            triples = ((at[place], r, far) for place, r, far in found)
            edges += triples if way is Direction.OUT else ((far, r, near) for near, r, far in triples)
            total += matching
        heads, relations, tails = np.array(edges, np.int64).reshape(-1, 3).T
        return Edges(heads, relations, tails, total)

    def _expand(
        self, nodes: list[int], relation: int | None, way: Direction, limit: int | None
    ) -> tuple[list[Found], int]:
        if limit is None:
            found = self._edges.edges(nodes, relation, way)
            return found, len(found)
        counts = self._edges.counts(nodes, relation, way)
        small = [(place, nodes[place], r) for place, r, edges in counts if edges <= limit]
        large = [(place, nodes[place], r) for place, r, edges in counts if edges > limit]
        found = self._edges.edges_of_groups(small, way) + self._edges.edges_of_groups(large, way, limit)
        return sorted(found), sum(edges for _, _, edges in counts)

    def contains_many(self, heads: IntArray, relations: IntArray, tails: IntArray) -> npt.NDArray[np.bool_]:
        triples = list(zip(ints(heads), ints(relations), ints(tails), strict=True))
        found = np.zeros(len(triples), bool)
        found[list(self._edges.contained(triples))] = True
        return found

    # --- schema ----------------------------------------------------------------------------------
    def schema(self, relation: int) -> RelationSchema:
        """The 1,000 most frequent types at both ends of a relation, counted by the store; cached."""
        known = self._schemas.get(relation)
        if known is None:
            known = self._schemas[relation] = self._count_schema(relation)
        return known

    def _count_schema(self, relation: int) -> RelationSchema:
        """The schema of a relation, counted by the store."""
        raise NotImplementedError
