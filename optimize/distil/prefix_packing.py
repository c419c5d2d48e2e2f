"""Packs: rows whose common prefix is computed only once.

Most of a prompt is the same for all rows of a step (the instruction and the format of the reply). A pack holds the
common prefix and the suffix of each row: the prefix is computed first, then the suffixes, several at a time. Losses
and gradients are the same as for single rows.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from triplecheck.optimize.distil.data import Encoded, shared_length


@dataclass(frozen=True)
class Piece:
    """Suffixes of some rows for one forward pass, padded to the longest."""

    rests: list[list[int]]
    """The tokens of each row after the prefix, shape (rows, longest), padded at the end with 0."""
    targets: list[list[int]]
    """The token to predict at each position, the same shape; -1: no loss."""


@dataclass(frozen=True)
class Pack:
    """Rows of one family."""

    shared: list[int]
    """The common prefix; empty for a single row."""
    pieces: list[Piece]

    @property
    def learnt(self) -> int:
        """Number of tokens with a loss."""
        return sum(target >= 0 for piece in self.pieces for row in piece.targets for target in row)

    @property
    def read(self) -> int:
        """Number of tokens read, including padding."""
        return len(self.shared) + sum(len(row) for piece in self.pieces for row in piece.rests)


def packs(rows: Sequence[Encoded], longest: int) -> list[Pack]:
    """One pack per family, in pieces of at most `longest` tokens or a single row."""
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
    return Pack(list(rows[0].ids[:shared]), [_piece(piece, shared) for piece in pieces])


def _piece(rows: Sequence[Encoded], shared: int) -> Piece:
    rests, targets = [], []
    for row in rows:
        fill = len(rows[-1].ids) - len(row.ids)
        learnt = [token if at >= row.prompt else -1 for at, token in enumerate(row.ids)]
        rests.append([*row.ids[shared:], *[0] * fill])
        targets.append([*learnt[shared + 1 :], *[-1] * (fill + 1)])
    return Piece(rests, targets)


def epoch_order(families: Sequence[str], side_by_side: int, seed: int, epoch: int) -> list[int]:
    """A random order of rows, given by their families, in groups of `side_by_side` rows of one family."""
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
    """Sampler with the order of each epoch; it depends only on its arguments, so that a resumed run has the same."""

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
