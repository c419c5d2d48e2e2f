"""Which relations join the things of a question: those that its words name, between the classes of the things."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from triplecheck.language.clauses import Attachment, Clauses, Unit
from triplecheck.language.likeness import Likeness
from triplecheck.language.parse import Parse
from triplecheck.lms.extractive.queries.schema import MEASURES, TIMES, Relation, Schema, fits
from triplecheck.signatures.notation import THING

COVERED, NOUN_COVERED = 0.5, 0.7
"""Likeness from which a relation says a word."""
_WHOLE = 0.6
"""Likeness from which a relation says all words together, though it says none of them alone."""
_LEAST = 0.4
"""Score below which nothing is joined."""
_ONLY, _ONE_OF_SEVERAL = 0.6, 0.2  # of a relation between two classes that no word names
_FAR, _WRONG_WAY, _ELSEWHERE, _LOOSE = 0.12, 0.35, 0.15, 0.25
_CLEARLY = 0.05  # by which a preposition is nearer to one relation than to all others
_TRIED = 4  # joins of one attachment that are combined with those of others
_UNCOVERED = 0.5  # the price of a word that no relation says


def least_likeness(pos: str) -> float:
    """The likeness from which a relation says a word: nouns of one kind are alike though they mean other things."""
    return {"NOUN": NOUN_COVERED, "PROPN": 1.0}.get(pos, COVERED)


@dataclass(frozen=True)
class Hop:
    """A relation, followed from its head (`forward`) or from its tail."""

    relation: Relation
    forward: bool

    @property
    def start(self) -> str:
        """The class at its start."""
        return self.relation.head if self.forward else self.relation.tail

    @property
    def end(self) -> str:
        """The class at its end."""
        return self.relation.tail if self.forward else self.relation.head


@dataclass(frozen=True)
class Join:
    """Hops from a unit to the unit that it is attached to.

    Attributes:
        attachment: with the unit that it leads to.
        hops: from `attachment.unit` to `attachment.to`.
        score: how well they fit the words and the grammar.
        said: the words that their relations say.
    """

    attachment: Attachment
    hops: tuple[Hop, ...]
    score: float
    said: frozenset[int]


class Joiner:
    """Finds joins.

    Args:
        parse: the question.
        clauses: what it joins.
        schema: what there is.
        likeness: of words and relations.
    """

    def __init__(self, parse: Parse, clauses: Clauses, schema: Schema, likeness: Likeness) -> None:
        self._parse, self._clauses, self._schema, self._likeness = parse, clauses, schema, likeness
        self._loosely = False

    def classes(self, number: int) -> tuple[str, ...]:
        """The classes that a unit may have; empty if they are not known."""
        unit = self._clauses.units[number]
        if unit.kind == "class":
            return unit.names
        topic = self._schema.topic(unit.names[0]) if unit.kind == "topic" else None
        return topic.classes if topic else ()

    def best(self, attachments: Sequence[Attachment]) -> list[Join] | None:
        """The joins of attachments that fit best together; None if one of them has no join."""
        options = [self._options(one) for one in attachments]
        if not all(options):
            return None
        chosen = max(itertools.product(*(found[:_TRIED] for found in options)), key=self._worth, default=())
        return list(chosen)

    def _worth(self, joins: Sequence[Join]) -> float:
        """Of joins together: their scores, less the price of words that none says and of classes that disagree."""
        words = {at for join in joins for at in join.attachment.words}
        said = {at for join in joins for at in join.said}
        ends: dict[int, set[str]] = {}
        for join in joins:
            for unit, end in ((join.attachment.unit, join.hops[0].start), (join.attachment.to, join.hops[-1].end)):
                if end != THING:
                    ends.setdefault(unit, set()).add(end)
        clashes = sum(len(found) - 1 for found in ends.values())
        return sum(join.score for join in joins) - _UNCOVERED * len(words - said) - clashes

    def _options(self, attachment: Attachment) -> list[Join]:
        """The joins of one attachment, best first; also to other units, if the grammar misled."""
        found = self._good(self._joins(attachment))
        if not found:
            found = self._good(replace(j, score=j.score - _LOOSE) for j in self._joins(attachment, loosely=True))
        root = self._clauses.root
        if not found:
            others = {attachment.to, attachment.unit, *self._beneath(attachment.unit)}
            for other in range(len(self._clauses.units)):
                if other not in others and (other == root or self._clauses.units[other].kind == "class"):
                    moved = replace(attachment, to=other, acts=None)
                    found += self._good(replace(j, score=j.score - _ELSEWHERE) for j in self._joins(moved))
        return sorted(found or self._guessed(attachment), key=lambda join: -join.score)

    def _good(self, joins: Iterable[Join]) -> list[Join]:
        return [join for join in joins if join.score >= _LEAST]

    def _guessed(self, attachment: Attachment) -> list[Join]:
        """The only relation between things of two known classes, whatever the verb between them says."""
        ends = attachment.unit, attachment.to
        if not all(self.classes(number) for number in ends):
            return []
        joins = list(self._joins(attachment))
        labels = {join.hops[0].relation.label for join in joins if len(join.hops) == 1}
        verbs = frozenset(at for at in attachment.words if self._parse.pos(at) == "VERB")
        one = [join for join in joins if len(join.hops) == 1]
        one = [join for join in one if not self._is_wrong_way(join.hops[0], attachment, 1)] or one
        return [replace(join, score=_LEAST, said=join.said | verbs) for join in one] if len(labels) == 1 else []

    def _beneath(self, number: int) -> Iterator[int]:
        for one in self._clauses.attachments:
            if one.to == number:
                yield one.unit
                yield from self._beneath(one.unit)

    def _joins(self, attachment: Attachment, *, loosely: bool = False) -> Iterator[Join]:
        self._loosely = loosely
        single = [
            hop for hop in self._hops() if self._at(attachment.unit, hop.start) and self._at(attachment.to, hop.end)
        ]
        labels = {hop.relation.label for hop in single}
        for hop in single:
            yield self._scored(attachment, (hop,), len(labels))
        chains = list(self._chains(attachment)) if not single or attachment.words else []
        for first, second in chains:
            join = self._scored(attachment, (first, second), 1)
            if join.said or len(chains) == 1:  # two relations that nothing names could join anything
                yield join

    def _hops(self) -> Iterator[Hop]:
        for relation in self._schema.relations:
            yield Hop(relation, True)
            yield Hop(relation, False)

    def _chains(self, attachment: Attachment) -> Iterator[tuple[Hop, Hop]]:
        hops = list(self._hops())
        seconds = [hop for hop in hops if self._at(attachment.to, hop.end)]
        for first in hops:
            if first.end in MEASURES or first.end in (THING, "text") or not self._at(attachment.unit, first.start):
                continue
            for second in seconds:
                if second.start == first.end and (second.relation != first.relation or first.forward == second.forward):
                    yield first, second

    def _at(self, number: int, end: str) -> bool:
        """Whether a unit may be at an end."""
        unit = self._clauses.units[number]
        if unit.kind == "number":
            return end in MEASURES
        if unit.kind == "noun":
            return True
        if unit.kind == "word":
            kind = self._parse.lexicon.questions.get(unit.names[0], "thing")
            if kind == "time":
                return end in TIMES
            return end not in MEASURES if kind in ("person", "place") else True
        if unit.kind == "topic" and end == "text":
            return not self.classes(number)
        return fits(self.classes(number), end, loosely=self._loosely and unit.kind == "topic")

    # --- scores --------------------------------------------------------------------------------
    def _scored(self, attachment: Attachment, hops: tuple[Hop, ...], alternatives: int) -> Join:
        units = self._clauses.units
        ends = (units[attachment.unit], units[attachment.to])
        tokens = [*attachment.words]
        if self._schema.classes:  # else the noun may be a class that the graph does not tell
            tokens += [at for unit in ends if unit.kind == "noun" for at in range(*unit.span)]
        tokens = [at for at in tokens if not self._parse.is_stop(at)]
        besides = {self._parse.lemma(at) for unit in ends if unit.kind == "class" for at in range(*unit.span)}
        besides |= {
            base
            for number in (attachment.unit, attachment.to)
            for name in self.classes(number)
            for base in self._likeness.bases(name)
        }
        words = {at: self._word(at) for at in tokens}
        said = {
            at: max((self._likeness.of_word(word, hop.relation.wordings), -n) for n, hop in enumerate(hops))
            for at, word in words.items()
        }
        parts = []
        for n, hop in enumerate(hops):
            own = [words[at] for at in tokens if said[at][1] == -n]
            parts.append(
                self._named(hop, own, besides) if own else self._unnamed(hop, attachment, ends, besides, alternatives)
            )
        if len(hops) > 1 and any(part < COVERED for part in parts):
            return Join(attachment, hops, 0.0, frozenset())
        score = sum(parts) / len(parts) - _FAR * (len(hops) - 1)
        score -= sum(_WRONG_WAY for hop in hops if self._is_wrong_way(hop, attachment, len(hops)))
        covered = frozenset(at for at, (likeness, _) in said.items() if likeness >= least_likeness(self._parse.pos(at)))
        if len(hops) == 1 and score >= _WHOLE:
            covered |= frozenset(at for at in tokens if self._parse.pos(at) != "PROPN")
        return Join(attachment, hops, score, covered)

    def _word(self, at: int) -> str:
        return self._parse.words[at]

    def _named(self, hop: Hop, words: Sequence[str], besides: set[str]) -> float:
        return self._likeness.of_words(words, hop.relation.wordings, besides)

    def _unnamed(
        self, hop: Hop, attachment: Attachment, ends: tuple[Unit, Unit], besides: set[str], alternatives: int
    ) -> float:
        """Of a relation that no content word names: "of", "in", "has"."""
        if alternatives == 1:
            return _ONLY
        label = set(hop.relation.label.casefold().split())
        case = 0.15 if label & set(attachment.cases) else 0.0
        if attachment.cases and self._is_nearest(hop, attachment):
            case = 0.3
        noun = 0.3 if any(self._likeness.bases(hop.relation.label) & {word} for word in besides) else 0.0
        return _ONE_OF_SEVERAL + case + noun

    def _is_nearest(self, hop: Hop, attachment: Attachment) -> bool:
        """Whether a preposition between two classes means a relation rather than any other: "engineers on a team"."""
        near, far = hop.end, hop.start
        said = f"{near} {attachment.cases[0]} {far}"
        names = {
            other.relation.label: f"{near} {other.relation.label} {far}"
            for other in self._hops()
            if {other.start, other.end} == {near, far}
        }
        self._likeness.prepare([said, *names.values()])
        scores = sorted((self._likeness.cosine(said, text), label) for label, text in names.items())
        clear = len(scores) < 2 or scores[-1][0] - scores[-2][0] >= _CLEARLY
        return clear and scores[-1][1] == hop.relation.label

    def _is_wrong_way(self, hop: Hop, attachment: Attachment, count: int) -> bool:
        """Whether the grammar says that a relation between things of one class leads the other way."""
        if count > 1 or (hop.start != hop.end and THING not in (hop.start, hop.end)):
            return False
        last = hop.relation.label.casefold().split()[-1:]
        lexicon = self._parse.lexicon
        passive = bool(set(last) & lexicon.agents)
        genitive = bool(set(last) & lexicon.prepositions)
        unit_is_head: bool | None = None
        if set(last) & set(attachment.cases) - lexicon.agents:
            unit_is_head = False  # "ends at X"
        elif attachment.acts is not None:
            unit_is_head = attachment.acts != passive
        elif attachment.owns:
            unit_is_head = not genitive
        return unit_is_head is not None and unit_is_head != hop.forward
