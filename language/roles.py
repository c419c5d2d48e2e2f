"""Who does it to whom: "who taught X" and "whom did X teach" follow one relation in opposite directions.

Only questions of one clause are read, whose verb has the topic as its subject or object.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from triplecheck.language.lexicon import lexicon
from triplecheck.language.parse import Parse
from triplecheck.language.pipeline import ENGLISH, pipeline
from triplecheck.language.text import plain, words_of

Role = Literal["subject", "object"]

_LEAST_STEM = 3


@dataclass(frozen=True, slots=True)
class Verb:
    """The verb of a question."""

    text: str
    lemma: str
    topic: Role


def verb_of(parse: Parse) -> Verb | None:
    """The verb of a question, if the topic is its subject or object and the question has no other content."""
    topics = [at for at in range(len(parse)) if parse.is_topic(at)]
    if len(topics) != 1 or not any(word in parse.lexicon.questions for word in parse.words):
        return None
    found = _verb_over(parse, topics[0])
    own = (topics[0], parse.tokens[topics[0]].head)
    return None if any(not parse.is_stop(at) and at not in own for at in range(len(parse))) else found


def verbs_of(parse: Parse) -> list[Verb]:
    """The verbs in a question whose subjects or objects are topics."""
    found = (_verb_over(parse, at) for at in range(len(parse)) if parse.is_topic(at))
    return [verb for verb in found if verb is not None]


def _verb_over(parse: Parse, topic: int) -> Verb | None:
    """The verb whose subject or object is a topic; None if the grammar is unclear."""
    verb = parse.tokens[topic].head
    is_noun = parse.is_a(topic, "nmod") and parse.is_a(verb, "root", "xcomp")  # a verb that is read as a noun
    if verb == topic or parse.is_stop(verb) or (parse.pos(verb) not in ("VERB", "AUX") and not is_noun):
        return None
    if not parse.is_trained or is_mutual(parse.lemma(verb), parse.words[verb], parse.lexicon.mutual):
        return None
    passive = any(
        parse.is_a(at, "aux:pass") or (parse.lemma(at) in parse.lexicon.copulas and parse.pos(at) == "AUX")
        for at in parse.children(verb)
    )
    asks_agent = any(parse.words[at] in parse.lexicon.agents for at in range(len(parse)) if at != topic)
    agent = any(parse.words[at] in parse.lexicon.agents for at in parse.dependents(topic, "case"))
    if parse.is_a(topic, "nsubj", "csubj"):
        role: Role = "object" if passive and asks_agent else "subject"
        if passive and not asks_agent:
            return None
    elif parse.is_a(topic, "obl", "obj", "iobj", "nmod"):
        role = "subject" if passive and agent else "object"
        if passive and not agent:
            return None
    else:
        return None
    after = [
        at
        for at in range(verb + 1, len(parse))
        if parse.pos(at) == "ADP" and not (passive and parse.words[at] in parse.lexicon.agents)
    ]
    text = " ".join(parse.words[at] for at in (verb, *after))
    cases = [parse.words[at] for at in parse.dependents(topic, "case")]
    # What comes after a topic follows it.
    instead = next((parse.lexicon.sequence[word] for word in cases if word in parse.lexicon.sequence), None)
    return Verb(text, parse.lemma(verb), role) if instead is None else Verb(text, instead, "object")


def head_to(verb: Verb, wordings: Sequence[str], language: str = ENGLISH) -> Role | None:
    """What the head of a relation is to a verb; None if none of the relation's names has the verb in a clear form."""
    for wording in wordings:
        words = plain(wording).split()
        if says_converse(verb.lemma, wording, language) and (role := head_of(wording, language)) is not None:
            return "object" if role == "subject" else "subject"
        named = [word for word in words if same_stem(verb.lemma, word, language)]
        if not named:
            continue
        is_active = any(word.endswith("s") and _verb(word, language) == verb.lemma for word in named)
        role = "subject" if is_active and words[-1] != named[-1] else head_of(wording, language)
        if role is not None:
            return role
    return None


