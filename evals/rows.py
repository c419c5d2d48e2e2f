"""One row per question: what the program returned, and what that is worth.

A row is the plain form of the prediction (`programs.to_json`) and besides:

- `id`, `key` (content key), `kind`, `hops`, `topic`, `gold` (the data set's answers), `answerable`;
- `status`: `ok`; `abstained`; `parse_error` (a model's replies could not be read: it counts as an answer
  that is missing); `error` (a crash, a time-out, a model out of reach: it is in no score), with `error`
  as `{"kind", "message"}`;
- `hits_at_1`, `hit`, `precision`, `recall`, `f1`, `exact_match`, `token_f1`, and beside them
  `lenient_match`: null where the question is unanswerable, its answer not published, or the row an error;
- `ranking` (ids of the first nodes, empty where the program does not rank), `hit_at_1_ranked`,
  `hit_at_5`, `recall_at_20`, `mrr`: null where it does not or the answer is no node;
- `crag` (accurate, hallucinated or missing; null where the answer is not published), and `judged`: null
  where no model judged, else `{"correct", "model", "usage"}` (what it judged right is accurate, and not so
  by exact comparison);
- `retrieval_recall`, `link_recall`, `anchor_accuracy`, `citation_precision`, `lost` (see `evals.stages`);
- `popularity` of what the question is about, where that is known;
- `seconds`, and `seconds_outside_lm`: without the time spent in calls to language models.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dspy

from triplecheck.evals.gold import Gold, Names, resolve_gold, resolve_predicted
from triplecheck.evals.judge import Judge, Verdict
from triplecheck.evals.metrics import Outcome, anchor_accuracy, crag_outcome, link_recall, retrieval_recall
from triplecheck.evals.questions import Question
from triplecheck.evals.row_scores import (
    ON_ANSWERS,
    ON_RANKING,
    answer_scores,
    citation_score,
    gold_names,
    ranking_scores,
)
from triplecheck.evals.scores import NOT_RUN
from triplecheck.evals.stages import Stage, lost_at, within_hops
from triplecheck.kg import Graph
from triplecheck.lms import Usage
from triplecheck.programs import Program, to_json
from triplecheck.programs.steps import Linked, Step

UNREADABLE = "unreadable_reply"
"""The reason with which a program abstains because a model's replies could not be read."""

_DEFAULT_HOPS = 2
_ON_THE_WAY = ("crag", "judged", "retrieval_recall", "link_recall", "anchor_accuracy", "citation_precision", "lost")


def scored_row(
    program: Program,
    question: Question,
    prediction: dspy.Prediction,
    names: Names,
    key: str,
    seconds: float,
    judge: Judge | None = None,
) -> dict[str, Any]:
    """The row of a question that the program came back from.

    Args:
        program: gives the graph, and how far it looks.
        question: the question.
        prediction: what the program returned.
        names: finds the nodes of an exact name.
        key: content key of the row.
        seconds: how long the program took.
        judge: asked about answers that are not right by exact comparison, where there is one.
    """
    graph = program.graph
    gold = resolve_gold(question, graph, names)
    predicted = resolve_predicted(prediction, graph)
    unreadable = bool(prediction.abstained) and prediction.reason == UNREADABLE
    outcome: Outcome | None = None
    if question.answers_known:
        outcome = "missing" if unreadable else crag_outcome(predicted, gold.answers)
    verdict: Verdict | None = None
    if judge is not None and outcome == "hallucinated" and gold.answers and prediction.answer.strip():
        verdict = judge(question.question, prediction.answer, gold_names(graph, gold))
        outcome = "accurate" if verdict.correct else outcome
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
            "judged": None if verdict is None else verdict.to_json(),
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
    steps: Sequence[Step],
    usage: Usage,
    key: str,
    seconds: float,
) -> dict[str, Any]:
    """The row of a question that ended in an error: the trace and the usage up to there, and no score."""
    nothing = {"answer": "", "answers": [], "evidence": [], "abstained": False, "reason": "", "grounded": False}
    return (
        {"question": question.question, "program": program.name, **nothing, "confidence": None, "ranking": []}
        | {"steps": [step.to_json() for step in steps], "usage": usage.to_json()}
        | _about(question, key)
        | {"status": "error", "error": {"kind": type(error).__name__, "message": str(error)}}
        | dict.fromkeys((*ON_ANSWERS, *ON_RANKING, *_ON_THE_WAY))
        | _times(seconds, usage)
    )


def not_run(question: Question) -> dict[str, Any]:
    """What stands for the row of a question that a run stopped before: in no file, but in the summary."""
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
    """Calls side by side can add up to more than the clock shows: then nothing was outside of them."""
    return {"seconds": round(seconds, 6), "seconds_outside_lm": round(max(0.0, seconds - usage.seconds), 6)}


def _linked(graph: Graph, steps: Sequence[Step]) -> frozenset[int]:
    ids = {id for step in steps if isinstance(step, Linked) for id in step.chosen}
    return frozenset(node for id in ids if (node := graph.find(id)) is not None)


def _within_reach(program: Program, gold: Gold, linked: frozenset[int]) -> bool:
    topics = frozenset[int]().union(*gold.topics) & linked or linked
    answers = frozenset[int]().union(*(one.nodes for one in gold.answers))
    return within_hops(program.graph, topics, answers, getattr(program, "hops", _DEFAULT_HOPS))
