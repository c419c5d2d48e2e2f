"""Trackers: somebody else who is told of an evaluation while it runs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self

from triplecheck.evals.asking import Finished
from triplecheck.evals.progress import Progress
from triplecheck.evals.summary import Summary


class Tracker(Protocol):
    """Told of one run, in this order, from one thread. What is raised here is a warning of the run's."""

    def begin(self, directory: Path, configuration: Mapping[str, Any]) -> None:
        """A run begins, or is taken up again, in a directory."""
        ...

    def row(self, result: Finished, progress: Progress) -> None:
        """A row is written."""
        ...

    def end(self, summary: Summary) -> None:
        """`summary.json` is written."""
        ...

    def close(self) -> None:
        """The run is over, by its end or by an exception."""
        ...


class Trackers:
    """Several trackers, each on its own: one that fails is warned of once and told nothing more. A context manager.

    Args:
        trackers: to be told.
    """

    def __init__(self, trackers: Sequence[Tracker]) -> None:
        self._working = list(trackers)

    def begin(self, directory: Path, configuration: Mapping[str, Any]) -> None:
        """Tell all; see `Tracker`."""
        self._tell(lambda tracker: tracker.begin(directory, configuration))

    def row(self, result: Finished, progress: Progress) -> None:
        """Tell all; see `Tracker`."""
        self._tell(lambda tracker: tracker.row(result, progress))

    def end(self, summary: Summary) -> None:
        """Tell all; see `Tracker`."""
        self._tell(lambda tracker: tracker.end(summary))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._tell(lambda tracker: tracker.close())

    def _tell(self, tell: Callable[[Tracker], None]) -> None:
        for tracker in list(self._working):
            try:
                tell(tracker)
            except Exception as error:  # noqa: BLE001 - whatever a server does, the rows go on
                self._working.remove(tracker)
                warnings.warn(
                    f"{type(tracker).__name__} failed and is told nothing more of this run: {error}", stacklevel=3
                )
