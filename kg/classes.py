"""The relations that lead from a thing to its class: known by their names, or by what they tell of the graph.

A class tells which relations a thing has: boats have owners and captains have ages. So a relation of another name, such
as "kind" or "category", leads to classes if nearly all things have it, its tails are nothing else in the graph, and
knowing a thing's tail tells which other relations it has. In 33 small graphs and three benchmarks this holds of all 28
relations that lead to classes (the gain below is .68 or more), and of no other one (at most .14).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from triplecheck.kg.columnar_build import Int
from triplecheck.kg.names import normalize
from triplecheck.kg.types import Relation

MEMBERSHIP = frozenset({"instance of", "is instance of", "is a", "isa", "type", "rdf type", "has type"})
"""Names of relations that lead from a thing to its class. Their edges stay in the graph, too."""
_COVERED = 0.8
"""Least share of the heads of a graph that have a relation to classes."""
_MEMBERS = 2.0
"""Least mean number of members of a class."""
_GAIN = 0.5
"""Least value of `_gain`."""


def named_memberships(relations: Sequence[Relation]) -> list[int]:
    """The numbers of the relations whose names say that they lead to classes."""
    return [number for number, relation in enumerate(relations) if normalize(relation.label) in MEMBERSHIP]


def told_memberships(heads: Int, numbers: Int, tails: Int, entities: int) -> list[int]:
    """The number of the relation that leads from things to their classes, as its edges show; empty if there is none.

    Args:
        heads, numbers, tails: of each edge: its head, its relation, and its tail; tails from `entities` on are values.
    """
    if not len(heads):
        return []
    nodes = max(int(tails.max()), int(heads.max())) + 1
    pairs = np.stack(np.divmod(np.unique(numbers.astype(np.int64) * nodes + heads), nodes), axis=1)
    sizes = np.bincount(pairs[:, 0])
    is_head = np.zeros(nodes, bool)
    is_head[heads] = True
    for number in np.flatnonzero(sizes >= _COVERED * is_head.sum()).tolist():
        own = numbers == number
        classes = np.unique(tails[own])
        if classes[-1] >= entities or is_head[classes].any() or np.isin(tails[~own], classes).any():
            continue
        if len(classes) < 2 or sizes[number] < _MEMBERS * len(classes):
            continue
        if _gain(pairs[pairs[:, 0] != number], heads[own], np.searchsorted(classes, tails[own])) >= _GAIN:
            return [number]
    return []


def _gain(pairs: Int, members: Int, classes: Int) -> float:
    """How well the class of a thing predicts its relations: 0 no better than the commonest class, 1 perfectly.

    Args:
        pairs: distinct (relation, head); shape (n, 2).
        members, classes: heads and their classes; the first class of a head counts.
    """
    class_of = np.full(int(max(pairs[:, 1].max(initial=0), members.max())) + 1, -1)
    class_of[members[::-1]] = classes[::-1]
    classes = class_of[pairs[:, 1]]
    relations, classes = pairs[classes >= 0, 0], classes[classes >= 0]
    if not len(classes):
        return 0.0
    table = np.zeros((int(relations.max()) + 1, int(classes.max()) + 1), np.int64)
    np.add.at(table, (relations, classes), 1)
    told, commonest = table.max(axis=1).sum(), table.sum(axis=0).max()
    return float((told - commonest) / max(len(classes) - commonest, 1))
