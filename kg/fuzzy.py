"""The typo-tolerant name index: character trigrams, counted over compressed rows.

For a text, the names that share most trigrams with it are found by counting over the posting lists
of its trigrams, and ranked by edit distance. One pass serves a whole span of a question, since a
name is scored by how much of *it* the text contains. A short word may lose all its trigrams to one
swap ("chlie"), so that its spellings one edit away are looked up as well.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import OSA

from triplecheck.kg._ranges import distinct
from triplecheck.kg.names import NameIndex

_BITS = 18
# Names are read this many at a time, to bound the memory of a build.
_CHUNK = 250_000
_SHORTLIST = 64
# Texts of so many characters are looked up under all spellings one edit away, some 54 per character.
_SHORT = range(3, 13)
_LARGEST_SIZE = 1 << 16


@dataclass(frozen=True, slots=True)
class Similar:
    """A name like a text. `similarity` is 1 - edit distance (optimal string alignment) / longer length."""

    number: int
    form: str
    similarity: float


def _buckets(text: str) -> npt.NDArray[np.int64]:
    """A hash of each trigram of a text, in order, shape (len - 2,)."""
    code = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    if len(code) < 3:
        return np.empty(0, np.int64)
    mixed = code[:-2] * np.uint64(0x9E3779B1) + code[1:-1] * np.uint64(0x85EBCA77) + code[2:] * np.uint64(0xC2B2AE3D)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    buckets: npt.NDArray[np.int64] = (mixed >> np.uint64(64 - _BITS)).astype(np.int64)
    return buckets


def _padded(form: str) -> str:
    return f" {form} "


class TrigramIndex:
    """Names similar to a text. Open it on the folder that `build` wrote."""

    def __init__(self, folder: Path, names: NameIndex) -> None:
        self._names = names
        self._offsets = np.load(folder / "trigram_offsets.npy", mmap_mode="r", allow_pickle=False).view(np.ndarray)
        self._postings = np.load(folder / "trigram_postings.npy", mmap_mode="r", allow_pickle=False).view(np.ndarray)
        self._sizes = np.load(folder / "trigram_sizes.npy", mmap_mode="r", allow_pickle=False).view(np.ndarray)

    def within(self, text: str, least: float = 0.34, shortlist: int = _SHORTLIST) -> list[tuple[int, str]]:
        """Names of which the text contains at least this share of trigrams: (number, form), likeliest first."""
        _, at, counts = self._counts(text)
        share = counts / self._sizes[at]
        kept = share >= least
        # Rewards both a name that is wholly there and a long one.
        return self._shortlist(at[kept], (counts * share)[kept], shortlist)

    def overlapping(self, text: str, least: float = 0.6, shortlist: int = 4 * _SHORTLIST) -> list[tuple[int, str]]:
        """Names that contain at least this share of the text's trigrams; those with most first, then the shortest."""
        size, at, counts = self._counts(text)
        kept = counts >= size * least
        return self._shortlist(at[kept], counts[kept] - self._sizes[at[kept]] / _LARGEST_SIZE, shortlist)

    def _counts(self, text: str) -> tuple[int, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """How many trigrams the text has, the names with at least two of them, and how many these have."""
        buckets = np.unique(_buckets(_padded(text)))
        # One byte a name stays in the cache; no name is twice in one list.
        counts = np.zeros(len(self._sizes), np.min_scalar_type(len(buckets)))
        one = counts.dtype.type(1)
        for bucket in buckets.tolist():
            np.add.at(counts, self._postings[self._offsets[bucket] : self._offsets[bucket + 1]], one)
        at = np.flatnonzero(counts >= 2)
        return len(buckets), at, counts[at].astype(np.int64)

    def _shortlist(self, at: npt.NDArray[np.int64], score: npt.NDArray[Any], size: int) -> list[tuple[int, str]]:
        if len(at) > size:
            top = np.argpartition(-score, size)[:size]
            at, score = at[top], score[top]
        best = at[np.lexsort((at, -score))]
        return [(int(number), self._names.form(int(number))) for number in best]

    def similar(self, form: str, limit: int = 10, least: float = 0.65) -> list[Similar]:
        """Names within a few edits of a normalised text, most similar first."""
        numbered = dict(self.within(form, 0.2, 4 * _SHORTLIST)) | dict(self.one_edit(form))
        found = [Similar(n, f, similarity(form, f)) for n, f in numbered.items()]
        found = [s for s in found if s.similarity >= least]
        return sorted(found, key=lambda s: (-s.similarity, s.form))[:limit]

    def one_edit(self, form: str) -> list[tuple[int, str]]:
        """Names one edit away from a short text, and itself where it is one: (number, form).

        What is put in or replaced are letters a to z, spaces and characters of the text itself. A text
        that is too long has none, its trigrams find them.
        """
        if len(form) not in _SHORT:
            return []
        spellings = dict.fromkeys(_one_edit(form))
        return [(number, text) for text in spellings if (number := self._names.number(text)) is not None]


def _one_edit(form: str) -> Iterator[str]:
    letters = {*string.ascii_lowercase, " ", *form}
    for at in range(len(form) + 1):
        before, after = form[:at], form[at:]
        yield from (f"{before}{letter}{after}" for letter in letters)
        if after:
            yield before + after[1:]
            yield from (f"{before}{letter}{after[1:]}" for letter in letters)
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]


def similarity(a: str, b: str, least: float = 0.0) -> float:
    """1 - edit distance / longer length, a swap of neighbours counting as one edit; 0 for what is below `least`."""
    return float(OSA.normalized_similarity(a, b, score_cutoff=least))


def build(forms: Sequence[str], folder: Path) -> None:
    """Write the index of these names (in the order of their numbers) into a folder."""
    parts: list[npt.NDArray[Any]] = []
    sizes = np.zeros(len(forms), np.uint16)
    for start in range(0, len(forms), _CHUNK):
        padded = [_padded(form) for form in forms[start : start + _CHUNK]]
        lengths = np.fromiter(map(len, padded), np.int64, len(padded))
        owner = np.repeat(np.arange(len(padded)), lengths)
        buckets = _buckets("".join(padded))
        whole = owner[:-2] == owner[2:]  # a trigram must not run over into the next name
        packed = distinct((buckets[whole] << 32) | (owner[:-2][whole] + start))
        sizes[start : start + len(padded)] = np.minimum(
            np.bincount((packed & 0xFFFFFFFF) - start, minlength=len(padded)), _LARGEST_SIZE - 1
        )
        parts.append(packed)
    packed = np.concatenate(parts) if parts else np.empty(0, np.int64)
    if len(parts) > 1:
        packed.sort()
    offsets = np.zeros((1 << _BITS) + 1, np.int64)
    np.cumsum(np.bincount(packed >> 32, minlength=1 << _BITS), out=offsets[1:])
    np.save(folder / "trigram_offsets.npy", offsets)
    np.save(folder / "trigram_postings.npy", (packed & 0xFFFFFFFF).astype(np.int32))
    np.save(folder / "trigram_sizes.npy", sizes)
