"""Distil: train a small model's adapter on the verified steps of programs."""

from __future__ import annotations

import fcntl
import importlib.util
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triplecheck.kg import UnavailableError, UserError
from triplecheck.kg._atomic import replaced_directory, write_text
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.lms.local.weights import PREFIX, SMOLLM2, Weights
from triplecheck.optimize.distil.address import (
    FORMAT,
    MANIFEST,
    VERSION,
    address,
    base_weights,
    check_name,
    lasting_name,
    point,
    read_manifest,
    versions,
)
from triplecheck.optimize.distil.data import TrainingData, prepare, read_rows
from triplecheck.optimize.distil.options import DistilOptions
from triplecheck.optimize.traces import TraceRow

_NEEDED = {"torch": "torch", "transformers": "transformers", "peft": "peft", "trl": "trl", "accelerate": "accelerate"}


@dataclass(frozen=True)
class Distilled:
    """A distilled model."""

    path: Path
    """Directory of the adapter."""
    manifest: dict[str, Any]
    """What it was made from, and how the training went."""

    @property
    def model(self) -> str:
        """The model string, for any role."""
        return f"{PREFIX}{self.path}"


def distil(
    traces: Sequence[Path | str],
    out: Path | str,
    *,
    base: str = SMOLLM2,
    options: DistilOptions | None = None,
    steps: Sequence[str] = (),
    name: str | None = None,
    device: str = "auto",
    progress: ProgressCallback | None = None,
) -> Distilled:
    """Train an adapter on collected traces; what is there already is not trained again, what was begun goes on.

    The adapter is written to a directory below `out` named by a hash of base, data, options and versions.

    Args:
        traces: directories that `optimize.traces.collect` wrote.
        out: directory of distilled models.
        base: `local/smollm2`, or a directory with a model of transformers.
        options: of the training.
        steps: names of signatures to train on; none for all.
        name: that stands for the model in `out` from now on, besides its hash.
        device: `cpu`, `cuda` ...; `auto` takes a GPU where there is one.
        progress: told how far it is.

    Raises:
        UserError: nothing to train on, a bad argument, or another process trains the same.
        UnavailableError: a library or the base model is missing.
    """
    return distil_rows(
        read_rows(traces, steps), out, base=base, options=options, name=name, device=device, progress=progress
    )


def distil_rows(
    rows: Sequence[TraceRow],
    out: Path | str,
    *,
    base: str = SMOLLM2,
    options: DistilOptions | None = None,
    name: str | None = None,
    device: str = "auto",
    progress: ProgressCallback | None = None,
) -> Distilled:
    """As `distil`, from rows."""
    check_libraries()
    options, out, weights = options or DistilOptions(), Path(out), base_weights(base)
    if out.exists() and not out.is_dir():
        raise UserError(f"{out}: is a file; distilled models are written into a directory")
    if name is not None:
        check_name(out, name)
    tell = progress or no_progress
    tell("reading", 0, None)
    data = _prepared(rows, weights, options)
    made_from = {
        "base": {"model": lasting_name(weights), "sha256": weights.fingerprint},
        "data": data.to_json(),
        "options": options.to_json(),
        "versions": versions(),
    }
    # Where a base lies makes no other model of it.
    path = out / address({**made_from, "base": weights.fingerprint, "data": data.sha256})
    if not (path / MANIFEST).is_file():
        with _work_directory(out / f".{path.name}.work") as work:
            _train(path, work, weights, data, options, made_from, device, tell)
    if name is not None:
        point(out, name, path.name)
    return Distilled(path, read_manifest(path))


def check_libraries() -> None:
    """See that what training needs is installed.

    Raises:
        UnavailableError: something is not; the message says how to get it.
    """
    missing = [package for module, package in _NEEDED.items() if importlib.util.find_spec(module) is None]
    if missing:
        raise UnavailableError(
            f"distilling needs {', '.join(missing)}; pip install 'triplecheck[distil]' or {' '.join(missing)}"
        )


def _prepared(rows: Sequence[TraceRow], weights: Weights, options: DistilOptions) -> TrainingData:
    from triplecheck.lms.local.transformers_backend import load_tokenizer
    from triplecheck.optimize.distil.tokens import Encoder

    return prepare(rows, Encoder(load_tokenizer(weights)), options)


def _train(
    path: Path,
    work: Path,
    weights: Weights,
    data: TrainingData,
    options: DistilOptions,
    made_from: dict[str, Any],
    device: str,
    tell: ProgressCallback,
) -> None:
    from triplecheck.optimize.distil.adapter import WEIGHTS, write_adapter
    from triplecheck.optimize.distil.training import train

    tell("loading the model", 0, None)
    model, course = train(weights, data, options, work, device, tell)
    with replaced_directory(path) as new:
        parameters = write_adapter(model, made_from["base"]["model"], new)
        adapter = {"parameters": parameters, "bytes": (new / WEIGHTS).stat().st_size, "sha256": _hash(new / WEIGHTS)}
        manifest = {"format": FORMAT, "version": VERSION, **made_from, "adapter": adapter, "training": course}
        write_text(new / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
        write_text(new / "README.md", _card(manifest))
    shutil.rmtree(work)


def _card(manifest: dict[str, Any]) -> str:
    about, course = manifest["data"], manifest["training"]
    steps = ", ".join(f"{name} {count}" for name, count in about["by_step"].items())
    held_out = "" if course["dev_loss"] is None else f", held-out loss {course['dev_loss']:.4f}"
    return (
        f"LoRA adapter (rank {manifest['options']['rank']}) for {manifest['base']['model']}, trained by `triplecheck "
        f"distil` on {about['train']} verified steps ({steps}); {course['steps']} steps on {course['device']}"
        f"{held_out}. See {MANIFEST}.\n"
    )


def _hash(path: Path) -> str:
    import hashlib

    return hashlib.sha256(path.read_bytes()).hexdigest()


@contextmanager
def _work_directory(work: Path) -> Iterator[Path]:
    """The directory of a training under way, held by one process at a time."""
    work.mkdir(parents=True, exist_ok=True)
    with (work / ".lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"{work}: another process trains this very model; wait for it") from None
        yield work
