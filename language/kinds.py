"""Whether things of a class fit a question word: who asks for a person, where for a place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from triplecheck.language.relevance import Encode
from triplecheck.language.text import words_of

Kind = Literal["person", "place", "group", "other"]

# Nouns of plain English that stand for each kind. A class is of the kind of the nearest one.
_NOUNS: dict[Kind, str] = {
    "person": """person human man woman composer singer actor director architect monarch athlete player doctor student
        officer worker poet saint owner""",
    "place": """place location city village country region sea valley building bridge airport monument planet""",
    "group": """organization company university team club league band orchestra government party agency family
        population newspaper""",
    "other": """work film book play poem album opera instrument game sport language award war festival genre discipline
        medicine food plant aircraft currency""",
}
_KINDS: list[Kind] = [kind for kind, nouns in _NOUNS.items() for _ in nouns.split()]
_ALL = [noun for nouns in _NOUNS.values() for noun in nouns.split()]
# How much nearer a class must be to one kind than to the others.
_LEAST_MARGIN = 0.05
_AGENT = re.compile(r"\w{2}(?:ist|ian|man|woman)$")
_OF = re.compile(r" (?:of|in|on|for|from|by|with|that|which) ")

_MISFITS: dict[str, Kind] = {"person": "other", "place": "person"}


def fit(asked: str, classes: Sequence[str], encode: Encode) -> int:
    """How things of some classes fit what is asked for: 1, -1 if they are what is not asked for, 0 if unclear.

    Args:
        asked: the kind that the question word asks for (`question.Asked.kind`); others than person and place fit all.
        classes: labels of the classes of one thing; of none, nothing is known.
        encode: texts to L2-normalised vectors, (n, d).
    """
    if asked not in _MISFITS or not classes:
        return 0
    kinds = kinds_of(classes, encode)
    if asked in kinds:
        return 1
    return -1 if kinds - {None} == {_MISFITS[asked]} else 0


def kinds_of(classes: Iterable[str], encode: Encode) -> set[Kind | None]:
    """The kind of each class; None where it is unclear."""
    heads = list(dict.fromkeys(head for label in classes if (head := _head(label))))
    if not heads:
        return set()
    cosines = encode([*heads, *_ALL])
    near = cosines[: len(heads)] @ cosines[len(heads) :].T
    best = np.stack([near[:, [k == kind for k in _KINDS]].max(axis=1) for kind in _NOUNS], axis=1)
    order = np.argsort(-best, axis=1)
    kinds = list(_NOUNS)
    return {
        "person" if _AGENT.search(head) else kinds[first] if row[first] - row[second] >= _LEAST_MARGIN else None
        for head, row, (first, second) in zip(heads, best, order[:, :2], strict=True)
    }


def _head(label: str) -> str:
    """The noun of a class: "director" of "film director", "city" of "city in Norway"."""
    words = words_of(_OF.split(f" {label} ")[0])
    return words[-1] if words else ""
