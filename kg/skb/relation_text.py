"""What the graph says of a node, as text: the relational half of its document."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from triplecheck.kg._ranges import positions_in_runs
from triplecheck.kg.graph import Graph
from triplecheck.kg.types import Direction

NAMES_PER_RELATION = 30
"""Neighbours named per node, relation and direction; the others are counted."""


def relation_texts(graph: Graph, nodes: Sequence[int] | npt.NDArray[np.int64]) -> list[str]:
    """One text per node: a line per relation and direction, with the names of the neighbours.

    An outgoing relation reads "depends: libc6, zlib1g", an incoming one "inverse depends: bash". Of more than
    `NAMES_PER_RELATION` neighbours the first by node number are named, and the rest counted: "(+ 812)".
    """
    at = np.asarray(nodes, np.int64)
    lines: dict[int, list[str]] = {int(node): [] for node in at}
    for direction in Direction:
        edges = graph.expand(at, None, direction)
        near, far = (edges.heads, edges.tails) if direction is Direction.OUT else (edges.tails, edges.heads)
        order = np.lexsort((far, edges.relations, near))
        near, relations, far = near[order], edges.relations[order], far[order]
        keys = near * max(graph.num_relations, 1) + relations
        named = positions_in_runs(keys) < NAMES_PER_RELATION
        names = graph.labels(far[named])
        starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if len(keys) else np.empty(0, int)
        sizes = np.diff(np.append(starts, len(keys)))
        taken = 0
        for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
            count = min(size, NAMES_PER_RELATION)
            listed = ", ".join(names[taken : taken + count])
            taken += count
            label = graph.relation(int(relations[start])).label
            head = label if direction is Direction.OUT else f"inverse {label}"
            rest = f" (+ {size - count})" if size > count else ""
            lines[int(near[start])].append(f"{head}: {listed}{rest}")
    return ["\n".join(lines[int(node)]) for node in at]
