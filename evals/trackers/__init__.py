"""Who else is told of an evaluation: MLflow, or one's own."""

from triplecheck.evals.trackers.base import Tracker, Trackers
from triplecheck.evals.trackers.mlflow_runs import MlflowRuns

__all__ = ["MlflowRuns", "Tracker", "Trackers"]
