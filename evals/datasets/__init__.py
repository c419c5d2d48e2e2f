"""Benchmarks: published data sets by name, and those in a folder."""

from triplecheck.evals.datasets.folder import (
    DataFolder,
    DataFolderOptions,
    bundled_case,
    find_cases,
    read_folder,
)
from triplecheck.evals.datasets.load import data_set, data_sets, how_to_get, load_dataset
from triplecheck.evals.datasets.spec import DataSet, Hub

__all__ = [
    "DataFolder",
    "DataFolderOptions",
    "DataSet",
    "Hub",
    "bundled_case",
    "data_set",
    "data_sets",
    "find_cases",
    "how_to_get",
    "load_dataset",
    "read_folder",
]
