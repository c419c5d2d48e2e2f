"""What Think-on-Graph and Plan-on-Graph share: topics named by the model, and exploring one hop from an entity.

Both ask the model once for each entity's relations and once for each relation's entities, and follow
single entities, not whole paths as AnchorRAG does.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from triplecheck.language.question import Question
from triplecheck.lms import RolePredict
from triplecheck.programs.assists.doubts import answering_step
from triplecheck.programs.assists.plans import planned
from triplecheck.programs.base import AnySources, check_positive
from triplecheck.programs.closed_book import RecallingProgram
from triplecheck.programs.conclude import AnsweringProgram, Reading, answer_from_facts
from triplecheck.programs.expansion import (
    SCHEMA_RELATIONS,
    fetch,
    is_schema,
    normalised,
    note_at_end,
    one_hop_paths,
    unlikeness,
    valid_numbers,
)
from triplecheck.programs.options import AnsweringOptions, ProgramOptions
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.room import within_tokens
from triplecheck.programs.steps import Checked, Pruned, Scored, Trace, Truncated
from triplecheck.programs.subgraph import (
    Fact,
    Hop,
    Path,
    RelationNames,
    Subgraph,
    names_of_facts,
    node_names,
    render_path,
)
from triplecheck.programs.topics import TopicLinker, named_topics
from triplecheck.signatures import JudgeSufficiency, NameTopics, ScoreEntities, ScoreRelations
from triplecheck.signatures.notation import write_reached


@dataclass(frozen=True)
class ExploringLimits:
    """Limits of ToG and PoG. The trace records what a limit cuts off.

    Attributes:
        offered: relations of one entity that are shown, the most similar to the question first.
        values: edges fetched per (entity, relation).
        entities: of these, shown to the model to be scored.
        tokens: estimated tokens of facts, or of a query's relations, in a prompt.
    """

    offered: int = 60
    values: int = 200
    entities: int = 40
    tokens: int = 4_000


@dataclass(frozen=True)
class ExploringOptions(AnsweringOptions):
    """Options of `ToG`.

    Attributes:
        depth: hops at most.
        width: N of ToG: relations per entity, entities per relation, and routes in the beam.
        limits: how much to look at.
    """

    depth: int = 3
    width: int = 3
    limits: ExploringLimits = ExploringLimits()


@dataclass(frozen=True)
class Route:
    """A chain of triples from a topic to one entity.

    Attributes:
        path: its relations; the entity alone is its end.
        score: product of the shares by which its relations and entities were chosen.
    """

    path: Path
    score: float = 1.0

    @property
    def end(self) -> int:
        """The entity that it leads to."""
        return int(self.path.ends[0])


@dataclass(frozen=True)
class Extension:
    """A route extended by one relation: its path (with the ends before it), number of edges, and score so far."""

    path: Path
    edges: int
    score: float


@dataclass
class Exploration:
    """The state of one question.

    Attributes:
        topics: names of the topics by node.
        shown: the topics as prompts show them.
        relations: the wording of each relation in prompts.
        likeness: cosine of each relation with the question, shape (relations,); None without vectors.
        facts: what was kept.
        seen: nodes of all triples that were fetched.
    """

    question: str
    read: Question
    topics: dict[int, str]
    shown: list[str]
    relations: RelationNames
    likeness: npt.NDArray[np.float32] | None
    trace: Trace
    facts: Subgraph = field(default_factory=Subgraph)
    seen: set[int] = field(default_factory=set)
    followed: set[tuple[int, Hop]] = field(default_factory=set)

    def label(self, path: Path, note: str = "") -> str:
        """A path in words."""
        return render_path(self.topics[path.topic], path.hops, self.relations, note)


class ExploringProgram(AnsweringProgram, RecallingProgram):
    """A program that explores from entity to entity.

    Raises:
        UserError: depth or width below 1.
    """

    Options: ClassVar[type[ProgramOptions]] = ExploringOptions
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {"assist": "none"}}
    options: ExploringOptions

    def __init__(self, sources: AnySources, **options: Any) -> None:
        super().__init__(sources, **options)
        check_positive(depth=self.options.depth, width=self.options.width)
        self.name_topics = RolePredict(NameTopics, role="extract")
        self.score_relations = RolePredict(ScoreRelations, role="prune")
        self.score_entities = RolePredict(ScoreEntities, role="prune")
        self.judge = RolePredict(JudgeSufficiency, role="judge")
        self.answer_from_facts = answering_step(self.assists, self.sources.language)

    def run(self, question: str, trace: Trace) -> Outcome:
        """Initialization, exploration and reasoning in turn, then the answer."""
        at = self.start(question, trace)
        tokens = self.options.limits.tokens
        return planned(self, self.write_query, at.read, at.topics, tokens, trace, lambda: self._explored(at))

    def _explored(self, at: Exploration) -> Outcome:
        if not at.topics:
            return self.recall_instead(at.question, "no_topic", "no entity of the graph was recognised", at.trace)
        return replace(self.search(at), retrieved=frozenset(at.seen))

    @abstractmethod
    def search(self, at: Exploration) -> Outcome:
        """The paper's exploration from the topics, and its answer."""

    def start(self, question: str, trace: Trace) -> Exploration:
        """The topics as the model names them, each linked to the entity whose name fits best."""
        sources = self.sources
        linker = TopicLinker(
            self.graph, sources.linker, question, sources.language, self.assists, trace, grounding=False
        )
        known, types = linker.known_names(), linker.types_of_known()
        reply = self.ask(trace, self.name_topics, question=question, known_names=known, types=types)
        named = dict.fromkeys(name for name in reply.topics if name.strip())
        topics = [topic for name in named for topic in linker.link(name, reply.domain, 1, trace)]
        names, shown = named_topics(self.graph, topics)
        relations = self.sources.relations
        read = self.read(question, shown)
        return Exploration(
            question,
            read,
            names,
            shown,
            RelationNames(self.graph, relations, read.bare),
            None if relations is None else relations.against(question),
            trace,
        )

    def relations(self, at: Exploration, route: Route, top_k: int) -> tuple[list[Extension], list[Extension]]:
        """One call: the relations to follow from the end of a route, best first, and those that were set aside."""
        offers = self._offers(at, route)
        if not offers:
            return [], []
        lines = [self.offer(at, step) for step in offers]
        reply = self.ask(at.trace, self.score_relations, question=at.question, topics=at.shown, paths=lines, most=top_k)
        shares = normalised(reply.relations)
        numbers = best(valid_numbers("path", list(reply.relations), len(lines), at.trace), shares, top_k)
        chosen = [replace(offers[n - 1], score=route.score * shares[n]) for n in numbers]
        at.trace.add(Pruned(len(route.path.hops) + 1, lines, [lines[n - 1] for n in numbers], "model"))
        at.trace.add(Scored("relations", [(lines[n - 1], shares[n]) for n in numbers]))
        return chosen, [step for n, step in enumerate(offers, 1) if n not in numbers]

    def _offers(self, at: Exploration, route: Route) -> list[Extension]:
        offers = [
            Extension(path, edges, route.score)
            for path, edges in one_hop_paths(self.graph, [route.path])
            if (route.end, path.hops[-1]) not in at.followed
            and not is_schema(self.graph, path.hops[-1].relation, SCHEMA_RELATIONS)
        ]
        if len(offers) > self.options.limits.offered:
            at.trace.add(Truncated(f"relations of {at.label(route.path)}", self.options.limits.offered, len(offers)))
            offers = ranked_by_likeness(at, offers)[: self.options.limits.offered]
        return offers

    def offer(self, at: Exploration, step: Extension) -> str:
        """A path that may be followed, with a note on what is at its end."""
        note = note_at_end(self.graph, step.path, step.edges, by_schema=self.graph.has_types)
        return at.label(step.path, note)

    def entities(self, at: Exploration, step: Extension, top_k: int) -> list[tuple[Route, Fact]]:
        """Follow a relation; the entities to continue from, each with its fact. One call if there is a choice."""
        label = at.label(step.path)
        at.followed.add((int(step.path.ends[0]), step.path.hops[-1]))
        fetched = Subgraph()
        values = self.options.limits.values
        fetch(self.graph, step.path, fetched, label, at.trace, values=values, frontier=1, triples=values)
        at.seen |= fetched.nodes
        return [pair for fact in fetched.facts for pair in self._choose(at, step, fact, label, top_k)]

    def _choose(self, at: Exploration, step: Extension, fact: Fact, label: str, top_k: int) -> list[tuple[Route, Fact]]:
        shown = fact.values[: self.options.limits.entities]
        at.trace.note_cut(f"entities: {label}", len(shown), fact.total)
        shares = {1: 1.0}
        if len(shown) > 1:
            names = node_names(self.graph, shown)
            reached = [write_reached(label, names[node]) for node in shown]
            reply = self.ask(at.trace, self.score_entities, question=at.question, reached=reached, most=top_k)
            weighed = normalised(reply.entities)
            numbers = valid_numbers("entity", list(reply.entities), len(shown), at.trace)
            shares = {n: weighed[n] for n in best(numbers, weighed, top_k)}
            at.trace.add(Scored(f"entities: {label}", [(names[shown[n - 1]], share) for n, share in shares.items()]))
        ends = [(shown[n - 1], share) for n, share in shares.items()]
        return [
            (Route(replace(step.path, ends=np.array([end])), step.score * share), replace(fact, values=(end,)))
            for end, share in ends
        ]

    def keep(self, at: Exploration, chosen: Sequence[tuple[Route, Fact]]) -> None:
        """Keep the facts of routes; those of one (entity, relation) become one fact."""
        together: dict[tuple[object, int], list[Fact]] = {}
        for _, fact in chosen:
            together.setdefault((fact.path, fact.anchor), []).append(fact)
        for facts in together.values():
            values = dict.fromkeys(value for fact in facts for value in fact.values)
            at.facts.add(replace(facts[0], values=tuple(values)))

    def suffices(self, at: Exploration) -> bool:
        """One call: whether the kept facts answer the question."""
        _, _, lines = self.lines(at)
        if not lines:
            return False
        verdict = self.ask(at.trace, self.judge, question=at.question, topics=at.shown, facts=lines)
        at.trace.add(Checked("sufficiency", bool(verdict.sufficient), f"{len(at.facts)} facts kept"))
        return bool(verdict.sufficient)

    def answer(self, at: Exploration) -> Outcome:
        """Reason over the kept facts; code checks the answer against them."""
        names, facts, lines = self.lines(at)
        reading = Reading(at.question, at.topics, at.shown, at.facts, facts, lines, names)
        return answer_from_facts(self, self.answer_from_facts, reading, at.trace)

    def lines(self, at: Exploration) -> tuple[dict[int, str], list[Fact], list[str]]:
        """Names of all nodes in the facts, the facts that fit into a prompt, and their lines."""
        names = names_of_facts(self.graph, at.facts.facts, at.topics)
        tokens = self.options.limits.tokens
        return names, *within_tokens(self.graph, at.facts.facts, names, at.relations, tokens, at.trace)


def ranked_by_likeness(at: Exploration, steps: Sequence[Extension]) -> list[Extension]:
    """By similarity of the last relation to the question; without vectors, fewest edges first."""
    return sorted(steps, key=lambda step: unlikeness(at.likeness, step.path, step.edges))


def best(numbers: Sequence[int], shares: dict[int, float], top_k: int) -> list[int]:
    """The numbers with the greatest shares; among equals those named first."""
    return sorted(numbers, key=lambda n: -shares[n])[:top_k]
