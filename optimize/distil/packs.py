"""Packs: rows that are read at once, the beginning that they share only once, and nothing padded.

Most of a prompt is the same for all rows of a step of a program (its instruction, the form of a reply). A
pack lays that beginning and the rest of each row behind each other; each rest sees the beginning and itself,
at the positions that it has when it stands alone. Losses and gradients are those of the rows one by one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from optimize.distil.tokens import Encoded, shared_length


@dataclass(frozen=True)
class Pack:
    """Some rows of one family, laid out as one sequence. All lists are of its length."""

    ids: list[int]
    positions: list[int]
    targets: list[int]
    """The token that each position has to foretell, -1 for none."""
    rests: list[int]
    """Which row's rest a token belongs to, counted from 1; 0 for the shared beginning."""
    family: str
    """That of all its rows."""

    @property
    def learnt(self) -> int:
        """How many tokens have to be foretold."""
        return sum(target >= 0 for target in self.targets)

    @property
    def rows(self) -> int:
        """How many rows it holds."""
        return max(self.rests)


def pack(rows: Sequence[Encoded]) -> Pack:
    """Lay rows of one family out side by side."""
    shared = shared_length(rows)
    ids, positions = list(rows[0].ids[:shared]), list(range(shared))
    targets, rests = [-1] * shared, [0] * shared
    for number, row in enumerate(rows, start=1):
        ids += row.ids[shared:]
        positions += range(shared, len(row.ids))
        targets += [
            row.ids[at + 1] if row.prompt <= at + 1 < len(row.ids) else -1 for at in range(shared, len(row.ids))
        ]
        rests += [number] * (len(row.ids) - shared)
    return Pack(ids, positions, targets, rests, rows[0].family)


def packs(rows: Sequence[Encoded], longest: int) -> list[Pack]:
    """Lay rows out in packs of rows that begin alike, of at most `longest` tokens where a row alone is no longer."""
    together: list[list[Encoded]] = []
    families: dict[str, list[Encoded]] = {}
    for row in rows:
        group = families.get(row.family)
        if group is None or _length([*group, row]) > longest:
            group = families[row.family] = []
            together.append(group)
        group.append(row)
    return [pack(group) for group in together]


def _length(rows: Sequence[Encoded]) -> int:
    return sum(len(row.ids) for row in rows) - (len(rows) - 1) * shared_length(rows)


def epoch_order(families: Sequence[str], side_by_side: int, seed: int, epoch: int) -> list[int]:
    """A random order of rows in which rows of one family follow each other by some.

    Args:
        families: of each row.
        side_by_side: how many rows of one family follow each other.
        seed: of the run.
        epoch: each has its own order.
    """
    chance = random.Random(f"{seed}:{epoch}")
    by_family: dict[str, list[int]] = {}
    for row, family in enumerate(families):
        by_family.setdefault(family, []).append(row)
    bunches = []
    for rows in by_family.values():
        chance.shuffle(rows)
        bunches += [rows[at : at + side_by_side] for at in range(0, len(rows), side_by_side)]
    chance.shuffle(bunches)
    return [row for bunch in bunches for row in bunch]


class EpochOrder:
    """The order of each epoch, as a sampler; it depends on nothing but its arguments, so that a run resumes with it."""

    def __init__(self, families: Sequence[str], side_by_side: int, seed: int) -> None:
        self._families, self._side_by_side, self._seed = list(families), side_by_side, seed
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Called by the trainer before each epoch."""
        self._epoch = epoch

    def __len__(self) -> int:
        return len(self._families)

    def __iter__(self) -> Iterator[int]:
        return iter(epoch_order(self._families, self._side_by_side, self._seed, self._epoch))
