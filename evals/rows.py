"""Rows: one per question, with the program's prediction and its scores.

A row holds the prediction (`programs.to_json`) and these fields:

- `id`, `key` (content key), `kind`, `hops`, `topic`, `gold` (the data set's answers), `answerable`;
- `status`: `ok`; `abstained`; `parse_error` (a model's replies could not be parsed; counts as a missing answer);
  `error` (a crash, a timeout, an unavailable model; not scored), with `error` as `{"kind", "message"}`, and
  `"lasting"` if another try would end in the same error;
- `hits_at_1`, `hit`, `precision`, `recall`, `f1`, `exact_match`, `token_f1`, and for reference `lenient_match`:
  null if the question is unanswerable, its answer is not published, or the row is an error;
- `ranking` (ids of the top nodes; empty if the program does not rank), `hit_at_1_ranked`, `hit_at_5`,
  `recall_at_20`, `mrr`: null if the program does not rank or no gold answer is a node;
- `crag` (accurate, hallucinated or missing; null if the answer is not published);
- `retrieval_recall`, `link_recall`, `anchor_accuracy`, `citation_precision` (`evals.metrics`), `lost` (`lost_at`);
- `popularity` of the topic, if known;
- `seconds`, and `seconds_outside_lm`, which excludes calls to language models.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

import dspy
import numpy as np

from triplecheck.evals.gold import Gold, Names, resolve_gold, resolve_predicted, spellings
from triplecheck.evals.metrics.answers import (
    Outcome,
    Predicted,
    crag_outcome,
    exact_match,
    hit,
    hits_at_1,
    lenient_match,
    set_scores,
    token_f1,
)
from triplecheck.evals.metrics.retrieval import (
    anchor_accuracy,
    citation_precision,
    hit_at_k,
    link_recall,
    recall_at_k,
    reciprocal_rank,
    retrieval_recall,
)
from triplecheck.evals.questions import Question
from triplecheck.evals.summary import NOT_RUN
from triplecheck.kg import Graph, TriplecheckError
from triplecheck.kg.redaction import redacted
from triplecheck.lms import Usage
from triplecheck.programs import Program, to_json
from triplecheck.programs.outcome import evidence_edges
from triplecheck.programs.steps import Linked, TraceEvent

UNREADABLE = "unreadable_reply"
"""Reason of a program that abstains because a model's replies could not be parsed."""

_ON_THE_WAY = ("crag", "retrieval_recall", "link_recall", "anchor_accuracy", "citation_precision", "lost")


def scored_row(
    program: Program,
    question: Question,
    prediction: dspy.Prediction,
    names: Names,
    key: str,
    seconds: float,
) -> dict[str, Any]:
    """Return the row of a question that the program finished, in so many seconds of wall time."""
    graph = program.graph
    gold = resolve_gold(question, graph, names)
    predicted = resolve_predicted(prediction, graph)
    unreadable = bool(prediction.abstained) and prediction.reason == UNREADABLE
    outcome: Outcome | None = None
    if question.answers_known:
        outcome = "missing" if unreadable else crag_outcome(predicted, gold.answers)
    linked = _linked(graph, prediction.steps)
    links = link_recall(linked, gold.topics)
    retrieved = getattr(prediction, "retrieved", None)
    recall = retrieval_recall(None if retrieved is None else frozenset(map(int, retrieved)), gold.answers)
    lost: Stage | None = None
    if outcome not in ("accurate", None):
        lost = lost_at(
            answerable=question.answerable,
            answered=bool(predicted),
            unreadable=unreadable,
            link_recall=links,
            retrieval_recall=recall,
            within_reach=lambda: _within_reach(program, gold, linked),
        )
    return (
        to_json(prediction)
        | _about(question, key)
        | {"status": "parse_error" if unreadable else "abstained" if prediction.abstained else "ok", "error": None}
        | (answer_scores(graph, prediction, predicted, gold) if gold.answers else dict.fromkeys(ON_ANSWERS))
        | ranking_scores(graph, prediction, gold)
        | {
            "crag": outcome,
            "retrieval_recall": recall,
            "link_recall": links,
            "anchor_accuracy": anchor_accuracy(linked, gold.topics),
            "citation_precision": citation_score(graph, prediction, linked),
            "lost": lost,
        }
        | _times(seconds, prediction.usage)
    )


