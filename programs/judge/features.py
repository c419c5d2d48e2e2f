"""Features of the proof of an answer, for its confidence: from the question, the proof and the trace alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from triplecheck.kg.ranker import PathRanker
from triplecheck.kg.relation_vectors import RelationVectors
from triplecheck.language.coverage import LeftOut
from triplecheck.language.relevance import LEAST_SUPPORT
from triplecheck.programs.judge.left_out import further, other_names, uncovered
from triplecheck.programs.judge.proof import LEAST_COVERAGE, Proof
from triplecheck.programs.judge.ranked import ideal_hop
from triplecheck.programs.steps import Expanded, Matched

if TYPE_CHECKING:
    from triplecheck.kg.plans import Answers, Plan

QUERY = "query"
"""The feature that answers of a query have, and no others."""


def features_of(proof: Proof, ranker: PathRanker, relations: RelationVectors | None = None) -> dict[str, float]:
    """Features of the proof of an answer, by name; most lie between 0 and 1. What it does not tell is left out.

    - `support`: of the least supported path, see `PathRelevance` (not in the model);
    - `ideal_hop`: see `judge.ranked.ideal_hop`;
    - `covered_least`: of the parts of the question, by a relation or type in the proof;
    - `likeness`: cosine of the question and the evidence in words;
    - `kind_fit`: 1 if the answer is a date, a number or an entity as the question word asks, -1 if it is not, if it
      is of another class than the question asks for, or if it is what the question names (not in the model);
    - `hops`, `spare_hops`: of the path, and of these more than there are parts of the question;
    - `followed`: 1 / sqrt(paths that were expanded); `patterns`: whether triple patterns were solved instead;
    - `topics`: share of the linked topics that the evidence has; `grounded`;
    - `uncovered`: conditions without a fact, topics of another number than the question says, and what lies beyond.

    An answer of a query has those of `query_features` alone.

    Args:
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
        "uncovered": float(len(uncovered(proof)) + len(further(proof)) + len(other_names(proof))),
        "grounded": float(found.grounded),
    }
    if found.evidence:
        first, second = proof.encode(said)
        features["likeness"] = min(1.0, max(0.0, float(first @ second)))
    if proof.linked:
        features["topics"] = sum(used) / len(used)
    if (ideal := ideal_hop(proof, ranker, relations)) is not None:
        features["ideal_hop"] = ideal
    return features


def query_features(
    plan: Plan, answers: Answers, said: LeftOut, hints: Sequence[object], tries: int
) -> Mapping[str, float]:
    """Features of a query and of its result, by name.

    - `query`: 1;
    - `weakest`: likeness of the word of the question that its names say least;
    - `maybe`: words that its relations may mean, but do not name;
    - `hints`: whether something in it matches nothing; `again`: whether it was written again after a problem;
    - `joins`: relations besides the first; `operations`: what it does besides matching triples;
    - `ties`: whether other rows equal the given ones in what they are sorted by.

    Args:
        said: what it leaves out of the question.
        hints: why it may find nothing.
        tries: how many queries were written before it.
    """
    return {
        QUERY: 1.0,
        "weakest": said.weakest,
        "maybe": float(len(said.maybe)),
        "hints": float(bool(hints)),
        "again": float(bool(tries)),
        "joins": float(max(0, len(plan.relations) - 1)),
        "operations": float(len({one.name for one in plan.operations} - {"distinct", "limit"})),
        "ties": float(bool(answers.ties)),
    }


def uncovered_parts(proof: Proof) -> list[str]:
    """The conditions and parts of a question that its proof does not cover, in the question's words."""
    parts = [text for text, cosine in proof.coverage.items() if cosine < LEAST_COVERAGE]
    return list(dict.fromkeys([*uncovered(proof), *parts]))


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
