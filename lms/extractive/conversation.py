"""Follow-up questions: says by rules what pronouns and left-out words refer to.

The words are the `talk` of a language's lexicon; without them a question stays as it is. Whether a name is of a person
is guessed from the question that it is in: the answer to "who", or who was born, taught or died. The latest turn comes
first, and in it the answer before the question.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from triplecheck.language.lexicon import lexicon
from triplecheck.language.names import find_names
from triplecheck.language.pipeline import pipeline
from triplecheck.lms.prompt import Prompt
from triplecheck.signatures.conversation import read_turn

_SIGNS = re.compile(r"[+#*!]*")
_YEAR = re.compile(r"\b[12]\d{3}\b")
_END = r"(?=\s*(?:[?,.]|$))"


@dataclass(frozen=True)
class _Name:
    """A name of the conversation. `kind`: person, place, thing, or empty if nothing tells."""

    text: str
    kind: str


@dataclass(frozen=True)
class _Turn:
    """A question that was asked, the names in it, and those in its answer."""

    question: str
    asked: Sequence[_Name]
    answered: Sequence[_Name]


def rewrite_follow_up(prompt: Prompt) -> dict[str, object]:
    """The question with its references resolved, and what is left out added."""
    question = " ".join(prompt.text("question").split())
    rules = _rules(prompt.language)
    turns = [rules.turn(*read_turn(line)) for line in prompt.items("conversation")] if rules.known else []
    return {"rewritten": rules.rewritten(question, turns[::-1]) if turns else question}


class _Rules:
    def __init__(self, language: str) -> None:
        self._language = language
        words = lexicon(pipeline(language).code)
        self.known = bool(words.talk)
        self._nouns_look_like_names = words.capital_nouns and not pipeline(language).is_trained
        self._talk = words.talk
        self._possessive = frozenset(words.talk.get("possessive", ()))
        self._before_noun = frozenset(words.talk.get("possessive before a noun", ()))
        verb = self._any("auxiliaries")
        which, before = self._any("which"), self._any("before")
        alone = [one for one in words.questions if one not in self._talk.get("which", ())]
        measures = [one for one in words.attributes if " " in one and "..." not in one]
        self._lead = self._compiled(rf"^{self._any('leads')}\b[\s,]*|^{self._any('about')}\b\s*")
        self._question_word = self._compiled(rf"^(?:{before} )?{_any(words.questions)}\b")
        self._asks = self._compiled(
            rf"^(?:{before} )?(?:{_any(words.quantities)} [\w-]+|{_any([*measures, *alone])}"
            rf"|{which}(?: [\w-]+(?= {verb}\b))?)\b"
        )
        self._whether = self._compiled(rf"^{verb}\b")
        self._no_name = self._compiled(rf"^(?:{self._any('no names')}|[\d.,:/ -]+(?: \w+)?)$")
        self._he, self._they = (self._compiled(rf"\b{self._any(one)}\b") for one in ("he", "they"))
        self._it = self._compiled(rf"\b{self._any('it')}\b|\b{self._any('that')}{_END}")
        self._there = self._compiled(rf"\b{self._any('there')}(?:{_END}|(?=\s+{self._any('after there')}\b))")
        self._pointed = self._compiled(
            rf"\b{self._any('pointing')}\s+(?:[a-z-]+\s+)??([a-z-]+)"
            rf"(?=\s+(?:{verb}|{self._any('after pointing')})\b|\s*[?,.]|$)"
        )
        self._noun = re.compile(rf"\b{self._any('the')} ([a-z-]+)(?=\s+{verb}\b|\s*$)")
        self._is_the = self._compiled(rf"\b{self._any('who')} {verb} {self._any('the')}$")
        self._of = self._compiled(rf"\b{_any(words.prepositions)}\b")
        self._pair = self._compiled(rf"\b(?:{self._any('former')}|({self._any('latter')}))\b")
        self._one = self._compiled(rf"^{self._any('one')}\b")
        self._definite = self._compiled(rf"^{self._any('the')}\b")
        self._preposition = self._compiled(rf"^({before})\s+(?=\S)")
        self._who = self._compiled(rf"^{self._any('who')}\b")
        self._where = self._compiled(rf"^(?:{self._any('where')}|(?:{before} )?{which} {self._any('places')})\b")
        self._people = re.compile(rf"\b{self._any('people')}s?\b")
        self._no_people = re.compile(rf"\b{self._any('no people')}s?\b")
        self._of_people = self._compiled(rf"\b{self._any('of people')}\b")
        self._of_places = self._compiled(rf"\b{self._any('of places')}\b")
        self._places = self._compiled(rf"\b{self._any('places')}\b")
        self._topic = self._compiled(rf"\b{self._any('before a topic')}\s+([^\s?]+(?:\s[^\s?]+)?)\s*\??$")
        self._person, self._thing = self._talk.get("person", ()), self._talk.get("thing", ())
        joined = self._talk.get("joined") or ("{} {}", "{}", "{}", "{} {}", "{} {} {}")
        self._of_it, self._in_it, self._its, self._both, self._either = joined

    def _any(self, group: str) -> str:
        return _any(self._talk.get(group, ()))

    @staticmethod
    def _compiled(pattern: str) -> re.Pattern[str]:
        return re.compile(pattern, re.IGNORECASE)

    def turn(self, question: str, answer: str) -> _Turn:
        """A turn, read."""
        places, people = self._of_places.search(question), self._of_people.search(question)
        who = self._who.match(question)
        kind = "place" if places else "person" if people else "thing" if who else ""
        # Without capitals, a question may end with what it is about.
        asked = [_Name(name, kind) for name in self._own_names(question) or self._topic.findall(question)]
        if not answer or self._no_name.match(answer):
            return _Turn(question, asked, ())
        if who or self._is_person(question.split("'s")[-1]):
            kind = "person"
        elif self._where.match(question) or (places and self._places.search(question)):
            kind = "place"
        else:
            kind = "thing"
        return _Turn(question, asked, [_Name(name.strip(), kind) for name in answer.split(", ")])

    def rewritten(self, question: str, turns: Sequence[_Turn]) -> str:
        """The question, understandable alone; the latest turn first."""
        rest = self._lead.sub("", self._lead.sub("", question)).rstrip("?!. ")
        led = rest != question.rstrip("?!. ")
        resolved = self._resolved(rest, turns)
        if self._is_whole(rest):
            changed = resolved != rest or led
            return _asked(resolved) if changed else question
        if not rest:
            return question
        return _asked(self._completed(rest, resolved, turns[0]))

    def _is_whole(self, rest: str) -> bool:
        """Whether it is a sentence of its own: a question word or an auxiliary, and more than what is asked for."""
        if self._whether.match(rest):
            return True
        asked = self._asks.match(rest)
        return bool(self._question_word.match(rest)) and (asked is None or asked.end() < len(rest))

    def _completed(self, rest: str, resolved: str, last: _Turn) -> str:
        """A question out of words that are none: they replace a part of the last question."""
        before = last.question.rstrip("?!. ")
        if self._question_word.match(rest):  # "When?"
            return self._asks.sub(rest.replace("\\", ""), before, count=1)
        names = last.asked
        if resolved != rest or (self._definite.match(rest) and not self._names(rest)):  # "her sister", "the capital"
            noun = resolved if resolved != rest else self._of_it.format(rest, names[-1].text) if names else rest
            now, then = self._person if self._is_person(rest) else self._thing
            return (then if self._is_past(before) else now).format(noun)
        if not names:
            return f"{before} {rest}"
        year = _YEAR.search(before)
        old = year[0] if year and _YEAR.search(rest) else names[-1].text
        start = before.rfind(old)
        preposition = self._preposition.match(rest)
        if preposition and re.search(rf"\b{preposition[1]}(?: {self._any('the')})? $", before[:start], re.IGNORECASE):
            rest = rest[preposition.end() :]
        return before[:start] + rest + before[start + len(old) :]

    def _is_past(self, text: str) -> bool:
        tokens = pipeline(self._language).parse(text)
        return any((token.feature("Tense"), token.feature("VerbForm")) == ("Past", "Fin") for token in tokens)

    def _is_person(self, words: str) -> bool:
        """Whether words name a person by kin or occupation."""
        return bool(self._people.search(words)) and not self._no_people.search(words)

    def _resolved(self, text: str, turns: Sequence[_Turn]) -> str:
        """The text with names in place of what refers to them."""
        own = self._own_names(text)
        pair = next((turn.asked for turn in turns if len(turn.asked) == 2), None)
        if pair is not None:
            text = self._pair.sub(lambda match: pair[match[1] is not None].text, text)
            one = self._one.match(text)
            if one and not own and turns[0].asked == pair and (one.end() == len(text) or " " in one[0]):
                return self._either.format(text, *(name.text for name in pair))
        for pattern, kinds in ((self._he, ("person",)), (self._it, ("thing", "place")), (self._they, ("several",))):
            text = self._replaced(text, pattern, kinds, turns)
        text = self._replaced(text, self._there, ("place",), turns, self._in_it)
        return self._with_noun(text, turns, alone=not own)

    def _replaced(
        self, text: str, pattern: re.Pattern[str], kinds: Sequence[str], turns: Sequence[_Turn], form: str = "{}"
    ) -> str:
        name = self._referred(kinds, turns)

        def put(match: re.Match[str]) -> str:
            word = match[0].lower()
            before_noun = word in self._before_noun and re.match(r"\s+[a-z]", text[match.end() :])
            return form.format(self._its.format(name) if word in self._possessive or before_noun else name)

        return pattern.sub(put, text) if name else text

    def _referred(self, kinds: Sequence[str], turns: Sequence[_Turn]) -> str:
        """The latest name of one of some kinds; else the latest one of unknown kind; empty if there is none."""
        if kinds == ("several",):
            for turn in turns:
                for several in (turn.answered, turn.asked):
                    if len(several) > 1:
                        *most, last = (name.text for name in several)
                        return self._both.format(", ".join(most), last)
            kinds = ("person", "thing", "place")
        names = list(_names(turns))
        fits = [name for name in names if name.kind in kinds] or [name for name in names if not name.kind]
        return fits[0].text if fits else ""

    def _with_noun(self, text: str, turns: Sequence[_Turn], alone: bool) -> str:
        """The text with a name for "that planet"; also for "the author" if the text is alone, without names."""
        match = self._pointed.search(text)
        if match is None and alone and not self._of.search(text):
            match = self._noun.search(text)
            if match is not None and (
                not self._is_person(match[1]) or self._is_the.search(text[: match.start(1)].rstrip())
            ):
                return text
        if match is None:
            return text
        name = self._referred(("person",) if self._is_person(match[1]) else ("thing", "place"), turns)
        return text[: match.start()] + name + text[match.end() :] if name else text

    def _names(self, text: str) -> list[str]:
        return [name.text for name in find_names(text, self._language)]

    def _own_names(self, text: str) -> list[str]:
        """The names in a text, with signs that belong to them ("C++")."""
        found = [name.text + _SIGNS.match(text, name.end)[0] for name in find_names(text, self._language)]  # type: ignore[index]
        # Where nothing tells nouns from names, "Hauptstadt von Norland" looks like one name.
        return [self._of.split(name)[-1].strip() for name in found] if self._nouns_look_like_names else found


_rules = functools.cache(_Rules)


def _any(words: Iterable[str]) -> str:
    """A pattern of any of some words or phrases, the longest first; a star stands for any letters."""
    longest = [re.escape(one).replace(r"\*", "[a-z]+") for one in sorted(words, key=len, reverse=True)]
    return f"(?:{'|'.join(longest)})" if longest else "(?!)"


def _asked(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}?"


def _names(turns: Sequence[_Turn]) -> Iterator[_Name]:
    for turn in turns:
        yield from turn.answered
        yield from turn.asked
