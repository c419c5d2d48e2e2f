"""The name indices: every label, alias and value of a graph, found exactly or despite typing errors.

Exact: a marisa trie maps a normalised name to a number, compressed rows map the number to its nodes. Both are
memory-mapped. Homonyms share a name and are all returned.

Typo-tolerant: character trigrams. The names that share most trigrams with a text are found by counting over the
posting lists of its trigrams, and ranked by edit distance. One pass serves a whole span of a question, because a name
is scored by how much of *the name* the text contains. A short word may lose all its trigrams to one swap ("chlie"),
so its spellings one edit away are looked up as well.
"""

from __future__ import annotations

import itertools
import re
import string
import tempfile
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import marisa_trie
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from rapidfuzz.distance import OSA

from triplecheck.kg._arrays import concat_ranges, distinct, load_array, npy_file
from triplecheck.kg._checked import Sums, mapped, unchecked
from triplecheck.kg.columnar import ColumnarGraph

LEGAL_FORMS = frozenset(
    "ab ag as bv co corp corporation dac gmbh inc incorporated kg limited llc llp ltd nv oy plc sa sarl spa srl".split()
)
"""Words at the end of the names of firms, which people leave out."""
_INVISIBLE = "\u00ad\u200b-\u200f\u2060-\u2064\ufeff"
_NOT_SEEN = re.compile(f"[{_INVISIBLE}]")
_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x2010: "-", 0x2011: "-"}
# Accents, Hebrew and Arabic vowel points, what is not seen, and halves of surrogate pairs, which an index cannot store.
_DROPPED = re.compile(f"[{_INVISIBLE}\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u064b-\u065f\u0670\ud800-\udfff]")
# The vowel signs of Indian and South-East Asian scripts are part of the word, though `\w` excludes them.
_SEPARATORS = re.compile(r"[^\w+$\u0900-\u0963\u0966-\u109f\u1780-\u17d3]+|_")
# "and" in the languages whose names have "&" in its place.
_AND = "and|und|et|y|e|och|og|en|i|и|και"
_AND_WORD = re.compile(rf"(?<=\s)(?:{_AND})(?=\s)", re.IGNORECASE)
_AND_SIGN = re.compile(r"\s?&\s?")
_DOTTED = re.compile(r"\b[^\W\d_](?:\. ?[^\W\d_]\b)++\.?")
_LAST_FIRST = re.compile(r"^([^,\d]+), ([^,\d]+)$")
_ABBREVIATION = re.compile(r"\b[^\W\d_]{2,6}\b")
# Longer values are not indexed: questions do not contain them.
LONGEST_VALUE = 60
"""Characters of a value that is in the index."""

SOURCES = ("label", "alias", "value")
"""What of a node a text may be exactly."""


def normalize(text: str) -> str:
    """Remove case, accents and punctuation, and separate words by one space. Punctuation alone is kept.

    >>> normalize("Anna of Holstein-Gottorp")
    'anna of holstein gottorp'
    """
    folded = text.casefold()
    if not folded.isascii():
        # Some characters have a case only after decomposition, and decompose further only after case folding.
        folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", folded).casefold())
        folded = unicodedata.normalize("NFC", _DROPPED.sub("", folded))
    words = _SEPARATORS.sub(" ", folded).strip()
    return " ".join(words.split()) or folded.replace("\x00", " ").strip()  # the trie cannot store NUL characters


def composed(text: str) -> str:
    """A text as most are written: composed characters (NFC), of usual width, without what is not seen.

    >>> composed("Ｃafe\u0301 Mo\u00adtors")
    'Café Motors'
    """
    return text if text.isascii() else _NOT_SEEN.sub("", unicodedata.normalize("NFC", text.translate(_WIDE)))


