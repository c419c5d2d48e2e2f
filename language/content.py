"""Which words of a question say something that a graph must say, too."""

from __future__ import annotations

from collections.abc import Collection

from triplecheck.language.operations import compared, counts_all, degree, is_unit
from triplecheck.language.parse import Parse

_LONGEST_FILLER, _LONGEST_EXCLUSION = 4, 3  # words


def content_words(parse: Parse, taken: Collection[int]) -> frozenset[int]:
    """The tokens that say something that a graph must say, too.

    Args:
        taken: tokens that say an operation, a bound or a time, and so are none.
    """
    return frozenset(at for at in range(len(parse)) if at not in taken and _is_content(parse, at))


def _is_content(parse: Parse, at: int) -> bool:
    lexicon, said = parse.lexicon, {parse.words[at], parse.lemma(at)}
    if parse.is_topic(at) or parse.words[at] in lexicon.questions:
        return False
    if parse.is_stop(at) and not _is_manner(parse, at):
        return False
    if degree(parse, at) or compared(parse, at) is not None:
        return False
    if not said.isdisjoint(lexicon.containers) or not said.isdisjoint(lexicon.negations):
        return False
    if _is_of_speakers(parse, at) or _is_emphatic(parse, at) or _is_wanted_unit(parse, at) or _have_both(parse, at):
        return False
    asks_who = any(lexicon.questions.get(word) == "person" for word in parse.words)
    if asks_who and not said.isdisjoint(lexicon.persons) and not parse.dependents(at, "acl"):
        return False  # "who is the oldest person"
    if counts_all(parse, at):
        return False
    return not _is_in(parse, at, lexicon.excluding, _LONGEST_EXCLUSION) and not _is_in_filler(parse, at)


def _have_both(parse: Parse, verb: int) -> bool:
    """Whether a verb says that each of two things has what is asked for: "which teacher do A and B share"."""
    subjects = filter(parse.is_topic, parse.dependents(verb, "nsubj"))
    are_two = any(map(parse.is_topic, (i for at in subjects for i in parse.dependents(at, "conj"))))
    return are_two and parse.pos(verb) == "VERB" and parse.lemma(verb) in parse.lexicon.same


def fillers(parse: Parse) -> set[int]:
    """The tokens of phrases that say nothing of a graph, such as "take place"."""
    return {at for at in range(len(parse)) if _is_in_filler(parse, at)}


def _is_in_filler(parse: Parse, at: int) -> bool:
    return _is_in(parse, at, parse.lexicon.fillers, _LONGEST_FILLER)


def settings(parse: Parse) -> frozenset[int]:
    """The nouns for what a whole graph may be about, if that is what a verb or an adjective says something with: "who
    joined the club first", "the works that we play this season", "the club's treasurer".

    If no name of the graph has the noun, it is no condition.
    """
    known = parse.lexicon.settings
    return frozenset(
        at
        for at in range(len(parse))
        if (parse.lemma(at) in known or _is_of_superlative(parse, at)) and _is_setting(parse, at)
    )


def owners(parse: Parse) -> frozenset[int]:
    """The nouns that may have all that is asked for: "how many boats does the school have"."""
    subjects = (at for at in range(len(parse)) if parse.is_a(at, "nsubj") and _is_setting(parse, at))
    return frozenset(at for at in subjects if parse.is_stop(parse.tokens[at].head))


def _is_setting(parse: Parse, noun: int) -> bool:
    """Whether "the", "this" or "our" is all that stands beside a noun in the singular. "The boats of the club" may be
    those of one club, and "the club with the most boats" is one."""
    determiners = parse.dependents(noun, "det", "nmod:poss")
    tokens = [parse.tokens[i] for i in determiners]
    is_definite = any(
        one.feature("Definite") == "Def" or one.feature("PronType") == "Dem" or one.feature("Person") == "1"
        for one in tokens
    )
    others = {*parse.dependents(noun, "amod", "compound", "nmod", "acl", "appos", "nummod", "flat")} - {*determiners}
    owns = parse.is_a(noun, "nmod:poss")
    is_apart = parse.is_a(noun, "obj", "obl", "nsubj") or owns or _is_of_superlative(parse, noun)
    is_bare = is_definite and not others and (owns or not _is_told_apart(parse, noun)) and not parse.is_plural(noun)
    return parse.pos(noun) == "NOUN" and is_apart and is_bare


