"""What a question says as a graph: the things that it speaks of, and the words that join each to another.

    Which boats of Nordhav do not have Molde as their home port?
    boats (asked)  -  Nordhav     joined by "of"
    boats          -  Molde       joined by "have", "home port"; denied

The rules follow the dependencies of Universal Dependencies (`parse`). They know no relation: which relation the words
mean is found by who has the schema of a graph.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from triplecheck.language.described import Place, places
from triplecheck.language.operations import compared, degree, number
from triplecheck.language.parse import Parse
from triplecheck.language.question import Question, question_word

UnitKind = Literal["class", "topic", "noun", "word", "number"]


@dataclass(frozen=True)
class Unit:
    """A thing that a question speaks of.

    Attributes:
        kind: `class` for a noun that names classes, `topic`, `noun` for a noun that is asked for and names no class,
            `word` for a question word alone, `number` for a number that bounds nothing.
        at: its head token.
        span: its tokens [start, end).
        names: of the classes, or the spelling of the topic, or the words of the noun.
        is_asked: whether the question asks for it.
        is_denied: whether "no" stands before it: "has no boat".
        is_plural: whether several are meant, by the number of the noun.
    """

    kind: UnitKind
    at: int
    span: tuple[int, int]
    names: tuple[str, ...]
    is_asked: bool = False
    is_denied: bool = False
    is_plural: bool = False


@dataclass(frozen=True)
class Attachment:
    """How a unit is joined to another.

    Attributes:
        unit: its number.
        to: the number of the other unit, which is nearer to what is asked for.
        words: the content words that join them, as tokens.
        cases: the prepositions that do.
        acts: whether `unit` acts on `to` ("boats that X owns"); None if the grammar does not tell.
        excluded: whether `to` must not be it: "except", "other than".
        owns: whether `unit` possesses `to` ("the captain of X", "X's captain").
        denied: whether "not" stands in between.
        alternative: whether "or" joins it to the unit before.
        with_: the number of the unit that "and" or "or" joins it to; None if there is none.
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


@dataclass(frozen=True)
class Clauses:
    """The graph of a question.

    Attributes:
        units: in the order of the question.
        root: the number of the unit that is asked for; of a question of yes or no, the one it speaks of. None if the
            question speaks of nothing that could be found.
        attachments: of all units but the root.
        loose: content words that join nothing, as tokens.
    """

    units: tuple[Unit, ...]
    root: int | None
    attachments: tuple[Attachment, ...]
    loose: tuple[int, ...]


def read_clauses(
    question: Question, classes: Sequence[str], relations: Collection[tuple[str, ...]], taken: Collection[int] = ()
) -> Clauses:
    """The graph of a question.

    Args:
        question: read with its topics masked.
        classes: the names of classes that it may use.
        relations: the lemmas of names of relations; a compound that is one names no class.
        taken: tokens that say an operation, a bound or a time.
    """
    return _Clauses(question, classes, relations, frozenset(taken)).read()


