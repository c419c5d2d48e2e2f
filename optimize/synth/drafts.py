"""Drafts of questions: what is asked, its wordings, and its answers, which the exact solver has found again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from triplecheck.evals.retrieval.conditions import TARGET, Row, solve
from triplecheck.kg import Direction, IntArray, KnowledgeBase
from triplecheck.optimize.traces.gold_paths import GoldPath


@dataclass(frozen=True)
class Draft:
    """A question that is not worded for good.

    Attributes:
        kind: what is asked, of `optimize.synth.shapes.KINDS`.
        wordings: ways to ask it.
        topics: nodes that it names.
        answers: nodes; empty where `computed`, or where there is no answer.
        paths: that lead to the answers, or on to the values that they are compared by.
        hops: length of the longest path.
        computed: the answer as text, where it is a number and no node.
    """

    kind: str
    wordings: tuple[str, ...]
    topics: tuple[int, ...]
    answers: tuple[int, ...]
    paths: tuple[GoldPath, ...]
    hops: int
    computed: str | None = None


def solved(kb: KnowledgeBase, paths: Sequence[GoldPath]) -> IntArray:
    """What lies at the end of all of some paths, by the exact pattern solver."""
    rows: list[Row] = []
    for number, path in enumerate(paths):
        near = kb.graph.node_id(path.topic)
        for step, hop in enumerate(path.hops, 1):
            far = f"?{TARGET}" if step == len(path.hops) else f"?p{number}_{step}"
            ends = (near, far) if hop.direction is Direction.OUT else (far, near)
            rows.append((ends[0], kb.graph.relation(hop.relation).id, ends[1]))
            near = far
    return solve(kb, rows)


def holds(kb: KnowledgeBase, paths: Sequence[GoldPath], nodes: IntArray) -> bool:
    """Whether the solver finds the same nodes at the end of all paths as were walked to."""
    return np.array_equal(np.unique(solved(kb, paths)), np.unique(nodes))
