"""AnchorRAG's retriever agent: explores the graph from one anchor, hop by hop.

Each hop prunes relations roughly, fetches, and prunes entities; facts are then filtered finely, by the
agent itself or together with those of the other agents, and an agent that keeps none stops.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from triplecheck.kg import Graph
from triplecheck.lms import RolePredict
from triplecheck.programs.anchorrag.predictor import Anchor
from triplecheck.programs.base import Note
from triplecheck.programs.expansion import existing, fetch, further, is_schema, note_at_end, within_tokens
from triplecheck.programs.steps import Pruned, Scored, Stopped, Trace, Truncated
from triplecheck.programs.subgraph import Fact, Path, PathKey, RelationNames, Subgraph, node_names, render_path
from triplecheck.signatures.notation import write_reached

Offer = tuple[Path, int]


@dataclass(frozen=True)
class Limits:
    """How much is looked at. What a limit cuts off is recorded in the trace.

    Attributes:
        offered: paths put before the model at one hop, the most similar to the question first.
        values: edges fetched per (entity, relation).
        triples: triples that one agent fetches at one hop.
        ahead: estimated tokens of paths in a prompt that judges, the most similar to the question first.
        judged: estimated tokens of facts in a prompt that filters or judges.
        read: estimated tokens of facts in the prompt that answers.
    """

    offered: int = 40
    values: int = 200
    triples: int = 2_000
    ahead: int = 600
    judged: int = 600
    read: int = 1_200


@dataclass(frozen=True)
class Exploring:
    """How agents explore.

    Attributes:
        width: b of the paper: relations kept per path, and entities per relation where a model scores them.
        entities: entities per relation that are shown to a model, or followed without one.
        per_relation_calls: a call for each entity and each relation, as in the paper, and one for each
            agent's triples; else one for all paths of an agent, and none for entities.
        prefilter: by how much cosine the best relation must lead to be taken without a call; None never.
        filter_triples: each agent has its triples filtered (where it does so itself).
        schema: relations that say nothing about the world.
        limits: how much is looked at.
    """

    width: int
    entities: int
    per_relation_calls: bool
    prefilter: float | None
    filter_triples: bool
    schema: Sequence[re.Pattern[str]]
    limits: Limits


@dataclass(frozen=True)
class Briefing:
    """What all agents of one question know.

    Attributes:
        question: proofread.
        anchors: names of all anchors by node.
        shown: the anchors as they stand in prompts.
        relations: how each relation is written in prompts.
        likeness: cosine of each relation with the question, shape (relations,); None without vectors.
    """

    question: str
    anchors: dict[int, str]
    shown: list[str]
    relations: RelationNames
    likeness: npt.NDArray[np.float32] | None


@dataclass(frozen=True)
class AgentSteps:
    """The model's part in exploring, and who is told of it."""

    score_relations: RolePredict
    score_entities: RolePredict
    filter_triples: RolePredict
    wrote: Note