def _is_of_superlative(parse: Parse, noun: int) -> bool:
    """Whether a noun only says among what something is the first: "the oldest rider in the club"."""
    head = parse.tokens[noun].head
    orders = degree(parse, head) == "Sup" or any(degree(parse, i) == "Sup" for i in parse.dependents(head, "amod"))
    return orders and parse.is_a(noun, "nmod", "obl") and bool(parse.dependents(noun, "case"))


def _is_told_apart(parse: Parse, noun: int) -> bool:
    """Whether words right behind a noun say which one is meant: "the club with the most members". A time does not:
    "joined the club in 2019"."""
    after = noun + 1 < len(parse) and parse.pos(noun + 1) in ("ADP", "SCONJ", "PRON")
    return after and not (noun + 2 < len(parse) and parse.words[noun + 2][0].isdigit())


def told_by_clause(parse: Parse, at: int) -> bool:
    """Whether a noun only means "someone", and a relative clause says who: "the person who trained X"."""
    is_one = parse.words[at] in parse.lexicon.persons and not parse.is_plural(at)
    clauses = parse.dependents(at, "acl:relcl") if is_one else []
    of_others = (i for verb in clauses for i in parse.dependents(verb, "obj") if parse.pos(i) == "PRON")
    return bool(clauses) and not any(i > at + 1 for i in of_others)  # not of "the person who trained them"


def _is_manner(parse: Parse, at: int) -> bool:
    """Whether a token is an adverb of manner after a light verb, such as "well" in "went well"."""
    verb = parse.tokens[at].head
    is_light = parse.pos(verb) == "VERB" and parse.is_stop(verb)
    return is_light and at == verb + 1 and parse.pos(at) == "ADV" and not degree(parse, at)


def _is_of_speakers(parse: Parse, at: int) -> bool:
    """Whether a verb or a noun belongs to those who ask: "the services that we run", "on our list". A verb whose object
    is a question word alone does not: "what did we pay for X"."""
    if any(parse.lexicon.questions.get(parse.words[i]) in ("thing", "person") for i in parse.dependents(at, "obj")):
        return False
    below = parse.dependents(at, "nsubj") if parse.pos(at) == "VERB" else parse.dependents(at, "nmod:poss")
    in_place = parse.pos(at) == "VERB" or (parse.is_a(at, "nmod", "obl") and parse.dependents(at, "case"))
    return bool(in_place) and any(parse.tokens[i].feature("Person") in ("1", "2") for i in below)


def _is_wanted_unit(parse: Parse, at: int) -> bool:
    """Whether a word is the unit that a value is asked for in: "the average length in metres"."""
    within = parse.lexicon.times.get("within", ())
    return at > 0 and parse.words[at - 1] in within and parse.is_a(at, "nmod", "obl") and is_unit(parse.words[at])


def _is_emphatic(parse: Parse, at: int) -> bool:
    """Whether an adjective only stresses a negation before it: "has not won a single race"."""
    denied = any({parse.words[i], parse.lemma(i)} & parse.lexicon.negations for i in range(at))
    return denied and parse.lemma(at) in parse.lexicon.emphatic and parse.is_a(at, "amod")


def _is_in(parse: Parse, at: int, phrases: Collection[str], longest: int) -> bool:
    """Whether a token belongs to one of some phrases of at most `longest` words."""
    starts = range(max(at - longest + 1, 0), at + 1)
    return any(at < parse.said(start, phrase) for start in starts for phrase in phrases)
