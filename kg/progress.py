"""Progress callbacks of long operations."""

from __future__ import annotations

from collections.abc import Callable

ProgressCallback = Callable[[str, int, int | None], None]
"""Called as (step, units done, total or None). After a colon, the step may add a detail such as a score."""


def no_progress(what: str, done: int, total: int | None) -> None:
    """A callback that does nothing."""
