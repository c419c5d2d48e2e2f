"""Reads descriptions: "the longest river", "the state that borders the most states", "how many lakes are there".

A superlative and the noun that it modifies describe things; nouns are those of classes by the lemma of their head.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from triplecheck.language.operations import Comparison, adjective_of, compared, compares, degree
from triplecheck.language.parse import Parse
from triplecheck.language.pipeline import pipeline
from triplecheck.language.question import Question
from triplecheck.language.text import words_of

Choice = Literal["all", "count", "max", "min", "most", "fewest"]

_LONGEST_NOUN, _LONGEST_PLACE = 3, 5
_LONGEST_ENDING, _SHORTEST_STEM = 2, 3  # letters of the ending and of the stem of a noun that no pipeline lemmatizes


@dataclass(frozen=True)
class Place:
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
        compares: what the superlative compares; None for `all` and `count`.
    """

    text: str
    names: tuple[str, ...]
    choice: Choice
    attribute: str
    whole: bool
    compares: Comparison | None = None


def nouns(question: Question, names: Sequence[str]) -> list[str]:
    """Of the names of classes, those that the question uses as a noun, in its order."""
    return list(dict.fromkeys(name for place in places(question, names) for name in place.names))


def says_nothing_else(question: Question, description: str) -> bool:
    """Whether a question says nothing but a description and what asks for it."""
    grammar = question.parse
    at = question.text.casefold().find(description.casefold().strip())
    span = (at, at + len(description.strip())) if at >= 0 else (0, 0)
    rest = [i for i, t in enumerate(grammar.tokens) if not span[0] <= t.start < span[1]]
    return not any(_says_something(grammar, i) or grammar.is_topic(i) for i in rest)


def says_only(question: Question, noun: str) -> bool:
    """Whether a question says nothing but its topics and a class noun."""
    own = {form for word in words_of(noun) for form in _forms(word, question.language)}
    said = (word for i, word in enumerate(question.words) if _says_something(question.parse, i))
    return all(own & _forms(word, question.language) for word in said)


def asked_class(question: Question, names: Sequence[str], *, one: bool = False) -> tuple[str, ...]:
    """The names of the class of things that a question asks for: "which lakes ...", "how many lakes ...".

    Args:
        question: the question.
        names: of classes.
        one: also in "what is the longest lake ...", where the noun may name a relation.
    """
    asked, grammar = question.asked, question.parse
    found_places = places(question, names)
    if asked.at < 0:
        first = next((noun for noun in found_places if all(map(grammar.is_stop, range(noun.start)))), None)
        begins = first is not None and _is_plural(grammar, first.end - 1) and not asked.word
        return first.names if begins and first is not None else ()
    noun = next((noun for noun in found_places if noun.start <= asked.at < noun.end), None)
    if noun is None or grammar.said_any(noun.end, grammar.lexicon.genitives - grammar.lexicon.prepositions):
        return ()  # "the longest river's length"
    copula = any(grammar.lemma(i) in grammar.lexicon.copulas for i in range(noun.start))
    # "Who was the teacher of ...": the noun names a relation, not a class.
    return noun.names if (one and asked.kind != "person") or not copula or asked.is_list else ()


def describe(question: Question, names: Sequence[str], relations: Collection[str] = ()) -> Description | None:
    """The first description in a question, None if there is none.

    Args:
        question: the question.
        names: names of the classes that the question may speak of.
        relations: names of relations; a superlative in one of them ("highest point") describes nothing.
    """
    grammar = question.parse
    reader = _Reader(question, names)
    phrases = {tuple(words_of(relation)) for relation in relations}
    for at in range(len(grammar)):
        named = any(tuple(grammar.words[at:end]) in phrases for end in range(at + 1, at + _LONGEST_NOUN + 2))
        if degree(grammar, at) == "Sup" and not named and (found := reader.superlative(at)):
            return found
    return reader.everything()


