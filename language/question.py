"""Reads a question: what it asks for, which words may name relations, what to compute and what must hold.

The rules speak Universal Dependencies (`parse`); what a word means beyond its grammar comes from the lexicon of the
language (`lexicon`). Without a trained pipeline the words and their order alone are read.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from triplecheck.kg.ranker import OTHER_TOPIC, OWN_TOPIC
from triplecheck.kg.words import common_words, nearest_word
from triplecheck.language.operations import (
    Aggregate,
    Comparison,
    Join,
    Limit,
    Negation,
    aggregate,
    compares,
    comparison,
    joins,
    limits,
    negations,
)
from triplecheck.language.orders import Ordinal, ordinal
from triplecheck.language.parse import Parse, parse, stop_words
from triplecheck.language.pipeline import ENGLISH
from triplecheck.language.rewording import asking_for_things
from triplecheck.language.roles import names_deed
from triplecheck.language.text import TOPIC, mask, plain, words_of
from triplecheck.language.times import TimeLimit, time_limits
from triplecheck.signatures.notation import WrittenTopic, read_topic, split_note

Kind = Literal["thing", "person", "place", "time", "number", "manner", "reason", "yes or no"]

_PARSES = 2_048
_BEFORE_NOUN = frozenset({"ADJ", "ADV", "DET", "ADP", "NUM", "AUX", "PROPN"})


@dataclass(frozen=True, slots=True)
class Segment:
    """Content words that stand together.

    Attributes:
        kind: `asked` (what the question word belongs to), `chained` (in a chain of possessives or
            "of"), or `plain`.
        distance: how far it is from the topic along the sentence's own chain: what follows the topic
            comes first, in order, then what stands before it, backwards ("the A of X's B": B, A).
        of_topic: "X's A" or "the A of X": A leads forwards from X.
    """

    text: str
    kind: str
    distance: int = 1_000
    of_topic: bool = False


@dataclass(frozen=True)
class Asked:
    """What a question asks for.

    Attributes:
        word: the question word, in lower case; empty if there is none.
        noun: the noun that the question word or the request belongs to ("which lakes", "list all lakes"), as written.
        is_list: whether several are asked for, by the number of the noun.
        attribute: what the question word asks for, in words of relations: "height" for "how tall".
        at: the position of the noun; -1 without one.
    """

    word: str = ""
    kind: Kind = "thing"
    noun: str = ""
    lemma: str = ""
    is_list: bool = False
    attribute: str = ""
    at: int = -1


@dataclass(frozen=True)
class Question:
    """A question, read once.

    Attributes:
        language: the code of the language, or the name of the pipeline.
        topics: what it is about.
        parse: its grammar, with topics masked.
        segments: what may name relations.
        compares: what it compares or asks the extreme of; else None.
        ordinal: the places in an order that it asks for ("the second oldest", "the three oldest"); else None.
        aggregate: what it computes from several values; else None.
        asks_same: whether it asks whether something is the same for two topics.
    """

    text: str
    language: str
    topics: tuple[WrittenTopic, ...]
    parse: Parse
    segments: tuple[Segment, ...]
    asked: Asked
    compares: Comparison | None
    ordinal: Ordinal | None
    aggregate: Aggregate | None
    limits: tuple[Limit, ...]
    times: tuple[TimeLimit, ...]
    negations: tuple[Negation, ...]
    joins: tuple[Join, ...]
    asks_same: bool

    @property
    def words(self) -> tuple[str, ...]:
        """In lower case, topics replaced by `TOPIC`."""
        return self.parse.words

    @property
    def lemmas(self) -> tuple[str, ...]:
        """Of each word."""
        return tuple(token.lemma for token in self.parse.tokens)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The numbers in digits outside topics, as written."""
        return tuple(
            t.text for at, t in enumerate(self.parse.tokens) if t.text[0].isdigit() and not self.parse.is_topic(at)
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Runs of words with capitals that are no topic, without the question's first word."""
        return tuple(" ".join(run) for run in _names(self.parse))

    @property
    def counts(self) -> bool:
        """Whether it asks for a number of things."""
        return self.aggregate is not None and self.aggregate.kind == "count"

    def is_deed(self, word: str, classes: Iterable[str]) -> bool:
        """Whether a word is a verb for what someone does to something, and a class is called after it: "rented" in "who
        has rented the van", where there are rentals, and not in "which vans are rented"."""
        parse, has = self.parse, self.parse.lexicon.auxiliaries - self.parse.lexicon.copulas
        verbs = [at for at, one in enumerate(self.words) if one == word and parse.pos(at) == "VERB"]
        acts = any(
            parse.dependents(at, "obj") or any(parse.lemma(i) in has for i in parse.dependents(at, "aux"))
            for at in verbs
        )
        lemmas = {parse.lemma(at) for at in verbs}
        return acts and any(names_deed(one, name, self.language) for name in classes for one in lemmas)

    @property
    def differs(self) -> bool:
        """Whether it asks for the difference of two values."""
        return self.aggregate is not None and self.aggregate.kind == "difference"

    @property
    def asks_whether(self) -> bool:
        """Whether it expects yes or no."""
        return self.asked.kind == "yes or no"

    @property
    def asks_for_thing(self) -> bool:
        """Whether it asks for a thing, person, time or place, so that yes or no is no answer."""
        return bool(self.asked.word) and not self.asks_whether

    @property
    def chooses(self) -> bool:
        """Whether one of the topics may be the answer: it compares them, or joins them by "or"."""
        return self.compares is not None or any(join.kind == "or" for join in self.joins)

    @property
    def computes(self) -> bool:
        """Whether it needs more than a path: it counts, compares, orders, bounds, excludes, or asks yes or no."""
        told = (self.aggregate, self.compares, self.ordinal, self.limits, self.times, self.negations, self.joins)
        return any(told) or self.asks_whether or self.asks_same

    @property
    def excludes_topics(self) -> bool:
        """Whether it asks for others than the topic: "who else", "the same teacher as X"."""
        return not self.parse.lexicon.others.isdisjoint(self.words)

    @property
    def chain(self) -> tuple[str, ...]:
        """What a chain of possessives from the one topic names, at least a hop each: "X's father's wife", "the wife of
        X's father", the nearest first; empty if there is no such chain."""
        own = self.words.index(TOPIC) if self.words.count(TOPIC) == 1 else len(self.words)
        if self.words[own + 1 : own + 2] not in (("'s",), ("'",)):
            return ()
        linked = [segment for segment in self.segments if segment.kind == "chained"]
        return tuple(segment.text for segment in sorted(linked, key=lambda segment: segment.distance))

    @property
    def bare(self) -> str:
        """The question without its topics."""
        return " ".join(word for word in self.words if word not in (TOPIC, "'s"))

    def naming(self, phrases: Iterable[str]) -> Question:
        """The question, read with names of relations: each one in it is content, and mends misspelt words."""
        named = {tuple(words_of(phrase)) for phrase in phrases}
        grammar = _without_operations(_mended(self.parse, named), named)
        known = self
        if grammar.lexicon is not self.parse.lexicon and self.aggregate is not None:
            found = aggregate(grammar, self.compares)
            asks_it = self.asked.at >= 0 and self.parse.words[self.asked.at] == plain(self.aggregate.text)
            known = replace(self, aggregate=self.aggregate if found is None and asks_it else found)
        return replace(known, parse=grammar, segments=tuple(_segments(known, grammar, _named(grammar.words, named))))

    def masked(self, name: str = "") -> str:
        """The question in lower case, with marks in place of its topics, as a ranker of paths reads it.

        Args:
            name: the topic at the start of the path, as paths write it; by default the first topic.
        """
        own = next((topic for topic in self.topics if topic.name == name), next(iter(self.topics), None))
        if own is None:
            return " ".join(words_of(self.text))
        others = dict.fromkeys(spelling(topic) for topic in self.topics)
        others.pop(spelling(own))
        stops = stop_words(self.language)
        words = [OWN_TOPIC if word == TOPIC else word for word in mask(words_of(self.text), [spelling(own)], stops)]
        return " ".join(OTHER_TOPIC if word == TOPIC else word for word in mask(words, list(others), stops))


def spelling(topic: WrittenTopic) -> str:
    """How the question spells a topic, without a note: its words may be far from a note's."""
    return split_note(topic.spelling)[0]


def read_question(
    text: str, topics: Sequence[str] = (), phrases: Iterable[str] = (), language: str = ENGLISH
) -> Question:
    """Read a question.

    Args:
        topics: as they stand in the prompt.
        phrases: names of relations; each one in the question is content, and mends misspelt words.
        language: a code, or the name of a spaCy pipeline.
    """
    written = tuple(map(read_topic, topics))
    question = _read(asking_for_things(text, language), tuple(map(spelling, written)), language)
    return replace(question, topics=written).naming(phrases)


@functools.lru_cache(_PARSES)
def _read(text: str, topics: tuple[str, ...], language: str) -> Question:
    """All that needs no names of relations."""
    grammar = parse(text, topics, language)
    times = time_limits(grammar)
    in_times = {at for limit in times for at in range(*limit.span)}
    bounds = limits(grammar, in_times)
    in_bounds = in_times | {at for limit in bounds for at in range(*limit.span)}
    compared = comparison(grammar, in_bounds)
    asked = _asked(grammar)
    whether = asked.kind == "yes or no"
    said = {*grammar.words, *(token.lemma for token in grammar.tokens)}
    return Question(
        text=text,
        language=language,
        topics=(),
        parse=grammar,
        segments=(),
        asked=asked,
        compares=compared,
        ordinal=ordinal(grammar, compared, in_bounds),
        aggregate=aggregate(grammar, compared),
        limits=bounds,
        times=times,
        negations=tuple(one for one in negations(grammar) if not any(one.at in range(*b.span) for b in bounds)),
        joins=joins(grammar),
        asks_same=whether and not grammar.lexicon.same.isdisjoint(said),
    )


# --- what is asked for -----------------------------------------------------------------------------
def _asked(grammar: Parse) -> Asked:
    """What a question asks for."""
    lexicon, words = grammar.lexicon, grammar.words
    at = question_word(grammar)
    word = "" if at is None else words[at]
    if _asks_whether(grammar):
        return Asked(word, "yes or no")
    noun = asked_noun(grammar)
    pattern = "" if at is None else attribute_of(grammar, at)
    attribute = lexicon.attributes.get(pattern, "")
    kind: str = lexicon.questions.get(word, "thing")
    lemma = "" if noun is None else grammar.lemma(noun)
    if lemma in lexicon.nouns:
        kind = lexicon.nouns[lemma]
    elif grammar.find([*lexicon.quantities, *lexicon.aggregates.get("count", ())]) or len(pattern.split()) == 2:
        kind = "number"
    is_list = noun is not None and grammar.tokens[noun].feature("Number") == "Plur"
    start = noun
    while start and _modifies(grammar, start - 1, noun):
        start -= 1
    phrase = "" if noun is None or start is None else grammar.written(start, noun + 1)
    return Asked(word, kind, phrase, lemma, is_list, attribute, -1 if noun is None else noun)  # type: ignore[arg-type]


def _asks_whether(grammar: Parse) -> bool:
    """Whether a question expects yes or no: it begins with an auxiliary, offers no choice, and has no question word."""
    lexicon = grammar.lexicon
    first = next((i for i in range(len(grammar)) if not grammar.is_topic(i)), None)
    if first is None:
        return False
    if grammar.pos(first) != "AUX" and not ({grammar.lemma(first), grammar.words[first]} & lexicon.auxiliaries):
        return False
    if _request(grammar) is not None:
        return False
    chooses = not set(lexicon.coordination.get("or", ())).isdisjoint(grammar.words)
    return not chooses and not any(_interrogates(grammar, at) for at in range(len(grammar)))


def _request(grammar: Parse) -> int | None:
    """The position of the verb of a request, "list", "please list", "can you list"; None if there is none."""
    requests = grammar.lexicon.requests
    verbs = (i for i in range(len(grammar)) if grammar.said_any(i, requests) or _is_asked_to(grammar, i))
    at = next(verbs, None)
    before = range(at or 0)
    persons = [grammar.tokens[i].feature("Person") for i in before]
    asks_to = "2" in persons or persons[:1] == ["1"]  # "can you list", "I need"
    is_said = asks_to or not any(grammar.pos(i) in ("AUX", "PRON") for i in before)
    is_verb = at == 0 or (at is not None and grammar.pos(at) == "VERB")
    return at if is_verb and is_said and all(map(grammar.is_stop, before)) else None


def _is_asked_to(grammar: Parse, at: int) -> bool:
    """Whether a verb says what "you" are asked to do: "could you add up ..."."""
    asked = any(grammar.tokens[i].feature("Person") == "2" for i in grammar.dependents(at, "nsubj"))
    asks = grammar.pos(0) == "AUX" and grammar.lemma(0) not in grammar.lexicon.supports  # not "do you know"
    names_place = any(map(grammar.is_topic, grammar.dependents(at, "obl")))  # "can you get into it"
    may_do = names_place and not grammar.dependents(at, "obj", "iobj", "ccomp")
    return asked and asks and grammar.pos(at) == "VERB" and not may_do


def question_word(grammar: Parse) -> int | None:
    """The position of the first question word; None if there is none."""
    return next((at for at in range(len(grammar)) if _interrogates(grammar, at)), None)


def _interrogates(grammar: Parse, at: int) -> bool:
    """Whether a word is a question word and does not begin a relative clause."""
    if grammar.words[at] not in grammar.lexicon.questions:
        return False
    if _is_fronted(grammar, at):
        return True
    above = [at, *grammar.ancestors(at)]
    return not any(grammar.is_a(i, "acl") and grammar.tokens[i].head < at for i in above)


def _is_fronted(grammar: Parse, at: int) -> bool:
    """Whether a question word asks of what stands before it: "the firm that built X, in which city is it based"."""
    start = at - (grammar.pos(at - 1) == "ADP") if at else 0
    between = grammar.text[grammar.ends[start - 1] : grammar.tokens[start].start] if start else ""
    asks = grammar.lexicon.questions[grammar.words[at]] == "thing" and grammar.is_noun(at + 1)
    return asks and "," in between and grammar.pos(at + 2) == "AUX"


def asked_noun(grammar: Parse) -> int | None:
    """The position of the noun that a question word or a request belongs to; None if there is none."""
    lexicon, words = grammar.lexicon, grammar.words
    for at, word in enumerate(words):
        counts = any(grammar.said(at, phrase) for phrase in lexicon.quantities)
        if not counts and not _interrogates(grammar, at):
            continue
        if not counts and lexicon.questions[word] not in ("thing", "person"):
            return None
        following = at + 1
        while following < len(words) and _before_noun(grammar, following):
            if grammar.lemma(following) in lexicon.auxiliaries - lexicon.copulas:
                return None  # "what do the lakes ...": the noun is the subject, not what is asked for
            following += 1
        # "which lakes", "which of the lakes", "what are the lakes"
        return _named_noun(grammar, _last_of_noun(grammar, following)) if grammar.is_noun(following) else None
    request = _request(grammar)
    if request is not None:
        found = next((i for i in range(request + 1, len(words)) if grammar.is_noun(i)), None)
        return None if found is None else _last_of_noun(grammar, found)
    return _bare_noun(grammar)


def _bare_noun(grammar: Parse) -> int | None:
    """The noun of a question that is no sentence, "boats with a crew of 12"; None if it is one."""
    root = next((at for at in range(len(grammar)) if grammar.tokens[at].head == at), None)
    if root is None or not grammar.is_trained or not grammar.is_noun(root) or grammar.dependents(root, "nsubj", "cop"):
        return None
    return root


def _before_noun(grammar: Parse, at: int) -> bool:
    if grammar.is_trained:
        return grammar.pos(at) in _BEFORE_NOUN or (grammar.pos(at) == "PRON" and grammar.is_a(at, "nmod:poss"))
    return not grammar.is_noun(at) and (grammar.is_stop(at) or compares(grammar, at) or grammar.is_topic(at))


def _modifies(grammar: Parse, at: int, noun: int | None) -> bool:
    """Whether a word belongs to the name of what a noun names: "fishing" of "fishing boats", not "many"."""
    return grammar.tokens[at].head == noun and grammar.is_a(at, "compound", "amod") and not grammar.is_stop(at)


def _last_of_noun(grammar: Parse, at: int) -> int:
    """The head of a compound, which is its last noun: "boats" of "fishing boats"."""
    while at + 1 < len(grammar) and grammar.pos(at + 1) == "NOUN":
        at += 1
    return at


def _named_noun(grammar: Parse, at: int) -> int:
    """A noun, or the one below it if it says nothing itself: "the name of the boat" is the boat."""
    below = [i for i in grammar.dependents(at, "nmod") if grammar.is_noun(i)] if grammar.is_stop(at) else []
    return below[0] if len(below) == 1 else at


def attribute_of(grammar: Parse, at: int) -> str:
    """The question words at a position whose attribute the lexicon has ("how tall"); empty if there are none."""
    for pattern in grammar.lexicon.attributes:
        first, _, rest = pattern.partition(" ... ")
        end = grammar.said(at, first)
        if end and (not rest or rest in grammar.words[end:]):
            return pattern
    return ""


def _names(grammar: Parse) -> Iterable[list[str]]:
    common = grammar.lexicon.capital_nouns
    named = (
        at and (t.text == TOPIC or (t.text[0].isupper() and not t.is_stop and (t.pos == "PROPN" or not common)))
        for at, t in enumerate(grammar.tokens)
    )
    for is_name, run in itertools.groupby(zip(named, grammar.tokens, strict=True), key=lambda one: bool(one[0])):
        for is_topic, part in itertools.groupby((token.text for _, token in run), key=TOPIC.__eq__):
            if is_name and not is_topic:
                yield list(part)


# --- segments --------------------------------------------------------------------------------------
def _mended(grammar: Parse, phrases: Collection[tuple[str, ...]]) -> Parse:
    """The grammar, with misspelt words that are near a word of a phrase spelt as there."""
    known = {word for phrase in phrases for word in phrase}
    usual = common_words()
    words = tuple(
        word if grammar.is_topic(at) or grammar.is_stop(at) or word in usual else nearest_word(word, known) or word
        for at, word in enumerate(grammar.words)
    )
    return grammar if words == grammar.words else replace(grammar, words=words)


def _without_operations(grammar: Parse, phrases: Collection[tuple[str, ...]]) -> Parse:
    """The grammar, where a word that is the name of a relation says no operation: "the total of order 7"."""
    lexicon, own = grammar.lexicon, {" ".join(phrase) for phrase in phrases}
    if own.isdisjoint(lexicon.containers.union(*lexicon.aggregates.values())):
        return grammar
    aggregates = {kind: tuple(one for one in said if one not in own) for kind, said in lexicon.aggregates.items()}
    return replace(grammar, lexicon=replace(lexicon, aggregates=aggregates, containers=lexicon.containers - own))


def _named(words: Sequence[str], phrases: Collection[tuple[str, ...]]) -> set[int]:
    """The positions of phrases of several words, each once."""
    found: set[int] = set()
    for phrase in sorted((p for p in phrases if len(p) > 1), key=lambda p: (-len(p), p)):
        for start in range(len(words) - len(phrase) + 1):
            here = range(start, start + len(phrase))
            if tuple(words[start : here.stop]) == phrase and found.isdisjoint(here):
                found.update(here)
                break
    return found


def _segments(read: Question, grammar: Parse, named: Collection[int]) -> list[Segment]:
    """What may name relations: what the question word asks for, then runs of content words."""
    found: list[Segment] = []
    words, lexicon = grammar.words, grammar.lexicon
    if read.asked.attribute and not read.asks_whether:
        found.append(Segment(read.asked.attribute, "asked"))
    asking = _words_of_asking(grammar)
    content = [at in named or (at not in asking and _is_content(grammar, at)) for at in range(len(grammar))]
    topic = words.index(TOPIC) if TOPIC in words else len(words)
    at = 0
    while at < len(words):
        if not content[at]:
            at += 1
            continue
        end = at
        while end < len(words) and content[end]:
            end += 1
        if grammar.lemma(end - 1) in lexicon.sorts and end < len(words) and words[end] in lexicon.genitives:
            end += 1
            while end < len(words) and content[end]:
                end += 1
        if not all(grammar.lemma(i) in lexicon.sorts for i in range(at, end)):
            text = " ".join(words[at:end])
            distance = at - topic if at > topic else 2 * len(words) - at
            found.append(Segment(text, _kind(grammar, at, end, found), distance, _belongs_to_topic(grammar, at, end)))
        at = end
    if read.compares is not None and read.compares.quantity:
        found.append(Segment(read.compares.quantity, "plain"))
    said = (word for at in range(len(words)) for word in (words[at], grammar.lemma(at)))
    implied = next((lexicon.implied[word] for word in said if word in lexicon.implied), "what")
    return found or [Segment(implied, "plain")]


def _words_of_asking(grammar: Parse) -> set[int]:
    """The positions of the question words that ask for an attribute: "how tall"."""
    at = question_word(grammar)
    pattern = "" if at is None else attribute_of(grammar, at).partition(" ... ")[0]
    return set() if at is None or not pattern else set(range(at, grammar.said(at, pattern)))


def _is_content(grammar: Parse, at: int) -> bool:
    """Whether a word may name a relation."""
    if at > 1 and grammar.words[at - 1] in grammar.lexicon.articles and grammar.is_topic(at + 1):
        return False  # "the opera Tosca": what the topic is
    if grammar.is_topic(at) or grammar.is_stop(at):
        return False
    return not compares(grammar, at) or grammar.lemma(at) in grammar.lexicon.unordered


def _belongs_to_topic(grammar: Parse, start: int, end: int) -> bool:
    after = [i for i in range(end, min(end + 3, len(grammar))) if grammar.words[i] not in grammar.lexicon.articles]
    of = len(after) > 1 and grammar.words[after[0]] in grammar.lexicon.genitives and grammar.is_topic(after[1])
    return of or (start > 1 and grammar.is_topic(start - 2) and grammar.words[start - 1] in grammar.lexicon.genitives)


def _kind(grammar: Parse, start: int, end: int, before: Sequence[Segment]) -> str:
    words, lexicon = grammar.words, grammar.lexicon
    asked = start > 0 and lexicon.questions.get(words[start - 1]) == "thing"
    asked = asked or any(grammar.said(i, phrase) == start for phrase in lexicon.quantities for i in range(start))
    if asked and not any(s.kind == "asked" for s in before):
        return "asked"
    joined = (start > 0 and words[start - 1] in lexicon.genitives - lexicon.prepositions) or (
        end < len(words) and words[end] in lexicon.genitives
    )
    return "chained" if joined else "plain"
