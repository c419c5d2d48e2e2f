"""Metrics for compilation: of the whole answer, of each step, and feedback in words."""

from triplecheck.optimize.metrics.answering import proved, whole
from triplecheck.optimize.metrics.case import Case, StepCall, StepScore
from triplecheck.optimize.metrics.feedback import feedback, feedback_metric, score_call, step_metric

__all__ = [
    "Case",
    "StepScore",
    "StepCall",
    "feedback",
    "feedback_metric",
    "proved",
    "score_call",
    "step_metric",
    "whole",
]
