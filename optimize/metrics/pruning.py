"""Pruning: which of the offered paths, relations or facts were kept, against the gold paths."""

from __future__ import annotations

from collections.abc import Callable

from triplecheck.optimize.metrics.case import Case
from triplecheck.optimize.metrics.gold_paths import is_written, leads_on
from triplecheck.optimize.metrics.scored import Scored, StepCall, StepMetric, listed, overlap
from triplecheck.signatures.notation import read_fact, read_path

_BETA = 2.0
"""What is dropped cannot be had back; what is kept without need costs tokens."""


def keeps_paths(output: str, offered: str = "paths") -> StepMetric:
    """F2 of the numbers in a field against the paths that lead on to the answer."""

    def is_right(case: Case, line: str) -> bool:
        written = read_path(line).hops
        return any(leads_on(case.graph, written, path) for path in case.paths)

    return _keeps(output, offered, is_right, "relation")


def keeps_facts(output: str, offered: str = "facts") -> StepMetric:
    """F2 of the numbers in a field against the facts whose relation lies on a gold path."""

    def is_right(case: Case, line: str) -> bool:
        fact = read_fact(line)
        return fact is not None and any(is_written(case.graph, hop, fact.hop) for path in case.paths for hop in path)

    return _keeps(output, offered, is_right, "fact")


def _keeps(output: str, offered: str, is_right: Callable[[Case, str], bool], what: str) -> StepMetric:
    def score(call: StepCall, case: Case) -> Scored | None:
        lines = [str(line) for line in call.inputs.get(offered) or ()]
        wanted = {number for number, line in enumerate(lines, 1) if is_right(case, line)}
        if not wanted:
            return None  # nothing right was on offer, or what is right is not known: not the fault of this step
        kept = {int(number) for number in call.outputs.get(output) or ()}
        dropped = [lines[number - 1] for number in sorted(wanted - kept)]
        needless = [lines[number - 1] for number in sorted(kept - wanted) if 0 < number <= len(lines)]
        invented = [str(number) for number in sorted(kept) if not 0 < number <= len(lines)]
        return Scored(
            overlap(kept, wanted, _BETA),
            listed(f"Dropped a {what} that leads to the answer", dropped)
            + listed(f"Kept a {what} that does not lead there", needless)
            + listed("Kept numbers that were not on offer", invented)
            or "Exactly what leads to the answer was kept. ",
        )

    return score