class _Reader:
    """A question with the places of its class nouns."""

    def __init__(self, question: Question, names: Sequence[str]) -> None:
        self._question = question
        self._grammar = question.parse
        self._nouns = places(question, names)

    def superlative(self, at: int) -> Description | None:
        """The description with the superlative at a position."""
        grammar = self._grammar
        found = compared(grammar, at)
        if found is None:
            return None
        graded = adjective_of(grammar, at)
        is_amount = grammar.lemma(at) in grammar.lexicon.amounts
        if is_amount and graded is None and found.counts:
            return self._most(at, found)
        end = at + 1 if graded is None else graded + 1
        choice: Choice = found.operation
        following = self._noun_at(end)
        if following is not None:  # "the longest river"
            return self._made(at, following.end, following, choice, found.quantity, found)
        before = self._noun_before(at) or (None if self._nouns else self._linked_word(at))
        noun_end = self._end_of_noun(end)
        if before is not None and self._links(before.end, at):
            if noun_end > end:  # "the state with the largest population"
                attribute = " ".join(grammar.words[end:noun_end])
                return self._made(before.start, noun_end, before, choice, attribute, found)
            # "which state is the largest", "the largest in population"
            named = self._end_of_noun(end + 1) if grammar.pos(end) == "ADP" else end
            attribute = " ".join(grammar.words[end + 1 : named]) if named > end + 1 else found.quantity
            return self._made(
                before.start, max(named, end) if named > end + 1 else end, before, choice, attribute, found
            )
        return (
            None if noun_end == end else self._made(at, noun_end, Place(end, noun_end), choice, found.quantity, found)
        )

    def everything(self) -> Description | None:
        """A description of a whole class, if the question says nothing else."""
        grammar = self._grammar
        for noun in self._nouns:
            rest = [at for at in range(len(grammar)) if not noun.start <= at < noun.end]
            if any(grammar.is_topic(at) or _says_something(grammar, at) or degree(grammar, at) == "Sup" for at in rest):
                continue
            choice: Choice = "count" if self._question.counts else "all"
            return Description(grammar.written(noun.start, noun.end), noun.names, choice, "", whole=True)
        return None

    def _most(self, at: int, found: Comparison) -> Description | None:
        """ "Which river runs through the most states": the class is before the superlative."""
        grammar = self._grammar
        before = self._noun_before(at) or (None if self._nouns else self._asked_word(at))
        following = self._noun_at(at + 1)
        end = following.end if following else self._end_of_noun(at + 1)
        if before is None or end == at + 1:
            return None
        verb = [grammar.words[i] for i in range(before.end, at) if not grammar.is_stop(i) and not grammar.is_topic(i)]
        choice: Choice = "most" if found.operation == "max" else "fewest"
        attribute = " ".join([*verb, *grammar.words[at + 1 : end]])
        return self._made(before.start, end, before, choice, attribute, found)

    # --- places --------------------------------------------------------------------------------
    def _noun_at(self, at: int) -> Place | None:
        """The class noun at a position, with at most one adjective before it."""
        return next((noun for noun in self._nouns if at <= noun.start <= at + 1), None)

    def _noun_before(self, at: int) -> Place | None:
        return max((noun for noun in self._nouns if noun.end <= at), default=None, key=lambda noun: noun.end)

    def _asked_word(self, at: int) -> Place | None:
        """The noun that is asked for, if it is before a position, for a graph without classes."""
        asked = self._question.asked.at
        return Place(asked, asked + 1) if 0 <= asked < at else None

    def _linked_word(self, at: int) -> Place | None:
        """The word that linking words join to a position ("state with the largest"), for a graph without classes."""
        end = at
        while end and self._grammar.is_stop(end - 1):
            end -= 1
        return Place(end - 1, end) if 0 < end < at and self._is_content(end - 1) else None

    def _is_content(self, at: int) -> bool:
        grammar = self._grammar
        return not (grammar.is_topic(at) or grammar.is_stop(at) or compares(grammar, at))

    def _end_of_noun(self, at: int) -> int:
        end = at
        while end < min(len(self._grammar), at + _LONGEST_NOUN) and self._is_content(end):
            end += 1
        return end

    def _links(self, start: int, end: int) -> bool:
        """Whether only linking words are between two places."""
        return all(map(self._grammar.is_stop, range(start, end)))

    def _made(
        self, start: int, end: int, noun: Place, choice: Choice, attribute: str, found: Comparison
    ) -> Description | None:
        grammar = self._grammar
        while start and (grammar.pos(start - 1) == "DET" or grammar.words[start - 1] in grammar.lexicon.articles):
            if grammar.words[start - 1] in grammar.lexicon.questions:
                break
            start -= 1
        joints = grammar.lexicon.genitives - grammar.lexicon.prepositions
        while start and (grammar.is_topic(start - 1) or grammar.words[start - 1] in joints):  # "Nolan's longest film"
            start -= 1
        end = self._end_of_place(end)
        rest = [at for at in range(len(grammar)) if not start <= at < end]
        whole = not any(grammar.is_topic(at) or _says_something(grammar, at) for at in rest)
        return Description(grammar.written(start, end), noun.names, choice, attribute, whole, found)

    def _end_of_place(self, end: int) -> int:
        """The end of "in Texas" or "that borders Texas" after a description, else its own end."""
        grammar = self._grammar
        for at in range(end + 1, min(end + _LONGEST_PLACE, len(grammar))):
            if grammar.is_topic(at):
                said = [i for i in range(end, at) if _says_something(grammar, i)]
                if (
                    len(said) > 1
                    or grammar.pos(end) in ("AUX", "CCONJ")
                    or grammar.lemma(end) in grammar.lexicon.auxiliaries
                ):
                    return end
                while grammar.is_topic(at):
                    at += 1
                return at
        return end


