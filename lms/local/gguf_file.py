"""Reads the metadata of a GGUF file: the format of llama.cpp's weights (`ggml/docs/gguf.md`)."""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import TypeAlias

from triplecheck.lms.errors import ModelUnavailableError

Value: TypeAlias = int | float | bool | str | list[int | float | bool]

MAGIC = b"GGUF"
"""The first bytes of a file."""
_NUMBERS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
"""The format of each numeric type; 8 is a string and 9 an array."""
_STRING, _ARRAY = 8, 9
_LONGEST_LIST = 4096
"""Longer lists, such as the scores of all tokens, are skipped."""


def read_metadata(path: Path) -> dict[str, Value]:
    """The metadata by key. Lists of strings and long lists are left out.

    Raises:
        ModelUnavailableError: the file cannot be read, is no GGUF file, or is damaged.
    """
    try:
        with path.open("rb") as file:
            if file.read(4) != MAGIC:
                raise ModelUnavailableError(f"{path}: is no GGUF file; name a file of weights that ends in .gguf")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _Reader(data).metadata()
    except OSError as error:
        raise ModelUnavailableError(f"{path}: cannot be read ({error.strerror})") from error
    except (struct.error, ValueError, OverflowError) as error:
        raise ModelUnavailableError(f"{path}: is a damaged GGUF file ({error}); download it again") from error


class _Reader:
    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._at = 4

    def metadata(self) -> dict[str, Value]:
        version = self._number("<I")
        if version not in (2, 3):
            raise ValueError(f"version {version}, known are 2 and 3")
        self._number("<Q")  # the number of tensors
        found: dict[str, Value] = {}
        for _ in range(int(self._number("<Q"))):
            key = self._text()
            value = self._value(int(self._number("<I")))
            if value is not None:
                found[key] = value
        return found

    def _number(self, form: str) -> int | float | bool:
        (value,) = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        assert isinstance(value, int | float)
        return value

    def _text(self) -> str:
        length = int(self._number("<Q"))
        end = self._at + length
        if end > len(self._data):
            raise ValueError("it ends in the middle of a text")
        text = self._data[self._at : end].decode()
        self._at = end
        return text

    def _value(self, kind: int) -> Value | None:
        if kind == _STRING:
            return self._text()
        if kind in _NUMBERS:
            return self._number(_NUMBERS[kind])
        if kind != _ARRAY:
            raise ValueError(f"a value of the unknown type {kind}")
        of, count = int(self._number("<I")), int(self._number("<Q"))
        if of in _NUMBERS:
            form = _NUMBERS[of]
            if count <= _LONGEST_LIST:
                return [self._number(form) for _ in range(count)]
            self._at += count * struct.calcsize(form)
            return None
        for _ in range(count):
            self._value(of)
        return None
