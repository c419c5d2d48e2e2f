"""Where a distilled model lies: a directory named by a hash of all that it was made from."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from triplecheck.kg import ReadError, UserError
from triplecheck.lms.local.weights import PREFIX, SMOLLM2, Weights, find_weights

FORMAT, VERSION = "triplecheck-distilled", 3
MANIFEST = "manifest.json"
LIBRARIES = ("torch", "transformers", "peft", "trl")


def versions() -> dict[str, str]:
    """Of the libraries that the weights depend on."""
    return {name: version(name).partition("+")[0] for name in LIBRARIES}


def address(configuration: Mapping[str, Any]) -> str:
    """The name of the directory for what is made in this way."""
    text = json.dumps({"format": FORMAT, "version": VERSION, **configuration}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def base_weights(base: str) -> Weights:
    """The weights of a model to distil, named by its model string or its directory.

    Raises:
        ModelUnavailableError: there is no such model.
        UserError: it is an adapter.
    """
    name = base if base.startswith(PREFIX) else f"{PREFIX}{base}"
    weights = find_weights(name)
    if weights.adapter is not None:
        raise UserError(f"{base}: is an adapter; train on the model below it, {weights.directory}, with all the data")
    return weights


def lasting_name(weights: Weights) -> str:
    """How an adapter names its base: by its model string, or where that is a directory by its whole path."""
    return weights.name if weights.name == SMOLLM2 else str(weights.directory.resolve())


def read_manifest(folder: Path) -> dict[str, Any]:
    """What the manifest of a distilled model says.

    Raises:
        ReadError: there is none, or it is damaged.
    """
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise ReadError(path, None, "no such file; `triplecheck distill` writes it") from None
    except (OSError, ValueError) as error:
        raise ReadError(path, None, f"is damaged ({error}); remove {folder} and distil again") from error
    if not isinstance(manifest, dict) or (manifest.get("format"), manifest.get("version")) != (FORMAT, VERSION):
        raise ReadError(path, None, f"is not of {FORMAT}, version {VERSION}; distil again")
    return manifest


def point(out: Path, name: str, target: str) -> Path:
    """Let a name in a directory stand for a distilled model in it; a name that is there points elsewhere then.

    Raises:
        UserError: the name is none, or is taken by something that is no pointer.
    """
    check_name(out, name)
    pointer, draft = out / name, out / f".{name}.{secrets.token_hex(4)}"
    draft.symlink_to(target)
    draft.replace(pointer)
    return pointer


def check_name(out: Path, name: str) -> None:
    """See `point`.

    Raises:
        UserError: the name is none, or is taken by something that is no pointer.
    """
    if not name or name.startswith(".") or "/" in name or "@" in name:
        raise UserError(f"{name!r} is no name for a model: give one word without / and @")
    if (out / name).exists() and not (out / name).is_symlink():
        raise UserError(f"{out / name}: is there and is no name of a model; choose another")