class _Clauses:
    def __init__(
        self, question: Question, classes: Sequence[str], relations: Collection[tuple[str, ...]], taken: frozenset[int]
    ) -> None:
        self._question, self._parse, self._taken = question, question.parse, taken
        self._content = content_words(self._parse, taken)
        self._named = _phrases(self._parse, relations)
        self._units = self._find_units(places(question, classes))
        self._of_token = {at: number for number, unit in enumerate(self._units) for at in range(*unit.span)}

    def read(self) -> Clauses:
        root = next((n for n, unit in enumerate(self._units) if unit.is_asked), None)
        if root is None:
            root = self._subject_of_all()
        if root is None:
            return Clauses(self._units, None, (), self._loose(()))
        found = [self._attach(number, root) for number in range(len(self._units)) if number != root]
        found = self._without_cycles(found, root)
        found = self._with_words(found)
        return Clauses(self._units, root, tuple(found), self._loose(found))

    # --- units ---------------------------------------------------------------------------------
    def _find_units(self, classes: Sequence[Place]) -> tuple[Unit, ...]:
        parse, asked = self._parse, self._question.asked
        found: list[Unit] = []
        for at in range(len(parse)):
            head = parse.tokens[at].head
            in_name = head == at + 1 and parse.is_topic(head) and parse.is_a(at, "compound", "amod", "nmod")
            if parse.is_topic(at) and not in_name:
                found.append(Unit("topic", at, (at, at + 1), (parse.topics[at],), is_denied=self._says_no(at)))
        for place in classes:
            span = range(place.start, place.end)
            if (named := self._names_thing(place, found)) is not None:
                found[named] = replace(found[named], at=place.end - 1, span=_both(found[named].span, span))
                continue
            in_name = any(at in self._named for at in span) and asked.at not in span
            if not in_name and self._taken.isdisjoint(span):
                found.append(self._noun(place.start, place.end, place.names, asked.at in span))
        found = self._said_of_word(self._of_which(found))
        is_asked = any(unit.is_asked for unit in found)
        if not is_asked and asked.at >= 0 and asked.at not in self._taken and not parse.is_stop(asked.at):
            start = asked.at
            while start and parse.tokens[start - 1].head == asked.at and parse.is_a(start - 1, "compound"):
                start -= 1
            words = tuple(parse.lemma(i) for i in range(start, asked.at + 1))
            found.append(Unit("noun", asked.at, (start, asked.at + 1), words, is_asked=True))
        elif not is_asked and not self._question.asks_whether:
            word = question_word(parse)
            quantity = parse.find(parse.lexicon.quantities)
            if (word is not None and quantity is None and not self._question.asked.attribute.strip()) or (
                word is not None and self._question.asked.word in ("where", "when")
            ):
                found.append(Unit("word", word, (word, word + 1), (parse.words[word],), is_asked=True))
        for at in range(len(parse)):
            if at not in self._taken and number(parse, at) is not None and not parse.is_topic(at):
                if not any(at in range(*unit.span) for unit in found):
                    found.append(Unit("number", at, (at, at + 1), (parse.tokens[at].text,)))
        return tuple(sorted(found, key=lambda unit: unit.at))

    def _names_thing(self, place: Place, units: Sequence[Unit]) -> int | None:
        """The number of the topic whose class a noun says, "the Search team", "the hut Adler"; None if there is none."""
        parse = self._parse
        for number, unit in enumerate(units):
            head = parse.tokens[unit.at].head
            if unit.kind == "topic" and head == place.end - 1 and parse.is_a(unit.at, "compound", "appos", "flat"):
                return number
            under = parse.tokens[place.end - 1].head == unit.at and parse.is_a(
                place.end - 1, "compound", "appos", "flat"
            )
            if unit.kind == "topic" and under:
                return number
        return None

    def _of_which(self, found: list[Unit]) -> list[Unit]:
        """The units; "of the boats, which ..." asks for boats."""
        first = min(found, key=lambda unit: unit.at, default=None)
        word = question_word(self._parse)
        opens = first is not None and first.kind == "class" and self._parse.words[0] in self._parse.lexicon.genitives
        opens = (opens and not self._parse.is_noun(self._question.asked.at)) or (
            opens and self._parse.is_stop(self._question.asked.at)
        )
        if not opens or first is None or (word or 0) < first.at or any(unit.is_asked for unit in found):
            return found
        return [replace(unit, is_asked=unit is first) for unit in found]

    def _said_of_word(self, found: list[Unit]) -> list[Unit]:
        """The units; "who is a captain" asks for captains."""
        word = question_word(self._parse)
        if word is None or any(unit.is_asked for unit in found):
            return found
        for unit in found:
            parse = self._parse
            says = word in parse.dependents(unit.at, "nsubj") and parse.dependents(unit.at, "cop")
            said = unit.at in parse.dependents(word, "nsubj") and parse.dependents(word, "cop")
            if unit.kind == "class" and (says or said):
                return [replace(one, is_asked=one is unit) for one in found]
        return found

    def _noun(self, start: int, end: int, names: tuple[str, ...], is_asked: bool) -> Unit:
        parse = self._parse
        head = end - 1
        denied = self._says_no(head)
        plural = parse.tokens[head].feature("Number") == "Plur"
        return Unit("class", head, (start, end), names, is_asked, denied, plural)

    def _says_no(self, at: int) -> bool:
        """Whether "no" or "not" stands before a noun."""
        parse = self._parse
        if any(parse.words[i] in parse.lexicon.negations for i in parse.dependents(at, "det", "advmod", "amod")):
            return True
        first = at
        while first and (parse.pos(first - 1) in ("ADP", "DET", "PROPN", "ADJ") or parse.is_a(first - 1, "compound")):
            first -= 1
            if parse.words[first] in parse.lexicon.negations:
                return True
        return first > 0 and parse.words[first - 1] in parse.lexicon.neither

    def _subject_of_all(self) -> int | None:
        """The unit that the whole speaks of: the subject of the root, else the first unit."""
        parse = self._parse
        roots = [at for at in range(len(parse)) if parse.tokens[at].head == at]
        for at in roots:
            if at in self._of_token:
                return self._of_token[at]
            for child in parse.dependents(at, "nsubj", "csubj"):
                if child in self._of_token:
                    return self._of_token[child]
        return 0 if self._units else None

    # --- attachments ---------------------------------------------------------------------------
    def _attach(self, number: int, root: int) -> Attachment:
        """A unit with the nearest unit above it, or the subject of the nearest clause above it."""
        if (start := self._excluding(self._units[number])) is not None:
            to = next((n for n, unit in reversed(list(enumerate(self._units))) if unit.span[1] <= start), root)
            to = root if self._units[to].kind == "topic" else to
            return Attachment(number, to, excluded=True)
        return self._joined(number, root)

    def _excluding(self, unit: Unit) -> int | None:
        """Where the words begin that exclude a unit: "except", "other than", "apart from"."""
        parse, first = self._parse, unit.span[0]
        while first and parse.pos(first - 1) in ("DET", "PRON"):
            first -= 1
        starts = range(max(first - 3, 0), first)
        return next(
            (at for at in starts for phrase in parse.lexicon.excluding if parse.said(at, phrase) == first), None
        )

    def _is_excluded(self, at: int) -> bool:
        """Whether a pronoun is what is excluded: "except those that ..."."""
        parse = self._parse
        starts = range(max(at - 3, 0), at)
        return parse.pos(at) == "PRON" and any(
            parse.said(start, phrase) == at for start in starts for phrase in parse.lexicon.excluding
        )

    def _joined(self, number: int, root: int) -> Attachment:
        """As the dependencies join it."""
        parse, own = self._parse, self._units[number]
        cases = self._cases(own.at)
        words: list[int] = []
        denied = own.is_denied or self._is_denied(own.at)
        is_subject, passive, owns = parse.is_a(own.at, "nsubj", "csubj"), parse.is_a(own.at, "nsubj:pass"), False
        agent = parse.is_a(own.at, "obl:agent")
        if parse.is_a(own.at, "conj") and (first := self._conjunct(own.at)) is not None:
            return self._beside(number, first, root)
        below, at = own.at, parse.tokens[own.at].head
        owns = parse.is_a(own.at, "nmod") and (not cases or not set(cases).isdisjoint(parse.lexicon.genitives))
        steps = 0
        while at != below and steps < len(parse):
            steps += 1
            unit = self._of_token.get(at)
            if unit is not None and unit != number:
                acts = True if agent else None
                if is_subject and parse.is_a(below, "acl"):
                    acts = not passive
                if parse.is_a(below, "acl") and not is_subject and words:
                    acts = agent or False
                return Attachment(number, unit, tuple(words), cases, acts, owns, denied)
            denied = denied or self._is_excluded(at)
            if self._is_predicate(at):
                words.append(at)
                denied = denied or self._is_denied(at)
                subject = self._subject(at, number)
                if subject is not None:
                    return Attachment(number, subject, tuple(words), cases, agent, owns, denied)
                if is_subject and (other := self._object(at, number)) is not None and other == root:
                    return Attachment(
                        number,
                        other,
                        tuple(words),
                        self._cases(self._units[other].at) or cases,
                        not passive,
                        owns,
                        denied,
                    )
            else:
                words.append(at)
                cases += self._cases(at)
            below, at = at, parse.tokens[at].head
        return Attachment(
            number, root, tuple(words), cases, True if agent else (not passive if is_subject else None), owns, denied
        )

    def _beside(self, number: int, first: int, root: int) -> Attachment:
        """A unit that "and" or "or" joins to another, attached as that is."""
        joins = [i for i in range(self._units[first].at, self._units[number].at + 1)]
        either = any(self._parse.words[i] in self._parse.lexicon.coordination.get("or", ()) for i in joins)
        if first == root:
            return Attachment(number, root, alternative=either, with_=first)
        like = self._attach(first, root)
        denied = like.denied or self._units[number].is_denied
        return replace(like, unit=number, alternative=either, with_=first, denied=denied)

    def _conjunct(self, at: int) -> int | None:
        """The first unit of the list that a token is joined to by "and" or "or"."""
        seen = set[int]()
        while self._parse.is_a(at, "conj") and at not in seen:
            seen.add(at)
            at = self._parse.tokens[at].head
        return self._of_token.get(at)

    def _is_predicate(self, at: int) -> bool:
        parse = self._parse
        return parse.pos(at) in ("VERB", "AUX") or (
            parse.pos(at) in ("ADJ", "NOUN") and bool(parse.dependents(at, "cop"))
        )

    def _subject(self, at: int, but: int) -> int | None:
        """The unit that is the subject of a predicate, or what its relative clause belongs to; not unit `but`."""
        parse, seen = self._parse, set[int]()
        while at not in seen:
            seen.add(at)
            for child in parse.dependents(at, "nsubj", "csubj"):
                unit = self._unit_below(child, but)
                if unit is not None and unit != but:
                    return unit
                if unit == but:
                    return None
                if parse.pos(child) != "PRON" and not self._is_question(child):
                    return None
            if parse.is_a(at, "acl"):
                return self._of_token.get(parse.tokens[at].head)
            if not parse.is_a(at, "conj", "xcomp"):
                return None
            at = parse.tokens[at].head
        return None

    def _unit_below(self, at: int, but: int) -> int | None:
        """The unit at a token; of a noun that is no unit, the unit that possesses it ("the crew of the boats")."""
        if at in self._of_token:
            return self._of_token[at]
        return None

    def _object(self, at: int, but: int) -> int | None:
        found = (self._of_token.get(child) for child in self._parse.children(at))
        return next((unit for unit in found if unit is not None and unit != but), None)

    def _is_question(self, at: int) -> bool:
        return self._parse.words[at] in self._parse.lexicon.questions

    def _cases(self, at: int) -> tuple[str, ...]:
        parse = self._parse
        return tuple(parse.words[i] for i in parse.dependents(at, "case") if i not in self._taken)

    def _is_denied(self, at: int) -> bool:
        parse = self._parse
        return any(
            parse.words[i] in parse.lexicon.negations or parse.lemma(i) in parse.lexicon.negations
            for i in parse.children(at)
        )

    def _without_cycles(self, found: Sequence[Attachment], root: int) -> list[Attachment]:
        """Attachments that all lead to the root: one that leads back to itself is attached to the root."""
        above = {one.unit: one.to for one in found}
        fixed = []
        for one in found:
            seen, at = {one.unit}, one.to
            while at != root and at in above and at not in seen:
                seen.add(at)
                at = above[at]
            if at != root:
                one = replace(one, to=root)
                above[one.unit] = root
            fixed.append(one)
        return fixed

    # --- words ---------------------------------------------------------------------------------
    def _with_words(self, found: Sequence[Attachment]) -> list[Attachment]:
        """Attachments with the content words that belong to them: on the way, and beneath it."""
        own = [{at for at in one.words if self._is_content(at)} for one in found]
        on_way = {at for one in found for at in one.words}
        for at in range(len(self._parse)):
            if not self._is_content(at) or at in on_way:
                continue
            near = self._nearest(at, found)
            for number in near:
                own[number].add(at)
        return [replace(one, words=tuple(sorted(words))) for one, words in zip(found, own, strict=True)]

    def _nearest(self, at: int, found: Sequence[Attachment]) -> list[int]:
        """The attachments that a word belongs to: on whose way the nearest token above it is, or its unit."""
        parse = self._parse
        for above in (at, *parse.ancestors(at)):
            through = [n for n, one in enumerate(found) if above in one.words]
            if through:
                return through
            unit = self._of_token.get(above)
            if unit is not None:
                through = [n for n, one in enumerate(found) if one.unit == unit]
                through = through or [n for n, one in enumerate(found) if one.to == unit]
                return through[:1]
        return []

    def _is_content(self, at: int) -> bool:
        return at not in self._of_token and at in self._content

    def _loose(self, found: Sequence[Attachment]) -> tuple[int, ...]:
        joined = {at for one in found for at in one.words}
        return tuple(at for at in range(len(self._parse)) if self._is_content(at) and at not in joined)


