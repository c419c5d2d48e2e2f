"""Writes the directory of arrays that `kg.columnar.ColumnarGraph` opens."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import marisa_trie
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from triplecheck.kg._ranges import concat_ranges, smallest_unsigned
from triplecheck.kg.columnar import id_key
from triplecheck.kg.types import Relation

Int = npt.NDArray[Any]

# Pairs of relation and type below this many are counted in one array, not by sorting.
_COUNTED_AT_ONCE = 1 << 24


@dataclass
class NumberedGraph:
    """A graph whose nodes and relations are numbered already: entities first, then literals.

    Attributes:
        heads, relations, tails: edges, shape (n,), in any order, duplicates allowed.
        ids, labels: per node; the lexical form for literals.
        descriptions, aliases: per entity.
        literal_datatypes: per literal, a number into `datatypes`.
        datatypes: datatype IRIs.
        type_offsets, type_codes: types of each entity, compressed sparse rows.
        types: (id, label) by type code.
        relation_table: by relation number.
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

    @property
    def num_entities(self) -> int:
        """Nodes that are no literals."""
        return len(self.ids) - len(self.literal_datatypes)


def write_graph(graph: NumberedGraph, folder: Path) -> None:
    """Write all files of one graph into an existing, empty folder. Duplicate edges are merged."""
    nodes, relations = len(graph.ids), len(graph.relation_table)
    out = _sorted_edges(graph.heads, graph.relations, graph.tails, nodes, relations)
    _write_rows(folder, "out", *out, nodes)
    heads, rels, tails = out
    _write_rows(folder, "in", *_sorted_edges(tails, rels, heads, nodes, relations, distinct=False), nodes)
    for name in ("type_offsets", "type_codes", "literal_datatypes"):
        np.save(folder / f"{name}.npy", getattr(graph, name))
    _write_ids(graph, folder)
    _write_tables(graph, folder)
    _write_schema(graph, heads, rels, tails, folder)
    meta = {"entities": graph.num_entities, "nodes": nodes, "datatypes": graph.datatypes}
    (folder / "graph.json").write_text(json.dumps(meta), "utf-8")


def _sorted_edges(
    near: Int, relations: Int, far: Int, num_nodes: int, num_relations: int, *, distinct: bool = True
) -> tuple[Int, Int, Int]:
    """Edges by (near, relation, far), in the dtypes they are stored in.

    Packed into one integer each where 63 bits hold them: sorts 5x faster.
    """
    node_type, relation_type = _node_type(num_nodes), smallest_unsigned(num_relations)
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


def _node_type(nodes: int) -> type[np.integer[Any]]:
    return np.int32 if nodes < 2**31 else np.int64


def _write_rows(folder: Path, name: str, near: Int, relations: Int, far: Int, nodes: int) -> None:
    offsets = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(near, minlength=nodes), out=offsets[1:])
    np.save(folder / f"{name}_offsets.npy", offsets)
    np.save(folder / f"{name}_relations.npy", relations)
    np.save(folder / f"{name}_ends.npy", far)


def _write_ids(graph: NumberedGraph, folder: Path) -> None:
    ids: list[str] = graph.ids.to_pylist()
    entities = graph.num_entities
    keys = [id_key(id) for id in ids[:entities]]
    datatypes = (graph.datatypes[code] for code in graph.literal_datatypes.tolist())
    keys += [id_key(lexical, datatype) for lexical, datatype in zip(ids[entities:], datatypes, strict=True)]
    trie = marisa_trie.Trie(keys)
    trie.save(str(folder / "ids.marisa"))
    id_nodes = np.empty(len(keys), _node_type(len(keys)))
    id_nodes[np.fromiter(map(trie.key_id, keys), np.int64, len(keys))] = np.arange(len(keys))
    np.save(folder / "id_nodes.npy", id_nodes)


def write_table(table: pa.Table, path: Path) -> None:
    """An Arrow IPC file of one record batch, so that it can be memory-mapped and indexed."""
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
    rows = [
        {"id": r.id, "label": r.label, "aliases": list(r.aliases), "description": r.description}
        | {"domain": r.domain, "range": r.range}
        for r in graph.relation_table
    ]
    string = pa.string()
    kinds = {"id": string, "label": string, "aliases": pa.list_(string), "description": string}
    schema = pa.schema(kinds | {"domain": string, "range": string})
    write_table(pa.Table.from_pylist(rows, schema), folder / "relations.arrow")
    pairs = {"id": [i for i, _ in graph.types], "label": [label for _, label in graph.types]}
    write_table(pa.table(pairs, pa.schema([("id", string), ("label", string)])), folder / "types.arrow")


def _write_schema(graph: NumberedGraph, heads: Int, relations: Int, tails: Int, folder: Path) -> None:
    """Per relation: its edges, and how many of them have each type at their head and at their tail."""
    edges = np.bincount(relations, minlength=len(graph.relation_table))
    rows = [(r, "edges", "", int(n)) for r, n in enumerate(edges)]
    entities = graph.num_entities
    is_value = tails >= entities
    rows += _type_counts("domain", relations, heads, graph)
    ranges = _type_counts("range", relations[~is_value], tails[~is_value], graph)
    datatypes = graph.literal_datatypes[tails[is_value] - entities]
    ranges += _count_pairs("range", relations[is_value], datatypes, graph.datatypes)
    rows += sorted(ranges, key=_frequent_first)
    schema = pa.schema([("relation", pa.int64()), ("side", pa.string()), ("type", pa.string()), ("count", pa.int64())])
    columns = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(schema)]
    write_table(pa.table(columns, schema=schema), folder / "schema.arrow")


def _type_counts(side: str, relations: Int, nodes: Int, graph: NumberedGraph) -> list[tuple[int, str, str, int]]:
    if len(graph.type_codes) == 0:
        return []
    starts, stops = graph.type_offsets[nodes], graph.type_offsets[nodes + 1]
    codes = graph.type_codes[concat_ranges(starts, stops)]
    return _count_pairs(side, np.repeat(relations, stops - starts), codes, [i for i, _ in graph.types])


def _count_pairs(side: str, relations: Int, codes: Int, names: list[str]) -> list[tuple[int, str, str, int]]:
    pairs = relations.astype(np.int64) * max(len(names), 1) + codes
    if len(pairs) and int(pairs.max()) < _COUNTED_AT_ONCE:
        counts = np.bincount(pairs)
        keys = np.flatnonzero(counts)
        counts = counts[keys]
    else:
        keys, counts = np.unique(pairs, return_counts=True)
    found = [
        (int(key) // len(names), side, names[int(key) % len(names)], int(count))
        for key, count in zip(keys, counts, strict=True)
    ]
    return sorted(found, key=_frequent_first)


def _frequent_first(row: tuple[int, str, str, int]) -> tuple[int, int, str]:
    """Within a relation by falling count."""
    relation, _, name, count = row
    return relation, -count, name
