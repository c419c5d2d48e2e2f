"""Separates a question from the talk beside it: "I am new here, so who repairs the boats?"."""

from __future__ import annotations

import functools
import re

from triplecheck.language.lexicon import Lexicon, lexicon
from triplecheck.language.names import find_names
from triplecheck.language.parse import Parse, parse
from triplecheck.language.pipeline import ENGLISH, pipeline

_TEXTS = 2_048
_NUMERALS = ("NUM", "SYM")


@functools.lru_cache(_TEXTS)
def asked_and_talk(text: str, language: str = ENGLISH) -> tuple[str, str]:
    """The question in a text, and the talk beside it; the whole text and no talk if the question needs the talk.

    >>> asked_and_talk("I am new here, so who repairs the boats?")
    ('who repairs the boats?', 'I am new here')

    The question needs the talk if it points back ("which of them"), or if the talk may tell which things are meant.
    """
    reader = pipeline(language)
    known = lexicon(reader.code)
    sentences = reader.sentences(text) if reader.is_trained else []
    asking = [one for one in sentences if one.endswith("?") or _opens(one, known) or _parted(one, known)[0]]
    if len(asking) != 1:
        return text, ""
    before, asked = _parted(asking[0], known)
    talk = [*filter(None, (before,)), *(one for one in sentences if one is not asking[0])]
    said = " ".join(talk)
    if not said or find_names(said, language) or _says_which(parse(said, (), language)):
        return text, ""
    if _points_back(parse(asked, (), language)):
        return text, ""
    return asked, said


def _parted(sentence: str, known: Lexicon) -> tuple[str, str]:
    """The talk at the start of a sentence, and the question after it. A colon, a semicolon or "so" stands between them.

    The talk is empty if the sentence has none of these.
    """
    leads = "|".join(map(re.escape, known.talk.get("leads", ())))
    for found in reversed([*re.finditer(rf"\s*[:;]\s+|\s*,\s*(?:{leads})\b,?\s+", sentence)]):
        before, after = sentence[: found.start()], sentence[found.end() :]
        if _opens(after, known) and not _opens(before, known):
            return before, after
    return "", sentence


def _opens(text: str, known: Lexicon) -> bool:
    """Whether a text begins as a question or a request does."""
    first, second, *_ = [*re.findall(r"[^\W_]+", text.casefold()), "", ""]
    if first in known.questions or first in known.requests or first in known.talk.get("auxiliaries", ()):
        return True
    return first in known.talk.get("before", ()) and second in known.questions  # "in which", "by whom"


def _points_back(asked: Parse) -> bool:
    """Whether a word of a question may stand for what was said before."""
    for token in asked.tokens:
        kind = token.feature("PronType")
        if kind == "Dem" or (kind == "Prs" and token.feature("Person") == "3"):
            return True
    return asked.find([phrase for phrase in asked.lexicon.names_them if " " in phrase]) is not None  # "which one"


def _says_which(talk: Parse) -> bool:
    """Whether talk may tell which things are meant: it has a number, or an adjective such as "old" or "cheap"."""
    numbers = any(token.pos in _NUMERALS or token.text[0].isdigit() for token in talk.tokens)
    return numbers or any(_is_scale(talk, at) for at in range(len(talk)))


def _is_scale(talk: Parse, at: int) -> bool:
    """Whether a word is an adjective that things can be compared by, and is not said of the speaker."""
    subjects = (talk.tokens[one] for one in talk.dependents(at, "nsubj"))
    is_own = any(subject.feature("Person") == "1" for subject in subjects)
    return talk.pos(at) == "ADJ" and talk.lemma(at) in talk.lexicon.scales and not is_own
