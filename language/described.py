"""Reads descriptions: "the longest river", "the state that borders the most states", "how many lakes are there".

A superlative and the noun that it modifies describe things; nouns are those of classes by the lemma of their head.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from triplecheck.language.lexicon import lexicon
from triplecheck.language.pipeline import pipeline
from triplecheck.language.question import Question
from triplecheck.language.text import words_of

_LONGEST_ENDING, _SHORTEST_STEM = 2, 3  # letters of the ending and of the stem of a noun that no pipeline lemmatizes


@dataclass(frozen=True)
class Place:
    """Words that name classes: tokens [start, end). `names` is empty for a noun that names no class."""

    start: int
    end: int
    names: tuple[str, ...] = ()


def nouns(question: Question, names: Sequence[str]) -> list[str]:
    """Of the names of classes, those that the question uses as a noun, in its order."""
    return list(dict.fromkeys(name for place in places(question, names) for name in place.names))


def asked_class(question: Question, names: Sequence[str], *, one: bool = False) -> tuple[str, ...]:
    """The names of the class of things that a question asks for: "which lakes ...", "how many lakes ...".

    Args:
        one: also in "what is the longest lake ...", where the noun may name a relation.
    """
    asked, grammar = question.asked, question.parse
    found_places = places(question, names)
    if asked.at < 0:
        first = next((noun for noun in found_places if all(map(grammar.is_stop, range(noun.start)))), None)
        begins = first is not None and grammar.is_plural(first.end - 1) and not asked.word
        return first.names if begins and first is not None else ()
    noun = next((noun for noun in found_places if noun.start <= asked.at < noun.end), None)
    if noun is None or grammar.said_any(noun.end, grammar.lexicon.genitives - grammar.lexicon.prepositions):
        return ()  # "the longest river's length"
    copula = any(grammar.lemma(i) in grammar.lexicon.copulas for i in range(noun.start))
    # "Who was the teacher of ...": the noun names a relation, not a class.
    return noun.names if (one and asked.kind != "person") or not copula or asked.is_list else ()


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
            is_said = all(said[i] & _forms(word, language) for i, word in zip(here, form, strict=True))
            if is_said and taken.isdisjoint(here):
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
    words, reader = words_of(name), pipeline(language)
    stops, known = reader.stop_words, lexicon(reader.code)
    before = next((at for at, word in enumerate(words) if at and word in stops), len(words))
    forms = {tuple(words): 0} if words else {}
    for form in (words[:before], words[max(before - 1, 0) : before]):
        if form:
            forms.setdefault(tuple(form), 1)
    if len(words) > 1 and words[-1] in known.members:  # "staff" and "members of staff" for staff members
        forms.setdefault(tuple(words[:-1]), 1)
        for preposition in known.prepositions:
            forms.setdefault((words[-1], preposition, *words[:-1]), 1)
    return forms


@functools.lru_cache(10_000)
def _forms(word: str, language: str) -> frozenset[str]:
    """A noun and its lemma; without a lemmatizer, what may be its stem. "Person" and "people" are one noun."""
    reader = pipeline(language)
    if word in (persons := lexicon(reader.code).persons):
        return persons
    if reader.is_trained:
        return frozenset({word, reader.lemma(word, "NOUN")})
    return frozenset({word, *(word[:-n] for n in range(1, _LONGEST_ENDING + 1) if len(word) - n >= _SHORTEST_STEM)})
