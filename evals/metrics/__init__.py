"""Metrics: small pure functions, strict. An empty text and a part of a text never match anything.

`text` compares one text with gold texts, `answers` answers with gold answers, by node or by name;
`ranking` is over ranked nodes; `crag` counts right, wrong and missing; `retrieval` and `citation` look at
what a program found and cited; `calibration` at its confidence; `significance` at what chance can do;
`popularity` groups questions; `trace` tells where a loop stopped and what became of its references.
What is not strict is called `lenient_...` and stands only beside the rest.
"""

from triplecheck.evals.metrics.answers import GoldAnswer, Predicted, SetScores, hit, hits_at_1, matches, set_scores
from triplecheck.evals.metrics.calibration import (
    RiskCoverage,
    area_under_risk_coverage,
    expected_calibration_error,
    risk_coverage,
)
from triplecheck.evals.metrics.citation import citation_precision
from triplecheck.evals.metrics.crag import Outcome, crag_outcome, truthfulness
from triplecheck.evals.metrics.popularity import BANDS, bands
from triplecheck.evals.metrics.ranking import hit_at_k, recall_at_k, reciprocal_rank
from triplecheck.evals.metrics.retrieval import anchor_accuracy, link_recall, retrieval_recall
from triplecheck.evals.metrics.significance import (
    PairedDifference,
    bootstrap_interval,
    mcnemar,
    paired_bootstrap,
    randomisation,
)
from triplecheck.evals.metrics.text import exact_match, lenient_match, squad_normalize, token_f1

__all__ = [
    "BANDS",
    "GoldAnswer",
    "Outcome",
    "PairedDifference",
    "Predicted",
    "RiskCoverage",
    "SetScores",
    "anchor_accuracy",
    "area_under_risk_coverage",
    "bands",
    "bootstrap_interval",
    "citation_precision",
    "crag_outcome",
    "exact_match",
    "expected_calibration_error",
    "hit",
    "hit_at_k",
    "hits_at_1",
    "lenient_match",
    "link_recall",
    "matches",
    "mcnemar",
    "paired_bootstrap",
    "randomisation",
    "recall_at_k",
    "reciprocal_rank",
    "retrieval_recall",
    "risk_coverage",
    "set_scores",
    "squad_normalize",
    "token_f1",
    "truthfulness",
]
