"""English tokens, as spaCy's tokenizer splits a text, without importing spaCy.

Importing spaCy takes half a second, and with torch installed, which it loads, two seconds and 200 MB. A question needs
only its tokenizer: the rules (affix patterns, exceptions, stop words) are those of `spacy.blank("en")`, stored in
`tokens.json` by `python -m triplecheck.kg.tokens`. The algorithm is described at
https://spacy.io/usage/linguistic-features#how-tokenizer-works.
"""

from __future__ import annotations

import functools
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

_RULES = Path(__file__).with_name("tokens.json")
_LICENCE = "The rules come from spaCy (https://spacy.io). Copyright (C) 2016-2024 ExplosionAI GmbH, MIT licence."


@dataclass(frozen=True)
class Token:
    """A token and its place in the text, in characters."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """Where it ends, exclusive."""
        return self.start + len(self.text)

    @cached_property
    def lower(self) -> str:
        """In lower case."""
        return self.text.lower()

    @cached_property
    def is_stop(self) -> bool:
        """Whether it is a stop word."""
        return self.lower in _tokenizer().stop_words

    @cached_property
    def is_punct(self) -> bool:
        """Whether it consists of punctuation."""
        return all(unicodedata.category(c).startswith("P") for c in self.text)

    @property
    def is_space(self) -> bool:
        """Whether it consists of white space."""
        return self.text.isspace()


def tokenize(text: str) -> list[Token]:
    """The tokens of a text in order. White space is no token, except what follows a first blank."""
    return _tokenizer().tokens(text)


@functools.cache
def _tokenizer() -> _Tokenizer:
    return _Tokenizer(json.loads(_RULES.read_text("utf-8")))


class _Tokenizer:
    """Splits each run of non-space characters at affixes, exceptions and infixes.

    Args:
        rules: as `rules_of_spacy` returns them.
    """

    def __init__(self, rules: Mapping[str, Any]) -> None:
        self.stop_words = frozenset(rules["stop_words"])
        self._prefix = re.compile(rules["prefix"]).search
        self._suffix = re.compile(rules["suffix"]).search
        self._infixes = re.compile(rules["infix"]).finditer
        self._is_url = re.compile(rules["url"]).match
        self._exceptions: dict[str, list[str]] = rules["exceptions"]
        # Exceptions that affixes divide, such as emoticons, are looked for across tokens: by first token, their tokens.
        self._divided: dict[str, list[list[str]]] = rules["divided"]

    def tokens(self, text: str) -> list[Token]:
        """See `tokenize`."""
        tokens = [
            token for start, run in _runs(text) for token in _placed(text, start, self._split(run, self._exceptions))
        ]
        return self._joined(text, tokens)

    def parts_without_exceptions(self, text: str) -> list[str]:
        """The tokens that the affixes alone make."""
        return [part for _, run in _runs(text) for part in self._split(run, {})]

    def _split(self, run: str, exceptions: Mapping[str, list[str]]) -> list[str]:
        before, after = [], []
        while run and run not in exceptions:
            first = _length(self._prefix(run))
            if first and run[first:] in exceptions:
                before.append(run[:first])
                run = run[first:]
                break
            last = _length(self._suffix(run[first:]))
            if last and run[:-last] in exceptions:
                after.append(run[-last:])
                run = run[:-last]
                break
            if not first and not last:
                break
            end = len(run) - last
            before += [run[:first]] if first else []
            after += [run[end:]] if last else []
            run = run[first:end]
        return [*before, *self._inside(run, exceptions), *reversed(after)]

    def _inside(self, run: str, exceptions: Mapping[str, list[str]]) -> list[str]:
        """The tokens of what is left between prefixes and suffixes."""
        if run in exceptions:
            return exceptions[run]
        if self._is_url(run):
            return [run]
        parts, start = [], 0
        for infix in self._infixes(run):
            if infix.start():
                parts += [run[start : infix.start()], infix[0]]
                start = infix.end()
        return [part for part in (*parts, run[start:]) if part]

    def is_divided(self, text: str) -> bool:
        """Whether an exception has an affix or a blank."""
        return bool(self._prefix(text) or self._suffix(text) or next(self._infixes(text), None)) or " " in text

    def _joined(self, text: str, tokens: Sequence[Token]) -> list[Token]:
        """The tokens, with the exceptions that affixes divided; of those that overlap, the longest."""
        found = []
        for i, token in enumerate(tokens):
            for divided in self._divided.get(token.text, ()):
                inside = tokens[i : i + len(divided)]
                written = text[token.start : inside[-1].end]
                if [t.text for t in inside] == divided and written in self._exceptions:
                    found.append((i, i + len(divided), self._exceptions[written]))
        joined: dict[int, list[Token]] = {i: [token] for i, token in enumerate(tokens)}
        taken: set[int] = set()
        for start, end, exception in sorted(found, key=lambda one: (one[0] - one[1], one[0])):
            if taken.isdisjoint((start, end - 1)):
                joined.update({i: [] for i in range(start, end)})
                joined[start] = _placed(text, tokens[start].start, exception)
            taken.update(range(start, end))
        return [token for i in range(len(tokens)) for token in joined[i]]


def _runs(text: str) -> Iterator[tuple[int, str]]:
    """The runs of space and of other characters with their start; a run of space lacks its first blank, unless it
    begins the text.
    """
    for match in re.finditer(r"\S+|\s+", text):
        start, run = match.start(), match[0]
        if start and run[0] == " ":
            start, run = start + 1, run[1:]
        if run:
            yield start, run


def _length(match: re.Match[str] | None) -> int:
    return len(match[0]) if match else 0


def _placed(text: str, start: int, parts: Iterable[str]) -> list[Token]:
    """The tokens that follow each other from `start`."""
    tokens = []
    for part in parts:
        start = text.index(part, start)
        tokens.append(Token(part, start))
        start += len(part)
    return tokens


def rules_of_spacy() -> dict[str, Any]:
    """The rules of spaCy's English tokenizer. Needs spaCy."""
    import spacy

    english = spacy.blank("en")
    tokenizer = english.tokenizer
    exceptions = {text: [one[65] for one in parts] for text, parts in sorted(tokenizer.rules.items())}  # 65: ORTH
    patterns = {
        "prefix": tokenizer.prefix_search,
        "suffix": tokenizer.suffix_search,
        "infix": tokenizer.infix_finditer,
        "url": tokenizer.url_match,
    }
    rules: dict[str, Any] = {
        "licence": _LICENCE,
        **{name: method.__self__.pattern for name, method in patterns.items()},
        "exceptions": exceptions,
        "stop_words": sorted(english.Defaults.stop_words),
    }
    own = _Tokenizer({**rules, "divided": {}})
    divided: dict[str, list[list[str]]] = {}
    for text in exceptions:
        if not text.isspace() and own.is_divided(text):
            parts = own.parts_without_exceptions(text)
            divided.setdefault(parts[0], []).append(parts)
    return {**rules, "divided": divided}


if __name__ == "__main__":
    _RULES.write_text(json.dumps(rules_of_spacy(), ensure_ascii=False, indent=0) + "\n", "utf-8")
