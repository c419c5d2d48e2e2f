"""What a training that was killed goes on from: weights, optimizer, best weights so far, in one safetensors file."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from triplecheck.kg.embedding import _files
from triplecheck.kg.embedding.options import TrainingOptions
from triplecheck.kg.embedding.split import Split
from triplecheck.kg.errors import KnowledgeBaseError

State = dict[str, Any]
"""Tensors by name, as `state_dict` of a torch module."""


@dataclass
class Course:
    """How a training went so far.

    Attributes:
        epoch: the last one that is done.
        losses: of each epoch.
        looks: (epoch, MRR on the validation triples) of each look.
        seconds: spent.
        best: weights at the best look, None before the first.
    """

    epoch: int = 0
    losses: list[float] = field(default_factory=list)
    looks: list[tuple[int, float]] = field(default_factory=list)
    seconds: float = 0.0
    best: State | None = None

    @property
    def best_look(self) -> tuple[int, float]:
        """(epoch, MRR) of the best look, the earlier of equal ones."""
        return max(self.looks, key=lambda look: (look[1], -look[0]))

    def looks_since_best(self) -> int:
        """Looks without a better MRR."""
        best, _ = self.best_look
        return sum(epoch > best for epoch, _ in self.looks)


def save(path: Path, course: Course, model: Any, optimizer: Any, options: TrainingOptions, split: Split) -> None:
    """Write a checkpoint, whole or not at all."""
    tensors = {f"model/{name}": tensor for name, tensor in model.state_dict().items()}
    tensors |= {f"best/{name}": tensor for name, tensor in (course.best or {}).items()}
    for number, slots in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer/{number}/{name}": tensor for name, tensor in slots.items()}
    told = {
        "key": _key(options, split),
        "course": {name: value for name, value in vars(course).items() if name != "best"},
    }
    arrays = {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}
    _files.save(path, arrays, {"training": json.dumps(told)})


def resume(path: Path, model: Any, optimizer: Any, options: TrainingOptions, split: Split) -> Course | None:
    """Put model and optimizer into the state of a checkpoint; None, and nothing is changed, where there is none.

    A checkpoint of another graph or of other options counts as none.

    Raises:
        KnowledgeBaseError: it is damaged.
    """
    if not path.is_file():
        return None
    import torch

    arrays, metadata = _files.open_mapped(path)
    try:
        told = json.loads(metadata["training"])
        if told["key"] != _key(options, split):
            return None
        course = Course(**told["course"])
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
        raise KnowledgeBaseError(f"{path}: damaged checkpoint ({error}); remove it to start afresh") from error
    course.best = parts["best"] or None
    return course


def _key(options: TrainingOptions, split: Split) -> str:
    """Equal for trainings that come to the same weights. More epochs or more patience only prolong one."""
    decisive = {name: value for name, value in asdict(options).items() if name not in ("epochs", "patience", "half")}
    return json.dumps([decisive, split.fingerprint])
