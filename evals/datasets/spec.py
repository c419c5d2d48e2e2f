"""What is known of a published data set: where it is, under which licence, and how its rows become questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from triplecheck.evals.questions import Question

Row = Mapping[str, Any]
"""A question as the data set's own file has it."""

Adapter = Callable[[Row, str], Question]
"""Makes a question of a row, without looking at anything else. The text is an id for rows that have none.

Raises ValueError, KeyError or TypeError where the row is not what the data set's format says.
"""

Reader = Callable[[Path, str], Iterator[tuple[int | None, Row]]]
"""The rows of a split in a file: line number, where the format has lines, and row."""


@dataclass(frozen=True)
class Hub:
    """Where the Hugging Face hub has a data set."""

    id: str
    """`owner/name`; or a directory with the same files."""
    splits: Mapping[str, str]
    """Its name of each split of ours."""
    revision: str | None = None
    """Commit, branch or tag; None: what is newest."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Files of each of its splits, where the hub does not tell them apart by itself."""
    index: Mapping[str, str] = field(default_factory=dict)
    """Files with the `id` of each row of a split of ours, one a line, where a split is given so."""
    adapt: Adapter | None = None
    """Where its rows are not those of the official files."""
    unused: tuple[str, ...] = ()
    """Columns that hold much and are not needed."""


@dataclass(frozen=True)
class DataSet:
    """A published data set."""

    name: str
    title: str
    about: str
    """One sentence: over which graph, and what it is hard at."""
    splits: Mapping[str, tuple[str, ...]]
    """By name of the split, the official files that make it up: patterns of names, each with one file."""
    default_split: str
    """The one that results are usually given for."""
    read: Reader
    adapt: Adapter
    get: str
    """How to come by the official files."""
    url: str
    paper: str
    licence: str
    hub: Hub | None = None
    keep: Callable[[Row, str], bool] | None = None
    """Whether a row belongs to a split, where files hold several."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Questions by split, as published."""
