"""Rewrites questions that name the things to choose from before they ask: "out of all the ships, which one ..."."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

from triplecheck.language.lexicon import Lexicon, lexicon
from triplecheck.language.pipeline import ENGLISH, pipeline

_TEXTS = 2_048


@functools.lru_cache(_TEXTS)
def asking_for_things(text: str, language: str = ENGLISH) -> str:
    """The text with what it asks for in front, where it names the things to choose from first; other texts unchanged.

    "Is there a ship that has no captain? Which one?" asks "Which ship that has no captain?", and so does "I am looking
    for a ship that has no captain. Which ones are there?". "Out of all the ships, which one is the oldest?", "Which one
    is the oldest among the ships?" and "Which one among the ships is the oldest?" ask "Which of the ships is the
    oldest?".
    """
    known = lexicon(pipeline(language).code)
    return _which_there_is(text, known) or _which_of_all(text, known) or _which_among(text, known) or text


def _which_there_is(text: str, known: Lexicon) -> str:
    if not known.existence or not known.names_them:
        return ""
    opens, ends = _any_of((*known.existence, *known.wishes)), _any_of(known.names_them)
    before, joins = _any_of(known.clauses.get("indefinite", ())), _any_of(known.coordination.get("and", ()))
    pattern = rf"\s*(?:{opens})\s+(?:(?:{before})\s+)?(.+?)[\s,;.?!]+(?:(?:{joins})\s+)?(?:{ends})[\s?]*"
    asked = re.fullmatch(pattern, text, re.IGNORECASE)
    return "" if asked is None else f"{known.names_them[0].capitalize()} {asked[1]}?"


def _which_of_all(text: str, known: Lexicon) -> str:
    opens, definite = (_any_of(known.among.get(part, ())) for part in ("opens", "definite"))
    for start in ("which of", "how many of"):
        if asks := _any_of(known.among.get(start, ())):
            pattern = rf"\s*(?:{opens})\s+((?:{definite})\s[^,]+?)\s*,\s*(?:{asks})\s+(.+)"
            if asked := re.fullmatch(pattern, text, re.IGNORECASE):
                return f"{start.capitalize()} {asked[1]} {asked[2]}"
    return ""


def _which_among(text: str, known: Lexicon) -> str:
    start = "which of"
    asks, ends, definite = (_any_of(known.among.get(part, ())) for part in (start, "ends", "definite"))
    if not (asks and ends):
        return ""
    if asked := re.fullmatch(rf"\s*(?:{asks})\s+(?:{ends})\s+((?:{definite})\s.+)", text, re.IGNORECASE):
        return f"{start.capitalize()} {asked[1]}"
    pattern = rf"\s*(?:{asks})\s+([^,?]+?)\s+(?:{ends})\s+((?:{definite})\s[^,?]+?)[\s?.]*"
    asked = re.fullmatch(pattern, text, re.IGNORECASE)
    return "" if asked is None else f"{start.capitalize()} {asked[2]} {asked[1]}?"


def _any_of(phrases: Iterable[str]) -> str:
    """A regular expression that matches any of the phrases and prefers the longest."""
    return "|".join(re.escape(phrase) for phrase in sorted(phrases, key=len, reverse=True))
