"""KERAG: plan, retrieve a neighbourhood broadly, filter it by schema, then reason over it.

Source: "KERAG: Knowledge-Enhanced Retrieval-Augmented Generation for Advanced Question Answering"
(arXiv 2509.04716). The three stages of the paper are the three methods that `run` calls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from kg import Candidate, Mention, normalize
from lms import RolePredict
from programs.conclude import conclude
from programs.base import Program, Sources
from programs.outcome import Outcome
from programs.steps import Checked, Expanded, Linked, Pruned, Stopped, Trace, Truncated
from programs.subgraph import Fact, Hop, Path, Subgraph, node_names, render_fact, render_path
from signatures import AnswerFromFacts, NameTopics, SelectPaths

Filtering = Literal["schema", "instances", "none"]

_TYPES_SHOWN = 40
_NAMES_SHOWN = 8
_EXAMPLES_SHOWN = 3
_CHARACTERS_PER_TOKEN = 4


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
        topics = self.plan(question, trace)
        if not topics:
            trace.add(Stopped("no_topic", "no entity of the graph was recognised in the question"))
            return Outcome(abstained="no_topic")
        subgraph = self.retrieve(question, topics, trace)
        if not subgraph.facts:
            trace.add(Stopped("no_facts", "nothing was retrieved around the topics"))
            return Outcome(abstained="no_facts")
        return self.answer(question, topics, subgraph, trace)

    # --- planning ------------------------------------------------------------------------------
    def plan(self, question: str, trace: Trace) -> dict[int, str]:
        """Topic entities and the names they go by in prompts: one LM call, then linking."""
        mentions = self.sources.linker.mentions(question)[:_NAMES_SHOWN]
        linked = [(m, self.sources.linker.candidates(m.forms[0], question)) for m in mentions]
        linked = [(m, candidates) for m, candidates in linked if candidates]
        reply = self.name_topics(
            question=question,
            known_names=[self._known_name(candidates[0]) for _, candidates in linked],
            types=self._types(),
        )
        self.wrote(trace, self.name_topics, reply)
        named = list(dict.fromkeys(name for name in reply.topics if name.strip()))
        topics: list[int] = []
        for name in named if self.multi_entity else named[:1]:
            candidates = self._candidates(name, question, linked)
            chosen = self._choose(candidates, reply.domain)
            trace.add(
                Linked(
                    name,
                    [{"id": c.id, "label": c.label, "source": c.source, "score": round(c.score, 4)} for c in candidates],
                    [c.id for c in chosen],
                )
            )
            topics += [c.node for c in chosen if c.node not in topics]
        return node_names(self.graph, topics)

    def _known_name(self, candidate: Candidate) -> str:
        kinds = ", ".join(self.graph.type_label(t) for t in self.graph.types(candidate.node)[:2])
        return f"{candidate.label} ({kinds})" if kinds else candidate.label

    def _types(self) -> list[str]:
        ids = getattr(self.graph, "type_ids", ())[:_TYPES_SHOWN]
        return [self.graph.type_label(t) for t in ids]

    def _candidates(
        self, name: str, question: str, linked: list[tuple[Mention, list[Candidate]]]
    ) -> list[Candidate]:
        """Nodes for a name as the model wrote it: one of the known names, or looked up anew."""
        bare = normalize(name)
        for mention, candidates in linked:
            if bare in {normalize(mention.text), *mention.forms, normalize(self._known_name(candidates[0]))}:
                return candidates
            if any(normalize(c.label) == bare for c in candidates):
                return candidates
        return self.sources.linker.candidates(name, question)

    def _choose(self, candidates: list[Candidate], domain: str) -> list[Candidate]:
        """Of homonyms that fit equally well by name, those of the domain, else the best few."""
        if not candidates:
            return []
        best = max(c.lexical for c in candidates)
        equal = [c for c in candidates if c.lexical >= best - 0.05]
        wanted = normalize(domain)
        of_domain = [
            c for c in equal if wanted in {normalize(self.graph.type_label(t)) for t in self.graph.types(c.node)}
        ]
        return (of_domain or equal)[: self.bounds.candidates]

    # --- retrieval -----------------------------------------------------------------------------
    def retrieve(self, question: str, topics: dict[int, str], trace: Trace) -> Subgraph:
        """Hop by hop: look at the relations around the frontier, keep those that may matter, expand only those."""
        subgraph = Subgraph()
        frontier = [Path(topic, (), np.array([topic])) for topic in topics]
        for hop in range(1, self.hops + 1):
            offered = self._offers(question, frontier, trace)
            if not offered:
                break
            kept = self._filter(question, topics, offered, hop, trace)
            frontier = [reached for path, _ in kept if (reached := self._expand(path, subgraph, topics, hop, trace))]
            if subgraph.num_triples >= self.bounds.triples:
                trace.add(Truncated("triples", subgraph.num_triples, subgraph.num_triples))
                break
        return subgraph

    def _offers(self, question: str, frontier: list[Path], trace: Trace) -> list[tuple[Path, str]]:
        """Every path that goes one relation further, with a note on what lies at its end."""
        offers = []
        for path in frontier:
            for count in self.graph.relation_counts(path.ends):
                step = Hop(count.relation, count.direction)
                turned_back = path.hops and path.hops[-1] == Hop(step.relation, step.direction.reverse)
                if turned_back and count.edges <= len(path.ends):
                    continue  # leads back to where it came from and nowhere else
                offers.append((Path(path.topic, (*path.hops, step), path.ends), count.edges))
        if len(offers) > self.bounds.offered and self.sources.relations is not None and self.filtering != "none":
            scores = self.sources.relations.against(question)
            offers.sort(key=lambda offer: -float(scores[offer[0].hops[-1].relation]))
            trace.add(Truncated("offered paths", self.bounds.offered, len(offers)))
            offers = offers[: self.bounds.offered]
        return [(path, self._note(path, edges)) for path, edges in offers]

    def _note(self, path: Path, edges: int) -> str:
        """What lies at the end of a path: types from the schema, or examples from the instances."""
        if self.filtering == "none":
            return ""
        hop = path.hops[-1]
        if self.filtering == "schema" and self.graph.has_types:
            schema = self.graph.schema(hop.relation)
            side = schema.range if hop.direction.name == "OUT" else schema.domain
            what = ", ".join(self.graph.type_label(t) for t, _ in side[:2])
        else:
            sample = self.graph.expand(path.ends[:_EXAMPLES_SHOWN], hop.relation, hop.direction, _EXAMPLES_SHOWN)
            ends = sample.tails if hop.direction.name == "OUT" else sample.heads
            what = "e.g. " + ", ".join(self.graph.labels(ends[:_EXAMPLES_SHOWN]))
        return f"{edges} × {what}" if what else f"{edges}"

    def _filter(
        self, question: str, topics: dict[int, str], offered: list[tuple[Path, str]], hop: int, trace: Trace
    ) -> list[tuple[Path, str]]:
        """The offered paths that the model keeps, best first."""
        lines = [render_path(self.graph, topics[path.topic], path.hops, note) for path, note in offered]
        if self.filtering == "none":
            trace.add(Pruned(hop, lines, lines, "none"))
            return offered
        reply = self.select_paths(question=question, topics=list(topics.values()), paths=lines)
        self.wrote(trace, self.select_paths, reply)
        keep = list(dict.fromkeys(number for number in reply.keep if 1 <= number <= len(lines)))
        by = "schema" if self.filtering == "schema" and self.graph.has_types else "instances"
        trace.add(Pruned(hop, lines, [lines[number - 1] for number in keep], by))
        return [offered[number - 1] for number in keep]

    def _expand(self, path: Path, subgraph: Subgraph, topics: dict[int, str], hop: int, trace: Trace) -> Path | None:
        """Fetch the edges of the last hop of a path into the subgraph; the path with its new ends."""
        step = path.hops[-1]
        room = self.bounds.triples - subgraph.num_triples
        if room <= 0:
            trace.add(Truncated("triples", subgraph.num_triples, subgraph.num_triples))
            return None
        starts = path.ends
        if len(starts) > self.bounds.frontier:
            trace.add(Truncated("frontier", self.bounds.frontier, len(starts)))
            starts = starts[: self.bounds.frontier]
        edges = self.graph.expand(starts, step.relation, step.direction, self.bounds.values)
        near, far = (edges.heads, edges.tails) if step.direction.name == "OUT" else (edges.tails, edges.heads)
        near, far = near[:room], far[:room]
        label = render_path(self.graph, topics[path.topic], path.hops)
        trace.add(Expanded(hop, label, len(far), edges.total))
        for anchor in dict.fromkeys(near.tolist()):
            values = tuple(far[near == anchor].tolist())
            total = len(values)
            if edges.total > len(far):
                whole = self.graph.expand([anchor], step.relation, step.direction, 0).total
                total = max(total, whole)
            subgraph.facts.append(Fact(anchor, step, values, total, path.key))
        return Path(path.topic, path.hops, np.unique(far))

    # --- summarization -------------------------------------------------------------------------
    def answer(self, question: str, topics: dict[int, str], subgraph: Subgraph, trace: Trace) -> Outcome:
        """Reason over the facts; what the model concludes is checked against them and computed by code."""
        nodes = [n for fact in subgraph.facts for n in (fact.anchor, *fact.values)]
        names = {**node_names(self.graph, [*topics, *nodes])}
        lines, shown = [], 0
        for fact in subgraph.facts:
            line = render_fact(self.graph, fact, names)
            shown += len(line) // _CHARACTERS_PER_TOKEN + 4
            if shown > self.bounds.tokens and lines:
                trace.add(Truncated("facts in the prompt", len(lines), len(subgraph.facts)))
                break
            lines.append(line)
        reply = self.summarize(question=question, topics=[names[t] for t in topics], facts=lines)
        self.wrote(trace, self.summarize, reply)
        cited = [n for n in dict.fromkeys(reply.cited) if 1 <= n <= len(lines)]
        if len(cited) < len(set(reply.cited)):
            trace.add(Checked("citations", False, "numbers of facts that do not exist were ignored"))
        facts = [subgraph.facts[n - 1] for n in cited]
        return conclude(
            self.graph,
            subgraph,
            facts,
            reply.operation,
            reply.answers,
            names,
            trace,
            grounded_only=self.grounded_only,
        )
