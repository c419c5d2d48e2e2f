"""Assists of 4StepFocus, in the order in which a question meets them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from triplecheck.kg import Graph
from triplecheck.kg.patterns import Match, Query
from triplecheck.programs.assists import Assists
from triplecheck.programs.steps import Checked, Trace


# --- `loosened_patterns`: a model asks for a country where the graph has a nationality, or turns an edge around.
def loosened_patterns(
    assists: Assists, query: Query, target: str, solve: Callable[[Query], Match], trace: Trace
) -> Match | None:
    """A match of patterns that nothing satisfies, by things of other types or with looser edges; None without one.

    Types are given up first; then edges may run in either direction; then they may be of any relation, with several
    patterns or for a target with a type: a single one would match every neighbour of its constant.
    """
    if "loosened_patterns" not in assists:
        return None
    ways = [(query.only([p.loosened() for p in query.patterns]), "with edges taken either way")]
    if len(query.patterns) > 1 or target in query.types:
        loosest = [p.loosened(any_relation=True) for p in query.patterns]
        ways.append((query.only(loosest), "with edges of any relation"))
    ways = [(looser, how) for looser, how in ways if looser.patterns != query.patterns]
    if query.types:
        ways.insert(0, (replace(query, types={}), "by things of other types"))
    for looser, how in ways:
        if (found := solve(looser)).emptied_by is None:
            trace.add(Checked("triplets", False, f"they are satisfied only {how}"))
            assists.note(trace, "loosened_patterns", "substitution", [p.text for p in query.patterns], [how])
            return found
    return None


# --- `likely_answers`: a ranking becomes a set of answers, or none.
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
