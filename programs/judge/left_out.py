"""What a question says and its proof does not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from triplecheck.kg import Direction, Graph, normalize
from triplecheck.kg.values import quantity, value_of
from triplecheck.language.coverage import attributes, unasked, unnamed_nouns, unnamed_words, unordered, unsayable
from triplecheck.language.described import nouns, places
from triplecheck.language.kinds import kinds_of, named_like_things
from triplecheck.language.likeness import NAMES_NOUN
from triplecheck.language.operations import Limit, degree
from triplecheck.language.question import Question
from triplecheck.language.relevance import Encode
from triplecheck.language.roles import head_for, head_to, is_mutual, verbs_of
from triplecheck.language.times import TimeLimit
from triplecheck.programs.judge.proof import Proof
from triplecheck.signatures.notation import FORWARD, wordings

_MEMBERS = 50  # of a class, whose names are read
_MOST_CLASSES = 64  # among which one of persons is looked for
_LOOKED_AT = 3  # answers, for relations that lead further
_SAME_NAME = 0.8
"""Cosine from which a relation may have a name, in the singular or the plural."""
_NUMBER = re.compile(r"\d+")
_COMPUTED_FOR = {
    "count": {"count", "sum", "difference"},
    "sum": {"sum"},
    "average": {"average"},
    "difference": {"difference"},
}
"""What may be computed for each `Aggregate.kind` that a question asks for."""


def uncovered(proof: Proof) -> list[str]:
    """The conditions of the question that the proof says nothing of, in the question's words."""
    read, words, computed = proof.parsed, _words(proof), proof.computed
    proved = proof.proved_time
    words |= set(normalize(proved).split())
    bounds: list[Limit | TimeLimit] = [*read.limits, *read.times]
    found = [one.text for one in bounds if one.text not in proved and one.is_bound]
    limits = set(normalize(" ".join(found)).split())
    found += [text for text in read.numbers if not set(normalize(text).split()) <= words | limits]
    found += [negation.text for negation in read.negations]
    found += [text for text in read.parse.lexicon.excluding if read.parse.find([text]) is not None]
    if read.compares and not computed & {"max", "min"} and not proof.says_yes_or_no:
        found += [text for text in (read.compares.text,) if text not in words | limits]
    if not computed & {"max", "min"}:
        found += [text for _, text in unordered(read) if text not in words | limits]
    if read.ordinal is not None:
        found.append(read.ordinal.text)  # no operation takes the n-th
    if (asked := read.aggregate) is not None and computed.isdisjoint(_COMPUTED_FOR[asked.kind]):
        named = set(normalize(asked.text).split()) <= words
        found += [] if named or (asked.kind == "count" and proof.kind == "number") else [asked.text]
    found += [word for _, word in unsayable(read)]
    if len(chain := proof.parsed.chain) > max(map(len, proof.paths), default=0):
        found.append(min(chain, key=lambda text: proof.coverage.get(text, 0.0)))
    found += [*_opposed(proof), *_of_others(proof), *_no_number(proof), *_against_verb(proof), *_against_agent(proof)]
    found += [*_against_noun(proof), *_no_place(proof), *_described(proof)]
    found += _not_asked(proof)
    bases = proof.likeness.bases
    found += [
        name
        for name in read.names
        if words.isdisjoint(normalize(name).split()) and bases(name).isdisjoint(bases(" ".join(words)))
    ]
    nodes = {end for head, _, tail in proof.found.evidence for end in (head, tail)}
    for mention, meant in proof.mentions.items():
        if normalize(mention) in normalize(proof.question) and not meant & nodes:
            found.append(mention)
    return list(dict.fromkeys(found))


def unnamed(proof: Proof) -> list[str]:
    """The words of the question that neither proof nor topics' classes name; nouns if the graph has classes."""
    said = [wording for path in proof.paths for hop in path for wording in wordings(hop.label)]
    said += [proof.graph.type_label(kind) for node in proof.topics for kind in proof.graph.types(node)]
    names = list(dict.fromkeys([*said, *proof.types]))
    words = unnamed_words(proof.parsed, names, proof.likeness)
    if not proof.graph.has_types:  # nothing could name the class that is asked for
        words = [word for word in words if word.casefold() not in proof.parsed.asked.noun.casefold().split()]
    left = unnamed_nouns(proof.parsed, names, proof.likeness) if proof.graph.has_types else []
    found = [*words, *left, *_unnamed_value(proof, names), *further(proof)]
    if is_no_person(proof.graph, proof.parsed, proof.topics, proof.found.answers, proof.encode):
        found.append(proof.parsed.asked.word)
    return list(dict.fromkeys(found))


