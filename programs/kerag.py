"""KERAG: plan, retrieve a neighbourhood broadly, filter it by schema, then reason over it.

Source: "KERAG: Knowledge-Enhanced Retrieval-Augmented Generation for Advanced Question Answering"
(arXiv 2509.04716). The three stages of the paper are the three methods that `run` calls.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from triplecheck.lms import RolePredict
from triplecheck.programs.base import Program, Sources
from triplecheck.programs.conclude import conclude
from triplecheck.programs.expansion import existing, fetch, further, note_at_end, within_tokens
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.steps import Pruned, Stopped, Trace, Truncated
from triplecheck.programs.subgraph import Path, RelationNames, Subgraph, node_names, render_path
from triplecheck.programs.topics import TopicLinker, named_topics
from triplecheck.signatures import AnswerFromFacts, NameTopics, SelectPaths

Filtering = Literal["schema", "instances", "none"]


@dataclass(frozen=True)
class Bounds:
    """How much is looked at. What a bound cuts off is recorded in the trace.

    Attributes:
        candidates: nodes that one mention may mean, where their names fit equally well.
        offered: paths put before the model at one hop, the most similar to the question first.
        values: edges fetched per (entity, relation).
        frontier: entities expanded at one hop of one path.
        triples: triples in all.
        tokens: estimated tokens of facts in the prompt.
    """

    candidates: int = 3
    offered: int = 80
    values: int = 200
    frontier: int = 300
    triples: int = 2_000
    tokens: int = 4_000


@dataclass(frozen=True)
class Plan:
    """What planning settles before anything is fetched.

    Attributes:
        question: the question.
        topics: nodes to start from, by the name they go by in prompts.
        shown: the topics as they stand in prompts, with the spelling of the question.
        relations: how each relation is written in prompts.
    """

    question: str
    topics: dict[int, str]
    shown: list[str]
    relations: RelationNames


class KERAG(Program):
    """Knowledge-enhanced RAG.

    Args:
        sources: the graph and how to find things in it.
        hops: how far from the topics (h of the paper).
        filtering: `schema` shows the model relations with the types at their end; `instances` shows
            examples of what is there, which is also the fallback for a graph without types; `none`
            expands everything.
        multi_entity: plan with several topics; off: with the first only.
        bounds: how much is looked at.
        grounded_only: abstain rather than give an answer that no fact supports.
    """

    name: ClassVar[str] = "kerag"

    def __init__(
        self,
        sources: Sources,
        *,
        hops: int = 2,
        filtering: Filtering = "schema",
        multi_entity: bool = True,
        bounds: Bounds | None = None,
        grounded_only: bool = False,
    ) -> None:
        super().__init__(sources, grounded_only=grounded_only)
        self.hops = hops
        self.filtering = filtering
        self.multi_entity = multi_entity
        self.bounds = bounds or Bounds()
        self.name_topics = RolePredict(NameTopics, role="extract")
        self.select_paths = RolePredict(SelectPaths, role="prune")
        self.summarize = RolePredict(AnswerFromFacts, role="answer")

    def run(self, question: str, trace: Trace) -> Outcome:
        """Planning, retrieval, summarization."""
        plan = self.plan(question, trace)
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
        """Topic entities and their domain, in one LM call, then linked to the graph."""
        linker = TopicLinker(self.graph, self.sources.linker, question)
        reply = self.name_topics(question=question, known_names=linker.known_names(), types=linker.types())
        self.wrote(trace, self.name_topics, reply)
        named = list(dict.fromkeys(name for name in reply.topics if name.strip()))
        topics = [
            topic
            for name in (named if self.multi_entity else named[:1])
            for topic in linker.link(name, reply.domain, self.bounds.candidates, trace)
        ]
        names, shown = named_topics(self.graph, topics)
        return Plan(question, names, shown, RelationNames(self.graph, self.sources.relations, question))

    # --- retrieval -----------------------------------------------------------------------------
    def retrieve(self, plan: Plan, trace: Trace) -> Subgraph:
        """Hop by hop: look at the relations around the frontier, keep those that may matter, expand only those."""
        subgraph = Subgraph()
        frontier = [Path(topic, (), np.array([topic])) for topic in plan.topics]
        for hop in range(1, self.hops + 1):
            offered = self._offers(plan, frontier, trace)
            if not offered:
                break
            kept = self._filter(plan, offered, hop, trace)
            frontier = [reached for path in kept if (reached := self._expand(plan, path, subgraph, trace))]
        return subgraph

    def _offers(self, plan: Plan, frontier: list[Path], trace: Trace) -> list[tuple[Path, int]]:
        """Every path that goes one relation further, with the number of edges at its end."""
        offers = further(self.graph, frontier)
        if len(offers) > self.bounds.offered and self.filtering != "none":
            trace.add(Truncated("offered paths", self.bounds.offered, len(offers)))
            offers = self._most_similar(plan.question, offers)[: self.bounds.offered]
        return offers

    def _most_similar(self, question: str, offers: list[tuple[Path, int]]) -> list[tuple[Path, int]]:
        """Paths by how similar their last relation is to the question; without vectors those with the fewest edges."""
        if self.sources.relations is None:
            return sorted(offers, key=lambda offer: offer[1])
        scores = self.sources.relations.against(question)
        return sorted(offers, key=lambda offer: -float(scores[offer[0].hops[-1].relation]))

    def _filter(self, plan: Plan, offered: list[tuple[Path, int]], hop: int, trace: Trace) -> list[Path]:
        """The offered paths that the model keeps, best first."""
        if self.filtering == "none":
            lines = [render_path(plan.topics[p.topic], p.hops, plan.relations) for p, _ in offered]
            trace.add(Pruned(hop, lines, lines, "none"))
            return [path for path, _ in offered]
        by_schema = self.filtering == "schema" and self.graph.has_types
        lines = [
            render_path(
                plan.topics[p.topic], p.hops, plan.relations, note_at_end(self.graph, p, edges, by_schema=by_schema)
            )
            for p, edges in offered
        ]
        reply = self.select_paths(question=plan.question, topics=plan.shown, paths=lines)
        self.wrote(trace, self.select_paths, reply)
        keep = existing("path", reply.keep, len(lines), trace)
        trace.add(Pruned(hop, lines, [lines[n - 1] for n in keep], "schema" if by_schema else "instances"))
        return [offered[n - 1][0] for n in keep]

    def _expand(self, plan: Plan, path: Path, subgraph: Subgraph, trace: Trace) -> Path | None:
        """Fetch the edges of the last hop of a path into the subgraph; the path with its new ends."""
        label, bounds = render_path(plan.topics[path.topic], path.hops, plan.relations), self.bounds
        return fetch(
            *(self.graph, path, subgraph, label, trace),
            values=bounds.values,
            frontier=bounds.frontier,
            triples=bounds.triples,
        )

    # --- summarization -------------------------------------------------------------------------
    def answer(self, plan: Plan, subgraph: Subgraph, trace: Trace) -> Outcome:
        """Reason over the facts; what the model concludes is checked against them and computed by code."""
        nodes = [node for fact in subgraph.facts for node in (fact.anchor, *fact.values)]
        names = node_names(self.graph, nodes) | plan.topics
        lines = within_tokens(subgraph.facts, names, plan.relations, self.bounds.tokens, trace)
        reply = self.summarize(question=plan.question, topics=plan.shown, facts=lines)
        self.wrote(trace, self.summarize, reply)
        cited = existing("fact", reply.cited, len(lines), trace)
        return conclude(
            self.graph,
            subgraph,
            [subgraph.facts[n - 1] for n in cited],
            reply.operation,
            reply.answers,
            names,
            trace,
            grounded_only=self.grounded_only,
        )