def _phrases(parse: Parse, relations: Collection[tuple[str, ...]]) -> set[int]:
    """The tokens of compounds that are names of relations: "home port"."""
    found: set[int] = set()
    for start in range(len(parse)):
        for phrase in relations:
            end = start + len(phrase)
            if len(phrase) > 1 and tuple(parse.lemma(i) for i in range(start, end)) == phrase:
                found.update(range(start, end))
    return found


def _both(one: tuple[int, int], other: range) -> tuple[int, int]:
    return min(one[0], other.start), max(one[1], other.stop)


def content_words(parse: Parse, taken: Collection[int]) -> frozenset[int]:
    """The tokens that say something that a graph must say, too: not those in `taken`, which say an operation."""
    return frozenset(at for at in range(len(parse)) if at not in taken and _is_content(parse, at))


def _is_content(parse: Parse, at: int) -> bool:
    if parse.is_topic(at) or parse.is_stop(at) or parse.words[at] in parse.lexicon.questions:
        return False
    if degree(parse, at) or compared(parse, at) is not None:
        return False
    said = {parse.words[at], parse.lemma(at)}
    if not said.isdisjoint(parse.lexicon.containers) or not said.isdisjoint(parse.lexicon.negations):
        return False
    return (
        not (parse.pos(at) == "VERB" and _is_of_speakers(parse, at))
        and not _excludes(parse, at)
        and not _fills(parse, at)
    )


def _is_of_speakers(parse: Parse, at: int) -> bool:
    """Whether a verb says what those do who ask: "the services that we run", "do you know"."""
    return any(parse.tokens[i].feature("Person") in ("1", "2") for i in parse.dependents(at, "nsubj"))


def _fills(parse: Parse, at: int) -> bool:
    starts = range(max(at - 3, 0), at + 1)
    return any(at < parse.said(start, phrase) for start in starts for phrase in parse.lexicon.fillers)


def _excludes(parse: Parse, at: int) -> bool:
    starts = range(max(at - 2, 0), at + 1)
    return any(at < parse.said(start, phrase) for start in starts for phrase in parse.lexicon.excluding)
