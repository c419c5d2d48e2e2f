"""How plausible triples are: scores from embeddings, text triples placed in the graph, calibration."""

from triplecheck.kg.plausibility.calibration import Roc, calibrate
from triplecheck.kg.plausibility.ground import Grounded, Grounder, TextTriple
from triplecheck.kg.plausibility.reasons import Skip
from triplecheck.kg.plausibility.scores import AGGREGATES, METHODS, Plausibility, Scores, TripleScore
from triplecheck.kg.plausibility.verdicts import Judge, Judged, Verdict

__all__ = [
    "AGGREGATES",
    "METHODS",
    "Grounded",
    "Grounder",
    "Judge",
    "Judged",
    "Plausibility",
    "Roc",
    "Scores",
    "Skip",
    "TextTriple",
    "TripleScore",
    "Verdict",
    "calibrate",
]
