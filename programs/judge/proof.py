"""What a proof says of a question: its paths, the parts of the question that it covers, and the facts nearest to it.

All of it is computed from the question, the graph, the evidence and the linked topics, so it is the same for every
program and every model.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from triplecheck.kg import Direction, Graph, Words, normalize
from triplecheck.kg.names import respelt
from triplecheck.kg.types import Edge, Literal
from triplecheck.kg.values import quantity, value_of
from triplecheck.language.coverage import LEAST, unnamed_nouns, unnamed_words, unsayable
from triplecheck.language.described import asked_class
from triplecheck.language.kinds import fit
from triplecheck.language.likeness import Likeness
from triplecheck.language.operations import Join, Limit
from triplecheck.language.pipeline import ENGLISH
from triplecheck.language.question import Question, read_question
from triplecheck.language.relevance import Encode, PathRelevance, phrases
from triplecheck.language.text import TOPIC
from triplecheck.language.times import TimeLimit
from triplecheck.programs.assists.time_conditions import time_condition
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.steps import Computed, Linked, Pruned, TraceEvent
from triplecheck.programs.subgraph import ARROWS, Hop
from triplecheck.signatures.notation import (
    FORWARD,
    WrittenHop,
    clean,
    read_path,
    with_kind,
    wordings,
    write_topic,
    write_wordings,
)

_MOST_JOINED = 20  # answers
_MOST_HOPS = 4
_MOST_ALTERNATIVES = 200
_LONGEST_LABEL = 200
_NEAREST, _VALUES = 3, 3
LEAST_COVERAGE = 0.3
"""Cosine below which no phrase of a proof covers a part of a question."""

_YEAR = re.compile(r"\b[12]\d{3}\b")
_NUMBER = re.compile(r"\d+")
_PLAIN_YEAR = re.compile(r"-?\d{3,4}")

WrittenHops = tuple[WrittenHop, ...]


@dataclass(frozen=True)
class Nearest:
    """The facts around the topics that are nearest to a question.

    Attributes:
        missing: the part of the question that the graph says least of; empty if there is none.
        triples: the facts.
    """

    missing: str = ""
    triples: tuple[Edge, ...] = ()


class Proof:
    """The evidence of an answer, read as paths from the topics.

    Args:
        graph: the graph of the evidence.
        encode: texts to L2-normalised vectors.
        question: the question.
        found: the answer and its evidence.
        steps: the trace, for the linked topics and the paths that were offered.
        language: of the question.
    """

    def __init__(
        self,
        graph: Graph,
        encode: Encode,
        question: str,
        found: Outcome,
        steps: Sequence[TraceEvent],
        language: str = ENGLISH,
    ) -> None:
        self._language = language
        self.graph = graph
        self.encode = encode
        self.question = question
        self.found = found
        self.steps = steps
        self._written: dict[int, str] = {}

    # --- topics --------------------------------------------------------------------------------
    @cached_property
    def linked(self) -> list[Linked]:
        """The mentions that were linked to an entity."""
        return [step for step in self.steps if isinstance(step, Linked) and step.chosen]

    @cached_property
    def topics(self) -> dict[int, str]:
        """The linked nodes, each with its mention."""
        found: dict[int, str] = {}
        for step in self.linked:
            for id in step.chosen:
                node = self.graph.find(id)
                if node is not None:
                    found.setdefault(node, step.mention)
        return found

    # --- paths ---------------------------------------------------------------------------------
    @cached_property
    def paths(self) -> list[WrittenHops]:
        """The relations from topics to the answers, or to the ends of the evidence if it holds no answer."""
        edges: dict[int, list[tuple[Hop, int]]] = {}
        for head, relation, tail in self.found.evidence:
            edges.setdefault(head, []).append((Hop(relation, Direction.OUT), tail))
            edges.setdefault(tail, []).append((Hop(relation, Direction.IN), head))
        # For an extreme, the compared values end the paths and the answers are inside them.
        answers = set() if self.computed & {"max", "min"} else set(self.found.answers)
        starts = [topic for topic in self.topics if topic in edges]
        starts = starts or [node for node in edges if node not in answers][:1] or list(edges)[:1]
        sequences: dict[tuple[Hop, ...], bool] = {}
        for start in starts:
            sequences |= dict.fromkeys(_sequences(edges, start, answers), True)
        return [self._typed(tuple(self.write(hop) for hop in hops)) for hops in sequences]

    def _typed(self, path: WrittenHops) -> WrittenHops:
        """The path with the type at its end, if that is the class of things that the question asks for."""
        if not path or not self.asked_class:
            return path
        return (*path[:-1], replace(path[-1], label=with_kind(path[-1].label, self.asked_class)))

    @cached_property
    def asked_class(self) -> str:
        """The type of the answers, if the question asks for it by its name; else empty."""
        return next(iter(asked_class(self.read, self.types)), "")

    @cached_property
    def misses_class(self) -> bool:
        """Whether the question asks for things of a class of the graph, and no answer is one."""
        if self.parsed.counts or self.kind in ("yes or no", "text"):
            return False
        labels = list(dict.fromkeys(map(self.graph.type_label, self.graph.type_ids)))
        asked = asked_class(self.parsed, labels, one=True)
        nodes = self.found.answers[:20]
        kinds = [self.graph.types(node) for node in nodes if self.graph.literal(node) is None]
        labels_of = {self.graph.type_label(kind) for own in kinds for kind in own}
        return bool(asked) and all(kinds) and not labels_of & set(asked)

    @cached_property
    def fits_word(self) -> int:
        """How the first answer fits "who" or "where" (`language.kinds.fit`); 1 if the graph gives it no class."""
        labels = [self.graph.type_label(kind) for node in self.found.answers[:1] for kind in self.graph.types(node)]
        return (
            1 if self.kind == "text" or not labels else fit(self.parsed.asked.kind, labels, self.encode, self._language)
        )

    @cached_property
    def echoes(self) -> bool:
        """Whether the answers are topics of a question that does not ask to choose one of them."""
        answers = set(self.found.answers)
        chooses = self.computed or self.parsed.chooses or len(self.topics) > 1
        return bool(answers) and not chooses and answers <= set(self.topics)

    @cached_property
    def is_time(self) -> bool:
        """Whether the first answer is a date or may be a year."""
        (said,) = self.graph.labels(list(self.found.answers[:1])) or (self.found.answer,)
        return self.kind == "time" or (self.kind == "number" and bool(_PLAIN_YEAR.fullmatch(said)))

    @cached_property
    def names_year(self) -> bool:
        """Whether an answer is a thing with a year in its name, such as an event."""
        return any(_YEAR.search(label) for label in self.graph.labels(list(self.found.answers[:20])))

    @cached_property
    def computed(self) -> set[str]:
        """The operations that code ran."""
        return {step.operation for step in self.steps if isinstance(step, Computed)}

    def write(self, hop: Hop) -> WrittenHop:
        """A hop with all names of its relation."""
        if hop.relation not in self._written:
            about = self.graph.relation(hop.relation)
            self._written[hop.relation] = clean(write_wordings([about.label, *about.aliases]))[:_LONGEST_LABEL]
        return WrittenHop(self._written[hop.relation], ARROWS[hop.direction])

    @cached_property
    def alternatives(self) -> list[WrittenHops]:
        """Other paths that may answer: those offered to a model, and the relations at the topics."""
        offered = [read_path(line).hops for step in self.steps if isinstance(step, Pruned) for line in step.offered]
        counts = self.graph.relation_counts(list(self.topics)) if self.topics else []
        around: list[WrittenHops] = [(self.write(Hop(c.relation, c.direction)),) for c in counts]
        own = {_key(path) for path in self.paths}
        others = {_key(path): path for path in (*around, *offered) if path and _key(path) not in own}
        return list(others.values())[:_MOST_ALTERNATIVES]

    @cached_property
    def read(self) -> Question:
        """The question, with its topics masked."""
        question = Words(self.question)
        names = [
            next((one for one in (name, *respelt(name)) if one in question), name)
            for name in (*self.topics.values(), *self.graph.labels(list(self.topics)))
        ]
        names += [name for node in self.topics for name in self.graph.entity(node).aliases if name in question]
        kinds = {self.graph.type_label(kind) for node in self.topics for kind in self.graph.types(node)}
        known: dict[str, None] = {}
        for name in names:
            # "the river Thames", "the Sales team": the class says which thing is meant, and nothing of it.
            titled = [text for kind in kinds for text in (f"{kind} {name}", f"{name} {kind}") if text in question]
            known |= dict.fromkeys(map(write_topic, titled or [name]))
        read = read_question(self.question, list(known), language=self._language)
        values = {write_topic(name) for node in self.topics for name in self._names_of_value(node)}
        if not values:
            return read
        # "before 2021-01-19" is a bound, though the graph has that value.
        plain = read_question(self.question, [name for name in known if name not in values], language=self._language)
        bounds: list[Limit | TimeLimit] = [*plain.limits, *plain.times]
        return plain if any(bound.is_bound for bound in bounds) else read

    def _names_of_value(self, node: int) -> tuple[str, ...]:
        """How the question and the graph name a topic that is a number or a date; empty for others."""
        is_value = quantity(value_of(self.graph, node)) is not None
        return (self.topics[node], *self.graph.labels([node])) if is_value else ()

    @cached_property
    def parsed(self) -> Question:
        """The question, read with the names of the relations of the proof."""
        return self.read.naming(phrases(hop for path in self.paths for hop in path))

    @cached_property
    def spelt(self) -> str:
        """The question with the graph's label in place of its spelling of the topic, if it has one topic."""
        labels = list(dict.fromkeys(self.graph.labels(list(self.topics))))
        if len(labels) != 1:
            return self.question
        return " ".join(labels[0] if word == TOPIC else word for word in self.parsed.words)

    @cached_property
    def masked(self) -> list[str]:
        """The question with each of its topics masked in turn."""
        return [self.parsed.masked(name) for name in dict.fromkeys(topic.name for topic in self.parsed.topics) or [""]]

    @cached_property
    def relevance(self) -> PathRelevance:
        """Compares paths with the question."""
        return PathRelevance(self.parsed, self.encode)

    # --- coverage ------------------------------------------------------------------------------
    @cached_property
    def types(self) -> list[str]:
        """The types of the answers, most frequent first; for a number, of what the evidence leads to."""
        counts: dict[str, int] = {}
        nodes = self.found.answers or [n for head, _, tail in self.found.evidence for n in (head, tail)]
        for node in [node for node in nodes if node not in self.topics or node in self.found.answers][:20]:
            for kind in self.graph.types(node):
                counts[kind] = counts.get(kind, 0) + 1
        return [self.graph.type_label(kind) for kind in sorted(counts, key=lambda kind: -counts[kind])[:8]]

    @cached_property
    def coverage(self) -> dict[str, float]:
        """How well each part of the question is covered: the greatest cosine with a relation or a type of the proof."""
        relevance = self.relevance
        said = [hop.label for path in self.paths for hop in path] + self.types
        if not said or not relevance.segments:
            return {}
        best = relevance.similarity(list(dict.fromkeys(said))).max(axis=0)
        dated = set(normalize(self._proved_time).split())
        return {
            segment.text: 1.0 if dated and set(normalize(segment.text).split()) <= dated else float(value)
            for segment, value in zip(relevance.segments, best, strict=True)
        }

    @cached_property
    def uncovered(self) -> list[str]:
        """The conditions of the question that the proof says nothing of, in the question's words."""
        read, words, computed = self.parsed, self._words(), self.computed
        proved = self._proved_time
        words |= set(normalize(proved).split())
        bounds: list[Limit | TimeLimit] = [*read.limits, *read.times]
        found = [one.text for one in bounds if one.text not in proved and one.is_bound]
        limits = set(normalize(" ".join(found)).split())
        found += [text for text in read.numbers if not set(normalize(text).split()) <= words | limits]
        found += [negation.text for negation in read.negations]
        if read.compares and not computed & {"max", "min"} and not self._says_yes_or_no:
            found += [text for text in (read.compares.text,) if text not in words | limits]
        if read.ordinal is not None:
            found.append(read.ordinal.text)  # no operation takes the n-th
        if (asked := read.aggregate) is not None and not computed & {"sum", "difference", asked.kind}:
            named = set(normalize(asked.text).split()) <= words
            found += [] if named or (asked.kind == "count" and self.kind == "number") else [asked.text]
        found += [word for _, word in unsayable(read)]
        if len(chain := self.parsed.chain) > max(map(len, self.paths), default=0):
            found.append(min(chain, key=lambda text: self.coverage.get(text, 0.0)))
        found += self._opposed
        bases = Likeness(self.encode, self._language).bases
        found += [
            name
            for name in read.names
            if words.isdisjoint(normalize(name).split()) and bases(name).isdisjoint(bases(" ".join(words)))
        ]
        nodes = {end for head, _, tail in self.found.evidence for end in (head, tail)}
        for mention in dict.fromkeys(self.topics.values()):
            meant = {node for node, name in self.topics.items() if name == mention}
            if normalize(mention) in normalize(self.question) and not meant & nodes:
                found.append(mention)
        return list(dict.fromkeys(found))

    @cached_property
    def unnamed(self) -> list[str]:
        """The words of the question that neither proof nor topics' classes name.

        Nothing could name the class that is asked for, if the graph has none; what is counted is doubted even so.
        """
        said = [wording for path in self.paths for hop in path for wording in wordings(hop.label)]
        said += [self.graph.type_label(kind) for node in self.topics for kind in self.graph.types(node)]
        likeness = Likeness(self.encode, self._language)
        names = list(dict.fromkeys([*said, *self.types]))
        words = [
            *unnamed_words(self.parsed, names, likeness),
            *unnamed_nouns(self.parsed, names, likeness),
        ]
        if not (self.graph.has_types or self.parsed.counts):
            words = [word for word in words if word.casefold() not in self.parsed.asked.noun.casefold().split()]
        return list(dict.fromkeys([*words, *self.further]))

    @cached_property
    def further(self) -> list[str]:
        """The noun that is asked for, if it names a relation of the answer and none of the proof: what lies beyond."""
        likeness = Likeness(self.encode, self._language)
        asked, answers = likeness.bases(self.parsed.asked.lemma), list(self.found.answers[:_NEAREST])
        if not asked or not answers:
            return []

        def named(relations: Iterable[int]) -> bool:
            abouts = map(self.graph.relation, relations)
            return any(asked <= likeness.bases(name) for about in abouts for name in (about.label, *about.aliases))

        counts = self.graph.relation_counts(answers)
        further = (count.relation for count in counts if count.direction is Direction.OUT)
        reached = named(relation for _, relation, _ in self.found.evidence)
        return [self.parsed.asked.noun] if not reached and named(further) else []

    @cached_property
    def rivals(self) -> list[str]:
        """Of one relation that leads to what is answered, the other relations of the topic that the question names as
        well."""
        words = [word for segment in self.parsed.segments for word in segment.text.split()]
        own = {hop.label for path in self.paths for hop in path}
        if len(own) != 1 or not words or any(len(path) > 1 for path in self.paths):
            return []
        likeness = Likeness(self.encode, self._language)
        labels = dict.fromkeys(path[0].label for path in self.alternatives if len(path) == 1)
        fits = {label: likeness.of_words(words, wordings(label)) for label in (*own, *labels)}
        best = fits[next(iter(own))]
        return [wordings(label)[0] for label in labels if label not in own and fits[label] >= max(best, LEAST)]

    @cached_property
    def other_names(self) -> list[str]:
        """The topics whose number the question does not say, though it says another one: "the race of 2015"."""
        said = {
            node: _NUMBER.findall(name)
            for node, name in zip(self.topics, self.graph.labels(list(self.topics)), strict=True)
        }
        asked = Counter(_NUMBER.findall(self.question))
        other = asked - Counter(number for numbers in said.values() for number in numbers)
        return self.graph.labels([node for node, numbers in said.items() if other and not set(numbers) <= asked.keys()])

    @cached_property
    def unjoined(self) -> list[str]:
        """The topics that "and" joins, without a triple between them and each answer."""
        if self.computed or len(self.topics) < 2 or not self._joins:
            return []
        answers = self.found.answers[:_MOST_JOINED]
        return [name for name in self._mentions if any(not self._ways(name, answer) for answer in answers)]

    @cached_property
    def mixed(self) -> list[str]:
        """Topics that "and" joins to one whole, if they and an answer are joined by different relations."""
        spelt = {normalize(name): name for name in self._mentions}
        for join in self._joins:
            names = [spelt[normalize(member)] for member in join.members if normalize(member) in spelt]
            for answer in self.found.answers[:_MOST_JOINED] if len(names) > 1 else ():
                ways = [self._ways(name, answer) for name in names]
                if all(ways) and not set.intersection(*ways):
                    return names
        return []

    @property
    def _joins(self) -> list[Join]:
        """What "and" joins in the question, unless it asks whether something is so."""
        return [] if self.parsed.asks_whether else [join for join in self.parsed.joins if join.kind == "and"]

    @property
    def _mentions(self) -> dict[str, set[int]]:
        """The topics by their mention."""
        found: dict[str, set[int]] = {}
        for node, name in self.topics.items():
            found.setdefault(name, set()).add(node)
        return found

    @cached_property
    def unlisted(self) -> list[str]:
        """What is joined with all topics of a question as the first answer is, and yet is no answer."""
        if (
            self.computed
            or self.unjoined
            or len(self._mentions) < 2
            or not self.found.answers
            or self.parsed.asks_whether
        ):
            return []
        first, answers = self.found.answers[0], set(self.found.answers)
        hops: dict[str, set[int]] = {}
        for head, relation, tail in self.found.evidence:
            topic, direction = (head, Direction.OUT) if tail == first else (tail, Direction.IN)
            if first in (head, tail) and topic in self.topics:
                reached = self.graph.neighbors(topic, relation, direction, _MOST_ALTERNATIVES)
                hops.setdefault(self.topics[topic], set()).update(reached.tolist())
        if len(hops) < len(self._mentions):
            return []
        return self.graph.labels(sorted(set.intersection(*hops.values()) - answers - self.topics.keys())[:_NEAREST])

    def _ways(self, mention: str, answer: int) -> set[tuple[int, bool]]:
        """The relations, and whether they lead to the answer, of the triples between a topic and an answer."""
        meant = self._mentions[mention]
        to = {(relation, True) for head, relation, tail in self.found.evidence if head in meant and tail == answer}
        return to | {
            (relation, False) for head, relation, tail in self.found.evidence if tail in meant and head == answer
        }

    @property
    def _opposed(self) -> list[str]:
        """Words of the question whose opposite is in a relation of the proof, as "born" and `date of death`."""
        hops = [hop for path in self.paths for hop in path]
        asked = {*self.parsed.words, *self.parsed.lemmas}
        found = []
        for one, other, has_converse in self.parsed.parse.lexicon.opposites:
            followed = [hop for hop in hops if hop.arrow == FORWARD] if has_converse else hops
            said = {word for hop in followed for word in normalize(hop.label).split()}
            for own, opposite in ((set(one), set(other)), (set(other), set(one))):
                if asked & own and said & opposite and not asked & opposite and not said & own:
                    found += [word for word in self.parsed.words if word in own][:1] or [min(asked & own)]
        return found

    @cached_property
    def _proved_time(self) -> str:
        """The time that the question is about, if an edge of the evidence has it as a property; else empty."""
        when = time_condition(self.graph, self.parsed)
        return when.text if when is not None and when.is_proved_by(self.graph, self.found.evidence) else ""

    def _words(self) -> set[str]:
        """Words of everything that the evidence names, and of the topics."""
        nodes = {end for head, _, tail in self.found.evidence for end in (head, tail)} | set(self.topics)
        texts = [*self.graph.labels(sorted(nodes)), *self.topics.values(), *self.types]
        texts += [hop.label for path in self.paths for hop in path]
        for node in list(nodes)[:50]:
            if self.graph.literal(node) is None:
                texts += self.graph.entity(node).aliases
        return {word for text in texts for word in normalize(text).split()}

    @property
    def _says_yes_or_no(self) -> bool:
        return not self.found.answers and self.found.answer in ("yes", "no")

    @cached_property
    def kind(self) -> str:
        """What the first answer is: `number`, `time`, `entity`, `yes or no`, or `text`."""
        if self._says_yes_or_no:
            return "yes or no"
        if not self.found.answers:
            said = quantity(Literal(self.found.answer))
            return "text" if said is None or said.is_time else "number"
        size = quantity(value_of(self.graph, self.found.answers[0]))
        if size is not None:
            return size.sense
        return "entity" if self.graph.literal(self.found.answers[0]) is None else "text"


