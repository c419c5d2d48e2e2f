"""Patterns: the question as triple patterns, and how well candidates answer it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from triplecheck.kg.ranker import PathRanker
from triplecheck.language.lexicon import lexicon
from triplecheck.language.parse import stop_words
from triplecheck.language.pipeline import ENGLISH, pipeline
from triplecheck.language.question import read_question
from triplecheck.language.relevance import LEAST_SUPPORT, Encode, PathRelevance, nearest, phrases
from triplecheck.language.text import plain
from triplecheck.lms.extractive.planning import name_topics
from triplecheck.lms.prompt import Prompt, known_names
from triplecheck.signatures.notation import (
    BACKWARD,
    FORWARD,
    Hops,
    WrittenHop,
    WrittenRelation,
    read_relation,
    wordings,
    write_topic,
)
from triplecheck.signatures.query_notation import Unknown, WrittenPattern, write_pattern

_CLAUSE_WORD = re.compile(r"'s\b|[^\W_]+(?:\.[^\W_]+)*|[,;:]")
_ANYTHING = "thing"  # of no type

Kind = Literal["name", "relation", "type", "word"]


@dataclass(frozen=True)
class _Item:
    """Words of the question with one meaning. `value` is the graph's name for it; for a plain word, the word."""

    kind: Kind
    value: str


class _Small:
    """The small words of a language between names, relations and types."""

    def __init__(self, language: str) -> None:
        words = lexicon(pipeline(language).code)
        groups = {group: frozenset(several) for group, several in words.clauses.items()}
        self.indefinite = groups.get("indefinite", frozenset())
        self.articles = self.indefinite | groups.get("definite", frozenset())
        self.between = self.articles | groups.get("auxiliary", frozenset())
        self.relative = groups.get("relative", frozenset())
        self.joins = groups.get("joins", frozenset())
        self.before_clause = self.relative | self.joins | groups.get("opens", frozenset())
        """After these words, a clause about the last named entity begins."""
        self.as_what = groups.get("as", frozenset())
        self.of = words.prepositions
        self.asks = groups.get("asks", frozenset())
        self.asks_otherwise = (words.questions.keys() - self.asks) | (words.genitives - words.prepositions)


@dataclass(frozen=True)
class Clause:
    """A pattern: ends are names, or variables such as `?y1`."""

    head: str
    relation: str
    tail: str


@dataclass(frozen=True)
class Clauses:
    """What the clauses of a question say.

    Attributes:
        patterns: connected with `?x`, which is asked for.
        types: of the variables, where the question names one.
    """

    patterns: tuple[Clause, ...]
    types: dict[str, str]


def read_clauses(
    question: str,
    names: Iterable[tuple[str, str]],
    relations: Sequence[str],
    types: Sequence[str],
    language: str = ENGLISH,
) -> Clauses:
    """Parse the clauses that use the graph's own terms.

    Args:
        names: known names, each as the question writes it and as the graph does.
        relations: each "label" or "label / alias"; the first part names it in a pattern.
    """
    small = _Small(language)
    return _ClauseParser(_items(question, names, relations, types, language, small), small).read()


