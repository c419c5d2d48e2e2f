"""The option `critic`: the model sees why its triplets cannot be used or satisfied, and rewrites them once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from triplecheck.lms import RolePredict
from triplecheck.programs.base import Note
from triplecheck.programs.fourstepfocus.substitution import Substituted
from triplecheck.programs.steps import Checked, Trace
from triplecheck.programs.triplets import Triplets, write_triplet


def revise(
    step: RolePredict,
    wrote: Note,
    inputs: Mapping[str, Any],
    triplets: Triplets,
    found: Substituted,
    again: Callable[[Sequence[str], str], Substituted],
    trace: Trace,
) -> Substituted:
    """What the better triplets lead to, the first or the revised ones.

    Args:
        inputs: of the step that wrote the first triplets.
        found: what they lead to.
        again: reads and substitutes triplets, given the lines and the variable that is asked for.
        trace: records the reply, and which triplets are better.
    """
    failed = [write_triplet(p) for p in triplets.patterns] + [dropped.pattern for dropped in triplets.dropped]
    reply = step(**inputs, failed=failed, reasons=list(found.faults))
    wrote(trace, step, reply)
    revised = again(reply.revised, reply.answer)
    better = revised.found and (len(revised.faults) <= len(found.faults) or not found.found)
    trace.add(Checked("revised triplets", better, "taken" if better else "the first ones are kept"))
    return revised if better else found
