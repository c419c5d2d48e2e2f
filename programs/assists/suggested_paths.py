"""`suggested_paths`: a small model often selects one path too few."""

from __future__ import annotations

from collections.abc import Sequence

from triplecheck.kg import Graph
from triplecheck.kg.functions import is_function
from triplecheck.programs.assists.ranked_paths import PathScores
from triplecheck.programs.assists.table import Assists
from triplecheck.programs.steps import Trace
from triplecheck.programs.subgraph import Path


def suggested_paths(
    assists: Assists,
    graph: Graph,
    scores: PathScores,
    offered: Sequence[Path],
    lines: Sequence[str],
    keep: Sequence[int],
    limit: int,
    trace: Trace,
) -> list[int]:
    """The numbers of the paths that the model selected, and of those that are followed besides.

    The paths that it selects are followed from every topic. So are, at the first hop, the first `limit` paths of each
    topic in the ranker's order. At later hops the first of these is followed, and the others only if the ranker prefers
    them to all shorter paths. Where the model selects nothing, nothing is followed.

    Args:
        graph: of the paths; a function is called only if the model selects its path.
        offered: the paths that the model read, in their order.
        keep: the numbers that the model selected, from 1.
        trace: records what was added.
    """
    if not keep or not limit or "suggested_paths" not in assists:
        return list(keep)
    best = scores.best_of_shorter(offered) if scores else 0.0
    kept = {offered[number - 1].hops for number in keep}
    found = [*keep, *(number for number, path in enumerate(offered, 1) if path.hops in kept)]
    for topic in scores.hops:
        first = [
            number
            for number, path in enumerate(offered, 1)
            if path.topic == topic and not is_function(graph, path.hops[-1].relation)
        ][:limit]
        found += [number for at, number in enumerate(first) if not at or scores.path(offered[number - 1]) > best]
    found = list(dict.fromkeys(found))
    assists.note(trace, "suggested_paths", "SelectPaths", *([lines[n - 1] for n in some] for some in (keep, found)))
    return found