class _ClauseParser:
    """Parses a question in one pass, from left to right.

    Attributes:
        _frames: subjects of the open clauses, innermost last, each with whether a later verb relates
            it to the one before ("a package that [a package ...] depends on").
    """

    def __init__(self, items: Sequence[_Item], small: _Small) -> None:
        self._items = items
        self._small = small
        self._frames: list[tuple[str, bool]] = [("?x", False)]
        self._patterns: list[Clause] = []
        self._types: dict[str, str] = {}

    def read(self) -> Clauses:
        at = _asked(self._items, self._small)
        if at is None:
            return Clauses((), {})
        self._types["?x"] = self._items[at].value
        at += 1
        while at < len(self._items):
            item = self._items[at]
            if item.kind == "relation":
                at = self._relation(at)
            elif item.kind == "name":
                at = self._name(at)
            elif item.kind == "type":
                if not self._type(at):
                    return Clauses((), {})  # the rest is about an entity that no clause connects
                at += 1
            else:
                if item.value in self._small.joins:
                    self._leave()
                at += 1
        types = {variable: kind for variable, kind in self._types.items() if kind}
        return Clauses(tuple(dict.fromkeys(self._connected())), types)

    @property
    def _about(self) -> str:
        return self._frames[-1][0]

    def _relation(self, at: int) -> int:
        """Parse a relation and its object; return the next position."""
        relation = self._items[at].value
        object_at, of = self._object(at)
        if object_at is not None and self._begins_clause(at):
            if self._items[object_at].kind == "name":
                self._add(relation, self._items[object_at].value, backwards=of)
            else:
                variable = self._variable(object_at)
                self._add(relation, variable, backwards=of)
                self._frames.append((variable, False))
            return object_at + 1
        if object_at is None:
            # "that a package that breaks X depends on": the clause about it is over, and this is its verb.
            while len(self._frames) > 1:
                variable, subject = self._frames.pop()
                if subject:
                    self._patterns.append(Clause(variable, relation, self._about))
                    break
        return at + 1

    def _begins_clause(self, at: int) -> bool:
        """Whether the words before a relation make the last named entity its subject."""
        before = at - 1
        while self._word(before) in self._small.between:
            before -= 1
        return self._word(before) in self._small.before_clause or self._items[before].kind == "type"

    def _object(self, at: int) -> tuple[int | None, bool]:
        """Position of the name or indefinite noun after a relation, and whether "of" is between them."""
        after, of = at + 1, False
        while after < len(self._items) and self._items[after].kind == "word":
            word = self._items[after].value
            if word in self._small.of and not of:
                of = True
            elif word not in self._small.between:
                return None, False
            after += 1
        if after == len(self._items) or self._items[after].kind == "relation":
            return None, False
        definite = self._items[after].kind == "type" and self._word(after - 1) not in self._small.indefinite
        return (None, False) if definite else (after, of)

    def _name(self, at: int) -> int:
        """A name that no relation leads to: "that N depends on", "with N as R"."""
        name, after = self._items[at].value, at + 1
        as_what = self._word(after) in self._small.as_what
        if as_what:
            after += 1 + (self._word(after + 1) in self._small.articles)
        related = after < len(self._items) and self._items[after].kind == "relation"
        if related and (as_what or self._word(at - 1) in self._small.relative):
            self._add(self._items[after].value, name, backwards=not as_what)
            return after + 1
        return at + 1

    def _type(self, at: int) -> bool:
        """A type that no relation leads to: the subject of a clause, or the requested type again."""
        if self._word(at - 1) in self._small.indefinite and self._word(at - 2) in self._small.relative:
            self._frames.append((self._variable(at), True))
            return True
        return self._items[at].value == self._types["?x"]

    def _variable(self, at: int) -> str:
        name = f"?y{len(self._types)}"
        self._types[name] = self._items[at].value
        return name

    def _leave(self) -> None:
        """After "and", the subject is again what is asked for, unless a clause lacks its verb."""
        while len(self._frames) > 1 and not self._frames[-1][1]:
            self._frames.pop()

    def _add(self, relation: str, other: str, *, backwards: bool) -> None:
        ends = (other, self._about) if backwards else (self._about, other)
        self._patterns.append(Clause(ends[0], relation, ends[1]))

    def _connected(self) -> list[Clause]:
        """The patterns that are connected with what is asked for."""
        reached, found = {"?x"}, list[Clause]()
        while new := [p for p in self._patterns if p not in found and not reached.isdisjoint((p.head, p.tail))]:
            found += new
            reached |= {end for p in new for end in (p.head, p.tail) if end.startswith("?")}
        return [p for p in self._patterns if p in found]

    def _word(self, at: int) -> str:
        return self._items[at].value if 0 <= at < len(self._items) and self._items[at].kind == "word" else ""


def _asked(items: Sequence[_Item], small: _Small) -> int | None:
    """Position of the type that is asked for: before any name or relation, and not after "who" or "when"."""
    at = next((at for at, item in enumerate(items) if item.kind != "word"), None)
    if at is None or items[at].kind != "type":
        return None
    before = [item.value for item in items[:at]]
    question_word = next((i for i, word in enumerate(before) if word in small.asks), None)
    between = [] if question_word is None else before[question_word + 1 :]
    wrong = not (small.asks_otherwise | small.of).isdisjoint(before) or not {*between} <= small.between
    return None if wrong else at


