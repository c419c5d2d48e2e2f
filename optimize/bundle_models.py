"""Distilled models inside a bundle: their adapters travel with it, and are the ones that it was saved with."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from triplecheck.kg import ReadError
from triplecheck.lms.local.weights import PREFIX, adapter_files, find_weights
from triplecheck.lms.resolve import LLAMA_CPP

FOLDER = "models"

Carried = dict[str, dict[str, str]]
"""By model string: the `folder` of an adapter in the bundle and a hash of its files."""


def carry(models: Iterable[str], bundle: Path) -> Carried:
    """Copy the adapters among these models into a bundle that is being written."""
    carried: Carried = {}
    for model in models:
        backend = next((prefix for prefix in (PREFIX, LLAMA_CPP) if model.startswith(prefix)), None)
        adapter = None if backend is None else find_weights(PREFIX + model.removeprefix(backend)).adapter
        if adapter is None:
            continue
        digest = _hash(adapter)
        folder = bundle / FOLDER / digest[:12]
        if not folder.is_dir():
            shutil.copytree(adapter, folder, ignore=shutil.ignore_patterns(".*"))
        carried[model] = {"folder": f"{FOLDER}/{digest[:12]}", "sha256": digest}
    return carried


def carried_models(carried: Mapping[str, Mapping[str, str]], bundle: Path) -> dict[str, str]:
    """For each model that a bundle carries, the model string of the one in the bundle.

    Raises:
        ReadError: an adapter is missing, or not the one that was saved.
    """
    found = {}
    for model, about in carried.items():
        folder = bundle / about["folder"]
        try:
            digest = _hash(folder)
        except OSError as error:
            raise ReadError(folder, None, f"the adapter of {model} is missing ({error.strerror})") from error
        if digest != about["sha256"]:
            raise ReadError(folder, None, f"is not the adapter of {model} that the bundle was saved with; restore it")
        backend = LLAMA_CPP if model.startswith(LLAMA_CPP) else PREFIX
        found[model] = f"{backend}{folder}"
    return found


def weights_of(model_id: str) -> str:
    """What of a model's id says what it is, wherever it lies: the hash behind the `@`, or all of it."""
    return model_id.rpartition("@")[2]


def _hash(adapter: Path) -> str:
    digest = hashlib.sha256()
    for path in adapter_files(adapter):
        digest.update(f"{path.name}:{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()