def _unnamed_value(proof: Proof, names: list[str]) -> list[str]:
    """The noun that is asked for, if the answer is a value and no relation is named so: a value has no class."""
    asked, parse = proof.parsed.asked, proof.parsed.parse
    if not asked.noun and asked.kind == "thing" and asked.word and proof.kind == "time" and not proof.computed:
        own = (parse.words[at] for at in range(len(parse)) if parse.is_noun(at))
        if all(proof.likeness.of_word(noun, names) < NAMES_NOUN for noun in own):
            return [asked.word]  # "what did X die of" is no date
    is_value = proof.kind in ("number", "time") and not proof.computed
    is_named = not asked.noun or proof.likeness.of_word(asked.lemma, names) >= NAMES_NOUN
    return [asked.noun] if is_value and asked.kind == "thing" and not is_named else []


def _no_number(proof: Proof) -> list[str]:
    """The question word, if "how much" or "how long" is answered by things that are no quantities."""
    answers = proof.found.answers
    if proof.parsed.asked.kind != "number" or proof.parsed.counts or proof.computed or not answers:
        return []
    told = any(quantity(value_of(proof.graph, node)) is not None for node in answers)
    return [] if told else [proof.parsed.asked.word]


def _not_asked(proof: Proof) -> list[str]:
    """The question word, if code counted or summed and the question asks for no number: "which club" is not 1."""
    read, lexicon = proof.parsed, proof.parsed.parse.lexicon
    numbers = proof.computed & {"count", "sum", "average", "difference"}
    asks = read.counts or read.aggregate is not None or read.compares is not None or bool(read.limits)
    if not numbers or asks or read.asks_whether or not lexicon.quantities:
        return []
    return [read.asked.word or read.asked.noun or read.parse.words[0]]


def answers_another(proof: Proof) -> bool:
    """Whether "why" is answered without a reason, or "when" by a date of one thing where the question joins two."""
    return _lacks_reason(proof) or _is_of_other_time(proof)


def _lacks_reason(proof: Proof) -> bool:
    """Whether no name of a relation has a word for the reason that "why" asks for."""
    reasons = proof.parsed.parse.lexicon.reasons
    if proof.parsed.asked.kind != "reason" or not reasons:
        return False
    said = {word for path in proof.paths for hop in path for word in normalize(hop.label).split()}
    return said.isdisjoint(reasons)


def _is_of_other_time(proof: Proof) -> bool:
    """Whether no word names the date that answers "when", and the question joins two topics: "since when does X play
    for Y" asks for no date of Y alone."""
    asks = proof.parsed.asked.kind == "time" and proof.is_time and not proof.computed & {"max", "min"}
    if not asks or len(proof.mentions) < 2 or proof.found.query:
        return False
    last = [wordings(path[-1].label) for path in proof.paths if path]
    return bool(last) and len(unasked(proof.parsed, last, proof.likeness, besides_noun=True)) == len(last)


def is_no_person(graph: Graph, read: Question, topics: Iterable[int], answers: Sequence[int], encode: Encode) -> bool:
    """Whether "who" is answered by persons and other things, or by a thing: its class has the names of things. In a
    graph without persons, it is also that of a topic or of a noun."""
    own = {kind: graph.type_label(kind) for node in answers[:1] for kind in graph.types(node)}
    labels = list(own.values())
    if read.asked.kind != "person" or not own:
        return False
    if _are_mixed(graph, read, answers, encode):
        return True
    kinds = kinds_of(labels, encode, read.language)
    if "person" in kinds:
        return False
    if kinds and "group" not in kinds and _is_described(read, labels):
        return True
    if "group" in kinds and _asks_who_is_in(read, labels) and _has_persons(graph, read.language, encode):
        return True
    if "group" not in kinds and _has_persons(graph, read.language, encode):
        said = set(own)
    else:
        said = {kind for node in topics for kind in graph.types(node)}
        said |= {kind for kind, label in own.items() if label in nouns(read, labels)}
    members = (graph.nodes_of_type(kind)[:_MEMBERS].tolist() for kind in own.keys() & said)
    return any(named_like_things(graph.labels(some), read.language) for some in members)


