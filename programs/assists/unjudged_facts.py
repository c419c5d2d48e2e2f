"""`unjudged_facts`: facts that were not judged sufficient may hold the answer."""

from __future__ import annotations

from collections.abc import Callable

from triplecheck.programs.assists.table import Assists
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.steps import Trace


def unjudged_facts(
    assists: Assists, kept: int, read: int, answer: Callable[[], Outcome], trace: Trace
) -> Outcome | None:
    """The answer from all facts that were kept; None without one, or if the model has read all of them.

    Args:
        read: how many of them the model has answered from without success.
    """
    found = answer() if "unjudged_facts" in assists and kept > read else None
    if found is None or found.abstained is not None:
        return None
    assists.note(trace, "unjudged_facts", "JudgeSufficiency", [], [found.answer])
    return found
