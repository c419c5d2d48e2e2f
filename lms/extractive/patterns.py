"""Patterns: the question as triple patterns, and how well candidates answer it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from triplecheck.lms.extractive.clauses import Clauses, read_clauses
from triplecheck.lms.extractive.facts import Hops
from triplecheck.lms.extractive.planning import known_names, name_topics
from triplecheck.lms.extractive.question import STOP_WORDS, plain, read_question
from triplecheck.lms.extractive.relevance import LEAST_SUPPORT, Encode, PathRelevance, nearest, phrases
from triplecheck.lms.prompt import Prompt
from triplecheck.signatures.notation import (
    BACKWARD,
    FORWARD,
    Unknown,
    WrittenHop,
    WrittenPattern,
    WrittenRelation,
    names_in,
    read_pattern,
    read_relation,
    wordings,
    write_pattern,
    write_topic,
)

_TARGET = Unknown("x")
# Relations that two hops are made of: pairs of all would be too many.
_MOST_PAIRED = 12
# Of the types at the ends of a relation only the most frequent is known, so another is no proof against it.
_WRONG_TYPE = 0.15
_NEAR = 5  # words beside a name that may say how it is related
_NEARBY = 0.5
_FACTS = " Facts: "
_WORD = re.compile(r"\w+")
_ENDING = re.compile(r"(?:ies|es|s)$")


def write_triplets(prompt: Prompt, encode: Encode) -> dict[str, object]:
    """What the clauses say that name relations of the graph; where none does, what is likely.

    That is for one name in the question the relation, or two, that lead on from it; for several a relation each.
    """
    named = name_topics(prompt)["topics"]
    assert isinstance(named, list)
    relations = [read_relation(item) for item in prompt.items("relations")]
    if not named or not relations:
        return {"triplets": [], "answer": "?x"}
    known = known_names(prompt)
    asked = _asked_type(prompt, named)
    written_names = [(one.spelling, one.name) for one in known]
    clauses = read_clauses(
        prompt.text("question"), written_names, [relation.label for relation in relations], prompt.items("types")
    )
    if clauses.patterns:
        return {"triplets": _lines(clauses), "answer": "?x"}
    types = {one.name: one.types for one in known}
    written = {one.name: one.spelling for one in known}
    topics = [write_topic(name, written[name]) for name in named]
    hops = [hop for relation in relations for hop, _, _ in _both_ways(relation)]
    question = read_question(prompt.text("question"), topics, phrases(hops))
    relevance = PathRelevance(question, encode)
    if len(named) == 1:
        lines = _leading_from(named[0], types[named[0]], relations, relevance, asked)
    else:
        hops_of = {name: _nearest(prompt, written[name], types[name], relations, relevance, encode) for name in named}
        lines = [_line(name, hop, _TARGET, asked) for name, hop in hops_of.items() if hop is not None]
    return {"triplets": lines, "answer": "?x"}


def revise_triplets(prompt: Prompt) -> dict[str, object]:
    """The patterns without those that are at fault; what is left of two that were chained is not mended."""
    reasons = [plain(reason) for reason in prompt.items("reasons")]
    kept = [line for line in prompt.items("failed") if not any(_is_named(line, reason) for reason in reasons)]
    return {"revised": kept, "answer": "?x"}


def score_candidates(prompt: Prompt) -> dict[str, object]:
    """The share of the question's words that stand in each candidate's text, see `_shares`."""
    scores = _shares(prompt.text("question"), prompt.items("candidates"))
    return {"verdicts": [f"{number}: {score:.2f} {reason}" for number, (score, reason) in enumerate(scores, 1)]}


def score_candidate(prompt: Prompt) -> dict[str, object]:
    """The same for one candidate."""
    ((score, reason),) = _shares(prompt.text("question"), [prompt.text("candidate")])
    return {"score": f"{score:.2f}", "reason": reason}


def _lines(clauses: Clauses) -> list[str]:
    def typed(end: str) -> str | Unknown:
        return Unknown(end[1:], clauses.types.get(end)) if end.startswith("?") else end

    patterns = (WrittenPattern(typed(one.head), one.relation, typed(one.tail)) for one in clauses.patterns)
    return [write_pattern(pattern) for pattern in patterns]


def _both_ways(relation: WrittenRelation) -> tuple[tuple[WrittenHop, str, str], ...]:
    """Both ways to follow a relation, each with the types at its start and its end."""
    forward, backward = WrittenHop(relation.label, FORWARD), WrittenHop(relation.label, BACKWARD)
    return (forward, relation.head, relation.tail), (backward, relation.tail, relation.head)


def _leading_from(
    name: str, kinds: Sequence[str], relations: Sequence[WrittenRelation], relevance: PathRelevance, asked: str
) -> list[str]:
    types = ", ".join(kinds)
    single = [((hop,), start, end) for relation in relations for hop, start, end in _both_ways(relation)]
    first = relevance.first_hops([hops[0] for hops, _, _ in single])
    best = [single[i] for i in np.argsort(-first, kind="stable")[:_MOST_PAIRED]]
    double = [
        ((*hops, *more), end, _mismatches((start, types), (middle, again)))
        for hops, start, middle in best
        for more, again, end in best
        if not _turns_back(hops[0], more[0])
    ]
    offered: list[tuple[Hops, str, int]] = [(hops, end, _mismatches((start, types))) for hops, start, end in single]
    offered += double
    scores = relevance.paths([hops for hops, _, _ in offered], [end for _, end, _ in offered])
    scores -= _WRONG_TYPE * np.array([mismatches for _, _, mismatches in offered])
    hops, _, _ = offered[int(scores.argmax())]
    if relevance.support(hops) < LEAST_SUPPORT:
        return []  # a wrong pattern leaves out what a search would find
    starts: list[str | Unknown] = [name]
    ends = [*(Unknown(f"y{i}") for i in range(1, len(hops))), _TARGET]
    return [
        _line(start, hop, end, asked if end == _TARGET else "")
        for start, hop, end in zip([*starts, *ends], hops, ends, strict=False)
    ]


def _nearest(
    prompt: Prompt,
    written: str,
    kinds: Sequence[str],
    relations: Sequence[WrittenRelation],
    relevance: PathRelevance,
    encode: Encode,
) -> WrittenHop | None:
    """The relation that fits the words beside a name, and the question; None where none is named there."""
    types = ", ".join(kinds)
    offered = [entry for relation in relations for entry in _both_ways(relation)]
    scores = relevance.first_hops([hop for hop, _, _ in offered])
    words = _WORD.findall(plain(prompt.text("question")))
    name = _WORD.findall(plain(written))
    at = next((i for i in range(len(words)) if words[i : i + len(name)] == name), 0)
    beside = " ".join([*words[max(at - _NEAR, 0) : at], *words[at + len(name) : at + len(name) + 2]])
    vectors = encode([beside or "what", *(nearest(hop.label) for hop, _, _ in offered)])
    likeness = vectors[1:] @ vectors[0]
    scores = scores + _NEARBY * likeness
    scores -= _WRONG_TYPE * np.array([_mismatches((start, types)) for _, start, _ in offered])
    best = int(scores.argmax())
    hop = offered[best][0]
    return hop if max(likeness[best], relevance.support((hop,))) >= LEAST_SUPPORT else None


def _turns_back(first: WrittenHop, second: WrittenHop) -> bool:
    return first.label == second.label and first.arrow != second.arrow


def _mismatches(*joints: tuple[str, str]) -> int:
    """At how many joints the types on both sides, where they are known, have none in common."""
    return sum(bool(one and other) and {*one.split(", ")}.isdisjoint(other.split(", ")) for one, other in joints)


def _line(start: str | Unknown, hop: WrittenHop, end: Unknown, kind: str) -> str:
    typed = Unknown(end.name, kind or None)
    head, tail = (typed, start) if hop.arrow == BACKWARD else (start, typed)
    return write_pattern(WrittenPattern(head, wordings(hop.label)[0], tail))


def _asked_type(prompt: Prompt, named: Sequence[str]) -> str:
    """The type that the noun after "what", "which" or "how many" names, if it is one of the graph's."""
    words = _WORD.findall(plain(prompt.text("question")))
    starts = [i + 1 for i, word in enumerate(words) if word in ("what", "which", "many")]
    stems = {_stem(" ".join(words[at : at + size])) for at in starts for size in (1, 2)}
    return next((kind for kind in prompt.items("types") if _stem(plain(kind)) in stems), "")