def _items(
    question: str,
    names: Iterable[tuple[str, str]],
    relations: Sequence[str],
    types: Sequence[str],
    language: str,
    small: _Small,
) -> list[_Item]:
    """The question as names, relations, types and words: the longest match at each position."""
    words = _CLAUSE_WORD.findall(plain(question))
    base_form = pipeline(language).base_form
    forms = list(map(base_form, words))

    def forms_of(text: str) -> tuple[str, ...]:
        return tuple(map(base_form, _CLAUSE_WORD.findall(plain(text))))

    named: dict[tuple[str, ...], _Item] = {}
    for written, name in names:
        # An alias may contain a relation: "role program", where "role" is one.
        for form in (written, *([name] if plain(written).endswith(plain(name)) else [])):
            named.setdefault(tuple(_CLAUSE_WORD.findall(plain(form))), _Item("name", name))
    related: dict[tuple[str, ...], _Item] = {}
    for relation in relations:
        for wording in wordings(relation):
            related.setdefault(forms_of(wording), _Item("relation", wordings(relation)[0]))
    typed = {forms_of(_ANYTHING): _Item("type", "")} | {forms_of(kind): _Item("type", kind) for kind in types}
    longest = max((len(words) for words in (*named, *related, *typed)), default=1)
    items: list[_Item] = []
    at = 0
    while at < len(words):
        for size in range(min(longest, len(words) - at), 0, -1):
            exact, inflected = tuple(words[at : at + size]), tuple(forms[at : at + size])
            found = [named.get(exact), related.get(inflected), typed.get(inflected)]
            if any(exact[part:] in named and inflected[:part] in related for part in range(1, size)):
                continue  # "role program"
            if any(found):
                items.append(_meant(found, items, small))
                at += size
                break
        else:
            items.append(_Item("word", words[at]))
            at += 1
    return items


def _meant(found: Sequence[_Item | None], before: Sequence[_Item], small: _Small) -> _Item:
    """Of a name, a relation and a type with the same spelling, the one that fits the context before it."""
    name, relation, kind = found
    last = next((item for item in reversed(before) if item.kind != "word" or item.value not in small.between), None)
    if name is not None and last is not None and last.kind == "relation":
        return name
    indefinite = bool(before) and before[-1].value in small.indefinite
    meant = (kind or relation) if indefinite else (relation or kind)
    return meant or name or _Item("word", "")


_TARGET = Unknown("x")
# Relations that are combined into two hops; all pairs would be too many.
_MOST_PAIRED = 12
# Penalty, not exclusion: only the most frequent type at each end of a relation is known.
_WRONG_TYPE = 0.15
_NEAR = 5  # words beside a name that may name its relation
_NEARBY = 0.5
_FACTS = " Facts: "
_WORD = re.compile(r"\w+")


def write_triplets(prompt: Prompt, encode: Encode, ranker: PathRanker | None = None) -> dict[str, object]:
    """The patterns of the clauses that name relations of the graph; without such clauses, the likeliest patterns.

    The likeliest patterns are one or two relations from the name in the question, or one relation from each of several.
    """
    named = name_topics(prompt)["topics"]
    assert isinstance(named, list)
    relations = [read_relation(item) for item in prompt.items("relations")]
    if not named or not relations:
        return {"triplets": [], "answer": "?x"}
    known = known_names(prompt)
    asked = _asked_type(prompt)
    written_names = [(one.spelling, one.name) for one in known]
    labels = [relation.label for relation in relations]
    clauses = read_clauses(prompt.text("question"), written_names, labels, prompt.items("types"), prompt.language)
    if clauses.patterns:
        return {"triplets": _lines(clauses), "answer": "?x"}
    types = {one.name: one.types for one in known}
    written = {one.name: one.spelling for one in known}
    topics = [write_topic(name, written[name]) for name in named]
    hops = [hop for relation in relations for hop, _, _ in _both_ways(relation)]
    question = read_question(prompt.text("question"), topics, phrases(hops), prompt.language)
    # The relations here are those of the graph, not of the name: only a ranker that was trained on it tells them apart.
    own = None if ranker is None or ranker.is_general else ranker
    relevance = PathRelevance(question, encode, own)
    if len(named) == 1:
        lines = _leading_from(named[0], types[named[0]], relations, relevance, asked)
    else:
        hops_of = {
            name: _nearest(prompt, name, written[name], types[name], relations, relevance, encode) for name in named
        }
        lines = [_line(name, hop, _TARGET, asked) for name, hop in hops_of.items() if hop is not None]
    return {"triplets": lines, "answer": "?x"}


def score_candidates(prompt: Prompt) -> dict[str, object]:
    """The share of the question's words in each candidate's text, see `_shares`."""
    scores = _shares(prompt.text("question"), prompt.items("candidates"), prompt.language)
    return {"verdicts": [f"{number}: {score:.2f} {reason}" for number, (score, reason) in enumerate(scores, 1)]}


