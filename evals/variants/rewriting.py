"""Harder wordings: the name of a topic is misspelt, replaced, shortened or reordered. The graph does not change."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from triplecheck.evals.gold import linker_names, resolve_gold
from triplecheck.evals.questions import Question
from triplecheck.kg import Graph, Linker, normalize

# Find the topic in a question: the part that is one of the topic's names.


_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class TopicMention:
    """The name of a topic in a question.

    Attributes:
        start, end: character offsets of the name, [start, end).
        nodes: the topic's nodes, according to the data set.
    """

    question: str
    start: int
    end: int
    nodes: frozenset[int]

    @property
    def mention(self) -> str:
        """The name as written in the question."""
        return self.question[self.start : self.end]

    def rewritten(self, name: str) -> TopicMention:
        """The question with another name in its place."""
        question = self.question[: self.start] + name + self.question[self.end :]
        return TopicMention(question, self.start, self.start + len(name), self.nodes)


def topic_mentions(questions: Sequence[Question], graph: Graph, linker: Linker) -> list[TopicMention]:
    """The topics whose name occurs in their question, ignoring case, accents and punctuation."""
    names = linker_names(linker)
    found = []
    for question in questions:
        for nodes in resolve_gold(question, graph, names).topics:
            entities = [graph.entity(node) for node in nodes]
            forms = {normalize(name) for entity in entities for name in (entity.label, *entity.aliases)}
            span = _written(question.question, forms)
            if span is not None:
                found.append(TopicMention(question.question, *span, nodes))
    return found


def _written(question: str, forms: set[str]) -> tuple[int, int] | None:
    """The span of the longest part of a question that is one of the normalised names."""
    words = [match.span() for match in _WORD.finditer(question)]
    spans = [
        (start, end)
        for i, (start, _) in enumerate(words)
        for _, end in words[i:]
        if normalize(question[start:end]) in forms
    ]
    return max(spans, key=lambda span: span[1] - span[0], default=None)


# Typing errors: a neighbouring key, a missing letter, a doubled letter, or two swapped letters.
#
# Every error is an `Edit` that records the change. Any letter may be affected, including the first of a word. Digits
# and punctuation are not changed, because a changed year or number is a different one, not a misspelt one.
# Capitalisation keeps its position: if the first letter of a name is dropped, the next one becomes a capital.

Kind = Literal["keyboard", "swap", "drop", "double"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


@dataclass(frozen=True, slots=True)
class Edit:
    """One typing error: at character `at` of the original, `before` became `after`."""

    kind: Kind
    at: int
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Misspelt:
    """A text with typing errors.

    Attributes:
        edits: the errors by position in the original; they do not overlap or touch.
    """

    text: str
    original: str
    edits: tuple[Edit, ...]


def misspell(text: str, edits: int, rng: random.Random, kinds: Sequence[Kind] = KINDS) -> Misspelt:
    """Add typing errors to a text. The kind of each is drawn uniformly from the kinds possible in the text.

    The same state of `rng` gives the same errors. A short text may get fewer errors; see `edits` of the result. Every
    error also changes the text after `kg.normalize`.
    """
    possible = [edit for kind in kinds for edit in edits_of(text, kind)]
    chosen: list[Edit] = []
    while possible and len(chosen) < edits:
        kind = rng.choice(sorted({edit.kind for edit in possible}))
        edit = rng.choice([edit for edit in possible if edit.kind == kind])
        chosen.append(edit)
        possible = [other for other in possible if not _touch(edit, other)]
    chosen.sort(key=lambda edit: edit.at)
    return Misspelt(apply(text, chosen), text, tuple(chosen))


def edits_of(text: str, kind: Kind) -> list[Edit]:
    """All possible errors of one kind in a text, by position."""
    make = {"keyboard": _keyboard, "swap": _swap, "drop": _drop, "double": _double}[kind]
    whole = normalize(text)
    found = [edit for at, letter in enumerate(text) if letter.isalpha() for edit in make(text, at)]
    return [edit for edit in found if normalize(apply(text, [edit])) != whole]


def apply(text: str, edits: Sequence[Edit]) -> str:
    """Apply errors that do not touch each other to a text."""
    for edit in sorted(edits, key=lambda edit: -edit.at):
        text = text[: edit.at] + edit.after + text[edit.at + len(edit.before) :]
    return text


def _touch(a: Edit, b: Edit) -> bool:
    """Whether two errors concern the same or neighbouring letters, where one could undo the other."""
    return a.at <= b.at + len(b.before) and b.at <= a.at + len(a.before)


def _keyboard(text: str, at: int) -> list[Edit]:
    return [Edit("keyboard", at, text[at], _cased(key, text[at])) for key in key_neighbours(text[at].lower())]


def _swap(text: str, at: int) -> list[Edit]:
    pair = text[at : at + 2]
    if len(pair) < 2 or not pair[1].isalpha():
        return []
    return [Edit("swap", at, pair, _cased(pair[1], pair[0]) + _cased(pair[0], pair[1]))]


def _drop(text: str, at: int) -> list[Edit]:
    following = text[at + 1 : at + 2]
    inside = at > 0 and text[at - 1].isalpha()
    if not inside and not following.isalpha():
        return []  # would delete a word of one letter
    if inside or not text[at].isupper():
        return [Edit("drop", at, text[at], "")]
    return [Edit("drop", at, text[at] + following, _cased(following, text[at]))]


def _double(text: str, at: int) -> list[Edit]:
    return [Edit("double", at, text[at], text[at] + text[at].lower())]


def _cased(letter: str, like: str) -> str:
    return letter.upper() if like.isupper() else letter.lower()


def key_neighbours(letter: str) -> str:
    """The neighbours of a letter on a QWERTY keyboard, whose rows are shifted by half a key; "" for other characters.

    >>> key_neighbours("s")
    'adwezx'
    """
    return _neighbours().get(letter, "")


@functools.cache
def _neighbours() -> dict[str, str]:
    places = {letter: (row, column) for row, letters in enumerate(_ROWS) for column, letter in enumerate(letters)}
    at = {place: letter for letter, place in places.items()}
    around = ((0, -1), (0, 1), (-1, 0), (-1, 1), (1, -1), (1, 0))
    return {
        letter: "".join(at[place] for down, right in around if (place := (row + down, column + right)) in at)
        for letter, (row, column) in places.items()
    }


Rewrite = tuple[str, dict[str, Any]]
"""The new name, and a record of the change."""
Rewriter = Callable[[TopicMention, Graph, random.Random], Rewrite | None]
"""Returns None if it cannot change the name."""


def typos(count: int) -> Rewriter:
    """A rewriter that makes this many typing errors; it returns None if the name is too short."""

    def rewrite(asked: TopicMention, graph: Graph, rng: random.Random) -> Rewrite | None:
        made = misspell(asked.mention, count, rng)
        if len(made.edits) < count:
            return None
        return made.text, {"edits": [f"{e.kind} at {e.at}: {e.before!r} to {e.after!r}" for e in made.edits]}

    return rewrite


def alias(asked: TopicMention, graph: Graph, rng: random.Random) -> Rewrite | None:
    """Another name of the topic in the graph."""
    written = normalize(asked.mention)
    entities = [graph.entity(node) for node in sorted(asked.nodes)]
    names = {name for entity in entities for name in (entity.label, *entity.aliases)}
    others = sorted(name for name in names if normalize(name) not in ("", written))
    return (rng.choice(others), {"instead of": asked.mention}) if others else None


def partial(asked: TopicMention, graph: Graph, rng: random.Random) -> Rewrite | None:
    """A name of several words without its first or last word."""
    words = asked.mention.split()
    if len(words) < 2:
        return None
    dropped = rng.choice((0, len(words) - 1))
    return " ".join(word for at, word in enumerate(words) if at != dropped), {"left out": words[dropped]}


def word_order(asked: TopicMention, graph: Graph, rng: random.Random) -> Rewrite | None:
    """A name of several words in another order."""
    words = asked.mention.split()
    if len({normalize(word) for word in words}) < 2:
        return None
    turned = words
    while [normalize(word) for word in turned] == [normalize(word) for word in words]:
        turned = rng.sample(words, len(words))
    return " ".join(turned), {"instead of": asked.mention}


REWRITERS: dict[str, tuple[str, Rewriter]] = {
    "typo1": ("one typing error in the name of a topic", typos(1)),
    "typo2": ("two typing errors in the name of a topic", typos(2)),
    "alias": ("another name of a topic", alias),
    "partial": ("a topic's name without its first or last word", partial),
    "word-order": ("the words of a topic's name in another order", word_order),
}
"""By variant name: a description, and the function."""
