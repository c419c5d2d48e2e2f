"""`measured_theta`: theta_0 so that the first threshold tells the graph's own triples from corrupted ones best."""

from __future__ import annotations

from collections.abc import Callable

from triplecheck.programs.assists.table import Assists
from triplecheck.programs.steps import Trace


def measured_theta(
    assists: Assists, given: float | None, otherwise: float, measure: Callable[[], float | None], trace: Trace
) -> float:
    """The given theta_0; without one what is measured, or the other where the assist is off or nothing can be measured.

    Args:
        otherwise: theta_0 of the paper.
        measure: separates held-out triples from corrupted ones; None without any, or without embeddings.
    """
    if given is not None:
        return given
    found = measure() if "measured_theta" in assists else None
    if found is None:
        return otherwise
    assists.note(trace, "measured_theta", "threshold", [f"{otherwise:.3g}"], [f"{found:.3g}"])
    return found
