"""The summary of an evaluation: scores over all questions, and by kind, hops and popularity."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NotRequired, TypeAlias

from pydantic import ConfigDict, TypeAdapter
from typing_extensions import TypedDict

from triplecheck.evals.metrics.answers import truthfulness
from triplecheck.evals.metrics.retrieval import BANDS, bands
from triplecheck.evals.metrics.statistics import (
    area_under_risk_coverage,
    bootstrap_interval,
    expected_calibration_error,
)
from triplecheck.evals.metrics.trace import Row
from triplecheck.evals.slim_rows import MEANS, with_charged

# Scores of a group of questions: means over their rows (`evals.rows`), with coverage reported separately.


NOT_RUN = "not_run"
"""Status of a question that the run did not reach."""


_STRICT = ConfigDict(strict=True, allow_inf_nan=False)


class _Usage(TypedDict):
    __pydantic_config__ = _STRICT  # type: ignore[misc]
    calls: int
    cached_calls: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    dollars: float


_Score = float | None


class _Error(TypedDict):
    kind: str
    message: str


_Group: TypeAlias = str | int | float | None
"""What a data set says of a question: in one, a conjunction has "conj" for its number of hops."""


class _StoredRow(TypedDict):
    __pydantic_config__ = _STRICT  # type: ignore[misc]
    id: str
    key: str
    question: str
    kind: _Group
    hops: _Group
    popularity: NotRequired[_Group]
    gold: list[str]
    answerable: bool
    answer: str
    abstained: bool
    grounded: bool
    verdict: NotRequired[str]
    confidence: NotRequired[_Score]
    status: Literal["ok", "abstained", "parse_error", "error"]
    error: NotRequired[_Error | None]
    crag: Literal["accurate", "hallucinated", "missing"] | None
    hits_at_1: _Score
    hit: _Score
    precision: _Score
    recall: _Score
    f1: _Score
    exact_match: _Score
    token_f1: _Score
    lenient_match: NotRequired[_Score]
    hit_at_1_ranked: NotRequired[_Score]
    hit_at_5: NotRequired[_Score]
    recall_at_20: NotRequired[_Score]
    mrr: NotRequired[_Score]
    retrieval_recall: _Score
    link_recall: _Score
    anchor_accuracy: NotRequired[_Score]
    citation_precision: NotRequired[_Score]
    lost: str | None
    usage: _Usage
    seconds: float
    seconds_outside_lm: float


@functools.cache
def _checker() -> TypeAdapter[Any]:
    return TypeAdapter(_StoredRow)


def check_row(row: object) -> None:
    """Check that a stored row has all that a summary and a comparison need.

    Raises:
        ValueError: a field is missing or of the wrong type.
    """
    _checker().validate_python(row)
    if isinstance(row, dict) and (row["status"] == "error") != bool(row.get("error")):
        raise ValueError("status and error contradict each other")


_SAMPLES = 2_000


@dataclass(frozen=True)
class Scores:
    """Scores of a group of questions. A mean over no questions is None."""

    n: int
    """Number of questions."""
    coverage: float | None
    """Share of scored questions: reached, without an error, and with a published answer. All means below are over
    scored questions."""
    status: Mapping[str, int]
    """Number of questions by status: ok, abstained, parse_error, error, not_run."""
    answerable: int
    """Number of scored questions that have an answer."""
    hits_at_1: float | None
    """Over answerable questions: share whose first answer is correct."""
    hit: float | None
    """Over answerable questions: share with a correct answer among the predicted ones."""
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
    lenient_match: float | None
    """Over answerable questions: share where either text is a substring of the other. For reference only: an empty
    answer matches (`evals.metrics.answers.lenient_match`)."""
    hit_at_1_ranked: float | None
    """Over questions with a ranking and a gold node: share whose first ranked node is a gold answer."""
    hit_at_5: float | None
    """Over the same: share with a gold answer among the first 5."""
    recall_at_20: float | None
    """Over the same: mean share of gold answers among the first 20."""
    mrr: float | None
    """Over the same: mean reciprocal rank of the first gold answer."""
    accuracy: float | None
    """Share accurate: first answer correct, or no answer to an unanswerable question (CRAG)."""
    hallucination: float | None
    """Share answered, but not accurately (CRAG)."""
    missing: float | None
    """Share of questions that have an answer but got none (CRAG), or whose replies could not be parsed."""
    truthfulness: float | None
    """accuracy - hallucination (CRAG)."""
    grounded: float | None
    """Over answered questions: share whose answer is grounded in evidence from the graph."""
    hits_at_1_grounded: float | None
    """Over answerable questions with a grounded answer: share whose first answer is correct."""
    hits_at_1_ungrounded: float | None
    """Over answerable questions answered from the model's own knowledge: share whose first answer is correct."""
    right_from_graph: float | None
    """Over answerable questions: share whose first answer is correct and grounded (AnchorRAG, Figure 3)."""
    right_from_model: float | None
    """Over answerable questions: share whose first answer is correct and not grounded. With the former: `hits_at_1`."""
    proved: float | None
    """Share of scored questions whose answer has the verdict *proved*."""
    proved_right: float | None
    """Share of the proved answers that are accurate."""
    retrieval_recall: float | None
    """Mean share of gold answers in the retrieved triples, over questions where it is known."""
    link_recall: float | None
    """Mean share of gold topics that were linked, over questions whose topics are known."""
    anchor_accuracy: float | None
    """Share with a gold topic among the linked nodes, over questions whose topics are known (AnchorRAG)."""
    citation_precision: float | None
    """Mean share of cited triples that support the answer, over answers with citations."""
    ece: float | None
    """Expected calibration error, 15 bins of equal width, over answers with a confidence."""
    ece_equal_mass: float | None
    """Expected calibration error, 15 bins of equal mass."""
    aurc: float | None
    """Area under the risk-coverage curve of the confidences; lower is better."""
    calls: float | None
    """Calls to models, mean per question."""
    tokens: float | None
    """Prompt and completion tokens of uncached calls, mean per question."""
    lm_calls: float | None
    """Calls to language models alone, without those to the rule-based baseline and to students."""
    lm_tokens: float | None
    """Tokens of these calls."""
    seconds: float | None
    """Wall time, mean per question."""
    seconds_outside_lm: float | None
    """Wall time outside calls to language models, mean per question."""
    totals: Mapping[str, float]
    """Sums over all rows, errors included: calls, cached_calls, prompt_tokens, completion_tokens, seconds, dollars."""
    lost: Mapping[str, int]
    """Number of scored questions that are not accurate, by the stage that lost the answer (`evals.rows.lost_at`)."""
    errors: Mapping[str, int]
    """Number of error rows by error type."""
    verdicts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Number of scored questions by verdict: of each the right ones and the wrong ones."""
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """95% bootstrap intervals of hits_at_1, f1 and accuracy, if there are scores."""

    @property
    def scored(self) -> int:
        """Number of scored questions, see `coverage`."""
        return round(self.n * (self.coverage or 0.0))


def score(rows: Sequence[Row]) -> Scores:
    """Return the scores of a group of rows."""
    ran = [row for row in rows if row["status"] != NOT_RUN]
    scored = [row for row in ran if row["status"] != "error" and row["crag"] is not None]
    outcomes = [row["crag"] for row in scored]
    usages = [with_charged(row["usage"]) for row in scored]
    answered = [row for row in scored if row["answer"] and not row["abstained"]]
    correct = [float(outcome == "accurate") for outcome in outcomes]
    return Scores(
        n=len(rows),
        coverage=len(scored) / len(rows) if rows else None,
        status=_counts(row["status"] for row in rows),
        answerable=sum(row["answerable"] for row in scored),
        **{name: _mean(row.get(name) for row in scored) for name in MEANS},
        accuracy=_mean(correct),
        hallucination=_mean(float(outcome == "hallucinated") for outcome in outcomes),
        missing=_mean(float(outcome == "missing") for outcome in outcomes),
        truthfulness=truthfulness(outcomes),
        grounded=_mean(float(row["grounded"]) for row in answered),
        **_by_origin(scored, answered),
        proved=_mean(float(row.get("verdict") == "proved") for row in scored),
        proved_right=_mean(float(row["crag"] == "accurate") for row in scored if row.get("verdict") == "proved"),
        **_calibration(answered),
        calls=_mean(float(usage["calls"]) for usage in usages),
        tokens=_mean(float(usage["prompt_tokens"] + usage["completion_tokens"]) for usage in usages),
        lm_calls=_mean(float(usage["lm_calls"]) for usage in usages),
        lm_tokens=_mean(float(usage["lm_tokens"]) for usage in usages),
        totals=_totals(ran),
        lost=_counts(row["lost"] for row in scored if row["lost"] is not None),
        errors=_counts(row["error"]["kind"] for row in ran if row["status"] == "error"),
        verdicts=_by_verdict(scored),
        intervals=_intervals(
            hits_at_1=[row["hits_at_1"] for row in scored], f1=[row["f1"] for row in scored], accuracy=correct
        ),
    )


def _by_origin(scored: Sequence[Row], answered: Sequence[Row]) -> dict[str, float | None]:
    """Return the scores by origin of the answer: the graph or the model's own knowledge."""
    hits = [(row["hits_at_1"], bool(row["grounded"])) for row in scored if row["hits_at_1"] is not None]
    return {
        "hits_at_1_grounded": _mean(row["hits_at_1"] for row in answered if row["grounded"]),
        "hits_at_1_ungrounded": _mean(row["hits_at_1"] for row in answered if not row["grounded"]),
        "right_from_graph": _mean(hit * grounded for hit, grounded in hits),
        "right_from_model": _mean(hit * (not grounded) for hit, grounded in hits),
    }


