"""Names in a text: runs of proper nouns and of words with a capital."""

from __future__ import annotations

from dataclasses import dataclass

from triplecheck.language.pipeline import ENGLISH, Pipeline, Token, pipeline

# Words without a capital inside names, in several languages.
_INSIDE = frozenset("of the de della del di da du von van der den la le y e &".split())
_JOINTS = frozenset(("-", "–", "'s", "’s"))
_CAPITAL_NOUNS = frozenset(("de", "lb"))  # languages
_FIRST = frozenset(("", "PROPN", "NOUN", "NUM", "X"))


@dataclass(frozen=True, slots=True)
class Name:
    """A name in a text: as written, and its characters [start, end)."""

    text: str
    start: int
    end: int


def find_names(text: str, language: str = ENGLISH) -> list[Name]:
    """The names of a text, in order.

    A word with a capital, or a proper noun of a script without capitals, is part of a name. A stop word is so only
    beside another one, and the first word, which has a capital anyway, only if it is a noun or another one follows.
    """
    return _Words(text, pipeline(language)).names()


class _Words:
    def __init__(self, text: str, reader: Pipeline) -> None:
        self._text = text
        self._tokens = reader.parse(text)
        self._no_names = "NOUN" if reader.code in _CAPITAL_NOUNS else None

    def names(self) -> list[Name]:
        found = []
        at = 0
        while at < len(self._tokens):
            last: int | None = at if self._opens(at) else None
            at += 1
            if last is None:
                continue
            first = self._tokens[last]
            while last is not None:
                at, last = last + 1, self._next(last)
            end = self._tokens[at - 1].end
            name = self._text[first.start : end]
            name = name[:-1] if name.endswith(".") and name.count(".") == 1 else name
            found.append(Name(name, first.start, first.start + len(name)))
        return found

    def _opens(self, at: int) -> bool:
        """Whether a name begins with a token."""
        token = self._tokens[at]
        if not self._is_part(token):
            return False
        if token.is_stop:
            return at > 0 and (
                token.pos == "PROPN" or (at + 1 < len(self._tokens) and self._is_part(self._tokens[at + 1]))
            )
        return at > 0 or token.pos in _FIRST or self._next(at) is not None

    def _next(self, last: int) -> int | None:
        """The next word of a name after its last one so far; None at its end."""
        after = last + 1
        while after < len(self._tokens) and (self._tokens[after].text in _INSIDE or self._joins(after)):
            after += 1
        if after == len(self._tokens):
            return None
        token, before = self._tokens[after], self._tokens[after - 1]
        # Four digits are a year.
        numbered = token.text[0].isdigit() and after == last + 1 and len(token.text) != 4
        hyphenated = before.text == "-" and before.end == token.start and token.text.isalpha()
        return after if numbered or hyphenated or self._is_part(token) else None

    def _joins(self, at: int) -> bool:
        """Whether a sign joins two words of a name."""
        return self._tokens[at].text in _JOINTS and self._tokens[at - 1].end == self._tokens[at].start

    def _is_part(self, token: Token) -> bool:
        """Whether a word may be part of a name."""
        first = token.text[0]
        if first.isupper():
            return token.pos != self._no_names or token.pos == ""
        return token.pos == "PROPN" and first.isalpha() and not first.islower()
