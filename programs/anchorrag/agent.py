"""AnchorRAG's retriever agent (section 3.4): explores the graph from one anchor, hop by hop.

At each hop it prunes relations, fetches their entities, prunes these, and filters the triples; an agent that keeps
no triple stops. The paper asks for the relations of each entity, for the entities of each relation and for the triples
of each agent (`CallPerItem`). `CallPerAgent` asks at most once per agent, and the supervisor once for all agents.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import dspy
import numpy as np
import numpy.typing as npt

from triplecheck.kg import Graph
from triplecheck.language.question import Question
from triplecheck.lms import RolePredict
from triplecheck.programs.anchorrag.options import AnchorRAGOptions
from triplecheck.programs.anchorrag.predictor import Anchor
from triplecheck.programs.assists import Assists
from triplecheck.programs.assists.time_conditions import TimeCondition
from triplecheck.programs.base import Ask
from triplecheck.programs.expansion import (
    fetch,
    is_schema,
    normalised,
    note_at_end,
    one_hop_paths,
    unlikeness,
    valid_numbers,
)
from triplecheck.programs.room import within_tokens
from triplecheck.programs.steps import Pruned, Scored, Stopped, Trace, Truncated
from triplecheck.programs.subgraph import Fact, Path, PathKey, RelationNames, Subgraph, node_names, render_path
from triplecheck.signatures.notation import write_reached

Offer = tuple[Path, int]
"""A path that may be followed, and its number of edges."""


@dataclass(frozen=True)
class Briefing:
    """What all agents of one question know.

    Attributes:
        anchors: names of all anchors by node.
        shown: the anchors as prompts show them.
        relations: the wording of each relation in prompts.
        likeness: cosine of each relation with the question, shape (relations,); None without vectors.
        schema_relations: patterns of the relations that are not followed.
        assists: those in use.
        read: the question, with its anchors masked.
        condition: that edges must meet to be fetched, if there is one.
    """

    question: str
    anchors: dict[int, str]
    shown: list[str]
    relations: RelationNames
    likeness: npt.NDArray[np.float32] | None
    schema_relations: Sequence[re.Pattern[str]]
    assists: Assists
    read: Question
    condition: TimeCondition | None


class AgentSteps(Protocol):
    """What `AnchorRAG` offers to its agents: the steps at which they ask a model, and what notes the replies.

    The last two are there if the agents are `CallPerItem`.
    """

    score_relations: RolePredict
    score_entities: RolePredict
    filter_facts: RolePredict

    @property
    def ask(self) -> Ask:
        """Ask the model of a step."""


class Retriever(ABC):
    """One agent.

    Args:
        briefing: information shared by all agents.

    Attributes:
        facts: those it kept.
        seen: nodes of all triples that it fetched, kept or not.
        active: whether there is anything left to follow.
    """

    def __init__(
        self, graph: Graph, anchor: Anchor, briefing: Briefing, options: AnchorRAGOptions, steps: AgentSteps
    ) -> None:
        self.anchor = anchor
        self.options = options
        self.facts = Subgraph()
        self.seen: set[int] = set()
        self.active = True
        self._graph = graph
        self._briefing = briefing
        self._steps = steps
        self._frontier = [Path(anchor.node, (), np.array([anchor.node]))]
        self._next: list[Path] = []
        self._followed: dict[object, set[int]] = {}

    def explore(self, hop: int, trace: Trace) -> list[Fact]:
        """One iteration: prune relations, fetch, then prune entities and filter triples; the new facts, if any."""
        chosen = self._next
        if not chosen:
            offers = self.further(self._frontier, trace)
            chosen = self.choose(hop, offers, trace) if offers else []
        self._next = []
        fresh = Subgraph(condition=self._briefing.condition)
        limits = self.options.limits
        for path in chosen:
            self._followed.setdefault(path.hops[-1], set()).update(path.ends.tolist())
            fetch(
                self._graph,
                path,
                fresh,
                self.label(path),
                trace,
                values=limits.values,
                frontier=len(path.ends),
                triples=limits.triples,
            )
        self.seen |= fresh.nodes
        self.facts.cut |= fresh.cut
        return self.refine(fresh.facts, trace)

    @abstractmethod
    def further(self, frontier: Sequence[Path], trace: Trace) -> list[Offer]:
        """What it may follow next."""

    @abstractmethod
    def choose(self, hop: int, offers: Sequence[Offer], trace: Trace) -> list[Path]:
        """Neighboring relations pruning (section 3.4): the paths to follow, best first."""

    @abstractmethod
    def refine(self, facts: list[Fact], trace: Trace) -> list[Fact]:
        """Neighboring entities pruning and candidate triples filtering (section 3.4) of the fetched facts."""

    def ahead(self, facts: Sequence[Fact], trace: Trace) -> list[Offer]:
        """What may be followed from the values of new facts."""
        return self.further(self._ends(facts, trace), trace)

    def keep(self, facts: Sequence[Fact], hop: int, trace: Trace) -> None:
        """Keep the relevant new facts and continue from their values; stop if there are none."""
        for fact in facts:
            self.facts.add(fact)
        self._frontier = self._ends(facts, trace)
        self.active = bool(facts)
        if not facts:
            trace.add(Stopped("no_triples", f"{self.anchor.name}: nothing relevant at hop {hop}"))

    def follow(self, paths: Sequence[Path], offers: Sequence[Offer], hop: int, trace: Trace) -> None:
        """Follow those paths chosen by the supervisor from `ahead` that start from kept facts."""
        ends = {path.key: path.ends for path in self._frontier}
        none = np.empty(0, np.int64)
        starts = [np.intersect1d(path.ends, ends.get((path.topic, path.hops[:-1]), none)) for path in paths]
        self._next = [replace(path, ends=start) for path, start in zip(paths, starts, strict=True) if len(start)]
        lines = [self.label(path) for path, _ in offers]
        if self.active:
            trace.add(Pruned(hop + 1, lines, [self.label(path) for path in self._next], "model"))
        if self.active and not self._next:
            self.active = False
            trace.add(Stopped("no_path", f"{self.anchor.name}: nothing to follow after hop {hop}"))

    def label(self, path: Path, note: str = "") -> str:
        """A path in words, beginning with the anchor."""
        return render_path(self.anchor.name, path.hops, self._briefing.relations, note)

    def offer(self, path: Path, edges: int) -> str:
        """A path that may be followed, with a note on what is at its end."""
        return self.label(path, note_at_end(self._graph, path, edges, by_schema=self._graph.has_types))

    def _ask(self, trace: Trace, step: RolePredict, **inputs: Any) -> dspy.Prediction:
        return self._steps.ask(trace, step, question=self._briefing.question, **inputs)

    # --- neighboring relations pruning -----------------------------------------------------------
    def offers(self, paths: Sequence[Path]) -> list[Offer]:
        """What may be followed next: no relations of the schema, none that was followed from the same entity."""
        schema = self._briefing.schema_relations
        offers = []
        for path, edges in one_hop_paths(self._graph, paths):
            followed = self._followed.get(path.hops[-1], set())
            ends = [end for end in path.ends.tolist() if end not in followed]
            if ends and not is_schema(self._graph, path.hops[-1].relation, schema):
                offers.append((replace(path, ends=np.array(ends)), edges))
        return offers

    def most_similar(self, offers: list[Offer], trace: Trace) -> list[Offer]:
        """At most `limits.offered` paths, those most similar to the question; without vectors, fewest edges first."""
        limit = self.options.limits.offered
        if len(offers) <= limit:
            return offers
        trace.add(Truncated(f"offered paths from {self.anchor.name}", limit, len(offers)))
        order = sorted(range(len(offers)), key=lambda i: unlikeness(self._briefing.likeness, *offers[i]))
        return [offers[i] for i in sorted(order[:limit])]

    def clear_winners(self, offers: Sequence[Offer]) -> list[int] | None:
        """The offers about as similar to the question as the best one, if they are few enough to follow them all."""
        if self._briefing.likeness is None or self.options.prefilter is None:
            return None
        likeness = self._briefing.likeness[[path.hops[-1].relation for path, _ in offers]]
        near = np.flatnonzero(likeness >= likeness.max() - self.options.prefilter)
        winners = near[np.argsort(-likeness[near], kind="stable")]
        relations = {offers[i][0].hops[-1].relation for i in winners.tolist()}
        return winners.tolist() if len(relations) == 1 or len(winners) <= self.options.width else None

    def score_paths(self, hop: int, offers: Sequence[Offer], top_k: int, trace: Trace) -> list[Path]:
        """The paths that the model scores best, at most `top_k`."""
        lines = [self.offer(path, edges) for path, edges in offers]
        reply = self._ask(trace, self._steps.score_relations, topics=[self.anchor.shown], paths=lines, most=top_k)
        chosen = valid_numbers("path", list(reply.relations), len(lines), trace)[:top_k]
        shares = normalised(reply.relations)
        scored = [(lines[n - 1], shares[n]) for n in chosen]
        trace.add(Scored(f"relations from {self.anchor.name}", scored))
        return self.keep_paths(hop, offers, [n - 1 for n in chosen], "model", trace)

    def keep_paths(self, hop: int, offers: Sequence[Offer], kept: Iterable[int], by: str, trace: Trace) -> list[Path]:
        """The offers at these places; the trace says by what they were chosen."""
        lines = [self.label(path) for path, _ in offers]
        kept = list(kept)
        trace.add(Pruned(hop, lines, [lines[i] for i in kept], by))
        return [offers[i][0] for i in kept]

    # --- neighboring entities pruning ----------------------------------------------------------
    def prune_entities(self, fact: Fact, trace: Trace) -> Fact:
        """The fact with its b best entities, scored by the model in one call."""
        width = self.options.width
        if len(fact.values) <= width:
            return fact
        shown = fact.values[: self.options.entities]
        label = self.label(Path(fact.path[0], fact.path[1]))
        trace.note_cut(f"entities: {label}", len(shown), len(fact.values))
        names = node_names(self._graph, shown)
        reached = [write_reached(label, names[node]) for node in shown]
        reply = self._ask(trace, self._steps.score_entities, reached=reached, most=width)
        chosen = valid_numbers("entity", list(reply.entities), len(shown), trace)[:width]
        shares = normalised(reply.entities)
        trace.add(Scored(f"entities: {label}", [(names[shown[n - 1]], shares[n]) for n in chosen]))
        self.facts.cut.add(fact.path)
        return replace(fact, values=tuple(shown[n - 1] for n in chosen))

    def _ends(self, facts: Sequence[Fact], trace: Trace) -> list[Path]:
        """The paths of some facts, with their values at the end."""
        ends: dict[PathKey, list[int]] = {}
        for fact in facts:
            ends.setdefault(fact.path, []).extend(fact.values)
        return [self._cut(Path(*key, np.unique(np.array(nodes))), trace) for key, nodes in ends.items()]

    def _cut(self, path: Path, trace: Trace) -> Path:
        """At most N entities to continue from."""
        limit = self.options.entities
        if len(path.ends) <= limit:
            return path
        trace.add(Truncated(f"entities: {self.label(path)}", limit, len(path.ends)))
        self.facts.cut.add(path.key)
        return replace(path, ends=path.ends[:limit])

    # --- candidate triples filtering ----------------------------------------------------------
    def filter_triples(self, facts: list[Fact], trace: Trace) -> list[Fact]:
        """The facts that the model finds relevant."""
        nodes = [node for fact in facts for node in (fact.anchor, *fact.values)]
        names = node_names(self._graph, nodes) | self._briefing.anchors
        tokens = self.options.limits.tokens
        shown, lines = within_tokens(self._graph, facts, names, self._briefing.relations, tokens, trace)
        reply = self._ask(trace, self._steps.filter_facts, topics=self._briefing.shown, facts=lines)
        return [shown[n - 1] for n in valid_numbers("fact", reply.relevant, len(lines), trace)]


class CallPerItem(Retriever):
    """As in the paper: a call for the relations of each entity, the entities of each relation, each agent's triples."""

    def further(self, frontier: Sequence[Path], trace: Trace) -> list[Offer]:
        """The relations of each entity by itself."""
        return self.offers([replace(path, ends=np.array([end])) for path in frontier for end in path.ends.tolist()])

    def choose(self, hop: int, offers: Sequence[Offer], trace: Trace) -> list[Path]:
        """The model scores the relations of each entity; the b best of each are followed."""
        of_entity: dict[tuple[PathKey, int], list[Offer]] = {}
        for path, edges in offers:
            of_entity.setdefault(((path.topic, path.hops[:-1]), int(path.ends[0])), []).append((path, edges))
        width = self.options.width
        return [path for group in of_entity.values() for path in self.score_paths(hop, group, width, trace)]

    def refine(self, facts: list[Fact], trace: Trace) -> list[Fact]:
        """The model scores the entities of each fact, then filters the triples of the agent."""
        pruned = [self.prune_entities(fact, trace) for fact in facts]
        left = [fact for fact in pruned if fact.values]
        return self.filter_triples(left, trace) if self.options.filter_triples and left else left


class CallPerAgent(Retriever):
    """Fewer calls: at most one for all paths of an agent, one for the facts of all agents, none for entities.

    An agent makes no call if there are at most b paths or if the relation vectors decide. Entities are not scored: all
    of a relation (at most N) are kept, because the answer is often among them and a width of b would cut it off.
    """

    def further(self, frontier: Sequence[Path], trace: Trace) -> list[Offer]:
        """The relations of all entities at the end of a path together, those most similar to the question."""
        return self.most_similar(self.offers(frontier), trace)

    def choose(self, hop: int, offers: Sequence[Offer], trace: Trace) -> list[Path]:
        """All paths if they are few, those clearly preferred by the vectors, or those that the model scores best."""
        width = self.options.width
        if len(offers) <= width:
            return self.keep_paths(hop, offers, range(len(offers)), "width", trace)
        winners = self.clear_winners(offers)
        if winners is not None:
            return self.keep_paths(hop, offers, winners, "embedding", trace)
        return self.score_paths(hop, offers, width * len({path.hops[:-1] for path, _ in offers}), trace)

    def refine(self, facts: list[Fact], trace: Trace) -> list[Fact]:
        """All of them: the supervisor filters the facts of all agents in one call."""
        return facts