def _by_verdict(scored: Sequence[Row]) -> dict[str, dict[str, int]]:
    """Return the number of right and wrong replies by verdict, of verdicts that occur."""
    found: dict[str, dict[str, int]] = {}
    for row in scored:
        counts = found.setdefault(row.get("verdict", "unknown"), {"right": 0, "wrong": 0})
        counts["right" if row["crag"] == "accurate" else "wrong"] += 1
    return dict(sorted(found.items()))


def _calibration(answered: Sequence[Row]) -> dict[str, float | None]:
    """Return the calibration scores over answers with a confidence."""
    sure = [(row["confidence"], row["crag"] == "accurate") for row in answered if row.get("confidence") is not None]
    if not sure:
        return dict.fromkeys(("ece", "ece_equal_mass", "aurc"))
    confidences, correct = zip(*sure, strict=True)
    return {
        "ece": expected_calibration_error(confidences, correct),
        "ece_equal_mass": expected_calibration_error(confidences, correct, by="mass"),
        "aurc": area_under_risk_coverage(confidences, correct),
    }


def _intervals(**metrics: Sequence[float | None]) -> dict[str, tuple[float, float]]:
    known = {name: [value for value in values if value is not None] for name, values in metrics.items()}
    return {name: interval_of(values) for name, values in known.items() if values}


