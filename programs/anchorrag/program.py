"""AnchorRAG: open-world retrieval by a predictor, concurrent retriever agents, and a supervisor.

Source: "Towards Open-World Retrieval-Augmented Generation on Knowledge Graph: A Multi-Agent
Collaboration Framework" (arXiv 2509.01238). `predict`, the agents of `programs.retriever`, and
`supervise` are the three parts of the paper.

The paper asks the model for every entity's relations, for every relation's entities and for every
agent's triples. By default here an agent asks once for all its paths, and not at all where there are
no more than b of them or where sentence vectors settle it; triples are filtered and judged in one call
for all agents; and entities are not scored: all of a relation's (up to N) go on, since what they
are is often the answer, which a width of b would cut. `per_relation_calls` asks as the paper does.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence, Set
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import ClassVar

from triplecheck.kg import TriplecheckError, UserError
from triplecheck.lms import BudgetExceededError, RolePredict
from triplecheck.programs.anchorrag.agent import AgentSteps, Briefing, Exploring, Limits, Retriever
from triplecheck.programs.anchorrag.predictor import Anchor, choose_anchors, proofread_question
from triplecheck.programs.base import Program, Sources, check_positive
from triplecheck.programs.closed_book import recall_instead
from triplecheck.programs.conclude import conclude
from triplecheck.programs.concurrently import concurrently
from triplecheck.programs.expansion import SCHEMA_RELATIONS, estimated_tokens, existing, within_tokens
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.steps import Checked, Stopped, Trace, Truncated
from triplecheck.programs.subgraph import Fact, Path, PathKey, RelationNames, Subgraph, node_names
from triplecheck.programs.topics import TopicLinker
from triplecheck.signatures import (
    AnswerFromFacts,
    AnswerFromMemory,
    ExtractKeywords,
    FilterTriples,
    JudgeAndGoOn,
    JudgeSufficiency,
    NameSubGoals,
    Reflect,
    ScoreEntities,
    ScoreRelations,
    UpdateMemory,
)

Owned = tuple[Retriever, Path, int]
"""An agent, a path that it may follow, and the number of edges there."""


class AnchorRAG(Program):
    """Open-world RAG by several agents.

    Args:
        sources: the graph and how to find things in it.
        grounding: rank candidates by how well their relations fit the question, beside their names.
        top_k: k of the paper, relations averaged by grounding.
        union: take misspelt, partial and dense candidates beside exact ones, as the paper does, not only where
            nothing tighter fits.
        agents: m of the paper, anchors with an agent each; 1 is the paper's "without parallel retrieval".
        anchor_margin: how much worse (0 to 1) than the best of its keyword an anchor's name may fit.
        depth: L of the paper, iterations at most.
        width: b of the paper, relations kept per path, and entities per relation where a model scores them.
        entities: N of the paper, entities per relation shown to a model, or followed without one.
        filter_triples: have irrelevant triples taken out; an agent left without any stops.
        per_relation_calls: ask for each entity, each relation and each agent, as the paper does.
        prefilter: by how much cosine a relation must lead to be followed without a call; None never.
        backtracking: name sub-goals, remember what is found of each, and go back to paths that were set
            aside where one is missing, as in Plan-on-Graph (arXiv 2410.23875).
        schema_relations: regular expressions; relations whose id one of them finds are not followed.
        limits: how much is looked at.
        grounded_only: abstain rather than answer from the model's own knowledge.

    Raises:
        UserError: a bad regular expression, or a number below 1.
    """

    name: ClassVar[str] = "anchorrag"

    def __init__(
        self,
        sources: Sources,
        *,
        grounding: bool = True,
        top_k: int = 5,
        union: bool = False,
        agents: int = 3,
        anchor_margin: float = 0.1,
        depth: int = 3,
        width: int = 3,
        entities: int = 50,
        filter_triples: bool = True,
        per_relation_calls: bool = False,
        prefilter: float | None = 0.3,
        backtracking: bool = False,
        schema_relations: tuple[str, ...] = SCHEMA_RELATIONS,
        limits: Limits | None = None,
        grounded_only: bool = False,
    ) -> None:
        super().__init__(sources, grounded_only=grounded_only)
        check_positive(top_k=top_k, agents=agents, depth=depth, width=width, entities=entities)
        self.grounding = grounding
        self.top_k = top_k
        self.union = union
        self.agents = agents
        self.anchor_margin = anchor_margin
        self.depth = depth
        self.width = width
        self.entities = entities
        self.filter_triples = filter_triples
        self.per_relation_calls = per_relation_calls
        self.prefilter = prefilter
        self.backtracking = backtracking
        self.schema_relations = schema_relations
        self.limits = limits or Limits()
        self._schema = [_compiled(pattern) for pattern in schema_relations]
        self.extract_keywords = RolePredict(ExtractKeywords, role="extract")
        self.score_relations = RolePredict(ScoreRelations, role="prune")
        self.score_entities = RolePredict(ScoreEntities, role="prune")
        self.filter_facts = RolePredict(FilterTriples, role="prune")
        self.judge = RolePredict(JudgeSufficiency, role="judge")
        self.judge_and_go_on = RolePredict(JudgeAndGoOn, role="judge")
        self.name_sub_goals = RolePredict(NameSubGoals, role="extract")
        self.update_memory = RolePredict(UpdateMemory, role="judge")
        self.reflect = RolePredict(Reflect, role="judge")
        self.answer_from_facts = RolePredict(AnswerFromFacts, role="answer")
        self.answer_from_memory = RolePredict(AnswerFromMemory, role="answer")

    def run(self, question: str, trace: Trace) -> Outcome:
        """Predictor, retriever agents, supervisor."""
        anchors, briefing = self.predict(question, trace)
        if not anchors:
            return self.recall(question, "no_topic", "no entity of the graph was recognised", trace)
        how = Exploring(
            self.width,
            self.entities,
            self.per_relation_calls,
            self.prefilter,
            self.filter_triples,
            self._schema,
            self.limits,
        )
        steps = AgentSteps(self.score_relations, self.score_entities, self.filter_facts, self.wrote)
        agents = [Retriever(self.graph, anchor, briefing, how, steps) for anchor in anchors]
        outcome = self.supervise(briefing, agents, trace)
        return replace(outcome, retrieved=frozenset(node for agent in agents for node in agent.seen))

    # --- predictor -----------------------------------------------------------------------------
    def predict(self, question: str, trace: Trace) -> tuple[list[Anchor], Briefing]:
        """The question proofread, and the entities to start from: keywords in one call, then candidates, grounded."""
        linker = TopicLinker(
            self.graph,
            self.sources.linker,
            question,
            grounding=self.grounding,
            top_k=self.top_k,
            union=self.union,
        )
        reply = self.extract_keywords(question=question, known_names=linker.known_names())
        self.wrote(trace, self.extract_keywords, reply)
        mended = proofread_question(question, reply.proofread, trace)
        anchors = choose_anchors(self.graph, linker, reply.keywords, mended, self.agents, self.anchor_margin, trace)
        relations = self.sources.relations
        return anchors, Briefing(
            mended,
            {anchor.node: anchor.name for anchor in anchors},
            [anchor.shown for anchor in anchors],
            RelationNames(self.graph, relations, mended),
            None if relations is None else relations.against(mended),
        )

    # --- supervisor ----------------------------------------------------------------------------
    def supervise(self, briefing: Briefing, agents: list[Retriever], trace: Trace) -> Outcome:
        """Send the agents on until what they kept suffices; failing that, answer from the model's own knowledge."""
        goals = self._goals(briefing, trace) if self.backtracking else []
        read = 0
        for hop in range(1, self.depth + 1):
            found = self._explore(agents, hop, trace)
            if self._suffices(briefing, agents, found, hop, trace):
                outcome, read = self._answer(briefing, agents, trace), _kept(agents)
                if outcome.abstained is None:
                    return outcome
            if self.backtracking and hop < self.depth:
                self._backtrack(briefing, goals, agents, trace)
            if not any(agent.active for agent in agents):
                break
        # Unlike the paper, which goes by the verdict alone: what was not judged to suffice may still hold the answer.
        if _kept(agents) > read:
            outcome = self._answer(briefing, agents, trace)
            if outcome.abstained is None:
                return outcome
        return self.recall(briefing.question, "insufficient", "the retrieved facts do not answer it", trace)

    def recall(self, question: str, reason: str, detail: str, trace: Trace) -> Outcome:
        """Answer from the model's own knowledge, which nothing proves; abstain where that is not wanted."""
        return recall_instead(self, self.answer_from_memory, question, reason, detail, trace)

    def _explore(self, agents: list[Retriever], hop: int, trace: Trace) -> list[tuple[Retriever, list[Fact]]]:
        """The new facts of each active agent, all under way at the same time. One that fails leaves `agents`."""
        active = [agent for agent in agents if agent.active]
        found = []
        error: TriplecheckError | None = None
        results = concurrently([partial(agent.explore, hop) for agent in active], trace)
        for agent, result in zip(active, results, strict=True):
            if isinstance(result, BudgetExceededError):
                raise result  # it is the budget of all
            if isinstance(result, TriplecheckError):
                agents.remove(agent)
                trace.add(Stopped("agent_failed", f"{agent.anchor.name}: {result}"))
                error = error or result
            else:
                found.append((agent, result))
        if error is not None and not agents:
            raise error
        return found

    def _suffices(
        self,
        briefing: Briefing,
        agents: Sequence[Retriever],
        found: Sequence[tuple[Retriever, list[Fact]]],
        hop: int,
        trace: Trace,
    ) -> bool:
        """Have the agents keep the relevant ones of their new facts; whether all that is kept suffices."""
        if not self.per_relation_calls and hop < self.depth and any(facts for _, facts in found):
            return self._judge_and_go_on(briefing, agents, found, hop, trace)
        for agent, facts in found:
            agent.keep(facts, hop, trace)
        if not self.per_relation_calls or not any(facts for _, facts in found):
            return False  # what the last iteration adds is read at once: whether an answer is found will tell
        _, lines = self._lines(briefing, [agent.facts.facts for agent in agents], trace)
        verdict = self.judge(question=briefing.question, topics=briefing.shown, facts=lines)
        self.wrote(trace, self.judge, verdict)
        return _told(verdict.sufficient, agents, hop, trace)

    def _judge_and_go_on(
        self,
        briefing: Briefing,
        agents: Sequence[Retriever],
        found: Sequence[tuple[Retriever, list[Fact]]],
        hop: int,
        trace: Trace,
    ) -> bool:
        """In one call for all agents: which facts are relevant, whether they suffice, and where to go if not."""
        new = dict(found)
        groups = [[*agent.facts.facts, *new.get(agent, ())] for agent in agents]
        shown, lines = self._lines(briefing, groups, trace)
        offers = {agent: agent.ahead(facts, trace) for agent, facts in found}
        paths = self._nearest(briefing, [(agent, *offer) for agent, ahead in offers.items() for offer in ahead], trace)
        reply = self.judge_and_go_on(
            question=briefing.question,
            topics=briefing.shown,
            facts=lines,
            paths=[agent.offer(path, edges) for agent, path, edges in paths],
            most=self.width * max(1, len({(path.topic, path.hops[:-1]) for _, path, _ in paths})),
        )
        self.wrote(trace, self.judge_and_go_on, reply)
        relevant = [shown[n - 1] for n in existing("fact", reply.relevant, len(lines), trace)]
        follow = [paths[n - 1] for n in existing("path", reply.follow, len(paths), trace)]
        # What leads to a path that is to be followed is relevant, whether it was named or not.
        ways = {(path.topic, path.hops[:-1]) for _, path, _ in follow} | {fact.path for fact in relevant}
        for agent, facts in found:
            kept = relevant_facts(facts, relevant, shown, ways) if self.filter_triples else facts
            agent.keep(kept, hop, trace)
        sufficient = _told(reply.sufficient, agents, hop, trace)
        for agent, ahead in offers.items() if not sufficient else ():
            agent.follow([path for owner, path, _ in follow if owner is agent], ahead, hop, trace)
        return sufficient

    def _answer(self, briefing: Briefing, agents: Sequence[Retriever], trace: Trace) -> Outcome:
        """Reason over what was kept; what the model concludes is checked against it and computed by code."""
        kept = Subgraph()
        for agent in agents:
            kept.cut |= agent.facts.cut
            for fact in agent.facts.facts:
                kept.add(fact)
        facts, lines = self._lines(briefing, [agent.facts.facts for agent in agents], trace, reading=True)
        reply = self.answer_from_facts(question=briefing.question, topics=briefing.shown, facts=lines)
        self.wrote(trace, self.answer_from_facts, reply)
        cited = [facts[n - 1] for n in existing("fact", reply.cited, len(lines), trace)]
        names = self._names(briefing, kept.facts)
        return conclude(
            *(self.graph, kept, cited, reply.operation, reply.answers, names, trace),
            grounded_only=self.grounded_only,
        )

    # --- prompts -------------------------------------------------------------------------------
    def _names(self, briefing: Briefing, facts: Sequence[Fact]) -> dict[int, str]:
        return node_names(self.graph, [n for fact in facts for n in (fact.anchor, *fact.values)]) | briefing.anchors

    def _lines(
        self, briefing: Briefing, groups: Sequence[Sequence[Fact]], trace: Trace, *, reading: bool = False
    ) -> tuple[list[Fact], list[str]]:
        """The facts that are shown and how they stand in the prompt, each agent with an equal share of it."""
        groups = [group for group in groups if group]
        limits = self.limits
        tokens = (limits.read if reading else limits.judged) // max(1, len(groups))
        names = self._names(briefing, [fact for group in groups for fact in group])
        facts: list[Fact] = []
        lines: list[str] = []
        for group in groups:
            written = within_tokens(group if reading else shortened(group), names, briefing.relations, tokens, trace)
            lines += written
            facts += group[: len(written)]
        return facts, lines

    def _nearest(self, briefing: Briefing, paths: Sequence[Owned], trace: Trace) -> list[Owned]:
        """The paths that go into a prompt: those whose last relation is nearest to the question, in their order."""
        order = list(range(len(paths)))
        if briefing.likeness is not None:
            likeness = briefing.likeness
            order.sort(key=lambda i: -float(likeness[paths[i][1].hops[-1].relation]))
        used = list(accumulate(estimated_tokens(paths[i][0].offer(*paths[i][1:])) for i in order))
        most = max(1, bisect_right(used, self.limits.ahead))
        if most < len(paths):
            trace.add(Truncated("paths in the prompt", most, len(paths)))
        return [paths[i] for i in sorted(order[:most])]

    # --- backtracking --------------------------------------------------------------------------
    def _goals(self, briefing: Briefing, trace: Trace) -> list[str]:
        reply = self.name_sub_goals(question=briefing.question, topics=briefing.shown)
        self.wrote(trace, self.name_sub_goals, reply)
        return list(reply.goals) or [briefing.question]

    def _backtrack(self, briefing: Briefing, goals: Sequence[str], agents: Sequence[Retriever], trace: Trace) -> None:
        """Write down what is known of each goal, and take up paths again that may lead to what is missing."""
        set_aside = [(agent, *offer) for agent in agents for offer in agent.aside.values()]
        aside = self._nearest(briefing, set_aside, trace)
        if not aside:
            return
        _, lines = self._lines(briefing, [agent.facts.facts for agent in agents], trace)
        memory = self.update_memory(question=briefing.question, goals=goals, facts=lines)
        self.wrote(trace, self.update_memory, memory)
        known = [*memory.findings, *["unknown"] * len(goals)]
        reply = self.reflect(
            question=briefing.question,
            findings=[f"{goal}: {finding}" for goal, finding in zip(goals, known, strict=False)],
            topics=briefing.shown,
            followed=[line for agent in agents for line in agent.following],
            paths=[agent.offer(path, edges) for agent, path, edges in aside],
        )
        self.wrote(trace, self.reflect, reply)
        for number in existing("path", reply.revisit, len(aside), trace):
            agent, path, _ = aside[number - 1]
            agent.resume(path)
            trace.add(Checked("reflection", False, f"goes back to {agent.label(path)}"))


