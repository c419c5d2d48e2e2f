"""Trains the network of a reader: the cross-entropy of the right readings among all of a prompt."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import numpy as np

from triplecheck.kg._arrays import FloatArray
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.optimize.distil.path_ranker import marginal, one_thread
from triplecheck.optimize.distil.reader.examples import Example

_HIDDEN = 24
_BATCH, _EPOCHS, _LEAST_STEPS = 32, 30, 300
_RATE, _DECAY = 5e-3, 1e-2


@one_thread()
def train_network(
    examples: Sequence[Example], seed: int = 0, progress: ProgressCallback = no_progress
) -> dict[str, FloatArray]:
    """Train a network; its weights, see `lms.reader.model.Reader`. Each graph counts the same.

    Raises:
        MissingExtraError: torch is not installed.
    """
    import torch

    torch.manual_seed(seed)
    chance = random.Random(seed)
    mean, scale = _normal(examples)
    size = len(mean)
    first = {
        "hidden": torch.randn(_HIDDEN, size) / size**0.5,
        "bias": torch.zeros(_HIDDEN),
        "out": torch.randn(_HIDDEN) / _HIDDEN**0.5,
    }
    weights = {name: tensor.requires_grad_() for name, tensor in first.items()}
    counts = Counter(example.graph for example in examples)
    # Drawn with replacement, so that a graph with few questions counts as much as the others.
    chances = [1 / counts[example.graph] for example in examples]
    steps = max(_LEAST_STEPS, _EPOCHS * len(examples) // _BATCH)
    optimizer = torch.optim.AdamW(weights.values(), lr=_RATE, weight_decay=_DECAY)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    normal = [(example.features - mean) / scale for example in examples]
    for step in range(steps):
        batch = chance.choices(range(len(examples)), chances, k=_BATCH)
        most = max(len(normal[at]) for at in batch)
        x = torch.zeros(len(batch), most, size)
        there, right = (torch.zeros(len(batch), most, dtype=torch.bool) for _ in range(2))
        for row, at in enumerate(batch):
            count = len(normal[at])
            x[row, :count] = torch.from_numpy(normal[at])
            there[row, :count] = True
            right[row, :count] = torch.from_numpy(examples[at].right)
        scores = torch.tanh(x @ weights["hidden"].T + weights["bias"]) @ weights["out"]
        loss = marginal(scores.masked_fill(~there, -1e9), right)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
        progress("training", step + 1, steps)
    trained: dict[str, FloatArray] = {name: tensor.detach().numpy() for name, tensor in weights.items()}
    return trained | {"mean": mean, "scale": scale}


def _normal(examples: Sequence[Example]) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of each feature; 1 for a constant one."""
    rows = np.concatenate([example.features for example in examples])
    deviation = rows.std(axis=0)
    scale = np.where(deviation > 1e-6, deviation, 1.0)
    return rows.mean(axis=0).astype(np.float32), scale.astype(np.float32)
