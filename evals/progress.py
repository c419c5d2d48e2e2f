"""How far a running evaluation is."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_LATEST = 64
"""Number of latest rows that the pace is computed from: enough to average over slow and fast questions, few enough to
follow a model that slows down."""


@dataclass(frozen=True, slots=True)
class Progress:
    """A running evaluation, after one more row."""

    done: int
    """Number of questions with a row, including kept rows."""
    total: int
    kept: int
    """Number of rows kept from an earlier run."""
    hits_at_1: float | None
    """Mean so far over scored answerable questions; None before the first."""
    errors: int
    """Number of error rows; they are not scored."""
    seconds: float
    """Seconds since this run started."""
    eta: float | None
    """Estimated remaining seconds at the pace of the latest rows; None before the first new row."""


class Tally:
    """Computes the `Progress` of a run."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = self._kept = self._errors = self._scored = 0
        self._hits = 0.0
        self._began = time.perf_counter()
        self._latest = deque([self._began], maxlen=_LATEST + 1)

    def add(self, row: Mapping[str, Any], *, kept: bool = False) -> None:
        """Count a row."""
        self._done += 1
        self._kept += kept
        if not kept:
            self._latest.append(time.perf_counter())
        self._errors += row["status"] == "error"
        if row.get("hits_at_1") is not None:
            self._scored += 1
            self._hits += row["hits_at_1"]

    def progress(self) -> Progress:
        """Return the current progress."""
        now = time.perf_counter()
        new = len(self._latest) - 1
        return Progress(
            done=self._done,
            total=self._total,
            kept=self._kept,
            hits_at_1=self._hits / self._scored if self._scored else None,
            errors=self._errors,
            seconds=now - self._began,
            eta=(now - self._latest[0]) / new * (self._total - self._done) if new else None,
        )
