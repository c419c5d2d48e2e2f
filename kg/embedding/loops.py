"""One epoch of training, by PyKEEN's own loops or by the sampled one."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from triplecheck.kg.embedding.interactions import InnerProduct, interaction_of
from triplecheck.kg.embedding.options import TrainingOptions
from triplecheck.kg.embedding.sampled import Pairs, pairs_of, sampled_epoch
from triplecheck.kg.embedding.split import Split
from triplecheck.kg.errors import UserError

# Up to so many entities PyKEEN's own loop, which compares with all of them, is quick enough.
_ALL_TAILS_ENTITIES = 5_000
# Numbers in memory at a time when a batch is compared with all entities.
_LARGEST_BATCH = 1 << 28
_NEGATIVES_PER_TRIPLE = 64


class Epochs:
    """Trains a model epoch by epoch; an epoch depends on nothing but the state before it, the seed and its number.

    Args:
        model: of PyKEEN.
        split: what to learn.
        options: how.

    Attributes:
        loop: `sampled`, or PyKEEN's `lcwa` (a pair against all tails) or `slcwa` (a triple against drawn ones).
        optimizer: over the model's parameters.

    Raises:
        UserError: `sampled` was asked for with a model that it cannot train.
    """

    def __init__(self, model: Any, split: Split, options: TrainingOptions) -> None:
        from torch import optim

        self._model, self._split, self._options = model, split, options
        self.loop = _loop(model, split, options)
        optimizer = getattr(optim, options.optimizer, None)
        if not (isinstance(optimizer, type) and issubclass(optimizer, optim.Optimizer)):
            raise UserError(f"torch has no optimizer {options.optimizer!r}; it has Adagrad, Adam, SGD, ...")
        self.optimizer: Any = optimizer(model.get_grad_params(), lr=options.learning_rate)

    def run(self, epoch: int) -> float:
        """Train epoch number `epoch`, counted from 1; its mean loss."""
        from pykeen.utils import set_random_seed

        set_random_seed(int(np.random.SeedSequence((self._options.seed, epoch)).generate_state(1)[0]))
        if self.loop == "sampled":
            return sampled_epoch(self._model, self.optimizer, self._pairs, self._options, epoch)
        return self._pykeen(first=epoch == 1)

    def _pykeen(self, *, first: bool) -> float:
        from pykeen.training import LCWATrainingLoop, SLCWATrainingLoop

        particulars: dict[str, Any] = {}
        if self.loop == "slcwa":
            negatives = self._options.negatives or _NEGATIVES_PER_TRIPLE
            particulars = {"negative_sampler": "basic", "negative_sampler_kwargs": {"num_negs_per_pos": negatives}}
        # A new loop for each epoch: PyKEEN's checkpoints are pickles, so it is not asked to resume by itself.
        loop = (SLCWATrainingLoop if self.loop == "slcwa" else LCWATrainingLoop)(
            model=self._model,
            triples_factory=self._factory,
            optimizer=self.optimizer,
            automatic_memory_optimization=False,
            **particulars,
        )
        losses = loop.train(
            self._factory,
            num_epochs=1,
            batch_size=self._options.batch_size,
            continue_training=not first,
            use_tqdm=False,
            pin_memory=False,
        )
        self.optimizer = loop.optimizer
        return float(losses[-1])

    @cached_property
    def _pairs(self) -> Pairs:
        return pairs_of(self._split)

    @cached_property
    def _factory(self) -> Any:
        import torch
        from pykeen.triples import CoreTriplesFactory

        return CoreTriplesFactory(
            torch.from_numpy(np.ascontiguousarray(self._split.train)),
            num_entities=self._split.num_entities,
            num_relations=self._split.num_relations,
            create_inverse_triples=True,
        )


def _loop(model: Any, split: Split, options: TrainingOptions) -> str:
    product = isinstance(interaction_of(type(model).__name__), InnerProduct)
    if options.loop == "sampled" and not product:
        raise UserError(f"the sampled loop trains ComplEx and DistMult, not {options.model}; use PyKEEN's own")
    if options.loop == "sampled" or (options.loop == "auto" and product and split.num_entities > _ALL_TAILS_ENTITIES):
        return "sampled"
    numbers = options.batch_size * split.num_entities * (1 if product else options.dimensions)
    return "lcwa" if numbers <= _LARGEST_BATCH else "slcwa"
