"""Training: epochs, validation, early stopping, and a checkpoint to resume from.

PyKEEN's own training loop scores every (head, relation) pair against every entity and spends two thirds of its time
on products of complex tensors. The sampled loop here scores a batch against shared candidates only - all tails that
are true for one of its pairs, and a number of random ones - by one real matrix product: a sampled softmax. Model,
loss, regulariser and optimizer are those of PyKEEN and torch.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from triplecheck.kg._arrays import concat_ranges
from triplecheck.kg.embedding import _files
from triplecheck.kg.embedding.models import TorchScorer, TrainingOptions, arrays_of, make_model, norm_of
from triplecheck.kg.embedding.ranking import Quality, TripleSplit, quality
from triplecheck.kg.embedding.scoring import ArrayScorer, InnerProduct, Scorer, interaction_of
from triplecheck.kg.errors import KnowledgeBaseError, UserError
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.values import parse_json

# --- one epoch -----------------------------------------------------------------------------------
# Up to this number of entities PyKEEN's own loop, which compares with all of them, is fast enough.
_ALL_TAILS_ENTITIES = 5_000
# Maximum number of values in memory when a batch is compared with all entities.
_LARGEST_BATCH = 1 << 28
_SHARED_NEGATIVES, _NEGATIVES_PER_TRIPLE = 1500, 64  # random tails per batch of the sampled loop, and per triple


class Epochs:
    """Trains a model epoch by epoch. An epoch depends only on the previous state, the seed and its number.

    Attributes:
        loop: `sampled`, or PyKEEN's `lcwa` (a pair against all tails) or `slcwa` (a triple against random ones).
        optimizer: over the parameters of the model.

    Raises:
        UserError: the `sampled` loop cannot train this model.
    """

    def __init__(self, model: Any, split: TripleSplit, options: TrainingOptions) -> None:
        from torch import optim

        self._model, self._split, self._options = model, split, options
        self.loop = _loop(model, split, options)
        optimizer = getattr(optim, options.optimizer, None)
        if not (isinstance(optimizer, type) and issubclass(optimizer, optim.Optimizer)):
            raise UserError(f"torch has no optimizer {options.optimizer!r}; choose Adagrad, Adam, SGD, ...")
        self.optimizer: Any = optimizer(model.get_grad_params(), lr=options.learning_rate)

    def run(self, epoch: int) -> float:
        """Train epoch number `epoch`, counted from 1; return its mean loss."""
        from pykeen.utils import set_random_seed

        set_random_seed(int(np.random.SeedSequence((self._options.seed, epoch)).generate_state(1)[0]))
        return self._sampled(epoch) if self.loop == "sampled" else self._pykeen(first=epoch == 1)

    def _sampled(self, epoch: int) -> float:
        import torch

        model, options, rng = self._model, self._options, np.random.default_rng((self._options.seed, epoch))
        pairs, begins, tails = self._pairs
        model.train()
        order = rng.permutation(len(pairs))
        losses = []
        for start in range(0, len(order), options.batch_size):
            batch = order[start : start + options.batch_size]
            starts, stops = begins[batch], begins[batch + 1]
            true = tails[concat_ranges(starts, stops)]
            drawn = rng.integers(0, model.num_entities, options.negatives or _SHARED_NEGATIVES)
            candidates = np.unique(np.concatenate([true, drawn]))
            rows = np.repeat(np.arange(len(batch)), stops - starts)
            labels = torch.zeros(len(batch), len(candidates))
            columns = torch.from_numpy(np.searchsorted(candidates, true))
            labels[torch.from_numpy(rows), columns] = 1.0
            scores = _tail_scores(model, torch.from_numpy(pairs[batch]), torch.from_numpy(candidates), columns)
            loss = model.loss.process_lcwa_scores(scores, labels, 0.0, len(candidates))
            loss = loss + model.collect_regularization_term()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            model.post_parameter_update()
            losses.append(loss.item())
        return float(np.mean(losses))

    def _pykeen(self, *, first: bool) -> float:
        from pykeen.training import LCWATrainingLoop, SLCWATrainingLoop

        particulars: dict[str, Any] = {}
        if self.loop == "slcwa":
            negatives = self._options.negatives or _NEGATIVES_PER_TRIPLE
            particulars = {"negative_sampler": "basic", "negative_sampler_kwargs": {"num_negs_per_pos": negatives}}
        # A new loop for each epoch: PyKEEN's own checkpoints are pickles, so its resuming is not used.
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
    def _pairs(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The distinct (head, relation) pairs of the triples and of their inverses with PyKEEN's relation numbers (2r,
        inverse 2r + 1), shape (p, 2); where the tails of each begin, shape (p + 1,); the tails, shape (2 * triples,).
        """
        heads, relations, tails = self._split.train.T
        nodes = np.concatenate([heads, tails])
        numbers = np.concatenate([2 * relations, 2 * relations + 1])
        others = np.concatenate([tails, heads])
        order = np.lexsort((others, numbers, nodes))
        pairs = np.stack([nodes[order], numbers[order]], axis=1)
        first = np.flatnonzero(np.concatenate(([True], (pairs[1:] != pairs[:-1]).any(axis=1))))
        return pairs[first], np.append(first, len(pairs)), others[order]

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


