"""Detects replies that copy a worked example. A small model sometimes answers the example and not the question."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_WORD = re.compile(r"\w+")
_IN_SENTENCE = re.compile(r"(?<=[^.?!:\s]) (\w+)")
_COPIED = 5  # words in a row


def copies_example(reply: str, inputs: Mapping[str, Any]) -> bool:
    """Whether a reply has five words in a row, or a name, that a demonstration (`demos`) has and no other input."""
    copied = _runs(reply) & _runs(_shown(inputs)) - _runs(_own(inputs))
    return bool(copied or names_of_examples(reply, inputs))


def names_of_examples(reply: str, inputs: Mapping[str, Any]) -> set[str]:
    """The names in a reply that occur in a demonstration (`demos`) and in no other input of the call.

    A name is a word within a sentence that begins with a capital letter, and that the demonstrations never write with a
    small one. A word in capitals is no name: it may be a keyword of a query.
    """
    shown = set(_WORD.findall(_shown(inputs)))
    own = set(_WORD.findall(_own(inputs).casefold()))
    written = {word for word in _IN_SENTENCE.findall(reply) if word[0].isupper() and not word.isupper()}
    return {word for word in written & shown if word.lower() not in shown and word.casefold() not in own}


def texts_of(outputs: Mapping[str, Any]) -> str:
    """The texts of a reply: its fields of text, and of lists of texts."""
    values = (value if isinstance(value, list) else [value] for value in outputs.values())
    return ". ".join(text for some in values for text in some if isinstance(text, str))


def _shown(inputs: Mapping[str, Any]) -> str:
    return " ".join(str(dict(demo)) for demo in inputs["demos"])


def _own(inputs: Mapping[str, Any]) -> str:
    return " ".join(str(value) for name, value in inputs.items() if name != "demos")


def _runs(text: str) -> set[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    return set(zip(*(words[start:] for start in range(_COPIED)), strict=False))
