"""AnchorRAG: a predictor finds anchors, agents explore from them at the same time, a supervisor judges and answers.

Source: "Towards Open-World Retrieval-Augmented Generation on Knowledge Graph: A Multi-Agent
Collaboration Framework" (arXiv 2509.01238). `predict` is section 3.3, the agents (`agent.py`) section 3.4,
`supervise` section 3.5.

By default an agent makes at most one call for all its paths, and the supervisor filters the triples of all agents in
the call that judges them; the preset `paper` has a call for each. Other helps that the paper does not have are in
`programs.assists`, by the names in the table there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Any, ClassVar

from triplecheck.kg import Graph, TriplecheckError
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.lms import BudgetExceededError, RolePredict
from triplecheck.programs.anchorrag.agent import Briefing, CallPerAgent, CallPerItem, Retriever
from triplecheck.programs.anchorrag.options import PAPER, AnchorRAGOptions, compiled
from triplecheck.programs.anchorrag.predictor import Anchor, choose_anchors
from triplecheck.programs.assists.anchorrag import unjudged_facts
from triplecheck.programs.assists.doubts import answering_step
from triplecheck.programs.assists.plans import planned
from triplecheck.programs.assists.time_conditions import holding_at
from triplecheck.programs.base import AnySources, check_positive
from triplecheck.programs.closed_book import RecallingProgram
from triplecheck.programs.conclude import AnsweringProgram, Reading, answer_from_facts
from triplecheck.programs.concurrently import concurrently
from triplecheck.programs.expansion import valid_numbers
from triplecheck.programs.options import ProgramOptions
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.room import estimated_tokens, within_tokens
from triplecheck.programs.steps import Checked, Stopped, Trace
from triplecheck.programs.subgraph import Fact, Path, RelationNames, Subgraph, names_of_facts
from triplecheck.programs.topics import TopicLinker
from triplecheck.signatures import (
    ExtractKeywords,
    FilterTriples,
    JudgeAndGoOn,
    JudgeSufficiency,
    ScoreEntities,
    ScoreRelations,
)

Owned = tuple[Retriever, Path, int]
"""An agent, a path that it may follow, and the number of edges there."""

_VALUES_SHOWN = 8  # of a fact in a prompt that filters, in addition to those that other facts are about


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


class AnchorRAG(AnsweringProgram, RecallingProgram):
    """Open-world RAG by several agents.

    Its options are `AnchorRAGOptions`, its presets `default` and `paper` (`PAPER`).

    By default anchors are ranked by name first, and by Eq. 2 among names that fit about equally well (the assist
    `names_first`); without it Eq. 2 ranks all candidates, and names break ties.

    Raises:
        UserError: a bad regular expression, or a number below 1.
    """

    name: ClassVar[str] = "anchorrag"
    Options: ClassVar[type[ProgramOptions]] = AnchorRAGOptions
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": PAPER}
    options: AnchorRAGOptions

    def __init__(self, sources: AnySources, **options: Any) -> None:
        super().__init__(sources, **options)
        how = self.options
        check_positive(top_k=how.top_k, agents=how.agents, depth=how.depth, width=how.width, entities=how.entities)
        self._schema = compiled(how.schema_relations)
        self.extract_keywords = RolePredict(ExtractKeywords, role="extract")
        self.score_relations = RolePredict(ScoreRelations, role="prune")
        self._judges_kept = how.per_relation_calls or "unjudged_facts" not in self.assists
        if self._judges_kept:
            self.judge = RolePredict(JudgeSufficiency, role="judge")
        if how.per_relation_calls:
            self.score_entities = RolePredict(ScoreEntities, role="prune")
            if how.filter_triples:
                self.filter_facts = RolePredict(FilterTriples, role="prune")
        elif how.depth > 1:
            self.judge_and_go_on = RolePredict(JudgeAndGoOn, role="judge")
        self.answer_from_facts = answering_step(self.assists, self.sources.language)

    def run(self, question: str, trace: Trace) -> Outcome:
        """Predictor, retriever agents, supervisor."""
        anchors, briefing = self.predict(question, trace)
        search = partial(self._retrieve, question, anchors, briefing, trace)
        tokens = self.options.limits.tokens
        return planned(self, self.write_query, briefing.read, briefing.anchors, tokens, trace, search)

    def _retrieve(self, question: str, anchors: list[Anchor], briefing: Briefing, trace: Trace) -> Outcome:
        if not anchors:
            return self.recall_instead(question, "no_topic", "no entity of the graph was recognised", trace)
        kind: type[Retriever] = CallPerItem if self.options.per_relation_calls else CallPerAgent
        agents = [kind(self.graph, anchor, briefing, self.options, self) for anchor in anchors]
        outcome = self.supervise(briefing, agents, trace)
        return replace(outcome, retrieved=frozenset(node for agent in agents for node in agent.seen))

    @property
    def _union(self) -> bool:
        """Whether all candidates of a keyword are ranked by Eq. 2, however they were found."""
        return "names_first" not in self.assists

    def prepare(self, progress: ProgressCallback = no_progress) -> None:
        """Encode the names of the graph, if candidates are found by meaning."""
        if self._union:
            self.sources.dense_linker(progress)

    # --- predictor (section 3.3) -----------------------------------------------------------------
    def predict(self, question: str, trace: Trace) -> tuple[list[Anchor], Briefing]:
        """Candidate entity generation in one call, then relation-aware entity grounding (Eq. 1 and 2)."""
        how, assists, sources = self.options, self.assists, self.sources
        scoring: dict[str, Any] = {"grounding": how.grounding, "top_k": how.top_k, "union": self._union}
        found_by = sources.dense_linker() if self._union else sources.linker
        linker = TopicLinker(self.graph, found_by, question, sources.language, assists, trace, **scoring)
        reply = self.ask(trace, self.extract_keywords, question=question, known_names=linker.known_names())
        corrected = " ".join(reply.proofread.split()) or question
        anchors = choose_anchors(assists, self.graph, linker, reply.keywords, corrected, how.agents, trace)
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
            assists,
            read,
            holding_at(assists, self.graph, read),
        )

    # --- supervisor (section 3.5) ----------------------------------------------------------------
    def supervise(self, briefing: Briefing, agents: list[Retriever], trace: Trace) -> Outcome:
        """Let the agents explore until what they kept suffices; otherwise answer from the model's own knowledge."""
        answer = partial(self._answer, briefing, agents, trace)
        facts_read = 0
        for hop in range(1, self.options.depth + 1):
            explored = Explored(briefing, agents, self._explore(agents, hop, trace), hop, trace)
            if self.suffices(explored):
                outcome, facts_read = answer(), _kept(agents)
                if outcome.abstained is None:
                    return outcome
            if not any(agent.active for agent in agents):
                break
        if (found := unjudged_facts(self.assists, _kept(agents), facts_read, answer, trace)) is not None:
            return found
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

    def suffices(self, at: Explored) -> bool:
        """Have the agents keep the relevant new facts; whether all kept facts suffice to answer.

        By default one call filters, judges and says where to go on. After the last hop one judges, or the answer
        decides (assist `unjudged_facts`).
        """
        is_new = any(facts for _, facts in at.found)
        if is_new and at.hop < self.options.depth and not self.options.per_relation_calls:
            return self.judge_and_direct(at)
        for agent, facts in at.found:
            agent.keep(facts, at.hop, at.trace)
        return is_new and self._judges_kept and self.judge_kept(at)

    def judge_kept(self, at: Explored) -> bool:
        """One call: whether all facts that the agents kept suffice to answer."""
        briefing = at.briefing
        facts = [agent.facts.facts for agent in at.agents]
        _, lines = fact_lines(self.graph, briefing, facts, self.options.limits.judge_tokens, at.trace)
        verdict = self.ask(at.trace, self.judge, question=briefing.question, topics=briefing.shown, facts=lines)
        return _verdict(verdict.sufficient, at)

    def judge_and_direct(self, at: Explored) -> bool:
        """One call for all agents: which facts are relevant, whether they suffice, which paths to follow if not."""
        briefing, found, hop, trace = at.briefing, at.found, at.hop, at.trace
        limits, new = self.options.limits, dict(found)
        groups = [[*agent.facts.facts, *new.get(agent, ())] for agent in at.agents]
        shown, lines = fact_lines(self.graph, briefing, groups, limits.judge_tokens, trace)
        offers = {agent: agent.ahead(facts, trace) for agent, facts in found}
        owned = [(agent, *offer) for agent, ahead in offers.items() for offer in ahead]
        paths = nearest_paths(briefing, owned, limits.path_tokens, trace)
        reply = self.ask(
            trace,
            self.judge_and_go_on,
            question=briefing.question,
            topics=briefing.shown,
            facts=lines,
            paths=[agent.offer(path, edges) for agent, path, edges in paths],
            most=self.options.width * max(1, len({(path.topic, path.hops[:-1]) for _, path, _ in paths})),
        )
        relevant = {id(shown[n - 1]) for n in valid_numbers("fact", reply.relevant, len(lines), trace)}
        follow = [paths[n - 1] for n in valid_numbers("path", reply.follow, len(paths), trace)]
        for agent, facts in found:
            kept = [fact for fact in facts if id(fact) in relevant] if self.options.filter_triples else facts
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
        groups = [agent.facts.facts for agent in agents]
        facts, lines = fact_lines(self.graph, briefing, groups, self.options.limits.tokens, trace, whole=True)
        names = names_of_facts(self.graph, kept.facts, briefing.anchors)
        reading = Reading(briefing.question, briefing.anchors, briefing.shown, kept, facts, lines, names)
        return answer_from_facts(self, self.answer_from_facts, reading, trace)


