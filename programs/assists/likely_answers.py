"""`likely_answers`: a ranking becomes a set of answers, or none."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from triplecheck.kg import Graph
from triplecheck.programs.assists.table import Assists
from triplecheck.programs.steps import Trace


def likely_answers(
    assists: Assists,
    graph: Graph,
    ranked: Mapping[int, float | None],
    satisfying: Collection[int],
    named: Collection[int],
    share: float,
    least: float | None,
    trace: Trace,
) -> list[int]:
    """The nodes that satisfy the patterns and score about best; else the first that scores enough; else none.

    Without the assist the answer is the first of the ranking.

    Args:
        ranked: the candidates, best first, with their scores.
        satisfying: those that satisfy the patterns.
        named: nodes that the patterns name, which are no answers.
        share: of the best score, for a node that satisfies the patterns.
        least: score of a node that does not; None if there are no scores.
        trace: records other answers than the first of the ranking.
    """
    first = list(ranked)[:1]
    if "likely_answers" not in assists:
        return first
    scores = {node: ranked[node] or 0.0 for node in ranked if node in satisfying}
    found = [node for node, score in scores.items() if score >= share * max(scores.values())]
    if not found:
        fits = (node for node, score in ranked.items() if least is None or (score is not None and score >= least))
        found = [node for node in fits if node not in named][:1]
    assists.note(trace, "likely_answers", "ranking", graph.labels(first), graph.labels(found))
    return found
