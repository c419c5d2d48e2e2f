"""Which places of an order a question asks for: "the second oldest", "the three oldest", "top 3"."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from triplecheck.language.operations import Comparison, compares, counted, degree, in_order, leads, number
from triplecheck.language.parse import Parse

_MOST = 1000  # a greater number is a year


@dataclass(frozen=True)
class Ordinal:
    """A place in an order, or the first places.

    Attributes:
        place: 2 for "the second oldest", 1 for "the three oldest".
        length: how many places: 3 for "the three oldest".
        span: its words, "third" or "top 3".
    """

    text: str
    place: int
    length: int = 1
    span: tuple[int, int] = (0, 0)


def ordinal(parse: Parse, compared: Comparison | None, taken: Collection[int]) -> Ordinal | None:
    """The place or the first places in an order that a question asks for; None if it asks for none.

    Args:
        taken: positions of numbers that are bounds.
    """
    for at, word in enumerate(parse.words[:-1]):
        if at not in taken and (length := _number_of_first(parse, at, compared)):
            start = at - 1 if leads(parse, at - 1) else at
            return Ordinal(parse.written(start, at + 1), 1, length, (start, at + 1))
        place = parse.lexicon.ordinals.get(word)
        if place is None and (match := re.fullmatch(r"(\d+)(?:st|nd|rd|th|\.)", word)):
            place = int(match[1])
        if place is None:
            continue
        if any(compares(parse, i) for i in (at + 1, at + 2) if i < len(parse)) or in_order(parse, at):
            return Ordinal(word, place, 1, (at, at + 1))
    return None


def _number_of_first(parse: Parse, at: int, compared: Comparison | None) -> int:
    """How many things a number asks for: "the three oldest boats", "which two boats are the oldest"; 0 for others."""
    value = number(parse, at)
    if value is None or not 2 <= value < _MOST or value != int(value) or parse.is_topic(at):
        return 0
    if degree(parse, at + 1) == "Sup" or leads(parse, at - 1):
        return int(value)
    noun = counted(parse, at)
    if noun is None or compared is None or compared.degree != "Sup" or compared.at <= noun:
        return 0
    return int(value) if parse.is_plural(noun) and all(_only_asks(parse, i) for i in range(at)) else 0


def _only_asks(parse: Parse, at: int) -> bool:
    """Whether a word does no more than begin a question: "which", "name the", "what are the"."""
    lexicon, word = parse.lexicon, parse.words[at]
    is_small = word in lexicon.articles or parse.lemma(at) in lexicon.copulas or parse.lemma(at) in lexicon.requests
    return is_small or word in lexicon.questions or parse.pos(at) == "PRON"
