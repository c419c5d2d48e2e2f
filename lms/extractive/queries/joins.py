"""Which relations join the things of a question: those that its words name, between the classes of the things."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from triplecheck.kg.readable import singular
from triplecheck.language.clauses import Attachment, Clauses
from triplecheck.language.likeness import NAMES, NAMES_NOUN, Likeness, least_likeness
from triplecheck.language.operations import degree
from triplecheck.language.parse import Parse
from triplecheck.language.parse import parse as parsed
from triplecheck.language.roles import does, head_of, is_mutual, names_deed, says_converse
from triplecheck.language.things import Unit, requested_value
from triplecheck.lms.extractive.queries.ends import Ends, Hop, Related, hops
from triplecheck.lms.extractive.queries.schema import MEASURES, Relation, Schema
from triplecheck.signatures.query_notation import THING

_WHOLE = 0.6
"""Likeness from which a relation says all words together, though it says none of them alone."""
_LEAST = 0.4
"""Score below which nothing is joined."""
_ONLY, _ONE_OF_SEVERAL = 0.6, 0.2  # of a relation between two classes that no word names
_BY_MEANING, _BY_PREPOSITION, _BY_CLASS = 0.3, 0.15, 0.3  # what such a relation gains
_FAR, _WRONG_WAY, _ELSEWHERE, _LOOSE = 0.12, 0.35, 0.15, 0.25  # what a join loses
_EVENT = 0.4  # what it loses if it leads to an event and not to who takes part in it
_CLEARLY = 0.05  # by which a sentence is nearer to one relation than to all others
_LIKE = 0.5  # likeness of sentences below which no relation is meant
_TRIED = 4  # joins of one attachment that are combined with those of others
_UNCOVERED = 0.5  # the price of a word that no relation says
_DESCRIBING = frozenset(("ADJ", "ADV", "VERB", "AUX", "ADP", "PART"))
_APART = 0.6  # that of two topics in a list with different relations


@dataclass(frozen=True)
class Join:
    """Hops from a unit to the unit that it is attached to.

    Attributes:
        attachment: with the unit that it leads to.
        hops: from `attachment.unit` to `attachment.to`.
        score: how well they fit the words and the grammar.
        said: the words that their relations say.
        is_vague: whether there are two hops, and no word names one of them.
    """

    attachment: Attachment
    hops: tuple[Hop, ...]
    score: float
    said: frozenset[int]
    is_vague: bool = False


class Joiner:
    """Finds joins.

    Attributes:
        ends: what the units may be.
        value: the unit of a value that stands right behind the question word, as a class would: "which carpenter".
    """

    def __init__(self, parse: Parse, clauses: Clauses, schema: Schema, likeness: Likeness) -> None:
        self._parse, self._clauses, self._schema, self._likeness = parse, clauses, schema, likeness
        self.ends = Ends(parse, clauses, schema, likeness)
        flags = schema.flags(parse.lexicon.flags)
        self._hops = [hop for hop in hops(schema) if hop.relation not in flags]  # nothing is joined to yes or no
        named = {one: [likeness.bases(wording) for wording in one.wordings] for one in schema.relations}
        own = {
            likeness.bases(" ".join(sorted(name))) for one in flags for name in named[one]
        }  # base forms may be stops
        others = frozenset[str]().union(*(name for one in named if one not in flags for name in named[one]))
        names = [name for one in flags for name in one.wordings if _describes(name, likeness)]
        described = frozenset[str]().union(*map(likeness.bases, names))
        self._flags = self._naming(own, described - others)
        self.value = self._value()
        if self.value is not None and clauses.root is not None:
            self.ends.stand_for(clauses.root, self.value)
        self._repeated = [(one, other) for one in self._hops for other in self._hops if _goes_on(one, other)]

    def _value(self) -> int | None:
        units, root = self._clauses.units, self._clauses.root
        if root is None or units[root].kind != "word" or not self._schema.classes:
            return None
        listed, at = {one.with_ for one in self._clauses.attachments if not self._are_alike(one)}, units[root].at
        nouns = {at + 1, *([self._parse.tokens[at].head] if self._parse.is_a(at, "det", "amod") else ())}
        request = requested_value(self._parse)
        if request is not None and request[0] == at:  # "list all carpenters who ..."
            nouns.add(request[1])
        if self._parse.dependents(at, "cop"):  # "who is our dearest photographer"
            nouns |= set(self._parse.dependents(at, "nsubj"))
        behind = (number for number, unit in enumerate(units) if unit.at in nouns and unit.kind == "topic")
        first = next((number for number in behind if not self.ends.classes(number) and number not in listed), None)
        described = {one.unit: one.describes for one in self._clauses.attachments if one.describes is not None}
        while first in described:  # "which brown dogs"
            first = described[first]
        return first

    def _are_alike(self, one: Attachment) -> bool:
        """Whether a value and the one before "or" are values of one relation: "which altos or tenors"."""
        both = [self.ends.topic(number) for number in (one.unit, one.with_) if number is not None]
        besides = [{(beside.relation, beside.end) for beside in topic.beside} for topic in both if topic is not None]
        return one.alternative and len(besides) == 2 and not besides[0].isdisjoint(besides[1])

    def best(self, attachments: Sequence[Attachment]) -> list[Join] | None:
        """The joins of attachments that fit best together; None if one of them has no join."""
        options = [self._options(one) for one in attachments]
        told = [self._tell(found[0]) for found in options if found]
        if any(told):
            options = [self._options(one) for one in attachments]
        if not all(options):
            return None
        chosen = max(itertools.product(*(found[:_TRIED] for found in options)), key=self._worth, default=())
        return [self._by_named(join, chosen) for join in chosen]

    def _tell(self, join: Join) -> bool:
        """Note which class a noun stands for that names a relation: pupils for "members", of `member of`.

        Returns:
            Whether this was not known.
        """
        to, end = join.attachment.to, join.hops[-1].end
        unit = self._clauses.units[to]
        is_named = unit.kind == "noun" and len(join.hops) == 1 and join.said.issuperset(unit.tokens)
        return is_named and end in self._schema.classes and self.ends.tell(to, end)

    def _by_named(self, join: Join, chosen: Sequence[Join]) -> Join:
        """A join by way of a thing of a class that the question names leads to that: "the total price of the violins by
        Lena Roth" speaks of one kind of violins, be Lena Roth joined to them or to the price."""
        for other in chosen:
            one = other.attachment
            is_named = one.to == join.attachment.to and self._clauses.units[one.unit].kind == "class" and not one.denied
            if is_named and other.hops == join.hops[1:] and self.ends.may_end(one.unit, join.hops[0]):
                return replace(join, attachment=replace(join.attachment, to=one.unit), hops=join.hops[:1])
        return join

    def _worth(self, joins: Sequence[Join]) -> float:
        """Of joins together: their scores, less the price of words that none says, of classes that disagree and of two
        topics that the same words join otherwise."""
        words = {at for join in joins for at in self._between_words(join.attachment)}
        said = {at for join in joins for at in join.said}
        ends: dict[int, set[str]] = {}
        for join in joins:
            for unit, end in ((join.attachment.unit, join.hops[0].start), (join.attachment.to, join.hops[-1].end)):
                if end != THING:
                    ends.setdefault(unit, set()).add(end)
        clashes = sum(len(found) - 1 for found in ends.values())
        apart = sum(map(_are_apart, joins[:-1], joins[1:]))
        return sum(join.score for join in joins) - _UNCOVERED * len(words - said) - clashes - _APART * apart

    def _options(self, attachment: Attachment) -> list[Join]:
        """The joins of one attachment, best first; also to other units, if the grammar misled."""
        if valued := self._of_value(attachment):
            return valued
        found = _good(self._joins(attachment))
        if all(len(join.hops) > 1 or self._is_turned(join) for join in found):
            # A topic may lack what the question asks about.
            known = _good(self._joins(attachment, "of its class"))
            lacking = [join for join in known if join.said and not self._is_turned(join)]
            found = [join for join in lacking if len(join.hops) == 1] or found or lacking
        guessed = self._guessed(attachment)
        if any(len(join.hops) == 1 for join in guessed):  # nearer than two relations of which no word names one
            found = [join for join in found if not join.is_vague]
        if not found:
            moved = [join for moved in self._moved(attachment) for join in _good(self._joins(moved), _ELSEWHERE)]
            found = [*moved, *guessed] or self._by_sentence(attachment)
            found = found or _good(self._joins(attachment, "any"), _LOOSE)
        are_persons = self.asks(attachment.to, "person")
        return sorted(
            found, key=lambda join: (-join.score, are_persons and -self.ends.fit("person", join.hops[-1].end))
        )

    def _is_turned(self, join: Join) -> bool:
        """Whether one relation that a verb names is followed against the grammar: whom X trained, not who trained X."""
        hop, words = join.hops[0], (self._parse.words[at] for at in join.said)
        named = any(self._likeness.of_form(word, hop.relation.wordings) for word in words)
        return len(join.hops) == 1 and named and self._is_wrong_way(hop, join.attachment, "of its class")

    def _of_value(self, attachment: Attachment) -> list[Join]:
        """The only relation that leads to `value`."""
        if (attachment.unit, attachment.to) != (self.value, self._clauses.root):
            return []
        found = list(self._between(attachment, 1))
        labels = {join.hops[0].relation.label for join in found}
        return [replace(join, score=_ONLY) for join in found] if len(labels) == 1 else []

    def _moved(self, attachment: Attachment) -> Iterator[Attachment]:
        """An attachment to what is asked for, or to a thing of a class that is not beneath it; to the class noun
        right before it alone, if its verb follows: "the people Ada trained"."""
        beneath = {attachment.to, attachment.unit, *self._beneath(attachment.unit)}
        units, own = self._clauses.units, self._clauses.units[attachment.unit]
        others = [
            n for n, one in enumerate(units) if n not in beneath and (n == self._clauses.root or one.kind == "class")
        ]
        before = [n for n in others if units[n].span[1] == own.span[0] and own.span[1] in attachment.words]
        for other in before or others:
            yield replace(attachment, to=other, acts=attachment.acts if before else None)

    def _guessed(self, attachment: Attachment) -> list[Join]:
        """The only relation, or the only two in a row, between known things, whatever the words between them say; of
        several the one that says no more than that they belong together."""
        if not (self.ends.is_known(attachment.unit) and self.ends.is_known(attachment.to)):
            return []
        verbs = frozenset(at for at in attachment.words if self._parse.pos(at) == "VERB")
        found = list(self._between(attachment, 1)) or list(self._between(attachment, 1, "of its class"))
        if len(verbs) > 1:  # "stocks something that is brewed by": one relation says one verb
            found = [join for join in found if verbs <= join.said]
        if found and not any(join.said or self._is_bare(join) for join in found):  # a role that no word says
            found = [join for join in self._between(attachment, 2) if self._is_of_deed(join)] or found
        found = found or list(self._between(attachment, 2))
        found = [join for join in found if len(join.hops) == 1 and self._is_bare(join)] or found
        if len({tuple(hop.relation.label for hop in join.hops) for join in found}) != 1:
            return []
        if self._is_of_other_time(attachment, verbs, found):
            return []
        right = [join for join in found if not self._is_wrong_way(join.hops[0], attachment)] or found
        return [replace(join, score=_LEAST, said=join.said | verbs) for join in right]

    def _is_of_deed(self, join: Join) -> bool:
        """Whether the rows of a table are deeds, such as enrolments, and join two things by keys that say no more."""
        endings = tuple(one for one in self._parse.lexicon.deed_endings if len(one) > 1)
        return self._is_bare(join) and singular(join.hops[0].end.casefold()).endswith(endings)

    def _is_bare(self, join: Join) -> bool:
        """Whether each relation is called as the class that it leads to and no more, as keys of another table are: it
        says that the two belong together, "the mechanics at a branch" of `branch`, where `lead mechanic` says more."""
        likeness = self._likeness
        return all(
            (words := likeness.bases(hop.relation.label))
            and all(likeness.of_word(word, [hop.relation.tail.casefold()]) >= NAMES_NOUN for word in words)
            for hop in join.hops
        )

    def _is_of_other_time(self, attachment: Attachment, words: Iterable[int], joins: Sequence[Join]) -> bool:
        """Whether the time of something else is asked for than of what joins lead to: "since when does X deliver to Y"
        asks since when it delivers, not since when X exists."""
        labels = {hop.relation.label for join in joins for hop in join.hops}
        others = [one for one in self._schema.relations if one.label not in labels]
        return self.asks(attachment.to, "time") and any(
            self._likeness.of_word(self._parse.words[at], one.wordings) == 1 for at in words for one in others
        )

    def _by_sentence(self, attachment: Attachment) -> list[Join]:
        """The relation that makes a sentence clearly more like the question's than all others do: "who looks after the
        vault" and "who is the kept by of the vault"."""
        words = [at for at in self._between_words(attachment) if not self._is_of_values(at)]
        if not words or self._is_said_of_another(attachment.unit):
            return []
        found = list(self._between(attachment, 1)) or list(self._between(attachment, 1, "of its class"))
        if self._is_of_other_time(attachment, words, found):
            return []
        if self.asks(attachment.to, "person"):
            found = [join for join in found if self.ends.fit("place", join.hops[0].end) <= 0]
        statements = {join.hops[0]: self._statement(attachment, join.hops[0]) for join in found}
        nearest = self._clearest(self._sentence(attachment), statements, _LIKE)
        return [replace(join, score=_LEAST, said=join.said | set(words)) for join in found if join.hops[0] == nearest]

    def _clearest(self, said: str, statements: Mapping[Hop, str], least: float = 0.0) -> Hop | None:
        """The hop whose statement is most like a sentence, if those of all other relations are clearly less so.

        Args:
            least: likeness below which none is.
        """
        self._likeness.prepare([said, *statements.values()])
        likeness = {hop: self._likeness.cosine(said, text) for hop, text in statements.items()}
        nearest = max(statements, key=lambda hop: likeness[hop], default=None)
        if nearest is None or likeness[nearest] < least:
            return None
        others = (likeness[hop] for hop in statements if hop.relation.label != nearest.relation.label)
        return nearest if likeness[nearest] - max(others, default=-1.0) >= _CLEARLY else None

    def _is_of_values(self, at: int) -> bool:
        """Whether a word names a relation to values: "who earns the most"."""
        least, word = least_likeness(self._parse.pos(at)), self._parse.words[at]
        return any(
            self._likeness.of_word(word, one.wordings) >= least for one in self._schema.relations if one.is_measured
        )

    def _is_said_of_another(self, number: int) -> bool:
        """Whether a noun says what another thing is: "who became a customer", "who was there as a guest"."""
        at, as_ = self._clauses.units[number].at, self._parse.lexicon.clauses.get("as", ())
        return self._parse.is_a(at, "xcomp") or any(
            self._parse.words[i] in as_ for i in self._parse.dependents(at, "case")
        )

    def _sentence(self, attachment: Attachment) -> str:
        """The words of the question from one unit to the other, with the class in place of a topic."""
        own = {at: number for number in (attachment.unit, attachment.to) for at in self._clauses.units[number].tokens}
        others = {at for unit in self._clauses.units for at in unit.tokens} - own.keys()
        words: dict[str, None] = {}
        for at in range(min(*own, *attachment.words), max(*own, *attachment.words) + 1):
            if at not in others:
                words[self._called(own[at]) if at in own else self._parse.tokens[at].text] = None
        return " ".join(words)

    def _called(self, number: int) -> str:
        """The words for a unit in a sentence: a class, the class of a topic, or the question's words."""
        unit, classes = self._clauses.units[number], self.ends.classes(number)
        if unit.kind in ("class", "topic"):
            return (classes or unit.names)[0]
        return " ".join(unit.names)

    def _statement(self, attachment: Attachment, hop: Hop) -> str:
        """What a hop says of the two units of an attachment, as a sentence."""
        unit, to, label = self._called(attachment.unit), self._called(attachment.to), hop.relation.label
        if self._clauses.units[attachment.to].kind == "word" and hop.forward:
            return f"{to} is the {label} of the {unit}"
        return f"{unit} {label} {to}" if hop.forward else f"{to} {label} {unit}"

    def _between(self, attachment: Attachment, hops: int, topics: Related = "own") -> Iterator[Join]:
        return (join for join in self._joins(attachment, topics, unnamed=True) if len(join.hops) == hops)

    def _beneath(self, number: int) -> Iterator[int]:
        """The units that are attached to a unit, and those that are attached to them."""
        for one in self._clauses.attachments:
            if one.to == number:
                yield one.unit
                yield from self._beneath(one.unit)

    def _joins(self, attachment: Attachment, topics: Related = "own", *, unnamed: bool = False) -> Iterator[Join]:
        """The joins of an attachment by one relation, and by two where one is not enough or words lie in between.

        Args:
            topics: the relations that they may have.
            unnamed: also by two relations of which no word names any.
        """
        hops, is_self = self._hops, self._clauses.units[attachment.unit].kind == "self"
        if is_self and attachment.to == self._clauses.root:
            hops = [hop for hop in hops if hop.start == hop.end]
        hops = [hop for hop in hops if not self._is_from_named(attachment, hop)]
        starts = [hop for hop in hops if self.ends.may_start(attachment.unit, hop, topics)]
        single = [hop for hop in starts if self.ends.may_end(attachment.to, hop, topics)]
        labels = {hop.relation.label for hop in single}
        joins = [self._scored(attachment, (hop,), len(labels)) for hop in single]
        yield from (join for join in joins if join.said or not is_self)
        ends = [hop for hop in hops if self.ends.may_end(attachment.to, hop, topics)]
        named = set(self._joining(attachment))
        is_said = bool(single) and not attachment.words and any(named <= join.said for join in joins)
        chains = [] if is_said else [*_chains(starts, ends), *_within(starts, self._repeated, ends)]
        for chain in chains:
            join = self._scored(attachment, chain, 1)
            if join.said or unnamed or len(chains) == 1:  # two relations that nothing names could join anything
                yield join

    def _is_from_named(self, attachment: Attachment, hop: Hop) -> bool:
        """Whether a hop leads from the things that a noun names to what has them. The engineers of a bridge are
        persons, and this hop leads to the bridge."""
        unit, parse = self._clauses.units[attachment.to], self._parse
        label = hop.relation.label.casefold()
        if hop.forward or unit.kind != "noun" or not parse.lexicon.prepositions.isdisjoint(label.split()):
            return False
        said = " ".join(
            parse.words[at] for at in sorted({*unit.tokens, *parse.dependents(unit.at, "compound", "amod")})
        )
        bases, noun, tail = self._likeness.bases, unit.names[-1], hop.relation.tail
        are_persons = all(self._likeness.fits("person", one) == 1 for one in (noun, tail))
        is_role = are_persons and bases(label.split()[-1]) == bases(noun)
        is_named = is_role or (bases(label) == bases(said) and (are_persons or bases(tail) == bases(noun)))
        return is_named and not is_mutual(noun, label, parse.lexicon.mutual)

    # --- scores --------------------------------------------------------------------------------
    def _scored(self, attachment: Attachment, hops: tuple[Hop, ...], alternatives: int) -> Join:
        """A join with its score; `alternatives` is how many relations may join it."""
        if self.ends.is_other(attachment.to, hops[-1], asks_person=self.asks(attachment.to, "person")):
            return Join(attachment, hops, 0.0, frozenset())
        words = {at: self._parse.words[at] for at in [*self._joining(attachment), *self._named_ends(attachment, hops)]}
        besides = self._besides(attachment)
        said = {
            at: max((self._likeness.of_word(word, hop.relation.wordings), -n) for n, hop in enumerate(hops))
            for at, word in words.items()
        }
        deeds = {at for at in words if len(hops) == 2 and self.is_deed(at, hops[0].end)}
        said |= dict.fromkeys(deeds, (1.0, 0))
        parts, is_vague = [], False
        for n, hop in enumerate(hops):
            own = [word for at, word in words.items() if said[at][1] == -n and at not in deeds]
            if own:
                parts.append(self._likeness_of(own, hop.relation, besides))
            elif n == 0 and deeds:
                parts.append(NAMES_NOUN)
            elif len(hops) > 1 and hop is hops[-1] and self.asks(attachment.to, "time"):
                return Join(attachment, hops, 0.0, frozenset())  # any date of what lies in between
            else:
                is_vague = len(hops) > 1
                parts.append(self._unnamed(hop, attachment, besides, alternatives))
        if len(hops) > 1 and any(part < NAMES for part in parts):
            return Join(attachment, hops, 0.0, frozenset())
        score = sum(parts) / len(parts) - _FAR * (len(hops) - 1)
        if len(hops) == 1 and self._is_wrong_way(hops[0], attachment):
            score -= _WRONG_WAY
        if self._is_event(attachment, hops[-1].end):
            score -= _EVENT
        covered = {at for at, (likeness, _) in said.items() if likeness >= least_likeness(self._parse.pos(at))}
        if len(hops) == 1 and score >= _WHOLE:
            covered |= {at for at in words if self._parse.pos(at) != "PROPN"}
        return Join(attachment, hops, score, frozenset(covered), is_vague)

    def _likeness_of(self, words: Sequence[str], relation: Relation, besides: Collection[str]) -> float:
        """Of words that join and a relation; one word may have the stem of a name: "directed" and `director`."""
        whole, names = self._likeness.of_words(words, relation.wordings, besides), relation.wordings
        single = [name for name in names if len(self._likeness.bases(name)) == 1] if len(words) == 1 else []
        return max(whole, self._likeness.of_form(words[0], single)) if single else whole

    def is_deed(self, at: int, name: str) -> bool:
        """Whether a verb says what things of a class are: "who rented the van", where the van has rentals."""
        return self._parse.pos(at) == "VERB" and names_deed(self._parse.lemma(at), name, self._likeness.language)

    def _between_words(self, attachment: Attachment) -> list[int]:
        """The words of an attachment, without those that say what things are, "the capacity of the covered stages", or
        what a superlative compares, "who rented the van with the highest rate"."""
        return [at for at in attachment.words if at not in self._flags and not self._is_compared(at)]

    def _is_compared(self, at: int) -> bool:
        parse = self._parse
        noun = parse.tokens[at].head if parse.is_a(at, "amod", "compound") else at
        return parse.pos(noun) == "NOUN" and any(degree(parse, i) == "Sup" for i in parse.dependents(noun, "amod"))

    def _naming(self, flags: Collection[frozenset[str]], words: frozenset[str]) -> frozenset[int]:
        """The tokens that name a relation to yes and no: all words of its name, "read music", or an adjective or
        participle, "the covered stages", "stages that are covered", "organic farms" of `certified organic`.

        Args:
            flags: the content words of each name of such a relation.
            words: those that no other relation has.
        """
        parse, bases = self._parse, self._likeness.bases
        sizes = {len(one) for one in flags} - {0, 1}
        spans = [range(at, at + size) for size in sizes for at in range(len(parse) - size + 1)]
        spans += [
            range(at, at + 1)
            for at in range(len(parse))
            if parse.is_a(at, "amod", "acl") or parse.dependents(at, "aux:pass", "cop")
        ]
        found = {at for span in spans if bases(" ".join(parse.words[i] for i in span)) in flags for at in span}
        adjectives = (at for at in range(len(parse)) if parse.pos(at) == "ADJ" and parse.is_a(at, "amod"))
        return frozenset(found.union(at for at in adjectives if (own := bases(parse.words[at])) and own <= words))

    def _is_event(self, attachment: Attachment, end: str) -> bool:
        """Whether a class is the event that a verb names, not who takes part: an inspection for "who inspected"."""
        is_who = end == THING or self.ends.fit("person", end) == 1 or self._likeness.is_group(end)
        if is_who or not self.asks(attachment.to, "person"):
            return False
        verbs = [self._parse.words[at] for at in self._joining(attachment) if self._parse.pos(at) == "VERB"]
        if any(does(end, verb, self._likeness.language) for verb in verbs):  # a collector collects
            return False
        return any(self._likeness.of_word(verb, [end]) >= NAMES_NOUN for verb in verbs)

    def asks(self, number: int, kind: str) -> bool:
        """Whether a unit is a question word that asks for this kind of answer: a person, a time."""
        unit = self._clauses.units[number]
        return unit.kind == "word" and self._parse.lexicon.questions.get(unit.names[0]) == kind

    def _joining(self, attachment: Attachment) -> list[int]:
        """The tokens that may name the relation: those in between, and a noun that is asked for and is no class."""
        tokens = self._between_words(attachment)
        if self._schema.classes:  # else the noun may be a class that the graph does not tell
            tokens += [at for unit in self._ends(attachment) if unit.kind == "noun" for at in unit.tokens]
        return [at for at in tokens if not self._parse.is_stop(at)]

    def _named_ends(self, attachment: Attachment, hops: Sequence[Hop]) -> list[int]:
        """The tokens of a noun that names one of some relations, where it may be a class that the graph does not tell:
        "members" of `member of`."""
        if self._schema.classes:
            return []
        named = frozenset[str]().union(
            *(self._likeness.bases(wording) for hop in hops for wording in hop.relation.wordings)
        )
        nouns = (at for unit in self._ends(attachment) if unit.kind == "noun" for at in unit.tokens)
        return [at for at in nouns if not self._likeness.bases(self._parse.words[at]).isdisjoint(named)]

    def _besides(self, attachment: Attachment) -> set[str]:
        """Words that the name of the relation may have, too: those of the classes at both ends."""
        nouns = {self._parse.lemma(at) for unit in self._ends(attachment) if unit.kind == "class" for at in unit.tokens}
        classes = (name for number in (attachment.unit, attachment.to) for name in self.ends.classes(number))
        return nouns.union(*(self._likeness.bases(name) for name in classes))

    def _ends(self, attachment: Attachment) -> tuple[Unit, Unit]:
        return self._clauses.units[attachment.unit], self._clauses.units[attachment.to]

    def _unnamed(self, hop: Hop, attachment: Attachment, besides: set[str], alternatives: int) -> float:
        """The score of a relation that no content word names: "of", "in", "has"."""
        if alternatives == 1:
            return _ONLY
        score = _ONE_OF_SEVERAL
        if attachment.cases and self._is_nearest(hop, attachment.cases[0]):
            score += _BY_MEANING
        elif not set(attachment.cases).isdisjoint(hop.relation.label.casefold().split()):
            score += _BY_PREPOSITION
        if not besides.isdisjoint(self._likeness.bases(hop.relation.label)):
            score += _BY_CLASS
        return score

    def _is_nearest(self, hop: Hop, case: str) -> bool:
        """Whether a preposition between two classes means a relation rather than any other: "engineers on a team"."""
        near, far = hop.end, hop.start
        beside = [other for other in self._hops if {other.start, other.end} == {near, far}]
        names = {other: f"{near} {other.relation.label} {far}" for other in beside}
        nearest = self._clearest(f"{near} {case} {far}", names)
        return nearest is not None and nearest.relation.label == hop.relation.label

    def _is_wrong_way(self, hop: Hop, attachment: Attachment, topics: Related = "own") -> bool:
        """Whether the grammar says that a relation that could lead both ways leads the other way."""
        back = hop.back
        at = self._clauses.units[attachment.to].at
        ends = (hop.start, hop.end)  # "people" may be of another class than the one that is offered
        is_general = self._parse.words[at] in self._parse.lexicon.persons
        are_persons = is_general and all(self._likeness.fits("person", end) == 1 for end in ends)
        may_turn = self.ends.may_start(attachment.unit, back, topics) and self.ends.may_end(attachment.to, back, topics)
        if not (may_turn or are_persons):
            return False
        lexicon = self._parse.lexicon
        words = [self._parse.words[at] for at in self._joining(attachment)]
        named = max(
            hop.relation.wordings, key=lambda wording: self._likeness.of_words(words, [wording]) if words else 0
        )
        last = set(named.casefold().split()[-1:])
        if last & set(attachment.cases) - lexicon.agents:  # "ends at X"; "X is a branch of what"
            return hop.forward != bool(attachment.acts)
        if attachment.acts is not None:
            language = self._likeness.language
            done_to = bool(last & lexicon.agents) or head_of(named, language) == "object"
            turned = any(says_converse(self._parse.lemma(at), named, language) for at in self._joining(attachment))
            return hop.forward == (attachment.acts == (done_to != turned))
        is_genitive = bool(last & lexicon.prepositions)
        return attachment.owns and hop.forward == is_genitive


