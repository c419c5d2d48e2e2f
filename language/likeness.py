"""How near the names of relations are to words of a question."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Sequence

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Prefix

from triplecheck.kg.readable import PLURAL
from triplecheck.kg.types import Literal
from triplecheck.kg.values import quantity
from triplecheck.language.kinds import fit, kinds_of
from triplecheck.language.lexicon import lexicon
from triplecheck.language.parse import stop_words
from triplecheck.language.pipeline import pipeline
from triplecheck.language.relevance import Encode
from triplecheck.language.roles import does, head_of
from triplecheck.language.text import words_of
from triplecheck.signatures.notation import BETWEEN_EXAMPLES

NAMES, NAMES_NOUN = 0.5, 0.7
"""Likeness from which a name says a word; nouns of one kind are alike though they mean other things."""
SURELY = 0.62
"""Likeness from which it says the word surely."""
ROUGHLY = 0.4
"""Likeness from which it says a verb roughly."""
COMPARED = 0.42
"""Likeness from which a relation is what a comparison compares."""
_OF_ONE_STEM = 0.7
"""Likeness of words that begin alike."""
OF_ONE_DIMENSION = 0.5
"""Likeness of a noun and a name that ends with a unit of its kind: "cost" and a fee in euros."""
_SHORTEST_STEM, _STEM = 5, 0.65
"""Letters of such a beginning, and its share of the longer word."""


def least_likeness(pos: str) -> float:
    """The likeness from which a name says a word, by its part of speech; a proper name is said by itself alone."""
    return {"NOUN": NAMES_NOUN, "PROPN": 1.0}.get(pos, NAMES)


_LAST_WORD = re.compile(r"([^\s()\[\]]+)[)\]\s]*$")


class Likeness:
    """How near relations are to words, from 0 to 1.

    Attributes:
        language: of the words.
        lexicon: of the language.
    """

    def __init__(self, encode: Encode, language: str) -> None:
        self._encode, self.language = encode, language
        self.lexicon = lexicon(pipeline(language).code)
        self._known: dict[str, npt.NDArray[np.floating]] = {}
        # A question compares the same words with the same names for each way to join things.
        self._compared: dict[tuple[object, ...], float] = {}

    def prepare(self, texts: Iterable[str]) -> None:
        """Encode texts together."""
        new = [text for text in dict.fromkeys(texts) if text and text not in self._known]
        if new:
            self._known.update(zip(new, self._encode(new), strict=True))

    def vectors(self, texts: Sequence[str]) -> npt.NDArray[np.floating]:
        """Of texts that are not empty, L2-normalised, shape (n, d)."""
        self.prepare(texts)
        return np.stack([self._known[text] for text in texts])

    def cosine(self, one: str, other: str) -> float:
        """Of two texts."""
        self.prepare([one, other])
        return float(self._known[one] @ self._known[other]) if one and other else 0.0

    def bases(self, text: str) -> frozenset[str]:
        """The base forms of the content words of a text."""
        return bases_of(text, self.language)

    def of_words(self, words: Sequence[str], wordings: Sequence[str], besides: Collection[str] = ()) -> float:
        """Of content words and a relation by its names; `besides`: words that a name may have, too."""
        key = (*words, None, *wordings, frozenset(besides))
        if key not in self._compared:
            self._compared[key] = self._of_words(words, wordings, besides)
        return self._compared[key]

    def _of_words(self, words: Sequence[str], wordings: Sequence[str], besides: Collection[str]) -> float:
        meant = {at: means for at, word in enumerate(words) if (means := self._meanings(word, wordings))}
        others = [[*words[:at], one, *words[at + 1 :]] for at, means in meant.items() for one in means]
        of_unit = max((self._of_unit(words[0], wording) for wording in wordings if len(words) == 1), default=0.0)
        best = max(of_unit, *(self._of_written(own, wordings, besides) for own in (words, *others)))
        rest = [word for word in words if all(self._of_unit(word, wording) < 1 for wording in wordings)]
        if len(rest) == len(words):
            return best
        share = len(rest) / len(words)
        return max(best, 1 - share + share * self._of_written(rest, wordings, besides) if rest else 1.0)

    def _meanings(self, word: str, wordings: Sequence[str]) -> list[str]:
        """Other words that the names of a relation may have for a word: for a verb those of `Lexicon.meanings`, for a
        noun such as "keeper" the verb "keeps"."""
        reader = pipeline(self.language)
        said = self.lexicon.meanings.get(reader.lemma(word, "VERB"), "").split()
        noun = reader.lemma(word, "NOUN")
        verbs = [one for wording in wordings for one in words_of(wording) if does(noun, one, self.language)]
        return said + [one for one in verbs if reader.lemma(one, "VERB") != one]  # an engineer is no "engine"

    def _of_written(self, words: Sequence[str], wordings: Sequence[str], besides: Collection[str]) -> float:
        phrase = " ".join(words)
        said = self.bases(phrase)
        best = 0.0
        for wording in wordings:
            own = self.bases(wording)
            if said and own:
                extra = own - said
                named = len(own & said) / len(said)
                whole = 1 - len(extra - set(besides)) / len(own)
                best = max(best, 0.65 * named + 0.35 * named * whole)
            best = max(best, self.cosine(phrase, wording))
        return best

    def speaks_of_persons(self, words: Sequence[str]) -> bool:
        """Whether one of some words means people of any kind."""
        return not self.lexicon.persons.isdisjoint(words)

    def of_persons(self, wordings: Sequence[str]) -> float:
        """How near the names of a relation are to "number of people"."""
        phrases = self.lexicon.tallies_of_persons
        return max((self.cosine(phrase, wording) for phrase in phrases for wording in wordings), default=0.0)

    def fits(self, asked: str, label: str) -> int:
        """How things of a class fit what is asked for; see `kinds.fit`."""
        key = (asked, None, label)
        if key not in self._compared:
            self._compared[key] = fit(asked, [label], self._encode, self.language)
        return int(self._compared[key])

    def is_group(self, label: str) -> bool:
        """Whether things of a class are groups of persons."""
        return "group" in kinds_of([label], self._encode, self.language)

    def general_class(self, noun: str, classes: Sequence[str]) -> str:
        """The only class of places, of groups or of persons, if both it and a noun are general: Place for "venue", but
        not for "hotel"; empty if there is none."""
        kind = next((kind for kind, nouns in self.lexicon.general.items() if noun in nouns), None)
        own = [name for name in classes if kind is not None and kind in kinds_of([name], self._encode, self.language)]
        is_general = len(own) == 1 and not self.bases(own[0]).isdisjoint(self.lexicon.general.get(kind or "", ()))
        return own[0] if is_general else ""

    def may_be_of_a_kind(self, one: str, other: str) -> bool:
        """Whether two nouns may name things of one kind. Persons and groups of persons count as one kind."""
        kinds = kinds_of([one, other], self._encode, self.language) - {None}
        return len(kinds) < 2 or kinds == {"person", "group"}

    def of_word(self, word: str, wordings: Sequence[str]) -> float:
        """Of one content word and a relation by its names: 1 if a name has it, less if it has a word of its stem."""
        key = (word, *wordings)
        if key not in self._compared:
            self._compared[key] = max(self._of_one(own, wordings) for own in (word, *self._meanings(word, wordings)))
        return self._compared[key]

    def _of_unit(self, word: str, wording: str) -> float:
        """The likeness of a unit, or of a noun for what it measures, and a name that ends with such a unit; else 0."""
        unit = unit_of_name(wording)
        kind = unit_kind(unit, self.language) if unit != wording else ""
        if not kind:
            return 0.0
        if kind == unit_kind(word, self.language):
            return 1.0
        dimensions = self.lexicon.dimensions
        meant = dimensions.get(pipeline(self.language).lemma(word, "NOUN"), "")
        return OF_ONE_DIMENSION if meant and kind.partition(" ")[0] == meant else 0.0

    def of_form(self, word: str, wordings: Sequence[str]) -> float:
        """Of one content word and a relation by the form of its names alone: 1 if a name has it, less if it has a word
        of its stem, else 0."""
        base, named = self.bases(word), frozenset[str]().union(*map(self.bases, wordings))
        if base & named:
            return 1.0
        return _OF_ONE_STEM if any(_share_stem(one, other) for one in base for other in named) else 0.0

    def _of_one(self, word: str, wordings: Sequence[str]) -> float:
        if (least := self.of_form(word, wordings)) == 1:
            return least
        least = max((least, *(self._of_unit(word, wording) for wording in wordings)))
        parts = [part for wording in wordings for part in (wording, *self._measured(wording))]
        self.prepare([word, *parts])
        return max((least, *(self.cosine(word, part) for part in parts)))

    def _measured(self, wording: str) -> list[str]:
        """The words of a name, without what a rate is for: a running cost per year is no year."""
        words = words_of(wording)
        end = next((at for at, word in enumerate(words) if at and word in self.lexicon.rates), len(words))
        return words[:end]


def unit_of_name(name: str) -> str:
    """The last word of a name, which may be the unit of its values: "min" of `running time [min]`, "m" of `height m`;
    empty of an empty name."""
    return next(iter(_LAST_WORD.findall(PLURAL.sub("", name))), "")


@functools.lru_cache(20_000)
def unit_kind(word: str, language: str) -> str:
    """What a unit measures, "length" of "km"; empty of other words, and of those for times, such as "years"."""
    words = lexicon(pipeline(language).code)
    lemma = pipeline(language).lemma(word, "NOUN")
    if lemma in words.nouns or word in pipeline(language).stop_words:
        return ""
    sign = words.currencies.get(lemma)
    found = (quantity(Literal(text)) for text in (f"{sign}1" if sign else "", f"1 {word}", f"1 {word.upper()}"))
    return next((one.kind for one in found if one is not None and one.kind != "number"), "")


def measure_nouns(example: str, language: str) -> tuple[str, ...]:
    """The nouns for what a value measures, "length" and "duration" of "32 minutes"; none of a value without a unit.

    Args:
        example: of the values of a relation, as prompts show it; of two values the first is taken.
    """
    found = quantity(Literal(example.partition(BETWEEN_EXAMPLES)[0]))
    return () if found is None else lexicon(pipeline(language).code).measures.get(found.kind, ())


def measured_names(label: str, example: str, language: str) -> tuple[str, ...]:
    """The `measure_nouns` of a relation whose name is a verb: "length" of `lasts`. A noun, as in `loan period`, says
    itself what is measured."""
    return measure_nouns(example, language) if head_of(label, language) == "subject" else ()


def _share_stem(one: str, other: str) -> bool:
    """Whether two words begin alike: "assist" and "assistant", "specialise" and "specialty"."""
    return Prefix.similarity(one, other) >= max(_SHORTEST_STEM, _STEM * max(len(one), len(other)))


@functools.lru_cache(20_000)
def bases_of(text: str, language: str) -> frozenset[str]:
    """The base forms of the content words of a text."""
    reader, stops = pipeline(language), stop_words(language)
    return frozenset(reader.base_form(word) for word in words_of(text) if word not in stops)
