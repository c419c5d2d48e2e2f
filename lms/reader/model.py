"""A trained reader: a small network over the features of readings, and a ranker of paths. Inference is numpy alone.

score(reading) = v · tanh(W x + b), with x the normalised features; the probability of a reading is the softmax over all
of a prompt. The file holds the network, and the ranker unless it is the one in the package.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from triplecheck.kg._arrays import FloatArray
from triplecheck.kg._atomic import write_bytes
from triplecheck.kg.errors import UserError
from triplecheck.kg.ranker import GENERAL, PathRanker, check_weights, load_ranker
from triplecheck.lms.reader.readings import FEATURES, Reading

FORMAT = "triplecheck-reader-1"
FILE, CARD = "reader.safetensors", "README.md"
_RANKER = "ranker."


@dataclass(frozen=True)
class Reader:
    """A trained reader.

    Attributes:
        weights: `mean` and `scale` of the features, `hidden` (n, `FEATURES`), `bias` (n,) and `out` (n,).
        encoder: fingerprint of the sentence encoder that it was trained with.
        fingerprint: hash of all weights.
        about: what it was trained on and how well it does.
    """

    weights: Mapping[str, FloatArray]
    ranker: PathRanker
    encoder: str
    fingerprint: str
    about: Mapping[str, Any]

    def scores(self, found: Sequence[Reading]) -> FloatArray:
        """The log-probability of each reading of a prompt, shape (n,)."""
        weights = self.weights
        x = (np.stack([reading.features for reading in found]) - weights["mean"]) / weights["scale"]
        raw = np.tanh(x @ weights["hidden"].T + weights["bias"]) @ weights["out"]
        scores: FloatArray = raw - np.logaddexp.reduce(raw)
        return scores

    def choose(self, found: Sequence[Reading]) -> Reading:
        """The likeliest reading."""
        return found[int(np.argmax(self.scores(found)))]


def for_reading(ranker: PathRanker) -> PathRanker:
    """A ranker of paths that also scores the paths of questions about several topics."""
    return PathRanker(ranker.weights, ranker.encoder, ranker.fingerprint, {**ranker.about, "several": True})


def save_reader(
    weights: Mapping[str, FloatArray],
    ranker: Mapping[str, FloatArray] | None,
    encoder: str,
    about: Mapping[str, Any],
    out: Path,
) -> None:
    """Write a reader: `reader.safetensors` in a folder.

    Args:
        ranker: weights of its own ranker of paths; None: that in the package.

    Raises:
        StorageError: the disk is full, read-only or broken.
    """
    from safetensors.numpy import save

    paths = {f"{_RANKER}{name}": array for name, array in (ranker or {}).items()}
    small = {
        name: np.ascontiguousarray(array, np.float16 if name in paths and array.ndim > 1 else np.float32)
        for name, array in (dict(weights) | paths).items()
    }
    out.mkdir(parents=True, exist_ok=True)
    write_bytes(out / FILE, save(small, {"format": FORMAT, "encoder": encoder, "about": json.dumps(about)}))


def load_reader(folder: Path) -> Reader:
    """The reader in a folder.

    Raises:
        UserError: there is none, or it is of another version.
    """
    from safetensors import SafetensorError, safe_open

    file = folder / FILE
    try:
        with safe_open(file, "numpy") as opened:
            told = opened.metadata() or {}
            tensors = {name: opened.get_tensor(name).astype(np.float32) for name in opened.keys()}  # noqa: SIM118
        if told.get("format") != FORMAT:
            raise UserError(f"{file}: is a reader of another version; train it again")
        paths = {name.removeprefix(_RANKER): array for name, array in tensors.items() if name.startswith(_RANKER)}
        weights = {name: array for name, array in tensors.items() if not name.startswith(_RANKER)}
        _check(weights)
        if paths:
            check_weights(paths)
        fingerprint = hashlib.sha256(file.read_bytes()).hexdigest()
        ranker = PathRanker(paths, told["encoder"], fingerprint, {}) if paths else load_ranker(GENERAL)
        about = dict(json.loads(told["about"]))
        return Reader(weights, for_reading(ranker), told["encoder"], fingerprint, about)
    except (OSError, SafetensorError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise UserError(
            f"{folder}: holds no reader ({error}); `triplecheck distill --student reader` writes one"
        ) from error


def _check(weights: Mapping[str, FloatArray]) -> None:
    """Raise an error unless the tensors fit each other and all numbers are finite."""
    size = len(weights["out"])
    shapes = {"mean": (FEATURES,), "scale": (FEATURES,), "hidden": (size, FEATURES), "bias": (size,), "out": (size,)}
    for name, shape in shapes.items():
        if weights[name].shape != shape:
            raise ValueError(f"{name} has the shape {weights[name].shape}, not {shape}")
        if not np.isfinite(weights[name]).all():
            raise ValueError(f"{name} has a number that is not finite")
