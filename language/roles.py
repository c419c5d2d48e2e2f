"""Who does it to whom: "who taught X" and "whom did X teach" follow one relation in opposite directions.

Only questions of one clause are read, whose verb stands beside the topic. English only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from triplecheck.language.question import TOPIC

Role = Literal["subject", "object"]

_DO = frozenset("do does did".split())
_BE = frozenset("is are was were been".split())
_ASKING = frozenset("who whom what which".split())
_PREPOSITIONS = frozenset("at for from in on to under with against into of about after".split())
_AGENT = re.compile(r"\w{3}(?:er|or)$")
_VERB = re.compile(r"\w{2}(?:ed|s)$")
_IRREGULAR = {
    past: base
    for base, several in {
        "bear": "bore born",
        "beat": "beaten",
        "build": "built",
        "buy": "bought",
        "choose": "chose chosen",
        "draw": "drew drawn",
        "fight": "fought",
        "give": "gave given",
        "hold": "held",
        "lead": "led",
        "make": "made",
        "sell": "sold",
        "shoot": "shot",
        "sing": "sang sung",
        "speak": "spoke spoken",
        "take": "took taken",
        "teach": "taught",
        "wear": "wore worn",
        "win": "won",
        "write": "wrote written",
    }.items()
    for past in several.split()
}
# What one does to another, both do.
_MUTUAL = re.compile(
    r"\b(?:border|adjoin|adjacent|neighb|marr|spouse|meet|met\b|connect|relat|touch|fac(?:ed?|ing)\b|share)"
)


@dataclass(frozen=True, slots=True)
class Verb:
    """The verb of a question.

    Attributes:
        text: the verb, with its preposition.
        topic: what the topic is to it.
    """

    text: str
    topic: Role


def verb_of(words: Sequence[str]) -> Verb | None:
    """The verb of a question, if the topic is its subject or object and the question has no other clause.

    Args:
        words: in lower case, topics replaced by `TOPIC`.
    """
    words = " ".join(words).split()  # the name of a relation counts as one word
    if words.count(TOPIC) != 1:
        return None
    at = words.index(TOPIC)
    before, after = list(words[:at]), list(words[at + 1 :])
    found: Verb | None = None
    if after and len(before) == 2 and before[0] in _ASKING | {"where"} and before[1] in _DO and _is_verb(after):
        found = Verb(" ".join(after), "subject")  # whom did X teach
    elif after and before and before[-1] in _BE and (after[-1] == "by" or "by" in before[:1]):
        found = Verb(" ".join(after).removesuffix(" by"), "object")  # who was X taught by
    elif not after and before[:1] and before[0] in _ASKING and len(before) > 1:
        rest = before[1:]
        if rest[0] in _BE and rest[-1] == "by" and len(rest) == 3:
            found = Verb(rest[1], "subject")  # who was taught by X
        elif rest[0] not in _BE | _DO and _is_verb(rest):
            found = Verb(" ".join(rest), "object")  # who taught X
    return None if found is None or _MUTUAL.search(found.text) else found


def head_to(verb: Verb, wordings: Sequence[str]) -> Role | None:
    """What the head of a relation is to a verb; None if none of the relation's names has the verb in a clear form."""
    own = verb.text.split()[0]
    roles = (
        head_of(wording) for wording in wordings if any(same_stem(own, word) for word in wording.casefold().split())
    )
    return next((role for role in roles if role is not None), None)


def same_stem(one: str, other: str) -> bool:
    """Whether two words are likely forms of one: "directed" and "director"."""
    one, other = (_IRREGULAR.get(word, word) for word in (one, other))
    shared = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return shared >= max(3, min(len(one), len(other)) - 3)


def head_of(wording: str) -> Role | None:
    """What the head of a relation is to the verb that the relation's name holds; None if that is unclear."""
    words = wording.casefold().split()
    if not words or _MUTUAL.search(wording.casefold()):
        return None
    if words[-1] == "by" or (_AGENT.search(words[-1]) and "of" not in words):
        return "object"  # "taught by", "teacher": the tail teaches the head
    if words[-1] in _PREPOSITIONS or (len(words) == 1 and _VERB.search(words[0])):
        return "subject"  # "student of", "taught at"
    return None


def _is_verb(words: Sequence[str]) -> bool:
    """Whether words are a verb, alone or with a preposition (which may be joined to it)."""
    return len(words) == 1 or (len(words) == 2 and words[1] in _PREPOSITIONS)