def _kept(agents: Sequence[Retriever]) -> int:
    return sum(len(agent.facts) for agent in agents)


def _verdict(sufficient: bool, at: Explored) -> bool:
    """Note the verdict in the trace. No facts are never sufficient."""
    kept = _kept(at.agents)
    passed = sufficient and kept > 0
    at.trace.add(Checked("sufficiency", passed, f"{kept} facts kept after hop {at.hop}"))
    return passed


# --- prompts ------------------------------------------------------------------------------------
def fact_lines(
    graph: Graph,
    briefing: Briefing,
    groups: Sequence[Sequence[Fact]],
    tokens: int,
    trace: Trace,
    *,
    whole: bool = False,
) -> tuple[list[Fact], list[str]]:
    """The facts that a prompt shows and their lines.

    Args:
        groups: the facts of each agent; each agent has an equal share of the prompt.
        whole: show all values of a fact; else some (`shortened`).
    """
    groups = [group for group in groups if group]
    all_facts = [fact for group in groups for fact in group]
    names = names_of_facts(graph, all_facts, briefing.anchors)
    facts: list[Fact] = []
    lines: list[str] = []
    offers = [group if whole else shortened(group) for group in groups]
    kept, total = (sum(len(fact.values) for group in some for fact in group) for some in (offers, groups))
    trace.note_cut("values offered to a prompt", kept, total)
    for group, offered in zip(groups, offers, strict=True):
        shown, written = within_tokens(graph, offered, names, briefing.relations, tokens // len(groups), trace)
        full = {id(short): fact for short, fact in zip(offered, group, strict=True)}
        facts += [full[id(short)] for short in shown]
        lines += written
    return facts, lines


def nearest_paths(briefing: Briefing, paths: Sequence[Owned], tokens: int, trace: Trace) -> list[Owned]:
    """The paths that a prompt has room for: those whose last relation is most similar to the question."""
    order = list(range(len(paths)))
    if briefing.likeness is not None:
        likeness = briefing.likeness
        order.sort(key=lambda i: -float(likeness[paths[i][1].hops[-1].relation]))
    used = list(accumulate(estimated_tokens(paths[i][0].offer(*paths[i][1:])) for i in order))
    shown = max(1, bisect_right(used, tokens))
    trace.note_cut("paths in the prompt", shown, len(paths))
    return [paths[i] for i in sorted(order[:shown])]


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
