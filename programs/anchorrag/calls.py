"""The two ways of AnchorRAG to ask the model while it explores, behind one interface.

The paper asks for the relations of each entity, for the entities of each relation and for the triples of each agent
(`CallPerItem`). `CallPerAgent` asks at most once per agent and once for all agents together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from triplecheck.programs.anchorrag.agent import AgentCalls, Briefing, Offer, Retriever
from triplecheck.programs.anchorrag.options import AnchorRAGOptions
from triplecheck.programs.assists import Assists
from triplecheck.programs.steps import Trace
from triplecheck.programs.subgraph import Fact, Path, PathKey


@dataclass(frozen=True)
class Explored:
    """The agents after one hop.

    Attributes:
        found: those that explored at this hop, each with its new facts.
        hop: from 1.
    """

    briefing: Briefing
    agents: Sequence[Retriever]
    found: Sequence[tuple[Retriever, list[Fact]]]
    hop: int
    trace: Trace


class Supervisor(Protocol):
    """What `AnchorRAG` offers to `Calls.suffices`."""

    options: AnchorRAGOptions
    assists: Assists

    def judge_kept(self, at: Explored) -> bool:
        """Whether the facts that the agents kept suffice."""

    def judge_and_direct(self, at: Explored) -> bool:
        """Filter the new facts of all agents, judge them, and say which paths to follow, in one call."""


class Calls(AgentCalls, Protocol):
    """Which calls to a model the agents and their supervisor make at one hop."""

    def suffices(self, supervisor: Supervisor, at: Explored) -> bool:
        """Have the agents keep the relevant new facts; whether all kept facts suffice to answer (section 3.5)."""


class CallPerItem:
    """As in the paper: a call for the relations of each entity, the entities of each relation, each agent's triples."""

    def offers(self, agent: Retriever, frontier: Sequence[Path], trace: Trace) -> list[Offer]:
        """The relations of each entity by itself."""
        return agent.offers([replace(path, ends=np.array([end])) for path in frontier for end in path.ends.tolist()])

    def choose(self, agent: Retriever, hop: int, offers: Sequence[Offer], trace: Trace) -> list[Path]:
        """The model scores the relations of each entity; the b best of each are followed."""
        of_entity: dict[tuple[PathKey, int], list[Offer]] = {}
        for path, edges in offers:
            of_entity.setdefault(((path.topic, path.hops[:-1]), int(path.ends[0])), []).append((path, edges))
        width = agent.options.width
        return [path for group in of_entity.values() for path in agent.score_paths(hop, group, width, trace)]

    def refine(self, agent: Retriever, facts: list[Fact], trace: Trace) -> list[Fact]:
        """The model scores the entities of each fact, then filters the triples of the agent."""
        pruned = [agent.prune_entities(fact, trace) for fact in facts]
        left = [fact for fact in pruned if fact.values]
        return agent.filter_triples(left, trace) if agent.options.filter_triples and left else left

    def suffices(self, supervisor: Supervisor, at: Explored) -> bool:
        """The supervisor judges what the agents kept."""
        for agent, facts in at.found:
            agent.keep(facts, at.hop, at.trace)
        return any(facts for _, facts in at.found) and supervisor.judge_kept(at)


class CallPerAgent:
    """Fewer calls: at most one for all paths of an agent, one for the facts of all agents, none for entities.

    An agent makes no call if there are at most b paths or if the relation vectors decide. Entities are not scored: all
    of a relation (at most N) are kept, because the answer is often among them and a width of b would cut it off.
    """

    def offers(self, agent: Retriever, frontier: Sequence[Path], trace: Trace) -> list[Offer]:
        """The relations of all entities at the end of a path together, those most similar to the question."""
        return agent.most_similar(agent.offers(frontier), trace)

    def choose(self, agent: Retriever, hop: int, offers: Sequence[Offer], trace: Trace) -> list[Path]:
        """All paths if they are few, those clearly preferred by the vectors, or those that the model scores best."""
        width = agent.options.width
        if len(offers) <= width:
            return agent.keep_paths(hop, offers, range(len(offers)), "width", trace)
        winners = agent.clear_winners(offers)
        if winners is not None:
            return agent.keep_paths(hop, offers, winners, "embedding", trace)
        return agent.score_paths(hop, offers, width * len({path.hops[:-1] for path, _ in offers}), trace)

    def refine(self, agent: Retriever, facts: list[Fact], trace: Trace) -> list[Fact]:
        """All of them: the supervisor filters the facts of all agents in one call."""
        return facts

    def suffices(self, supervisor: Supervisor, at: Explored) -> bool:
        """One call filters, judges and says where to go on. After the last hop one judges, or the answer decides."""
        is_new = any(facts for _, facts in at.found)
        if at.hop < supervisor.options.depth and is_new:
            return supervisor.judge_and_direct(at)
        for agent, facts in at.found:
            agent.keep(facts, at.hop, at.trace)
        return is_new and "unjudged_facts" not in supervisor.assists and supervisor.judge_kept(at)
