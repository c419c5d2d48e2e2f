"""AnchorRAG: a predictor finds anchors, agents explore from them at the same time, a supervisor judges and answers.

Source: "Towards Open-World Retrieval-Augmented Generation on Knowledge Graph: A Multi-Agent
Collaboration Framework" (arXiv 2509.01238). `predict` is section 3.3, the agents (`agent.py`) section 3.4,
`supervise` section 3.5.

The defaults differ from the paper in four ways; the preset `paper` undoes each:
- Anchors are ranked by how well their names fit, and by their relations (Eq. 2) only among names that fit about
  equally well (`anchor_ranking`).
- An agent makes at most one call for all its paths, and the supervisor filters the triples of all agents in the call
  that judges them (`per_relation_calls`).
- An agent makes no call if the relation vectors clearly prefer some paths (`prefilter`).
- The supervisor also tries to answer from facts that it did not judge to be sufficient (`only_sufficient`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import Any, ClassVar

from triplecheck.kg import TriplecheckError, UserError
from triplecheck.lms import BudgetExceededError, RolePredict
from triplecheck.programs.anchorrag.agent import Briefing, Retriever
from triplecheck.programs.anchorrag.calls import CallPerAgent, CallPerItem, Calls, Explored
from triplecheck.programs.anchorrag.options import PAPER, AnchorRAGOptions
from triplecheck.programs.anchorrag.predictor import (
    Anchor,
    by_names,
    by_relations,
    choose_anchors,
    proofread_question,
)
from triplecheck.programs.assists.doubts import answering_step
from triplecheck.programs.assists.typed_names import names_of_facts
from triplecheck.programs.base import AnySources, check_positive
from triplecheck.programs.closed_book import RecallingProgram
from triplecheck.programs.conclude import AnsweringProgram, answer_from_facts
from triplecheck.programs.conclusion import Reading
from triplecheck.programs.concurrently import concurrently
from triplecheck.programs.expansion import valid_numbers
from triplecheck.programs.options import ProgramOptions
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.room import estimated_tokens, within_tokens
from triplecheck.programs.steps import Checked, Stopped, Trace, Truncated
from triplecheck.programs.subgraph import Fact, Path, PathKey, RelationNames, Subgraph
from triplecheck.programs.topics import TopicLinker
from triplecheck.signatures import (
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

_VALUES_SHOWN = 8  # of a fact in a prompt that filters, in addition to those that other facts are about


class AnchorRAG(AnsweringProgram, RecallingProgram):
    """Open-world RAG by several agents.

    By default anchors are ranked by name first and by relations only among names that fit about equally well;
    `anchor_ranking="relations"` ranks by Eq. 2 alone.

    Args:
        sources: a knowledge base, its directory, `bundled`, or `Sources`.
        preset: `default`, or `paper` (`PAPER`).
        options: fields of `AnchorRAGOptions`.

    Raises:
        UserError: a bad regular expression, a number below 1, or a ranking by relations without grounding.
    """

    name: ClassVar[str] = "anchorrag"
    Options: ClassVar[type[ProgramOptions]] = AnchorRAGOptions
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": PAPER}
    renamed: ClassVar[Mapping[str, str]] = {
        "limits.ahead": "limits.path_tokens",
        "limits.judged": "limits.judge_tokens",
        "limits.read": "limits.tokens",
    }
    options: AnchorRAGOptions

    def __init__(self, sources: AnySources, **options: Any) -> None:
        super().__init__(sources, **options)
        how = self.options
        check_positive(top_k=how.top_k, agents=how.agents, depth=how.depth, width=how.width, entities=how.entities)
        if how.anchor_ranking == "relations" and not how.grounding:
            raise UserError("anchor_ranking='relations' ranks by grounding; leave grounding on")
        self._calls: Calls = CallPerItem() if how.per_relation_calls else CallPerAgent()
        self._schema = [_compiled(pattern) for pattern in how.schema_relations]
        self.extract_keywords = RolePredict(ExtractKeywords, role="extract")
        self.score_relations = RolePredict(ScoreRelations, role="prune")
        if how.per_relation_calls:
            self.score_entities = RolePredict(ScoreEntities, role="prune")
            self.judge = RolePredict(JudgeSufficiency, role="judge")
            if how.filter_triples:
                self.filter_facts = RolePredict(FilterTriples, role="prune")
        elif how.depth > 1:
            self.judge_and_go_on = RolePredict(JudgeAndGoOn, role="judge")
        self._backtracks = how.backtracking and how.depth > 1
        if self._backtracks:
            self.name_sub_goals = RolePredict(NameSubGoals, role="extract")
            self.update_memory = RolePredict(UpdateMemory, role="judge")
            self.reflect = RolePredict(Reflect, role="judge")
        self.answer_from_facts = answering_step(self.assists, self.sources.language)

    def run(self, question: str, trace: Trace) -> Outcome:
        """Predictor, retriever agents, supervisor."""
        anchors, briefing = self.predict(question, trace)
        if not anchors:
            return self.recall_instead(question, "no_topic", "no entity of the graph was recognised", trace)
        agents = [Retriever(self.graph, anchor, briefing, self.options, self._calls, self) for anchor in anchors]
        outcome = self.supervise(briefing, agents, trace)
        return replace(outcome, retrieved=frozenset(node for agent in agents for node in agent.seen))

    # --- predictor (section 3.3) -----------------------------------------------------------------
    def predict(self, question: str, trace: Trace) -> tuple[list[Anchor], Briefing]:
        """Candidate entity generation in one call, then relation-aware entity grounding (Eq. 1 and 2)."""
        how = self.options
        linker = TopicLinker(
            self.graph,
            self.sources.linker,
            question,
            self.sources.language,
            grounding=how.grounding,
            top_k=how.top_k,
            union=how.union,
        )
        reply = self.extract_keywords(question=question, known_names=linker.known_names())
        self.wrote(trace, self.extract_keywords, reply)
        corrected = proofread_question(question, reply.proofread, trace)
        rank, margin = (by_relations, None) if how.anchor_ranking == "relations" else (by_names, how.anchor_margin)
        anchors = choose_anchors(self.graph, linker, reply.keywords, corrected, rank, margin, how.agents, trace)
        relations = self.sources.relations
        shown = [anchor.shown for anchor in anchors]
        read = self.read(corrected, shown)
        return anchors, Briefing(
            corrected,
            {anchor.node: anchor.name for anchor in anchors},
            shown,
            RelationNames(self.graph, relations, read.bare),
            None if relations is None else relations.against(corrected),
            self._schema,
            read,
        )

    # --- supervisor (section 3.5) ----------------------------------------------------------------
    def supervise(self, briefing: Briefing, agents: list[Retriever], trace: Trace) -> Outcome:
        """Let the agents explore until what they kept suffices; otherwise answer from the model's own knowledge."""
        goals = self._goals(briefing, trace) if self._backtracks else []
        facts_read = 0
        for hop in range(1, self.options.depth + 1):
            found = self._explore(agents, hop, trace)
            if self._calls.suffices(self, Explored(briefing, agents, found, hop, trace)):
                outcome, facts_read = self._answer(briefing, agents, trace), _kept(agents)
                if outcome.abstained is None:
                    return outcome
            if self._backtracks and hop < self.options.depth:
                self._backtrack(briefing, goals, agents, trace)
            if not any(agent.active for agent in agents):
                break
        # Facts that were not judged sufficient may still hold the answer.
        if _kept(agents) > facts_read and not self.options.only_sufficient:
            outcome = self._answer(briefing, agents, trace)
            if outcome.abstained is None:
                return outcome
        return self.recall_instead(briefing.question, "insufficient", "the retrieved facts do not answer it", trace)

    def _explore(self, agents: list[Retriever], hop: int, trace: Trace) -> list[tuple[Retriever, list[Fact]]]:
        """Run all active agents at the same time; the new facts of each. One that fails is removed from `agents`."""
        active = [agent for agent in agents if agent.active]
        found = []
        error: TriplecheckError | None = None
        results = concurrently([partial(agent.explore, hop) for agent in active], trace)
        for agent, result in zip(active, results, strict=True):
            if isinstance(result, BudgetExceededError):
                raise result  # all agents share one budget
            if isinstance(result, TriplecheckError):
                agents.remove(agent)
                trace.add(Stopped("agent_failed", f"{agent.anchor.name}: {result}"))
                error = error or result
            else:
                found.append((agent, result))
        if error is not None and not agents:
            raise error
        return found

    def judge_kept(self, at: Explored) -> bool:
        """One call: whether all facts that the agents kept suffice to answer."""
        briefing = at.briefing
        _, lines = self._lines(briefing, [agent.facts.facts for agent in at.agents], at.trace)
        verdict = self.judge(question=briefing.question, topics=briefing.shown, facts=lines)
        self.wrote(at.trace, self.judge, verdict)
        return _verdict(verdict.sufficient, at)

    def judge_and_direct(self, at: Explored) -> bool:
        """One call for all agents: which facts are relevant, whether they suffice, which paths to follow if not."""
        briefing, found, hop, trace = at.briefing, at.found, at.hop, at.trace
        new = dict(found)
        groups = [[*agent.facts.facts, *new.get(agent, ())] for agent in at.agents]
        shown, lines = self._lines(briefing, groups, trace)
        offers = {agent: agent.ahead(facts, trace) for agent, facts in found}
        paths = self._nearest(briefing, [(agent, *offer) for agent, ahead in offers.items() for offer in ahead], trace)
        reply = self.judge_and_go_on(
            question=briefing.question,
            topics=briefing.shown,
            facts=lines,
            paths=[agent.offer(path, edges) for agent, path, edges in paths],
            most=self.options.width * max(1, len({(path.topic, path.hops[:-1]) for _, path, _ in paths})),
        )
        self.wrote(trace, self.judge_and_go_on, reply)
        relevant = [shown[n - 1] for n in valid_numbers("fact", reply.relevant, len(lines), trace)]
        follow = [paths[n - 1] for n in valid_numbers("path", reply.follow, len(paths), trace)]
        # A fact that leads to a path to be followed is relevant, named or not.
        ways = {(path.topic, path.hops[:-1]) for _, path, _ in follow} | {fact.path for fact in relevant}
        for agent, facts in found:
            kept = relevant_facts(facts, relevant, shown, ways) if self.options.filter_triples else facts
            agent.keep(kept, hop, trace)
        sufficient = _verdict(reply.sufficient, at)
        for agent, ahead in offers.items() if not sufficient else ():
            agent.follow([path for owner, path, _ in follow if owner is agent], ahead, hop, trace)
        return sufficient

    def _answer(self, briefing: Briefing, agents: Sequence[Retriever], trace: Trace) -> Outcome:
        """Reason over the kept facts; code checks the answer against them and computes aggregations."""
        kept = Subgraph()
        for agent in agents:
            kept.cut |= agent.facts.cut
            for fact in agent.facts.facts:
                kept.add(fact)
        facts, lines = self._lines(briefing, [agent.facts.facts for agent in agents], trace, reading=True)
        names = self._names(briefing, kept.facts)
        reading = Reading(briefing.question, briefing.anchors, briefing.shown, kept, facts, lines, names)
        return answer_from_facts(self, self.answer_from_facts, reading, trace)

    # --- prompts -------------------------------------------------------------------------------
    def _names(self, briefing: Briefing, facts: Sequence[Fact]) -> dict[int, str]:
        return names_of_facts(self.assists, self.graph, facts, briefing.anchors, briefing.read)

    def _lines(
        self, briefing: Briefing, groups: Sequence[Sequence[Fact]], trace: Trace, *, reading: bool = False
    ) -> tuple[list[Fact], list[str]]:
        """The facts that the prompt shows and their lines; each agent has an equal share of the prompt."""
        groups = [group for group in groups if group]
        limits = self.options.limits
        tokens = (limits.tokens if reading else limits.judge_tokens) // max(1, len(groups))
        names = self._names(briefing, [fact for group in groups for fact in group])
        facts: list[Fact] = []
        lines: list[str] = []
        for group in groups:
            offered = group if reading else shortened(group)
            shown, written = within_tokens(self.graph, offered, names, briefing.relations, tokens, trace)
            whole = {id(short): fact for short, fact in zip(offered, group, strict=True)}
            facts += [whole[id(short)] for short in shown]
            lines += written
        return facts, lines

    def _nearest(self, briefing: Briefing, paths: Sequence[Owned], trace: Trace) -> list[Owned]:
        """The paths that a prompt has room for: those whose last relation is most similar to the question."""
        order = list(range(len(paths)))
        if briefing.likeness is not None:
            likeness = briefing.likeness
            order.sort(key=lambda i: -float(likeness[paths[i][1].hops[-1].relation]))
        used = list(accumulate(estimated_tokens(paths[i][0].offer(*paths[i][1:])) for i in order))
        shown = max(1, bisect_right(used, self.options.limits.path_tokens))
        if shown < len(paths):
            trace.add(Truncated("paths in the prompt", shown, len(paths)))
        return [paths[i] for i in sorted(order[:shown])]

    # --- backtracking --------------------------------------------------------------------------
    def _goals(self, briefing: Briefing, trace: Trace) -> list[str]:
        reply = self.name_sub_goals(question=briefing.question, topics=briefing.shown)
        self.wrote(trace, self.name_sub_goals, reply)
        return list(reply.goals) or [briefing.question]

    def _backtrack(self, briefing: Briefing, goals: Sequence[str], agents: Sequence[Retriever], trace: Trace) -> None:
        """Write down what is known of each goal, and resume paths that may lead to what is missing."""
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
        for number in valid_numbers("path", reply.revisit, len(aside), trace):
            agent, path, _ = aside[number - 1]
            agent.resume(path)
            trace.add(Checked("reflection", False, f"goes back to {agent.label(path)}"))


