"""Confidence: the probability that an answer is right, by logistic models over features of its proof.

There is a model for each way to the answer. The coefficients are in `confidence.json`, fitted on several graphs to
answers of the rule-based baseline; answers of language models use them too. `triplecheck report truth --data DIR`
writes the file beside its report, to be copied here; with `--lm MODEL` it fits models for answers of language models
as well. The features are in `judge.features`.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter, ValidationError

from triplecheck.kg import UserError
from triplecheck.kg.errors import extra
from triplecheck.lms.kinds import BASELINE
from triplecheck.programs.judge.features import QUERY

PACKAGED = Path(__file__).parent / "confidence.json"
_PROVED = 0.9
"""Confidence from which an answer may be called proved, before it is measured (`evals.truth`)."""
_PENALTY = 30.0
"""Weight of the squared coefficients, which are of standardised features."""
_BETTER = ("covered_least", "grounded", "ideal_hop", "likeness", "topics", "weakest")
_WORSE = ("again", "hints", "joins", "maybe", "operations", "spare_hops", "ties", "uncovered")

FACTS = "facts"
"""The way to an answer that was read from facts; that of an answer that a query computed is `QUERY`."""
NAMES = {
    FACTS: (
        *("covered_least", "followed", "grounded", "hops", "ideal_hop"),
        *("likeness", "patterns", "spare_hops", "topics", "uncovered"),
    ),
    QUERY: ("again", "hints", "joins", "maybe", "operations", "ties", "weakest"),
}
"""The features by the way to the answer. Those of facts were chosen from 36 by the log loss on graphs that were left
out in turn: one was dropped after the other until the loss grew."""
_BOUNDS = dict.fromkeys(_BETTER, (0.0, None)) | dict.fromkeys(_WORSE, (None, 0.0))
"""The sign of each coefficient whose feature can only speak for an answer, or only against it."""
_MOST = 300
"""The answers of a group that count: of a graph with more, each counts less."""
_MISFIT = 0.1
"""Greatest confidence in an answer from facts of another kind than asked for: of 46 on seven sets 3 were right."""
FLOOR = 0.5
"""Least confidence of an answer that is proved or given by default: below it, it is more likely wrong than right."""


@dataclass(frozen=True)
class ConfidenceModel:
    """A logistic model of the probability that an answer is right.

    Attributes:
        names: of the features, n of them.
        means: of each feature in the fitted answers.
        scales: standard deviation of each; 1 for a constant feature.
        weights: of each standardised feature.
        bias: log odds at the means.
        proved: confidence from which an answer may be called proved.
        fitted_on: the graphs, with their numbers of answers.
    """

    names: tuple[str, ...]
    means: tuple[float, ...]
    scales: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float
    proved: float
    fitted_on: Mapping[str, int]

    def __call__(self, features: Mapping[str, float]) -> float:
        """The probability that the answer with these features is right; an unknown feature counts as its mean."""
        most = _MISFIT if features.get("kind_fit", 0.0) < 0 else 1.0
        odds = self.bias
        for name, mean, scale, weight in zip(self.names, self.means, self.scales, self.weights, strict=True):
            odds += weight * (features.get(name, mean) - mean) / scale
        return min(most, 1 / (1 + math.exp(-max(-30.0, min(30.0, odds)))))


@dataclass(frozen=True)
class ConfidenceModels:
    """The models of confidence.

    Attributes:
        models: by kind (`kind_of`), then by way (`FACTS` or `QUERY`).
        bar: confidence from which a supported answer is given by default. It is the same for all, since a confidence
            means the same.
    """

    models: Mapping[str, Mapping[str, ConfidenceModel]]
    bar: float

    def of(self, kind: str, features: Mapping[str, float]) -> ConfidenceModel:
        """The confidence model for this kind of model and these features, or else that of the baseline.

        Raises:
            UserError: there is none of the baseline either.
        """
        way = way_of(features)
        for one in (kind, BASELINE):
            if (found := self.models.get(one, {}).get(way)) is not None:
                return found
        raise UserError(f"no confidence model for answers by {way!r}; `triplecheck report truth` writes them")

    def gives(self, confidence: float | None, features: Mapping[str, float]) -> bool:
        """Whether a supported answer is given by default; not if a bound, negation or number is without a fact."""
        return confidence is not None and confidence >= self.bar and not features.get("uncovered")

    def to_json(self) -> str:
        """As the text of a file."""
        return json.dumps(asdict(self), indent=1) + "\n"


def way_of(features: Mapping[str, float]) -> str:
    """The way to the answer with these features: `FACTS` or `QUERY`."""
    return QUERY if QUERY in features else FACTS


@cache
def packaged_models() -> ConfidenceModels:
    """The models that come with Triplecheck."""
    return read_models(PACKAGED)


def read_models(path: Path) -> ConfidenceModels:
    """Read a file of models.

    Raises:
        UserError: the file is not one.
    """
    try:
        return TypeAdapter(ConfidenceModels).validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise UserError(
            f"{path}: has no confidence models ({error}); `triplecheck report truth --data DIR` writes them"
        ) from error


def weights_of(groups: Sequence[str], shares: Sequence[float] | None = None) -> npt.NDArray[np.float64]:
    """The weight of each of n answers, shape (n,): a group of more than 300 answers weighs as much as one of 300.

    Args:
        shares: how much each answer counts, before groups are weighed; None: all alike.
    """
    names, of = np.unique(np.array(groups), return_inverse=True)
    share = np.ones(len(groups)) if shares is None else np.array(shares)
    sizes = np.bincount(of, minlength=len(names))
    weights: npt.NDArray[np.float64] = share / np.bincount(of, share)[of] * np.minimum(sizes, _MOST)[of]
    return weights


def fit_model(
    rows: Sequence[Mapping[str, float]],
    right: Sequence[bool],
    groups: Sequence[str],
    shares: Sequence[float] | None = None,
    *,
    names: tuple[str, ...],
) -> ConfidenceModel:
    """Fit a model by penalised maximum likelihood, with the weights of `weights_of`.

    Args:
        rows: features of each answer, n of them.

    Raises:
        UserError: there is no right or no wrong answer.
    """
    if len(set(right)) < 2:
        raise UserError("a confidence model needs right answers and wrong ones; evaluate more questions")
    with extra("stats", "Fitting a confidence model"):
        from scipy.optimize import minimize
    values = np.array([[row.get(name, np.nan) for name in names] for row in rows])
    labels = np.array(right, float)
    sizes = dict(Counter(groups))
    weight = weights_of(groups, shares)
    known = ~np.isnan(values)
    means = np.array([np.average(values[k, at], weights=weight[k]) if k.any() else 0.0 for at, k in enumerate(known.T)])
    values = np.where(known, values, means)
    scales = np.sqrt(np.average((values - means) ** 2, axis=0, weights=weight))
    scales[scales < 1e-6] = 1.0
    standard = np.column_stack([(values - means) / scales, np.ones(len(values))])

    def loss(theta: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        odds = standard @ theta
        errors = weight * (1 / (1 + np.exp(-odds)) - labels)
        value = (weight * (np.logaddexp(0, odds) - labels * odds)).sum() + _PENALTY * (theta[:-1] ** 2).sum()
        return float(value), standard.T @ errors + 2 * _PENALTY * np.append(theta[:-1], 0)

    bounds = [*(_BOUNDS.get(name, (None, None)) for name in names), (None, None)]
    theta = minimize(loss, np.zeros(standard.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds).x
    rounded = [float(f"{number:.6g}") for number in theta]
    return ConfidenceModel(
        names,
        tuple(float(f"{number:.6g}") for number in means),
        tuple(float(f"{number:.6g}") for number in scales),
        tuple(rounded[:-1]),
        rounded[-1],
        _PROVED,
        sizes,
    )
