"""From descriptive statements (labels, types, domains ...) to one row per entity and relation.

Everything is computed on integer codes: millions of labels are sorted and grouped without a Python object for each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from triplecheck.kg.readers.raw import ENTITY_SCHEMA, RELATION_SCHEMA, RawGraph
from triplecheck.kg.vocabulary import Vocabulary

Codes = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Descriptions:
    """Statements as dictionary-encoded columns of equal length; the language is null if the object is an entity."""

    subjects: pa.DictionaryArray
    predicates: pa.DictionaryArray
    objects: pa.DictionaryArray
    languages: pa.DictionaryArray


def describe(
    literals: Descriptions, edges: RawGraph, words: Vocabulary, *, with_schema: bool
) -> tuple[pa.Table, pa.Table, dict[str, str]]:
    """Merge the statements about each subject, and separate entities, relations and classes.

    Args:
        with_schema: classes and relations are entities, too.

    Returns:
        `entities`, `relation_rows` and `type_labels` of a `RawGraph`.
    """
    gathered = _Gathered(literals, words)
    ids = literals.subjects.dictionary
    types = gathered.rows(words.types, texts=False)
    named = literals.objects.dictionary.take(pa.array(np.unique(types.objects)))

    entity_tails = pc.unique(edges.tails.indices.filter(pc.is_null(edges.datatypes)))
    has_edges = _member(ids, edges.heads.dictionary) | _member(ids, edges.tails.dictionary.take(entity_tails))
    used = pa.concat_arrays([edges.relations.dictionary, literals.predicates.dictionary])
    is_relation = _member(ids, used) | gathered.typed(types, words.properties)
    is_class = _member(ids, named) | gathered.typed(types, words.classes)
    labels, aliases = gathered.names()
    descriptions = gathered.first(gathered.rows(words.descriptions, texts=True))
    is_described = gathered.subjects_of(words.described)

    about = {
        "id": ids,
        "label": labels,
        "description": descriptions,
        "aliases": aliases,
        "types": gathered.lists(types),
        "domain": gathered.first(gathered.rows(words.domains, texts=False)),
        "range": gathered.first(gathered.rows(words.ranges, texts=False)),
    }
    table = pa.table(about)
    is_entity = is_described & (has_edges | ~(is_relation | is_class) | with_schema)
    label_rows = table.filter(pa.array(is_class)).filter(pc.field("label").is_valid())
    return (
        _select(table, is_entity, ENTITY_SCHEMA),
        _select(table, is_relation, RELATION_SCHEMA),
        dict(zip(label_rows["id"].to_pylist(), label_rows["label"].to_pylist(), strict=True)),
    )


@dataclass(frozen=True)
class _Grouped:
    """Statements sorted by subject, best first within a subject, each (subject, object) once."""

    subjects: Codes
    objects: Codes


class _Gathered:
    """The statements as codes, with methods to group them by subject."""

    def __init__(self, literals: Descriptions, words: Vocabulary) -> None:
        self._words = words
        self._size = len(literals.subjects.dictionary)
        self._texts = literals.objects.dictionary
        self._subjects, self._objects = _codes(literals.subjects), _codes(literals.objects)
        self._predicates, self._languages = _codes(literals.predicates), _codes(literals.languages)
        self._predicate_ids: list[str] = literals.predicates.dictionary.to_pylist()
        languages: list[str] = literals.languages.dictionary.to_pylist()
        # Best language first, then by tag; -1 (an entity) never occurs together with languages.
        order = sorted(range(len(languages)), key=lambda i: (words.language_rank(languages[i]), languages[i]))
        self._language_rank = np.array([words.language_rank(tag) for tag in languages] + [0], np.int64)
        self._language_place = np.zeros(len(languages) + 1, np.int64)
        self._language_place[order] = np.arange(len(order))
        self._text_place = np.zeros(len(self._texts), np.int64)
        self._text_place[pc.sort_indices(self._texts).to_numpy()] = np.arange(len(self._texts))
        self._is_empty = pc.equal(self._texts, "").to_numpy(zero_copy_only=False)
        self._is_blank = pc.starts_with(self._texts, "_:").to_numpy(zero_copy_only=False)

    def _places(self, predicates: tuple[str, ...]) -> Codes:
        """Per statement the index of its predicate in the list, -1 if it is not in the list."""
        place = {id: i for i, id in enumerate(predicates)}
        by_code = np.array([place.get(id, -1) for id in self._predicate_ids] + [-1], np.int64)
        return by_code[self._predicates]

    def subjects_of(self, predicates: tuple[str, ...]) -> Mask:
        return self._mask(self._subjects[self._places(predicates) >= 0])

    def rows(self, predicates: tuple[str, ...], texts: bool) -> _Grouped:
        """Statements whose object is a text (or else an IRI)."""
        place = self._places(predicates)
        is_text = self._languages >= 0
        unfit = self._is_empty if texts else self._is_blank
        keep = np.flatnonzero((place >= 0) & (is_text == texts) & ~unfit[self._objects])
        return self._sorted(keep, place)

    def _sorted(self, keep: Codes, place: Codes) -> _Grouped:
        language = self._languages[keep]
        order = np.lexsort(
            (
                self._text_place[self._objects[keep]],
                self._language_place[language],
                place[keep],
                self._language_rank[language],
                self._subjects[keep],
            )
        )
        return _distinct(self._subjects[keep][order], self._objects[keep][order])

    def names(self) -> tuple[pa.Array, pa.Array]:
        """Label of each subject (null if none), and its other names."""
        labels = self.rows(self._words.labels, texts=True)
        others = self.rows(self._words.aliases, texts=True)
        subjects = np.concatenate([labels.subjects, others.subjects])
        order = np.argsort(subjects, kind="stable")
        merged = _distinct(subjects[order], np.concatenate([labels.objects, others.objects])[order])
        label = self._first(labels)
        is_label = label[merged.subjects] == merged.objects
        aliases = _Grouped(merged.subjects[~is_label], merged.objects[~is_label])
        return self._take(label), self.lists(aliases)

    def first(self, rows: _Grouped) -> pa.Array:
        return self._take(self._first(rows))

    def _first(self, rows: _Grouped) -> Codes:
        found = np.full(self._size, -1, np.int64)
        found[rows.subjects[::-1]] = rows.objects[::-1]
        return found

    def _take(self, codes: Codes) -> pa.Array:
        return self._texts.take(pa.array(codes, mask=codes < 0))

    def lists(self, rows: _Grouped) -> pa.Array:
        """All objects of each subject."""
        offsets = np.zeros(self._size + 1, np.int32)
        np.cumsum(np.bincount(rows.subjects, minlength=self._size), out=offsets[1:])
        return pa.ListArray.from_arrays(pa.array(offsets), self._texts.take(pa.array(rows.objects)))

    def typed(self, types: _Grouped, classes: tuple[str, ...]) -> Mask:
        """Which subjects have one of these types."""
        of_class = _member(self._texts, pa.array(classes, pa.string()))
        return self._mask(types.subjects[of_class[types.objects]])

    def _mask(self, subjects: Codes) -> Mask:
        mask = np.zeros(self._size, bool)
        mask[subjects] = True
        return mask


def _distinct(subjects: Codes, objects: Codes) -> _Grouped:
    """The first occurrence of each (subject, object), in the same order."""
    _, first = np.unique(subjects << 32 | objects, return_index=True)
    first.sort()
    return _Grouped(subjects[first], objects[first])


def _codes(column: pa.DictionaryArray) -> Codes:
    codes: Codes = pc.fill_null(column.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def _member(values: pa.Array, of: pa.Array) -> Mask:
    mask: Mask = pc.is_in(values, value_set=of).to_numpy(zero_copy_only=False)
    return mask


def _select(table: pa.Table, rows: Any, schema: pa.Schema) -> pa.Table:
    return table.filter(pa.array(rows)).select(schema.names).cast(schema)
