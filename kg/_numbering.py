"""From ids to integers: a `RawGraph` of strings becomes a `NumberedGraph`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from triplecheck.kg._ranges import distinct, used
from triplecheck.kg.columnar_build import NumberedGraph
from triplecheck.kg.readable import entity_label, relation_alias, relation_label
from triplecheck.kg.readers.raw import ENTITY_SCHEMA, RELATION_SCHEMA, RawGraph
from triplecheck.kg.types import XSD, Relation

# Stands for "the source does not say whether this tail is a literal".
_UNKNOWN = "?"
_FORMS = {
    XSD + "integer": r"^[+-]?[0-9]{1,18}$",
    XSD + "decimal": r"^[+-]?[0-9]*\.[0-9]+$",
    XSD + "date": r"^-?[0-9]{4}-[0-9]{2}-[0-9]{2}$",
}
# A relation has values for tails if nearly all of its distinct tails are written as such, and few
# of those strings are entities (heads) themselves.
_VALUE_SHARE, _ENTITY_SHARE = 0.95, 0.5

Int = npt.NDArray[Any]


def concat(graphs: Sequence[RawGraph]) -> RawGraph:
    """Several sources as one."""
    if len(graphs) == 1:
        return graphs[0]

    def column(name: str) -> pa.DictionaryArray:
        arrays = [getattr(g, name) for g in graphs]
        if name == "datatypes":
            arrays = [_all_unknown(len(g)) if a is None else a for g, a in zip(graphs, arrays, strict=True)]
        return pa.chunked_array(arrays).unify_dictionaries().combine_chunks()

    labels: dict[str, str] = {}
    for graph in graphs:
        labels |= graph.type_labels
    return RawGraph(
        heads=column("heads"),
        relations=column("relations"),
        tails=column("tails"),
        datatypes=None if all(g.datatypes is None for g in graphs) else column("datatypes"),
        entities=pa.concat_tables([g.entities for g in graphs]),
        relation_rows=pa.concat_tables([g.relation_rows for g in graphs]),
        type_labels=labels,
        skipped=[bad for g in graphs for bad in g.skipped],
    )


def _all_unknown(n: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array([_UNKNOWN]))


def number(raw: RawGraph) -> NumberedGraph:
    """Number nodes and relations, tell values from entities, and merge what is said about each."""
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
    type_table, type_offsets, type_codes = _number_types(types, len(entity_ids), raw.type_labels)
    relation_table, relation_numbers = _relations(raw)
    return NumberedGraph(
        heads=entity_number[head_at[heads]],
        relations=relation_numbers[relations],
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
    )


def _codes(column: pa.DictionaryArray) -> Int:
    return column.indices.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def _ids(table: pa.Table) -> pa.Array:
    return table["id"].combine_chunks()


def _places(values: pa.Array, within: pa.Array) -> Int:
    return pc.index_in(values, value_set=within).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


# --- values and entities -------------------------------------------------------------------------
def _datatypes(raw: RawGraph, heads: Int, relations: Int, tails: Int) -> tuple[Int, list[str]]:
    """Per triple the number of its tail's datatype, -1 where the tail is an entity."""
    given = _all_unknown(len(raw)) if raw.datatypes is None else raw.datatypes
    names: list[str] = given.dictionary.to_pylist()
    codes = pc.fill_null(given.indices, -1).to_numpy(zero_copy_only=False).astype(np.int32)
    if _UNKNOWN in names:
        open_ = codes == names.index(_UNKNOWN)
        names = [*names, *(f for f in _FORMS if f not in names)]
        guess = _guess(raw, heads, relations[open_], tails[open_])
        codes[open_] = np.array([names.index(f) for f in _FORMS] + [-1], np.int32)[guess]
    present = np.flatnonzero(used(codes[codes >= 0], len(names)))
    renumbered = np.full(len(names) + 1, -1, np.int32)
    renumbered[present] = np.arange(len(present))
    return renumbered[codes], [names[i] for i in present]


def _guess(raw: RawGraph, heads: Int, relations: Int, tails: Int) -> Int:
    """Per triple the form of its tail, a number into `_FORMS`, -1 for an entity.

    Decided by relation: a year is a value of "release year" and an entity of "sequel".
    """
    strings = raw.tails.dictionary
    form = np.full(len(strings), -1, np.int64)
    for number, pattern in enumerate(_FORMS.values()):
        matches = pc.match_substring_regex(strings, pattern).to_numpy(zero_copy_only=False)
        form[matches.astype(bool)] = number
    described = pc.is_in(strings, value_set=_ids(raw.entities)).to_numpy(zero_copy_only=False)
    form[described.astype(bool)] = -1
    form_of = form[tails]
    size = len(raw.relations.dictionary)
    # Most relations have no such tail at all: only the others are worth counting.
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
def _describe(table: pa.Table, ids: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array, list[list[str]] | None]:
    """Labels, descriptions, aliases and types by entity. Of several labels the first counts, the others are aliases."""
    names: list[str] = ids.to_pylist()
    labels: list[str | None] = [None] * len(names)
    descriptions = [""] * len(names)
    aliases: list[list[str]] = [[] for _ in names]
    types: list[list[str]] | None = None
    if table.num_rows:
        types = [[] for _ in names]
        rows = zip(
            _places(_ids(table), ids).tolist(),
            *(table[f.name].to_pylist() for f in ENTITY_SCHEMA if f.name != "id"),
            strict=True,
        )
        for at, label, description, more, kinds in rows:
            if label and labels[at] is None:
                labels[at] = label
            elif label and label != labels[at]:
                aliases[at].append(label)
            descriptions[at] = descriptions[at] or description or ""
            aliases[at] += [a for a in more or () if a not in aliases[at]]
            types[at] += [t for t in kinds or () if t not in types[at]]
    named = [label or entity_label(id) for label, id in zip(labels, names, strict=True)]
    text = pa.string()
    return pa.array(named, text), pa.array(descriptions, text), pa.array(aliases, pa.list_(text)), types


def _number_types(
    types: list[list[str]] | None, entities: int, labels: dict[str, str]
) -> tuple[list[tuple[str, str]], Int, Int]:
    """Types by frequency, and each entity's as compressed sparse rows."""
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


def _relations(raw: RawGraph) -> tuple[list[Relation], Int]:
    """The relation table, and the number of each entry of the raw relations' dictionary."""
    ids: list[str] = raw.relations.dictionary.to_pylist()
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
        label = row.get("label") or relation_label(id)
        table.append(
            Relation(id, label, tuple(aliases), row.get("description") or "", row.get("domain"), row.get("range"))
        )
    return table, np.arange(len(ids))
