"""Metrics: pure functions, strict by default. An empty text or a substring never matches.

- `answers`: text metrics (SQuAD), answers against gold answers by node or by name, and CRAG's outcomes;
- `retrieval`: rankings, retrieved and linked nodes, citations, and popularity bands;
- `statistics`: calibration, confidence intervals and significance tests;
- `trace`: the turn at which a loop stopped, and how its references were used.

The only non-strict metric is `lenient_match`, which is reported for reference.
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
    say_p,
    write_p,
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
    "say_p",
    "write_p",
]
