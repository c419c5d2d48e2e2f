"""The exact name index: every label, alias and value of a graph, by its normalised form.

A marisa trie maps the form to a number, compressed rows map the number to the nodes that bear the
name. Both are memory-mapped. Homonyms share a form and are all returned.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import marisa_trie
import numpy as np

from triplecheck.kg.columnar import ColumnarGraph

# Accents, Hebrew and Arabic vowel points, and halves of surrogate pairs, which no index can hold.
_DROPPED = re.compile("[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u064b-\u065f\u0670\ud800-\udfff]")
# The vowel signs of Indian and South-East Asian scripts belong to the word, though `\w` leaves them out.
_SEPARATORS = re.compile(r"[^\w+$\u0900-\u0963\u0966-\u109f\u1780-\u17d3]+|_")
# A value is findable by name as long as it is short enough to be written in a question.
_LONGEST_VALUE = 60

SOURCES = ("label", "alias", "value")


def normalize(text: str) -> str:
    """Case, accents and punctuation away, words one space apart. What is nothing but punctuation stays.

    >>> normalize("Anna of Holstein-Gottorp")
    'anna of holstein gottorp'
    """
    folded = text.casefold()
    if not folded.isascii():
        # Some characters have a case only once they are taken apart, and can be taken apart only then.
        folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", folded).casefold())
        folded = unicodedata.normalize("NFC", _DROPPED.sub("", folded))
    words = _SEPARATORS.sub(" ", folded).strip()
    return " ".join(words.split()) or folded.replace("\x00", " ").strip()  # the trie cannot hold NUL characters


@dataclass(frozen=True, slots=True)
class NamedNode:
    """A node and the kind of name it was found by: `label`, `alias` or `value`."""

    node: int
    source: str


class NameIndex:
    """Names to nodes, exactly (after `normalize`). Open it on the folder that `build` wrote."""

    def __init__(self, folder: Path) -> None:
        self._trie = marisa_trie.Trie().mmap(str(folder / "names.marisa"))
        self._offsets = np.load(folder / "name_offsets.npy", mmap_mode="r", allow_pickle=False)
        self._nodes = np.load(folder / "name_nodes.npy", mmap_mode="r", allow_pickle=False)
        self._sources = np.load(folder / "name_sources.npy", mmap_mode="r", allow_pickle=False)

    def __len__(self) -> int:
        return len(self._trie)

    def __contains__(self, form: str) -> bool:
        return form in self._trie

    def number(self, form: str) -> int | None:
        """The number of a normalised name, None where there is no such name."""
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


def build(graph: ColumnarGraph, folder: Path) -> list[str]:
    """Write the index of all names of a graph into a folder; return the forms in the order of their numbers."""
    forms: list[str] = []
    nodes: list[int] = []
    sources: list[int] = []
    for form, node, source in _entries(graph):
        forms.append(form)
        nodes.append(node)
        sources.append(source)
    trie = marisa_trie.Trie(forms)
    trie.save(str(folder / "names.marisa"))
    numbers = np.fromiter(map(trie.key_id, forms), np.int64, len(forms))
    order = np.lexsort((np.array(nodes, np.int64), np.array(sources, np.int8), numbers))
    numbers, node_array, source_array = numbers[order], np.array(nodes, np.int64)[order], np.array(sources)[order]
    # The same node under the same form counts once, by its best source.
    _, first = np.unique(numbers * max(graph.num_nodes, 1) + node_array, return_index=True)
    first.sort()
    numbers, node_array, source_array = numbers[first], node_array[first], source_array[first]
    offsets = np.zeros(len(trie) + 1, np.int64)
    np.cumsum(np.bincount(numbers, minlength=len(trie)), out=offsets[1:])
    np.save(folder / "name_offsets.npy", offsets)
    np.save(folder / "name_nodes.npy", node_array.astype(np.int32 if graph.num_nodes < 2**31 else np.int64))
    np.save(folder / "name_sources.npy", source_array.astype(np.uint8))
    return [trie.restore_key(i) for i in range(len(trie))]


def _entries(graph: ColumnarGraph) -> Iterable[tuple[str, int, int]]:
    for node, label in graph.all_labels():
        is_value = node >= graph.num_entities
        if is_value and len(label) > _LONGEST_VALUE:
            continue
        form = normalize(label)
        if form:
            yield form, node, 2 if is_value else 0
    for node, aliases in graph.all_aliases():
        for alias in aliases:
            form = normalize(alias)
            if form:
                yield form, node, 1
