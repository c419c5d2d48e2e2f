"""`revised_triplets`: a model that sees why its triplets cannot be used or satisfied rewrites them once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from triplecheck.lms import RolePredict
from triplecheck.programs.assists.doubts import unknown_missing
from triplecheck.programs.assists.table import Assists
from triplecheck.programs.base import Note
from triplecheck.programs.steps import Checked, Trace
from triplecheck.programs.triplets import Triplets, write_triplet
from triplecheck.signatures import ReviseTriplets


class Matched(Protocol):
    """What triplets lead to (`fourstepfocus.substitution.Substituted`)."""

    @property
    def faults(self) -> Sequence[str]:
        """Why triplets could not be used or satisfied."""

    @property
    def found(self) -> bool:
        """Whether any node satisfies them."""


Result = TypeVar("Result", bound=Matched)


def revising_step(assists: Assists) -> RolePredict | None:
    """The step that rewrites triplets, if it is asked."""
    check = unknown_missing(assists, "revised")
    return RolePredict(ReviseTriplets, role="query", check=check) if "revised_triplets" in assists else None


def revised_triplets(
    step: RolePredict | None,
    wrote: Note,
    inputs: Mapping[str, Any],
    triplets: Triplets,
    found: Result,
    again: Callable[[Sequence[str], str], Result],
    trace: Trace,
) -> Result | None:
    """What the better triplets lead to, the first or the revised ones; None if there is nothing to revise.

    Args:
        step: of `revising_step`.
        wrote: `Program.wrote`.
        inputs: of the step that wrote the first triplets.
        triplets: the first ones.
        found: what they lead to.
        again: reads and substitutes triplets, given the lines and the variable that is asked for.
        trace: records the reply and what it changes.
    """
    if step is None or not found.faults:
        return None
    failed = [write_triplet(p) for p in triplets.patterns] + [dropped.pattern for dropped in triplets.dropped]
    reply = step(**inputs, failed=failed, reasons=list(found.faults))
    wrote(trace, step, reply)
    revised = again(reply.revised, reply.answer)
    better = revised.found and (len(revised.faults) <= len(found.faults) or not found.found)
    trace.add(Checked("revised triplets", better, "taken" if better else "the first ones are kept"))
    if better:
        Assists.note(trace, "revised_triplets", "TripletsFromQuery", failed, list(reply.revised))
    return revised if better else found
