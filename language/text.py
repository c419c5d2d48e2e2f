"""Words of a text as written: in lower case, without accents; and where a name stands among them, misspelt too."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence

from rapidfuzz.distance import OSA

TOPIC = "§"
"""Stands for a topic of a question."""

_WORD = re.compile(r"['’‘]s\b|[^\W_]+(?:\.[^\W_]+)*", re.UNICODE)


def plain(text: str) -> str:
    """Lower case, without accents and typographic quotes."""
    text = text.casefold().replace("’", "'").replace("‘", "'")
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not "\u0300" <= c <= "\u036f")


def without_accents(text: str) -> str:
    """The text with each letter that has an accent replaced by the same without, one for one."""
    parts = ((c, unicodedata.normalize("NFD", c)) for c in text)
    return "".join(some[0] if all(map(unicodedata.combining, some[1:])) else c for c, some in parts)


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation; "'s" is a word."""
    return [plain(word) for word in _WORD.findall(text)]


def mask(words: list[str], topics: Sequence[str], stop_words: Collection[str] = ()) -> list[str]:
    """Replace each topic by `TOPIC`, with tolerance for misspellings; see `_places`."""
    for topic in sorted(topics, key=len, reverse=True):
        for start, end in reversed(_places(words, topic, stop_words)):
            words = [*words[:start], TOPIC, *words[end:]]
    return words


def spans(text: str, topics: Sequence[str], stop_words: Collection[str] = ()) -> list[tuple[int, int, str]]:
    """Where topics stand in a text, as [start, end) in characters, in order, without overlaps; with the topic."""
    places = [match.span() for match in _WORD.finditer(text)]
    words = [plain(text[start:end]) for start, end in places]
    found = []
    for topic in sorted(topics, key=len, reverse=True):
        for start, end in _places(words, topic, stop_words):
            found.append((places[start][0], places[end - 1][1], topic))
            words[start:end] = [TOPIC] * (end - start)
    return sorted(found)


def _places(words: Sequence[str], topic: str, stop_words: Collection[str]) -> list[tuple[int, int]]:
    """Where a topic stands, as [start, end): the place that is most like it, and all that are spelt as that one."""
    span = find_span(words, [word for word in words_of(topic) if word != "'s"], stop_words)
    if span is None:
        return []
    if not any(map(str.isalpha, "".join(words[slice(*span)]))):
        return [span]  # of "0+" and "0-" the words are the same
    size, found = span[1] - span[0], list[tuple[int, int]]()
    for start in range(len(words) - size + 1):
        is_free = not found or start >= found[-1][1]
        if is_free and list(words[start : start + size]) == list(words[slice(*span)]):
            found.append((start, start + size))
    return found


def find_span(
    words: Sequence[str], name: Sequence[str], stop_words: Collection[str] = (), least: float = 0.75
) -> tuple[int, int] | None:
    """Position [start, end) of a name in a list of words, exactly or within a few edits.

    Args:
        stop_words: a name with another word is not found where there are only these.
        least: similarity, 1 for the name itself.
    """
    if not name:
        return None
    target = " ".join(name)
    best: tuple[float, int, int] | None = None
    for size in (len(name), len(name) + 1, len(name) - 1, len(name) + 2):
        for start in range(len(words) - size + 1) if size > 0 else ():
            window = words[start : start + size]
            if TOPIC in window or all(w in stop_words for w in window) != all(w in stop_words for w in name):
                continue
            score = OSA.normalized_similarity(" ".join(window), target)
            if score >= least and (best is None or score > best[0]):
                best = (score, start, start + size)
        if best is not None and best[0] == 1.0:
            break
    return None if best is None else best[1:]
