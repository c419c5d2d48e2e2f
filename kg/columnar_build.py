"""Builds the default store: a `RawGraph` of strings becomes a `NumberedGraph`, then a directory of arrays.

`kg.columnar.ColumnarGraph` opens that directory.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import marisa_trie
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from triplecheck.kg._arrays import bisect_ranges, concat_ranges, distinct, smallest_unsigned, used
from triplecheck.kg.columnar import PROPERTIES, id_key
from triplecheck.kg.names import normalize
from triplecheck.kg.readable import STANDARD, entity_label, relation_alias, relation_label, split_name
from triplecheck.kg.readers.raw import EDGE_PROPERTY_SCHEMA, ENTITY_SCHEMA, RELATION_SCHEMA, UNKNOWN, RawGraph
from triplecheck.kg.types import XSD, Relation

FORMS = {
    XSD + "integer": r"^[+-]?[0-9]{1,18}$",
    XSD + "decimal": r"^[+-]?[0-9]*\.[0-9]+$",
    XSD + "date": r"^-?[0-9]{4}-[0-9]{2}-[0-9]{2}$",
}
"""Datatypes that a text of unknown datatype may have, by its form."""
# The tails of a relation are values if nearly all distinct tails have the form of a value, and few of those strings
# are heads themselves.
_VALUE_SHARE, _ENTITY_SHARE = 0.95, 0.5

Int = npt.NDArray[Any]


def concat(graphs: Sequence[RawGraph]) -> RawGraph:
    """Concatenate several sources."""
    if len(graphs) == 1:
        return graphs[0]

    def column(name: str) -> pa.DictionaryArray:
        arrays = [getattr(g, name) for g in graphs]
        if name == "datatypes":
            arrays = [all_unknown(len(g)) if a is None else a for g, a in zip(graphs, arrays, strict=True)]
        return pa.chunked_array(arrays).unify_dictionaries().combine_chunks()

    labels: dict[str, str] = {}
    left_out: Counter[str] = Counter()
    properties, before = [], 0
    for graph in graphs:
        labels |= graph.type_labels
        left_out.update(graph.left_out)
        edges = pc.add(graph.edge_properties["edge"], before)
        properties.append(graph.edge_properties.set_column(0, "edge", edges))
        before += len(graph)
    return RawGraph(
        heads=column("heads"),
        relations=column("relations"),
        tails=column("tails"),
        datatypes=None if all(g.datatypes is None for g in graphs) else column("datatypes"),
        entities=pa.concat_tables([g.entities for g in graphs]),
        relation_rows=pa.concat_tables([g.relation_rows for g in graphs]),
        edge_properties=pa.concat_tables(properties),
        type_labels=labels,
        skipped=[bad for g in graphs for bad in g.skipped],
        read=sum(len(g) if g.read is None else g.read for g in graphs),
        described=sum(g.described for g in graphs),
        left_out=dict(left_out),
        notes=[note for g in graphs for note in g.notes],
    )


def all_unknown(n: int) -> pa.DictionaryArray:
    """Datatypes of n tails of which nothing is known."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array([UNKNOWN]))


