"""Which places of an order a question asks for: "the second oldest", "the three oldest", "top 3"."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from triplecheck.language.operations import Comparison, compares, counted, counts_all, degree, in_order, leads, number
from triplecheck.language.parse import Parse


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
        compared: what the question compares.
        taken: positions of numbers that are bounds.
    """
    for at, word in enumerate(parse.words[:-1]):
        if at not in taken and _is_number_of_first(parse, at, compared):
            start = at - 1 if leads(parse, at - 1) else at
            return Ordinal(parse.written(start, at + 1), 1, int(number(parse, at) or 1), (start, at + 1))
        place = parse.lexicon.ordinals.get(word)
        if place is None and (match := re.fullmatch(r"(\d+)(?:st|nd|rd|th|\.)", word)):
            place = int(match[1])
        if place is None:
            continue
        if any(compares(parse, i) for i in (at + 1, at + 2) if i < len(parse)) or in_order(parse, at):
            return Ordinal(word, place, 1, (at, at + 1))
    return None


def _is_number_of_first(parse: Parse, at: int, compared: Comparison | None) -> bool:
    """Whether a number says how many are asked for: "the three oldest boats", "which two boats are the oldest"."""
    value = number(parse, at)
    if value is None or value < 2 or value != int(value) or parse.is_topic(at):
        return False
    if degree(parse, at + 1) == "Sup" or leads(parse, at - 1):
        return True
    before = range(at - 1 if counts_all(parse, at) else at)
    of_all = bool(before) and parse.words[before[-1]] in parse.lexicon.genitives  # "which of the two boats"
    is_first = not of_all and not any(parse.is_noun(i) for i in before)
    noun = counted(parse, at)
    return is_first and noun is not None and compared is not None and compared.degree == "Sup" and compared.at > noun