def _good(joins: Iterable[Join], less: float = 0.0) -> list[Join]:
    """The joins with enough score, after something is taken off."""
    found = (replace(join, score=join.score - less) for join in joins)
    return [join for join in found if join.score >= _LEAST]


def _chains(starts: Sequence[Hop], ends: Sequence[Hop]) -> Iterator[tuple[Hop, Hop]]:
    """Two hops by way of a thing; not there and back by one relation."""
    for first in starts:
        if first.end in MEASURES or first.end in (THING, "text"):
            continue
        for second in ends:
            if second.start == first.end and (second.relation != first.relation or first.forward == second.forward):
                yield first, second


def _within(
    starts: Sequence[Hop], repeated: Sequence[tuple[Hop, Hop]], ends: Sequence[Hop]
) -> Iterator[tuple[Hop, Hop, Hop]]:
    """Three hops, two of them by one relation between things of different classes: the seat is an office, which is
    located in a city, which is located in a country."""
    for second, third in ((one, other) for one, other in repeated if other in ends):
        outer = (first for first in starts if first.end == second.start)
        yield from ((first, second, third) for first in outer if first.relation.label != second.relation.label)
    for first, second in ((one, other) for one, other in repeated if one in starts):
        outer = (third for third in ends if third.start == second.end)
        yield from ((first, second, third) for third in outer if third.relation.label != second.relation.label)


def _describes(name: str, likeness: Likeness) -> bool:
    """Whether a name has no noun, so that its adjective says the whole: `certified organic`, not `free parking`."""
    grammar = parsed(name, (), likeness.language)
    return all(grammar.pos(at) in _DESCRIBING for at in range(len(grammar)))


def _are_apart(one: Join, other: Join) -> bool:
    """Whether "A and B" are joined by different relations, though no words tell them apart."""
    first, second = one.attachment, other.attachment
    is_list = second.with_ == first.unit and first.to == second.to and first.words == second.words
    return is_list and one.hops != other.hops


def _goes_on(one: Hop, other: Hop) -> bool:
    """Whether a hop follows another by the same relation the same way, from one class to another and on to a third."""
    same = one.relation.label == other.relation.label and one.forward == other.forward
    return same and one.end == other.start and len({one.start, one.end, other.end}) == 3 and one.end != THING
