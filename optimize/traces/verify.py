"""Which questions a program answered so well that its steps may be learnt from (KERAG's strict verification)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeGuard

import dspy

from triplecheck.evals.questions import Question
from triplecheck.kg import Graph, normalize
from triplecheck.optimize.traces.recording import Call
from triplecheck.programs.outcome import evidence_edges
from triplecheck.programs.steps import Consulted, Step

Rejection = Literal[
    "no_gold",
    "no_path",
    "error",
    "unreadable",
    "cut",
    "abstained",
    "wrong",
    "incomplete",
    "nothing_cited",
    "cited_not_in_graph",
    "cited_not_retrieved",
]
"""Why the steps of a question are not kept:

`no_gold` its answer is not known; `no_path` no paths are known that lead to it (pass `gold`); `error` it
ended in one; `unreadable` a reply could not be read; `cut` a reply ended at its length limit; `abstained`
though there is an answer; `wrong`; `incomplete`: right, but not all answers or others beside them;
`nothing_cited`; `cited_not_in_graph`; `cited_not_retrieved`: neither are the ends of a cited triple among
the nodes that were retrieved, nor does a passage that was kept name both.
"""


def rejection(
    graph: Graph,
    question: Question,
    row: Mapping[str, Any],
    prediction: dspy.Prediction | None,
    calls: Sequence[Call],
) -> Rejection | None:
    """Why a question's steps are not kept; None: the answer is right, proved by what was retrieved, and whole.

    To abstain is right where there is no answer, and needs no proof.

    Args:
        graph: what citations are checked against.
        question: with its answers.
        row: of its evaluation (`evals.rows`).
        prediction: what the program returned.
        calls: the steps of the question.
    """
    if row["status"] == "error" or prediction is None:
        return "error"
    if row["status"] == "parse_error":
        return "unreadable"
    if not question.answers_known:
        return "no_gold"
    if any(call.cut for call in calls):
        return "cut"
    if not question.answerable:
        return None if row["crag"] == "accurate" else "wrong"
    if row["status"] == "abstained":
        return "abstained"
    if row["f1"] != 1.0:
        return "incomplete" if row["hit"] else "wrong"
    return _citations(graph, prediction)


def _citations(graph: Graph, prediction: dspy.Prediction) -> Rejection | None:
    edges = evidence_edges(graph, prediction.evidence)
    if not edges:
        return "nothing_cited"
    known = [edge for edge in edges if edge is not None]
    if len(known) < len(edges):
        return "cited_not_in_graph"
    retrieved = frozenset(map(int, getattr(prediction, "retrieved", None) or ()))
    read = [f" {normalize(step.text)} " for step in prediction.steps if _was_read(step)]
    found = all({head, tail} <= retrieved or _named(graph, (head, tail), read) for head, _, tail in known)
    return None if found else "cited_not_retrieved"


def _was_read(step: Step) -> TypeGuard[Consulted]:
    return isinstance(step, Consulted) and step.verdict == "kept"


def _named(graph: Graph, ends: Sequence[int], passages: Sequence[str]) -> bool:
    """Whether one of some passages names both ends of an edge."""
    names = [f" {normalize(label)} " for label in graph.labels(list(ends))]
    return any(all(name in passage for name in names) for passage in passages)
