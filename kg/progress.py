"""How long work tells how far it is."""

from __future__ import annotations

from collections.abc import Callable

ProgressCallback = Callable[[str, int, int | None], None]
"""Called as (what is being done, done so far, total or None). After a colon, `what` may add a detail, e.g. a score."""


def no_progress(what: str, done: int, total: int | None) -> None:
    """The callback that ignores everything."""
