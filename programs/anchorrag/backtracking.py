"""Backtracking as in Plan-on-Graph (arXiv 2410.23875): sub-goals, what is known of each, and paths to go back to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from triplecheck.kg import Graph
from triplecheck.lms import RolePredict
from triplecheck.programs.anchorrag.agent import Briefing, Retriever
from triplecheck.programs.anchorrag.options import AnchorRAGLimits
from triplecheck.programs.anchorrag.prompts import fact_lines, nearest_paths
from triplecheck.programs.base import Note
from triplecheck.programs.expansion import valid_numbers
from triplecheck.programs.steps import Checked, Trace


@dataclass(frozen=True)
class Backtracking:
    """The steps of backtracking, and what notes their replies in the trace."""

    name_sub_goals: RolePredict
    update_memory: RolePredict
    reflect: RolePredict
    wrote: Note

    def goals(self, briefing: Briefing, trace: Trace) -> list[str]:
        """What to find out, in order."""
        reply = self.name_sub_goals(question=briefing.question, topics=briefing.shown)
        self.wrote(trace, self.name_sub_goals, reply)
        return list(reply.goals) or [briefing.question]

    def go_back(
        self,
        graph: Graph,
        briefing: Briefing,
        goals: Sequence[str],
        agents: Sequence[Retriever],
        limits: AnchorRAGLimits,
        trace: Trace,
    ) -> None:
        """Write down what is known of each goal, and resume paths that may lead to what is missing."""
        set_aside = [(agent, *offer) for agent in agents for offer in agent.aside.values()]
        aside = nearest_paths(briefing, set_aside, limits.path_tokens, trace)
        if not aside:
            return
        _, lines = fact_lines(graph, briefing, [agent.facts.facts for agent in agents], limits.judge_tokens, trace)
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
