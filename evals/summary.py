"""The summary of an evaluation: means over its rows, with coverage apart from the score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evals.metrics import truthfulness

NOT_RUN = "not_run"
"""Status of a question that the run stopped before."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Scores:
    """Scores of a group of questions. A mean over nothing is None."""

    n: int
    """Questions that were asked for."""
    coverage: float | None
    """Share of them that are scored: that neither ended in an error nor were left out by a stop. All
    means below are over scored questions."""
    status: Mapping[str, int]
    """Questions by status: ok, abstained, parse_error, error, not_run."""
    answerable: int
    """Scored questions that have an answer."""
    hits_at_1: float | None
    """Over answerable questions: share whose first answer is right."""
    hit: float | None
    """Over answerable questions: share with a right one among the answers."""
    precision: float | None
    """Over answerable questions: mean precision of the set of answers."""
    recall: float | None
    """Over answerable questions: mean recall of the set of answers."""
    f1: float | None
    """Over answerable questions: mean F1 of the set of answers."""
    exact_match: float | None
    """Over answerable questions: SQuAD's, of the answer as one text."""
    token_f1: float | None
    """Over answerable questions: SQuAD's, of the answer as one text."""
    accuracy: float | None
    """Share that is right: first answer right, or no answer where there is none (CRAG)."""
    hallucination: float | None
    """Share that was answered and is not right (CRAG)."""
    missing: float | None
    """Share without an answer where there is one (CRAG), or whose replies could not be read."""
    truthfulness: float | None
    """accuracy - hallucination (CRAG)."""
    grounded: float | None
    """Share of the answered ones whose answer rests on evidence from the graph."""
    retrieval_recall: float | None
    """Mean share of gold answers in the retrieved triples, over questions for which it can be told."""
    link_recall: float | None
    """Mean share of gold topics that were linked, over questions whose topics are known."""
    calls: float | None
    """Calls to language models, mean per question."""
    tokens: float | None
    """Prompt and completion tokens newly made, mean per question."""
    seconds: float | None
    """Mean per question, by the clock, from question to prediction."""
    seconds_outside_lm: float | None
    """Mean per question of the seconds that were not spent in calls to language models."""
    totals: Mapping[str, float]
    """Sums over all rows, errors included: calls, cached_calls, prompt_tokens, completion_tokens, seconds, dollars."""
    lost: Mapping[str, int]
    """Scored questions that are not accurate, by the stage that lost them (`evals.stages`)."""
    errors: Mapping[str, int]
    """Error rows by the type of the error."""


@dataclass(frozen=True)
class Summary:
    """What an evaluation found."""

    scores: Scores
    """Of all questions."""
    by_kind: Mapping[str, Scores]
    by_hops: Mapping[str, Scores]
    configuration: Mapping[str, Any]
    """What the rows depend on: program, switches, models, knowledge base."""
    stopped: str | None = None
    """Why the run stopped before its end; None where it did not."""
    wall_seconds: float = 0.0
    """By the clock, of the last run alone."""

    def to_json(self) -> dict[str, Any]:
        """One object: the scores of all questions at the top, the rest beside them."""
        return {
            **asdict(self.scores),
            "by_kind": {name: asdict(scores) for name, scores in self.by_kind.items()},
            "by_hops": {name: asdict(scores) for name, scores in self.by_hops.items()},
            "configuration": dict(self.configuration),
            "stopped": self.stopped,
            "wall_seconds": round(self.wall_seconds, 3),
        }


def summarize(
    rows: Iterable[Row],
    configuration: Mapping[str, Any] | None = None,
    *,
    stopped: str | None = None,
    wall_seconds: float = 0.0,
) -> Summary:
    """Summarise rows (`evals.rows`).

    Args:
        rows: one per question; of a question that was not run, `kind`, `hops` and status `not_run` are enough.
        configuration: what they depend on.
        stopped: why the run stopped before its end.
        wall_seconds: how long it took by the clock.
    """
    rows = list(rows)
    return Summary(
        scores=score(rows),
        by_kind={name: score(group) for name, group in _grouped(rows, "kind").items()},
        by_hops={name: score(group) for name, group in _grouped(rows, "hops").items()},
        configuration=configuration or {},
        stopped=stopped,
        wall_seconds=wall_seconds,
    )


def score(rows: Sequence[Row]) -> Scores:
    """The scores of a group of rows."""
    ran = [row for row in rows if row["status"] != NOT_RUN]
    scored = [row for row in ran if row["status"] != "error"]
    outcomes = [row["crag"] for row in scored]
    usages = [row["usage"] for row in scored]
    answered = [row for row in scored if row["answer"] and not row["abstained"]]
    return Scores(
        n=len(rows),
        coverage=len(scored) / len(rows) if rows else None,
        status=_counts(row["status"] for row in rows),
        answerable=sum(row["answerable"] for row in scored),
        hits_at_1=_mean(row["hits_at_1"] for row in scored),
        hit=_mean(row["hit"] for row in scored),
        precision=_mean(row["precision"] for row in scored),
        recall=_mean(row["recall"] for row in scored),
        f1=_mean(row["f1"] for row in scored),
        exact_match=_mean(row["exact_match"] for row in scored),
        token_f1=_mean(row["token_f1"] for row in scored),
        accuracy=_mean(float(outcome == "accurate") for outcome in outcomes),
        hallucination=_mean(float(outcome == "hallucinated") for outcome in outcomes),
        missing=_mean(float(outcome == "missing") for outcome in outcomes),
        truthfulness=truthfulness(outcomes),
        grounded=_mean(float(row["grounded"]) for row in answered),
        retrieval_recall=_mean(row["retrieval_recall"] for row in scored),
        link_recall=_mean(row["link_recall"] for row in scored),
        calls=_mean(float(usage["calls"]) for usage in usages),
        tokens=_mean(float(usage["prompt_tokens"] + usage["completion_tokens"]) for usage in usages),
        seconds=_mean(row["seconds"] for row in scored),
        seconds_outside_lm=_mean(row["seconds_outside_lm"] for row in scored),
        totals=_totals(ran),
        lost=_counts(row["lost"] for row in scored if row["lost"] is not None),
        errors=_counts(row["error"]["kind"] for row in ran if row["status"] == "error"),
    )


def _grouped(rows: Sequence[Row], name: str) -> dict[str, list[Row]]:
    """Rows by a field, those without it left out."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row[name] is not None:
            groups.setdefault(str(row[name]), []).append(row)
    return dict(sorted(groups.items()))


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _counts(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))


def _totals(rows: Sequence[Row]) -> dict[str, float]:
    names = ("calls", "cached_calls", "prompt_tokens", "completion_tokens", "dollars")
    sums: dict[str, float] = {name: sum(row["usage"][name] for row in rows) for name in names}
    return sums | {"seconds": round(sum(row["seconds"] for row in rows), 6)}
