"""Every program that an optimizer tries, and what it scored on each example: written down as it happens."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from triplecheck.evals.run_directory import JsonLines, repair_lines
from triplecheck.kg import UserError
from triplecheck.kg._atomic import write_text
from triplecheck.optimize.state import state_key


@dataclass(frozen=True)
class CandidateProgram:
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
class _Score:
    score: float
    calls: int


class Candidates:
    """The candidates of one run, in a directory: `candidates/KEY.json` and `scores.jsonl`.

    A resumed run reads the earlier scores. Safe to use from many threads.
    """

    def __init__(self, directory: Path) -> None:
        self._folder = directory / "candidates"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._file = directory / "scores.jsonl"
        self._lock = threading.Lock()
        self._rows: dict[str, dict[str, _Score]] = {}
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
            row = _Score(score, calls)
            if row == rows.get(example):
                return
            rows[example] = row
            line = {"candidate": key, "example": example, "score": score, "calls": calls}
            with JsonLines(self._file) as sink:
                sink.append(line)

    def state(self, key: str) -> dict[str, Any]:
        """The state of a candidate."""
        loaded: dict[str, Any] = json.loads((self._folder / f"{key}.json").read_text("utf-8"))
        return loaded

    def over(self, examples: list[str]) -> list[CandidateProgram]:
        """The candidates that were scored on all of these examples, best first."""
        wanted = set(examples)
        with self._lock:
            found = [self._candidate(key, wanted) for key, rows in self._rows.items() if wanted <= rows.keys()]
        return sorted(found, key=lambda one: (-one.score, one.calls, one.size, one.key))

    def all(self) -> list[CandidateProgram]:
        """Every candidate over whatever it was scored on, best first."""
        with self._lock:
            found = [self._candidate(key, rows.keys()) for key, rows in self._rows.items()]
        return sorted(found, key=lambda one: (-one.scored, -one.score, one.key))

    def _read(self) -> None:
        def keep(row: Mapping[str, Any]) -> bool:
            self._rows.setdefault(row["candidate"], {})[row["example"]] = _Score(row["score"], row["calls"])
            return True

        repair_lines(self._file, keep)

    def _candidate(self, key: str, wanted: Collection[str]) -> CandidateProgram:
        rows = [self._rows[key][example] for example in wanted]
        count = max(1, len(rows))
        size = len(json.dumps(self.state(key), ensure_ascii=False))
        return CandidateProgram(
            key, len(rows), sum(row.score for row in rows) / count, sum(row.calls for row in rows) / count, size
        )


# Choosing by accuracy and cost: the candidates that no other beats at both, and one of them.

Objective = Literal["accuracy", "cost", "balanced"]
WITHIN = 0.02
"""How much accuracy the objective `cost` gives away."""


def check_objective(name: str) -> Objective:
    """The objective of this name.

    Raises:
        UserError: there is none.
    """
    for objective in get_args(Objective):
        if name == objective:
            return objective  # type: ignore[no-any-return]
    raise UserError(f"no objective {name!r}; there are: {', '.join(get_args(Objective))}")


def pareto_front(candidates: Sequence[CandidateProgram]) -> list[CandidateProgram]:
    """Those that no other candidate beats: none is as accurate for less, or more accurate for as little.

    Cost is calls, and among equals the size of what the prompts carry. The most accurate comes first; of equal
    ones the first given stays.
    """
    front: list[CandidateProgram] = []
    for one in sorted(candidates, key=lambda one: (-one.score, *_cost(one))):
        if not front or _cost(one) < _cost(front[-1]):
            front.append(one)
    return front


def choose(candidates: Sequence[CandidateProgram], objective: Objective) -> CandidateProgram:
    """One of the Pareto front.

    `accuracy`: the most accurate. `cost`: the cheapest that is at most 0.02 less accurate than that. `balanced`:
    the one nearest to the most accurate at the cost of the cheapest, both scaled to the range of the front.

    Raises:
        UserError: there are no candidates.
    """
    front = pareto_front(candidates)
    if not front:
        raise UserError("no candidate was scored on the whole validation set: give the optimizer a larger budget")
    if objective == "accuracy":
        return front[0]
    if objective == "cost":
        return [one for one in front if one.score >= front[0].score - WITHIN][-1]
    best, least = front[0], front[-1]
    accuracy, cost = best.score - least.score or 1.0, _spend(best, least) or 1.0

    def distance(one: CandidateProgram) -> float:
        return ((best.score - one.score) / accuracy) ** 2 + (_spend(one, least) / cost) ** 2

    return min(front, key=distance)


def _cost(one: CandidateProgram) -> tuple[float, int]:
    return one.calls, one.size


def _spend(one: CandidateProgram, least: CandidateProgram) -> float:
    """How much more one takes than the cheapest: in calls, or in size where the calls are the same."""
    return one.calls - least.calls or (one.size - least.size) / max(1, least.size)