def number(raw: RawGraph) -> NumberedGraph:
    """Number nodes and relations, separate values from entities, and merge the descriptions of each."""
    heads, tails, relations = _codes(raw.heads), _codes(raw.tails), _codes(raw.relations)
    datatype_of, datatypes = _datatypes(raw, heads, relations, tails)
    strings = pc.unique(pa.concat_arrays([raw.heads.dictionary, raw.tails.dictionary, _ids(raw.entities)]))
    head_at, tail_at = _places(raw.heads.dictionary, strings), _places(raw.tails.dictionary, strings)

    is_value = datatype_of >= 0
    is_entity = np.zeros(len(strings), bool)
    is_entity[head_at[used(heads, len(head_at))]] = True
    is_entity[tail_at[used(tails[~is_value], len(tail_at))]] = True
    is_entity[_places(_ids(raw.entities), strings)] = True
    entity_number = np.cumsum(is_entity) - 1
    entity_ids = strings.filter(pa.array(is_entity))

    tail_numbers = entity_number[tail_at[tails]]
    pairs = tails[is_value].astype(np.int64) * max(len(datatypes), 1) + datatype_of[is_value]
    values, value_number = np.unique(pairs, return_inverse=True)
    tail_numbers[is_value] = len(entity_ids) + value_number
    lexical = raw.tails.dictionary.take(pa.array(values // max(len(datatypes), 1)))

    labels, descriptions, aliases, types = _describe(raw.entities, entity_ids)
    relation_table, relation_numbers = _relations(raw, used(relations, len(raw.relations.dictionary)))
    head_numbers, edge_relations = entity_number[head_at[heads]], relation_numbers[relations]
    member_of = np.array([normalize(relation.label) in MEMBERSHIP for relation in relation_table], bool)
    in_class = member_of[edge_relations] & ~is_value if len(member_of) else np.zeros(len(heads), bool)
    classes = _classes(types, head_numbers[in_class], tail_numbers[in_class], entity_ids)
    names = {entity_ids[at].as_py(): labels[at].as_py() for at in np.unique(tail_numbers[in_class]).tolist()}
    type_table, type_offsets, type_codes = _number_types(classes, len(entity_ids), names | raw.type_labels)
    return NumberedGraph(
        heads=head_numbers,
        relations=edge_relations,
        tails=tail_numbers,
        ids=pa.concat_arrays([entity_ids, lexical]),
        labels=pa.concat_arrays([labels, lexical]),
        descriptions=descriptions,
        aliases=aliases,
        literal_datatypes=(values % max(len(datatypes), 1)).astype(np.int32),
        datatypes=datatypes,
        type_offsets=type_offsets,
        type_codes=type_codes,
        types=type_table,
        relation_table=relation_table,
        edge_properties=_edge_properties(raw, entity_ids, labels, relation_table),
    )


def _edge_properties(raw: RawGraph, ids: pa.Array, labels: pa.Array, relations: Sequence[Relation]) -> pa.Table:
    """The edge properties with readable names and values, and a datatype for every literal."""
    table = raw.edge_properties
    if not table.num_rows:
        return table
    readable = {row["id"]: row["label"] for row in raw.relation_rows.to_pylist() if row["label"]}
    readable |= {relation.id: relation.label for relation in relations}
    names = [readable.get(name) or relation_label(name) for name in table["name"].to_pylist()]
    values, datatypes = table["value"].to_pylist(), table["datatype"].to_pylist()
    at = pc.index_in(table["value"], value_set=ids).to_pylist()
    for row, datatype in enumerate(datatypes):
        if datatype is None:
            values[row] = labels[at[row]].as_py() if at[row] is not None else entity_label(values[row])
        elif datatype == UNKNOWN:
            form = next((form for form, pattern in FORMS.items() if re.match(pattern, values[row])), XSD + "string")
            datatypes[row] = form
    return pa.table([table["edge"], names, values, pa.array(datatypes, pa.string())], schema=EDGE_PROPERTY_SCHEMA)


def _codes(column: pa.DictionaryArray) -> Int:
    return column.indices.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def _ids(table: pa.Table) -> pa.Array:
    return table["id"].combine_chunks()


def _places(values: pa.Array, within: pa.Array) -> Int:
    return pc.index_in(values, value_set=within).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


# --- values and entities -------------------------------------------------------------------------
def _datatypes(raw: RawGraph, heads: Int, relations: Int, tails: Int) -> tuple[Int, list[str]]:
    """Datatype number of each triple's tail, -1 for an entity."""
    given = all_unknown(len(raw)) if raw.datatypes is None else raw.datatypes
    names: list[str] = given.dictionary.to_pylist()
    codes = pc.fill_null(given.indices, -1).to_numpy(zero_copy_only=False).astype(np.int32)
    if UNKNOWN in names:
        open_ = codes == names.index(UNKNOWN)
        names = [*names, *(f for f in FORMS if f not in names)]
        guess = _guess(raw, heads, relations[open_], tails[open_])
        codes[open_] = np.array([names.index(f) for f in FORMS] + [-1], np.int32)[guess]
    present = np.flatnonzero(used(codes[codes >= 0], len(names)))
    renumbered = np.full(len(names) + 1, -1, np.int32)
    renumbered[present] = np.arange(len(present))
    return renumbered[codes], [names[i] for i in present]


def _guess(raw: RawGraph, heads: Int, relations: Int, tails: Int) -> Int:
    """Index into `FORMS` of each triple's tail, -1 for an entity.

    Decided by relation: "1984" is a value of "release year" and an entity of "sequel".
    """
    strings = raw.tails.dictionary
    form = np.full(len(strings), -1, np.int64)
    for number, pattern in enumerate(FORMS.values()):
        matches = pc.match_substring_regex(strings, pattern).to_numpy(zero_copy_only=False)
        form[matches.astype(bool)] = number
    described = pc.is_in(strings, value_set=_ids(raw.entities)).to_numpy(zero_copy_only=False)
    form[described.astype(bool)] = -1
    form_of = form[tails]
    size = len(raw.relations.dictionary)
    # Most relations have no such tail: count only the others.
    open_ = used(relations[form_of >= 0], size)[relations]
    if not open_.any():
        return np.full(len(tails), -1)
    head_strings = raw.heads.dictionary.filter(pa.array(used(heads, len(raw.heads.dictionary))))
    is_head = pc.is_in(strings, value_set=head_strings).to_numpy(zero_copy_only=False).astype(bool)

    pairs = distinct(relations[open_].astype(np.int64) * max(len(strings), 1) + tails[open_])
    relation, tail = np.divmod(pairs, max(len(strings), 1))
    tails_of = np.bincount(relation, minlength=size)
    written_so = np.bincount(relation, form[tail] >= 0, minlength=size)
    also_heads = np.bincount(relation, (form[tail] >= 0) & is_head[tail], minlength=size)
    has_values = (written_so >= _VALUE_SHARE * tails_of) & (also_heads < _ENTITY_SHARE * np.maximum(written_so, 1))
    return np.where(has_values[relations] & open_, form_of, -1)


# --- descriptions --------------------------------------------------------------------------------
def default_labels(ids: pa.Array) -> pa.Array:
    """`readable.entity_label` of many ids."""
    spaced = pc.utf8_trim_whitespace(pc.replace_substring(ids, "_", " "))
    labels = pc.if_else(pc.or_(pc.match_substring(ids, " "), pc.equal(spaced, "")), ids, spaced)
    special = pc.match_substring(ids, ":")
    if not pc.any(special).as_py():
        return labels
    return pc.replace_with_mask(
        labels, special, pa.array(map(entity_label, ids.filter(special).to_pylist()), pa.string())
    )


def _describe(table: pa.Table, ids: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array, list[list[str]] | None]:
    """Labels, descriptions, aliases and types by entity. Labels after the first become aliases."""
    rows, at = _merged(table, _places(_ids(table), ids), len(ids))
    found = {name: rows[name].combine_chunks().take(at) for name in rows.column_names}
    given = found["label"]
    labels = pc.if_else(pc.fill_null(pc.not_equal(given, ""), False), given, default_labels(ids))
    iris = pc.match_substring(ids, "://").to_numpy(zero_copy_only=False)
    if iris.any():
        aliases = found["aliases"].to_pylist()
        for number in np.flatnonzero(iris).tolist():
            words = split_name(ids[number].as_py(), labels[number].as_py())
            if words is not None and words not in aliases[number]:
                aliases[number].append(words)
        found["aliases"] = pa.array(aliases, pa.list_(pa.string()))
    types = None
    if table.num_rows:
        # Most graphs from plain triples have no types at all.
        types = found["types"].to_pylist() if len(found["types"].flatten()) else [[] for _ in range(len(ids))]
    return labels, found["description"], found["aliases"], types


def _merged(table: pa.Table, places: Int, entities: int) -> tuple[pa.Table, pa.Array]:
    """One row per described entity, an empty one for the others, and the row of each entity.

    Args:
        table: rows of `ENTITY_SCHEMA`.
        places: the entity of each row.
        entities: number of entities.
    """
    columns = [name for name in ENTITY_SCHEMA.names if name != "id"]
    complete = np.bincount(places, minlength=entities)[places] == 1
    for name in ("description", "aliases", "types"):
        complete &= table[name].is_valid().to_numpy()
    merged: dict[int, dict[str, Any]] = {}
    several = pa.array(np.flatnonzero(~complete))
    for at, row in zip(places[~complete].tolist(), table.take(several).to_pylist(), strict=True):
        one = merged.setdefault(at, {"label": None, "description": "", "aliases": [], "types": []})
        label = row["label"]
        if label and one["label"] is None:
            one["label"] = label
        elif label and label != one["label"]:
            one["aliases"].append(label)
        one["description"] = one["description"] or row["description"] or ""
        one["aliases"] += [alias for alias in row["aliases"] or () if alias not in one["aliases"]]
        one["types"] += [kind for kind in row["types"] or () if kind not in one["types"]]
    empty: dict[str, Any] = {"label": None, "description": "", "aliases": [], "types": []}
    schema = pa.schema([ENTITY_SCHEMA.field(name) for name in columns])
    alone = table.filter(pa.array(complete)).select(columns)
    rows = pa.concat_tables([alone, pa.Table.from_pylist([*merged.values(), empty], schema)])
    at_row = np.full(entities, rows.num_rows - 1)
    at_row[places[complete]] = np.arange(alone.num_rows)
    at_row[[*merged]] = alone.num_rows + np.arange(len(merged))
    return rows, pa.array(at_row)


MEMBERSHIP = frozenset({"instance of", "is instance of", "is a", "isa", "type", "rdf type", "has type"})
"""Names of relations that lead from a thing to its class. Their edges stay in the graph, too."""


def _classes(types: list[list[str]] | None, members: Int, classes: Int, ids: pa.Array) -> list[list[str]] | None:
    """The types of each entity, with those that edges give."""
    if not len(members):
        return types
    found = [[] for _ in range(len(ids))] if types is None else types
    for member, kind in np.unique(np.stack([members, classes], axis=1), axis=0).tolist():
        if (id := ids[kind].as_py()) not in found[member]:
            found[member].append(id)
    return found


def _number_types(
    types: list[list[str]] | None, entities: int, labels: dict[str, str]
) -> tuple[list[tuple[str, str]], Int, Int]:
    """Types by frequency, and the types of each entity as compressed sparse rows."""
    counts: dict[str, int] = {}
    for kinds in types or ():
        for kind in kinds:
            counts[kind] = counts.get(kind, 0) + 1
    order = sorted(counts, key=lambda kind: (-counts[kind], kind))
    codes = {kind: i for i, kind in enumerate(order)}
    table = [(kind, labels.get(kind) or entity_label(kind)) for kind in order]
    if types is None:
        return table, np.zeros(entities + 1, np.int64), np.empty(0, np.int32)
    offsets = np.zeros(entities + 1, np.int64)
    np.cumsum([len(kinds) for kinds in types], out=offsets[1:])
    return table, offsets, np.array([codes[kind] for kinds in types for kind in kinds], np.int32)


def _relations(raw: RawGraph, has_edges: Int) -> tuple[list[Relation], Int]:
    """The table of relations with edges, and the number of each entry of the raw relations' dictionary."""
    ids: list[str] = raw.relations.dictionary.filter(pa.array(has_edges)).to_pylist()
    merged: dict[str, dict[str, Any]] = {}
    for row in raw.relation_rows.to_pylist():
        known = merged.setdefault(row["id"], dict.fromkeys(RELATION_SCHEMA.names) | {"aliases": []})
        for name in ("label", "description", "domain", "range"):
            known[name] = known[name] or row[name]
        if row["label"] and row["label"] != known["label"]:
            known["aliases"].append(row["label"])
        known["aliases"] += [a for a in row["aliases"] or () if a not in known["aliases"]]
    table = []
    for id in ids:
        row = merged.get(id, {})
        aliases = list(row.get("aliases") or ())
        path = relation_alias(id)
        if path and not row.get("label"):
            aliases.append(path)
        standard = STANDARD.get(id, ())
        label = row.get("label") or next(iter(standard), None) or relation_label(id)
        aliases += [other for other in standard if other != label and other not in aliases]
        table.append(
            Relation(id, label, tuple(aliases), row.get("description") or "", row.get("domain"), row.get("range"))
        )
    return table, np.cumsum(has_edges) - 1


# --- the directory of arrays ---------------------------------------------------------------------
# Below this number of (relation, type) pairs, count in one array instead of sorting.
_COUNTED_AT_ONCE = 1 << 24


@dataclass
class NumberedGraph:
    """A graph whose nodes and relations are numbered: entities first, then literals.

    Attributes:
        heads, relations, tails: edges, shape (n,), in any order, duplicates allowed.
        ids, labels: per node; the lexical form for literals.
        descriptions, aliases: per entity.
        literal_datatypes: per literal, an index into `datatypes`.
        datatypes: datatype IRIs.
        type_offsets, type_codes: types of each entity, compressed sparse rows.
        types: (id, label) by type code.
        relation_table: by relation number.
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
    """Edges sorted by (near, relation, far), in the dtypes that are stored.

    If 63 bits hold an edge, edges are packed into one integer each, which sorts 5 times as fast.
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
    """Per relation: the number of edges, and of edges by type of the head and by type of the tail."""
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
    """Sort key: by relation, then by descending count."""
    relation, _, name, count = row
    return relation, -count, name
