"""Metrics to compile for: the whole answer, each step alone, and what was wrong in words."""

from triplecheck.optimize.metrics.case import Case
from triplecheck.optimize.metrics.feedback import feedback, feedback_metric, score_call
from triplecheck.optimize.metrics.scored import Scored, StepCall, StepMetric
from triplecheck.optimize.metrics.steps import step_metric
from triplecheck.optimize.metrics.whole import proved, whole

__all__ = [
    "Case",
    "Scored",
    "StepCall",
    "StepMetric",
    "feedback",
    "feedback_metric",
    "proved",
    "score_call",
    "step_metric",
    "whole",
]
