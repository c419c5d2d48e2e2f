"""The candidate programs of an optimizer and their score on each example, written to disk during the run."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triplecheck.evals.metrics.statistics import randomisation
from triplecheck.evals.run_directory import JsonLines, repair_lines
from triplecheck.kg import UserError
from triplecheck.kg._atomic import write_text
from triplecheck.kg.values import parse_json
from triplecheck.optimize.state import state_key

_CLEAR = 0.05
"""p-value below which a difference counts as clear."""


@dataclass(frozen=True)
class CandidateProgram:
    """A program that was tried.

    Attributes:
        key: hash of its state (`optimize.state.state_key`).
        scored: number of validation examples that it was scored on.
        score: mean score, from 0 to 1.
        calls: mean number of calls per example, including cached ones.
        size: characters of its state, mostly instructions and demonstrations, as a measure of prompt length. Tokens
            are not used: cached calls have none.
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
class Gain:
    """Two programs, compared on the same examples.

    Attributes:
        won, lost: examples on which it scores more, and less.
        scored: number of examples.
        p: two-sided p-value: of the paired randomisation test of the mean scores, or of McNemar's exact test where
            answers are right or wrong.
    """

    won: int
    lost: int
    scored: int
    p: float

    @property
    def is_clear(self) -> bool:
        """Whether it is improbable that the two differ by chance."""
        return self.p < _CLEAR

    @property
    def is_likely(self) -> bool:
        """Whether it wins more than it loses, by more than one standard deviation of chance."""
        return self.won - self.lost > math.sqrt(self.won + self.lost)

    def to_json(self) -> dict[str, Any]:
        """Plain numbers."""
        return {"won": self.won, "lost": self.lost, "scored": self.scored, "p": float(f"{self.p:.3g}")}


class Candidates:
    """The candidates of one run, in a directory: `candidates/KEY.json` and `scores.jsonl`.

    A resumed run reads the earlier scores. Safe to use from many threads.
    """

    def __init__(self, directory: Path) -> None:
        self._folder = directory / "candidates"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._file = directory / "scores.jsonl"
        self._lock = threading.Lock()
        self._rows: dict[str, dict[str, tuple[float, int]]] = {}
        self._read()

    def seen(self, state: Mapping[str, Any]) -> str:
        """Write a state, if it is new, and return its key."""
        key = state_key(state)
        with self._lock:
            path = self._folder / f"{key}.json"
            if key not in self._rows:
                self._rows[key] = {}
                if not path.is_file():
                    write_text(path, json.dumps(state, indent=1, ensure_ascii=False) + "\n")
        return key

    def score(self, key: str, example: str, score: float, calls: int) -> None:
        """Record the score and the number of calls of a candidate on an example."""
        with self._lock:
            rows = self._rows.setdefault(key, {})
            if rows.get(example) == (score, calls):
                return
            rows[example] = score, calls
            line = {"candidate": key, "example": example, "score": score, "calls": calls}
            with JsonLines(self._file) as sink:
                sink.append(line)

    def state(self, key: str) -> dict[str, Any]:
        """The state of a candidate."""
        loaded: dict[str, Any] = parse_json((self._folder / f"{key}.json").read_text("utf-8"))
        return loaded

    def gain(self, key: str, other: str, examples: Sequence[str]) -> Gain:
        """What a candidate wins and loses against another on examples that both were scored on."""
        with self._lock:
            own, others = ([self._rows[one][example][0] for example in examples] for one in (key, other))
        return Gain(
            won=sum(a > b for a, b in zip(own, others, strict=True)),
            lost=sum(a < b for a, b in zip(own, others, strict=True)),
            scored=len(examples),
            p=randomisation(own, others),
        )

    def over(self, examples: list[str]) -> list[CandidateProgram]:
        """The candidates with a score on all of these examples, best first."""
        wanted = set(examples)
        with self._lock:
            found = [self._candidate(key, wanted) for key, rows in self._rows.items() if wanted <= rows.keys()]
        return sorted(found, key=lambda one: (-one.score, one.calls, one.size, one.key))

    def __len__(self) -> int:
        """The number of all candidates."""
        return len(self._rows)

    def _read(self) -> None:
        def keep(row: Mapping[str, Any]) -> bool:
            self._rows.setdefault(row["candidate"], {})[row["example"]] = row["score"], row["calls"]
            return True

        repair_lines(self._file, keep)

    def _candidate(self, key: str, wanted: Collection[str]) -> CandidateProgram:
        rows = [self._rows[key][example] for example in wanted]
        count = max(1, len(rows))
        size = len(json.dumps(self.state(key), ensure_ascii=False))
        score, calls = (sum(row[at] for row in rows) / count for at in (0, 1))
        return CandidateProgram(key, len(rows), score, calls, size)


# Choosing a candidate by accuracy, then by cost.


def pareto_front(candidates: Sequence[CandidateProgram]) -> list[CandidateProgram]:
    """The Pareto front of accuracy and cost, most accurate first.

    Cost is the number of calls, then the size. Of equal candidates, the first is kept.
    """
    front: list[CandidateProgram] = []
    for one in sorted(candidates, key=lambda one: (-one.score, one.calls, one.size)):
        if not front or (one.calls, one.size) < (front[-1].calls, front[-1].size):
            front.append(one)
    return front


def choose(candidates: Sequence[CandidateProgram], written: str | None = None) -> CandidateProgram:
    """The most accurate; of equal ones that with the fewest calls, then the smallest, then the first.

    The program as written is chosen if it is as accurate with as few calls.

    Args:
        candidates: with a score on the whole validation set.
        written: key of the program as written, before it was compiled.

    Raises:
        UserError: there are no candidates.
    """
    if not candidates:
        raise UserError("no candidate was scored on the whole validation set: give the optimizer a larger budget")
    best = pareto_front(candidates)[0]
    same = (one for one in candidates if one.key == written and (one.score, one.calls) == (best.score, best.calls))
    return next(same, best)
