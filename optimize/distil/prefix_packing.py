"""Packs: rows of which the beginning that they share is read only once.

Most of a prompt is the same for all rows of a step of a program (its instruction, the form of a reply). A
pack holds that beginning and the rest of each row: the beginning is read first, and then the rests upon it,
some at a time. Losses and gradients are those of the rows one by one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from triplecheck.optimize.distil.data import Encoded, shared_length


@dataclass(frozen=True)
class Piece:
    """Rests of some rows, read at once: lists of one length, that of the longest."""

    rests: list[list[int]]
    """The tokens of each row behind the shared ones, filled up at the end, where nothing looks back at it."""
    targets: list[list[int]]
    """The token that each position of a rest has to foretell, -1 for none."""


@dataclass(frozen=True)
class Pack:
    """Some rows of one family."""

    shared: list[int]
    """The tokens that they all begin with; empty for a row alone."""
    pieces: list[Piece]
    family: str
    """That of all its rows."""

    @property
    def learnt(self) -> int:
        """How many tokens have to be foretold."""
        return sum(target >= 0 for piece in self.pieces for row in piece.targets for target in row)

    @property
    def read(self) -> int:
        """How many tokens are read, the fill among them."""
        return len(self.shared) + sum(len(row) for piece in self.pieces for row in piece.rests)


def packs(rows: Sequence[Encoded], longest: int) -> list[Pack]:
    """Lay rows out, those of a family in a pack, in pieces of at most `longest` tokens or a single row."""
    families: dict[str, list[Encoded]] = {}
    for row in rows:
        families.setdefault(row.family, []).append(row)
    return [_pack(family, longest) for family in families.values()]


def _pack(rows: Sequence[Encoded], longest: int) -> Pack:
    shared = shared_length(rows)
    pieces: list[list[Encoded]] = []
    for row in sorted(rows, key=lambda row: len(row.ids)):
        if not pieces or (len(pieces[-1]) + 1) * (len(row.ids) - shared) > longest:
            pieces.append([])
        pieces[-1].append(row)
    return Pack(list(rows[0].ids[:shared]), [_piece(piece, shared) for piece in pieces], rows[0].family)


def _piece(rows: Sequence[Encoded], shared: int) -> Piece:
    rests, targets = [], []
    for row in rows:
        fill = len(rows[-1].ids) - len(row.ids)
        learnt = [token if at >= row.prompt else -1 for at, token in enumerate(row.ids)]
        rests.append([*row.ids[shared:], *[0] * fill])
        targets.append([*learnt[shared + 1 :], *[-1] * (fill + 1)])
    return Piece(rests, targets)


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
