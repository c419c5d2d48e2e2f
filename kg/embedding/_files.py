"""Arrays in safetensors files: written atomically, opened memory-mapped."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from triplecheck.kg._atomic import stored
from triplecheck.kg.errors import KnowledgeBaseError

Array = npt.NDArray[Any]

_DTYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8", "BOOL": "|b1", "U8": "|u1"}
_LENGTH_BYTES = 8


def save(path: Path, arrays: Mapping[str, Array], metadata: Mapping[str, str] | None = None) -> None:
    """Write arrays into one file, atomically."""
    from safetensors.numpy import save_file

    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    with stored(path):
        try:
            save_file(
                {key: np.ascontiguousarray(a).reshape(a.shape) for key, a in arrays.items()}, name, dict(metadata or {})
            )
            with Path(name).open("rb") as written:
                os.fsync(written.fileno())
            Path(name).chmod(0o644)
            Path(name).replace(path)
        finally:
            Path(name).unlink(missing_ok=True)


def open_mapped(path: Path) -> tuple[dict[str, Array], dict[str, str]]:
    """The memory-mapped arrays of a file, and its metadata.

    Raises:
        KnowledgeBaseError: missing, damaged, or of a type that numpy does not support.
    """
    try:
        with path.open("rb") as source:
            length = int.from_bytes(source.read(_LENGTH_BYTES), "little")
            header: dict[str, Any] = json.loads(source.read(length))
        data = np.memmap(path, np.uint8, "r", offset=_LENGTH_BYTES + length).view(np.ndarray)
        metadata: dict[str, str] = header.pop("__metadata__", {})
        arrays = {}
        for name, about in header.items():
            start, stop = about["data_offsets"]
            arrays[name] = data[start:stop].view(_DTYPES[about["dtype"]]).reshape(about["shape"])
    except FileNotFoundError as error:
        raise KnowledgeBaseError(f"{path}: missing; train the embeddings again") from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError, MemoryError, OverflowError) as error:
        raise KnowledgeBaseError(f"{path}: damaged arrays ({error}); train the embeddings again") from error
    return arrays, metadata
