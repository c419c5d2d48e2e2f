"""ToG: beam search over the graph, in which the model prunes relations and entities.

Source: "Think-on-Graph: Deep and Responsible Reasoning of Large Language Model on Knowledge Graph"
(arXiv 2307.07697), section 2.1, in the open-world setting of AnchorRAG (arXiv 2509.01238, section 4.3):
the model itself names the topic entities.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from triplecheck.programs.baselines.exploring import Exploration, ExploringProgram, Route
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.steps import Scored, Stopped
from triplecheck.programs.subgraph import Fact, Path


class ToG(ExploringProgram):
    """Think-on-Graph. `width` is N: relations per entity, entities per relation, and routes in the beam."""

    name: ClassVar[str] = "tog"

    def search(self, at: Exploration) -> Outcome:
        """Exploration and reasoning in turn, hop by hop."""
        beam = [Route(Path(topic, (), np.array([topic]))) for topic in at.topics]
        at.trace.note_cut("topics", self.options.width, len(beam))
        beam = beam[: self.options.width]
        for depth in range(1, self.options.depth + 1):
            chosen = self._explore(at, beam)
            if not chosen:
                at.trace.add(Stopped("no_facts", f"nothing to follow at depth {depth}"))
                break
            self.keep(at, chosen)
            beam = [route for route, _ in chosen if self.graph.literal(route.end) is None]
            if self.suffices(at) and (outcome := self.answer(at)).abstained is None:
                return outcome
        return self.recall_instead(at.question, "insufficient", "the explored routes do not answer it", at.trace)

    def _explore(self, at: Exploration, beam: list[Route]) -> list[tuple[Route, Fact]]:
        """Relations of every entity of the beam, then entities of every relation; the N best routes of all."""
        steps = [step for route in beam for step in self.relations(at, route, self.options.width)[0]]
        reached = [pair for step in steps for pair in self.entities(at, step, self.options.width)]
        reached.sort(key=lambda pair: -pair[0].score)
        names = {fact.values[0]: self.graph.label(fact.values[0]) for _, fact in reached}
        at.trace.add(
            Scored("routes", [(f"{at.label(route.path)}: {names[route.end]}", route.score) for route, _ in reached])
        )
        at.trace.note_cut("beam", self.options.width, len(reached))
        return reached[: self.options.width]