@functools.lru_cache(4_096)
def says_converse(lemma: str, wording: str, language: str = ENGLISH) -> bool:
    """Whether the name of a relation has the converse of a verb: "learned from" tells who teaches."""
    words = plain(wording).split()
    verbs = {_verb(word, language) for word in words}
    for pair in lexicon(pipeline(language).code).converses:
        for said, converse in (pair, pair[::-1]):
            verb, *preposition = converse.split()
            if said.split()[0] == lemma != verb and verb in verbs and set(preposition) <= set(words):
                return True
    return False


def does(noun: str, wording: str, language: str) -> bool:
    """Whether a noun is the agent noun of a verb in a text: "rider" of "rides for"."""
    ending = next((end for end in lexicon(pipeline(language).code).agent_endings if noun.endswith(end)), "")
    stem = noun.removesuffix(ending)
    if not ending or len(stem) < _LEAST_STEM:
        return False
    verbs = [_verb(word, language) for word in plain(wording).split()]
    return any(stem in (verb, verb.removesuffix("e"), verb + verb[-1:]) for verb in verbs)


def names_deed(verb: str, name: str, language: str = ENGLISH) -> bool:
    """Whether things of a class are deeds that a verb says: rentals of "rent", bookings of "book"."""
    words, reader = words_of(name), pipeline(language)
    noun, base = (reader.lemma(words[-1], "NOUN") if words else ""), verb.removesuffix("e")
    endings = lexicon(reader.code).deed_endings
    return len(base) >= _LEAST_STEM and noun.startswith(base) and noun.removeprefix(base) in endings


def head_for(noun: str, wordings: Sequence[str], language: str = ENGLISH) -> Role | None:
    """What the head of a relation is to the verb of its name, if a noun stands for those who do it: "rider" and "rides
    for", "director" and "directed by"; None if the noun does not."""
    roles = (_role(noun, wording, language) for wording in wordings if does(noun, wording, language))
    return next((role for role in roles if role is not None), None)


def _role(noun: str, wording: str, language: str) -> Role | None:
    first, *others = plain(wording).split()
    is_active = bool(others) and first.endswith("s") and does(noun, first, language)  # "player", `plays instrument`
    return "subject" if is_active else head_of(wording, language)


def same_stem(one: str, other: str, language: str = ENGLISH) -> bool:
    """Whether two words are likely forms of one: "directed" and "director"."""
    if one[:1] == other[:1] and not _shares_stem(one, other):
        one, other = _verb(one, language), _verb(other, language)
    return _shares_stem(one, other)


def _shares_stem(one: str, other: str) -> bool:
    shared = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return shared >= max(_LEAST_STEM, min(len(one), len(other)) - 3)


def _verb(word: str, language: str) -> str:
    return pipeline(language).lemma(word, "VERB")


@functools.lru_cache(4_096)
def head_of(wording: str, language: str = ENGLISH) -> Role | None:
    """What the head of a relation is to the verb that the relation's name holds; None if that is unclear."""
    words = plain(wording).split()
    reader = pipeline(language)
    known = lexicon(reader.code)
    if not words or any(is_mutual(_verb(word, language), word, known.mutual) for word in words):
        return None
    last = words[-1]
    is_agent = len(last) > _LEAST_STEM + 1 and last.endswith(known.agent_endings) and bool(known.agent_endings)
    if last in known.agents or (is_agent and known.genitives.isdisjoint(words)):
        return "object"  # "taught by", "teacher": the tail teaches the head
    is_verb = len(words) == 1 and reader.lemma(last, "VERB") != last
    if _is_adposition(last, language) or (is_verb and (last.endswith("s") or reader.lemma(last, "NOUN") == last)):
        return "subject"  # "student of", "taught at", "directed", "directs"
    return None


def _is_adposition(word: str, language: str) -> bool:
    reader = pipeline(language)
    return word in reader.stop_words and reader.parse(word)[0].pos in ("ADP", "SCONJ", "ADV", "")


def is_mutual(lemma: str, word: str, mutual: frozenset[str]) -> bool:
    """Whether what one does to another, both do."""
    return any(one.startswith(stem) for stem in mutual for one in (lemma, word))
