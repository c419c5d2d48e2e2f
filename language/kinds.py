"""Whether things of a class fit a question word: who asks for a person, where for a place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from triplecheck.language.lexicon import Lexicon, lexicon
from triplecheck.language.pipeline import ENGLISH, pipeline
from triplecheck.language.relevance import Encode
from triplecheck.language.text import words_of

Kind = str
"""`person`, `place`, `group` or `other`."""

# How much nearer a class must be to one kind than to the others.
_LEAST_MARGIN = 0.05
_ALL = 0.95

_MISFITS: dict[str, Kind] = {"person": "other", "place": "person"}


def fit(asked: str, classes: Sequence[str], encode: Encode, language: str = ENGLISH) -> int:
    """How things of some classes fit what is asked for: 1, -1 if they are what is not asked for, 0 if unclear.

    Args:
        asked: the kind that the question word asks for (`question.Asked.kind`); others than person and place fit all.
        classes: labels of the classes of one thing; of none, nothing is known.
        encode: texts to L2-normalised vectors, (n, d).
    """
    if asked not in _MISFITS or not classes:
        return 0
    kinds = kinds_of(classes, encode, language)
    if asked in kinds:
        return 1
    return -1 if kinds - {None} == {_MISFITS[asked]} else 0


def named_like_things(names: Sequence[str], language: str = ENGLISH) -> bool:
    """Whether about all of some names end with a common noun: Terrace Bed and Moss Wall, not Ida Falk and Jon Brook."""
    nouns = sum(pipeline(language).lists_noun(name.split()[-1]) for name in names if name.strip())
    return bool(names) and nouns >= _ALL * len(names)


def kinds_of(classes: Iterable[str], encode: Encode, language: str = ENGLISH) -> set[Kind | None]:
    """The kind of each class, that of the nearest noun of the lexicon; None where it is unclear."""
    words = lexicon(pipeline(language).code)
    heads = {head for label in classes if (head := _head(label, language))}
    named: dict[str, Kind] = {noun: kind for kind, nouns in words.kinds.items() for noun in nouns}
    found: dict[str, Kind | None] = {head: named[head] for head in heads & named.keys()}
    found |= {head: "person" for head in heads if _is_person(head, words)}
    others = sorted(heads - found.keys())
    return {*found.values(), *(_nearest(others, words, encode) if others and named else [None] * len(others))}


def _nearest(heads: Sequence[str], words: Lexicon, encode: Encode) -> list[Kind | None]:
    """The kind of the noun that is most similar to each head; None where two kinds are about as similar."""
    kinds = [kind for kind, nouns in words.kinds.items() for _ in nouns]
    cosines = encode([*heads, *(noun for nouns in words.kinds.values() for noun in nouns)])
    near = cosines[: len(heads)] @ cosines[len(heads) :].T
    names = list(words.kinds)
    best = np.stack([near[:, [k == kind for k in kinds]].max(axis=1) for kind in names], axis=1)
    order = np.argsort(-best, axis=1)
    return [
        names[first] if row[first] - row[second] >= _LEAST_MARGIN else None
        for row, (first, second) in zip(best, order[:, :2], strict=True)
    ]


def _is_person(head: str, words: Lexicon) -> bool:
    """Whether the ending of a noun says that it names people."""
    return any(head.endswith(ending) and len(head) >= len(ending) + 2 for ending in words.person_endings)


def _head(label: str, language: str) -> str:
    """The noun of a class: "director" of "film director", "city" of "city in Norway"."""
    words = words_of(label)
    stops = pipeline(language).stop_words
    before = next((at for at, word in enumerate(words) if at and word in stops), len(words))
    return words[before - 1] if words else ""