def error_row(
    program: Program,
    question: Question,
    error: Exception,
    steps: Sequence[TraceEvent],
    usage: Usage,
    key: str,
    seconds: float,
) -> dict[str, Any]:
    """Return the row of a question that ended in an error: trace and usage up to the error, without scores."""
    nothing = {"answer": "", "answers": [], "evidence": [], "abstained": False, "reason": "", "grounded": False}
    nothing |= {"confidence": None, "verdict": "unknown", "doubts": [], "features": {}, "missing": "", "nearest": []}
    about: dict[str, Any] = {"kind": type(error).__name__, "message": redacted(str(error))}
    about |= {"lasting": True} if isinstance(error, TriplecheckError) and error.lasting else {}
    return (
        {"question": question.question, "program": program.name, **nothing, "ranking": []}
        | {"steps": [step.to_json() for step in steps], "usage": usage.to_json()}
        | _about(question, key)
        | {"status": "error", "error": about}
        | dict.fromkeys((*ON_ANSWERS, *ON_RANKING, *_ON_THE_WAY))
        | _times(seconds, usage)
    )


def not_run(question: Question) -> dict[str, Any]:
    """Return the placeholder row of an unreached question. It counts in the summary but is not stored."""
    groups = {"kind": question.kind, "hops": question.hops, "popularity": question.popularity}
    return {"id": question.id, "status": NOT_RUN} | groups


def _about(question: Question, key: str) -> dict[str, Any]:
    return {
        "id": question.id,
        "key": key,
        "kind": question.kind,
        "hops": question.hops,
        "popularity": question.popularity,
        "topic": list(question.topic),
        "gold": list(question.answers),
        "answerable": question.answerable,
    }


def _times(seconds: float, usage: Usage) -> dict[str, float]:
    """Parallel calls can add up to more than the wall time; then the time outside the models is 0."""
    seconds += usage.spared_seconds
    return {"seconds": round(seconds, 6), "seconds_outside_lm": round(max(0.0, seconds - usage.seconds), 6)}


def _linked(graph: Graph, steps: Sequence[TraceEvent]) -> frozenset[int]:
    ids = {id for step in steps if isinstance(step, Linked) for id in step.chosen}
    return frozenset(node for id in ids if (node := graph.find(id)) is not None)


def _within_reach(program: Program, gold: Gold, linked: frozenset[int]) -> bool:
    topics = frozenset[int]().union(*gold.topics) & linked or linked
    answers = frozenset[int]().union(*(one.nodes for one in gold.answers))
    return within_hops(program.graph, topics, answers, program.reach)


# Scores of the answer, the ranking and the citations. Each function returns some fields of a row, by name.

ON_ANSWERS = ("hits_at_1", "hit", "precision", "recall", "f1", "exact_match", "token_f1", "lenient_match")
ON_RANKING = ("hit_at_1_ranked", "hit_at_5", "recall_at_20", "mrr")
RANKED = 100
"""Number of ranked nodes that a row keeps; scores use the whole ranking."""


def answer_scores(
    graph: Graph, prediction: dspy.Prediction, predicted: Sequence[Predicted], gold: Gold
) -> dict[str, float]:
    """Return the scores of the answer, as nodes and as one text."""
    scores = set_scores(predicted, gold.answers)
    text = prediction.answer if predicted else ""
    return {
        "hits_at_1": hits_at_1(predicted, gold.answers),
        "hit": hit(predicted, gold.answers),
        "precision": scores.precision,
        "recall": scores.recall,
        "f1": scores.f1,
        "exact_match": exact_match(text, gold.texts),
        "token_f1": token_f1(text, gold.texts),
        "lenient_match": lenient_match(text, gold_names(graph, gold)),
    }


def gold_names(graph: Graph, gold: Gold) -> list[str]:
    """Return the names of the gold answers, without bare ids if there are names."""
    return [text for text in gold.texts if not _is_bare_id(graph, text)] or list(gold.texts)


def _is_bare_id(graph: Graph, text: str) -> bool:
    nodes = (graph.find(way) for way in spellings(text))
    return any(node is not None and graph.label(node) != text for node in nodes)