def _kept(agents: Sequence[Retriever]) -> int:
    return sum(len(agent.facts) for agent in agents)


def _verdict(sufficient: bool, at: Explored) -> bool:
    """Note the verdict in the trace. No facts are never sufficient."""
    kept = _kept(at.agents)
    passed = sufficient and kept > 0
    at.trace.add(Checked("sufficiency", passed, f"{kept} facts kept after hop {at.hop}"))
    return passed


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise UserError(f"schema_relations: {pattern!r} is not a regular expression: {error}") from error


def relevant_facts(
    facts: Sequence[Fact], relevant: Sequence[Fact], shown: Sequence[Fact], ways: Set[PathKey]
) -> list[Fact]:
    """The facts judged relevant, and those on the paths `ways` that were not shown or that lead on to others."""
    named, offered = set(map(id, relevant)), set(map(id, shown))
    leads = ways - {fact.path for fact in relevant}
    return [f for f in facts if id(f) in named or f.path in leads or (id(f) not in offered and f.path in ways)]


def shortened(facts: Sequence[Fact]) -> list[Fact]:
    """Facts with some of their values; values that other facts are about come first."""
    anchors = {fact.anchor for fact in facts}
    short = []
    for fact in facts:
        about = [value for value in fact.values if value in anchors]
        others = [value for value in fact.values if value not in anchors]
        values = (*about, *others[: max(0, _VALUES_SHOWN - len(about))])
        short.append(replace(fact, values=values))
    return short
