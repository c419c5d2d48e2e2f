"""Naming what a question is about: the names are linked, and must be the gold topics."""

from __future__ import annotations

from triplecheck.optimize.metrics.case import Case
from triplecheck.optimize.metrics.scored import Scored, StepCall, StepMetric, listed

_MEANT = 3
"""Nodes that one name may mean."""


def names_topics(output: str) -> StepMetric:
    """F1 of the names in a field against the gold topics, by what the linker makes of them."""

    def score(call: StepCall, case: Case) -> Scored | None:
        if not case.gold.topics:
            return None
        names = list(dict.fromkeys(str(name) for name in call.outputs.get(output) or () if str(name).strip()))
        meant = {name: [c.node for c in case.sources.linker.candidates(name, None, _MEANT)] for name in names}
        missing = [topic for topic in case.gold.topics if not any(topic & set(nodes) for nodes in meant.values())]
        needless = [name for name, nodes in meant.items() if not case.topics & set(nodes)]
        right = len(case.gold.topics) - len(missing)
        f1 = 2 * right / (right + len(needless) + len(case.gold.topics))
        unlinked = [f"{name!r}" for name in needless if not meant[name]]
        wrong = [f"{name!r} (linked to {case.graph.label(meant[name][0])})" for name in needless if meant[name]]
        return Scored(
            f1,
            listed("The question is about these, and they were not named", [_labels(case, topic) for topic in missing])
            + listed("Named, but not what the question starts from", wrong)
            + listed("Named, but nothing in the graph is called so", unlinked)
            or "The topics were named rightly. ",
        )

    return score


def _labels(case: Case, topic: frozenset[int]) -> str:
    return case.graph.label(min(topic)) if topic else "a topic that is not in the graph"