def _tail_scores(model: Any, pairs: Any, candidates: Any, true: Any) -> Any:
    """Scores of candidates as tails of (head, relation) pairs, by ComplEx or DistMult: (b, 2) and (c,) to (b, c)."""
    import torch

    (entities,), (relations,) = model.entity_representations, model.relation_representations
    queries = entities(pairs[:, 0]) * relations(pairs[:, 1])
    # N3 weighs a vector by its frequency in triples (Lacroix et al. 2018): random tails do not count, true tails count
    # once per pair.
    entities.regularizer.eval()
    tails = entities(candidates)
    entities.regularizer.train()
    entities.regularizer.update(tails[true])
    if queries.is_complex():
        # The real part of <q, conj(t)> is the inner product of the pairs of reals.
        queries, tails = (torch.view_as_real(x).flatten(1) for x in (queries, tails))
    return queries @ tails.T


def _loop(model: Any, split: TripleSplit, options: TrainingOptions) -> str:
    product = isinstance(interaction_of(type(model).__name__), InnerProduct)
    if options.loop == "sampled" and not product:
        raise UserError(f"the sampled loop trains ComplEx and DistMult, not {options.model}; use PyKEEN's own")
    if options.loop == "sampled" or (options.loop == "auto" and product and split.num_entities > _ALL_TAILS_ENTITIES):
        return "sampled"
    numbers = options.batch_size * split.num_entities * (1 if product else options.dimensions)
    return "lcwa" if numbers <= _LARGEST_BATCH else "slcwa"


# --- checkpoints ---------------------------------------------------------------------------------
State = dict[str, Any]
"""Tensors by name, as `state_dict` of a torch module."""


@dataclass
class Course:
    """The history of a training.

    Attributes:
        epoch: the last finished epoch.
        losses: loss of each epoch.
        looks: (epoch, MRR) of each validation.
        seconds: training time.
        best: weights at the best validation, None before the first.
    """

    epoch: int = 0
    losses: list[float] = field(default_factory=list)
    looks: list[tuple[int, float]] = field(default_factory=list)
    seconds: float = 0.0
    best: State | None = None

    @property
    def best_look(self) -> tuple[int, float]:
        """(epoch, MRR) of the best validation, the earlier of equal ones."""
        return max(self.looks, key=lambda look: (look[1], -look[0]))

    def looks_since_best(self) -> int:
        """Number of validations since the best MRR."""
        best, _ = self.best_look
        return sum(epoch > best for epoch, _ in self.looks)


def save_checkpoint(path: Path, key: str, course: Course, model: Any, optimizer: Any) -> None:
    """Write a checkpoint atomically."""
    tensors = {f"model/{name}": tensor for name, tensor in model.state_dict().items()}
    tensors |= {f"best/{name}": tensor for name, tensor in (course.best or {}).items()}
    for number, slots in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer/{number}/{name}": tensor for name, tensor in slots.items()}
    state = {"key": key, "course": {name: value for name, value in vars(course).items() if name != "best"}}
    arrays = {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}
    _files.save(path, arrays, {"training": json.dumps(state)})


