"""Metrics: small pure functions, strict. An empty text and a part of a text never match anything.

`text` compares one text with gold texts, `answers` answers with gold answers, by node or by name;
`ranking` is over ranked nodes; `crag` counts right, wrong and missing; `retrieval` and `citation` look at
what a program found and cited; `calibration` at its confidence; `significance` at what chance can do;
`popularity` groups questions; `trace` tells where a loop stopped and what became of its references.
What is not strict is called `lenient_...` and stands only beside the rest.
"""

from triplecheck.evals.metrics.answers import (
    GoldAnswer,
    Outcome,
    Predicted,
    SetScores,
    crag_outcome,
    exact_match,
    hit,
    hits_at_1,
    lenient_match,
    matches,
    set_scores,
    squad_normalize,
    token_f1,
    truthfulness,
)
from triplecheck.evals.metrics.retrieval import (
    BANDS,
    anchor_accuracy,
    bands,
    citation_precision,
    hit_at_k,
    link_recall,
    recall_at_k,
    reciprocal_rank,
    retrieval_recall,
)
from triplecheck.evals.metrics.statistics import (
    PairedDifference,
    RiskCoverage,
    area_under_risk_coverage,
    bootstrap_interval,
    expected_calibration_error,
    mcnemar,
    paired_bootstrap,
    randomisation,
    risk_coverage,
)

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
