"""`leading_facts`: a model follows a path and does not name the fact that leads to it as relevant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from triplecheck.programs.assists.table import Assists
from triplecheck.programs.steps import Trace
from triplecheck.programs.subgraph import Fact, PathKey


def leading_facts(
    assists: Assists,
    facts: Sequence[Fact],
    relevant: Sequence[Fact],
    shown: Sequence[Fact],
    followed: Iterable[PathKey],
    trace: Trace,
) -> list[Fact]:
    """Of some facts those that the model judged relevant, and those that lead on.

    Args:
        shown: the facts in its prompt. A fact that it had no room for counts as those on the same path.
        followed: the paths that are followed, without their last hops.
        trace: records what was added.
    """
    named, offered = set(map(id, relevant)), set(map(id, shown))
    kept = [fact for fact in facts if id(fact) in named]
    if "leading_facts" not in assists:
        return kept
    paths = {fact.path for fact in relevant}
    leads = set(followed) - paths
    found = [
        fact
        for fact in facts
        if id(fact) in named or fact.path in leads or (id(fact) not in offered and fact.path in paths)
    ]
    assists.note(trace, "leading_facts", "JudgeAndGoOn", [f"{len(kept)} facts"], [f"{len(found)} facts"])
    return found
