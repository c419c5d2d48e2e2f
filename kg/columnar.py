"""`ColumnarGraph`: the default store. Sorted arrays in both directions, memory-mapped.

Edges are stored twice as compressed sparse rows: by (head, relation, tail) and by (tail, relation, head).
A look-up is one or two slices; nothing is copied, and a page is read only when it is used.
Node numbers start with the entities; literals follow.
"""

from __future__ import annotations

import copy
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import marisa_trie
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from triplecheck.kg._arrays import bisect_ranges, concat_ranges, positions_in_runs
from triplecheck.kg._checked import Sums, mapped, table, unchecked
from triplecheck.kg.graph import EdgeProperties, Edges, IntArray, RelationCount, RelationSchema
from triplecheck.kg.readable import class_label
from triplecheck.kg.types import Direction, Entity, Literal, Relation
from triplecheck.kg.values import parse_json
from triplecheck.kg.values.own import OwnUnits

# Separates the lexical form of a literal from its datatype in the id trie.
_SEPARATOR = "\x1f"
# Up to this many edges are scanned instead of bisected; up to this many nodes are looked up one by one.
_SCANNED, _ONE_BY_ONE = 1 << 18, 64
_BATCH = 100_000  # rows of a column that are made Python objects at once
PROPERTIES = "edge_properties"
"""Name of the files of edge properties; a graph without any has none."""


def id_key(id: str, datatype: str | None = None) -> str:
    """The key of a node in the id trie, which cannot store NUL characters."""
    key = id if datatype is None else f"{id}{_SEPARATOR}{datatype}"
    return key.replace("\x00", "\ufffd")


