"""The words of a language that its grammar does not give: what "old" compares, what "where" asks for.

Each language has one file, `words/CODE.json`. Its keys are the fields of `Lexicon`; words are lemmas in lower case, or
phrases of lemmas and written words. A language without a file has an empty lexicon: questions are then read by their
names and their content words alone.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from triplecheck.language.text import plain

_AS_WRITTEN = frozenset({"names", "scales", "orders", "kinds", "talk", "currencies"})
"""Fields whose values are words of relations and names."""
_FOLDER = Path(__file__).with_name("words")

Scale = Mapping[str, tuple[str, str]]
"""By kind of value, `time`, `number` or `duration`: which end of the values is meant, `max` or `min`, and what is
compared. A fast thing has a great speed, or takes little time."""


@dataclass(frozen=True)
class Lexicon:
    """The words of a language.

    Attributes:
        borrowed_accents: whether only borrowed words have accents, so that a pipeline knows them better without.
        capital_nouns: whether nouns are written with a capital.
        names: proper names that stand for topics while a question is parsed.
        labels: dependency labels of the language's pipelines, with a part of speech where that decides ("nk:ADJ"), and
            those of Universal Dependencies; `predicate` is what an auxiliary or copula that is its head belongs to.
        questions: question words, and what each asks for.
        nouns: nouns for times, and other nouns that say what kind of answer is asked for.
        attributes: what question words ask for, in words that relations have.
        sequence: prepositions, each with a verb that says the same: what comes after a thing follows it.
        meanings: verbs that names of relations seldom have, and what they say in words of relations.
        implied: what is asked for where a question has no content words but its topic.
        requests: verbs that begin a request.
        light: open-class words without content of their own.
        auxiliaries: verbs that begin a question of yes or no.
        supports: of these, those that need another verb in a question ("do").
        known_verb: a verb in the form that "do" has after it, to read a sentence with whose own verb is not known.
        known_nouns: a noun in the singular and in the plural, to read a sentence with one that is not known.
        copulas: of these, those that form the passive too.
        sorts: nouns that join the noun after them ("kinds of music").
        genitives: what joins a noun to its possessor.
        prepositions: of these, those that stand before the possessor.
        agents: prepositions of the one who acts, in the passive.
        articles: the articles.
        scales: adjectives and adverbs, and what they compare; beside a verb some compare something else ("long:verb"):
            who has worked the longest began first.
        orders: words without degree that compare as superlatives and comparatives do.
        amounting: words for a number that are no numerals: "twice", "half", names of months.
        amounts: words for more and fewer of the noun that follows.
        frequent: adjectives that say how many things have what they describe ("the most common colour").
        unordered: adjectives whose superlative compares nothing that a graph has.
        forms: words that pipelines read wrongly, or that have no lemma without a trained one, in lower case: lemma and
            degree. A star stands for any ending.
        degree_endings: endings of comparatives and superlatives, and the degree.
        than: what joins a comparative and its standard.
        existence: phrases that ask whether something is there.
        wishes: phrases for what one looks for.
        names_them: phrases after such a question or wish that ask for the things themselves, first "which".
        courtesy: how polite requests begin that `tell` or `give` something, their `adverbs`, and how to ask plainly.
        adverbs: adverbs, and the phrases that say the same behind a participle.
        again: what stands before something that is said again.
        fractions: what stands before the article of a unit, and its number: "half an hour".
        among: what `opens` a question with the things to choose from, "out of all the", which of its words are kept
            before them (`definite`), and by `which of` and `how many of` the phrases that ask for some of them.
        aggregates: words for a number, a sum, an average, a difference.
        quantities: question words for an amount.
        unsayable: words that no triple can stand for: quantifiers and verbs for what is not, or not yet.
        future: phrases before a verb for what has not happened yet.
        rates: words before the noun that a rate is for: "20 a day or less".
        periods: adjectives for what is so each year, month, day ..., by that noun.
        reasons: nouns for why something is so.
        numbering: nouns at the end of names for a place in an order: a stop number.
        tallies: nouns for a number of things.
        occasions: nouns for how often something is done.
        fillers: phrases that say nothing of a graph.
        emphatic: adjectives that only stress a negation: "not a single boat".
        aged: what a number bounds that says no more: "people over 65".
        limits: words for a bound of a number.
        times: words for a bound of a time.
        clauses: small words of clauses: articles and other determiners, `indefinite` and `definite`; `auxiliary` verbs;
            what is `relative`, `joins` clauses or also `opens` one; "as"; and what `asks` for the noun after it.
        talk: words of questions that follow others (`lms.extractive.conversation`) or have talk beside them
            (`language.talk`); a star stands for any letters.
        moments: words in the names of properties: for the start of a time, its end, and a time as a whole.
        decades: nouns for ten years, and the first of them.
        currencies: nouns for money, and the sign or code of each.
        reflexives: adjectives by which a thing is its own ("his own teacher").
        flags: values of what a thing has or has not, and their opposites.
        to: what joins the ends of a span.
        edges: phrases before a time for its `start` and its `end`.
        years: words before a year.
        eras: what says that a year is counted `before` or `after` the year 1, beside its number.
        negations, coordination: words for not, and, or.
        adding: phrases for "and".
        neither: words before each thing of a list that is denied.
        excluding: words that exclude what follows.
        same: words for what two things share.
        others: words by which a topic itself is no answer.
        ordinals, numbers: numbers in words.
        leading: words before a number of the first of an order: "top 3".
        jointly: words by which all of several things are meant together: "both A and B".
        mutual: how words begin that say what one is or does to another and both are or do.
        deed_endings: endings of nouns for what a verb says that is done.
        agent_endings: endings of nouns for the one who acts.
        person_endings: endings of nouns for people.
        opposites: words of opposite meaning, and whether a relation of the one, followed backwards, can be the other: a
            `wife` is followed backwards to her husband.
        converses: pairs of verbs for one act, the first for who does it and the second for who takes part, each with
            the preposition before the other person: "teach" and "learn from".
        kinds: nouns that stand for the kinds of things.
        general: those that may name all things of a kind.
        members: nouns for those who belong to a group.
        persons: nouns for people of any kind, of whom a number may say how many there are.
        tallies_of_persons: phrases for their number.
        dimensions: nouns for what a unit measures, and the kind of the unit: a price is in a currency.
        measures: names that a verb for a relation gets from the kind of unit of its values: "length" of `lasts`.
        containments: words of the names of relations that go on: what lies in a part lies in the whole.
        containers: words for the graph and for what is in it.
        settings: nouns for what a whole graph may be about: a club, a season.
    """

    borrowed_accents: bool = False
    capital_nouns: bool = False
    names: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    questions: Mapping[str, str] = field(default_factory=dict)
    nouns: Mapping[str, str] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)
    sequence: Mapping[str, str] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)
    implied: Mapping[str, str] = field(default_factory=dict)
    requests: frozenset[str] = frozenset()
    light: frozenset[str] = frozenset()
    auxiliaries: frozenset[str] = frozenset()
    supports: frozenset[str] = frozenset()
    known_verb: str = ""
    known_nouns: tuple[str, ...] = ("", "")
    copulas: frozenset[str] = frozenset()
    sorts: frozenset[str] = frozenset()
    genitives: frozenset[str] = frozenset()
    prepositions: frozenset[str] = frozenset()
    agents: frozenset[str] = frozenset()
    articles: frozenset[str] = frozenset()
    scales: Mapping[str, Scale] = field(default_factory=dict)
    orders: Mapping[str, Scale] = field(default_factory=dict)
    amounting: frozenset[str] = frozenset()
    amounts: Mapping[str, str] = field(default_factory=dict)
    frequent: frozenset[str] = frozenset()
    unordered: frozenset[str] = frozenset()
    forms: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    degree_endings: Mapping[str, str] = field(default_factory=dict)
    than: frozenset[str] = frozenset()
    existence: tuple[str, ...] = ()
    wishes: tuple[str, ...] = ()
    names_them: tuple[str, ...] = ()
    courtesy: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    adverbs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    again: tuple[str, ...] = ()
    fractions: Mapping[str, float] = field(default_factory=dict)
    among: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    aggregates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    quantities: tuple[str, ...] = ()
    unsayable: frozenset[str] = frozenset()
    future: tuple[str, ...] = ()
    rates: frozenset[str] = frozenset()
    periods: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    reasons: frozenset[str] = frozenset()
    numbering: frozenset[str] = frozenset()
    tallies: frozenset[str] = frozenset()
    occasions: frozenset[str] = frozenset()
    fillers: tuple[str, ...] = ()
    emphatic: frozenset[str] = frozenset()
    aged: str = ""
    limits: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    times: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    clauses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    talk: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    moments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    decades: Mapping[str, int] = field(default_factory=dict)
    currencies: Mapping[str, str] = field(default_factory=dict)
    reflexives: frozenset[str] = frozenset()
    flags: Mapping[str, str] = field(default_factory=dict)
    to: frozenset[str] = frozenset()
    years: frozenset[str] = frozenset()
    edges: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    eras: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    negations: frozenset[str] = frozenset()
    adding: tuple[str, ...] = ()
    neither: frozenset[str] = frozenset()
    excluding: tuple[str, ...] = ()
    coordination: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    same: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()
    ordinals: Mapping[str, int] = field(default_factory=dict)
    leading: frozenset[str] = frozenset()
    numbers: Mapping[str, int] = field(default_factory=dict)
    jointly: frozenset[str] = frozenset()
    mutual: frozenset[str] = frozenset()
    deed_endings: tuple[str, ...] = ()
    agent_endings: tuple[str, ...] = ()
    person_endings: tuple[str, ...] = ()
    opposites: tuple[tuple[tuple[str, ...], tuple[str, ...], bool], ...] = ()
    converses: tuple[tuple[str, str], ...] = ()
    kinds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    general: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    members: frozenset[str] = frozenset()
    persons: frozenset[str] = frozenset()
    tallies_of_persons: tuple[str, ...] = ()
    dimensions: Mapping[str, str] = field(default_factory=dict)
    measures: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    containments: tuple[str, ...] = ()
    containers: frozenset[str] = frozenset()
    settings: frozenset[str] = frozenset()

    def says_part(self, name: str) -> bool:
        """Whether the name of a relation says that its head is a part of its tail, or lies in it."""
        return any(f" {phrase} " in f" {name.lower()} " for phrase in self.containments)


@functools.cache
def lexicon(code: str) -> Lexicon:
    """The lexicon of a language, by its code; an empty one if there is no file for it."""
    path = _FOLDER / f"{code}.json"
    if not path.exists():
        return Lexicon()
    read: dict[str, Any] = json.loads(path.read_text("utf-8"))
    types = {one.name: str(one.type).partition("[")[0] for one in fields(Lexicon)}
    forms = {text.casefold(): (plain(lemma), degree) for text, (lemma, degree) in read.pop("forms", {}).items()}
    labels = read.pop("labels", {})
    typed = {key: _typed(types[key], value, key not in _AS_WRITTEN) for key, value in read.items()}
    return Lexicon(**typed, forms=forms, labels=labels)


def languages() -> list[str]:
    """The codes of the languages that have a lexicon."""
    return sorted(path.stem for path in _FOLDER.glob("*.json"))


def _typed(kind: str, value: Any, folded: bool) -> Any:
    """A value as its field has it: lists are sets or tuples, words in lower case without accents if they are folded."""
    if kind == "frozenset":
        return frozenset(map(plain, value))
    if isinstance(value, Mapping):
        return {plain(key): one if isinstance(one, str) else _typed("tuple", one, folded) for key, one in value.items()}
    if isinstance(value, list):
        return tuple(_typed("tuple", one, folded) for one in value)
    return plain(value) if folded and isinstance(value, str) else value
