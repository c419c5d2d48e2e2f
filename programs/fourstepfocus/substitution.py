"""Substitution: the nodes that the variable of a question can be bound to (4StepFocus, Algorithms 2 and 3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from triplecheck.kg import Candidate, IntArray
from triplecheck.kg.patterns import Constants, Match, Query, bind, match, relax, support
from triplecheck.kg.types import Edge
from triplecheck.programs.assists import Assists
from triplecheck.programs.assists.fourstepfocus import loosened_patterns
from triplecheck.programs.base import Sources
from triplecheck.programs.steps import Checked, Linked, Matched, Trace
from triplecheck.programs.triplets import Triplets, write_triplet

_CANDIDATES_NOTED = 10
_NO_NODES = np.empty(0, np.int64)


@dataclass(frozen=True)
class Matching:
    """How patterns are matched.

    Attributes:
        enforce_relation: only edges of the relation that a pattern names; off: any, as in the paper's experiments,
            which rely on a strong model's types and reranking.
        enforce_direction: only edges that run from head to tail; off: either way.
        exact: join patterns that form a cycle, under `budget`.
        relax: if nothing satisfies all patterns, drop the fewest (before that the assist `loosened_patterns` may loosen
            them).
        cutoff: least similarity of a misspelt constant (1 - edit distance / length).
        by_vector: if no name is similar, take the nearest in meaning, by vectors of names.
        loose: what the question was found to name is a constant even if it is a part of a name ("Hindemith") or
            misspelt beyond the cutoff.
        budget: rows that an exact join may hold.
    """

    enforce_relation: bool = True
    enforce_direction: bool = True
    exact: bool = True
    relax: bool = True
    cutoff: float = 0.8
    by_vector: bool = False
    loose: bool = True
    budget: int = 1_000_000


@dataclass(frozen=True)
class Substituted:
    """The nodes that the patterns leave for the target.

    Attributes:
        nodes: the nodes that it can be bound to, ascending; None: the patterns do not constrain it.
        match: of the patterns that were used.
        unproved: why the match does not prove all patterns; empty if it does.
    """

    nodes: IntArray | None
    match: Match | None = None
    target: str = ""
    unproved: tuple[str, ...] = ()


def substitute(
    assists: Assists,
    sources: Sources,
    triplets: Triplets,
    known: Callable[[str], Sequence[Candidate]],
    candidates: IntArray | None,
    how: Matching,
    trace: Trace,
) -> Substituted:
    """The nodes that satisfy the patterns.

    Args:
        triplets: the patterns, and which variable is asked for.
        known: what a name means that the question was found to have; nothing for others.
        candidates: C of the paper, which restricts the target alone; None: any node.
    """
    graph = sources.graph
    linker = sources.dense_linker() if how.by_vector else sources.linker
    constants = Constants(graph, linker, cutoff=how.cutoff, by_vector=how.by_vector, recognised=known, loose=how.loose)
    query = bind(
        graph,
        triplets.patterns,
        constants,
        sources.schema_names,
        enforce_relation=how.enforce_relation,
        enforce_direction=how.enforce_direction,
        write=write_triplet,
    )
    _note_constants(constants, trace)
    faults = [f"{dropped.pattern}: {dropped.reason}" for dropped in (*triplets.dropped, *query.dropped)]
    target = triplets.target
    if target is None:
        faults.append("no unknown is named that the question asks for")
    used = query.only(query.around(target) if target is not None else ())
    faults += [f"{p.text}: it is not connected with ?{target}" for p in query.patterns if p not in used.patterns]
    for fault in faults:
        trace.add(Checked("triplet", False, fault))
    for warning in query.warnings:
        trace.add(Checked("triplet", True, warning))
    if target is None or not used.patterns:
        return Substituted(None)

    def solve(part: Query) -> Match:
        restricted = None if candidates is None else {target: candidates}
        return match(graph, part, candidates=restricted, exact=how.exact, budget=how.budget)

    found = solve(used)
    _note_match(found, target, trace)
    if found.emptied_by is not None:
        relaxed = None
        if how.relax:
            relaxed = loosened_patterns(assists, used, target, solve, trace) or _relaxed(used, target, solve, trace)
        if relaxed is None:
            return Substituted(_NO_NODES, found, target)
        found = relaxed
        _note_match(found, target, trace)
    return Substituted(found.nodes(target), found, target, (*faults, *_unproved(used, found)))


def _relaxed(query: Query, target: str, solve: Callable[[Query], Match], trace: Trace) -> Match | None:
    """A match of all but the fewest patterns."""
    relaxed = relax(query, target, solve)
    if relaxed is None:
        return None
    for pattern in relaxed.left_out:
        trace.add(Checked("triplet", False, f"{pattern.text}: given up"))
    return relaxed.match


def _unproved(query: Query, found: Match) -> list[str]:
    """What a match does not prove of the patterns.

    An edge of any relation proves none, and an edge that may run either way proves no relation with a direction.
    """
    kept = {pattern.text for pattern in found.query.patterns}
    reasons = [f"{pattern.text}: given up" for pattern in query.patterns if pattern.text not in kept]
    reasons += [f"{p.text}: edges of any relation were taken" for p in found.query.patterns if p.link.relations is None]
    reasons += [
        f"{p.text}: edges were taken in either direction"
        for p in found.query.patterns
        if p.link.relations is not None and len(p.link.directions) > 1
    ]
    if query.types and not found.query.types:
        reasons.append("an unknown is of another type than the patterns say")
    if not found.exact:
        reasons.append("each pattern holds, but maybe not all of them for the same nodes")
    return reasons


def supporting(sources: Sources, found: Substituted, node: int, per_pattern: int) -> list[Edge]:
    """The triples that make a node a candidate; none for a node that no pattern led to."""
    if found.match is None or found.nodes is None or not len(found.nodes):
        return []
    return support(sources.graph, found.match, found.target, node, per_pattern=per_pattern)


def _note_constants(constants: Constants, trace: Trace) -> None:
    for name, constant in constants.looked_up.items():
        rows = [
            {"id": c.id, "label": c.label, "source": c.source, "score": round(c.lexical, 4)}
            for c in constant.candidates[:_CANDIDATES_NOTED]
        ]
        trace.add(Linked(name.text, rows, [c.id for c in constant.candidates[:_CANDIDATES_NOTED]]))
        trace.note_cut(f"meanings of {name.text} in this trace", len(rows), len(constant.candidates))


def _note_match(found: Match, target: str, trace: Trace) -> None:
    emptied = None if found.emptied_by is None else found.emptied_by.text
    rounds = [dict(sizes) for sizes in found.rounds]
    links = [pattern.link for pattern in found.query.patterns]
    trace.add(
        Matched(
            [p.text for p in found.query.patterns],
            target,
            rounds,
            emptied,
            found.exact,
            any_relation=all(link.relations is None for link in links),
            any_direction=all(len(link.directions) > 1 for link in links),
        )
    )
