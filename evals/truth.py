"""What verdicts are worth: answers of every program by verdict, with the confidence of a left-out graph.

The confidence of each answer is computed by a model (`programs.judge.confidence`) that was fitted on the answers over
all other graphs, and so is the level above which an answer is called proved. The figures are those of a graph that
nothing was fitted to. Answers of the baseline and of language models, read from facts and computed by a query, have a
model each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from triplecheck.evals.metrics.statistics import area_under_risk_coverage, auroc, expected_calibration_error
from triplecheck.kg import UserError
from triplecheck.lms.kinds import BASELINE, kind_of
from triplecheck.programs.judge.confidence import (
    FLOOR,
    NAMES,
    ConfidenceModel,
    ConfidenceModels,
    fit_model,
    way_of,
    weights_of,
)
from triplecheck.programs.judge.features import says_what_is_asked

PRECISION = 0.92
"""Share of right answers among those called proved that their level is chosen for: a little more than the nine in ten
that are aimed at, because another graph may be harder."""

_UNANSWERABLE = 0.5
"""Weight of an answer to a question without one. The sets have as many of them as of others, users ask fewer."""
_LEAST_PROVED = 20  # answers from which a level can be told
_BARS = np.round(np.arange(0.05, 0.96, 0.01), 2)


@dataclass(frozen=True)
class Judged:
    """One question of an evaluation and what came of it.

    Attributes:
        graph: name of the graph, which is left out as a whole.
        data: the set of questions.
        right: whether the reply is right (CRAG: no reply to an unanswerable question is).
        answered: whether there is an answer.
        answerable: whether the question has an answer in the graph.
        features: of its proof; empty without one.
        provable: grounded, without a doubt, by relations that say what is asked.
        kind: of the models that answered, see `kind_of`.
        confidence: that the answer is right; None without a proof.
        is_given: whether the answer is given by default.
    """

    graph: str
    data: str
    program: str
    right: bool
    answered: bool
    answerable: bool
    features: Mapping[str, float]
    provable: bool
    kind: str = BASELINE
    confidence: float | None = None
    verdict: str = "unknown"
    is_given: bool = False

    @property
    def group(self) -> tuple[str, str]:
        """The kind of the models and the way to the answer, which have a confidence model of their own."""
        return self.kind, way_of(self.features)


def read_judged(graph: str, data: str, program: str, rows: Iterable[Mapping[str, Any]]) -> list[Judged]:
    """The scored rows of one evaluation."""
    found = []
    for row in rows:
        if row["status"] == "error" or row.get("crag") is None:
            continue
        features: Mapping[str, float] = row.get("features") or {}
        answered = bool(row["answer"]) and not row["abstained"]
        provable = answered and row["grounded"] and not row.get("doubts") and says_what_is_asked(features)
        right, features = row["crag"] == "accurate", features if answered else {}
        kind = kind_of(step["model"] for step in row.get("steps", ()) if step["kind"] == "wrote")
        found.append(Judged(graph, data, program, right, answered, row["answerable"], features, provable, kind))
    return found


def fit(rows: Sequence[Judged]) -> ConfidenceModels:
    """The models of all answers with a proof; their levels and the bar are chosen on graphs that were left out in turn.

    A level is not below the floor: an answer that is more likely wrong than right is not called proved. Kinds and ways
    without answers over two graphs, right ones and wrong ones, have no model.

    Raises:
        UserError: those of the baseline have none.
    """
    models: dict[str, dict[str, ConfidenceModel]] = {}
    judged: list[Judged] = []
    for kind, way in sorted({row.group for row in rows if row.features}):
        own = [row for row in rows if row.features and row.group == (kind, way)]
        if (alone := _left_out(own)) is not None:
            found = replace(_fitted(own), proved=max(FLOOR, _level(alone)))
            models.setdefault(kind, {})[way] = found
            judged += alone
    if BASELINE not in models:
        raise UserError("a confidence model needs answers over two graphs or more, right ones and wrong ones of each")
    return ConfidenceModels(models, _bar(judged))


def left_out(rows: Sequence[Judged]) -> list[Judged]:
    """Each row with the confidence and the verdict that models of the other graphs give.

    Raises:
        UserError: see `fit`.
    """
    found = []
    for graph in dict.fromkeys(row.graph for row in rows):
        models = fit([row for row in rows if row.graph != graph])
        found += [_judge(row, models) for row in rows if row.graph == graph]
    return found


def _left_out(rows: Sequence[Judged]) -> list[Judged] | None:
    """Each row with the confidence of a model of the other graphs, without verdicts; None if they are too few."""
    graphs = list(dict.fromkeys(row.graph for row in rows))
    found = []
    for graph in graphs:
        others = [row for row in rows if row.graph != graph]
        if len({row.right for row in others}) < 2:
            return None
        model = _fitted(others)
        found += [replace(row, confidence=model(row.features)) for row in rows if row.graph == graph]
    return found


def _fitted(rows: Sequence[Judged]) -> ConfidenceModel:
    """The model of answers of one kind that were found in one way."""
    features, right, graphs = zip(*((row.features, row.right, row.graph) for row in rows), strict=True)
    return fit_model(features, right, graphs, _shares(rows), names=NAMES[rows[0].group[1]])


def _level(rows: Sequence[Judged]) -> float:
    """The lowest confidence from which `PRECISION` of the provable answers are right; 1 if there is none.

    Questions without an answer do not count: how many of them are asked is not known.
    """
    able = sorted((row for row in rows if row.provable and row.answerable), key=lambda row: -(row.confidence or 0.0))
    weights = weights_of([row.graph for row in able])
    right = np.cumsum(weights * np.array([row.right for row in able], bool))
    enough = np.flatnonzero(right >= PRECISION * np.cumsum(weights))
    return round(able[enough[-1]].confidence or 0.0, 4) if len(enough) and enough[-1] + 1 >= _LEAST_PROVED else 1.0


def _bar(rows: Sequence[Judged]) -> float:
    """The confidence from which answers are given: the lowest one that is not surely worse than the best.

    A right answer counts 1 and a wrong one -1, as in CRAG's truthfulness. Of bars whose sums differ by less than one
    standard error the lowest is taken, which withholds least: the rule of one standard error (Breiman et al. 1984,
    Classification and Regression Trees, section 3.4.3). It is not below the floor, whatever the graphs say.
    """
    open_to = [row for row in rows if not row.features.get("uncovered")]
    weights = weights_of([row.graph for row in open_to], _shares(open_to))
    gains = weights * np.array([1 if row.right else -1 for row in open_to])
    sure = np.array([row.confidence or 0.0 for row in open_to])
    best = max(_BARS, key=lambda bar: gains[sure >= bar].sum())
    between = [gains[(sure >= bar) & (sure < best)] for bar in _BARS]
    near = [bar for bar, lost in zip(_BARS, between, strict=True) if -lost.sum() <= np.sqrt((lost**2).sum())]
    return max(FLOOR, float(min(near)))


def _shares(rows: Sequence[Judged]) -> list[float]:
    return [1.0 if row.answerable else _UNANSWERABLE for row in rows]


def _judge(row: Judged, models: ConfidenceModels) -> Judged:
    if not row.answered:
        return row
    if not row.features:
        return replace(row, verdict="unsupported")
    model = models.of(row.kind, row.features)
    confidence = model(row.features)
    proved = row.provable and confidence >= model.proved
    given = proved or models.gives(confidence, row.features)
    return replace(row, confidence=confidence, verdict="proved" if proved else "supported", is_given=given)


@dataclass(frozen=True)
class Worth:
    """What the verdicts of a group of rows are worth.

    Attributes:
        shares: share of all questions by verdict, then by whether the answer is right.
        given_right, given_wrong: share of questions that are answered by default, rightly and wrongly.
        withheld: share that is not answered by default.
        proved_right: share of right answers among the proved ones; None if there are none.
        auroc: of the confidence, over answers with a proof; None if all are right or all are wrong.
        ece, aurc: expected calibration error of the confidence, and area under the risk-coverage curve.
    """

    n: int
    shares: Mapping[str, tuple[float, float]]
    given_right: float
    given_wrong: float
    withheld: float
    proved_right: float | None
    auroc: float | None
    ece: float | None
    aurc: float | None


VERDICTS = ("proved", "supported", "unsupported", "unknown")


def worth(rows: Sequence[Judged]) -> Worth:
    """What the verdicts of some rows are worth.

    Raises:
        ValueError: there are no rows.
    """
    if not rows:
        raise ValueError("there are no rows")
    n = len(rows)
    shares = {}
    for verdict in VERDICTS:
        own = [row for row in rows if row.verdict == verdict]
        right = sum(row.right for row in own)
        shares[verdict] = (right / n, (len(own) - right) / n)
    given = [row for row in rows if row.is_given]
    right = sum(row.right for row in given)
    proved = [row for row in rows if row.verdict == "proved"]
    confidences, correct = curve(rows)
    both = len(set(correct)) == 2
    return Worth(
        n,
        shares,
        right / n,
        (len(given) - right) / n,
        1 - len(given) / n,
        sum(row.right for row in proved) / len(proved) if proved else None,
        auroc(confidences, correct) if both else None,
        expected_calibration_error(confidences, correct, bins=10, by="mass") if correct else None,
        area_under_risk_coverage(confidences, correct) if correct else None,
    )


def curve(rows: Iterable[Judged]) -> tuple[list[float], list[bool]]:
    """Confidence and rightness of the answers with a proof."""
    sure = [(row.confidence, row.right) for row in rows if row.confidence is not None]
    return [pair[0] for pair in sure], [pair[1] for pair in sure]