def _says_something(grammar: Parse, at: int) -> bool:
    """Whether a word says more than what the graph has: "there", "in the database", "listed"."""
    if grammar.is_topic(at) or grammar.is_stop(at) or compares(grammar, at):
        return False
    return {grammar.lemma(at), grammar.words[at]}.isdisjoint(grammar.lexicon.containers)


def _is_plural(grammar: Parse, at: int) -> bool:
    return grammar.tokens[at].feature("Number") == "Plur"


# --- classes ---------------------------------------------------------------------------------------
def places(question: Question, names: Sequence[str]) -> list[Place]:
    """Where the question uses the names of classes, without overlaps.

    A name of more words is preferred. Where no class has the whole name, classes of which it is the head noun are
    meant: "city" for "city of the United States" and "big city".
    """
    grammar, language = question.parse, question.language
    said = [
        frozenset() if grammar.is_topic(at) else _forms(word, language) | {grammar.lemma(at)}
        for at, word in enumerate(grammar.words)
    ]
    known = frozenset[str]().union(*said)
    initials = {word[: _SHORTEST_STEM - 1] for word in known}
    by_words: dict[tuple[str, ...], tuple[list[str], list[str]]] = {}
    for name in names:
        for form, rank in _class_forms(name, language).items():
            likely = all(word[: _SHORTEST_STEM - 1] in initials for word in form)
            if likely and all(known & _forms(word, language) for word in form):
                by_words.setdefault(form, ([], []))[rank].append(name)
    found: list[Place] = []
    taken: set[int] = set()
    for form in sorted(by_words, key=len, reverse=True):
        for at in range(len(said) - len(form) + 1):
            here = range(at, at + len(form))
            if taken.isdisjoint(here) and all(
                said[i] & _forms(word, language) for i, word in zip(here, form, strict=True)
            ):
                taken.update(here)
                same = [other for other in by_words if len(other) == len(form) and _agree(other, form, language)]
                whole = [name for other in same for name in by_words[other][0]]
                headed = [name for other in same for name in by_words[other][1]]
                found.append(Place(at, here.stop, tuple(whole or headed)))
    return sorted(found, key=lambda noun: noun.start)


def _agree(one: Sequence[str], other: Sequence[str], language: str) -> bool:
    return all(_forms(a, language) & _forms(b, language) for a, b in zip(one, other, strict=True))


@functools.lru_cache(10_000)
def _class_forms(name: str, language: str) -> dict[tuple[str, ...], int]:
    """The words by which a question may name a class: 0 for its name, 1 for its head noun with or without modifiers."""
    words = words_of(name)
    stops = pipeline(language).stop_words
    before = next((at for at, word in enumerate(words) if at and word in stops), len(words))
    forms = {tuple(words): 0} if words else {}
    for form in (words[:before], words[max(before - 1, 0) : before]):
        if form:
            forms.setdefault(tuple(form), 1)
    return forms


@functools.lru_cache(10_000)
def _forms(word: str, language: str) -> frozenset[str]:
    """A noun and its lemma; without a lemmatizer, what may be its stem."""
    reader = pipeline(language)
    if reader.is_trained:
        return frozenset({word, reader.lemma(word, "NOUN")})
    return frozenset({word, *(word[:-n] for n in range(1, _LONGEST_ENDING + 1) if len(word) - n >= _SHORTEST_STEM)})
