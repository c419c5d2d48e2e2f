"""`whole_lists`: a small model cites the first facts of a long list, and the extreme of these is not the list's."""

from __future__ import annotations

from collections.abc import Sequence

from triplecheck.programs.aggregation import EXTREMES
from triplecheck.programs.assists.table import Assists
from triplecheck.programs.conclusion import Conclusion
from triplecheck.programs.subgraph import Fact


def whole_list(assists: Assists, conclusion: Conclusion, operation: str, operands: Sequence[Fact]) -> list[Fact]:
    """All retrieved facts on the path of the operands of an extreme.

    Empty if the operands are all of them or lie on several paths, or if facts of several topics were retrieved.
    """
    paths = {fact.path for fact in operands}
    several = len({fact.path[0] for fact in conclusion.reading.subgraph.facts}) > 1
    if "whole_lists" not in assists or operation not in EXTREMES or len(paths) != 1 or several:
        return []
    whole = conclusion.reading.subgraph.on(paths.pop())
    if len(whole) == len(operands):
        return []
    before, after = conclusion.lines_of(operands), conclusion.lines_of(whole)
    assists.note(conclusion.trace, "whole_lists", "AnswerFromFacts", before, after)
    return whole
