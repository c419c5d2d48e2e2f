"""Verification of a question's steps: against its known answer, and against the graph alone.

Source: KERAG (arXiv 2509.04716), its third mechanism: only steps of verified answers are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import dspy

from triplecheck.evals.gold import comparable
from triplecheck.evals.questions import Question
from triplecheck.kg import Graph, Words
from triplecheck.optimize.traces.recorder import StepRecord
from triplecheck.programs.aggregation import EXTREMES
from triplecheck.programs.outcome import evidence_edges
from triplecheck.programs.steps import Checked, Computed, Consulted
from triplecheck.signatures.notation import WrittenFact, split_edge, split_note

Rejection = Literal[
    "no_gold",  # the answer is unknown
    "no_path",  # no gold path is known (pass `gold`)
    "error",  # the question ended in an error
    "unreadable",  # a reply could not be parsed
    "cut",  # a reply ended at its length limit
    "abstained",  # although there is an answer
    "ungrounded",  # the answer is in no retrieved fact
    "wrong",  # no answer is correct
    "incomplete",  # some answers are missing or wrong
    "nothing_cited",
    "cited_not_in_graph",
    # For a cited triple, neither were both ends retrieved, nor does a kept passage name both, nor did a query give it.
    "cited_not_retrieved",
    "not_proved",  # the verdict on the answer is lower
    "disagreed",  # too few samples prove this answer
]
"""Why the steps of a question are rejected."""


def rejection(
    graph: Graph,
    question: Question,
    row: Mapping[str, Any],
    prediction: dspy.Prediction | None,
    calls: Sequence[StepRecord],
) -> Rejection | None:
    """Why a question's steps are rejected; None: the answer is correct, complete and supported by retrieved evidence.

    For a question without an answer, abstaining is correct and needs no evidence.
    """
    broken = _broken(row, prediction)
    if broken is not None or prediction is None:
        return broken
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


def unproved(
    graph: Graph, row: Mapping[str, Any], prediction: dspy.Prediction | None, calls: Sequence[StepRecord]
) -> Rejection | None:
    """Why a question's steps are rejected without its known answer; None: the graph supports the answer."""
    broken = _broken(row, prediction)
    if broken is not None or prediction is None:
        return broken
    if any(call.cut for call in calls):
        return "cut"
    if row["status"] == "abstained":
        return "abstained"
    return _citations(graph, prediction) if prediction.grounded else "ungrounded"


def corrected(prediction: dspy.Prediction | None) -> bool:
    """Whether the reply with the answer is unfit for training: the program corrected it, or it is right by chance.

    The program computed another answer than was written, could not compute the operation, or found a part of the answer
    in no fact. The largest or smallest of a single value is right by chance only.
    """
    steps = () if prediction is None else prediction.steps
    checks = [step for step in steps if isinstance(step, Checked) and not step.passed]
    alone = any(isinstance(step, Computed) and step.operation in EXTREMES and step.inputs == 1 for step in steps)
    return alone or any(check.what == "answer" or check.what.startswith("operation ") for check in checks)


def as_in_facts(answers: Iterable[str], cited: Sequence[WrittenFact], facts: Sequence[WrittenFact]) -> list[str]:
    """Answers by the names that facts give them; others as they are.

    They are looked up as the program does (`programs.matching`): in the cited facts first, values before anchors, with
    the note that tells namesakes apart or without it.
    """
    written = [split_edge(answer.strip())[0] for answer in answers]
    if set(written) <= set(_names(cited)):
        return written
    namesakes = Counter(split_note(name)[0] for name in set(_names(facts)))
    found: dict[str, str] = {}
    for names in (_names(cited), _names(facts)):
        plain = ((split_note(name)[0], name) for name in names)
        for text, name in [*zip(names, names, strict=True), *(one for one in plain if namesakes[one[0]] > 1)]:
            found.setdefault(comparable(text), name)
    return [found.get(comparable(text), text) for text in written]


def _names(facts: Sequence[WrittenFact]) -> list[str]:
    return [*(value for fact in facts for value in fact.values), *(fact.anchor for fact in facts)]


def _broken(row: Mapping[str, Any], prediction: dspy.Prediction | None) -> Rejection | None:
    if row["status"] == "error" or prediction is None:
        return "error"
    return "unreadable" if row["status"] == "parse_error" else None


def _citations(graph: Graph, prediction: dspy.Prediction) -> Rejection | None:
    edges = evidence_edges(graph, prediction.evidence)
    if not edges:
        return "nothing_cited"
    known = [edge for edge in edges if edge is not None]
    if len(known) < len(edges):
        return "cited_not_in_graph"
    if prediction.get("query"):
        return None  # the query was run, and these are the triples that satisfy it
    retrieved = frozenset(map(int, getattr(prediction, "retrieved", None) or ()))
    read = [Words(step.text) for step in prediction.steps if isinstance(step, Consulted) and step.verdict == "kept"]
    found = all({head, tail} <= retrieved or _named(graph, (head, tail), read) for head, _, tail in known)
    return None if found else "cited_not_retrieved"


def _named(graph: Graph, ends: Sequence[int], passages: Sequence[Words]) -> bool:
    """Whether a passage names both ends of an edge."""
    labels = graph.labels(list(ends))
    return any(all(label in passage for label in labels) for passage in passages)
