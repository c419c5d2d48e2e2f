"""The triples that a model learns from, and those that are kept from it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.errors import UserError
from triplecheck.kg.types import Direction

Triples = npt.NDArray[np.int64]
"""Shape (n, 3): heads, relations, tails."""

_LEAST_TRIPLES = 20


@dataclass(frozen=True)
class Split:
    """Triples of one graph in three parts.

    Attributes:
        train: learnt from; holds every entity and relation that occurs at all.
        validation: what training is stopped by.
        test: what is measured on.
        num_entities: entities are 0 ... num_entities - 1.
        num_relations: likewise.
    """

    train: Triples
    validation: Triples
    test: Triples
    num_entities: int
    num_relations: int

    @property
    def fingerprint(self) -> str:
        """Hash of all of it."""
        digest = hashlib.sha256(repr((self.num_entities, self.num_relations)).encode())
        for part in (self.train, self.validation, self.test):
            digest.update(np.ascontiguousarray(part).data)
            digest.update(b"|")
        return digest.hexdigest()


def triples_of(graph: ColumnarGraph, *, values: bool = False) -> Triples:
    """All triples between entities; with `values` also those whose tail is a literal.

    Raises:
        UserError: too few to learn from.
    """
    edges = graph.expand(np.arange(graph.num_entities), direction=Direction.OUT)
    triples = np.stack([edges.heads, edges.relations, edges.tails], axis=1).astype(np.int64)
    kept = triples if values else triples[triples[:, 2] < graph.num_entities]
    if len(kept) < _LEAST_TRIPLES:
        raise UserError(f"{len(kept)} triples between entities are too few to train embeddings on")
    return kept


def split(triples: Triples, num_entities: int, num_relations: int, held_out: float, seed: int) -> Split:
    """Keep a share of the triples from training, drawn evenly among those that can be spared.

    A triple can be spared where its head, its relation and its tail each stand in another one that is learnt from.

    Args:
        triples: all of them, without duplicates.
        num_entities, num_relations: of the graph.
        held_out: share to hold out; fewer where fewer can be spared.
        seed: of the draw.
    """
    order = np.random.default_rng(seed).permutation(len(triples))
    shuffled = triples[order]
    nodes = np.concatenate([shuffled[:, 0], shuffled[:, 2]])
    needed = np.zeros(len(triples), bool)
    needed[np.unique(nodes, return_index=True)[1] % len(triples)] = True
    needed[np.unique(shuffled[:, 1], return_index=True)[1]] = True
    # From the end, where hardly anything is needed: at the beginning only what is popular can be spared.
    spare = np.flatnonzero(~needed)[::-1][: round(held_out * len(triples))]
    kept = np.ones(len(triples), bool)
    kept[spare] = False
    half = len(spare) // 2
    return Split(shuffled[kept], shuffled[spare[:half]], shuffled[spare[half:]], num_entities, num_relations)