class _SortedEdges:
    """One direction of the edges: `offsets` (nodes + 1), and per edge its relation and its far end."""

    __slots__ = ("ends", "offset_at", "offsets", "relation_at", "relations")

    def __init__(self, folder: Path, name: str, sums: Sums) -> None:
        self.offsets = mapped(folder / f"{name}_offsets.npy", sums)
        self.relations = mapped(folder / f"{name}_relations.npy", sums)
        self.ends = mapped(folder / f"{name}_ends.npy", sums)
        # For single look-ups: bisecting a memory view takes half the time of a call into numpy.
        self.offset_at, self.relation_at = self.offsets.data, self.relations.data

    def run(self, node: int, relation: int) -> tuple[int, int]:
        """Start and stop of the edges of (node, relation)."""
        start, stop = self.offset_at[_known(node)], self.offset_at[node + 1]
        start = bisect_left(self.relation_at, relation, start, stop)
        return start, bisect_right(self.relation_at, relation, start, stop)

    def runs(self, nodes: IntArray, relation: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        if len(nodes) < _ONE_BY_ONE:
            pairs = np.array([self.run(node, relation) for node in nodes.tolist()], np.int64).reshape(-1, 2)
            return pairs[:, 0], pairs[:, 1]
        starts, stops = self.offsets[nodes], self.offsets[nodes + 1]
        target = np.full(len(nodes), relation, np.int64)
        left = bisect_ranges(self.relations, starts, stops, target)
        return left, bisect_ranges(self.relations, left, stops, target, "right")


@dataclass(frozen=True)
class NodeColumns:
    """All nodes of a graph as columns.

    Attributes:
        ids, labels: of every node; the lexical form of a literal.
        descriptions, aliases: of every entity.
        type_offsets, type_codes: types of each entity as compressed sparse rows, by number in `type_ids`.
        literal_datatypes: per literal, an index into `datatypes`.
    """

    ids: pa.Array
    labels: pa.Array
    descriptions: pa.Array
    aliases: pa.Array
    type_offsets: npt.NDArray[Any]
    type_codes: npt.NDArray[Any]
    datatypes: list[str]
    literal_datatypes: npt.NDArray[Any]


class ColumnarGraph:
    """A knowledge graph in a directory of arrays, written by `kg.columnar_build.write_graph`.

    Implements `kg.graph.Graph`. Opening maps the files without reading them.

    Args:
        sums: checksums of the files whose bytes are checked as they are first read.
    """

    def __init__(self, folder: Path, sums: Sums = unchecked) -> None:
        meta = parse_json((folder / "graph.json").read_text("utf-8"))
        self.num_entities, self.num_nodes = int(meta["entities"]), int(meta["nodes"])
        self._datatypes: list[str] = meta["datatypes"]
        self.superclasses: dict[str, list[str]] = meta.get("superclasses", {})
        self._rows = (_SortedEdges(folder, "out", sums), _SortedEdges(folder, "in", sums))
        self._type_offsets = mapped(folder / "type_offsets.npy", sums)
        self._type_codes = mapped(folder / "type_codes.npy", sums)
        self._literal_datatypes = mapped(folder / "literal_datatypes.npy", sums)
        self._id_nodes = mapped(folder / "id_nodes.npy", sums)
        self._id_trie = marisa_trie.Trie().mmap(str(folder / "ids.marisa"))
        nodes, checked = table(folder / "nodes.arrow", sums)
        self._ids, self._labels = checked(nodes["id"].chunk(0)), checked(nodes["label"].chunk(0))
        self._descriptions, self._aliases = checked(nodes["description"].chunk(0)), checked(nodes["aliases"].chunk(0))
        self._relations = [
            Relation(r["id"], r["label"], tuple(r["aliases"]), r["description"], r["domain"], r["range"])
            for r in table(folder / "relations.arrow", unchecked)[0].to_pylist()
        ]
        self.num_relations, self.num_triples = len(self._relations), len(self._rows[0].ends)
        self._relation_numbers = {relation.id: i for i, relation in enumerate(self._relations)}
        types = table(folder / "types.arrow", unchecked)[0]
        self._type_ids: list[str] = types["id"].to_pylist()
        self._type_labels: dict[str, str] = dict(zip(self._type_ids, types["label"].to_pylist(), strict=True))
        self._schema = table(folder / "schema.arrow", unchecked)[0]
        self._of_type: dict[str, IntArray] = {}
        self._property_edges, self._statements = np.empty(0, np.int64), None
        if (folder / f"{PROPERTIES}.npy").is_file():
            self._property_edges = mapped(folder / f"{PROPERTIES}.npy", sums)
            self._statements = table(folder / f"{PROPERTIES}.arrow", unchecked)[0]["statements"].chunk(0)
        self.has_edge_properties = self._statements is not None

    @cached_property
    def has_blank_nodes(self) -> bool:
        """Whether any node is a blank node, such as one that joins the parts of a statement."""
        return next(iter(self._id_trie.iterkeys("_:")), None) is not None

    @cached_property
    def own_units(self) -> OwnUnits:
        """The units that only this graph has."""
        return OwnUnits(self._datatypes)

    @property
    def has_types(self) -> bool:
        return len(self._type_codes) > 0

    # --- ids, labels ---------------------------------------------------------------------------
    def find(self, id: str | Literal) -> int | None:
        if isinstance(id, Literal):
            return self._lookup(id_key(id.lexical, id.datatype))
        node = self._lookup(id_key(id))
        if node is None:
            same = self._literals(id)
            node = self._lookup(min(same)) if same else None
        return node

    def _lookup(self, key: str) -> int | None:
        try:
            number = self._id_trie.get(key)
        except UnicodeEncodeError:  # no graph contains half a surrogate pair
            return None
        return None if number is None else int(self._id_nodes[number])

    def nodes_of_text(self, text: str) -> list[int]:
        """The entity with this id, and the literals with this lexical form, of any datatype."""
        keys = [id_key(text), *self._literals(text)]
        return [node for key in keys if (node := self._lookup(key)) is not None]

    def _literals(self, lexical: str) -> list[str]:
        """Keys of the literals of a lexical form, of any datatype."""
        try:
            keys: list[str] = self._id_trie.keys(id_key(lexical, ""))
        except UnicodeEncodeError:
            return []
        return keys

    def find_relation(self, id: str) -> int | None:
        return self._relation_numbers.get(id)

    def node_id(self, node: int) -> str:
        return str(self._ids[_known(node)].as_py())

    def label(self, node: int) -> str:
        return str(self._labels[_known(node)].as_py())

    def labels(self, nodes: IntArray | Sequence[int]) -> list[str]:
        if len(nodes) <= _ONE_BY_ONE:
            return [self.label(node) for node in nodes]
        return self.texts(nodes).to_pylist()  # type: ignore[no-any-return]

    def texts(self, nodes: IntArray | Sequence[int]) -> pa.Array:
        """Labels of entities and lexical forms of literals, shape (n,), as a string array."""
        # `pa.array` of a numpy array imports pandas, if it is installed.
        rows = pa.py_buffer(np.ascontiguousarray(nodes, np.int64))
        return self._labels.take(pa.Array.from_buffers(pa.int64(), len(nodes), [None, rows])).cast(pa.string())

    def datatypes(self, nodes: IntArray) -> pa.Array:
        """Datatype IRIs of literals, shape (n,), dictionary encoded; null for entities."""
        places = np.asarray(nodes, np.int64) - self.num_entities
        is_entity = places < 0
        codes = np.zeros(len(places), np.int32)
        codes[~is_entity] = self._literal_datatypes[places[~is_entity]]
        return pa.DictionaryArray.from_arrays(
            pa.array(codes, pa.int32(), mask=is_entity), pa.array(self._datatypes or [""], pa.string())
        )

    def entity(self, node: int) -> Entity:
        if node >= self.num_entities:
            return Entity(self.node_id(node), self.label(node))
        return Entity(
            id=self.node_id(node),
            label=self.label(node),
            aliases=tuple(self._aliases[node].as_py()),
            description=self._descriptions[node].as_py(),
            types=self.types(node),
        )

    def literal(self, node: int) -> Literal | None:
        return None if _known(node) < self.num_entities else Literal(self.node_id(node), self._datatype(node))

    def _datatype(self, node: int) -> str:
        return self._datatypes[int(self._literal_datatypes[node - self.num_entities])]

    def types(self, node: int) -> tuple[str, ...]:
        if node >= self.num_entities:
            return (self._datatype(node),)
        codes = self._type_codes[self._type_offsets[_known(node)] : self._type_offsets[node + 1]]
        return tuple(self._type_ids[code] for code in codes)

    def type_label(self, type_id: str) -> str:
        return self._type_labels[type_id] if type_id in self._type_labels else class_label(type_id)

    @property
    def type_ids(self) -> tuple[str, ...]:
        return tuple(self._type_ids)

    def nodes_of_type(self, type_id: str) -> IntArray:
        if type_id not in self._of_type:
            code = self._type_ids.index(type_id) if type_id in self._type_labels else -1
            places = np.flatnonzero(np.asarray(self._type_codes) == code)
            self._of_type[type_id] = np.searchsorted(self._type_offsets, places, "right") - 1
        return self._of_type[type_id]

    def rows(self, direction: Direction) -> tuple[IntArray, IntArray, IntArray]:
        """All edges as compressed sparse rows, sorted by (near end, relation, far end).

        Returns:
            Offsets, shape (nodes + 1,), then relation and far end of each edge, shape (edges,).
        """
        rows = self._rows[direction]
        return np.asarray(rows.offsets), np.asarray(rows.relations), np.asarray(rows.ends)

    def all_edges(self) -> tuple[IntArray, IntArray, IntArray]:
        """Heads, relations and tails of all edges, sorted by (head, relation, tail), each of shape (edges,)."""
        offsets, relations, tails = self.rows(Direction.OUT)
        return np.repeat(np.arange(self.num_nodes), np.diff(offsets)), relations, tails

    def relation(self, relation: int) -> Relation:
        return self._relations[_known(relation)]

    # --- look-ups ------------------------------------------------------------------------------
    def degree(self, node: int) -> int:
        out, into = self._rows
        degree: int = (
            out.offset_at[_known(node) + 1] - out.offset_at[node] + into.offset_at[node + 1] - into.offset_at[node]
        )
        return degree

    def relations_of(self, node: int) -> list[RelationCount]:
        found: list[RelationCount] = []
        for direction, rows in zip(Direction, self._rows, strict=True):
            relations = rows.relations[rows.offset_at[_known(node)] : rows.offset_at[node + 1]]
            starts = _run_starts(relations)
            stops = [*starts, len(relations)][1:]
            found += [
                RelationCount(relation, direction, stop - start, 1)
                for relation, start, stop in zip(relations[starts].tolist(), starts, stops, strict=True)
            ]
        return found

    def neighbors(
        self, node: int, relation: int, direction: Direction = Direction.OUT, limit: int | None = None
    ) -> IntArray:
        rows = self._rows[direction]
        start, stop = rows.run(node, relation)
        ends: IntArray = rows.ends[start : stop if limit is None else min(stop, start + limit)]
        return ends

    def contains(self, head: int, relation: int, tail: int) -> bool:
        return self.place(head, relation, tail) is not None

    def place(self, head: int, relation: int, tail: int) -> int | None:
        """Row of an edge in `rows(OUT)`, None if there is no such edge."""
        rows = self._rows[Direction.OUT]
        start, stop = rows.run(head, relation)
        ends = rows.ends.data
        at = bisect_left(ends, tail, start, stop)
        return at if at < stop and int(ends[at]) == tail else None

    def edge_properties(self, head: int, relation: int, tail: int) -> tuple[EdgeProperties, ...]:
        edge = None if self._statements is None else self.place(head, relation, tail)
        if edge is None or self._statements is None:
            return ()
        at = int(np.searchsorted(np.asarray(self._property_edges), edge))
        if at == len(self._property_edges) or int(self._property_edges[at]) != edge:
            return ()
        return _statements(self._statements[at].as_py())

    # --- batched -------------------------------------------------------------------------------
    def relation_counts(self, nodes: IntArray | Sequence[int]) -> list[RelationCount]:
        at = _handed_out(nodes)
        if len(at) == 1:
            return self.relations_of(int(at[0]))
        found: list[RelationCount] = []
        for direction, rows in zip(Direction, self._rows, strict=True):
            starts, stops = rows.offsets[at], rows.offsets[at + 1]
            relations = rows.relations[concat_ranges(starts, stops)]
            edges = np.bincount(relations, minlength=self.num_relations)
            owner = np.repeat(np.arange(len(at)), stops - starts)
            fresh = np.ones(len(relations), bool)
            fresh[1:] = (relations[1:] != relations[:-1]) | (owner[1:] != owner[:-1])
            holders = np.bincount(relations[fresh], minlength=self.num_relations)
            found += [RelationCount(int(r), direction, int(edges[r]), int(holders[r])) for r in np.flatnonzero(edges)]
        return found

    def expand(
        self,
        nodes: IntArray | Sequence[int],
        relation: int | None = None,
        direction: Direction | None = None,
        limit_per_node: int | None = None,
    ) -> Edges:
        at = _handed_out(nodes)
        parts = [
            self._expand(at, relation, way, limit_per_node)
            for way in (Direction if direction is None else (direction,))
        ]
        if len(parts) == 1:
            return parts[0]
        return Edges(
            np.concatenate([p.heads for p in parts]),
            np.concatenate([p.relations for p in parts]),
            np.concatenate([p.tails for p in parts]),
            sum(p.total for p in parts),
        )

    def _expand(self, nodes: IntArray, relation: int | None, way: Direction, limit: int | None) -> Edges:
        rows = self._rows[way]
        if relation is None:
            starts, stops = rows.offsets[nodes], rows.offsets[nodes + 1]
        else:
            starts, stops = rows.runs(nodes, relation)
        total = int((stops - starts).sum())
        if limit is not None and relation is not None:
            stops = np.minimum(stops, starts + limit)
        positions = concat_ranges(starts, stops) if len(nodes) != 1 else np.arange(starts[0], stops[0])
        near = np.repeat(nodes, stops - starts)
        relations = rows.relations[positions].astype(np.int64)
        if limit is not None and relation is None:
            keep = positions_in_runs(near * self.num_relations + relations) < limit
            positions, near, relations = positions[keep], near[keep], relations[keep]
        far = rows.ends[positions].astype(np.int64)
        heads, tails = (near, far) if way is Direction.OUT else (far, near)
        return Edges(heads, relations, tails, total)

    def contains_many(self, heads: IntArray, relations: IntArray, tails: IntArray) -> npt.NDArray[np.bool_]:
        heads, relations, tails = (_handed_out(a) for a in (heads, relations, tails))
        rows = self._rows[Direction.OUT]
        starts, stops = rows.offsets[heads], rows.offsets[heads + 1]
        left = bisect_ranges(rows.relations, starts, stops, relations)
        right = bisect_ranges(rows.relations, left, stops, relations, "right")
        at = bisect_ranges(rows.ends, left, right, tails)
        found = at < right
        found[found] = rows.ends[at[found]] == tails[found]
        return found

    # --- schema --------------------------------------------------------------------------------
    @cached_property
    def _schema_rows(self) -> dict[int, list[dict[str, Any]]]:
        """Types and counts by relation."""
        found: dict[int, list[dict[str, Any]]] = {}
        for row in self._schema.to_pylist():
            found.setdefault(row["relation"], []).append(row)
        return found

    def schema(self, relation: int) -> RelationSchema:
        self.relation(relation)
        rows = self._schema_rows.get(relation, [])
        edges, heads, tails = (
            tuple((row["type"], row["count"]) for row in rows if row["side"] == side)
            for side in ("edges", "domain", "range")
        )
        return RelationSchema(relation, edges[0][1] if edges else 0, heads, tails)

    def with_classes(self, members: Mapping[str, IntArray]) -> ColumnarGraph:
        """The same graph with other classes than its own.

        Args:
            members: by the name of a class, its entities, ascending, shape (n,).
        """
        graph = copy.copy(self)
        nodes = np.concatenate([np.empty(0, np.int64), *members.values()])
        codes = np.repeat(np.arange(len(members)), [len(own) for own in members.values()])
        graph._type_codes = codes[np.argsort(nodes, kind="stable")]
        graph._type_offsets = np.searchsorted(np.sort(nodes), np.arange(self.num_entities + 1))
        graph._type_ids, graph._of_type = list(members), dict(members)
        graph._type_labels = {name: name for name in members}
        heads, relations, tails = self.all_edges()
        rows = {
            relation: [row for row in own if row["side"] == "edges" or row["type"] in self._datatypes]
            for relation, own in self._schema_rows.items()
        }
        for side, ends in (("domain", heads), ("range", tails)):
            for name, own in members.items():
                counts = np.bincount(relations[np.isin(ends, own)], minlength=self.num_relations)
                for at in np.flatnonzero(counts).tolist():
                    rows[at].append({"relation": at, "side": side, "type": name, "count": int(counts[at])})
        graph._schema_rows = {
            relation: sorted(own, key=lambda row: (-row["count"], row["type"])) for relation, own in rows.items()
        }
        return graph

    def with_names(self, relations: Mapping[int, Sequence[str]], classes: Mapping[str, str]) -> ColumnarGraph:
        """The same graph with other names.

        Args:
            relations: further names of relations, before their aliases.
            classes: the name of each class that is called otherwise, by its id.
        """
        graph = copy.copy(self)
        graph._relations = [
            replace(one, aliases=(*relations[number], *one.aliases)) if number in relations else one
            for number, one in enumerate(self._relations)
        ]
        graph._type_labels = {**self._type_labels, **classes}
        return graph

    # --- all nodes and edges, to build indices and to copy -------------------------------------
    def node_columns(self) -> NodeColumns:
        """All nodes as columns."""
        text, texts = pa.string(), pa.list_(pa.string())
        nodes, entities = self.num_nodes, self.num_entities
        return NodeColumns(
            ids=self._ids.slice(0, nodes).cast(text),
            labels=self._labels.slice(0, nodes).cast(text),
            descriptions=self._descriptions.slice(0, entities).cast(text),
            aliases=self._aliases.slice(0, entities).cast(texts),
            type_offsets=np.asarray(self._type_offsets),
            type_codes=np.asarray(self._type_codes),
            datatypes=self._datatypes,
            literal_datatypes=np.asarray(self._literal_datatypes),
        )

    def all_edge_properties(self) -> Iterator[tuple[int, tuple[EdgeProperties, ...]]]:
        """(row of the edge in `rows(OUT)`, its statements) of every edge with properties."""
        texts: list[str] = [] if self._statements is None else self._statements.to_pylist()
        edges = np.asarray(self._property_edges).tolist()
        return ((edge, _statements(text)) for edge, text in zip(edges, texts, strict=True))

    def all_labels(self) -> Iterator[tuple[int, str]]:
        """(node, label) of every node, read in batches."""
        return in_batches(self._labels)

    def all_aliases(self) -> Iterator[tuple[int, list[str]]]:
        """(entity, aliases) of every entity with aliases."""
        return ((node, names) for node, names in in_batches(self._aliases) if names)

    def close(self) -> None:
        """Release the mapped files; the graph cannot be used afterwards."""
        self.__dict__.clear()


def _statements(text: str) -> tuple[EdgeProperties, ...]:
    return tuple(
        tuple((name, value if datatype is None else Literal(value, datatype)) for name, value, datatype in statement)
        for statement in parse_json(text)
    )


def _known(number: int) -> int:
    """The number of a node or relation. A negative one is an error: Python and numpy would count it from the end."""
    if number < 0:
        raise IndexError(f"{number}: no such node or relation in this graph")
    return number


def _handed_out(numbers: IntArray | Sequence[int]) -> npt.NDArray[np.int64]:
    """The numbers as an array."""
    array = np.asarray(numbers, np.int64)
    if len(array):
        _known(int(array.min()))
    return array


def _run_starts(values: npt.NDArray[Any]) -> list[int]:
    """Starts of the runs of equal values in an ascending array."""
    if 0 < len(values) < _SCANNED:
        return [0, *(np.flatnonzero(values[1:] != values[:-1]) + 1).tolist()]
    # Bisect from run to run, so that a hub's million edges are not read.
    starts, at = list[int](), 0
    while at < len(values):
        starts.append(at)
        at += int(values[at:].searchsorted(values[at], "right"))
    return starts


def in_batches(column: pa.Array) -> Iterator[tuple[int, Any]]:
    """(row, value) of every row of a column."""
    for start in range(0, len(column), _BATCH):
        yield from enumerate(column.slice(start, _BATCH).to_pylist(), start)