def respelt(text: str) -> list[str]:
    """Other spellings that a name may have: "&" for "and" and the other way, abbreviations without dots, first names
    before last names.

    >>> respelt("Bay and ABC")
    ['Bay & ABC', 'Bay and A.B.C.']
    >>> respelt("Doe, John")
    ['John Doe']
    """
    found = [_AND_WORD.sub("&", text)]
    if "&" in text:
        found += [_AND_SIGN.sub(f" {word} ", text) for word in _AND.split("|")]
    found.append(_DOTTED.sub(lambda match: re.sub(r"[. ]", "", match[0]), text))
    found.append(_ABBREVIATION.sub(lambda match: f"{'.'.join(match[0])}." if match[0].isupper() else match[0], text))
    found.append(f"{text}." if text[-2:-1] == "." else text)
    found.append(_LAST_FIRST.sub(r"\2 \1", text))
    return [one for one in dict.fromkeys(found) if one != text]


class Words:
    """The words of texts, to look up the names in them. Case, accents and punctuation are ignored.

    >>> "Gödel" in Words("Who taught Kurt Godel?"), "Kurt God" in Words("Who taught Kurt Godel?")
    (True, False)
    """

    __slots__ = ("_text",)

    def __init__(self, *texts: str) -> None:
        self._text = " ".join(_padded(normalize(text)) for text in texts)

    def __contains__(self, name: str) -> bool:
        form = normalize(name)
        return bool(form) and _padded(form) in self._text


def _padded(form: str) -> str:
    return f" {form} "


@dataclass(frozen=True, slots=True)
class NamedNode:
    """A node and the kind of its matching name: `label`, `alias` or `value`."""

    node: int
    source: str


class NameIndex:
    """Exact look-up of normalised names. Opens the folder that `write_names` wrote; `sums` as for the graph."""

    def __init__(self, folder: Path, sums: Sums = unchecked) -> None:
        self._trie = marisa_trie.Trie().mmap(str(folder / "names.marisa"))
        self._offsets = mapped(folder / "name_offsets.npy", sums)
        self._nodes = mapped(folder / "name_nodes.npy", sums)
        self._sources = mapped(folder / "name_sources.npy", sums)

    def __len__(self) -> int:
        return len(self._trie)

    def __contains__(self, form: str) -> bool:
        return form in self._trie

    def number(self, form: str) -> int | None:
        """The number of a normalised name, None if there is no such name."""
        number: int | None = self._trie.get(form)
        return number

    def nodes(self, form: str) -> list[NamedNode]:
        """All nodes of a normalised name; labels first, then aliases, then values."""
        number = self.number(form)
        return [] if number is None else self.nodes_of(number)

    def nodes_of(self, number: int) -> list[NamedNode]:
        """All nodes of a name by its number."""
        span = slice(int(self._offsets[number]), int(self._offsets[number + 1]))
        pairs = zip(self._nodes[span].tolist(), self._sources[span].tolist(), strict=True)
        return [NamedNode(node, SOURCES[source]) for node, source in pairs]

    def form(self, number: int) -> str:
        """The normalised name of a number."""
        return str(self._trie.restore_key(number))


def build_names(graph: ColumnarGraph, folder: Path) -> int:
    """Write the index of all names of a graph, and their trigrams, into a folder; return the number of the names."""
    labels = ((label, node, 2 if node >= graph.num_entities else 0) for node, label in graph.all_labels())
    aliases = ((alias, node, 1) for node, texts in graph.all_aliases() for alias in texts)
    return write_names(itertools.chain(labels, aliases), graph.num_nodes, folder)


def write_names(names: Iterable[tuple[str, int, int]], num_nodes: int, folder: Path) -> int:
    """Write the index of names, and their trigrams, into a folder; return the number of normalised names.

    Args:
        names: (name, node, index into `SOURCES`); long values are left out.
    """
    trie = _write_exact(names, num_nodes, folder)  # what this needs of memory is free again
    _write_trigrams(trie, folder)
    return len(trie)


def _write_exact(names: Iterable[tuple[str, int, int]], num_nodes: int, folder: Path) -> Any:
    forms, nodes, sources = _normalized(names)
    trie, numbers = _write_trie(lambda: _texts(forms), len(forms), folder)
    _write_nodes(numbers, nodes, sources, len(trie), num_nodes, folder)
    return trie


