"""KERAG: plan, retrieve a neighbourhood broadly, filter it by schema, then reason over it.

Source: "KERAG: Knowledge-Enhanced Retrieval-Augmented Generation for Advanced Question Answering"
(arXiv 2509.04716). The paper's three modules are the three methods that `run` calls: `plan`, `retrieve`, `answer`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from triplecheck.kg import Direction, Graph
from triplecheck.kg.ranker import Hops, load_ranker
from triplecheck.kg.types import Edge
from triplecheck.lms import RolePredict
from triplecheck.programs.base import AnySources, Program
from triplecheck.programs.conclude import Reading, answer_from_facts, names_of_facts
from triplecheck.programs.conditions import time_condition
from triplecheck.programs.doubts import answering_step
from triplecheck.programs.expansion import (
    fetch,
    note_at_end,
    one_hop_paths,
    typed,
    valid_numbers,
    with_names,
)
from triplecheck.programs.groups import Group, Groups, picking_step
from triplecheck.programs.options import AnsweringOptions, ProgramOptions
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.room import within_tokens
from triplecheck.programs.steps import Checked, Pruned, Stopped, Trace, Truncated
from triplecheck.programs.subgraph import Path, RelationNames, Subgraph, render_path
from triplecheck.programs.topics import Topic, TopicLinker, named_topics
from triplecheck.signatures import NameTopics, SelectPaths

Filtering = Literal["schema", "instances", "none"]
_HOPS = 2


@dataclass(frozen=True)
class KERAGLimits:
    """Limits of KERAG. The trace records what a limit cuts off.

    Attributes:
        candidates: nodes that one mention may mean if their names fit equally well.
        offered: paths shown to the model at one hop, those that the ranker prefers first.
        suggested: paths of each topic that are followed besides those that a language model selects, in the ranker's
            order. At later hops only the first of them is followed, unless the ranker prefers more of them to all
            shorter paths. The rule-based baseline follows its own selection alone.
        values: edges fetched per (entity, relation).
        frontier: entities expanded at one hop of one path.
        triples: triples in all.
        tokens: estimated tokens of facts in the prompt.
    """

    candidates: int = 3
    offered: int = 80
    suggested: int = 2
    values: int = 200
    frontier: int = 300
    triples: int = 2_000
    tokens: int = 4_000


@dataclass(frozen=True)
class KERAGOptions(AnsweringOptions):
    """Options of `KERAG`.

    Attributes:
        hops: how far to go from the topics (h of the paper). None: 2, or as far as a ranker that was trained on the
            graph (`triplecheck kb train`) reads in the question.
        filtering: what the model sees when it filters paths. `schema`: the types at the end of each path;
            `instances`: examples of what is there, also used for a graph without types; `none`: no filter,
            everything is expanded.
        multi_entity: plan with several topics; off: with the first only.
        all_topics: also start from names that a language model left out and the question surely has: names of the graph
            with a capital, or with several words where capitals tell nothing. The rule-based baseline leaves none out.
        ranker: show paths in the order that the trained ranker prefers (`kg.ranker`), and of more than may be shown the
            first; off: in the graph's order, and of too many those whose last relation is most similar to the question.
        described: also start from things that the question describes by their class ("the longest river").
        stop_early: go no further where the ranker finds every further path far less likely than a shorter one, or less
            likely at all if paths from different topics have met.
        limits: how much to look at.
    """

    hops: int | None = None
    filtering: Filtering = "schema"
    multi_entity: bool = True
    all_topics: bool = True
    ranker: bool = True
    described: bool = True
    stop_early: bool = True
    limits: KERAGLimits = KERAGLimits()


TOO_FAR = 8.5
"""Log odds: no further hop is offered if the ranker finds all of them this much less likely than a shorter path.

