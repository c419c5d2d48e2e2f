"""Naming the topics of a question: which of the known names it mentions."""

from __future__ import annotations

import re
from collections.abc import Sequence

from triplecheck.lms.extractive.question import STOP_WORDS, find_span, plain
from triplecheck.lms.prompt import Prompt

_KNOWN_NAME = re.compile(r"^(?:(?P<written>.*?) = )?(?P<name>.*?)(?: \((?P<types>[^()]*)\))?$")
_WORD = re.compile(r"[^\W_]+(?:\.[^\W_]+)*|'s\b", re.UNICODE)
# A further topic must be named about as clearly as the first.
_SHARE_OF_BEST = 0.55


def name_topics(prompt: Prompt) -> dict[str, object]:
    """Known names that stand in the question, most clearly named first, none overlapping another."""
    words = _words(prompt)
    folded = [plain(word) for word in words]
    cased = any(w[0].isupper() for w in words[1:]) and not all(w[0].isupper() for w in words)
    found = []
    for order, (written, name, types) in enumerate(known_names(prompt)):
        span = find_span(folded, [plain(w) for w in _WORD.findall(written) if w != "'s"])
        if span is not None:
            found.append((_clarity(words[span[0] : span[1]], name, cased), order, span, name, types))
    found.sort(key=lambda f: (-f[0], f[1]))
    topics: list[tuple[str, str]] = []
    taken: set[int] = set()
    for clarity, _, (start, end), name, types in found:
        if clarity >= _SHARE_OF_BEST * found[0][0] and taken.isdisjoint(range(start, end)):
            taken.update(range(start, end))
            topics.append((name, types))
    domain = topics[0][1].split(", ")[0] if topics and topics[0][1] else "unknown"
    return {"topics": [name for name, _ in topics], "domain": domain}


def known_names(prompt: Prompt) -> list[tuple[str, str, str]]:
    """Each of the known names of a prompt: as written, as in the graph, and its types."""
    folded = [plain(word) for word in _words(prompt)]
    return [_known_name(item, folded) for item in prompt.items("known_names")]


def _words(prompt: Prompt) -> list[str]:
    return _WORD.findall(prompt.text("question").replace("’", "'"))


def _known_name(item: str, folded: Sequence[str]) -> tuple[str, str, str]:
    """As written, as in the graph, and the types, of an item such as "Satchmo = Louis Armstrong (Musician)".

    `folded` are the plain words of the question, which may itself write brackets.
    """
    match = _KNOWN_NAME.match(item)
    assert match is not None  # the pattern fits any line
    name, types = match["name"], match["types"] or ""
    if types and f" {' '.join(_WORD.findall(plain(item)))} " in f" {' '.join(folded)} ":
        # The question itself writes the brackets: they belong to the name.
        name, types = item, ""
    return match["written"] or name, name, types


def _clarity(words: list[str], name: str, cased: bool) -> float:
    """How clearly words name something: how many there are, and whether they are written like a name."""
    content = [w for w in words if w.lower() not in STOP_WORDS and w != "'s"] or words
    length = 1 - 0.5 ** len(content)
    if cased:
        capital = sum(w[0].isupper() or w[0].isdigit() for w in content) / len(content)
        return length * (0.25 + 0.75 * capital)
    # Without capitals in the question, those of the graph must tell a name from a word.
    return length * (1.0 if any(c.isupper() or c.isdigit() for c in name) or len(content) > 1 else 0.5)
