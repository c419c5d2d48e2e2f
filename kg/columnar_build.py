"""Writes the default store: a `NumberedGraph` becomes a directory of arrays.

`kg.columnar.ColumnarGraph` opens that directory.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import marisa_trie
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from triplecheck.kg._arrays import bisect_ranges, concat_ranges, smallest_unsigned
from triplecheck.kg.columnar import PROPERTIES, id_key, in_batches
from triplecheck.kg.readers.raw import EDGE_PROPERTY_SCHEMA
from triplecheck.kg.types import Relation

Int = npt.NDArray[Any]

# Edges counted at once; below this number of (relation, type) pairs they are counted in one array, without sorting.
_COUNTED_AT_ONCE = 1 << 24


@dataclass
class NumberedGraph:
    """A graph whose nodes and relations are numbered: entities first, then literals.

    Attributes:
        heads, relations, tails: edges, shape (n,), in any order, duplicates allowed.
        ids, labels: per node; the lexical form for literals.
        descriptions, aliases: per entity.
        literal_datatypes: per literal, an index into `datatypes`.
        type_offsets, type_codes: types of each entity, compressed sparse rows.
        types: (id, label) by type code.
        superclasses: direct ones by class id; the types of entities hold them already.
        edge_properties: rows of `EDGE_PROPERTY_SCHEMA`; `edge` is a row of `heads`.
    """

    heads: Int
    relations: Int
    tails: Int
    ids: pa.Array
    labels: pa.Array
    descriptions: pa.Array
    aliases: pa.Array
    literal_datatypes: Int
    datatypes: list[str]
    type_offsets: Int
    type_codes: Int
    types: list[tuple[str, str]]
    relation_table: list[Relation]
    superclasses: dict[str, list[str]] = field(default_factory=dict)
    edge_properties: pa.Table = field(default_factory=EDGE_PROPERTY_SCHEMA.empty_table)

    @property
    def num_entities(self) -> int:
        """Number of nodes that are not literals."""
        return len(self.ids) - len(self.literal_datatypes)


def write_graph(graph: NumberedGraph, folder: Path) -> None:
    """Write all files of one graph into an existing, empty folder. Duplicate edges are merged."""
    nodes, relations = len(graph.ids), len(graph.relation_table)
    out = _sorted_edges(graph.heads, graph.relations, graph.tails, nodes, relations)
    _write_rows(folder, "out", *out, nodes)
    heads, rels, tails = out
    _write_edge_properties(graph, out, folder)
    _write_rows(folder, "in", *_sorted_edges(tails, rels, heads, nodes, relations, distinct=False), nodes)
    counts = SchemaCounts(graph)
    for start in range(0, len(heads), _COUNTED_AT_ONCE):
        counts.add(*(column[start : start + _COUNTED_AT_ONCE] for column in out))
    write_nodes(graph, counts, folder)


def write_nodes(graph: NumberedGraph, counts: SchemaCounts, folder: Path) -> None:
    """Write all files of a graph but those of its edges.

    Args:
        graph: the graph; its edges are not read.
    """
    for name in ("type_offsets", "type_codes", "literal_datatypes"):
        np.save(folder / f"{name}.npy", getattr(graph, name))
    _write_ids(graph, folder)
    _write_tables(graph, folder)
    write_table(counts.table(), folder / "schema.arrow")
    meta: dict[str, Any] = {"entities": graph.num_entities, "nodes": len(graph.ids), "datatypes": graph.datatypes}
    if graph.superclasses:
        meta["superclasses"] = dict(sorted(graph.superclasses.items()))
    (folder / "graph.json").write_text(json.dumps(meta), "utf-8")


def _sorted_edges(
    near: Int, relations: Int, far: Int, num_nodes: int, num_relations: int, *, distinct: bool = True
) -> tuple[Int, Int, Int]:
    """Edges sorted by (near, relation, far), in the dtypes that are stored.

    If 63 bits hold an edge, edges are packed into one integer each, which sorts 5 times as fast.
    """
    node_type, relation_type = node_dtype(num_nodes), smallest_unsigned(num_relations)
    node_bits, relation_bits = int(num_nodes).bit_length(), int(num_relations).bit_length()
    if 2 * node_bits + relation_bits <= 63:
        packed = near.astype(np.int64) << (relation_bits + node_bits)
        packed |= relations.astype(np.int64) << node_bits
        packed |= far.astype(np.int64)
        packed.sort()
        if distinct and len(packed):
            packed = packed[np.concatenate(([True], packed[1:] != packed[:-1]))]
        node_mask, relation_mask = (1 << node_bits) - 1, (1 << relation_bits) - 1
        return (
            (packed >> (relation_bits + node_bits)).astype(node_type),
            ((packed >> node_bits) & relation_mask).astype(relation_type),
            (packed & node_mask).astype(node_type),
        )
    order = np.lexsort((far, relations, near))
    a, b, c = near[order], relations[order], far[order]
    if distinct and len(a):
        keep = np.concatenate(([True], (a[1:] != a[:-1]) | (b[1:] != b[:-1]) | (c[1:] != c[:-1])))
        a, b, c = a[keep], b[keep], c[keep]
    return a.astype(node_type), b.astype(relation_type), c.astype(node_type)


def node_dtype(nodes: int) -> type[np.integer[Any]]:
    """The type of node numbers in a graph of so many nodes."""
    return np.int32 if nodes < 2**31 else np.int64


def _write_rows(folder: Path, name: str, near: Int, relations: Int, far: Int, nodes: int) -> None:
    offsets = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(near, minlength=nodes), out=offsets[1:])
    np.save(folder / f"{name}_offsets.npy", offsets)
    np.save(folder / f"{name}_relations.npy", relations)
    np.save(folder / f"{name}_ends.npy", far)


def _write_edge_properties(graph: NumberedGraph, edges: tuple[Int, Int, Int], folder: Path) -> None:
    """The place of each edge that has properties, and its statements as JSON; nothing if there are none."""
    table = graph.edge_properties
    if not table.num_rows:
        return
    heads, relations, tails = edges
    rows = table["edge"].to_numpy()
    near = graph.heads[rows]
    low, high = np.searchsorted(heads, near, "left"), np.searchsorted(heads, near, "right")
    low, high = (bisect_ranges(relations, low, high, graph.relations[rows], side) for side in ("left", "right"))
    at = bisect_ranges(tails, low, high, graph.tails[rows])
    statements: dict[int, dict[int, list[list[str | None]]]] = {}
    columns = (table[name].to_pylist() for name in ("name", "value", "datatype"))
    for edge, row, *about in zip(at.tolist(), rows.tolist(), *columns, strict=True):
        statements.setdefault(edge, {}).setdefault(row, []).append(about)
    order = sorted(statements)
    np.save(folder / f"{PROPERTIES}.npy", np.array(order, np.int64))
    distinct_statements = ([*{json.dumps(s): s for s in statements[edge].values()}.values()] for edge in order)
    texts = [json.dumps(found, ensure_ascii=False) for found in distinct_statements]
    write_table(pa.table({"statements": pa.array(texts, pa.large_string())}), folder / f"{PROPERTIES}.arrow")


def _write_ids(graph: NumberedGraph, folder: Path) -> None:
    trie = marisa_trie.Trie(_id_keys(graph))
    trie.save(str(folder / "ids.marisa"))
    nodes = len(graph.ids)
    id_nodes = np.empty(nodes, node_dtype(nodes))
    id_nodes[np.fromiter(map(trie.key_id, _id_keys(graph)), np.int64, nodes)] = np.arange(nodes)
    np.save(folder / "id_nodes.npy", id_nodes)


def _id_keys(graph: NumberedGraph) -> Iterator[str]:
    entities = graph.num_entities
    yield from (id_key(id) for _, id in in_batches(graph.ids.slice(0, entities)))
    for at, lexical in in_batches(graph.ids.slice(entities)):
        yield id_key(lexical, graph.datatypes[graph.literal_datatypes[at]])


def write_table(table: pa.Table, path: Path) -> None:
    """Write an Arrow IPC file of one record batch, so that it can be memory-mapped and indexed."""
    table = table.combine_chunks()
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
        if table.num_rows == 0:
            empty = [pa.array([], field.type) for field in table.schema]
            writer.write_batch(pa.RecordBatch.from_arrays(empty, schema=table.schema))


def _write_tables(graph: NumberedGraph, folder: Path) -> None:
    literals = len(graph.literal_datatypes)
    text, texts = pa.large_string(), pa.large_list(pa.large_string())
    descriptions = pa.concat_arrays([graph.descriptions.cast(text), pa.nulls(literals, text)])
    aliases = pa.concat_arrays([graph.aliases.cast(texts), pa.nulls(literals, texts)])
    columns = {"id": graph.ids.cast(text), "label": graph.labels.cast(text)}
    write_table(pa.table({**columns, "description": descriptions, "aliases": aliases}), folder / "nodes.arrow")
    string = pa.string()
    kinds = {"id": string, "label": string, "aliases": pa.list_(string), "description": string}
    schema = pa.schema(kinds | {"domain": string, "range": string})
    write_table(
        pa.Table.from_pylist([asdict(relation) for relation in graph.relation_table], schema),
        folder / "relations.arrow",
    )
    pairs = {"id": [i for i, _ in graph.types], "label": [label for _, label in graph.types]}
    write_table(pa.table(pairs, pa.schema([("id", string), ("label", string)])), folder / "types.arrow")


class SchemaCounts:
    """Per relation: the number of edges, and of edges by type of the head and by type of the tail.

    Args:
        graph: the graph; its edges are not read.
    """

    def __init__(self, graph: NumberedGraph) -> None:
        self._graph = graph
        self._types = [id for id, _ in graph.types]
        self._edges = np.zeros(len(graph.relation_table), np.int64)
        self._domains, self._ranges = _PairCounts(self._types), _PairCounts(self._types)
        self._values = _PairCounts(graph.datatypes)

    def add(self, heads: Int, relations: Int, tails: Int) -> None:
        """Count distinct edges."""
        graph = self._graph
        self._edges += np.bincount(relations, minlength=len(self._edges))
        is_value = tails >= graph.num_entities
        self._count_types(self._domains, relations, heads)
        self._count_types(self._ranges, relations[~is_value], tails[~is_value])
        datatypes = graph.literal_datatypes[tails[is_value] - graph.num_entities]
        self._values.add(relations[is_value], datatypes)

    def _count_types(self, counts: _PairCounts, relations: Int, nodes: Int) -> None:
        if len(self._graph.type_codes):
            starts, stops = self._graph.type_offsets[nodes], self._graph.type_offsets[nodes + 1]
            codes = self._graph.type_codes[concat_ranges(starts, stops)]
            counts.add(np.repeat(relations, stops - starts), codes)

    def table(self) -> pa.Table:
        """The counts of all edges: relation, side, type, count."""
        rows = [(r, "edges", "", n) for r, n in enumerate(self._edges.tolist())]
        rows += sorted(self._domains.rows("domain"), key=_frequent_first)
        rows += sorted([*self._ranges.rows("range"), *self._values.rows("range")], key=_frequent_first)
        kinds = {"relation": pa.int64(), "side": pa.string(), "type": pa.string(), "count": pa.int64()}
        columns = [pa.array([row[i] for row in rows], kind) for i, kind in enumerate(kinds.values())]
        return pa.table(columns, schema=pa.schema(kinds))


class _PairCounts:
    """How often each (relation, name) occurs."""

    def __init__(self, names: list[str]) -> None:
        self._names = names
        self._keys, self._counts = np.empty(0, np.int64), np.empty(0, np.int64)

    def add(self, relations: Int, codes: Int) -> None:
        pairs = relations.astype(np.int64) * max(len(self._names), 1) + codes
        if not len(pairs):
            return
        if int(pairs.max()) < _COUNTED_AT_ONCE:
            counts = np.bincount(pairs)
            keys = np.flatnonzero(counts)
            counts = counts[keys]
        else:
            keys, counts = np.unique(pairs, return_counts=True)
        if len(self._keys):
            keys, at = np.unique(np.concatenate([self._keys, keys]), return_inverse=True)
            counts = np.bincount(at, np.concatenate([self._counts, counts])).astype(np.int64)
        self._keys, self._counts = keys, counts

    def rows(self, side: str) -> list[tuple[int, str, str, int]]:
        size = len(self._names)
        pairs = zip(self._keys.tolist(), self._counts.tolist(), strict=True)
        return [(key // size, side, self._names[key % size], count) for key, count in pairs]


def _frequent_first(row: tuple[int, str, str, int]) -> tuple[int, int, str]:
    """Sort key: by relation, then by descending count."""
    relation, _, name, count = row
    return relation, -count, name