def _is_described(read: Question, labels: Sequence[str]) -> bool:
    """Whether the question names a class and asks for what belongs to it: "who is the landlord of the pub with the most
    seats" is not answered by a pub."""
    parse, best = read.parse, -1 if read.compares is None else read.compares.at
    return any(
        not place.start <= read.asked.at < place.end
        and parse.is_a(place.end - 1, "nmod", "nmod:poss")
        and parse.is_noun(parse.tokens[place.end - 1].head)
        and parse.tokens[place.end - 1].head != best  # "the oldest of the horses"
        for place in places(read, labels)
    )


def _asks_who_is_in(read: Question, labels: Sequence[str]) -> bool:
    """Whether a preposition stands before a class: "who is in the team" is not answered by the team."""
    return any(read.parse.dependents(place.end - 1, "case") for place in places(read, labels))


def _are_mixed(graph: Graph, read: Question, answers: Sequence[int], encode: Encode) -> bool:
    """Whether some answers are persons, and others neither persons nor groups of them."""
    classes = {tuple(sorted(map(graph.type_label, graph.types(node)))) for node in answers}
    kinds = [kinds_of(labels, encode, read.language) for labels in sorted(classes) if labels]
    return any("person" in one for one in kinds) and any(one.isdisjoint(("person", "group")) for one in kinds)


def _has_persons(graph: Graph, language: str, encode: Encode) -> bool:
    """Whether the graph has a class that surely contains persons."""
    return "person" in kinds_of(map(graph.type_label, graph.type_ids[:_MOST_CLASSES]), encode, language)


def further(proof: Proof) -> list[str]:
    """The noun that is asked for, if it names a relation of the answer or of a topic, and none of the proof: what lies
    beyond, or beside."""
    bases = proof.likeness.bases
    asked, answers = bases(proof.parsed.asked.lemma), list(proof.found.answers[:_LOOKED_AT])
    if not asked or not answers:
        return []

    def named(relations: Iterable[int]) -> bool:
        abouts = map(proof.graph.relation, relations)
        return any(asked <= bases(name) for about in abouts for name in (about.label, *about.aliases))

    starts = dict.fromkeys([*answers, *list(proof.topics)[:_LOOKED_AT]])
    counts = proof.graph.relation_counts(list(starts))
    further = (count.relation for count in counts if count.direction is Direction.OUT)
    reached = named(relation for _, relation, _ in proof.found.evidence)
    return [proof.parsed.asked.noun] if not reached and named(further) else []


def other_names(proof: Proof) -> list[str]:
    """The topics whose number the question does not say, though it says another one: "the race of 2015"."""
    said = {
        node: _NUMBER.findall(name)
        for node, name in zip(proof.topics, proof.graph.labels(list(proof.topics)), strict=True)
    }
    asked = Counter(_NUMBER.findall(proof.question))
    other = asked - Counter(number for numbers in said.values() for number in numbers)
    return proof.graph.labels([node for node, numbers in said.items() if other and not set(numbers) <= asked.keys()])


def _opposed(proof: Proof) -> list[str]:
    """Words of the question whose opposite is in a relation of the proof, as "born" and `date of death`."""
    hops = [hop for path in proof.paths for hop in path]
    asked = {*proof.parsed.words, *proof.parsed.lemmas}
    found = []
    for one, other, has_converse in proof.parsed.parse.lexicon.opposites:
        followed = [hop for hop in hops if hop.arrow == FORWARD] if has_converse else hops
        said = {word for hop in followed for word in normalize(hop.label).split()}
        for own, opposite in ((set(one), set(other)), (set(other), set(one))):
            if asked & own and said & opposite and not asked & opposite and not said & own:
                found += [word for word in proof.parsed.words if word in own][:1] or [min(asked & own)]
    return found


def _against_verb(proof: Proof) -> list[str]:
    """The verbs for which the question and the proof disagree whether a topic is the subject or the object."""
    hops = [path[0] for path in proof.paths if len(path) == 1]
    found = []
    for verb in verbs_of(proof.parsed.parse):
        roles = [(head_to(verb, wordings(hop.label), proof.language), hop.arrow == FORWARD) for hop in hops]
        if any(role is not None and (role == verb.topic) != forward for role, forward in roles):
            found.append(verb.text)
    return found