def _kept(agents: Sequence[Retriever]) -> int:
    return sum(len(agent.facts) for agent in agents)


def _told(sufficient: bool, agents: Sequence[Retriever], hop: int, trace: Trace) -> bool:
    """The verdict, as the trace is told; nothing is never enough."""
    passed = sufficient and _kept(agents) > 0
    trace.add(Checked("sufficiency", passed, f"{_kept(agents)} facts kept after hop {hop}"))
    return passed


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise UserError(f"schema_relations: {pattern!r} is no regular expression: {error}") from error


_VALUES_SHOWN = 8  # of a fact that is to be judged, where nothing follows from them


def relevant_facts(
    facts: Sequence[Fact], relevant: Sequence[Fact], shown: Sequence[Fact], ways: Set[PathKey]
) -> list[Fact]:
    """The facts that were found relevant; of those that did not fit in or lead on, the ones on these ways."""
    named, offered = set(map(id, relevant)), set(map(id, shown))
    leads = ways - {fact.path for fact in relevant}
    return [f for f in facts if id(f) in named or f.path in leads or (id(f) not in offered and f.path in ways)]


def shortened(facts: Sequence[Fact]) -> list[Fact]:
    """Facts with some of their values, those first that others of the facts are about."""
    anchors = {fact.anchor for fact in facts}
    short = []
    for fact in facts:
        about = [value for value in fact.values if value in anchors]
        others = [value for value in fact.values if value not in anchors]
        values = (*about, *others[: max(0, _VALUES_SHOWN - len(about))])
        short.append(replace(fact, values=values))
    return short
