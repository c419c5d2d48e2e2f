"""Units of one graph, which no list of units has: the "crowns" of a game, the "pupils" of schools.

A text alone does not tell: "12 monkeys" and "8 mile" are names. A relation does. A lower-case word is a unit if three
different numbers at least stand before it among the tails of a relation, most of them no years, and if nearly all
distinct tails of this relation are such amounts, or amounts in units of all graphs. Singular and plural are one unit.
Heads of triples and described entities are no amounts. The amounts get a datatype that names the word
(`kg.values.units.own_unit`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from triplecheck.kg._arrays import distinct, used
from triplecheck.kg.readable import singular
from triplecheck.kg.readers.raw import UNKNOWN, RawGraph
from triplecheck.kg.types import XSD
from triplecheck.kg.values import written_date
from triplecheck.kg.values.in_texts import SCALES
from triplecheck.kg.values.own import FORM, SEPARATORS
from triplecheck.kg.values.units import OWN, is_known, own_unit

Int = npt.NDArray[np.integer]

_LEAST_NUMBERS = 3
_AMOUNT_SHARE = 0.95  # of the distinct tails of a relation
_YEAR = r"^(1[0-9]{3}|20[0-9]{2})$"
_NO_UNITS = frozenset({"am", "pm", "st", "nd", "rd", "th"})
_STRING = XSD + "string"


def may_be_amount(datatype: str) -> bool:
    """Whether a tail of this datatype may be an amount in a unit of one graph; so may an entity."""
    return datatype in (_STRING, UNKNOWN) or own_unit(datatype) is not None


def amounts(relations: Int, texts: pa.Array, tails: Int, known: Sequence[str]) -> tuple[Int, list[str]]:
    """Find the tails that are amounts in a unit that only their graph has.

    Args:
        relations: of each distinct pair of a relation and a tail of `FORM`, shape (n,).
        texts: the tails, shape (n,).
        tails: number of distinct tails of each relation.
        known: datatypes that the graph has.

    Returns:
        The place of the datatype of each pair among the datatypes, -1 for no amount, shape (n,); the datatypes, in
        alphabetical order.
    """
    result: Int = np.full(len(relations), -1)
    rows = np.flatnonzero(_are_most(relations, tails))
    if not len(rows):
        return result, []
    own = relations[rows]
    parts = pc.extract_regex(texts.take(pa.array(rows)), FORM)
    words = pc.struct_field(parts, "word").dictionary_encode()
    written: list[str] = words.dictionary.to_pylist()
    forms: dict[str, list[str]] = {}
    for word in written:
        forms.setdefault(singular(word), []).append(word)
    stems = {stem: at for at, stem in enumerate(forms)}
    word_at = words.indices.to_numpy()
    stem_at = np.array([stems[singular(word)] for word in written])[word_at]
    plain = pc.replace_substring_regex(pc.struct_field(parts, "number"), rf"\+|{SEPARATORS}", "").dictionary_encode()
    pairs, pair_at = np.unique(own.astype(np.int64) * len(stems) + stem_at, return_inverse=True)
    numbers = distinct(pair_at.astype(np.int64) * len(plain.dictionary) + plain.indices.to_numpy())
    is_unit = np.bincount(numbers // len(plain.dictionary), minlength=len(pairs)) >= _LEAST_NUMBERS
    years = pc.match_substring_regex(pc.struct_field(parts, "number"), _YEAR).to_numpy(zero_copy_only=False)
    is_unit &= 2 * np.bincount(pair_at, years, len(pairs)) < np.bincount(pair_at, minlength=len(pairs))  # "2019 season"
    counted = used(pairs[is_unit] % len(stems), len(stems))
    is_new = np.zeros(len(stems), bool)
    for stem, at in stems.items():
        is_new[at] = counted[at] and _may_be_unit(forms[stem])
    is_unit &= is_new[pairs % len(stems)]
    measured = is_unit[pair_at]
    others = np.flatnonzero(~measured & np.isin(own, own[measured]))
    listed = np.array([None] * len(written))
    for at in np.unique(word_at[others]).tolist():
        listed[at] = is_known(written[at])
    counts = measured.copy()
    counts[others] = listed[word_at[others]].astype(bool)
    measured &= _are_most(own, tails, counts)
    found = np.flatnonzero(measured)
    used_by = dict(zip(written, np.bincount(word_at[found], minlength=len(written)).tolist(), strict=True))
    has_amounts = used(stem_at[found], len(stems))
    names = {
        stem: _datatype(stem, sorted(forms[stem], key=lambda word: (-used_by[word], -len(word), word)), known)
        for stem, at in stems.items()
        if has_amounts[at]
    }
    datatypes = sorted(names.values())
    places = np.array([datatypes.index(names[stem]) if stem in names else -1 for stem in stems])
    result[rows[found]] = places[stem_at[found]]
    return result, datatypes


def _are_most(relations: Int, tails: Int, rows: npt.NDArray[np.bool_] | None = None) -> npt.NDArray[np.bool_]:
    """Whether the pairs of the relation of each pair, or those of `rows`, are nearly all tails of the relation."""
    counts = np.bincount(relations, rows, minlength=len(tails))
    return np.asarray(((counts >= _LEAST_NUMBERS) & (counts >= _AMOUNT_SHARE * tails))[relations])


def _may_be_unit(words: Sequence[str]) -> bool:
    """Whether a word, in the singular or plural, is none of a time or a number, and no unit of all graphs."""
    return not any(
        word in _NO_UNITS
        or singular(word) in SCALES
        or written_date(f"1 {word}")
        or written_date(f"1 {word} 2000")
        or is_known(word)
        for word in words
    )


def _datatype(stem: str, forms: Sequence[str], known: Sequence[str]) -> str:
    """The datatype of a word: one that the graph has, else that of its most frequent form, which is the first."""
    there = sorted(one for one in known if one.startswith(OWN) and singular(one.removeprefix(OWN)) == stem)
    return there[0] if there else OWN + forms[0]


def with_units(
    raw: RawGraph, heads: Int, relations: Int, tails: Int, codes: Int, datatypes: Sequence[str]
) -> tuple[Int, list[str]]:
    """The datatypes of tails, with those of amounts in units of the graph.

    Args:
        heads, relations, tails: numbers of its triples in its dictionaries, shape (n,).
        codes: the place of the datatype of each tail in `datatypes`, -1 for an entity, shape (n,).

    Returns:
        The codes and the datatypes, with further ones at their end.
    """
    strings, size = raw.tails.dictionary, len(raw.relations.dictionary)
    written = pc.match_substring_regex(strings, FORM).to_numpy(zero_copy_only=False).astype(bool)
    may_be = np.array([*map(may_be_amount, datatypes), True])[codes]  # -1 is the last
    rows = np.flatnonzero(written[tails] & may_be)
    if not len(rows):
        return codes, [*datatypes]
    at = np.flatnonzero(used(relations[rows], size)[relations])
    texts = max(len(strings), 1)
    every = distinct(relations[at].astype(np.int64) * texts + tails[at])
    number = np.bincount(every // texts, minlength=size)
    pairs = distinct(relations[rows].astype(np.int64) * texts + tails[rows])
    pairs = pairs[_are_most(pairs // texts, number)]
    if not len(pairs):
        return codes, [*datatypes]
    named = distinct(pairs % texts)
    some = strings.take(pa.array(named))
    head_strings = raw.heads.dictionary.filter(pa.array(used(heads, len(raw.heads.dictionary))))
    described = raw.entities["id"].combine_chunks()
    things = [pc.is_in(some, value_set=ids).to_numpy(zero_copy_only=False) for ids in (head_strings, described)]
    pairs = pairs[~np.isin(pairs % texts, named[things[0] | things[1]])]
    places, found = amounts(pairs // texts, strings.take(pa.array(pairs % texts)), number, datatypes)
    names = [*datatypes, *(one for one in found if one not in datatypes)]
    code_of = np.array([*(names.index(one) for one in found), -1], np.int32)
    if not found:
        return codes, names
    of_row = relations[rows].astype(np.int64) * texts + tails[rows]
    place = np.minimum(np.searchsorted(pairs, of_row), len(pairs) - 1)
    new = np.where(pairs[place] == of_row, code_of[places[place]], -1)
    is_given = np.array([*(own_unit(one) is not None for one in datatypes), False])[codes[rows]]
    changed = (new >= 0) & ~is_given
    codes = codes.copy()
    codes[rows[changed]] = new[changed]
    return codes, names
