"""From strings to numbers: a `RawGraph` becomes a `NumberedGraph`, which `kg.columnar_build` writes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from triplecheck.kg._arrays import distinct, used
from triplecheck.kg.classes import named_memberships, told_memberships
from triplecheck.kg.columnar_build import Int, NumberedGraph
from triplecheck.kg.own_units import with_units
from triplecheck.kg.readable import STANDARD, class_label, entity_label, relation_alias, relation_label, split_name
from triplecheck.kg.readers.raw import EDGE_PROPERTY_SCHEMA, ENTITY_SCHEMA, RELATION_SCHEMA, UNKNOWN, RawGraph
from triplecheck.kg.types import TRUTHS, XSD, Relation

FORMS = {
    XSD + "integer": r"^[+-]?[0-9]{1,18}$",
    XSD + "decimal": r"^[+-]?[0-9]*\.[0-9]+$",
    XSD + "date": r"^-?[0-9]{4}-[0-9]{2}-[0-9]{2}$",
}
"""Datatypes that a text of unknown datatype may have, by its form."""
# The tails of a relation are values if nearly all distinct tails have the form of a value, and few of those strings
# are heads themselves.
_VALUE_SHARE, _ENTITY_SHARE = 0.95, 0.5
_AT_ONCE = 1 << 20  # nodes described at once


def concat(graphs: Sequence[RawGraph]) -> RawGraph:
    """Concatenate several sources; their booleans become "true" and "false"."""
    graphs = [with_truths(graph) for graph in graphs]
    if len(graphs) == 1:
        return graphs[0]

    parts = [graph for graph in graphs if len(graph)] or graphs[:1]

    def column(name: str) -> pa.DictionaryArray:
        arrays = [all_unknown(len(part)) if (a := getattr(part, name)) is None else a for part in parts]
        return pa.chunked_array(arrays).unify_dictionaries().combine_chunks() if len(parts) > 1 else arrays[0]

    labels: dict[str, str] = {}
    left_out: Counter[str] = Counter()
    superclasses: dict[str, list[str]] = {}
    reading: dict[str, Any] = {}
    properties, before = [], 0
    for graph in graphs:
        labels |= graph.type_labels
        left_out.update(graph.left_out)
        inverses = graph.reading.get("inverses", {}) | reading.get("inverses", {})
        reading = graph.reading | reading | ({"inverses": inverses} if inverses else {})
        for kind, above in graph.superclasses.items():
            superclasses[kind] = list(dict.fromkeys([*superclasses.get(kind, ()), *above]))
        edges = pc.add(graph.edge_properties["edge"], before)
        properties.append(graph.edge_properties.set_column(0, "edge", edges))
        before += len(graph)
    return RawGraph(
        heads=column("heads"),
        relations=column("relations"),
        tails=column("tails"),
        datatypes=None if all(part.datatypes is None for part in parts) else column("datatypes"),
        entities=pa.concat_tables([g.entities for g in graphs]),
        relation_rows=pa.concat_tables([g.relation_rows for g in graphs]),
        edge_properties=pa.concat_tables(properties),
        type_labels=labels,
        superclasses=superclasses,
        skipped=[bad for g in graphs for bad in g.skipped],
        read=sum(g.statements for g in graphs),
        inferred=sum(g.inferred for g in graphs),
        described=sum(g.described for g in graphs),
        left_out=dict(left_out),
        notes=[note for g in graphs for note in g.notes],
        recognised=[line for g in graphs for line in g.recognised],
        reading=reading,
    )


def with_truths(raw: RawGraph) -> RawGraph:
    """A graph whose booleans are "true" and "false", whatever form of them it has."""
    kinds = [] if raw.datatypes is None else raw.datatypes.dictionary.to_pylist()
    if raw.datatypes is None or XSD + "boolean" not in kinds:
        return raw
    texts = raw.tails.dictionary.to_pylist()
    code = {text: number for number, text in enumerate(dict.fromkeys([*texts, *TRUTHS.values()]))}
    canonical = np.array([code[TRUTHS.get(text.strip(), text)] for text in texts], np.int32)
    tails = _codes(raw.tails)
    is_truth = np.asarray(pc.fill_null(pc.equal(raw.datatypes.indices, kinds.index(XSD + "boolean")), False))
    if not (is_truth & (canonical[tails] != tails)).any():
        return raw
    numbers = pa.array(np.where(is_truth, canonical[tails], tails).astype(np.int32))
    return replace(raw, tails=pa.DictionaryArray.from_arrays(numbers, pa.array(code, raw.tails.dictionary.type)))


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

    relation_table, relation_numbers = relation_rows(raw, used(relations, len(raw.relations.dictionary)))
    head_numbers, edge_relations = entity_number[head_at[heads]], relation_numbers[relations]
    members = named_memberships(relation_table)
    if not members and not has_types(raw):
        members = told_memberships(head_numbers, edge_relations, tail_numbers, len(entity_ids))
    member_of = np.isin(edge_relations, members) & ~is_value
    nodes = describe_nodes(
        raw,
        entity_ids,
        lexical,
        _places(_ids(raw.entities), entity_ids),
        np.unique(np.stack([head_numbers[member_of], tail_numbers[member_of]], axis=1), axis=0),
    )
    return NumberedGraph(
        heads=head_numbers,
        relations=edge_relations,
        tails=tail_numbers,
        literal_datatypes=(values % max(len(datatypes), 1)).astype(np.int32),
        datatypes=datatypes,
        relation_table=relation_table,
        edge_properties=_edge_properties(raw, entity_ids, nodes["labels"], relation_table),
        **nodes,
    )


def describe_nodes(raw: RawGraph, ids: pa.Array, lexical: pa.Array, places: Int, classes: Int) -> dict[str, Any]:
    """The fields of `NumberedGraph` that describe nodes.

    Args:
        raw: the descriptions; its edges are not read.
        lexical: forms of the values, by number after the entities.
        places: the entity of each row of `raw.entities`.
        classes: distinct (member, class) pairs of entities that edges give, in this order; shape (n, 2).
    """
    labels, descriptions, aliases, kinds = _describe(raw.entities, ids, places)
    names = {ids[at].as_py(): labels[at].as_py() for at in np.unique(classes[:, 1]).tolist()}
    names |= _labels_of(
        {*raw.superclasses, *(kind for above in raw.superclasses.values() for kind in above)}, ids, labels
    )
    table, offsets, codes = _number_types(kinds, classes, ids, names | raw.type_labels, raw.superclasses)
    return {
        "ids": pa.concat_arrays([ids, lexical]),
        "labels": pa.concat_arrays([labels, lexical]),
        "descriptions": descriptions,
        "aliases": aliases,
        "type_offsets": offsets,
        "type_codes": codes,
        "types": table,
        "superclasses": raw.superclasses,
    }


def has_types(raw: RawGraph) -> bool:
    """Whether descriptions of things name their classes."""
    return len(raw.entities["types"].combine_chunks().flatten()) > 0


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
    codes, names = with_units(raw, heads, relations, tails, codes, names)
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
    return np.where(has_values(tails_of, written_so, also_heads)[relations] & open_, form_of, -1)


def has_values(tails: Int, written_so: Int, also_heads: Int) -> Int:
    """Whether the tails of a relation are values.

    Args:
        tails: number of distinct tails of each relation.

    Returns:
        A boolean of each relation.
    """
    return (written_so >= _VALUE_SHARE * tails) & (also_heads < _ENTITY_SHARE * np.maximum(written_so, 1))


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


def _describe(table: pa.Table, ids: pa.Array, places: Int) -> tuple[pa.Array, pa.Array, pa.Array, pa.Array]:
    """Labels, descriptions, aliases and types by entity. Labels after the first become aliases."""
    rows, at = _merged(table, places, len(ids))
    if ids.type == pa.large_string():
        large = {"label": ids.type, "description": ids.type, "aliases": pa.large_list(ids.type), "types": None}
        fields = [field if (kind := large[field.name]) is None else field.with_type(kind) for field in rows.schema]
        rows = rows.cast(pa.schema(fields))
    found = {name: rows[name].combine_chunks().take(at) for name in rows.column_names}
    parts = []
    for start in range(0, max(len(ids), 1), _AT_ONCE):
        labels, aliases, some = (c.slice(start, _AT_ONCE) for c in (found["label"], found["aliases"], ids))
        labels = pc.if_else(pc.fill_null(pc.not_equal(labels, ""), False), labels, default_labels(some))
        parts.append((labels, _with_words(some, labels, aliases)))
    labels, aliases = (pa.concat_arrays(columns) for columns in zip(*parts, strict=True))
    return labels, found["description"], aliases, found["types"]


def _with_words(ids: pa.Array, labels: pa.Array, aliases: pa.Array) -> pa.Array:
    """The aliases, with the words of local names of IRIs that are labels."""
    iris = pc.match_substring(ids, "://").to_numpy(zero_copy_only=False)
    if not iris.any():
        return aliases
    lists = aliases.to_pylist()
    for number in np.flatnonzero(iris).tolist():
        words = split_name(ids[number].as_py(), labels[number].as_py())
        if words is not None and words not in lists[number]:
            lists[number].append(words)
    return pa.array(lists, aliases.type)


def _merged(table: pa.Table, places: Int, entities: int) -> tuple[pa.Table, pa.Array]:
    """One row per described entity, an empty one for the others, and the row of each entity.

    Args:
        table: rows of `ENTITY_SCHEMA`.
    """
    columns = [name for name in ENTITY_SCHEMA.names if name != "id"]
    complete = np.bincount(places, minlength=entities)[places] == 1
    for name, nothing in (("description", ""), ("aliases", []), ("types", [])):
        filled = pc.coalesce(table[name], pa.scalar(nothing, table[name].type))
        table = table.set_column(table.column_names.index(name), ENTITY_SCHEMA.field(name), filled)
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


def _number_types(
    kinds: pa.Array, classes: Int, ids: pa.Array, labels: dict[str, str], superclasses: Mapping[str, Sequence[str]]
) -> tuple[list[tuple[str, str]], Int, Int]:
    """Types by frequency, and the types of each entity as compressed sparse rows.

    Args:
        classes: further (entity, class) pairs; these types come after those that are given.
        superclasses: direct ones by class; those of the types of an entity are its types, too, and come last.
    """
    entities = len(ids)
    given = kinds.flatten()
    both = pa.concat_arrays([given, ids.take(pa.array(classes[:, 1])).cast(given.type)]).dictionary_encode()
    lengths = pc.fill_null(pc.list_value_length(kinds), 0).to_numpy(zero_copy_only=False)
    owners = np.concatenate([np.repeat(np.arange(entities), lengths), classes[:, 0]])
    codes, names = _codes(both).astype(np.int64), both.dictionary.to_pylist()
    owners, codes = _distinct_by_owner(owners, codes, len(names))
    if superclasses:
        above, names = _ancestors(names, superclasses)
        sizes = np.array([len(each) for each in above], np.int64)
        lengths = sizes[codes]
        first_of = (np.cumsum(sizes) - sizes)[codes] - (np.cumsum(lengths) - lengths)
        places = np.repeat(first_of, lengths) + np.arange(lengths.sum())
        inherited = np.array([kind for each in above for kind in each], np.int64)[places]
        owners = np.concatenate([owners, np.repeat(owners, lengths)])
        owners, codes = _distinct_by_owner(owners, np.concatenate([codes, inherited]), len(names))
    counts = np.bincount(codes, minlength=len(names)).tolist()
    order = sorted(range(len(names)), key=lambda code: (-counts[code], names[code]))
    new_code = np.zeros(len(names), np.int32)
    new_code[order] = np.arange(len(order), dtype=np.int32)
    offsets = np.zeros(entities + 1, np.int64)
    np.cumsum(np.bincount(owners, minlength=entities), out=offsets[1:])
    table = [(names[code], labels.get(names[code]) or class_label(names[code])) for code in order]
    return table, offsets, new_code[codes]


def _labels_of(kinds: Iterable[str], ids: pa.Array, labels: pa.Array) -> dict[str, str]:
    """The labels of those classes that are entities."""
    wanted = pa.array(sorted(kinds), ids.type)
    if not len(wanted):
        return {}
    there = pc.is_in(ids, value_set=wanted)
    return dict(zip(ids.filter(there).to_pylist(), labels.filter(there).to_pylist(), strict=True))


def _distinct_by_owner(owners: Int, codes: Int, size: int) -> tuple[Int, Int]:
    """Pairs sorted by owner, each once, else in their order; codes are below `size`."""
    _, first = np.unique(owners * max(size, 1) + codes, return_index=True)
    first.sort()
    first = first[np.argsort(owners[first], kind="stable")]
    return owners[first], codes[first]


def _ancestors(kinds: Sequence[str], superclasses: Mapping[str, Sequence[str]]) -> tuple[list[list[int]], list[str]]:
    """The superclasses of each type at any distance, nearest first, as numbers of the longer list of types."""
    number = {kind: code for code, kind in enumerate(kinds)}
    found = [ancestors(kind, superclasses) for kind in kinds]
    return [[number.setdefault(kind, len(number)) for kind in above] for above in found], list(number)


def ancestors(kind: str, superclasses: Mapping[str, Sequence[str]]) -> list[str]:
    """The superclasses of a class at any distance, nearest first, without itself."""
    order, fresh = {kind: None}, [kind]
    while fresh:
        fresh = [parent for one in fresh for parent in superclasses.get(one, ()) if parent not in order]
        order |= dict.fromkeys(fresh)
    return list(order)[1:]


def relation_rows(raw: RawGraph, has_edges: Int) -> tuple[list[Relation], Int]:
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
