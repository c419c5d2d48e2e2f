"""Export of a distilled model: merged with its base for transformers, or the adapter for llama.cpp."""

from __future__ import annotations

from pathlib import Path

from triplecheck.kg import UserError
from triplecheck.kg._atomic import replaced_directory, replaced_file
from triplecheck.lms.local.gguf_lora import write_gguf_lora
from triplecheck.lms.local.transformers_backend import load_model, load_tokenizer
from triplecheck.lms.local.weights import find_weights


def write_merged(model: str, folder: Path) -> Path:
    """Write the merged model in float16 with its tokenizer, for transformers.

    Args:
        model: `local/DIRECTORY` of an adapter.
        folder: a new directory, or one with a model, which is replaced.

    Raises:
        UserError: the folder holds something else.
    """
    import torch

    check_free(folder)
    weights = find_weights(model)
    merged = load_model(weights, torch.float32).to(torch.float16)
    with replaced_directory(folder) as new:
        merged.save_pretrained(new)
        load_tokenizer(weights).save_pretrained(new)
    return folder


def write_gguf(model: str, file: Path) -> Path:
    """Write the adapter of a model for llama.cpp, to load with its base: `llama-server --lora FILE`.

    Raises:
        UserError: the base has no GGUF file.
        ModelUnavailableError: llama.cpp does not support an adapted layer.
    """
    weights = find_weights(model)
    if weights.gguf is None or weights.adapter is None:
        raise UserError(f"{model}: its base {weights.directory} has no GGUF file; write the merged model with --merge")
    file.parent.mkdir(parents=True, exist_ok=True)
    with replaced_file(file) as draft:
        write_gguf_lora(weights.adapter, weights.directory / weights.gguf, draft)
    return file


def check_free(folder: Path) -> None:
    """Check that a model may be written to this directory.

    Raises:
        UserError: it holds something else.
    """
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "model.safetensors").is_file():
        raise UserError(f"{folder}: is not empty and holds no model; choose another directory")
    if folder.is_file():
        raise UserError(f"{folder}: is a file; a model is written into a directory")