Measured with `extractive` on training questions of four graphs, with the stops where topics meet: 32% of 377 one-hop
questions are spared the second hop, and 5% of 364 two-hop questions lose it (MetaQA 5 of 150, PathQuestion 6 of 150,
the bundled graph 2 of 29, WebQSP 5 of 35). It was chosen on these graphs; none was left out.
"""

PAPER: Mapping[str, Any] = {
    "hops": 2,  # planning: up to h hops; schema filtering is evaluated from 1 to 2
    "filtering": "schema",  # planning: predicates are filtered at the schema level before anything is fetched
    "ranker": False,  # planning: nothing but the LM filters
    "described": False,  # planning: topics are named entities
    "stop_early": False,  # planning: as many hops as planned
    "multi_entity": True,  # the adaptation to comparison questions
    "all_topics": False,  # planning: the LM alone names the topics
    "limits": {"candidates": 1, "suggested": 0},  # planning: each topic is linked to one entity, the LM alone filters
}
"""The preset `paper`. The paper sets no limits on the neighbourhood; those of the defaults stay."""


@dataclass(frozen=True)
class Plan:
    """What planning finds before anything is fetched.

    Attributes:
        question: the question.
        topics: the name of each topic node in prompts.
        shown: the topics as prompts show them, with the question's spelling.
        relations: the wording of each relation in prompts.
        mentions: the question's spelling of each topic; homonyms share it.
        groups: the classes that the question speaks of; None if these are not used.
        evidence: triples that single out a topic that the question describes.
        hops: the trained ranker's scores of hops from each topic; empty without it.
        depth: how far to go from the topics.
        scores: the highest score of a path at each hop so far.
    """

    question: str
    topics: dict[int, str]
    shown: list[str]
    relations: RelationNames
    mentions: Mapping[int, str]
    groups: Groups | None = None
    evidence: tuple[Edge, ...] = ()
    hops: Mapping[int, Hops] = field(default_factory=dict)
    depth: int = _HOPS
    scores: list[float] = field(default_factory=list)


class KERAG(Program):
    """Knowledge-enhanced RAG.

    Args:
        sources: a knowledge base, its directory, `bundled`, or `Sources`.
        preset: `default`, or `paper` (`PAPER`).
        options: fields of `KERAGOptions`.
    """

    name: ClassVar[str] = "kerag"
    Options: ClassVar[type[ProgramOptions]] = KERAGOptions
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": PAPER}
    renamed: ClassVar[Mapping[str, str]] = {"bounds": "limits"}
    options: KERAGOptions

    def __init__(self, sources: AnySources, **options: Any) -> None:
        super().__init__(sources, **options)
        self.name_topics = RolePredict(NameTopics, role="extract")
        self.pick_from_class = picking_step()
        self.select_paths = RolePredict(SelectPaths, role="prune")
        self.summarize = answering_step(self.sources.language)

    def run(self, question: str, trace: Trace) -> Outcome:
        """Planning, retrieval, summarization: the three modules of the paper."""
        plan = self.plan(question, trace)
        if plan.groups is not None and (plan.groups.described or not plan.topics):
            picked = plan.groups.pick(self.pick_from_class, trace)
            if picked is not None and picked.whole:
                return picked.outcome(self.graph)
            plan = plan if picked is None else self.start_from(picked, plan, trace)
        if not plan.topics:
            trace.add(Stopped("no_topic", "no entity of the graph was recognised in the question"))
            return Outcome(abstained="no_topic")
        subgraph = self.retrieve(plan, trace)
        if not subgraph.facts:
            trace.add(Stopped("no_facts", "nothing was retrieved around the topics"))
            return Outcome(abstained="no_facts")
        return replace(self.answer(plan, subgraph, trace), retrieved=subgraph.nodes)

    # --- planning ------------------------------------------------------------------------------
    def plan(self, question: str, trace: Trace) -> Plan:
        """Planning module: one LM call names the topic entities and their domain; then each is linked to the graph."""
        linker = TopicLinker(self.graph, self.sources.linker, question, self.sources.language)
        reply = self.name_topics(question=question, known_names=linker.known_names(), types=linker.types_of_known())
        self.wrote(trace, self.name_topics, reply)
        named = list(dict.fromkeys(name for name in reply.topics if name.strip()))
        if self.options.all_topics and not self.name_topics.is_baseline:
            named += self._left_out(linker, named, trace)
        if not self.options.multi_entity:
            named = named[:1]
        candidates = self.options.limits.candidates
        topics = [topic for name in named for topic in linker.link(name, reply.domain, candidates, trace)]
        names, shown = named_topics(self.graph, topics)
        relations = RelationNames(self.graph, self.sources.relations, self.read(question, shown).bare)
        groups = Groups(self, question, topics, shown, relations) if self.options.described else None
        mentions = {topic.node: topic.written for topic in topics}
        hops = self._rank_hops(question, names, shown)
        return Plan(question, names, shown, relations, mentions, groups, hops=hops, depth=self._depth(hops))

    def _left_out(self, linker: TopicLinker, named: Sequence[str], trace: Trace) -> list[str]:
        """Not in the paper: a small model often names one topic too few. Those that the question surely names."""
        found = linker.left_out(named)
        if found:
            trace.add(Checked("topics", False, f"the question also names {', '.join(found)}"))
        return found

    def start_from(self, picked: Group, plan: Plan, trace: Trace) -> Plan:
        """Not in the paper: things that the question describes by their class are its topics."""
        nodes = picked.topics(self.graph, self.options.limits.candidates, trace)
        names, shown = named_topics(self.graph, [Topic(node, picked.description) for node in nodes])
        hops = self._rank_hops(plan.question, names, shown)
        found = replace(plan, topics=names, shown=shown, mentions={}, evidence=picked.evidence)
        return replace(found, hops=hops, depth=self._depth(hops))

    def _rank_hops(self, question: str, names: Mapping[int, str], shown: Sequence[str]) -> dict[int, Hops]:
        """Not in the paper: the trained ranker's scores of hops, by topic; empty if it does not know these vectors."""
        relations = self.sources.relations
        if relations is None or not self.options.ranker:
            return {}
        read = self.read(question, shown)
        ranker = load_ranker(self.sources.ranker)
        found = relations.ranked([read.masked(name) for name in names.values()], ranker)
        return dict(zip(names, found, strict=True)) if found else {}

    def _depth(self, hops: Mapping[int, Hops]) -> int:
        """How far to go from the topics."""
        if self.options.hops is not None:
            return self.options.hops
        ranker = load_ranker(self.sources.ranker)
        if ranker.is_general or not hops:
            return _HOPS
        return max(of_topic.longest(ranker.longest) for of_topic in hops.values())

    # --- retrieval -----------------------------------------------------------------------------
    def retrieve(self, plan: Plan, trace: Trace) -> Subgraph:
        """Retrieval module: at each hop list the relations at the frontier, filter them, expand only those kept."""
        subgraph = Subgraph(condition=time_condition(self.graph, self.read(plan.question, plan.shown)))
        frontier = [Path(topic, (), np.array([topic])) for topic in plan.topics]
        for hop in range(1, plan.depth + 1):
            offered = self._offers(plan, frontier, trace)
            if not offered:
                break
            margin = self._margin(plan, frontier)
            frontier = []
            for path in self._filter(plan, offered, hop, margin, trace):
                reached = self._expand(plan, path, subgraph, trace)
                if reached is not None:
                    frontier.append(reached)
        return subgraph

    def _offers(self, plan: Plan, frontier: list[Path], trace: Trace) -> list[tuple[Path, int]]:
        """Each path extended by one relation that has a name, with its number of edges."""
        offers = with_names(self.graph, one_hop_paths(self.graph, frontier))
        if plan.groups is not None and (asked := plan.groups.asked):
            offers = typed(self.graph, offers, *asked)
        if self.options.filtering == "none":
            return offers
        limit = self.options.limits.offered
        if plan.hops:
            offers = sorted(offers, key=lambda offer: -_ahead(plan, offer[0]))
        elif len(offers) > limit:
            offers = self._likeliest(plan, offers)
        if len(offers) > limit:
            trace.add(Truncated("offered paths", limit, len(offers)))
        return offers[:limit]

    def _likeliest(self, plan: Plan, offers: list[tuple[Path, int]]) -> list[tuple[Path, int]]:
        """Paths by similarity of their last relation; without vectors, fewest edges first."""
        relations = self.sources.relations
        if relations is None:
            return sorted(offers, key=lambda offer: offer[1])
        scores = relations.against(plan.question)
        return sorted(offers, key=lambda offer: -float(scores[offer[0].hops[-1].relation]))

    def _margin(self, plan: Plan, frontier: Sequence[Path]) -> float:
        """Not in the paper: by how much further paths must be less likely than a shorter one for retrieval to stop."""
        if not (self.options.stop_early and plan.hops):
            return math.inf
        return 0.0 if _meet(self.graph, frontier, plan.mentions) else TOO_FAR

    def _filter(self, plan: Plan, offered: list[tuple[Path, int]], hop: int, margin: float, trace: Trace) -> list[Path]:
        """Schema-level filtering: the paths that the model keeps, best first.

        Not in the paper: none if the ranker finds all of them less likely than a shorter path by this margin.
        """
        if self.options.filtering == "none":
            lines = [render_path(plan.topics[p.topic], p.hops, plan.relations) for p, _ in offered]
            trace.add(Pruned(hop, lines, lines, "none"))
            return [path for path, _ in offered]
        by_schema = self.options.filtering == "schema" and self.graph.has_types
        lines = [
            render_path(
                plan.topics[p.topic], p.hops, plan.relations, note_at_end(self.graph, p, edges, by_schema=by_schema)
            )
            for p, edges in offered
        ]
        scores = [_chance(plan, path) for path, _ in offered]
        if hop > 1 and max(scores) < max(plan.scores) - margin:
            trace.add(Pruned(hop, lines, [], "ranker"))
            return []
        reply = self.select_paths(question=plan.question, topics=plan.shown, paths=lines)
        self.wrote(trace, self.select_paths, reply)
        keep = valid_numbers("path", reply.keep, len(lines), trace)
        if keep and not self.select_paths.is_baseline:
            keep = list(dict.fromkeys([*keep, *self._suggested(plan, [path for path, _ in offered], scores, keep)]))
        plan.scores.append(max(scores))
        trace.add(Pruned(hop, lines, [lines[n - 1] for n in keep], "schema" if by_schema else "instances"))
        return [offered[n - 1][0] for n in keep]

    def _suggested(
        self, plan: Plan, offered: Sequence[Path], scores: Sequence[float], keep: Sequence[int]
    ) -> list[int]:
        """Not in the paper: a small model often selects one path too few.

        The paths that it selects are followed from every topic. So are, at the first hop, the first `limits.suggested`
        paths of each topic in the ranker's order. At later hops the first of these is followed, and the others only if
        the ranker prefers them to all shorter paths.
        """
        limit = self.options.limits.suggested
        kept = {offered[number - 1].hops for number in keep} if limit else set()
        found = [number for number, path in enumerate(offered, 1) if path.hops in kept]
        best = max(plan.scores, default=-math.inf)
        for topic in plan.hops:
            first = [number for number, path in enumerate(offered, 1) if path.topic == topic][:limit]
            found += [number for at, number in enumerate(first) if not at or scores[number - 1] > best]
        return found

    def _expand(self, plan: Plan, path: Path, subgraph: Subgraph, trace: Trace) -> Path | None:
        """Fetch the edges of the last hop into the subgraph; the path with its new ends, None if there is no room."""
        limits = self.options.limits
        return fetch(
            self.graph,
            path,
            subgraph,
            render_path(plan.topics[path.topic], path.hops, plan.relations),
            trace,
            values=limits.values,
            frontier=limits.frontier,
            triples=limits.triples,
        )

    # --- summarization -------------------------------------------------------------------------
    def answer(self, plan: Plan, subgraph: Subgraph, trace: Trace) -> Outcome:
        """Summarization module: chain of thought over the facts; code checks the answer and computes aggregations."""
        names = names_of_facts(self.graph, subgraph.facts, plan.topics, self.read(plan.question), self.summarize)
        tokens = self.options.limits.tokens
        facts, lines = within_tokens(self.graph, subgraph.facts, names, plan.relations, tokens, trace)
        reading = Reading(plan.question, plan.topics, plan.shown, subgraph, facts, lines, names)
        found = answer_from_facts(self, self.summarize, reading, trace)
        return replace(found, evidence=(*plan.evidence, *found.evidence)) if found.evidence else found


def _meet(graph: Graph, paths: Sequence[Path], mentions: Mapping[int, str]) -> bool:
    """Not in the paper: whether paths from different topics lead to one entity, which may be the answer."""
    reached: dict[str, set[int]] = {}
    for path in paths:
        reached.setdefault(mentions.get(path.topic, ""), set()).update(path.ends.tolist())
    shared = set.intersection(*reached.values()) if len(reached) > 1 else set()
    return any(graph.literal(node) is None for node in shared)


def _chance(plan: Plan, path: Path) -> float:
    """The ranker's score of a path: of one hop as a whole, of more as a beginning (`_ahead`). 0 without a ranker."""
    if not plan.hops:
        return 0.0
    return plan.hops[path.topic].path(_steps(path)) if len(path.hops) == 1 else _ahead(plan, path)


def _ahead(plan: Plan, path: Path) -> float:
    """The ranker's score of a path as the beginning of one of at most `plan.depth` hops."""
    return plan.hops[path.topic].ahead(_steps(path), plan.depth)


def _steps(path: Path) -> list[tuple[int, bool]]:
    return [(hop.relation, hop.direction is Direction.IN) for hop in path.hops]