def resume_checkpoint(path: Path, key: str, model: Any, optimizer: Any) -> Course:
    """Load model and optimizer from a checkpoint. Without one of this key nothing changes, and the course is a new one.

    Raises:
        KnowledgeBaseError: it is damaged.
    """
    if not path.is_file():
        return Course()
    import torch

    arrays, metadata = _files.open_mapped(path)
    try:
        state = parse_json(metadata["training"])
        if state["key"] != key:
            return Course()
        course = Course(**state["course"])
        course.looks = [(int(epoch), float(mrr)) for epoch, mrr in course.looks]
        parts: dict[str, State] = {"model": {}, "best": {}, "optimizer": {}}
        for name, array in arrays.items():
            part, _, rest = name.partition("/")
            parts[part][rest] = torch.from_numpy(np.array(array))
        slots: dict[int, State] = {}
        for name, tensor in parts["optimizer"].items():
            number, _, slot = name.partition("/")
            slots.setdefault(int(number), {})[slot] = tensor
        model.load_state_dict(parts["model"])
        optimizer.load_state_dict(optimizer.state_dict() | {"state": slots})
    except (KeyError, ValueError, TypeError, RuntimeError) as error:
        raise KnowledgeBaseError(f"{path}: damaged checkpoint ({error}); remove it to start from scratch") from error
    course.best = parts["best"] or None
    return course


def _options_key(options: TrainingOptions, split: TripleSplit) -> str:
    """Equal for trainings with the same weights. More epochs or more patience only prolong a training."""
    decisive = {name: value for name, value in asdict(options).items() if name not in ("epochs", "patience", "half")}
    return json.dumps([decisive, split.fingerprint])


# --- training ------------------------------------------------------------------------------------
_SECONDS_BETWEEN_CHECKPOINTS = 30
# Validation triples used during training.
_LOOKED_AT = 2_000


@dataclass(frozen=True)
class Trained:
    """A trained model and its history.

    Attributes:
        model: the `pykeen.models.Model` with its best weights.
        loop: the training loop (see `Epochs`).
        quality: link prediction on the test triples.
    """

    model: Any
    options: TrainingOptions
    split: TripleSplit
    course: Course
    loop: str
    quality: Quality


def scorer_of(model: Any) -> Scorer:
    """A scorer on the arrays of a PyKEEN model if they are sufficient, else on the model itself."""
    arrays = arrays_of(model)
    interaction = interaction_of(type(model).__name__, norm_of(model) or 2)
    if arrays is None or interaction is None:
        return TorchScorer(model)
    return ArrayScorer(interaction, arrays["entities"], arrays["relations"])


def train(
    split: TripleSplit,
    options: TrainingOptions,
    checkpoint_file: Path | None = None,
    progress: ProgressCallback = no_progress,
) -> Trained:
    """Train a PyKEEN model on the triples of a split.

    Args:
        checkpoint_file: written while training; training resumes from it if it is of the same graph and options.
            None for no checkpoint. The caller removes it.
        progress: called after each epoch.

    Raises:
        UserError: no such model or optimizer, or the training diverged.
        KnowledgeBaseError: a damaged checkpoint.
    """
    model = make_model(options, split.num_entities, split.num_relations)
    epochs, key = Epochs(model, split, options), _options_key(options, split)
    course = Course()
    if checkpoint_file is not None:
        course = resume_checkpoint(checkpoint_file, key, model, epochs.optimizer)
    saved = time.monotonic()
    while course.epoch < options.epochs and not (course.looks and course.looks_since_best() >= options.patience):
        start = time.monotonic()
        loss = epochs.run(course.epoch + 1)
        if not math.isfinite(loss):
            raise UserError(
                f"training diverged in epoch {course.epoch + 1} (the loss is {loss}); lower the learning rate"
            )
        course.epoch += 1
        course.losses.append(loss)
        look = course.epoch % options.evaluate_every == 0 or course.epoch == options.epochs
        if look:
            _look(model, split, course)
        course.seconds += time.monotonic() - start
        if checkpoint_file is not None and (look or time.monotonic() - saved > _SECONDS_BETWEEN_CHECKPOINTS):
            save_checkpoint(checkpoint_file, key, course, model, epochs.optimizer)
            saved = time.monotonic()
        progress(_line(course), course.epoch, options.epochs)
    if course.best is None:  # resumed from a later epoch than requested, without a validation
        _look(model, split, course)
    model.load_state_dict(course.best)
    model.eval()
    measured = quality(scorer_of(model), split.test, split, progress)
    return Trained(model, options, split, course, epochs.loop, measured)


def _look(model: Any, split: TripleSplit, course: Course) -> None:
    """Evaluate on the validation triples, and keep the weights if they are the best so far."""
    course.looks.append((course.epoch, quality(scorer_of(model), split.validation[:_LOOKED_AT], split).mrr))
    if course.best_look[0] == course.epoch:
        course.best = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def _line(course: Course) -> str:
    line = f"training: loss {course.losses[-1]:.3f}"
    return line if not course.looks else f"{line}, best MRR {course.best_look[1]:.3f} at epoch {course.best_look[0]}"
