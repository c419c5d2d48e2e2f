"""Every program that an optimizer tries, and what it scored on each example: written down as it happens."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triplecheck.kg._atomic import write_text
from triplecheck.optimize.state import state_key


@dataclass(frozen=True)
class Candidate:
    """A program that was tried.

    Attributes:
        key: names its state (`optimize.state.state_key`).
        scored: examples of the validation set that it was scored on.
        score: mean over them, from 0 to 1.
        calls: mean per example, those answered from a cache too.
        size: characters of its instructions and demonstrations, which every prompt carries. Tokens would not
            do: what a cache answers takes none.
    """

    key: str
    scored: int
    score: float
    calls: float
    size: int

    def to_json(self) -> dict[str, Any]:
        """Plain numbers."""
        return {
            "candidate": self.key,
            "scored": self.scored,
            "score": round(self.score, 6),
            "calls": round(self.calls, 3),
            "size": self.size,
        }


@dataclass(frozen=True)
class _Row:
    score: float
    calls: int


class Candidates:
    """The candidates of one run, in a directory: `candidates/KEY.json` and `scores.jsonl`.

    A run that is taken up again finds here what was scored before. Safe to use from many threads.
    """

    def __init__(self, directory: Path) -> None:
        self._folder = directory / "candidates"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._file = directory / "scores.jsonl"
        self._lock = threading.Lock()
        self._rows: dict[str, dict[str, _Row]] = {}
        self._read()

    def seen(self, state: Mapping[str, Any]) -> str:
        """Write a state down, if it is new; its key."""
        key = state_key(state)
        with self._lock:
            path = self._folder / f"{key}.json"
            if key not in self._rows:
                self._rows[key] = {}
                if not path.is_file():
                    write_text(path, json.dumps(state, indent=1, ensure_ascii=False) + "\n")
        return key

    def score(self, key: str, example: str, score: float, calls: int) -> None:
        """Note what a candidate scored on an example, and the calls that it took."""
        with self._lock:
            rows = self._rows.setdefault(key, {})
            row = _Row(score, calls)
            if row == rows.get(example):
                return
            rows[example] = row
            line = {"candidate": key, "example": example, "score": score, "calls": calls}
            with self._file.open("a", encoding="utf-8") as sink:
                sink.write(json.dumps(line) + "\n")

    def state(self, key: str) -> dict[str, Any]:
        """The state of a candidate."""
        loaded: dict[str, Any] = json.loads((self._folder / f"{key}.json").read_text("utf-8"))
        return loaded

    def over(self, examples: list[str]) -> list[Candidate]:
        """The candidates that were scored on all of these examples, best first."""
        wanted = set(examples)
        with self._lock:
            found = [self._candidate(key, wanted) for key, rows in self._rows.items() if wanted <= rows.keys()]
        return sorted(found, key=lambda one: (-one.score, one.calls, one.size, one.key))

    def all(self) -> list[Candidate]:
        """Every candidate over whatever it was scored on, best first."""
        with self._lock:
            found = [self._candidate(key, rows.keys()) for key, rows in self._rows.items()]
        return sorted(found, key=lambda one: (-one.scored, -one.score, one.key))

    def _read(self) -> None:
        if not self._file.is_file():
            return
        whole = []
        for line in self._file.read_bytes().splitlines(keepends=True):
            try:
                row = json.loads(line) if line.endswith(b"\n") else None
            except ValueError:
                row = None
            if row is None:
                continue  # torn by a kill: it is scored again
            whole.append(line)
            scored = _Row(row["score"], row["calls"])
            self._rows.setdefault(row["candidate"], {})[row["example"]] = scored
        write_text(self._file, b"".join(whole).decode("utf-8"))

    def _candidate(self, key: str, wanted: Collection[str]) -> Candidate:
        rows = [self._rows[key][example] for example in wanted]
        count = max(1, len(rows))
        size = len(json.dumps(self.state(key), ensure_ascii=False))
        return Candidate(
            key, len(rows), sum(row.score for row in rows) / count, sum(row.calls for row in rows) / count, size
        )
