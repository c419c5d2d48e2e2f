"""Documents from JSON lines."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from triplecheck.kg.documents import Document
from triplecheck.kg.errors import ReadError
from triplecheck.kg.readers.raw import BadLine, bad_line, open_packed
from triplecheck.kg.values import parse_record


class DocumentFile:
    """Documents of a JSON lines file (also with `.gz`), one JSON object per line, read on iteration.

    Args:
        mapping: field names of the file by standard name, if they differ. Standard names are `text`, and optionally
            `id` (default: the line number), `title` and `node`. Other fields are ignored.
        skip_bad: skip malformed lines and list them in `skipped`.

    Attributes:
        skipped: the lines skipped so far.

    Raises:
        ReadError: on iteration, at a malformed line, or if the file cannot be read.
    """

    def __init__(self, path: Path, mapping: Mapping[str, str] | None = None, *, skip_bad: bool = False) -> None:
        self.path = path
        self.skipped: list[BadLine] = []
        self._fields = {name: (mapping or {}).get(name, name) for name in ("id", "title", "text", "node")}
        self._skip_bad = skip_bad

    def __iter__(self) -> Iterator[Document]:
        self.skipped.clear()
        number = 0
        try:
            with open_packed(self.path) as lines:
                for number, line in enumerate(lines, start=1):
                    if not line.strip():
                        continue
                    try:
                        document = self._parse(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line, number)
                    except (ValueError, RecursionError) as error:
                        reason = f"not UTF-8 ({error})" if isinstance(error, UnicodeDecodeError) else str(error)
                        bad_line(self.skipped if self._skip_bad else None, self.path, number, reason, error)
                    else:
                        yield document
        except (OSError, EOFError, zlib.error) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ReadError(self.path, number + 1 if number else None, reason) from error

    def _parse(self, line: bytes, number: int) -> Document:
        """The document of a line, or a ValueError with the reason."""
        try:
            record = parse_record(line.decode("utf-8"))
        except json.JSONDecodeError as error:
            raise ValueError(f"not JSON: {error.msg} at column {error.colno}") from error
        if not isinstance(record, dict):
            raise ValueError(f"a JSON object is expected, not {type(record).__name__}")
        found: dict[str, str | None] = {}
        for name, field in self._fields.items():
            value = record.get(field)
            if name in ("id", "node") and isinstance(value, int) and not isinstance(value, bool):
                value = str(value)
            if value is not None and not isinstance(value, str):
                raise ValueError(f"the field {field!r} contains {type(value).__name__}, a string is expected")
            found[name] = value
        if found["text"] is None:
            raise ValueError(f"no field {self._fields['text']!r}; map one with text=COLUMN")
        return Document(found["id"] or str(number), found["node"] or None, found["title"] or "", found["text"])