def score_candidate(prompt: Prompt) -> dict[str, object]:
    """The same for one candidate."""
    ((score, reason),) = _shares(prompt.text("question"), [prompt.text("candidate")], prompt.language)
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
    first = relevance.first_hops([hops[0] for hops, _, _ in single], [name] * len(single))
    best = [single[i] for i in np.argsort(-first, kind="stable")[:_MOST_PAIRED]]
    double = [
        ((*hops, *more), end, _mismatches((start, types), (middle, again)))
        for hops, start, middle in best
        for more, again, end in best
        if hops[0].label != more[0].label or hops[0].arrow == more[0].arrow  # not there and back
    ]
    offered: list[tuple[Hops, str, int]] = [(hops, end, _mismatches((start, types))) for hops, start, end in single]
    offered += double
    scores = relevance.paths([hops for hops, _, _ in offered], [end for _, end, _ in offered], [name] * len(offered))
    scores -= _WRONG_TYPE * np.array([mismatches for _, _, mismatches in offered])
    hops, _, _ = offered[int(scores.argmax())]
    if relevance.support(hops) < LEAST_SUPPORT:
        return []  # a wrong pattern excludes what a search would find
    starts: list[str | Unknown] = [name]
    ends = [*(Unknown(f"y{i}") for i in range(1, len(hops))), _TARGET]
    return [
        _line(start, hop, end, asked if end == _TARGET else "")
        for start, hop, end in zip([*starts, *ends], hops, ends, strict=False)
    ]


def _nearest(
    prompt: Prompt,
    name: str,
    written: str,
    kinds: Sequence[str],
    relations: Sequence[WrittenRelation],
    relevance: PathRelevance,
    encode: Encode,
) -> WrittenHop | None:
    """The relation that fits the words beside a name and the question; None if there is none."""
    types = ", ".join(kinds)
    offered = [entry for relation in relations for entry in _both_ways(relation)]
    scores = relevance.first_hops([hop for hop, _, _ in offered], [name] * len(offered))
    words = _WORD.findall(plain(prompt.text("question")))
    spelt = _WORD.findall(plain(written))
    at = next((i for i in range(len(words)) if words[i : i + len(spelt)] == spelt), 0)
    beside = " ".join([*words[max(at - _NEAR, 0) : at], *words[at + len(spelt) : at + len(spelt) + 2]])
    vectors = encode([beside or "what", *(nearest(hop.label) for hop, _, _ in offered)])
    likeness = vectors[1:] @ vectors[0]
    scores = scores + _NEARBY * likeness
    scores -= _WRONG_TYPE * np.array([_mismatches((start, types)) for _, start, _ in offered])
    best = int(scores.argmax())
    hop = offered[best][0]
    return hop if max(likeness[best], relevance.support((hop,))) >= LEAST_SUPPORT else None


def _mismatches(*joints: tuple[str, str]) -> int:
    """The number of joints where the known types of both sides are disjoint."""
    return sum(bool(one and other) and {*one.split(", ")}.isdisjoint(other.split(", ")) for one, other in joints)


def _line(start: str | Unknown, hop: WrittenHop, end: Unknown, kind: str) -> str:
    typed = Unknown(end.name, kind or None)
    head, tail = (typed, start) if hop.arrow == BACKWARD else (start, typed)
    return write_pattern(WrittenPattern(head, wordings(hop.label)[0], tail))


def _asked_type(prompt: Prompt) -> str:
    """The type that the noun after "what", "which" or "how many" names, if it is one of the graph's."""
    words = _WORD.findall(plain(prompt.text("question")))
    asks = _Small(prompt.language).asks
    starts = [i + 1 for i, word in enumerate(words) if word in asks]
    asked = {tuple(_forms(" ".join(words[at : at + size]), prompt.language)) for at in starts for size in (1, 2)}
    return next((kind for kind in prompt.items("types") if tuple(_forms(kind, prompt.language)) in asked), "")


def _shares(question: str, candidates: Sequence[str], language: str) -> list[tuple[float, str]]:
    """The share of the question's words in each candidate's text, without the words in its facts.

    All candidates of the same patterns have such facts, so these words do not tell them apart.
    """
    content = [word for word in _WORD.findall(plain(question)) if word not in stop_words(language)]
    wanted = dict(zip(map(pipeline(language).base_form, content), content, strict=True))
    scored = []
    for candidate in candidates:
        text, facts = (set(_forms(part, language)) for part in _text_and_facts(candidate))
        unproved = [form for form in wanted if form not in facts]
        found = [form for form in unproved if form in text]
        reason = " ".join(wanted[form] for form in wanted if form in found or form in facts)
        share = len(found) / len(unproved) if unproved else float(bool(wanted))
        scored.append((share, reason or "no word in common"))
    return scored


def _text_and_facts(candidate: str) -> tuple[str, str]:
    text, mark, facts = candidate.rpartition(_FACTS)
    return (text, facts) if mark else (candidate, "")


def _forms(text: str, language: str) -> list[str]:
    """The base forms of the words of a text."""
    return list(map(pipeline(language).base_form, _WORD.findall(plain(text))))
