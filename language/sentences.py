"""Splits texts into sentences."""

from __future__ import annotations

import re

_END = re.compile(r"(?<=[.!?])[\"”’')\]]*\s+(?=[\"“‘(\[]?[^\W\d_a-zà-ÿ]|[\"“‘(\[]?\d)|\n+")
_ABBREVIATED = re.compile(
    r"(?:^|[\s(])(?:[^\W\d_]|Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|No|vs|etc|Inc|Ltd|Co|Gen|Col|Capt|Rev|c|ca)\.$"
)


def split_sentences(text: str) -> list[str]:
    """The sentences of a text."""
    found: list[str] = []
    start = 0
    for match in _END.finditer(text):
        if _ABBREVIATED.search(text[start : match.start()]) and "\n" not in match.group():
            continue
        found.append(text[start : match.start()].strip())
        start = match.end()
    found.append(text[start:].strip())
    return [sentence for sentence in found if sentence]
