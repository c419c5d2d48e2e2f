"""The proof of an answer: its topics, its paths, the kind of answer, and the parts of the question that it covers.

All of it is computed from the question, the graph, the evidence and the linked topics, so it is the same for every
program and every model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property

from triplecheck.kg import Direction, Graph, Words, normalize
from triplecheck.kg.names import respelt
from triplecheck.kg.relation_vectors import RelationVectors
from triplecheck.kg.types import Literal
from triplecheck.kg.values import quantity, value_of
from triplecheck.language.described import asked_class
from triplecheck.language.kinds import fit
from triplecheck.language.likeness import Likeness
from triplecheck.language.operations import Limit
from triplecheck.language.pipeline import ENGLISH
from triplecheck.language.question import Question, read_question
from triplecheck.language.relevance import Encode, PathRelevance, phrases
from triplecheck.language.text import TOPIC, mask, words_of
from triplecheck.language.times import TimeLimit
from triplecheck.programs.assists.time_conditions import time_condition
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.steps import Computed, Linked, Pruned, TraceEvent
from triplecheck.programs.subgraph import ARROWS, Hop
from triplecheck.signatures.notation import WrittenHop, clean, read_path, with_kind, write_topic, write_wordings

_MOST_HOPS = 4
_MOST_ALTERNATIVES = 200
_LONGEST_LABEL = 200
LEAST_COVERAGE = 0.3
"""Cosine below which no phrase of a proof covers a part of a question."""

_YEAR = re.compile(r"\b[12]\d{3}\b")
_PLAIN_YEAR = re.compile(r"-?\d{3,4}")

WrittenHops = tuple[WrittenHop, ...]


class Proof:
    """The evidence of an answer, read as paths from the topics.

    Args:
        encode: texts to L2-normalised vectors.
        steps: the trace, for the linked topics and the paths that were offered.
        relations: vectors of the graph's relations; None: not known.
    """

    def __init__(
        self,
        graph: Graph,
        encode: Encode,
        question: str,
        found: Outcome,
        steps: Sequence[TraceEvent],
        language: str = ENGLISH,
        relations: RelationVectors | None = None,
    ) -> None:
        self.graph = graph
        self.encode = encode
        self.question = question
        self.found = found
        self.steps = steps
        self.language = language
        self.relations = relations
        self.likeness = Likeness(encode, language)
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

    @cached_property
    def mentions(self) -> dict[str, set[int]]:
        """The topics by their mention."""
        found: dict[str, set[int]] = {}
        for node, name in self.topics.items():
            found.setdefault(name, set()).add(node)
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
            1 if self.kind == "text" or not labels else fit(self.parsed.asked.kind, labels, self.encode, self.language)
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
        names = [name for node in self.topics for name in self._spellings(node, question)]
        kinds = {self.graph.type_label(kind) for node in self.topics for kind in self.graph.types(node)}
        known: dict[str, None] = {}
        for name in names:
            # "the river Thames", "the Sales team": the class says which thing is meant, and nothing of it.
            titled = [text for kind in kinds for text in (f"{kind} {name}", f"{name} {kind}") if text in question]
            known |= dict.fromkeys(map(write_topic, titled or [name]))
        read = read_question(self.question, list(known), language=self.language)
        values = {write_topic(name) for node in self.topics for name in self._names_of_value(node)}
        if not values:
            return read
        # "before 2021-01-19" is a bound, though the graph has that value.
        plain = read_question(self.question, [name for name in known if name not in values], language=self.language)
        bounds: list[Limit | TimeLimit] = [*plain.limits, *plain.times]
        return plain if any(bound.is_bound for bound in bounds) else read

    def _spellings(self, node: int, question: Words) -> list[str]:
        """The names of a topic that stand in the question; if none does, its mention and its label."""
        names = [self.topics[node], *self.graph.labels([node])]
        said = [one for name in names for one in (name, *respelt(name)) if one in question]
        rest = Words(" ".join(mask(words_of(self.question), said)))
        said += [name for name in self.graph.entity(node).aliases if name in rest]
        return said or names

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

    # --- what it says ------------------------------------------------------------------------------
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
        dated = set(normalize(self.proved_time).split())
        return {
            segment.text: 1.0 if dated and set(normalize(segment.text).split()) <= dated else float(value)
            for segment, value in zip(relevance.segments, best, strict=True)
        }

    @cached_property
    def proved_time(self) -> str:
        """The time that the question is about, if an edge of the evidence has it as a property; else empty."""
        when = time_condition(self.graph, self.parsed)
        return when.text if when is not None and when.is_proved_by(self.graph, self.found.evidence) else ""

    @property
    def says_yes_or_no(self) -> bool:
        """Whether the answer is yes or no, and no thing of the graph."""
        return not self.found.answers and self.found.answer in ("yes", "no")

    @cached_property
    def kind(self) -> str:
        """What the first answer is: `number`, `time`, `entity`, `yes or no`, or `text`."""
        if self.says_yes_or_no:
            return "yes or no"
        if not self.found.answers:
            said = quantity(Literal(self.found.answer))
            return "text" if said is None or said.is_time else "number"
        size = quantity(value_of(self.graph, self.found.answers[0]))
        if size is not None:
            return size.sense
        return "entity" if self.graph.literal(self.found.answers[0]) is None else "text"


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
