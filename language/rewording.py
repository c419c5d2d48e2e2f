"""Rewrites questions in the plain form that is read: without courtesy, "could you tell me who ...", and with what they
ask for in front, "out of all the ships, which one ..."."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

from triplecheck.kg.types import Literal
from triplecheck.kg.values import quantity
from triplecheck.language.lexicon import Lexicon, lexicon
from triplecheck.language.pipeline import ENGLISH, pipeline

_TEXTS = 2_048


@functools.lru_cache(_TEXTS)
def asking_for_things(text: str, language: str = ENGLISH) -> str:
    """The text with what it asks for in front, where courtesy or the things to choose from stand there; other texts
    unchanged.

    "Is there a ship that has no captain? Which one?" asks "Which ship that has no captain?", and so does "I am looking
    for a ship that has no captain. Which ones are there?". "Out of all the ships, which one is the oldest?", "Which one
    is the oldest among the ships?" and "Which one among the ships is the oldest?" ask "Which of the ships is the
    oldest?". "Could you give me the names of all the ships?" is "List all the ships?", and "I would like to know the
    length of the Heron." is "What is the length of the Heron.". What follows "i.e." says the same again. "Half an hour"
    is "0.5 hour", and "longer than a mile" is "longer than 1 mile".
    """
    known = lexicon(pipeline(language).code)
    text = _in_digits(_once(_first_time(_plainly(text, known), known), known), known)
    return _which_there_is(text, known) or _which_of_all(text, known) or _which_among(text, known) or text


def _plainly(text: str, known: Lexicon) -> str:
    """The text without courtesy."""
    says = known.courtesy
    if not says:
        return text
    adverbs = _any_of(says["adverbs"])
    fill = rf"(?:(?:{adverbs})[\s,]+)?"
    for opens in ("tell", "give"):
        phrases = "|".join(rf"\s+{fill}".join(map(re.escape, one.split())) for one in says[opens])
        pattern = rf"(\s*{fill}(?:{phrases})[\s,:]+{fill})(.+?)(?:,\s+(?:{adverbs}))?(\W*)"
        if asked := re.fullmatch(pattern, text, re.IGNORECASE):
            _, *others = asked[1].split()
            is_name = any(word[0].isupper() and len(word) > 1 and word[1].isalpha() for word in others)  # "Tell Me Why"
            rest = "" if is_name else _asked_plainly(asked[2], known, tells=opens == "tell")
            return rest + asked[3] if rest else text
    return text


def _asked_plainly(rest: str, known: Lexicon, *, tells: bool) -> str:
    """What is left of a polite request, as a plain one; empty if it is of another form."""
    says = known.courtesy
    listed = re.fullmatch(
        rf"(?:{_any_of(says['lists'])})\s+(?:(?:{_any_of(says['all'])})\s+)?(.+)", rest, re.IGNORECASE
    )
    if listed is not None:
        return f"{says['list'][0].capitalize()} {listed[1]}"
    if one := re.fullmatch(rf"(?:{_any_of(says['everyone'])})\s+(.+)", rest, re.IGNORECASE):
        return f"{says['who'][0].capitalize()} {one[1]}"
    first, second, *_ = [*re.findall(r"[^\W_]+", rest.casefold()), "", ""]
    if first in known.questions or (first in known.talk.get("before", ()) and second in known.questions):
        return rest[0].upper() + rest[1:]
    is_what = tells and (first in says["the"] or re.search(r"\w['’]s?\s", rest) is not None)  # "Ann's height"
    return f"{says['what is'][0].capitalize()} {rest}" if is_what else ""


def _first_time(text: str, known: Lexicon) -> str:
    """The text, with "were first brewed" for "were brewed for the first time"."""
    before = _any_of(known.talk.get("auxiliaries", ()))
    for word, phrases in known.adverbs.items():
        pattern = rf"\b({before})\s+([^\W\d_]+)\s+(?:{_any_of(phrases)})\b"
        text = re.sub(pattern, rf"\1 {word} \2", text) if before else text
    return text


def _once(text: str, known: Lexicon) -> str:
    """The text without what says it again at its end; a number, a name or "not" there may be a condition."""
    again = _any_of(known.again)
    found = re.search(rf"[\s,(]+(?:{again})\s([^,]*?)([?.!)\s]*)$", text, re.IGNORECASE) if again else None
    if found is None or re.search(r"\d|[^\W\d_a-z]", found[1]) or not known.negations.isdisjoint(found[1].split()):
        return text
    return text[: found.start()] + found[2]


def _in_digits(text: str, known: Lexicon) -> str:
    """The text with amounts of a unit in digits that it has in words."""
    if not known.fractions:
        return text
    indefinite = _any_of(known.articles.intersection(known.clauses.get("indefinite", ())))
    shares = {phrase: str(share) for phrase, share in known.fractions.items()}
    shares |= {word: f"{word} 1" for word in known.than}

    def digits(said: re.Match[str]) -> str:
        measured = quantity(Literal(f"1 {said[2]}"))
        return said[0] if measured is None or measured.kind == "number" else f"{shares[said[1]]} {said[2]}"

    of = _any_of(known.prepositions)  # "dearer than a pint of ale"
    return re.sub(rf"\b({_any_of(shares)})\s+(?:{indefinite})\s+([^\W\d_]+)\b(?!\s+(?:{of})\b)", digits, text)


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
