"""Sets of demonstrations of a step: the worked examples, own calls, both, or none."""

from __future__ import annotations

import random
from collections.abc import Sequence

import dspy

from triplecheck.lms.predict import RolePredict
from triplecheck.optimize.tuning.recorded import RecordedCall

MOST = 4
"""Own demonstrations of a step."""
_SHORTEST_OF = 3


Demos = tuple[dspy.Example, ...]
"""In the order in which prompts show them."""


def demo_sets(step: RolePredict, calls: Sequence[RecordedCall], seed: int = 0) -> dict[str, Demos]:
    """The sets of demonstrations of a step, without duplicates, the one that it has first.

    They are `worked`, `worked + own`, `none` and `own`; a step without worked examples has `none` and `own` alone.
    """
    worked, own = tuple(step.demos), tuple(own_demos(calls, seed))
    given: dict[str, Demos] = {"worked": worked, "worked + own": (*worked, *own)} if worked else {}
    found: dict[str, Demos] = {}
    for name, demos in {**given, "none": (), "own": own}.items():
        if demos not in found.values():
            found[name] = demos
    return found


def own_demos(calls: Sequence[RecordedCall], seed: int, most: int = MOST) -> list[dspy.Example]:
    """Calls with the full score, one of each kind in turn, of different questions; of a few candidates the shortest."""
    lot = random.Random(seed)
    by_kind: dict[str, list[RecordedCall]] = {}
    for call in sorted(calls, key=lambda call: (call.kind, call.id)):
        if call.full:
            by_kind.setdefault(call.kind, []).append(call)
    for some in by_kind.values():
        lot.shuffle(some)
    found: list[RecordedCall] = []
    while by_kind and len(found) < most:
        # The kinds with most calls come first: fewer demonstrations than kinds show what is asked most.
        for kind, some in sorted(by_kind.items(), key=lambda item: -len(item[1])):
            left = [call for call in some if call.id not in {other.id for other in found}]
            if not left:
                del by_kind[kind]
            elif len(found) < most:
                chosen = min(left[:_SHORTEST_OF], key=lambda call: call.size)
                found.append(chosen)
                by_kind[kind] = [call for call in left if call is not chosen]
    return [call.example.copy(augmented=True) for call in found]