def nearest_facts(proof: Proof) -> Nearest:
    """The facts around the topics whose relations are nearest to the question, and what they leave out."""
    topics = list(proof.topics)
    counts = proof.graph.relation_counts(topics)[:_MOST_ALTERNATIVES] if topics else []
    if not counts:
        return Nearest()
    hops = [Hop(count.relation, count.direction) for count in counts]
    written = [proof.write(hop) for hop in hops]
    similar = proof.relevance.similarity([hop.label for hop in written])
    best = similar.max(axis=0)
    weakest = int(best.argmin())
    missing = proof.relevance.segments[weakest].text if best[weakest] < 2 * LEAST_COVERAGE else ""
    triples: list[Edge] = []
    for at in np.argsort(-similar.max(axis=1), kind="stable")[:_NEAREST]:
        hop = hops[at]
        for topic in topics:
            for value in proof.graph.neighbors(topic, hop.relation, hop.direction, limit=_VALUES).tolist():
                ends = (topic, value) if hop.direction is Direction.OUT else (value, topic)
                triples.append((ends[0], hop.relation, ends[1]))
    return Nearest(missing, tuple(dict.fromkeys(triples))[: _NEAREST * _VALUES])


def _key(path: Iterable[WrittenHop]) -> tuple[tuple[str, str], ...]:
    return tuple((hop.label.split(" / ")[0], hop.arrow) for hop in path)


def _sequences(edges: dict[int, list[tuple[Hop, int]]], start: int, answers: set[int]) -> list[tuple[Hop, ...]]:
    """Relations along shortest ways through the evidence, from a topic to the answers; without these, to its ends."""
    reached: dict[int, tuple[Hop, ...]] = {start: ()}
    frontier = [start]
    for _ in range(_MOST_HOPS):
        following = []
        for node in frontier:
            for hop, other in edges.get(node, ()):
                if other not in reached:
                    reached[other] = (*reached[node], hop)
                    following.append(other)
        frontier = following
    ways = [hops for node, hops in reached.items() if node in answers and hops]
    if not ways:
        longest = max(map(len, reached.values()))
        ways = [hops for hops in reached.values() if len(hops) == longest and hops]
    return list(dict.fromkeys(ways))