def interval_of(values: Sequence[float]) -> tuple[float, float]:
    """The 95% bootstrap interval of the mean of one or more scores."""
    return bootstrap_interval(values, samples=_SAMPLES)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _counts(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))


def _totals(rows: Sequence[Row]) -> dict[str, float]:
    names = ("calls", "cached_calls", "prompt_tokens", "completion_tokens", "dollars")
    sums: dict[str, float] = {name: sum(row["usage"][name] for row in rows) for name in names}
    return sums | {"seconds": round(sum(row["seconds"] for row in rows), 6)}


@dataclass(frozen=True)
class Summary:
    """The summary of an evaluation."""

    scores: Scores
    """Scores over all questions."""
    by_kind: Mapping[str, Scores]
    by_hops: Mapping[str, Scores]
    by_popularity: Mapping[str, Scores]
    """Scores by band: head, torso and tail (`evals.metrics.retrieval.bands`), or the data set's own bands."""
    configuration: Mapping[str, Any]
    """Everything that the rows depend on: program, switches, models, knowledge base."""
    stopped: str | None = None
    """Why the run stopped early; None if it finished."""
    wall_seconds: float = 0.0
    """Wall time of the last run, without earlier runs that it resumed."""

    def to_json(self) -> dict[str, Any]:
        """Return one object: the scores over all questions at the top level, together with the other fields."""
        return {
            **asdict(self.scores),
            "by_kind": {name: asdict(scores) for name, scores in self.by_kind.items()},
            "by_hops": {name: asdict(scores) for name, scores in self.by_hops.items()},
            "by_popularity": {name: asdict(scores) for name, scores in self.by_popularity.items()},
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
    """Summarise rows (`evals.rows`), one per question; for questions that were not run, `evals.rows.not_run`."""
    rows = list(rows)
    return Summary(
        scores=score(rows),
        by_kind=_by(rows, [row["kind"] for row in rows]),
        by_hops=_by(rows, [row["hops"] for row in rows]),
        by_popularity=_by(rows, bands([row.get("popularity") for row in rows])),
        configuration=configuration or {},
        stopped=stopped,
        wall_seconds=wall_seconds,
    )


def _by(rows: Sequence[Row], names: Sequence[Any]) -> dict[str, Scores]:
    """Return scores by group, without rows that have no group; bands from head to tail."""
    groups: dict[str, list[Row]] = {}
    for row, name in zip(rows, names, strict=True):
        if name is not None:
            groups.setdefault(str(name), []).append(row)
    order = sorted(groups, key=lambda name: (BANDS.index(name) if name in BANDS else len(BANDS), name))
    return {name: score(groups[name]) for name in order}
