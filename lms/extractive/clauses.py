"""Requests for a thing of some type, described by clauses in the graph's own words, as triple patterns.

"Find a package that depends on a package that is built from X": where the type that is asked for comes first, and
then relations, known names and types side by side, grammar says which is the head and which the tail, and no
similarity has to guess. Everything else ("the genres of films written by X") is left to
`lms.extractive.patterns`. English only, by closed lists of function words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from triplecheck.lms.extractive.question import plain
from triplecheck.signatures.notation import wordings

_WORD = re.compile(r"'s\b|[^\W_]+(?:\.[^\W_]+)*|[,;:]")
_ENDING = re.compile(r"(?:ies|es|ed|s|e|d)$")
_INDEFINITE = frozenset("a an any some another".split())
_ARTICLES = _INDEFINITE | {"the", "its", "their"}
_BE = frozenset("is are was were be being been has have had".split())
_RELATIVE = frozenset("that which".split())
_NEXT = frozenset("and or but , ;".split())
# After these a clause begins about the thing that was named last.
_BEFORE_CLAUSE = _RELATIVE | _NEXT | {"whose", "with", "there"}
_PREPOSITIONS = frozenset("by in on of from with to for at as".split())
_ANYTHING = "thing"  # of no type
_ASKS_OTHERWISE = frozenset("who whom whose when where how why 's".split())

Kind = Literal["name", "relation", "type", "word"]


@dataclass(frozen=True)
class _Item:
    """Words of the question that mean one thing: `value` is how the graph calls it, for a word the word."""

    kind: Kind
    value: str


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
    question: str, names: Iterable[tuple[str, str]], relations: Sequence[str], types: Sequence[str]
) -> Clauses:
    """The clauses that are put in the graph's own words.

    Args:
        question: the question.
        names: known names, each as the question writes it and as the graph does.
        relations: each "label" or "label / alias"; the first part names it in a pattern.
        types: of the graph.
    """
    return _Reader(_items(question, names, relations, types)).read()


class _Reader:
    """Goes over a question once, from left to right.

    Attributes:
        _frames: variables that clauses are about, innermost last, each with whether a verb is still to
            come that says what it does to the one before ("a package that [a package ...] depends on").
    """

    def __init__(self, items: Sequence[_Item]) -> None:
        self._items = items
        self._frames: list[tuple[str, bool]] = [("?x", False)]
        self._patterns: list[Clause] = []
        self._types: dict[str, str] = {}

    def read(self) -> Clauses:
        at = _asked(self._items)
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
                    return Clauses((), {})  # what follows is said of something that no clause connects
                at += 1
            else:
                if item.value in _NEXT:
                    self._leave()
                at += 1
        types = {variable: kind for variable, kind in self._types.items() if kind}
        return Clauses(tuple(dict.fromkeys(self._connected())), types)

    @property
    def _about(self) -> str:
        return self._frames[-1][0]

    def _relation(self, at: int) -> int:
        """A relation, with what it leads to; where that stands is where reading goes on."""
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
        """Whether what stands before a relation says that it is about the thing named last."""
        before = at - 1
        while self._word(before) in _ARTICLES | _BE:
            before -= 1
        return self._word(before) in _BEFORE_CLAUSE or self._items[before].kind == "type"

    def _object(self, at: int) -> tuple[int | None, bool]:
        """Where the name or the indefinite noun after a relation stands, and whether it is "the R of" that."""
        after, of = at + 1, False
        while after < len(self._items) and self._items[after].kind == "word":
            word = self._items[after].value
            if word == "of" and not of:
                of = True
            elif word not in _ARTICLES and word not in _BE:
                return None, False
            after += 1
        if after == len(self._items) or self._items[after].kind == "relation":
            return None, False
        definite = self._items[after].kind == "type" and self._word(after - 1) not in _INDEFINITE
        return (None, False) if definite else (after, of)

    def _name(self, at: int) -> int:
        """A name that no relation leads to: "that N depends on", "with N as R"."""
        name, after = self._items[at].value, at + 1
        as_what = self._word(after) == "as"
        if as_what:
            after += 1 + (self._word(after + 1) in _ARTICLES)
        related = after < len(self._items) and self._items[after].kind == "relation"
        if related and (as_what or self._word(at - 1) in _RELATIVE):
            self._add(self._items[after].value, name, backwards=not as_what)
            return after + 1
        return at + 1

    def _type(self, at: int) -> bool:
        """A type that no relation leads to: the subject of a clause, or what is asked for once more."""
        if self._word(at - 1) in _INDEFINITE and self._word(at - 2) in _RELATIVE:
            self._frames.append((self._variable(at), True))
            return True
        return self._items[at].value == self._types["?x"]

    def _variable(self, at: int) -> str:
        name = f"?y{len(self._types)}"
        self._types[name] = self._items[at].value
        return name

    def _leave(self) -> None:
        """An "and" goes on with what is asked for, unless a clause lacks its verb."""
        while len(self._frames) > 1 and not self._frames[-1][1]:
            self._frames.pop()

    def _add(self, relation: str, other: str, *, backwards: bool) -> None:
        ends = (other, self._about) if backwards else (self._about, other)
        self._patterns.append(Clause(ends[0], relation, ends[1]))

    def _connected(self) -> list[Clause]:
        """The patterns that lead to what is asked for."""
        reached, found = {"?x"}, list[Clause]()
        while new := [p for p in self._patterns if p not in found and not reached.isdisjoint((p.head, p.tail))]:
            found += new
            reached |= {end for p in new for end in (p.head, p.tail) if end.startswith("?")}
        return [p for p in self._patterns if p in found]

    def _word(self, at: int) -> str:
        return self._items[at].value if 0 <= at < len(self._items) and self._items[at].kind == "word" else ""


def _asked(items: Sequence[_Item]) -> int | None:
    """Where the type stands that is asked for: before any name or relation, and not in answer to "who" or "when"."""
    at = next((at for at, item in enumerate(items) if item.kind != "word"), None)
    if at is None or items[at].kind != "type":
        return None
    before = [item.value for item in items[:at]]
    question_word = next((i for i, word in enumerate(before) if word in ("what", "which")), None)
    between = [] if question_word is None else before[question_word + 1 :]
    wrong = not _ASKS_OTHERWISE.isdisjoint(before) or "of" in before or not {*between} <= _BE | _ARTICLES
    return None if wrong else at


def _items(
    question: str, names: Iterable[tuple[str, str]], relations: Sequence[str], types: Sequence[str]
) -> list[_Item]:
    """The question as names, relations, types and words: at each place the longest that stands there."""
    words = _WORD.findall(plain(question))
    stems = [_stem(word) for word in words]
    named: dict[tuple[str, ...], _Item] = {}
    for written, name in names:
        # An alias may hold the relation, too: "role program", of which "role" is one.
        for form in (written, *([name] if plain(written).endswith(plain(name)) else [])):
            named.setdefault(tuple(_WORD.findall(plain(form))), _Item("name", name))
    related: dict[tuple[str, ...], _Item] = {}
    for relation in relations:
        for wording in wordings(relation):
            related.setdefault(_stems(wording), _Item("relation", wordings(relation)[0]))
    typed = {(_ANYTHING,): _Item("type", "")} | {_stems(kind): _Item("type", kind) for kind in types}
    longest = max((len(words) for words in (*named, *related, *typed)), default=1)
    items: list[_Item] = []
    at = 0
    while at < len(words):
        for size in range(min(longest, len(words) - at), 0, -1):
            exact, stemmed = tuple(words[at : at + size]), tuple(stems[at : at + size])
            found = [named.get(exact), related.get(stemmed), typed.get(stemmed)]
            if any(exact[part:] in named and stemmed[:part] in related for part in range(1, size)):
                continue  # "role program"
            if any(found):
                items.append(_meant(found, items))
                at += size
                break
        else:
            items.append(_Item("word", words[at]))
            at += 1
    return items


def _meant(found: Sequence[_Item | None], before: Sequence[_Item]) -> _Item:
    """Of a name, a relation and a type that are written alike, the one that fits what stands before it."""
    name, relation, kind = found
    last = next((item for item in reversed(before) if item.kind != "word" or item.value not in _ARTICLES | _BE), None)
    if name is not None and last is not None and last.kind == "relation":
        return name
    indefinite = bool(before) and before[-1].value in _INDEFINITE
    meant = (kind or relation) if indefinite else (relation or kind)
    return meant or name or _Item("word", "")


def _stems(text: str) -> tuple[str, ...]:
    return tuple(_stem(word) for word in _WORD.findall(plain(text)))


def _stem(word: str) -> str:
    """A word without the ending that number, person or tense give it; prepositions and such stay."""
    return _ENDING.sub("", word) if len(word) > 3 and word not in _PREPOSITIONS else word
