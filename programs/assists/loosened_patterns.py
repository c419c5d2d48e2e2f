"""`loosened_patterns`: a model asks for a country where the graph has a nationality, or gives an edge the wrong way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from triplecheck.kg.patterns import Match, Query
from triplecheck.programs.assists.table import Assists
from triplecheck.programs.steps import Checked, Trace


def loosened_patterns(
    assists: Assists, query: Query, target: str, solve: Callable[[Query], Match], trace: Trace
) -> Match | None:
    """A match of patterns that nothing satisfies, by things of other types or with looser edges; None without one.

    Types are given up first; then edges may run in either direction; then they may be of any relation, with several
    patterns or for a target with a type: a single one would match every neighbour of its constant.

    Args:
        trace: records how they are satisfied.
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
