"""Parses descriptions: "the longest river", "the state that borders the most states", "how many lakes are there".

English only, by closed lists of function words, like `question`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from triplecheck.kg.readable import singular
from triplecheck.language.question import COMPARATIVES, STOP_WORDS, TOPIC, plain, spelling
from triplecheck.signatures.notation import read_topic

Choice = Literal["all", "count", "max", "min", "most", "fewest"]

_TOKEN = re.compile(r"'s\b|[^\W_]+(?:[.'’-][^\W_]+)*")
_MOST, _FEWEST = frozenset({"most"}), frozenset({"fewest", "least"})
_SUPERLATIVES = frozenset(word for word in COMPARATIVES if word.endswith("est")) | _MOST | _FEWEST
_DETERMINERS = frozenset("the a an all any every each these those some other our your".split())
_ASKING = frozenset("what which many list name count find show".split())
_ASKING_PAIRS = frozenset(
    tuple(pair.split()) for pair in ("what are", "which are", "which of", "give me", "show me", "number of", "many of")
)
_ASKING_FOR_ONE = frozenset({("what", "is"), ("what", "was"), ("which", "is"), ("which", "was")})
_PLACING = frozenset("through across into near from on along at around over".split())
_EMPTY = frozenset("graph database there exist exists known altogether total all list lists number different".split())
_LINKING = frozenset("with having has have that which who whose is are was were of by the its a an had".split())
_AUXILIARIES = frozenset("is are was were do does did has have had".split())
_LONGEST_NOUN, _LONGEST_PLACE = 3, 5


@dataclass(frozen=True)
class _Noun:
    """Words that name classes: tokens [start, end). `names` is empty for a noun that names no class."""

    start: int
    end: int
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Description:
    """A part of a question that describes things of a class.

    Attributes:
        text: the words of the question.
        names: of the classes; empty if no class has the noun's name.
        choice: which of the class are meant.
        attribute: words of the relation that singles them out; empty for `all` and `count`.
        whole: whether the rest of the question says nothing else, so that these things answer it.
    """

    text: str
    names: tuple[str, ...]
    choice: Choice
    attribute: str
    whole: bool


def nouns(question: str, names: Sequence[str]) -> list[str]:
    """Of the names of classes, those that the question uses as a noun, in its order."""
    words = [plain(word) for word in _TOKEN.findall(question)]
    return list(dict.fromkeys(name for place in _places(words, names) for name in place.names))


def says_nothing_else(question: str, description: str) -> bool:
    """Whether a question says nothing but a description and what asks for it."""
    words, described = _words(question), _words(description)
    at = _find(words, described)
    rest = words if at < 0 else [*words[:at], *words[at + len(described) :]]
    return not _content(rest)


def says_only(words: Sequence[str], noun: str) -> bool:
    """Whether the words of a question say nothing but its topics and a class noun."""
    own = {singular(word) for word in _words(noun)}
    said = [word for word in _content(words) if singular(word) not in own and word not in _PLACING | _ASKING]
    return not said


def asked_noun(question: str, names: Sequence[str], *, one: bool = False) -> tuple[str, ...]:
    """The names of the class of things that a question asks for: "which lakes ...", "how many lakes ...".

    Args:
        question: the question.
        names: of classes.
        one: also in "what is the longest lake ...", where the noun may name a relation.
    """
    words = _words(question)
    for noun in _places(words, names):
        if words[noun.end : noun.end + 1] == ["'s"]:
            continue  # "the longest river's length"
        before = [word for word in words[: noun.start] if word not in _DETERMINERS]
        if one and len(before) == 1 and before[0] in _SUPERLATIVES:
            return noun.names  # "the longest river in France"
        if before and (_is_content(before[-1]) or (one and before[-1] in _SUPERLATIVES)) and before[-1] not in _ASKING:
            before.pop()  # "what are the major cities"
        plural = singular(words[noun.end - 1]) != words[noun.end - 1]
        pair = tuple(before[-2:])
        asks = (before and before[-1] in _ASKING) or pair in _ASKING_PAIRS or (one and pair in _ASKING_FOR_ONE)
        asks = asks or (plural and not before)
        if asks:
            return noun.names
    return ()


def describe(
    question: str, topics: Sequence[str], names: Sequence[str], relations: Collection[str] = ()
) -> Description | None:
    """The first description in a question, None if there is none.

    Args:
        question: the question.
        topics: the named topics, as they stand in prompts.
        names: names of the classes that the question may speak of.
        relations: names of relations; a superlative in one of them ("highest point") describes nothing.
    """
    tokens = _Tokens(question, [spelling(read_topic(topic)) for topic in topics], names)
    phrases = {tuple(_words(relation)) for relation in relations}
    for at, word in enumerate(tokens.words):
        names_relation = any(tuple(tokens.words[at:end]) in phrases for end in range(at + 1, at + _LONGEST_NOUN + 2))
        if word in _SUPERLATIVES and not names_relation and (found := tokens.superlative(at)):
            return found
    return tokens.everything()


class _Tokens:
    """The words of a question, with the places of its topics and class nouns."""

    def __init__(self, question: str, topics: Sequence[str], names: Sequence[str]) -> None:
        self._question = question
        self._spans = [match.span() for match in _TOKEN.finditer(question)]
        self.words = [plain(question[start:end]) for start, end in self._spans]
        self._nouns = _places(self.words, names)
        for topic in topics:
            name = _words(topic)
            at = _find(self.words, name)
            if name and at >= 0:
                self.words[at : at + len(name)] = [TOPIC] * len(name)

    def superlative(self, at: int) -> Description | None:
        """The description with the superlative at a position."""
        word = self.words[at]
        counted = word in _MOST | _FEWEST
        following = self._noun_at(at + 1)
        choice: Choice
        if counted and (compared := COMPARATIVES.get(self._word(at + 1))):  # "the most populous city"
            choice = compared[0] if word in _MOST else ("min" if compared[0] == "max" else "max")  # type: ignore[assignment]
            noun = self._noun_at(at + 2) or self._bare_noun(at + 2)
            return None if noun is None else self._made(at, noun.end, noun, choice, compared[1])
        adjective = self._word(at + 1)
        if word in _MOST and following is not None and following.start == at + 2 and not self._is_plural(following):
            return self._made(at, following.end, following, "max", adjective)  # "the most dense state"
        before = self._noun_before(at)
        if before is None and not self._nouns:
            before = self._asked_word(at) if counted else self._linked_word(at)
        if counted:
            # "which river runs through the most states": the class is before the superlative
            end = following.end if following else self._end_of_noun(at + 1)
            if before is None or end == at + 1:
                return None
            verb = [w for w in self.words[before.end : at] if w not in _LINKING | STOP_WORDS]
            target = " ".join(self.words[at + 1 : end])
            choice = "most" if word in _MOST else "fewest"
            return self._made(before.start, end, before, choice, " ".join([*verb, target]))
        operation, what = COMPARATIVES[word]
        choice = "max" if operation == "max" else "min"
        if following is not None:  # "the longest river"
            return self._made(at, following.end, following, choice, what or word)
        end = self._end_of_noun(at + 1)
        if end > at + 1 and before is not None and self._links(before.end, at):
            # "the state with the largest population"
            return self._made(before.start, end, before, choice, " ".join(self.words[at + 1 : end]))
        if before is not None and end == at + 1 and self._links(before.end, at):
            # "which state is the largest", "the largest in population"
            named = self._end_of_noun(at + 2) if self._word(at + 1) in ("in", "by") else at + 1
            attribute = " ".join(self.words[at + 2 : named]) if named > at + 2 else what or word
            return self._made(before.start, max(named, at + 1) if named > at + 2 else at + 1, before, choice, attribute)
        bare = self._bare_noun(at + 1)
        return None if bare is None else self._made(at, bare.end, bare, choice, what or word)

    def everything(self) -> Description | None:
        """A description of a whole class, if the question says nothing else."""
        for noun in self._nouns:
            rest = [*self.words[: noun.start], *self.words[noun.end :]]
            if TOPIC in rest or _content(rest) or _SUPERLATIVES & set(rest):
                continue
            counts = "many" in rest[:3] or "number" in rest or rest[:1] == ["count"]
            choice: Choice = "count" if counts else "all"
            return Description(self._text(noun.start, noun.end), noun.names, choice, "", whole=True)
        return None

    # --- places --------------------------------------------------------------------------------
    def _word(self, at: int) -> str:
        return self.words[at] if 0 <= at < len(self.words) else ""

    def _noun_at(self, at: int) -> _Noun | None:
        """The class noun at a position, with at most one adjective before it."""
        return next((noun for noun in self._nouns if at <= noun.start <= at + 1), None)

    def _is_plural(self, noun: _Noun) -> bool:
        return singular(self.words[noun.end - 1]) != self.words[noun.end - 1]

    def _noun_before(self, at: int) -> _Noun | None:
        return max((noun for noun in self._nouns if noun.end <= at), default=None, key=lambda noun: noun.end)

    def _asked_word(self, at: int) -> _Noun | None:
        """The word after "which" or "what" before a position, for a graph without classes."""
        places = (i for i in range(1, at) if self.words[i - 1] in ("which", "what") and _is_content(self.words[i]))
        return next((_Noun(i, i + 1) for i in places), None)

    def _linked_word(self, at: int) -> _Noun | None:
        """The word that linking words join to a position ("state with the largest"), for a graph without classes."""
        end = at
        while end and self.words[end - 1] in _LINKING:
            end -= 1
        return _Noun(end - 1, end) if 0 < end < at and _is_content(self.words[end - 1]) else None

    def _bare_noun(self, at: int) -> _Noun | None:
        """Content words at a position, for a graph that has no such class."""
        end = self._end_of_noun(at)
        return None if end == at else _Noun(at, end)

    def _end_of_noun(self, at: int) -> int:
        end = at
        while end < min(len(self.words), at + _LONGEST_NOUN) and _is_content(self.words[end]):
            end += 1
        return end

    def _links(self, start: int, end: int) -> bool:
        """Whether only linking words are between two places."""
        return all(word in _LINKING for word in self.words[start:end])

    def _made(self, start: int, end: int, noun: _Noun, choice: Choice, attribute: str) -> Description | None:
        while start and self.words[start - 1] in _DETERMINERS:
            start -= 1
        while start and self.words[start - 1] in (TOPIC, "'s"):  # "Nolan's longest film"
            start -= 1
        end = self._end_of_place(end)
        rest = [*self.words[:start], *self.words[end:]]
        return Description(self._text(start, end), noun.names, choice, attribute, whole=not _content(rest))

    def _end_of_place(self, end: int) -> int:
        """The end of "in Texas" or "that borders Texas" after a description, else its own end."""
        for at in range(end + 1, min(end + _LONGEST_PLACE, len(self.words))):
            if self.words[at] == TOPIC:
                said = [word for word in _content(self.words[end:at]) if word not in _PLACING]
                if len(said) > 1 or self.words[end] in _AUXILIARIES | {"and", "or"}:
                    return end
                while at < len(self.words) and self.words[at] == TOPIC:
                    at += 1
                return at
        return end

    def _text(self, start: int, end: int) -> str:
        return self._question[self._spans[start][0] : self._spans[end - 1][1]]


def _is_content(word: str) -> bool:
    return word not in STOP_WORDS and word not in COMPARATIVES and word not in (TOPIC, "'s")


def _content(words: Sequence[str]) -> list[str]:
    return [word for word in words if _is_content(word) and word not in _EMPTY]


def _words(text: str) -> list[str]:
    return [plain(word) for word in _TOKEN.findall(text)]


def _find(words: Sequence[str], target: Sequence[str]) -> int:
    size = len(target)
    return next((at for at in range(len(words) - size + 1) if list(words[at : at + size]) == list(target)), -1)


def _places(words: Sequence[str], names: Sequence[str]) -> list[_Noun]:
    """Where the question uses the names of classes, without overlaps.

    A name of more words is preferred. Where no class has the whole name, classes of which it is the head noun are
    meant: "city" for "city of the United States" and "big city".
    """
    by_form: dict[tuple[str, ...], tuple[list[str], list[str]]] = {}
    for name in names:
        whole = [singular(word) for word in _words(name)]
        forms = {tuple(whole): 0}
        before = next((at for at, word in enumerate(whole) if word in ("of", "in", "by", "for")), len(whole))
        for form in (whole[:before], whole[max(before - 1, 0) : before]):
            forms.setdefault(tuple(form), 1)
        for key, rank in forms.items():
            by_form.setdefault(key, ([], []))[rank].append(name)
    folded = [singular(word) for word in words]
    found: list[_Noun] = []
    taken: set[int] = set()
    longest = max(map(len, by_form), default=0)
    for size in range(min(longest, len(words)), 0, -1):
        for at in range(len(words) - size + 1):
            whole_names, headed = by_form.get(tuple(folded[at : at + size]), ((), ()))
            if (whole_names or headed) and taken.isdisjoint(range(at, at + size)):
                taken.update(range(at, at + size))
                found.append(_Noun(at, at + size, tuple(whole_names or headed)))
    return sorted(found, key=lambda noun: noun.start)
