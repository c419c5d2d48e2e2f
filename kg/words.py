"""Words that are spelt right: what is one of them is no misspelt name."""

from __future__ import annotations

import functools

from triplecheck.kg.encode import default_vocabulary


@functools.cache
def common_words() -> frozenset[str]:
    """Common English words in lower case: those that the default sentence encoder's vocabulary holds whole.

    Empty where the encoder is not installed.
    """
    path = default_vocabulary()
    if path is None:
        return frozenset()
    words = path.read_text("utf-8").split()
    return frozenset(word for word in words if word.isalpha() and len(word) > 2)
