"""The file that a pass over questions appends to: one line per question, with its rows or why it has none."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

from triplecheck.optimize.traces.rows import TraceRow

FILE = "records.jsonl"


@dataclass(frozen=True)
class Record:
    """What one question gave.

    Attributes:
        id: of the question.
        key: of its row in the evaluation beside.
        rejected: why its steps are not kept; None: they are.
        rows: in the order of the steps.
        left_out: steps of a kept question that make no row, by reason.
    """

    id: str
    key: str
    rejected: str | None
    rows: tuple[TraceRow, ...]
    left_out: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        """As it stands in a line."""
        return {
            "id": self.id,
            "key": self.key,
            "rejected": self.rejected,
            "left_out": dict(self.left_out),
            "rows": [row.to_json() for row in self.rows],
        }


class Records:
    """Appends records. A line is written whole, and before the row of the evaluation: what has a row is here, too.

    Args:
        folder: of the pass; made if it is not there.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / FILE
        torn = path.is_file() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")
        self._file: IO[bytes] = path.open("ab")
        if torn:
            self._file.write(b"\n")

    def append(self, record: Record) -> None:
        """Write a record."""
        text = json.dumps(record.to_json(), ensure_ascii=False)
        self._file.write(text.encode("utf-8", "backslashreplace") + b"\n")
        self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def read_records(folder: Path, ids: Sequence[str]) -> list[Record]:
    """The last record of each of these questions, in their order; a torn line and what has none is passed over."""
    found: dict[str, Record] = {}
    wanted = set(ids)
    path = folder / FILE
    if path.is_file():
        with path.open("rb") as lines:
            for line in lines:
                record = _record(line)
                if record is not None and record.id in wanted:
                    found[record.id] = record
    return [found[id] for id in ids if id in found]


def rejections(records: Sequence[Record]) -> dict[str, int]:
    """Questions whose steps are not kept, by reason, most frequent first."""
    return dict(Counter(record.rejected for record in records if record.rejected is not None).most_common())


def _record(line: bytes) -> Record | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None
    rows = tuple(TraceRow.from_json(inner) for inner in row["rows"])
    return Record(row["id"], row["key"], row["rejected"], rows, row["left_out"])
