"""Relaxation: when nothing satisfies all patterns, what satisfies all but the fewest."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from triplecheck.kg.patterns.match import Match
from triplecheck.kg.patterns.query import BoundPattern, Query

TRIES = 256
"""Ways of leaving out patterns that are tried at most."""


@dataclass(frozen=True)
class Relaxed:
    """A match of a part of the patterns.

    Attributes:
        match: what satisfies the patterns that are left.
        left_out: the patterns that were given up.
        tried: ways of leaving out patterns that were looked at.
    """

    match: Match
    left_out: tuple[BoundPattern, ...]
    tried: int


def relax(query: Query, answer: str, solve: Callable[[Query], Match], tries: int = TRIES) -> Relaxed | None:
    """Leave out as few patterns as it takes for the answer to have nodes; of as few, those that keep it smallest.

    What is left must still bear on the answer: patterns that are no longer connected with it are
    left out, too. None where no pattern can be kept, or none of the tried ways leads to a node.

    Args:
        query: patterns without a solution.
        answer: the variable that is asked for.
        solve: matches a part of them.
        tries: ways that are tried at most.
    """
    patterns = sorted(query.patterns, key=lambda pattern: pattern.order)
    tried = 0
    for fewer in range(1, len(patterns)):
        best: tuple[int, Match, tuple[BoundPattern, ...]] | None = None
        for kept in itertools.combinations(patterns, len(patterns) - fewer):
            part = query.only(kept)
            if len(part.around(answer)) < len(kept):
                continue
            if tried == tries:
                break
            tried += 1
            found = solve(part)
            size = found.count(answer)
            if size and (best is None or size < best[0]):
                best = size, found, tuple(pattern for pattern in patterns if pattern not in kept)
        if best is not None:
            return Relaxed(best[1], best[2], tried)
    return None
