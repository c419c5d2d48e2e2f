"""Confidence: the probability that an answer is right, by a logistic model over features of its proof.

The coefficients are in `confidence.json`, and used for every program and every model. They are fitted on several
graphs: `triplecheck report truth --data DIR` writes the file beside its report, to be copied here. Features are
computed from the question, the proof and the trace alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter, ValidationError

from triplecheck.kg import UserError
from triplecheck.kg.errors import extra
from triplecheck.lms.extractive.relevance import LEAST_SUPPORT
from triplecheck.programs.proof import LEAST_COVERAGE, Proof
from triplecheck.programs.steps import Computed, Expanded, Picked

PACKAGED = Path(__file__).parent / "confidence.json"
_PENALTY = 10.0
"""Weight of the squared coefficients, which are of standardised features."""

_PEOPLE = ("who", "whom", "whose")


def features_of(proof: Proof) -> dict[str, float]:
    """Features of the proof of an answer, by name; most lie between 0 and 1.

    - `score`, `support`: of the best path, see `PathRelevance`; `margin`: its score less that of the next best path;
      `rank`: the share of other paths that score less;
    - `covered_least`, `covered_mean`: of the parts of the question, by a relation or type in the proof;
    - `part_least`, `part_mean`, `hop_least`: see `Proof.matched`;
    - `weakest`: the least of `covered_least`, `part_least`, `hop_least` (where nothing is computed) and `support`;
    - `likeness`: cosine of the question and the evidence in words;
    - `type_fit`: cosine of what the question asks for and the types of the answers; `type_known`: whether both are
      known; `kind_fit`: 1 if the answer is a date, a number or an entity as the question word asks, -1 if it is not,
      or if it is of another class than the question asks for;
    - `hops`, `spare_hops`: of the path, and of these more than there are parts of the question; `backward`: share of
      relations followed backwards unasked; `paths`: different paths in the proof;
    - `answers`: log of their number; `followed`: 1 / sqrt(paths that were expanded);
    - `topics`: share of the linked topics that the evidence has; `ambiguous`: log of what a mention may mean;
      `linking`: the least score of the linked topics;
    - `uncovered`: conditions without a fact; `computed`: whether code computed it; `grounded`; `doubts`.
    """
    found, relevance = proof.found, proof.relevance
    paths = [path for path in proof.paths if path]
    scores = relevance.paths(paths)
    best = float(scores.max()) if len(scores) else -1.0
    path = paths[int(scores.argmax())] if len(scores) else ()
    others = relevance.paths(proof.alternatives)
    covered = list(proof.coverage.values()) or [0.0]
    fit, known = _type_fit(proof)
    part_least, part_mean, hop_least = proof.matched
    nodes = {end for head, _, tail in found.evidence for end in (head, tail)}
    used = [bool(nodes & {proof.graph.find(id) for id in step.chosen}) for step in proof.linked]
    hops = len(path)
    computed = float(any(isinstance(step, Computed | Picked) for step in proof.steps))
    support = min((relevance.support(path) for path in paths), default=0.0)
    return {
        "score": best,
        "support": support,
        "weakest": min(min(covered), part_least, max(hop_least, computed), support),
        "margin": float(np.clip(best - others.max(), -1, 1)) if len(others) else 1.0,
        "rank": float((others < best).mean()) if len(others) else 1.0,
        "covered_least": min(covered),
        "covered_mean": sum(covered) / len(covered),
        "part_least": part_least,
        "part_mean": part_mean,
        "hop_least": hop_least,
        "likeness": _likeness(proof),
        "type_fit": fit,
        "type_known": known,
        "kind_fit": _kind_fit(proof),
        "hops": float(hops),
        "spare_hops": float(max(0, hops - len(relevance.segments))),
        "backward": relevance.backwards(path) / max(1, hops),
        "paths": float(len(paths)),
        "answers": math.log1p(len(found.answers)),
        "followed": 1 / math.sqrt(max(1, sum(isinstance(step, Expanded) for step in proof.steps))),
        "topics": sum(used) / len(used) if used else 0.0,
        "ambiguous": math.log(max((len(step.chosen) for step in proof.linked), default=1)),
        "linking": min((float(step.candidates[0]["score"]) for step in proof.linked if step.candidates), default=0.0),
        "uncovered": float(len(proof.uncovered)),
        "computed": computed,
        "grounded": float(found.grounded),
        "doubts": float(bool(found.doubts)),
    }


def uncovered_parts(proof: Proof) -> list[str]:
    """The conditions and parts of a question that its proof does not cover, in the question's words."""
    parts = [text for text, cosine in proof.coverage.items() if cosine < LEAST_COVERAGE]
    return list(dict.fromkeys([*proof.uncovered, *parts]))


def says_what_is_asked(features: Mapping[str, float]) -> bool:
    """Whether every relation of a proof is one that the question may name."""
    return features.get("support", 0.0) >= LEAST_SUPPORT and features.get("kind_fit", 0.0) >= 0


