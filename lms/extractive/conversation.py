"""Follow-up questions: says by rules what pronouns and left-out words refer to. English only.

Names are runs of capitalised words. Whether a name is of a person is guessed from the question that it is in: the
answer to "who", or who was born, taught or died. The latest turn comes first, and in it the answer before the question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from triplecheck.language.names import find_names
from triplecheck.lms.prompt import Prompt
from triplecheck.signatures.conversation import read_turn

_LEAD = re.compile(r"^(?:and|but|or|so|then)\b[\s,]*|^(?:what|how) about\b\s*|^(?:the )?same (?:for|of)\b\s*", re.I)
_QUESTION_WORD = re.compile(
    r"^(?:(?:in|at|on|of|for|by|from) )?(?:who|whom|whose|what|which|where|when|why|how)\b", re.I
)
_ASKED = re.compile(
    r"^(?:(?:in|on|at) )?(?:how (?:many|much) [\w-]+|how (?:old|tall|high|long|big|large|far|heavy|deep)|how|who|whom"
    r"|where|when|why|(?:what|which)(?: [\w-]+(?= (?:is|are|was|were|do|does|did|has|have|had)\b))?)\b",
    re.I,
)
_AUXILIARY = r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would)"
_WHETHER = re.compile(rf"^{_AUXILIARY}\b", re.I)
_PAST = re.compile(r"\b(?:was|were|did|had|\w+ed|wrote|taught|made|built)\b", re.I)
_SIGNS = re.compile(r"[+#*!]*")
_YEAR = re.compile(r"\b[12]\d{3}\b")
_NO_NAME = re.compile(r"^(?:yes|no|none|unknown|[\d.,:/ -]+(?: \w+)?)$", re.I)

_PERSON = r"\b(?:he|she|him|her|his|hers)\b"
_THING = r"\b(?:it|its)\b|\b(?:that|this)(?=\s*(?:[?,.]|$))"
_SEVERAL = r"\b(?:they|them|their|theirs)\b"
_PLACE = r"\bthere(?=\s*(?:[?,.]|$)|\s+(?:in|at|on|now|today)\b)"
_POINTED = (
    r"\b(?:that|this|the same)\s+(?:[a-z-]+\s+)??([a-z-]+)"
    rf"(?=\s+(?:{_AUXILIARY}|in|at|on|of)\b|\s*[?,.]|$)"
)
_PAIR = r"\bthe (former|latter)\b"
_ONE = re.compile(r"^which(?: one| of (?:them|these|those|the two))?\b", re.I)
_POSSESSIVE = frozenset("his her its their hers theirs".split())
_PEOPLE = re.compile(
    r"\b(?:mother|father|parent|sister|brother|sibling|wife|husband|spouse|son|daughter|child|partner|king|queen"
    r"|student|pupil|president|musician|monarch|[a-z]+(?:er|or|ist|ian))s?\b"
)
_NOT_PEOPLE = re.compile(
    r"\b(?:number|river|border|colou?r|author of|order|power|water|letter|paper|theater|tower)s?\b"
)
_LIVED = re.compile(
    r"\b(?:born|die|died|live|lived|marry|married|educated|study|studied|taught|teach|teacher|pupil|student|nationality"
    r"|spouse|mother|father|sister|brother|sibling|siblings|parents|children|invent|compose|direct|write|paint)\b",
    re.I,
)
_LANDS = re.compile(
    r"\b(?:capital|currency|population|border|borders|neighbour|country|city|located|inhabitants|flag|language)\b",
    re.I,
)


@dataclass(frozen=True)
class _Name:
    """A name of the conversation. `kind`: person, place, thing, or empty if nothing tells."""

    text: str
    kind: str


@dataclass(frozen=True)
class _Turn:
    question: str
    answer: str

    @property
    def asked(self) -> list[_Name]:
        """The names in the question."""
        names = _own_names(self.question) or _last_words(self.question)
        kind = "place" if _LANDS.search(self.question) else "person" if _LIVED.search(self.question) else ""
        who = re.match(r"who\b", self.question, re.I) and not _LIVED.search(self.question)
        return [_Name(name, "thing" if who and not kind else kind) for name in names]

    @property
    def answered(self) -> list[_Name]:
        """The names in the answer."""
        if not self.answer or _NO_NAME.match(self.answer):
            return []
        if re.match(r"whom?\b", self.question, re.I) or _is_person(self.question.split("'s")[-1]):
            kind = "person"
        elif re.match(
            r"where\b|(?:in )?(?:what|which) (?:city|country|state|town|place|continent)\b", self.question, re.I
        ) or (_LANDS.search(self.question) and re.search(r"\b(?:capital|country|city)\b", self.question, re.I)):
            kind = "place"
        else:
            kind = "thing"
        return [_Name(name.strip(), kind) for name in self.answer.split(", ")]


def rewrite_follow_up(prompt: Prompt) -> dict[str, object]:
    """The question with its references resolved, and what is left out added."""
    turns = [_Turn(*read_turn(line)) for line in prompt.items("conversation")]
    question = " ".join(prompt.text("question").split())
    return {"rewritten": _rewritten(question, turns[::-1]) if turns else question}


def _rewritten(question: str, turns: Sequence[_Turn]) -> str:
    """The question, understandable alone; the latest turn first."""
    rest = _LEAD.sub("", _LEAD.sub("", question)).rstrip("?!. ")
    led = rest != question.rstrip("?!. ")
    resolved = _resolved(rest, turns)
    if _is_whole(rest):
        changed = resolved != rest or led
        return _asked(resolved) if changed else question
    if not rest:
        return question
    return _asked(_completed(rest, resolved, turns[0]))


def _is_whole(rest: str) -> bool:
    """Whether it is a sentence of its own: a question word or an auxiliary, and more than what is asked for."""
    if _WHETHER.match(rest):
        return True
    asked = _ASKED.match(rest)
    return bool(_QUESTION_WORD.match(rest)) and (asked is None or asked.end() < len(rest))


def _asked(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}?"


def _completed(rest: str, resolved: str, last: _Turn) -> str:
    """A question out of words that are none: they replace a part of the last question."""
    before = last.question.rstrip("?!. ")
    if _QUESTION_WORD.match(rest):  # "When?"
        return _ASKED.sub(rest.replace("\\", ""), before, count=1)
    names = last.asked
    if resolved != rest or (re.match(r"the\b", rest, re.I) and not find_names(rest)):  # "her sister", "the capital"
        noun = resolved if resolved != rest else f"{rest} of {names[-1].text}" if names else rest
        word = "Who" if _is_person(rest) else "What"
        return f"{word} {'was' if _PAST.search(before) else 'is'} {noun}"
    if not names:
        return f"{before} {rest}"
    year = _YEAR.search(before)
    old = year[0] if year and _YEAR.search(rest) else names[-1].text
    start = before.rfind(old)
    preposition = re.match(r"(of|in|by|for|to|from|on|at|with)\s+(?=\S)", rest, re.I)
    if preposition and re.search(rf"\b{preposition[1]}(?: the)? $", before[:start], re.I):
        rest = rest[preposition.end() :]
    return before[:start] + rest + before[start + len(old) :]


def _is_person(words: str) -> bool:
    """Whether words in lower case name a person by kin or occupation."""
    return bool(_PEOPLE.search(words)) and not _NOT_PEOPLE.search(words)


def _resolved(text: str, turns: Sequence[_Turn]) -> str:
    """The text with names in place of what refers to them."""
    own = _own_names(text)
    pair = next((turn.asked for turn in turns if len(turn.asked) == 2), None)
    if pair is not None:
        text = re.sub(_PAIR, lambda m: pair[m[1].lower() == "latter"].text, text, flags=re.I)
        one = _ONE.match(text)
        if (
            one
            and not own
            and turns[0].asked == pair
            and (one.end() == len(text) or "one" in one[0].lower() or "of" in one[0])
        ):
            return f"{text}, {pair[0].text} or {pair[1].text}"
    for pattern, kinds in ((_PERSON, ("person",)), (_THING, ("thing", "place")), (_SEVERAL, ("several",))):
        text = _replaced(text, pattern, kinds, turns)
    text = _replaced(text, _PLACE, ("place",), turns, before="in ")
    return _pointed(text, turns, alone=not own)


def _replaced(text: str, pattern: str, kinds: Sequence[str], turns: Sequence[_Turn], before: str = "") -> str:
    name = _referred(kinds, turns)

    def put(match: re.Match[str]) -> str:
        word = match[0].lower()
        possessive = word in _POSSESSIVE and (word != "her" or re.match(r"\s+[a-z]", text[match.end() :]))
        return before + (f"{name}'s" if possessive else name)

    return re.sub(pattern, put, text, flags=re.I) if name else text


def _referred(kinds: Sequence[str], turns: Sequence[_Turn]) -> str:
    """The latest name of one of some kinds; else the latest one of unknown kind; empty if there is none."""
    if kinds == ("several",):
        for turn in turns:
            for names in (turn.answered, turn.asked):
                if len(names) > 1:
                    return f"{', '.join(name.text for name in names[:-1])} and {names[-1].text}"
        kinds = ("person", "thing", "place")
    names = list(_names(turns))
    fits = [name for name in names if name.kind in kinds] or [name for name in names if not name.kind]
    return fits[0].text if fits else ""


def _names(turns: Sequence[_Turn]) -> Iterator[_Name]:
    for turn in turns:
        yield from turn.answered
        yield from turn.asked


def _pointed(text: str, turns: Sequence[_Turn], alone: bool) -> str:
    """The text with a name for "that planet"; also for "the author" if the text is alone, without names."""
    match = re.search(_POINTED, text, re.I)
    if match is None and alone and not re.search(r"\bof\b", text):
        match = re.search(r"\bthe ([a-z-]+)(?=\s+(?:is|are|was|were|do|does|did|has|have|had)\b|\s*$)", text)
        if match is not None and not _is_person(match[1]):
            return text
        if match is not None and re.search(rf"\bwho {_AUXILIARY} the$", text[: match.start(1)].rstrip(), re.I):
            return text
    if match is None:
        return text
    name = _referred(("person",) if _is_person(match[1]) else ("thing", "place"), turns)
    return text[: match.start()] + name + text[match.end() :] if name else text


def _own_names(text: str) -> list[str]:
    """The names in a text, with signs that belong to them ("C++")."""
    return [name.text + _SIGNS.match(text, name.end)[0] for name in find_names(text)]  # type: ignore[index]


def _last_words(question: str) -> list[str]:
    """What a question without capitals is about, if it ends with it: the words behind the last small word."""
    found = re.search(
        r"\b(?:of|the|in|by|for|did|was|is|designed|wrote|directed)\s+([^\s?]+(?:\s[^\s?]+)?)\s*\??$", question
    )
    return [found[1]] if found else []
