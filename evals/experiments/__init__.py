"""Experiments as configuration files: one command runs them and writes tables and figures."""

from triplecheck.evals.experiments.config import Experiment, experiment_names, read_experiment
from triplecheck.evals.experiments.report import write_report
from triplecheck.evals.experiments.run import Cell, Selection, SetOpener, Trained, run_experiment

__all__ = [
    "Cell",
    "Experiment",
    "Selection",
    "SetOpener",
    "Trained",
    "experiment_names",
    "read_experiment",
    "run_experiment",
    "write_report",
]
