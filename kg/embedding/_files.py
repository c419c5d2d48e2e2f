"""Arrays in safetensors files: written atomically, opened memory-mapped."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from triplecheck.kg._atomic import replaced_file
from triplecheck.kg.errors import KnowledgeBaseError
from triplecheck.kg.values import parse_json

Array = npt.NDArray[Any]

_DTYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8", "BOOL": "|b1", "U8": "|u1"}
_LENGTH_BYTES = 8


def save(path: Path, arrays: Mapping[str, Array], metadata: Mapping[str, str] | None = None) -> None:
    """Write arrays into one file, atomically."""
    from safetensors.numpy import save_file

    whole = {key: np.ascontiguousarray(a).reshape(a.shape) for key, a in arrays.items()}
    with replaced_file(path) as draft:
        save_file(whole, draft, dict(metadata or {}))


def open_mapped(path: Path) -> tuple[dict[str, Array], dict[str, str]]:
    """The memory-mapped arrays of a file, and its metadata.

    Raises:
        KnowledgeBaseError: missing, damaged, or of a type that numpy does not support.
    """
    try:
        with path.open("rb") as source:
            length = int.from_bytes(source.read(_LENGTH_BYTES), "little")
            if length > path.stat().st_size:  # checked before memory is taken
                raise ValueError(f"a header of {length:,} bytes")
            header: dict[str, Any] = parse_json(source.read(length))
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
