"""Training: epochs, looks at held-out triples, an early end, and a checkpoint to go on from after a kill."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triplecheck.kg.embedding import checkpoint
from triplecheck.kg.embedding.checkpoint import Course
from triplecheck.kg.embedding.interactions import interaction_of
from triplecheck.kg.embedding.loops import Epochs
from triplecheck.kg.embedding.models import arrays_of, make_model, norm_of
from triplecheck.kg.embedding.options import TrainingOptions
from triplecheck.kg.embedding.ranking import Quality, quality
from triplecheck.kg.embedding.scorer import ArrayScorer, Scorer
from triplecheck.kg.embedding.split import Split
from triplecheck.kg.embedding.torch_scorer import TorchScorer
from triplecheck.kg.errors import UserError
from triplecheck.kg.progress import ProgressCallback, no_progress

_SECONDS_BETWEEN_CHECKPOINTS = 30
# A look while training needs no more triples than this to tell better from worse.
_LOOKED_AT = 2_000


@dataclass(frozen=True)
class Trained:
    """A trained model and how it came about.

    Attributes:
        model: the `pykeen.models.Model` with its best weights.
        options: what it was trained with.
        split: what it learnt from and was measured on.
        course: losses and looks.
        loop: the loop that trained it (`kg.embedding.loops`).
        quality: link prediction on the test triples, which had no part in training.
    """

    model: Any
    options: TrainingOptions
    split: Split
    course: Course
    loop: str
    quality: Quality

    @property
    def scorer(self) -> Scorer:
        """Scores by this model."""
        return scorer_of(self.model)


def scorer_of(model: Any) -> Scorer:
    """A scorer on the arrays of a PyKEEN model where they are all it needs, else on the model itself."""
    arrays = arrays_of(model)
    interaction = interaction_of(type(model).__name__, norm_of(model) or 2)
    if arrays is None or interaction is None:
        return TorchScorer(model)
    return ArrayScorer(interaction, arrays["entities"], arrays["relations"])


def train(
    split: Split,
    options: TrainingOptions,
    checkpoint_file: Path | None = None,
    progress: ProgressCallback | None = None,
) -> Trained:
    """Train a model of PyKEEN on the triples of a split.

    Args:
        split: see `kg.embedding.split`.
        options: model, size, loop, seeds, stopping.
        checkpoint_file: written while training and gone on from if it is of the same graph and options;
            None to keep none. It stays after the end, for the caller to remove.
        progress: told the epochs.

    Raises:
        UserError: no such model or optimizer, or the training diverged.
        KnowledgeBaseError: a damaged checkpoint.
    """
    say = progress or no_progress
    model = make_model(options, split.num_entities, split.num_relations)
    epochs = Epochs(model, split, options)
    course = None
    if checkpoint_file is not None:
        course = checkpoint.resume(checkpoint_file, model, epochs.optimizer, options, split)
    course = course or Course()
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
            checkpoint.save(checkpoint_file, course, model, epochs.optimizer, options, split)
            saved = time.monotonic()
        say(_line(course), course.epoch, options.epochs)
    if course.best is None:  # gone on from further than was asked for, and not looked at yet
        _look(model, split, course)
    model.load_state_dict(course.best)
    model.eval()
    measured = quality(scorer_of(model), split.test, split, say)
    return Trained(model, options, split, course, epochs.loop, measured)


def _look(model: Any, split: Split, course: Course) -> None:
    """Measure on the validation triples, and keep the weights if they are the best yet."""
    course.looks.append((course.epoch, quality(scorer_of(model), split.validation[:_LOOKED_AT], split).mrr))
    if course.best_look[0] == course.epoch:
        course.best = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def _line(course: Course) -> str:
    line = f"training: loss {course.losses[-1]:.3f}"
    return line if not course.looks else f"{line}, best MRR {course.best_look[1]:.3f} at epoch {course.best_look[0]}"
