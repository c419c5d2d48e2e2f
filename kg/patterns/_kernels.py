"""The two inner loops of pattern matching, compiled by numba.

Imported by `kg.patterns.adjacency` for a large graph only: numba takes half a second to load. Both loops read
compressed sparse rows: `offsets` by node, and per edge its relation and its far end, sorted by (node, relation, far
end). `wanted` holds relations; if it is empty, all relations are wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

_ANY = -1
"""In place of a relation: all of them."""


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile at the first call, cached on disk if possible."""
    try:
        made: Callable[..., Any] = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # numba finds no writable folder
        made = numba.njit(nogil=True)(function)
    return made


@_compiled
def _run(relations: Any, relation: Any, start: Any, stop: Any) -> Any:
    """Start of the edges of a relation within [start, stop)."""
    while start < stop:
        middle = (start + stop) >> 1
        if relations[middle] < relation:
            start = middle + 1
        else:
            stop = middle
    return start


@_compiled
def mark_links(
    offsets: Any, relations: Any, ends: Any, near: Any, wanted: Any, far: Any, any_far: Any, hit: Any, marked: Any
) -> None:
    """For each edge from `near` to a node flagged in `far`: flag its start in `hit` and its end in `marked`.

    Shapes: near, hit (n,); far, marked (nodes,).
    """
    for i in range(len(near)):
        first, last = offsets[near[i]], offsets[near[i] + 1]
        for k in range(max(1, len(wanted))):
            relation = wanted[k] if len(wanted) else _ANY
            j = first if relation == _ANY else _run(relations, relation, first, last)
            while j < last and (relation == _ANY or relations[j] == relation):
                end = ends[j]
                if any_far or far[end]:
                    marked[end] = True
                    hit[i] = True
                j += 1


@_compiled
def keep_linked(offsets: Any, relations: Any, ends: Any, nodes: Any, wanted: Any, by: Any, hit: Any) -> None:
    """Flag in `hit` the nodes with an edge to a node flagged in `by`; stop at the first such edge of each."""
    for i in range(len(nodes)):
        if hit[i]:
            continue
        first, last = offsets[nodes[i]], offsets[nodes[i] + 1]
        for k in range(max(1, len(wanted))):
            relation = wanted[k] if len(wanted) else _ANY
            j = first if relation == _ANY else _run(relations, relation, first, last)
            while j < last and not by[ends[j]] and (relation == _ANY or relations[j] == relation):
                j += 1
            if j < last and (relation == _ANY or relations[j] == relation):
                hit[i] = True
                break