class Retriever:
    """One agent.

    Args:
        graph: what it explores.
        anchor: where it starts.
        briefing: what it knows.
        how: how it explores.
        steps: its calls to models.

    Attributes:
        facts: those it kept.
        aside: paths that were offered and not followed, with their number of edges.
        seen: nodes of all triples that it fetched, kept or not.
        active: whether there is anything left to follow.
    """

    def __init__(self, graph: Graph, anchor: Anchor, briefing: Briefing, how: Exploring, steps: AgentSteps) -> None:
        self.anchor = anchor
        self.facts = Subgraph()
        self.aside: dict[PathKey, Offer] = {}
        self.seen: set[int] = set()
        self.active = True
        self._graph = graph
        self._briefing = briefing
        self._how = how
        self._steps = steps
        self._frontier = [Path(anchor.node, (), np.array([anchor.node]))]
        self._next: list[Path] = []
        self._resumed: list[Path] = []
        self._followed: dict[object, set[int]] = {}

    def explore(self, hop: int, trace: Trace) -> list[Fact]:
        """One iteration: relations, then entities, then (in calls of its own) triples; the new facts, maybe none."""
        chosen = self._next
        if not chosen:
            offers = self._offers(self._frontier, trace)
            chosen = self._choose(hop, offers, trace)
            self._set_aside(offers, chosen)
        chosen += self._resumed
        self._next, self._resumed = [], []
        fresh = Subgraph()
        limits = self._how.limits
        for path in chosen:
            self._followed.setdefault(path.hops[-1], set()).update(path.ends.tolist())
            fetch(
                *(self._graph, path, fresh, self.label(path), trace),
                values=limits.values,
                frontier=len(path.ends),
                triples=limits.triples,
            )
        self.seen |= fresh.nodes
        self.facts.cut |= fresh.cut
        if not self._how.per_relation_calls:
            return fresh.facts
        facts = [pruned for fact in fresh.facts if (pruned := self._prune_entities(fact, trace)).values]
        return self._filter(facts, trace) if self._how.filter_triples and facts else facts

    def ahead(self, facts: Sequence[Fact], trace: Trace) -> list[Offer]:
        """What may be followed from the values of new facts."""
        return self._offers(self._ends(facts, trace), trace)

    def keep(self, facts: Sequence[Fact], hop: int, trace: Trace) -> None:
        """Take up the relevant ones of the new facts, to go on from their values; stop where there are none."""
        for fact in facts:
            self.facts.add(fact)
        self._frontier = self._ends(facts, trace)
        self.active = bool(facts)
        if not facts:
            trace.add(Stopped("no_triples", f"{self.anchor.name}: nothing relevant at hop {hop}"))

    def follow(self, paths: Sequence[Path], offers: Sequence[Offer], hop: int, trace: Trace) -> None:
        """Follow paths that the supervisor chose from `ahead`, as far as they start from what was kept."""
        ends = {path.key: path.ends for path in self._frontier}
        none = np.empty(0, np.int64)
        starts = [np.intersect1d(path.ends, ends.get((path.topic, path.hops[:-1]), none)) for path in paths]
        self._next = [replace(path, ends=start) for path, start in zip(paths, starts, strict=True) if len(start)]
        self._set_aside(offers, self._next)
        lines = [self.label(path) for path, _ in offers]
        if self.active:
            trace.add(Pruned(hop + 1, lines, [self.label(path) for path in self._next], "model"))
        if self.active and not self._next:
            self.active = False
            trace.add(Stopped("no_path", f"{self.anchor.name}: nothing to follow after hop {hop}"))

    def resume(self, path: Path) -> None:
        """Follow a path that was set aside, at the next iteration."""
        self._resumed.append(path)
        self.aside.pop(path.key, None)
        self.active = True

    @property
    def following(self) -> list[str]:
        """The paths that it goes on from, in words."""
        return [self.label(path) for path in self._next or self._frontier if self.active and path.hops]

    def label(self, path: Path, note: str = "") -> str:
        """A path in words, beginning with the anchor."""
        return render_path(self.anchor.name, path.hops, self._briefing.relations, note)

    def offer(self, path: Path, edges: int) -> str:
        """A path that may be followed, with what lies at its end."""
        return self.label(path, note_at_end(self._graph, path, edges, by_schema=self._graph.has_types))

    # --- relations -------------------------------------------------------------------------------
    def _offers(self, paths: Sequence[Path], trace: Trace) -> list[Offer]:
        """What may be followed next, without relations of the schema and without the way already gone."""
        if self._how.per_relation_calls:
            paths = [replace(path, ends=np.array([end])) for path in paths for end in path.ends.tolist()]
        offers = []
        for path, edges in further(self._graph, paths):
            followed = self._followed.get(path.hops[-1], set())
            ends = [end for end in path.ends.tolist() if end not in followed]
            if ends and not is_schema(self._graph, path.hops[-1].relation, self._how.schema):
                offers.append((replace(path, ends=np.array(ends)), edges))
        most = self._how.limits.offered
        if len(offers) > most and not self._how.per_relation_calls:
            trace.add(Truncated(f"offered paths from {self.anchor.name}", most, len(offers)))
            likeness = self._likeness(offers)
            order = np.argsort(-likeness if likeness is not None else [edges for _, edges in offers], kind="stable")
            offers = [offers[i] for i in sorted(order[:most].tolist())]
        return offers

    def _likeness(self, offers: Sequence[Offer]) -> npt.NDArray[np.float32] | None:
        relations = [path.hops[-1].relation for path, _ in offers]
        return None if self._briefing.likeness is None else self._briefing.likeness[relations]

    def _choose(self, hop: int, offers: list[Offer], trace: Trace) -> list[Path]:
        """The paths to follow, best first: settled by number or by vectors, else scored by the model."""
        if not offers:
            return []
        if self._how.per_relation_calls:
            groups: dict[tuple[PathKey, int], list[Offer]] = {}
            for path, edges in offers:
                groups.setdefault(((path.topic, path.hops[:-1]), int(path.ends[0])), []).append((path, edges))
            return [path for group in groups.values() for path in self._score(hop, group, self._how.width, trace)]
        if len(offers) <= self._how.width:
            return self._pruned(hop, offers, range(len(offers)), "width", trace)
        most = self._how.width * len({path.hops[:-1] for path, _ in offers})
        if (winners := self._clear_winners(offers, self._how.width)) is not None:
            return self._pruned(hop, offers, winners, "embedding", trace)
        return self._score(hop, offers, most, trace)

    def _clear_winners(self, offers: Sequence[Offer], most: int) -> list[int] | None:
        """The offers about as near to the question as the best one, where they are few enough to follow all."""
        likeness = self._likeness(offers)
        if likeness is None or self._how.prefilter is None:
            return None
        near = np.flatnonzero(likeness >= likeness.max() - self._how.prefilter)
        winners = near[np.argsort(-likeness[near], kind="stable")]
        relations = {offers[i][0].hops[-1].relation for i in winners.tolist()}
        return winners.tolist() if len(relations) == 1 or len(winners) <= most else None

    def _score(self, hop: int, offers: Sequence[Offer], most: int, trace: Trace) -> list[Path]:
        lines = [self.offer(path, edges) for path, edges in offers]
        reply = self._steps.score_relations(
            question=self._briefing.question, topics=[self.anchor.shown], paths=lines, most=most
        )
        self._steps.wrote(trace, self._steps.score_relations, reply)
        chosen = existing("path", reply.relations, len(lines), trace)[:most]
        shares = _normalised(reply.relations, reply.scores)
        scored = [(lines[n - 1], shares.get(n, 0.0)) for n in chosen]
        trace.add(Scored(f"relations from {self.anchor.name}", scored))
        return self._pruned(hop, offers, [n - 1 for n in chosen], "model", trace)

    def _pruned(self, hop: int, offers: Sequence[Offer], kept: Iterable[int], by: str, trace: Trace) -> list[Path]:
        lines = [self.label(path) for path, _ in offers]
        kept = list(kept)
        trace.add(Pruned(hop, lines, [lines[i] for i in kept], by))
        return [offers[i][0] for i in kept]

    # --- entities --------------------------------------------------------------------------------
    def _prune_entities(self, fact: Fact, trace: Trace) -> Fact:
        """The fact with its b best entities, scored by the model in a call of its own."""
        how = self._how
        if len(fact.values) <= how.width:
            return fact
        shown = fact.values[: how.entities]
        label = self.label(Path(fact.path[0], fact.path[1]))
        if len(shown) < len(fact.values):
            trace.add(Truncated(f"entities: {label}", len(shown), len(fact.values)))
        names = node_names(self._graph, shown)
        reply = self._steps.score_entities(
            question=self._briefing.question,
            reached=[write_reached(label, names[node]) for node in shown],
            most=how.width,
        )
        self._steps.wrote(trace, self._steps.score_entities, reply)
        chosen = existing("entity", reply.entities, len(shown), trace)[: how.width]
        shares = _normalised(reply.entities, reply.scores)
        trace.add(Scored(f"entities: {label}", [(names[shown[n - 1]], shares.get(n, 0.0)) for n in chosen]))
        self.facts.cut.add(fact.path)
        return replace(fact, values=tuple(shown[n - 1] for n in chosen))

    def _ends(self, facts: Sequence[Fact], trace: Trace) -> list[Path]:
        """The paths of some facts, with their values at the end."""
        ends: dict[PathKey, list[int]] = {}
        for fact in facts:
            ends.setdefault(fact.path, []).extend(fact.values)
        return [self._cut(Path(*key, np.unique(np.array(nodes))), trace) for key, nodes in ends.items()]

    def _set_aside(self, offers: Sequence[Offer], chosen: Sequence[Path]) -> None:
        kept = {path.key for path in chosen}
        self.aside |= {path.key: (path, edges) for path, edges in offers if path.key not in kept}

    def _cut(self, path: Path, trace: Trace) -> Path:
        """At most N entities to go on from, those that the question names first."""
        most = self._how.entities
        if len(path.ends) <= most:
            return path
        words = set(re.findall(r"\w+", self._briefing.question.casefold()))
        labels = self._graph.labels(path.ends)
        named = np.array([not words.isdisjoint(re.findall(r"\w+", label.casefold())) for label in labels])
        ends = np.sort(path.ends[np.argsort(~named, kind="stable")[:most]])
        trace.add(Truncated(f"entities: {self.label(path)}", most, len(path.ends)))
        self.facts.cut.add(path.key)
        return replace(path, ends=ends)

    # --- triples ---------------------------------------------------------------------------------
    def _filter(self, facts: list[Fact], trace: Trace) -> list[Fact]:
        """The facts that the model finds relevant, named by number."""
        nodes = [node for fact in facts for node in (fact.anchor, *fact.values)]
        names = node_names(self._graph, nodes) | self._briefing.anchors
        lines = within_tokens(facts, names, self._briefing.relations, self._how.limits.read, trace)
        reply = self._steps.filter_triples(question=self._briefing.question, topics=self._briefing.shown, facts=lines)
        self._steps.wrote(trace, self._steps.filter_triples, reply)
        return [facts[n - 1] for n in existing("fact", reply.relevant, len(lines), trace)]


def _normalised(numbers: Sequence[int], scores: Sequence[float]) -> dict[int, float]:
    """Score by number, the scores summing to 1; what a model forgot to rate counts nothing."""
    rated = {n: max(0.0, s) for n, s in zip(numbers, scores, strict=False)}
    total = sum(rated.values())
    return {n: round(s / total, 4) for n, s in rated.items()} if total else rated
