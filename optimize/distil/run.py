"""Trains a small model's adapter on rows of verified steps."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triplecheck.evals.run_directory import locked
from triplecheck.kg import ReadError, UserError
from triplecheck.kg._atomic import draft_directory, replaced_directory, write_text
from triplecheck.kg.errors import require
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.values import parse_json
from triplecheck.lms.local.weights import PREFIX, SMOLLM2, Weights, find_weights
from triplecheck.optimize.distil.data import ChatEncoder, DistilOptions, prepare
from triplecheck.optimize.distil.lesson import check_name
from triplecheck.optimize.traces import TraceRow

if TYPE_CHECKING:
    from triplecheck.lms.local.transformers_backend import LoadedModel

# The directory of a distilled model, named by a hash of base, data, options and versions.

FORMAT, VERSION = "triplecheck-distilled", 3
MANIFEST = "manifest.json"
_WEIGHTS, _CONFIG = "adapter_model.safetensors", "adapter_config.json"
LIBRARIES = ("torch", "transformers", "peft", "trl")
"""The weights depend on their versions."""


def base_weights(base: str) -> Weights:
    """The weights of the base model, given by its model string or its directory.

    Raises:
        ModelUnavailableError: there is no such model.
        UserError: it is an adapter.
    """
    name = base if base.startswith(PREFIX) else f"{PREFIX}{base}"
    weights = find_weights(name)
    if weights.adapter is not None:
        raise UserError(f"{base}: is an adapter; train its base model {weights.directory} on all the data instead")
    return weights


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a distilled model.

    Raises:
        ReadError: it is missing or damaged.
    """
    path = folder / MANIFEST
    try:
        manifest = parse_json(path.read_text("utf-8"))
    except FileNotFoundError:
        raise ReadError(path, None, "no such file; `triplecheck distill` writes it") from None
    except (OSError, ValueError) as error:
        raise ReadError(path, None, f"is damaged ({error}); remove {folder} and distil again") from error
    if not isinstance(manifest, dict) or (manifest.get("format"), manifest.get("version")) != (FORMAT, VERSION):
        raise ReadError(path, None, f"is not of {FORMAT}, version {VERSION}; distil again")
    return manifest


def point(out: Path, name: str, target: str) -> Path:
    """Create a symbolic link with this name to a distilled model in the same directory; an existing link is replaced.

    Raises:
        UserError: the name is invalid, or taken by something other than a link.
    """
    _check_free(out, name)
    with draft_directory(out / name) as draft:
        (draft / name).symlink_to(target)
        return (draft / name).replace(out / name)


def _check_free(out: Path, name: str) -> None:
    check_name(name)
    if (out / name).exists() and not (out / name).is_symlink():
        raise UserError(f"{out / name}: exists and is not a model name; choose another")


@dataclass(frozen=True)
class Distilled:
    """A distilled model."""

    path: Path
    """Directory of the adapter."""
    manifest: dict[str, Any]
    """Base, data, options, versions, and the course of the training."""

    @property
    def model(self) -> str:
        """The model string, for any role."""
        return f"{PREFIX}{self.path}"


def distil_rows(
    rows: Sequence[TraceRow],
    out: Path | str,
    *,
    base: str = SMOLLM2,
    options: DistilOptions | None = None,
    name: str | None = None,
    device: str = "auto",
    progress: ProgressCallback = no_progress,
    loaded: LoadedModel | None = None,
) -> Distilled:
    """Train an adapter on rows. A finished model is not trained again; an unfinished training is resumed.

    The adapter is written to a directory below `out` named by a hash of base, data, options and versions.

    Args:
        base: `local/smollm2`, or a directory with a transformers model.
        name: a name for the model in `out`, in addition to its hash.
        device: `cpu`, `cuda` ...; `auto` uses a GPU if there is one.
        loaded: the base model, if it is in memory already; it is as it was afterwards.

    Raises:
        UserError: nothing to train on, an invalid argument, or another process is training the same model.
        UnavailableError: a library or the base model is missing.
    """
    check_libraries()
    options, out, weights = options or DistilOptions(), Path(out), base_weights(base)
    if out.exists() and not out.is_dir():
        raise UserError(f"{out}: is a file; distilled models are written into a directory")
    if name is not None:
        _check_free(out, name)
    progress("reading", 0, None)
    from triplecheck.lms.local.transformers_backend import load_tokenizer

    data = prepare(rows, ChatEncoder(load_tokenizer(weights)), options)
    model = weights.name if weights.name == SMOLLM2 else str(weights.directory.resolve())
    made_from = {
        "base": {"model": model, "sha256": weights.fingerprint},
        "data": data.to_json(),
        "options": options.to_json(),
        "versions": {name: version(name).partition("+")[0] for name in LIBRARIES},
    }
    # The location of the base is not part of the address.
    configuration = {**made_from, "base": weights.fingerprint, "data": data.sha256}
    text = json.dumps({"format": FORMAT, "version": VERSION, **configuration}, sort_keys=True)
    path = out / hashlib.sha256(text.encode()).hexdigest()[:16]
    work = out / f".{path.name}.work"
    if (path / MANIFEST).is_file():
        shutil.rmtree(work, ignore_errors=True)  # of a process that was killed when the model was complete
    else:
        with locked(work, "another process is training this model"):
            from triplecheck.optimize.distil.training import train

            progress("loading the model", 0, None)
            trained, course = train(weights, data, options, work, device, progress, loaded)
            with replaced_directory(path) as new:
                count = _write_adapter(trained, model, new)
                file = new / _WEIGHTS
                adapter = {"parameters": count, "bytes": file.stat().st_size, "sha256": _hash(file)}
                manifest = {"format": FORMAT, "version": VERSION, **made_from, "adapter": adapter, "training": course}
                write_text(new / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
            shutil.rmtree(work)
            if loaded is not None:
                trained.unload()
    if name is not None:
        point(out, name, path.name)
    return Distilled(path, read_manifest(path))


def _write_adapter(model: Any, base: str, folder: Path) -> int:
    """Write the adapter `default` of a PEFT model in float16, and its configuration; the number of its parameters.

    The same weights give the same bytes. `base` is the name or path of the base model.
    """
    import torch
    from peft import get_peft_model_state_dict
    from safetensors.torch import save_file

    state = get_peft_model_state_dict(model, save_embedding_layers=False)
    tensors = {name: state[name].detach().to("cpu", torch.float16).contiguous() for name in sorted(state)}
    save_file(tensors, folder / _WEIGHTS, metadata={"format": "pt"})
    config = model.peft_config["default"].to_dict() | {"base_model_name_or_path": base, "inference_mode": True}
    text = json.dumps(config, indent=1, sort_keys=True, default=_plain)
    (folder / _CONFIG).write_text(text + "\n", "utf-8")
    return sum(tensor.numel() for tensor in tensors.values())


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, set | frozenset) else str(value)


def check_libraries() -> None:
    """Check that the libraries for training are installed.

    Raises:
        MissingExtraError: one is missing.
    """
    require("train", "Distilling", *LIBRARIES, "accelerate", "datasets")


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
