"""PoG: exploration with a plan, a memory, and a way back.

Source: "Plan-on-Graph: Self-Correcting Adaptive Planning of Large Language Model on Knowledge Graphs"
(arXiv 2410.23875), in the open-world setting of AnchorRAG (arXiv 2509.01238, section 4.3): the model
itself names the topic entities. How many relations and entities are followed is the model's choice at
each step (adaptive breadth); `width` and `frontier` only bound it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from triplecheck.lms import RolePredict
from triplecheck.programs.base import AnySources, check_positive
from triplecheck.programs.baselines.exploring import (
    Exploration,
    ExploringOptions,
    ExploringProgram,
    Extension,
    Route,
    ranked_by_likeness,
)
from triplecheck.programs.expansion import valid_numbers
from triplecheck.programs.options import ProgramOptions
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.steps import Checked, Stopped, Truncated
from triplecheck.programs.subgraph import Path
from triplecheck.signatures import NameSubGoals, Reflect, UpdateMemory

_SET_ASIDE_SHOWN = 20
_UNKNOWN = "unknown"


@dataclass
class Memory:
    """PoG's memory of a question, in addition to the facts.

    Attributes:
        goals: what to find out, in order.
        findings: what is known of each.
        aside: relations that were offered and not followed, to go back to.
    """

    goals: list[str]
    findings: list[str] = field(default_factory=list)
    aside: list[Extension] = field(default_factory=list)

    def status(self) -> list[str]:
        """Each goal, with what is known of it."""
        return [f"{goal}: {finding}" for goal, finding in zip(self.goals, self.findings, strict=True)]


@dataclass(frozen=True)
class PoGOptions(ExploringOptions):
    """Options of `PoG`.

    Attributes:
        depth: rounds of exploration at most.
        width: relations per entity, and entities per relation, at most.
        frontier: entities explored in one round at most, the best first.
        reflection: go back to what was set aside if a goal is not met (self-correction).
        limits: how much to look at.
    """

    depth: int = 4
    width: int = 5
    frontier: int = 6
    reflection: bool = True


class PoG(ExploringProgram):
    """Plan-on-Graph.

    Raises:
        UserError: a number below 1.
    """

    name: ClassVar[str] = "pog"
    Options: ClassVar[type[ProgramOptions]] = PoGOptions
    options: PoGOptions

    def __init__(self, sources: AnySources, **options: Any) -> None:
        super().__init__(sources, **options)
        check_positive(frontier=self.options.frontier)
        self.name_sub_goals = RolePredict(NameSubGoals, role="extract")
        self.update_memory = RolePredict(UpdateMemory, role="judge")
        if self.options.reflection and self.options.depth > 1:
            self.reflect = RolePredict(Reflect, role="judge")

    def search(self, at: Exploration) -> Outcome:
        """Task decomposition, then rounds of exploration, memory, evaluation and reflection."""
        reply = self.ask(at.trace, self.name_sub_goals, question=at.question, topics=at.shown)
        goals = [goal for goal in reply.goals if goal.strip()] or [at.question]
        memory = Memory(goals, [_UNKNOWN] * len(goals))
        routes = [Route(Path(topic, (), np.array([topic]))) for topic in at.topics]
        resumed: list[Extension] = []
        for round_ in range(1, self.options.depth + 1):
            before = len(at.facts)
            routes = self._explore(at, memory, routes, resumed)
            if len(at.facts) > before:
                self._remember(at, memory)
                if self.suffices(at) and (outcome := self.answer(at)).abstained is None:
                    return outcome
            resumed = (
                self._look_back(at, memory, routes) if self.options.reflection and round_ < self.options.depth else []
            )
            if not routes and not resumed:
                at.trace.add(Stopped("no_facts", f"nothing to follow after round {round_}"))
                break
        if at.facts.facts and (outcome := self.answer(at)).abstained is None:
            return outcome
        return self.recall_instead(at.question, "insufficient", "what was explored does not answer it", at.trace)

    def _explore(self, at: Exploration, memory: Memory, routes: list[Route], resumed: list[Extension]) -> list[Route]:
        """Explore one hop from each route and along the resumed relations; the routes to continue from."""
        if len(routes) > self.options.frontier:
            at.trace.add(Truncated("entities explored", self.options.frontier, len(routes)))
            routes = sorted(routes, key=lambda route: -route.score)[: self.options.frontier]
        steps = list(resumed)
        for route in routes:
            chosen, aside = self.relations(at, route, self.options.width)
            steps += chosen
            memory.aside += aside
        reached = [pair for step in steps for pair in self.entities(at, step, self.options.width)]
        self.keep(at, reached)
        return [route for route, _ in reached if self.graph.literal(route.end) is None]

    def _remember(self, at: Exploration, memory: Memory) -> None:
        """Write down what the facts say about each goal; earlier findings stay if there is nothing new."""
        _, _, lines = self.lines(at)
        reply = self.ask(at.trace, self.update_memory, question=at.question, goals=memory.goals, facts=lines)
        found = [*reply.findings, *[_UNKNOWN] * len(memory.goals)][: len(memory.goals)]
        memory.findings = [
            new if new.strip().casefold() not in ("", _UNKNOWN) else old
            for new, old in zip(found, memory.findings, strict=True)
        ]

    def _look_back(self, at: Exploration, memory: Memory, routes: list[Route]) -> list[Extension]:
        """Reflection: the relations set aside that should now be followed."""
        aside = ranked_by_likeness(at, memory.aside)
        if not aside:
            return []
        at.trace.note_cut("paths set aside", _SET_ASIDE_SHOWN, len(aside))
        aside = aside[:_SET_ASIDE_SHOWN]
        reply = self.ask(
            at.trace,
            self.reflect,
            question=at.question,
            findings=memory.status(),
            topics=at.shown,
            followed=list(dict.fromkeys(at.label(route.path) for route in routes)),
            paths=[self.offer(at, step) for step in aside],
        )
        back = [aside[n - 1] for n in valid_numbers("path", reply.revisit, len(aside), at.trace)][: self.options.width]
        for step in back:
            memory.aside.remove(step)
            at.trace.add(Checked("reflection", False, f"goes back to {at.label(step.path)}"))
        return back