def _is_named(line: str, reason: str) -> bool:
    """Whether a reason names a pattern: all that stands in it stands in the reason, too."""
    pattern = read_pattern(plain(line))
    parts = (pattern.head, pattern.relation or "*", pattern.tail) if pattern else (line,)
    return all(_part(part) in reason for part in parts)


def _part(part: str | Unknown) -> str:
    text = f"?{part.name}" + (f":{part.type}" if part.type else "") if isinstance(part, Unknown) else part
    return names_in(text)[-1].strip("'")


def _shares(question: str, candidates: Sequence[str]) -> list[tuple[float, str]]:
    """The share of the question's words that each candidate has, but for those that its facts prove.

    All that satisfy the same patterns have such facts, so that these words tell nothing among them.
    """
    wanted = {stem: word for word in _WORD.findall(plain(question)) if word not in STOP_WORDS and (stem := _stem(word))}
    scored = []
    for candidate in candidates:
        text, facts = map(_stems, _text_and_facts(candidate))
        unproved = [stem for stem in wanted if stem not in facts]
        found = [stem for stem in unproved if stem in text]
        reason = " ".join(wanted[stem] for stem in wanted if stem in found or stem in facts)
        share = len(found) / len(unproved) if unproved else float(bool(wanted))
        scored.append((share, reason or "no word in common"))
    return scored


def _text_and_facts(candidate: str) -> tuple[str, str]:
    text, mark, facts = candidate.rpartition(_FACTS)
    return (text, facts) if mark else (candidate, "")


def _stems(text: str) -> set[str]:
    return {_stem(word) for word in _WORD.findall(plain(text))}


def _stem(word: str) -> str:
    """A word without its plural ending."""
    return _ENDING.sub("", word) if len(word) > 3 else word
