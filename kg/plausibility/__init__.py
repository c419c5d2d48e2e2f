"""Plausibility of triples: text triples grounded in the graph, scores from embeddings, verdicts, calibration."""

from triplecheck.kg.plausibility.calibration import Roc, calibrate, separating_threshold
from triplecheck.kg.plausibility.ground import Grounded, Grounder, Skip, TextTriple
from triplecheck.kg.plausibility.scores import AGGREGATES, METHODS, Plausibility, PlausibilityScores, TripleScore
from triplecheck.kg.plausibility.verdicts import GraphJudge, JudgedTriple, TripleVerdict

__all__ = [
    "AGGREGATES",
    "METHODS",
    "Grounded",
    "Grounder",
    "GraphJudge",
    "JudgedTriple",
    "Plausibility",
    "Roc",
    "PlausibilityScores",
    "Skip",
    "TextTriple",
    "TripleScore",
    "TripleVerdict",
    "calibrate",
    "separating_threshold",
]