def ranking_scores(graph: Graph, prediction: dspy.Prediction, gold: Gold) -> dict[str, Any]:
    """Return the top of the ranking and its scores, which are null if the program did not rank."""
    ranking = [int(node) for node in getattr(prediction, "ranking", None) or ()]
    if not ranking:
        return {"ranking": [], **dict.fromkeys(ON_RANKING)}
    return {
        "ranking": [graph.node_id(node) for node in ranking[:RANKED]],
        "hit_at_1_ranked": hit_at_k(ranking, gold.answers, 1),
        "hit_at_5": hit_at_k(ranking, gold.answers, 5),
        "recall_at_20": recall_at_k(ranking, gold.answers, 20),
        "mrr": reciprocal_rank(ranking, gold.answers),
    }


def citation_score(graph: Graph, prediction: dspy.Prediction, linked: Collection[int]) -> float | None:
    """Return the citation precision of the evidence; None if the program abstained or cited nothing."""
    if prediction.abstained or not prediction.evidence:
        return None
    edges = evidence_edges(graph, prediction.evidence)
    if not prediction.answers:
        return citation_precision(edges, None, linked)
    # Compare ids: the graph may hold a literal with several datatypes, and an answer has no datatype.
    ids = {answer["id"] for answer in prediction.answers}
    ends = {node for edge in edges if edge is not None for node in (edge[0], edge[2])}
    return citation_precision(edges, {node for node in ends if graph.node_id(node) in ids}, linked)


# The stage at which an answer was lost: the error analysis of KERAG (arXiv 2509.04716).

Stage = Literal[
    "linking",
    "retrieval",
    "filtering",
    "summarization",
    "abstained",
    "answered_unanswerable",
    "unreadable_reply",
    "unplaced",
]
UNPLACED: Stage = "unplaced"

MEANING: Mapping[str, str] = {
    "linking": "no gold topic was linked",
    "retrieval": "no gold answer is within the hops explored from the topics",
    "filtering": "a gold answer was reachable, but its path was not kept or was cut off",
    "summarization": "a gold answer was retrieved, but another answer was given",
    "abstained": "the program abstained although a gold answer was, or may have been, retrieved",
    "answered_unanswerable": "the program answered a question that has no answer",
    "unreadable_reply": "a model's replies could not be parsed",
    UNPLACED: "unknown, because the answer is not a node or the trace does not show what was retrieved",
}
"""What each stage means, in words."""

_FETCHED = 100_000  # most edges read per (node, relation, direction)


def lost_at(
    *,
    answerable: bool,
    answered: bool,
    unreadable: bool,
    link_recall: float | None,
    retrieval_recall: float | None,
    within_reach: Callable[[], bool],
) -> Stage:
    """Return the stage at which a wrong or missing answer was lost: the first that applies.

    - `unreadable_reply`: a model's replies could not be parsed;
    - `answered_unanswerable`: the question has no answer;
    - `abstained`: the program gave no answer, although a gold answer was retrieved, or the retrieval recall is
      unknown and a topic was linked;
    - `summarization`: a gold answer was retrieved, but the program gave another answer;
    - `linking`: no gold topic was linked;
    - `filtering`: no gold answer was retrieved, although one is within reach of the topic: its path was filtered out
      or exceeded a bound;
    - `retrieval`: no gold answer is within reach;
    - `unplaced`: unknown, because the answer is not a node or the program does not report what it retrieved.
    """
    if unreadable:
        return "unreadable_reply"
    if not answerable:
        return "answered_unanswerable"
    if retrieval_recall:
        return "summarization" if answered else "abstained"
    if link_recall == 0:
        return "linking"
    if retrieval_recall is None:
        return "unplaced" if answered else "abstained"
    return "filtering" if within_reach() else "retrieval"


def within_hops(graph: Graph, starts: Iterable[int], ends: Iterable[int], hops: int) -> bool:
    """Whether any end is at most `hops` edges from any start, ignoring edge direction (bidirectional search)."""
    near, far = np.unique(np.fromiter(starts, np.int64)), np.unique(np.fromiter(ends, np.int64))
    if not len(near) or not len(far):
        return False
    for hop in range(hops):
        if len(np.intersect1d(near, far)):
            return True
        if hop % 2 == 0:
            near = _ball(graph, near)
        else:
            far = _ball(graph, far)
    return len(np.intersect1d(near, far)) > 0


def _ball(
    graph: Graph, nodes: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    edges = graph.expand(nodes, limit_per_node=_FETCHED)
    return np.unique(np.concatenate((nodes, edges.heads, edges.tails)).astype(np.int64))
