"""Plausibility of triples: text triples grounded in the graph, scores from embeddings, verdicts, calibration."""

from triplecheck.kg.plausibility.calibration import Roc, calibrate, separating_threshold
from triplecheck.kg.plausibility.ground import Grounded, Grounder, Skip, TextTriple
from triplecheck.kg.plausibility.scores import METHODS, Plausibility
from triplecheck.kg.plausibility.verdicts import GraphJudge, TripleVerdict

__all__ = [
    "METHODS",
    "Grounded",
    "Grounder",
    "GraphJudge",
    "Plausibility",
    "Roc",
    "Skip",
    "TextTriple",
    "TripleVerdict",
    "calibrate",
    "separating_threshold",
]
