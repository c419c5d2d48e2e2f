"""Confidence: the probability that an answer is right, by logistic models over features of its proof.

There is a model for each kind of language model that answered and each way to the answer, so that a confidence means
the same whoever gives it. The coefficients are in `confidence.json`. They are fitted on several graphs: `triplecheck
report truth --data DIR` writes the file beside its report, to be copied here; with `--lm MODEL` also the models for
answers of language models. Features are computed from the question, the proof and the trace alone.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter, ValidationError

from triplecheck.kg import UserError
from triplecheck.kg.errors import extra
from triplecheck.kg.ranker import PathRanker
from triplecheck.kg.relation_vectors import RelationVectors
from triplecheck.language.relevance import LEAST_SUPPORT
from triplecheck.lms.resolve import is_extractive
from triplecheck.programs.judge.proof import LEAST_COVERAGE, Proof
from triplecheck.programs.judge.queries import QUERY
from triplecheck.programs.judge.ranked import ranked_features
from triplecheck.programs.steps import Expanded, Matched, TraceEvent, Wrote

PACKAGED = Path(__file__).parent / "confidence.json"
_PENALTY = 30.0
"""Weight of the squared coefficients, which are of standardised features."""
_BETTER = ("covered_least", "grounded", "ideal_hop", "likeness", "topics", "weakest")
_WORSE = ("again", "hints", "joins", "maybe", "operations", "spare_hops", "ties", "uncovered")

BASELINE, LANGUAGE_MODEL = "extractive", "language model"
"""The kinds of models that answer: the rule-based baseline alone, or a language model in one role or more."""
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
"""Least confidence of a proved answer: below it, it is more likely wrong than right."""


def features_of(proof: Proof, ranker: PathRanker, relations: RelationVectors | None = None) -> dict[str, float]:
    """Features of the proof of an answer, by name; most lie between 0 and 1. What it does not tell is left out.

    - `support`: of the least supported path, see `PathRelevance` (not in the model);
    - `ideal_hop`: see `ranked_features`, whose other features are not in the model;
    - `covered_least`: of the parts of the question, by a relation or type in the proof;
    - `likeness`: cosine of the question and the evidence in words;
    - `kind_fit`: 1 if the answer is a date, a number or an entity as the question word asks, -1 if it is not, if it
      is of another class than the question asks for, or if it is what the question names (not in the model);
    - `hops`, `spare_hops`: of the path, and of these more than there are parts of the question;
    - `followed`: 1 / sqrt(paths that were expanded); `patterns`: whether triple patterns were solved instead;
    - `topics`: share of the linked topics that the evidence has; `uncovered`: conditions without a fact; `grounded`.

    An answer of a query has those of `query_features` alone.

    Args:
        proof: of the answer.
        ranker: of paths.
        relations: vectors of the graph's relations; None: not known.
    """
    found = proof.found
    if found.query:
        return dict(found.features)
    relevance = proof.relevance
    paths = [path for path in proof.paths if path]
    said = [proof.spelt, _said(proof)] if found.evidence else []
    labels = [hop.label for path in (*paths, *proof.alternatives) for hop in path]
    relevance.prepare([*labels, *proof.types], [*proof.masked, *said])
    scores = relevance.paths(paths)
    hops = len(paths[int(scores.argmax())]) if len(scores) else 0
    nodes = {end for head, _, tail in found.evidence for end in (head, tail)}
    used = [bool(nodes & {proof.graph.find(id) for id in step.chosen}) for step in proof.linked]
    features = {
        "support": min((relevance.support(path) for path in paths), default=0.0),
        "kind_fit": _kind_fit(proof),
        "covered_least": min(proof.coverage.values(), default=0.0),
        "hops": float(hops),
        "spare_hops": float(max(0, hops - len(relevance.segments))),
        "followed": 1 / math.sqrt(max(1, sum(isinstance(step, Expanded) for step in proof.steps))),
        "patterns": float(any(isinstance(step, Matched) for step in proof.steps)),
        "uncovered": float(len(proof.uncovered)),
        "grounded": float(found.grounded),
    }
    if found.evidence:
        first, second = proof.encode(said)
        features["likeness"] = min(1.0, max(0.0, float(first @ second)))
    if proof.linked:
        features["topics"] = sum(used) / len(used)
    return features | ranked_features(proof, ranker, relations)


def uncovered_parts(proof: Proof) -> list[str]:
    """The conditions and parts of a question that its proof does not cover, in the question's words."""
    parts = [text for text, cosine in proof.coverage.items() if cosine < LEAST_COVERAGE]
    return list(dict.fromkeys([*proof.uncovered, *parts]))


def says_what_is_asked(features: Mapping[str, float]) -> bool:
    """Whether every relation of a proof is one that the question may name; the words of a query were checked before."""
    if QUERY in features:
        return True
    return features.get("support", 0.0) >= LEAST_SUPPORT and features.get("kind_fit", 0.0) >= 0


def _said(proof: Proof) -> str:
    """The evidence in words."""
    edges = proof.found.evidence[:8]
    labels = iter(proof.graph.labels([end for head, _, tail in edges for end in (head, tail)]))
    return "; ".join(
        f"{next(labels)} {proof.graph.relation(relation).label} {next(labels)}" for _, relation, _ in edges
    )


def _kind_fit(proof: Proof) -> float:
    asked, kind = proof.parsed.asked.kind, proof.kind
    whether = proof.parsed.asks_whether
    if proof.misses_class or proof.echoes:
        return -1.0
    if kind == "yes or no" or whether:
        return 1.0 if (kind == "yes or no") == whether else -1.0
    if asked == "time":
        return 1.0 if proof.is_time else 0.0 if proof.names_year and kind != "number" else -1.0
    if proof.parsed.counts:
        return 1.0 if kind == "number" else -1.0
    if asked in ("person", "place"):
        return -1.0 if kind in ("number", "time") else float(proof.fits_word)
    return 0.0


def kind_of(models: Iterable[str]) -> str:
    """`BASELINE` or `LANGUAGE_MODEL`, by the names of the models whose replies led to an answer."""
    return BASELINE if all(map(is_extractive, models)) else LANGUAGE_MODEL


def models_of(steps: Iterable[TraceEvent]) -> list[str]:
    """The names of the models whose replies are in a trace."""
    return [step.model for step in steps if isinstance(step, Wrote)]


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
        """The model for an answer with these features; of the baseline if there is none for the kind and its way.

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
        groups: the graph of each answer.
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
    proved: float = 0.9,
) -> ConfidenceModel:
    """Fit a model by penalised maximum likelihood, with the weights of `weights_of`.

    Args:
        rows: features of each answer, n of them.
        right: whether each answer is right.
        groups: the graph of each answer.
        shares: see `weights_of`.
        names: of the features that the model has.
        proved: see `ConfidenceModel`.

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
        proved,
        sizes,
    )