def _against_agent(proof: Proof) -> list[str]:
    """The noun that is asked for, if it stands for those who do what a relation of the proof says, and the relation is
    followed to what they do it to: "the riders of X" are no teams that something rides for."""
    last = [path[-1] for path in proof.paths if path]
    roles = [(head_for(proof.parsed.asked.lemma, wordings(hop.label), proof.language), hop.arrow) for hop in last]
    is_wrong = any(role is not None and (role == "subject") == (arrow == FORWARD) for role, arrow in roles)
    return [proof.parsed.asked.noun] if is_wrong else []


def _against_noun(proof: Proof) -> list[str]:
    """The noun that is asked for, if it is the name of the last relation and the answers are what has the things of
    that name: "which engineers" is not answered by bridges that have an engineer. Answers of a class of that name are
    right, and so are those of a mutual relation."""
    asked, parse = proof.parsed.asked, proof.parsed.parse
    bases = proof.likeness.bases
    noun, role = bases(asked.noun), bases(asked.lemma)
    last = {path[-1].label for path in proof.paths if path and path[-1].arrow != FORWARD}
    named = [name for label in last for name in wordings(label) if name.split() and role]
    named = [name for name in named if bases(name) == noun or bases(name.split()[-1]) == role]
    is_noun = any(
        parse.lexicon.prepositions.isdisjoint(name.split()) and not is_mutual(asked.lemma, name, parse.lexicon.mutual)
        for name in named
    )
    if not is_noun or any(role <= bases(label) for label in proof.types):
        return []
    # The relation must lead to what the noun says: `member` may lead from a singer to a choir.
    starts = {tail for _, _, tail in proof.found.evidence} - {*proof.found.answers}
    labels = [proof.graph.type_label(kind) for node in starts for kind in proof.graph.types(node)]
    are_persons = all("person" in kinds_of(some, proof.encode, proof.language) for some in ([asked.lemma], labels))
    return [asked.noun] if are_persons or any(bases(label) == role for label in labels) else []


def _described(proof: Proof) -> list[str]:
    """The adjectives of what is asked for that name a relation of the answers, if the proof has none so called:
    "organic farms", of `certified organic`."""
    parse, at = proof.parsed.parse, proof.parsed.asked.at
    adjectives = [i for i in parse.dependents(at, "amod") if not degree(parse, i)] if at >= 0 else []
    answers = list(proof.found.answers[:_LOOKED_AT])
    if not adjectives or not answers:
        return []
    bases = proof.likeness.bases
    counts = proof.graph.relation_counts(answers)
    own = {base for count in counts for base in bases(proof.graph.relation(count.relation).label)}
    own -= {base for path in proof.paths for hop in path for base in bases(hop.label)}
    return [parse.words[i] for i in adjectives if not bases(parse.words[i]).isdisjoint(own)]


def _no_place(proof: Proof) -> list[str]:
    """The question word, if "where" is answered by what a relation is followed back to, and that is no place or group:
    where a hall is, is not what takes place in it."""
    back = [path[-1].arrow != FORWARD for path in proof.paths if path]
    if proof.parsed.asked.kind != "place" or not back or not all(back) or not proof.types:
        return []
    kinds = kinds_of(proof.types, proof.encode, proof.language)
    return [proof.parsed.asked.word] if kinds.isdisjoint(("place", "group", None)) else []


def _of_others(proof: Proof) -> list[str]:
    """What a topic is asked to have, if relations of the graph have that name and none of the proof has it."""
    relations = proof.relations
    if relations is None or proof.computed:
        return []
    bases = proof.likeness.bases
    kinds = [*proof.types, *(hop.label for path in proof.paths for hop in path)]
    found = []
    for tokens in attributes(proof.parsed.parse):
        words = " ".join(proof.parsed.words[at] for at in tokens)
        near = np.flatnonzero(relations.against(words) >= _SAME_NAME).tolist()
        abouts = map(proof.graph.relation, near)
        names = {bases(name) for about in abouts for name in (about.label, *about.aliases)}
        if bases(words) in names and not any(bases(words) <= bases(name) for name in kinds):
            found.append(words)
    return found


def _words(proof: Proof) -> set[str]:
    """Words of everything that the evidence names, and of the topics."""
    nodes = {end for head, _, tail in proof.found.evidence for end in (head, tail)} | set(proof.topics)
    texts = [*proof.graph.labels(sorted(nodes)), *proof.topics.values(), *proof.types]
    texts += [hop.label for path in proof.paths for hop in path]
    for node in list(nodes)[:50]:
        if proof.graph.literal(node) is None:
            texts += proof.graph.entity(node).aliases
    return {word for text in texts for word in normalize(text).split()}
