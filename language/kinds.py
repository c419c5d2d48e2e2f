"""Whether things of a class fit a question word: who asks for a person, where for a place.

What a noun stands for is told by a softmax regression over its vector (`bench/noun_kinds.py`). A language or an encoder
without one has the kind of the nearest noun of the lexicon.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from triplecheck.language.lexicon import Lexicon, lexicon
from triplecheck.language.pipeline import ENGLISH, pipeline
from triplecheck.language.relevance import Encode
from triplecheck.language.text import words_of

Kind = str
"""`person`, `place`, `group` or `other`."""

LEAST = 0.6
"""Probability from which a noun is of a kind."""
PROBE = "person"
"""A noun. The weights belong to an encoder that gives this noun the vector stored with them."""
_UNCLEAR = "unclear"  # the kind of "thing" and "item" in the weights
_SAME = 0.999  # cosine of two vectors of the probe
# How much nearer a class must be to one kind than to the others, where no weights tell.
_LEAST_MARGIN = 0.05
_ALL = 0.95

_MISFITS: dict[str, Kind] = {"person": "other", "place": "person"}


def fit(asked: str, classes: Sequence[str], encode: Encode, language: str = ENGLISH) -> int:
    """How things of some classes fit what is asked for: 1, -1 if they are what is not asked for, 0 if unclear.

    Args:
        asked: the kind that the question word asks for (`question.Asked.kind`); others than person and place fit all.
        classes: labels of the classes of one thing; of none, nothing is known.
    """
    if asked not in _MISFITS or not classes:
        return 0
    kinds = kinds_of(classes, encode, language)
    if asked in kinds:
        return 1
    return -1 if kinds - {None} == {_MISFITS[asked]} else 0


def named_like_things(names: Sequence[str], language: str = ENGLISH) -> bool:
    """Whether about all of some names end with a common noun or in lower case: Terrace Bed, Moss Wall and runner beans,
    not Ida Falk and Jon Brook."""
    last, own = [name.split()[-1] for name in names if name.strip()], pipeline(language)
    things = sum(word.islower() or own.lists_noun(word) or own.lists_noun(own.lemma(word, "NOUN")) for word in last)
    return bool(names) and things >= _ALL * len(names)


def kinds_of(classes: Iterable[str], encode: Encode, language: str = ENGLISH) -> set[Kind | None]:
    """The kind of each class, by its noun; None where it is unclear."""
    code = pipeline(language).code
    heads = sorted({head for label in classes if (head := _head(label, language))})
    weights = _weights(code) if heads else None
    if weights is not None:
        vectors = encode([*heads, PROBE])
        if weights.are_for(vectors[-1]):
            told = zip(heads, weights.kinds_of(vectors[:-1]), strict=True)
            return {kind if head.isalpha() else None for head, kind in told}
    words = lexicon(code)
    named: dict[str, Kind] = {noun: kind for kind, nouns in words.kinds.items() for noun in nouns}
    found: dict[str, Kind | None] = {head: named[head] for head in heads if head in named}
    found |= {head: "person" for head in heads if _is_person(head, words)}
    others = [head for head in heads if head not in found]
    return {*found.values(), *(_nearest(others, words, encode) if others and named else [None] * len(others))}


# --- by weights ------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Weights:
    """Of a softmax regression.

    Attributes:
        kinds: in the order of the rows.
        weight, bias: shapes (kinds, d) and (kinds,).
        probe: the vector of `PROBE`, shape (d,).
    """

    kinds: tuple[Kind, ...]
    weight: npt.NDArray[np.float32]
    bias: npt.NDArray[np.float32]
    probe: npt.NDArray[np.float32]

    def are_for(self, probe: npt.NDArray[np.float32]) -> bool:
        """Whether they belong to the encoder that made a vector of the probe."""
        return probe.shape == self.probe.shape and float(probe @ self.probe) >= _SAME

    def kinds_of(self, vectors: npt.NDArray[np.float32]) -> list[Kind | None]:
        """The kind of each noun by its vector, shape (n, d); None where no kind has the probability `LEAST`."""
        logits = vectors @ self.weight.T + self.bias
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        told = (self.kinds[row.argmax()] if row.max() >= LEAST else _UNCLEAR for row in shares)
        return [None if kind == _UNCLEAR else kind for kind in told]


def weights_file(code: str) -> Path:
    """Where the weights of a language are, if it has any."""
    return Path(__file__).with_name("words") / f"{code}.kinds.safetensors"


@functools.cache
def _weights(code: str) -> _Weights | None:
    """The weights of a language; None if it has none."""
    from safetensors import safe_open

    path = weights_file(code)
    if not path.is_file():
        return None
    with safe_open(path, "numpy") as file:
        return _Weights(
            tuple(json.loads(file.metadata()["kinds"])),
            *(file.get_tensor(name) for name in ("weight", "bias", "probe")),
        )


# --- by the nearest noun ---------------------------------------------------------------------------
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
    """The head noun of a class, in its base form: "director" for "film directors", "city" for "city in Norway"."""
    words, reader = words_of(label), pipeline(language)
    before = next((at for at, word in enumerate(words) if at and word in reader.stop_words), len(words))
    return reader.lemma(words[before - 1], "NOUN") if words else ""
