"""What a question says as a graph: the things that it speaks of, and the words that join each to another.

    Which boats of Nordhav do not have Molde as their home port?
    boats (asked)  -  Nordhav     joined by "of"
    boats          -  Molde       joined by "have", "home port"; denied

The rules follow the dependencies of Universal Dependencies (`parse`). They know no relation: which relation the words
mean is found by who has the schema of a graph.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from triplecheck.language.content import content_words
from triplecheck.language.parse import Parse
from triplecheck.language.question import Question
from triplecheck.language.things import Unit, find_units

_LONGEST_EXCLUSION = 3  # words


@dataclass(frozen=True)
class Attachment:
    """How a unit is joined to another.

    Attributes:
        to: the number of the other unit, which is nearer to what is asked for.
        words: the content words that join them, as tokens.
        cases: the prepositions that do.
        acts: whether `unit` acts on `to` ("boats that X owns"); None if the grammar does not tell.
        owns: whether `unit` possesses `to` ("the captain of X", "X's captain").
        denied: whether "not" stands in between.
        excluded: whether `to` must not be it: "except", "other than".
        alternative: whether "or" joins it to the unit before.
        with_: the number of the unit that "and" or "or" joins it to; None if there is none.
        describes: the number of the value right behind this one, if both are of one thing: "dogs" for "brown" in "brown
            dogs".
    """

    unit: int
    to: int
    words: tuple[int, ...] = ()
    cases: tuple[str, ...] = ()
    acts: bool | None = None
    owns: bool = False
    denied: bool = False
    excluded: bool = False
    alternative: bool = False
    with_: int | None = None
    describes: int | None = None


@dataclass(frozen=True)
class Clauses:
    """The graph of a question.

    Attributes:
        units: in the order of the question.
        root: the number of the unit that is asked for; of a question of yes or no, the one it speaks of. None if the
            question speaks of nothing that could be found.
        attachments: of all units but the root.
    """

    units: tuple[Unit, ...]
    root: int | None
    attachments: tuple[Attachment, ...]


def read_clauses(
    question: Question,
    classes: Sequence[str],
    relations: Collection[tuple[str, ...]],
    taken: Collection[int] = (),
    synonyms: Mapping[str, str] = MappingProxyType({}),
) -> Clauses:
    """The graph of a question.

    Args:
        classes: the names of classes that it may use.
        relations: the lemmas of nouns that are names of relations, and so name no class.
        taken: tokens that say an operation, a bound or a time.
        synonyms: nouns that mean classes, with the names of these.
    """
    named = _phrases(question.parse, relations)
    bounded = {at for limit in question.limits for at in range(limit.span[0], limit.span[1] + 1)}
    units = find_units(question, classes, named, taken, synonyms)
    return _Reader(question.parse, units, frozenset(taken), bounded).read()


def _phrases(parse: Parse, relations: Collection[tuple[str, ...]]) -> set[int]:
    """The tokens of nouns that are names of relations: "home port"."""
    found: set[int] = set()
    for start in range(len(parse)):
        for phrase in relations:
            end = start + len(phrase)
            if tuple(parse.lemma(i) for i in range(start, end)) == phrase:
                found.update(range(start, end))
    return found


class _Reader:
    """Joins the units of a question."""

    def __init__(self, parse: Parse, units: tuple[Unit, ...], taken: frozenset[int], bounded: Collection[int]) -> None:
        self._parse, self._units, self._taken = parse, units, taken
        self._bounded = {*bounded, *(at for unit in units for at in range(*unit.classes_at))}
        self._content = content_words(parse, taken)
        self._unit_at = {at: number for number, unit in enumerate(units) for at in unit.tokens}

    def read(self) -> Clauses:
        root = next((n for n, unit in enumerate(self._units) if unit.is_asked), None)
        root = self._subject_of_all() if root is None else root
        if root is None:
            return Clauses(self._units, None, ())
        found = [self._attach(number, root) for number in range(len(self._units)) if number != root]
        return Clauses(self._units, root, tuple(self._with_words(_without_cycles(found, root))))

    def _subject_of_all(self) -> int | None:
        """The unit that the whole speaks of: the subject of the root, else the first unit."""
        parse = self._parse
        for at in range(len(parse)):
            if parse.tokens[at].head == at:
                for own in (at, *parse.dependents(at, "nsubj", "csubj")):
                    if own in self._unit_at:
                        return self._unit_at[own]
        return 0 if self._units else None

    # --- attachments ---------------------------------------------------------------------------
    def _attach(self, number: int, root: int) -> Attachment:
        """A unit with what it is excluded from, with what a list begins with, or with what the grammar joins it to."""
        own = self._units[number]
        start = self._excluding(own.span[0])
        if start is not None:
            before = next((n for n in reversed(range(len(self._units))) if self._units[n].span[1] <= start), root)
            to = root if self._units[before].kind == "topic" else before
            return Attachment(number, to, excluded=True)
        described = self._described(own)
        if described is not None:
            like = Attachment(number, root) if described == root else self._attach(described, root)
            return replace(like, unit=number, words=(), describes=described)
        first = self._conjunct(own.at)
        return self._joined(number, root) if first is None else self._beside(number, first, root)

    def _described(self, unit: Unit) -> int | None:
        """The unit of the value right behind another value; see `Attachment.describes`."""
        behind = self._unit_at.get(unit.span[1])
        parse, is_adjective = self._parse, self._parse.is_a(unit.at, "amod", "compound")
        if behind is None or not is_adjective or parse.tokens[unit.at].head != self._units[behind].at:
            return None
        both = (unit, self._units[behind])
        return behind if all(one.kind == "topic" and parse.is_value(one.at) for one in both) else None

    def _excluding(self, first: int) -> int | None:
        """Where the words begin that exclude what follows: "except", "other than"; None if there are none."""
        parse = self._parse
        while first and parse.pos(first - 1) in ("DET", "PRON"):
            first -= 1
        starts = range(max(first - _LONGEST_EXCLUSION, 0), first)
        phrases = parse.lexicon.excluding
        return next((at for at in starts if any(parse.said(at, phrase) == first for phrase in phrases)), None)

    def _conjunct(self, at: int) -> int | None:
        """The first unit of the list that a token is joined to; None if it is in no list."""
        seen = set[int]()
        while at not in seen and (above := self._listed_with(at)) is not None:
            seen.add(at)
            at = above
        return self._unit_at.get(at) if seen else None

    def _listed_with(self, at: int) -> int | None:
        """The token that another is joined to by "and", "or", "as well as" or a comma; None if it is in no list."""
        parse, head = self._parse, self._parse.tokens[at].head
        topics = parse.is_topic(at) and parse.is_topic(head)
        if parse.is_a(at, "conj") or (topics and parse.is_a(at, "appos") and parse.dependents(at, "conj")):
            return head
        before = [other for other in range(at) if parse.is_topic(other)] if parse.is_topic(at) else []
        joined = any(parse.said(at - len(phrase.split()), phrase) == at for phrase in parse.lexicon.adding)
        return before[-1] if before and (joined or self._is_list(before[-1], at)) else None

    def _is_list(self, one: int, other: int) -> bool:
        """Whether the words between two topics are "and" or "or", and perhaps the preposition of the first: "by X or by
        Y". A parser often attaches the second topic to the preposition."""
        parse = self._parse
        between = [at for at in range(one + 1, other) if parse.words[at] not in parse.lexicon.articles]
        coordinating = {word for words in parse.lexicon.coordination.values() for word in words}
        before = [at for at in range(one) if parse.words[at] not in parse.lexicon.articles][-1:]
        prepositions = {parse.words[at] for at in before if parse.pos(at) == "ADP"}
        said = [parse.words[at] for at in between]
        return bool(said) and said[0] in coordinating and set(said[1:]) <= prepositions

    def _beside(self, number: int, first: int, root: int) -> Attachment:
        """A unit that "and" or "or" joins to another, attached as that is."""
        parse, own = self._parse, self._units[number]
        between = range(self._units[first].at, own.at + 1)
        either = any(parse.words[i] in parse.lexicon.coordination.get("or", ()) for i in between)
        if first == root:
            return Attachment(number, root, alternative=either, with_=first)
        like = self._attach(first, root)
        return replace(like, unit=number, alternative=either, with_=first, denied=like.denied or own.is_denied)

    def _joined(self, number: int, root: int) -> Attachment:
        """A unit with the nearest unit above it, or the subject of the nearest clause above it."""
        parse, own = self._parse, self._units[number]
        cases, words = self._cases(own.at), list[int]()
        denied = own.is_denied or self._is_denied(own.at)
        is_called, is_agent = self._is_called(own), parse.is_a(own.at, "obl:agent")
        is_subject = is_called or parse.is_a(own.at, "nsubj", "csubj")
        is_acting = is_called or (is_subject and not parse.is_a(own.at, "nsubj:pass"))
        owns = parse.is_a(own.at, "nmod") and (not cases or not set(cases).isdisjoint(parse.lexicon.genitives))
        to, acts = root, (True if is_agent else is_acting if is_subject else None)
        for below, at in itertools.pairwise((own.at, *parse.ancestors(own.at))):
            unit = self._unit_at.get(at)
            if unit is not None and unit != number:
                to, acts = unit, (True if is_agent else None)
                if parse.is_a(below, "acl") and (is_subject or words):
                    acts = is_acting if is_subject else is_agent
                break
            denied = denied or self._is_excluded(at)
            words.append(at)
            if not self._is_predicate(at):
                cases += self._cases(at)
                continue
            denied = denied or self._is_denied(at)
            if (subject := self._subject(at, number)) is not None:
                to, acts = subject, (is_acting if is_subject else is_agent)
                break
            if is_subject and self._other_below(at, number) == root:
                cases, acts = self._cases(self._units[root].at) or cases, is_acting
                break
        return Attachment(number, to, tuple(words), cases, acts, owns, denied)

    def _is_called(self, unit: Unit) -> bool:
        """Whether a question calls a topic something of what it asks for: "how many clubs is X a sponsor of"."""
        parse, at, last = self._parse, unit.span[1], len(self._parse) - 1
        is_noun = at + 1 < last and parse.words[at] in parse.lexicon.articles and parse.pos(at + 1) == "NOUN"
        return is_noun and unit.kind == "topic" and parse.pos(last) == "ADP"

    def _is_excluded(self, at: int) -> bool:
        """Whether a pronoun is what is excluded: "except those that ..."."""
        parse = self._parse
        starts = range(max(at - _LONGEST_EXCLUSION, 0), at)
        return parse.pos(at) == "PRON" and any(
            parse.said(start, phrase) == at for start in starts for phrase in parse.lexicon.excluding
        )

    def _is_predicate(self, at: int) -> bool:
        parse = self._parse
        is_said_of = parse.pos(at) in ("ADJ", "NOUN") and bool(parse.dependents(at, "cop"))
        return parse.pos(at) in ("VERB", "AUX") or is_said_of

    def _subject(self, at: int, but: int) -> int | None:
        """The unit that is the subject of a predicate, or what its relative clause belongs to; not unit `but`."""
        parse, seen = self._parse, set[int]()
        while at not in seen:
            seen.add(at)
            for child in parse.dependents(at, "nsubj", "csubj"):
                unit = self._unit_at.get(child)
                if unit is not None:
                    return unit if unit != but else None
                if parse.pos(child) != "PRON" and parse.words[child] not in parse.lexicon.questions:
                    return None
            if parse.is_a(at, "acl"):
                return self._unit_at.get(parse.tokens[at].head)
            if not parse.is_a(at, "conj", "xcomp"):
                return None
            at = parse.tokens[at].head
        return None

    def _other_below(self, at: int, but: int) -> int | None:
        """The first unit directly below a token that is not unit `but`."""
        found = (self._unit_at.get(child) for child in self._parse.children(at))
        return next((unit for unit in found if unit is not None and unit != but), None)

    def _cases(self, at: int) -> tuple[str, ...]:
        parse = self._parse
        return tuple(parse.words[i] for i in parse.dependents(at, "case") if i not in self._taken)

    def _is_denied(self, at: int) -> bool:
        parse = self._parse
        return any({parse.words[i], parse.lemma(i)} & parse.lexicon.negations for i in parse.children(at))

    # --- words ---------------------------------------------------------------------------------
    def _with_words(self, found: Sequence[Attachment]) -> list[Attachment]:
        """Attachments with the content words that belong to them: on the way, and beneath it."""
        own = [{at for at in one.words if self._is_content(at)} for one in found]
        place = {one.unit: number for number, one in enumerate(found)}
        on_way = {at for one in found for at in one.words}
        for at in range(len(self._parse)):
            if self._is_content(at) and at not in on_way:
                for number in self._nearest(at, found):
                    own[number].add(at)
        for one, words in zip(found, own, strict=True):  # "a red or a green light" is a red light, too
            if one.alternative and one.with_ in place:
                own[place[one.with_]] |= words
        return [replace(one, words=tuple(sorted(words))) for one, words in zip(found, own, strict=True)]

    def _nearest(self, at: int, found: Sequence[Attachment]) -> list[int]:
        """The attachments that a word belongs to: on whose way the nearest token above it is, or its unit; the word
        between a value and its noun belongs to the value, "a heather honey harvest"."""
        parse, before = self._parse, self._unit_at.get(at - 1)
        if before is not None and parse.is_value(at - 1) and parse.is_a(at, "compound"):
            own = [n for n, one in enumerate(found) if one.unit == before]
            if own and parse.tokens[at - 1].head == parse.tokens[at].head:
                return own
        for above in (at, *self._parse.ancestors(at)):
            through = [n for n, one in enumerate(found) if above in one.words]
            if through:
                return through
            unit = self._unit_at.get(above)
            if unit is not None:
                of_unit = [n for n, one in enumerate(found) if one.unit == unit]
                return (of_unit or [n for n, one in enumerate(found) if one.to == unit])[:1]
        return []

    def _is_content(self, at: int) -> bool:
        """Whether a word may belong to an attachment: a content word that is in no unit, bound or class."""
        return at in self._content and at not in self._unit_at and at not in self._bounded


def _without_cycles(found: Sequence[Attachment], root: int) -> list[Attachment]:
    """Attachments that all lead to the root: one that leads back to itself is attached to the root."""
    above = {one.unit: one.to for one in found}
    fixed = []
    for one in found:
        seen, at = {one.unit}, one.to
        while at != root and at in above and at not in seen:
            seen.add(at)
            at = above[at]
        if at != root:
            above[one.unit] = root
        fixed.append(one if at == root else replace(one, to=root))
    return fixed
