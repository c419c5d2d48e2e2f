"""One epoch over a PyKEEN model in which each batch scores only some of all tails: a sampled softmax.

PyKEEN's own loop scores every (head, relation) pair against every entity, and takes two thirds of its time to
multiply complex tensors. Here a batch shares its candidates - all tails that are true for one of its pairs, and as
many drawn at random as asked for - and products are one real matrix product. Model, loss, regulariser and
optimizer are PyKEEN's and torch's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from triplecheck.kg._ranges import concat_ranges
from triplecheck.kg.embedding.options import TrainingOptions
from triplecheck.kg.embedding.split import Split

SHARED_NEGATIVES = 1500
"""Tails that are drawn for a batch unless the options say otherwise."""


@dataclass(frozen=True)
class Pairs:
    """The (head, relation) pairs of the triples and of their inverses, each with its tails.

    Attributes:
        pairs: distinct pairs with PyKEEN's relation numbers (2r, inverse 2r + 1), shape (p, 2).
        starts: where the tails of each begin, shape (p + 1,).
        tails: shape (2 * triples,).
    """

    pairs: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    tails: npt.NDArray[np.int64]


def pairs_of(split: Split) -> Pairs:
    """Group the triples that are learnt from."""
    heads, relations, tails = split.train.T
    nodes = np.concatenate([heads, tails])
    numbers = np.concatenate([2 * relations, 2 * relations + 1])
    others = np.concatenate([tails, heads])
    order = np.lexsort((others, numbers, nodes))
    pairs = np.stack([nodes[order], numbers[order]], axis=1)
    first = np.flatnonzero(np.concatenate(([True], (pairs[1:] != pairs[:-1]).any(axis=1))))
    return Pairs(pairs[first], np.append(first, len(pairs)), others[order])


def sampled_epoch(model: Any, optimizer: Any, pairs: Pairs, options: TrainingOptions, epoch: int) -> float:
    """Train for one epoch.

    Args:
        model: of PyKEEN, ComplEx or DistMult; trained in place.
        optimizer: over its parameters.
        pairs: what to learn.
        options: batch size, number of negatives and seed count.
        epoch: decides with the seed what is drawn.

    Returns:
        The mean loss of a batch.
    """
    import torch

    rng = np.random.default_rng((options.seed, epoch))
    model.train()
    order = rng.permutation(len(pairs.pairs))
    losses = []
    for start in range(0, len(order), options.batch_size):
        batch = order[start : start + options.batch_size]
        starts, stops = pairs.starts[batch], pairs.starts[batch + 1]
        true = pairs.tails[concat_ranges(starts, stops)]
        drawn = rng.integers(0, model.num_entities, options.negatives or SHARED_NEGATIVES)
        candidates = np.unique(np.concatenate([true, drawn]))
        rows = np.repeat(np.arange(len(batch)), stops - starts)
        labels = torch.zeros(len(batch), len(candidates))
        columns = torch.from_numpy(np.searchsorted(candidates, true))
        labels[torch.from_numpy(rows), columns] = 1.0
        scores = _tail_scores(model, torch.from_numpy(pairs.pairs[batch]), torch.from_numpy(candidates), columns)
        loss = (
            model.loss.process_lcwa_scores(scores, labels, 0.0, len(candidates)) + model.collect_regularization_term()
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.post_parameter_update()
        losses.append(loss.item())
    return float(np.mean(losses))


def _tail_scores(model: Any, pairs: Any, candidates: Any, true: Any) -> Any:
    """Scores of candidates as tails of (head, relation) pairs, by ComplEx or DistMult: (b, 2) and (c,) to (b, c)."""
    import torch

    (entities,), (relations,) = model.entity_representations, model.relation_representations
    queries = entities(pairs[:, 0]) * relations(pairs[:, 1])
    # N3 weighs a vector by how often it occurs in triples (Lacroix et al. 2018): not the drawn ones, and each true
    # one as often as it is true.
    entities.regularizer.eval()
    tails = entities(candidates)
    entities.regularizer.train()
    entities.regularizer.update(tails[true])
    if queries.is_complex():
        # The real part of <q, conj(t)> is the inner product of the pairs of reals.
        queries, tails = (torch.view_as_real(x).flatten(1) for x in (queries, tails))
    return queries @ tails.T