def extend_names(
    old: Path,
    new_number: npt.NDArray[np.int64],
    names: Iterable[tuple[str, int, int]],
    num_nodes: int,
    folder: Path,
    sums: Sums = unchecked,
) -> int:
    """Write the index of the names of another folder and of further ones, with trigrams; return their number."""
    before = NameIndex(old, sums)
    forms, nodes, sources = _normalized(names)
    known = [before.form(number) for number in range(len(before))]
    every = [*known, *_texts(forms)]
    trie, numbers = _write_trie(lambda: iter(every), len(every), folder)
    moved, numbers = numbers[: len(known)], numbers[len(known) :]
    offsets, old_nodes, old_sources = (
        np.array(mapped(old / f"name_{part}.npy", sums)) for part in ("offsets", "nodes", "sources")
    )
    every_number = np.concatenate([np.repeat(moved, np.diff(offsets)), numbers])
    nodes = np.concatenate([new_number[old_nodes], nodes])
    _write_nodes(every_number, nodes, np.concatenate([old_sources, sources]), len(trie), num_nodes, folder)
    further = {number: form for number, form in zip(numbers.tolist(), _texts(forms), strict=True) if form not in before}
    _extend_trigrams(old, moved, further, folder, sums)
    return len(trie)


_INDEXED = pa.schema([("form", pa.string()), ("node", pa.int64()), ("source", pa.int64())])


