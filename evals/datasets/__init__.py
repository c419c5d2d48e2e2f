"""Benchmarks: published data sets by name, and those in a folder."""

from triplecheck.evals.datasets.folder import Case, CaseOptions, bundled_case, find_cases, read_folder, read_options
from triplecheck.evals.datasets.load import how_to_get, load_dataset
from triplecheck.evals.datasets.registry import data_set, data_sets
from triplecheck.evals.datasets.spec import DataSet, Hub

__all__ = [
    "Case",
    "CaseOptions",
    "DataSet",
    "Hub",
    "bundled_case",
    "data_set",
    "data_sets",
    "find_cases",
    "how_to_get",
    "load_dataset",
    "read_folder",
    "read_options",
]
