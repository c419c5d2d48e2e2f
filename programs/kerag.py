"""KERAG: plan, retrieve a neighbourhood broadly, filter it by schema, then reason over it.

Source: "KERAG: Knowledge-Enhanced Retrieval-Augmented Generation for Advanced Question Answering"
(arXiv 2509.04716). The paper's three modules are the three methods that `run` calls: `plan`, `retrieve`, `answer`.
What the paper does not have is in `programs.assists`, by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from triplecheck.kg import Graph
from triplecheck.language.question import Question
from triplecheck.lms import RolePredict
from triplecheck.programs.assists.doubts import answering_step
from triplecheck.programs.assists.kerag import PathScores, all_topics, path_scores, stops_early
from triplecheck.programs.assists.plans import planned
from triplecheck.programs.assists.time_conditions import holding_at
from triplecheck.programs.base import AnySources
from triplecheck.programs.conclude import AnsweringProgram, Reading, answer_from_facts
from triplecheck.programs.expansion import (
    asked_graph,
    fetch,
    note_at_end,
    one_hop_paths,
    unlikeness,
    valid_numbers,
    with_names,
)
from triplecheck.programs.options import AnsweringOptions, ProgramOptions
from triplecheck.programs.outcome import Outcome, abstention
from triplecheck.programs.room import within_tokens
from triplecheck.programs.steps import Pruned, Trace
from triplecheck.programs.subgraph import Path, RelationNames, Subgraph, names_of_facts, render_path
from triplecheck.programs.topics import TopicLinker, named_topics
from triplecheck.signatures import NameTopics, SelectPaths

Filtering = Literal["schema", "instances", "none"]
_HOPS = 2


@dataclass(frozen=True)
class KERAGLimits:
    """Limits of KERAG. The trace records what a limit cuts off.

    Attributes:
        candidates: nodes that one mention may mean if their names fit equally well.
        offered: paths shown to the model at one hop.
        values: edges fetched per (entity, relation).
        frontier: entities expanded at one hop of one path.
        triples: triples in all.
        tokens: estimated tokens of facts, or of a query's relations, in a prompt.
    """

    candidates: int = 3
    offered: int = 80
    values: int = 200
    frontier: int = 300
    triples: int = 2_000
    tokens: int = 4_000


@dataclass(frozen=True)
class KERAGOptions(AnsweringOptions):
    """Options of `KERAG`.

    Attributes:
        hops: how far to go from the topics (h of the paper). None: 2, or what the assist `ranked_depth` reads.
        filtering: what the model sees when it filters paths. `schema`: the types at the end of each path;
            `instances`: examples of what is there, also used for a graph without types; `none`: no filter,
            everything is expanded.
        multi_entity: plan with several topics; off: with the first only.
        limits: how much to look at.
    """

    hops: int | None = None
    filtering: Filtering = "schema"
    multi_entity: bool = True
    limits: KERAGLimits = KERAGLimits()


PAPER: Mapping[str, Any] = {
    "hops": 2,  # planning: up to h hops; schema filtering is evaluated from 1 to 2
    "filtering": "schema",  # planning: predicates are filtered at the schema level before anything is fetched
    "multi_entity": True,  # the adaptation to comparison questions
    "assist": "none",
    "limits": {"candidates": 1},  # planning: each topic is linked to one entity
}
"""The preset `paper`. The paper sets no limits on the neighbourhood; those of the defaults stay."""


@dataclass(frozen=True)
class Plan:
    """Where retrieval starts, and what prompts show of it.

    Attributes:
        question: the question, read with its topics masked.
        topics: the name of each topic node in prompts.
        shown: the topics as prompts show them, with the question's spelling.
        mentions: the question's spelling of each topic; homonyms share it.
        graph: the program's graph, with the arguments that the question gives to functions.
        relations: the wording of each relation in prompts.
        scores: the trained ranker's scores of paths, and how far to go.
    """

    question: Question
    topics: dict[int, str]
    shown: list[str]
    mentions: Mapping[int, str]
    graph: Graph
    relations: RelationNames
    scores: PathScores


class KERAG(AnsweringProgram):
    """Knowledge-enhanced RAG.

    Its options are `KERAGOptions`, its presets `default` and `paper` (`PAPER`).
    """

    name: ClassVar[str] = "kerag"
    Options: ClassVar[type[ProgramOptions]] = KERAGOptions
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": PAPER}
    options: KERAGOptions

    def __init__(self, sources: AnySources, **options: Any) -> None:
        super().__init__(sources, **options)
        self.name_topics = RolePredict(NameTopics, role="extract")
        self.select_paths = RolePredict(SelectPaths, role="prune") if self.options.filtering != "none" else None
        self.summarize = answering_step(self.assists, self.sources.language)

    def run(self, question: str, trace: Trace) -> Outcome:
        """Planning, retrieval, summarization: the three modules of the paper."""
        plan = self.plan(question, trace)
        search = partial(self.retrieve_and_answer, plan, trace)
        return planned(self, self.write_query, plan.question, plan.topics, self.options.limits.tokens, trace, search)

    def retrieve_and_answer(self, plan: Plan, trace: Trace) -> Outcome:
        """Retrieval and summarization from the topics of a plan."""
        if not plan.topics:
            return abstention("no_topic", "no entity of the graph was recognised in the question", trace)
        subgraph = self.retrieve(plan, trace)
        if not subgraph.facts:
            return abstention("no_facts", "nothing was retrieved around the topics", trace)
        return replace(self.answer(plan, subgraph, trace), retrieved=subgraph.nodes)

    # --- planning ------------------------------------------------------------------------------
    def plan(self, question: str, trace: Trace) -> Plan:
        """Planning module: one LM call names the topic entities and their domain; then each is linked to the graph."""
        linker = TopicLinker(self.graph, self.sources.linker, question, self.sources.language, self.assists, trace)
        known, types = linker.known_names(), linker.types_of_known()
        reply = self.ask(trace, self.name_topics, question=question, known_names=known, types=types)
        named = list(dict.fromkeys(name for name in reply.topics if name.strip()))
        named = all_topics(self.assists, linker, named, trace)
        if not self.options.multi_entity:
            named = named[:1]
        limit = self.options.limits.candidates
        topics = [topic for name in named for topic in linker.link(name, reply.domain, limit, trace)]
        names, shown = named_topics(self.graph, topics)
        read = self.read(question, shown)
        relations = RelationNames(self.graph, self.sources.relations, read.bare)
        mentions = {topic.node: topic.written for topic in topics}
        scores = path_scores(self.assists, self.sources, read, names, _HOPS, self.options.hops)
        return Plan(read, names, shown, mentions, asked_graph(self.graph, read, names), relations, scores)

    # --- retrieval -----------------------------------------------------------------------------
    def retrieve(self, plan: Plan, trace: Trace) -> Subgraph:
        """Retrieval module: at each hop list the relations at the frontier, filter them, expand only those kept."""
        subgraph = Subgraph(condition=holding_at(self.assists, self.graph, plan.question))
        frontier = [Path(topic, (), np.array([topic])) for topic in plan.topics]
        for _ in range(plan.scores.depth):
            offered = self.offer(plan, frontier, trace)
            kept = self.filter(plan, frontier, offered, trace) if offered else []
            frontier = [reached for path in kept if (reached := self.expand(plan, path, subgraph, trace)) is not None]
        return subgraph

    def offer(self, plan: Plan, frontier: list[Path], trace: Trace) -> list[tuple[Path, int]]:
        """Each path extended by one relation that has a name, with its number of edges."""
        found = one_hop_paths(plan.graph, frontier)
        offers = with_names(plan.graph, found)
        trace.note_cut("paths by relations with a name", len(offers), len(found))
        if self.options.filtering == "none":
            return offers
        vectors, limit = self.sources.relations, self.options.limits.offered
        trace.note_cut("offered paths", limit, len(offers))
        likeness = None if vectors is None else vectors.against(plan.question.text)
        return sorted(offers, key=lambda offer: unlikeness(likeness, *offer))[:limit]

    def filter(self, plan: Plan, frontier: list[Path], offered: list[tuple[Path, int]], trace: Trace) -> list[Path]:
        """Schema-level filtering: of the offered paths those that the model keeps, best first."""
        paths, hop = [path for path, _ in offered], len(offered[0][0].hops)
        by_schema = self.options.filtering == "schema" and self.graph.has_types
        notes = [note_at_end(plan.graph, path, edges, by_schema=by_schema) for path, edges in offered]
        lines = [self._written(plan, path, note) for path, note in zip(paths, notes, strict=True)]
        if self.select_paths is None:
            trace.add(Pruned(hop, lines, lines, "none"))
            return paths
        if stops_early(self.assists, self.graph, plan.scores, frontier, paths, lines, plan.mentions, trace):
            return []
        reply = self.ask(trace, self.select_paths, question=plan.question.text, topics=plan.shown, paths=lines)
        keep = valid_numbers("path", reply.keep, len(lines), trace)
        trace.add(Pruned(hop, lines, [lines[n - 1] for n in keep], "schema" if by_schema else "instances"))
        return [paths[n - 1] for n in keep]

    def expand(self, plan: Plan, path: Path, subgraph: Subgraph, trace: Trace) -> Path | None:
        """Fetch the edges of the last hop into the subgraph; the path with its new ends, None if there is no room."""
        limits = vars(self.options.limits)
        bounds = {name: limits[name] for name in ("values", "frontier", "triples")}
        return fetch(plan.graph, path, subgraph, self._written(plan, path), trace, **bounds)

    def _written(self, plan: Plan, path: Path, note: str = "") -> str:
        return render_path(plan.topics[path.topic], path.hops, plan.relations, note)

    # --- summarization -------------------------------------------------------------------------
    def answer(self, plan: Plan, subgraph: Subgraph, trace: Trace) -> Outcome:
        """Summarization module: chain of thought over the facts; code checks the answer and computes aggregations."""
        names = names_of_facts(self.graph, subgraph.facts, plan.topics)
        tokens = self.options.limits.tokens
        facts, lines = within_tokens(plan.graph, subgraph.facts, names, plan.relations, tokens, trace)
        reading = Reading(plan.question.text, plan.topics, plan.shown, subgraph, facts, lines, names)
        return answer_from_facts(self, self.summarize, reading, trace)
