"""English words: the common ones, and which of some words a misspelt one is near."""

from __future__ import annotations

import functools
from collections.abc import Collection

from rapidfuzz import process
from rapidfuzz.distance import OSA

from triplecheck.kg.encode import default_vocabulary

_SHORTEST_MISSPELT = 5  # characters


@functools.cache
def common_words() -> frozenset[str]:
    """Common English words in lower case: the whole words of the default sentence encoder's vocabulary.

    Empty if the encoder is not installed.
    """
    path = default_vocabulary()
    if path is None:
        return frozenset()
    words = path.read_text("utf-8").split()
    return frozenset(word for word in words if word.isalpha() and len(word) > 2)


def nearest_word(word: str, words: Collection[str]) -> str | None:
    """The word itself if it is among some words, else the one that it may be misspelt from, by one edit; or None."""
    if word in words or len(word) < _SHORTEST_MISSPELT:
        return word if word in words else None
    found = process.extractOne(word, words, scorer=OSA.distance, score_cutoff=1)
    return None if found is None else str(found[0])