def _likeness(proof: Proof) -> float:
    edges = proof.found.evidence[:8]
    labels = iter(proof.graph.labels([end for head, _, tail in edges for end in (head, tail)]))
    said = "; ".join(
        f"{next(labels)} {proof.graph.relation(relation).label} {next(labels)}" for _, relation, _ in edges
    )
    first, second = proof.encode([proof.spelt, said])
    return min(1.0, max(0.0, float(first @ second)))


def _type_fit(proof: Proof) -> tuple[float, float]:
    """Greatest cosine of what is asked for and a type of the answers, and whether both are known."""
    asked = [segment.text for segment in proof.relevance.segments if segment.kind == "asked"]
    if not asked and set(proof.parsed.words) & set(_PEOPLE):
        asked = ["person"]
    if not asked or not proof.types:
        return 0.0, 0.0
    return float((proof.encode(proof.types) @ proof.encode(asked[:1])[0]).max()), 1.0


def _kind_fit(proof: Proof) -> float:
    words, kind = proof.parsed.words, proof.kind
    whether = proof.parsed.asks_whether
    if proof.misses_class:
        return -1.0
    if kind == "yes or no" or whether:
        return 1.0 if (kind == "yes or no") == whether else -1.0
    if "when" in words:
        return 1.0 if kind in ("time", "number") else -1.0
    if proof.parsed.counts:
        return 1.0 if kind == "number" else -1.0
    if {"who", "whom", "whose", "where"} & set(words):
        return -1.0 if kind in ("number", "time") else 1.0
    return 0.0


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
        floor: confidence below which a supported answer is withheld by default.
        fitted_on: the sets of questions, with their numbers of answers.
    """

    names: tuple[str, ...]
    means: tuple[float, ...]
    scales: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float
    proved: float
    floor: float
    fitted_on: Mapping[str, int]

    def __call__(self, features: Mapping[str, float]) -> float:
        """The probability that the answer with these features is right; an unknown feature counts as its mean."""
        odds = self.bias
        for name, mean, scale, weight in zip(self.names, self.means, self.scales, self.weights, strict=True):
            odds += weight * (features.get(name, mean) - mean) / scale
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))

    def to_json(self) -> str:
        """As the text of a file."""
        return json.dumps(asdict(self), indent=1) + "\n"


@cache
def packaged_model() -> ConfidenceModel:
    """The model that comes with Triplecheck."""
    return read_model(PACKAGED)


def read_model(path: Path) -> ConfidenceModel:
    """Read a model.

    Raises:
        UserError: the file is not one.
    """
    try:
        return TypeAdapter(ConfidenceModel).validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise UserError(
            f"{path}: is no confidence model ({error}); `triplecheck report truth --data DIR` writes one"
        ) from error


def fit_model(
    rows: Sequence[Mapping[str, float]],
    right: Sequence[bool],
    groups: Sequence[str],
    *,
    proved: float = 0.9,
    floor: float = 0.5,
) -> ConfidenceModel:
    """Fit a model by penalised maximum likelihood; each group of answers has the same weight in all.

    Args:
        rows: features of each answer, n of them.
        right: whether each answer is right.
        groups: the set of questions of each answer.
        proved: see `ConfidenceModel`.
        floor: see `ConfidenceModel`.

    Raises:
        UserError: there is no right or no wrong answer.
    """
    if len(set(right)) < 2:
        raise UserError("a confidence model needs right answers and wrong ones; evaluate more questions")
    with extra("stats", "Fitting a confidence model"):
        from scipy.optimize import minimize
    names = tuple(sorted({name for row in rows for name in row}))
    values = np.array([[row.get(name, 0.0) for name in names] for row in rows])
    labels = np.array(right, float)
    sizes = {group: groups.count(group) if isinstance(groups, list) else list(groups).count(group) for group in groups}
    weight = np.array([len(groups) / len(sizes) / sizes[group] for group in groups])
    means = np.average(values, axis=0, weights=weight)
    scales = np.sqrt(np.average((values - means) ** 2, axis=0, weights=weight))
    scales[scales < 1e-6] = 1.0
    standard = np.column_stack([(values - means) / scales, np.ones(len(values))])

    def loss(theta: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        odds = standard @ theta
        errors = weight * (1 / (1 + np.exp(-odds)) - labels)
        value = (weight * (np.logaddexp(0, odds) - labels * odds)).sum() + _PENALTY * (theta[:-1] ** 2).sum()
        return float(value), standard.T @ errors + 2 * _PENALTY * np.append(theta[:-1], 0)

    theta = minimize(loss, np.zeros(standard.shape[1]), jac=True, method="L-BFGS-B").x
    rounded = [float(f"{number:.6g}") for number in theta]
    return ConfidenceModel(
        names,
        tuple(float(f"{number:.6g}") for number in means),
        tuple(float(f"{number:.6g}") for number in scales),
        tuple(rounded[:-1]),
        rounded[-1],
        proved,
        floor,
        sizes,
    )
