"""Harder wordings: the name of a topic misspelt, replaced, shortened or turned round. The graph stays as it is."""

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

# Where a question writes its topic: the part of it that is one of the topic's names.


_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Asked:
    """A question, one of its topics, and where the question writes it.

    Attributes:
        question: as asked.
        start, end: the characters of the topic's name, [start, end).
        nodes: the nodes that the data set means by it.
    """

    question: str
    start: int
    end: int
    nodes: frozenset[int]

    @property
    def mention(self) -> str:
        """The name as the question writes it."""
        return self.question[self.start : self.end]

    def rewritten(self, name: str) -> Asked:
        """The same with the topic's name written so."""
        question = self.question[: self.start] + name + self.question[self.end :]
        return Asked(question, self.start, self.start + len(name), self.nodes)


def asked_topics(questions: Sequence[Question], graph: Graph, linker: Linker) -> list[Asked]:
    """The topics that the questions write by one of their names, but for case, accents and punctuation."""
    names = linker_names(linker)
    found = []
    for question in questions:
        for nodes in resolve_gold(question, graph, names).topics:
            entities = [graph.entity(node) for node in nodes]
            forms = {normalize(name) for entity in entities for name in (entity.label, *entity.aliases)}
            span = _written(question.question, forms)
            if span is not None:
                found.append(Asked(question.question, *span, nodes))
    return found


def _written(question: str, forms: set[str]) -> tuple[int, int] | None:
    """The longest part of a question that is one of some normalised names."""
    words = [match.span() for match in _WORD.finditer(question)]
    spans = [
        (start, end)
        for i, (start, _) in enumerate(words)
        for _, end in words[i:]
        if normalize(question[start:end]) in forms
    ]
    return max(spans, key=lambda span: span[1] - span[0], default=None)


# Typing errors: a letter hit beside its key, left out, typed twice, or two in the wrong order.
#
# Every error is an `Edit`, so that it is known what was done to a text and it can be undone. Letters of
# any place may be hit, the first of a word too; digits and signs are left alone, since another year or
# number is not a misspelt one but another. Capitals stay where they were: whoever drops the first letter
# of a name still begins it with a capital.

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
        text: what it reads now.
        original: what it read.
        edits: the errors, in the order of their places in the original; none of them touch.
    """

    text: str
    original: str
    edits: tuple[Edit, ...]


def misspell(text: str, edits: int, rng: random.Random, kinds: Sequence[Kind] = KINDS) -> Misspelt:
    """A text with this many typing errors, each of a kind drawn evenly from those that are possible in it.

    The same state of `rng` gives the same errors. A text too short for so many (or without any letter)
    gets as many as it has room for: `edits` of the result tells. Every error changes what the text reads
    as after `kg.normalize`.
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
    """All the errors of one kind that are possible in a text, by place."""
    make = {"keyboard": _keyboard, "swap": _swap, "drop": _drop, "double": _double}[kind]
    whole = normalize(text)
    found = [edit for at, letter in enumerate(text) if letter.isalpha() for edit in make(text, at)]
    return [edit for edit in found if normalize(apply(text, [edit])) != whole]


def apply(text: str, edits: Sequence[Edit]) -> str:
    """The text with errors made that do not touch each other, given by places in it."""
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
        return []  # a word of one letter would be gone
    if inside or not text[at].isupper():
        return [Edit("drop", at, text[at], "")]
    return [Edit("drop", at, text[at] + following, _cased(following, text[at]))]


def _double(text: str, at: int) -> list[Edit]:
    return [Edit("double", at, text[at], text[at] + text[at].lower())]


def _cased(letter: str, like: str) -> str:
    return letter.upper() if like.isupper() else letter.lower()


def key_neighbours(letter: str) -> str:
    """The letters beside a letter on a QWERTY keyboard, whose rows are set off by half a key; "" for others.

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
"""How the name reads now, and what was done to it."""
Rewriter = Callable[[Asked, Graph, random.Random], Rewrite | None]
"""None where there is nothing to be done to a name."""


def typos(count: int) -> Rewriter:
    """A rewriter that makes this many typing errors; none where a name has no room for so many."""

    def rewrite(asked: Asked, graph: Graph, rng: random.Random) -> Rewrite | None:
        made = misspell(asked.mention, count, rng)
        if len(made.edits) < count:
            return None
        return made.text, {"edits": [f"{e.kind} at {e.at}: {e.before!r} to {e.after!r}" for e in made.edits]}

    return rewrite


def alias(asked: Asked, graph: Graph, rng: random.Random) -> Rewrite | None:
    """Another name that the graph knows the topic by."""
    written = normalize(asked.mention)
    entities = [graph.entity(node) for node in sorted(asked.nodes)]
    names = {name for entity in entities for name in (entity.label, *entity.aliases)}
    others = sorted(name for name in names if normalize(name) not in ("", written))
    return (rng.choice(others), {"instead of": asked.mention}) if others else None


def partial(asked: Asked, graph: Graph, rng: random.Random) -> Rewrite | None:
    """A name of several words without its first or last."""
    words = asked.mention.split()
    if len(words) < 2:
        return None
    dropped = rng.choice((0, len(words) - 1))
    return " ".join(word for at, word in enumerate(words) if at != dropped), {"left out": words[dropped]}


def word_order(asked: Asked, graph: Graph, rng: random.Random) -> Rewrite | None:
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
    "alias": ("a topic by another of its names", alias),
    "partial": ("a topic's name without its first or last word", partial),
    "word-order": ("the words of a topic's name in another order", word_order),
}
"""By the variant's name: what it does, and the function that does it."""