def _normalized(
    names: Iterable[tuple[str, int, int]],
) -> tuple[pa.ChunkedArray, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Form, node and source of each name that is indexed. In Arrow a form takes a third of what it takes in a list."""
    parts = [_INDEXED.empty_table()]
    rest = iter(names)
    while some := list(itertools.islice(rest, _CHUNK)):
        forms = ["" if source == 2 and len(name) > LONGEST_VALUE else normalize(name) for name, _, source in some]
        part = pa.table([forms, [node for _, node, _ in some], [source for *_, source in some]], schema=_INDEXED)
        parts.append(part.filter(pc.not_equal(part["form"], "")))
    every = pa.concat_tables(parts)
    return every["form"], every["node"].to_numpy(), every["source"].to_numpy()


def _texts(column: pa.ChunkedArray) -> Iterator[str]:
    return itertools.chain.from_iterable(chunk.to_pylist() for chunk in column.chunks)


def _write_trie(forms: Callable[[], Iterator[str]], count: int, folder: Path) -> tuple[Any, npt.NDArray[np.int64]]:
    """The trie of some forms, and the number of each."""
    trie = marisa_trie.Trie(forms())
    trie.save(str(folder / "names.marisa"))
    return trie, np.fromiter(map(trie.key_id, forms()), np.int64, count)


def _write_nodes(
    numbers: npt.NDArray[np.int64],
    nodes: npt.NDArray[np.int64],
    sources: npt.NDArray[np.int64],
    num_names: int,
    num_nodes: int,
    folder: Path,
) -> None:
    order = np.lexsort((nodes, sources, numbers))
    numbers, nodes, sources = numbers[order], nodes[order], sources[order]
    # A node counts once per name, with its best source.
    _, first = np.unique(numbers * max(num_nodes, 1) + nodes, return_index=True)
    first.sort()
    numbers, nodes, sources = numbers[first], nodes[first], sources[first]
    offsets = np.zeros(num_names + 1, np.int64)
    np.cumsum(np.bincount(numbers, minlength=num_names), out=offsets[1:])
    np.save(folder / "name_offsets.npy", offsets)
    np.save(folder / "name_nodes.npy", nodes.astype(np.int32 if num_nodes < 2**31 else np.int64))
    np.save(folder / "name_sources.npy", sources.astype(np.uint8))


# --- typo-tolerant names -------------------------------------------------------------------------
_BITS = 18
# Names per chunk, to bound the memory of a build.
_CHUNK = 250_000
_MERGED_AT_ONCE = 1 << 23  # postings
_SHORTLIST = 64
# Lengths of texts that are looked up under all spellings one edit away, about 54 per character.
_SHORT = range(3, 13)
_LARGEST_SIZE = 1 << 16
_DIGITS = re.compile(r"\d+")
_SHORTEST_OTHER = 3  # letters of a word that may be another
_LEAST_OF_WORD = 0.5
"""Similarity from which a word may be another one with typing errors."""


@dataclass(frozen=True, slots=True)
class Similar:
    """A name similar to a text. `similarity` is 1 - edit distance (optimal string alignment) / longer length."""

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


class TrigramIndex:
    """Look-up of names similar to a text. Opens the folder that `write_names` wrote; `sums` as for the graph."""

    def __init__(self, folder: Path, names: NameIndex, sums: Sums = unchecked) -> None:
        self._names = names
        self._offsets = mapped(folder / "trigram_offsets.npy", sums)
        self._postings = mapped(folder / "trigram_postings.npy", sums)
        self._sizes = mapped(folder / "trigram_sizes.npy", sums)

    def within(self, text: str, least: float = 0.34, shortlist: int = _SHORTLIST) -> list[tuple[int, str]]:
        """Names with at least this share of their trigrams in the text: (number, form), best first."""
        _, at, counts = self._counts(text)
        share = counts / self._sizes[at]
        kept = share >= least
        # Rewards both complete and long names.
        return self._shortlist(at[kept], (counts * share)[kept], shortlist)

    def overlapping(self, text: str, least: float = 0.6) -> list[tuple[int, str]]:
        """Names that contain at least this share of the text's trigrams; most shared first, then shortest."""
        size, at, counts = self._counts(text)
        kept = counts >= size * least
        return self._shortlist(at[kept], counts[kept] - self._sizes[at[kept]] / _LARGEST_SIZE, 4 * _SHORTLIST)

    def _counts(self, text: str) -> tuple[int, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Number of trigrams in the text, names with at least two of them, and the number that each has."""
        buckets = np.unique(_buckets(_padded(text)))
        # One byte per name stays in the cache; a name occurs once in each list.
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
        """Names a few edits away from a normalised text, most similar first."""
        numbered = dict(self.within(form, 0.2, 4 * _SHORTLIST)) | dict(self.one_edit(form))
        found = [Similar(n, f, similarity(form, f)) for n, f in numbered.items()]
        found = [s for s in found if s.similarity >= least]
        return sorted(found, key=lambda s: (-s.similarity, s.form))[:limit]

    def one_edit(self, form: str) -> list[tuple[int, str]]:
        """Names one edit away from a short text, or equal to it: (number, form).

        Edits insert or substitute letters a to z, spaces and characters of the text itself. For a longer text the
        result is empty; trigrams find its names.
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
    """1 - edit distance / longer length; a swap of neighbours counts as one edit; 0 if below `least`."""
    return float(OSA.normalized_similarity(a, b, score_cutoff=least))


def may_be_misspelt(text: str, form: str) -> bool:
    """Whether a text may be a name with typing errors, both normalised: not if a word or a number is another one.

    "leter on the oven" may be "letter on the oven"; "letter on the war" is another letter, "duck race 2015" another
    race than that of 2014.
    """
    if _DIGITS.findall(text) != _DIGITS.findall(form):
        return False
    ours, theirs = text.split(), form.split()
    if len(ours) != len(theirs):  # words may be run together
        return True
    return all(
        max(len(one), len(other)) < _SHORTEST_OTHER or similarity(one, other) >= _LEAST_OF_WORD
        for one, other in zip(ours, theirs, strict=True)
    )


def _write_trigrams(trie: Any, folder: Path) -> None:
    """Write the index of the names of a trie into a folder."""
    sizes = np.zeros(len(trie), np.uint16)
    counts = []  # of each chunk, by bucket
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        parts = []
        for start in range(0, len(trie), _CHUNK):
            padded = [_padded(trie.restore_key(number)) for number in range(start, min(start + _CHUNK, len(trie)))]
            lengths = np.fromiter(map(len, padded), np.int64, len(padded))
            owner = np.repeat(np.arange(len(padded)), lengths)
            buckets = _buckets("".join(padded))
            whole = owner[:-2] == owner[2:]  # a trigram must not span two names
            packed = distinct((buckets[whole] << 32) | (owner[:-2][whole] + start))
            names = (packed & 0xFFFFFFFF).astype(np.int32)
            sizes[start : start + len(padded)] = np.minimum(
                np.bincount(names - start, minlength=len(padded)), _LARGEST_SIZE - 1
            )
            counts.append(np.bincount(packed >> 32, minlength=1 << _BITS).astype(np.int32))
            if len(trie) > _CHUNK:
                np.save(Path(scratch) / f"{start}.npy", names)
                names = load_array(Path(scratch) / f"{start}.npy", mmap_mode="r")
            parts.append(names)
        offsets = np.zeros((1 << _BITS) + 1, np.int64)
        np.cumsum(sum(counts, np.zeros(1 << _BITS, np.int64)), out=offsets[1:])
        np.save(folder / "trigram_offsets.npy", offsets)
        with npy_file(folder / "trigram_postings.npy", np.int32) as write:
            for postings in _merged(parts, counts, offsets):
                write(postings)
    np.save(folder / "trigram_sizes.npy", sizes)


def _merged(
    parts: Sequence[npt.NDArray[Any]], counts: Sequence[npt.NDArray[Any]], offsets: npt.NDArray[np.int64]
) -> Iterator[npt.NDArray[np.int32]]:
    """Lists of names by bucket, joined bucket by bucket; some million names at once.

    Args:
        counts: length of each list of a part, shape (buckets,).
        offsets: start of each joined list, shape (buckets + 1,).
    """
    if len(parts) == 1:
        yield parts[0]
        return
    begins = [np.concatenate([[0], np.cumsum(count, dtype=np.int64)]) for count in counts]
    low = 0
    while low < len(offsets) - 1:
        high = max(low + 1, int(np.searchsorted(offsets, offsets[low] + _MERGED_AT_ONCE, "right")) - 1)
        merged = np.empty(offsets[high] - offsets[low], np.int32)
        place = offsets[low:high] - offsets[low]
        for part, count, begin in zip(parts, counts, begins, strict=True):
            some = count[low:high]
            merged[concat_ranges(place, place + some)] = part[begin[low] : begin[high]]
            place = place + some
        yield merged
        low = high


def _extend_trigrams(
    old: Path, moved: npt.NDArray[np.int64], further: Mapping[int, str], folder: Path, sums: Sums
) -> None:
    """The trigrams of the names of another folder, whose numbers are `moved`, and of further ones."""
    offsets, postings, old_sizes = (
        np.array(mapped(old / f"trigram_{part}.npy", sums)) for part in ("offsets", "postings", "sizes")
    )
    sizes = np.zeros(len(moved) + len(further), np.uint16)
    sizes[moved] = old_sizes
    buckets = {number: distinct(_buckets(_padded(form))) for number, form in further.items()}
    for number, of_form in buckets.items():
        sizes[number] = min(len(of_form), _LARGEST_SIZE - 1)
    bucket = np.concatenate([*buckets.values(), np.empty(0, np.int64)])
    owner = np.repeat(np.array([*buckets], np.int64), [len(of_form) for of_form in buckets.values()])
    order = np.argsort(bucket, kind="stable")  # empty buckets begin at the same place
    bucket, owner = bucket[order], owner[order]
    np.save(folder / "trigram_postings.npy", np.insert(moved[postings], offsets[bucket + 1], owner).astype(np.int32))
    offsets[1:] += np.cumsum(np.bincount(bucket, minlength=1 << _BITS))
    np.save(folder / "trigram_offsets.npy", offsets)
    np.save(folder / "trigram_sizes.npy", sizes)
