"""One report for all students: what a student learnt from, and what that brought."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

from triplecheck.evals.metrics.statistics import bootstrap_interval, mcnemar, write_p
from triplecheck.kg._atomic import write_text
from triplecheck.kg.readable import counted
from triplecheck.optimize.traces import TraceRow
from triplecheck.optimize.traces.records import counts

_ENOUGH = 30
"""Least number of held-out questions: with fewer, one question changes the result by more than three points."""
OF_TRACES = "what the student learnt is under the licences of its questions, their graph and the teacher's output"


@dataclass(frozen=True)
class Learnt:
    """What a student learnt from.

    Attributes:
        traces: their directories.
        questions: number of questions.
        rows: number of rows.
        by_step, by_kind, by_model: number of rows; a row may be of several kinds.
        left_out: rows that were not used, by reason.
    """

    traces: tuple[str, ...]
    questions: int
    rows: int
    by_step: Mapping[str, int]
    by_kind: Mapping[str, int]
    by_model: Mapping[str, int]
    left_out: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls, traces: Sequence[Path | str], rows: Sequence[TraceRow], left_out: Mapping[str, int] | None = None
    ) -> Learnt:
        """From the rows of some directories."""
        return cls(
            tuple(map(str, traces)),
            len({row.id for row in rows}),
            len(rows),
            counts(row.signature for row in rows),
            counts(kind for row in rows for kind in row.kinds),
            counts(row.model for row in rows),
            dict(left_out or {}),
        )


@dataclass(frozen=True)
class Score:
    """A score on held-out rows, before and after the student learnt, on the same rows.

    Attributes:
        on: the graph or the traces.
        what: is scored.
        before_is, after_is: what was asked each time.
        rows: number of held-out rows.
        before, after: shares from 0 to 1.
        before_interval, after_interval: 95%, by bootstrap.
        p: of the difference, by McNemar's exact test.
    """

    on: str
    what: str
    before_is: str
    after_is: str
    rows: int
    before: float
    after: float
    before_interval: tuple[float, float]
    after_interval: tuple[float, float]
    p: float

    @classmethod
    def of(
        cls, on: str, what: str, before: tuple[str, Sequence[float]], after: tuple[str, Sequence[float]]
    ) -> Score | None:
        """From what was asked and the score of each row, 0 or 1, in the same order; None without rows."""
        (before_is, first), (after_is, second) = before, after
        if not first:
            return None
        share, other = round(mean(first), 4), round(mean(second), 4)
        ends, p = (interval(first), interval(second)), mcnemar(first, second)
        return cls(on, what, before_is, after_is, len(first), share, other, *ends, p)

    @property
    def shown(self) -> tuple[str, str]:
        """What was asked, its score and its interval, before and after."""
        before = f"{self.before_is} {self.before:.3f} ({_ends(self.before_interval)})"
        return before, f"{self.after_is} {self.after:.3f} ({_ends(self.after_interval)})"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        ends = {name: list(getattr(self, name)) for name in ("before_interval", "after_interval")}
        return vars(self) | ends

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Score:
        """From `to_json`."""
        given: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in row.items()}
        return cls(**given)


@dataclass(frozen=True)
class StudentReport:
    """What `triplecheck distill` tells about a student.

    Attributes:
        student: its kind, see `students.STUDENTS`.
        model: the model string that uses it.
        file: its weights, a file or a directory.
        learnt: what it learnt from.
        scores: on held-out rows.
        seconds: that it took.
        licence: of the weights.
        details: more, of its kind.
    """

    student: str
    model: str
    file: Path
    learnt: Learnt
    scores: tuple[Score, ...]
    seconds: float
    licence: str
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return vars(self) | {
            "file": str(self.file),
            "learnt": vars(self.learnt) | {"traces": list(self.learnt.traces)},
            "scores": [score.to_json() for score in self.scores],
            "seconds": round(self.seconds, 1),
            "details": dict(self.details),
        }

    def markdown(self) -> str:
        """The report in words and a table: the card of the weights."""
        learnt = self.learnt
        lines = [
            f"{self.student}: `{self.model}`",
            "",
            f"Learnt from {learnt.rows} rows of {learnt.questions} questions in {self.seconds:.0f} s.",
            "",
            "| rows by | |",
            "|---|---|",
        ]
        by = {"step": learnt.by_step, "kind": learnt.by_kind, "teacher": learnt.by_model, "left out": learnt.left_out}
        lines += [f"| {name} | {counted(rows)} |" for name, rows in by.items() if rows]
        lines += ["", "| held-out rows | score | before (95%) | after (95%) | p |", "|---|---|---|---|---|"]
        for one in self.scores:
            lines.append(f"| {one.on}: {one.rows} | {one.what} | {' | '.join(one.shown)} | {write_p(one.p)} |")
        return "\n".join([*lines, "", f"Licence: {self.licence}."]) + "\n"

    def write(self, folder: Path, name: str) -> None:
        """Write `NAME.report.json` and `NAME.report.md` into a directory."""
        text = json.dumps(self.to_json(), indent=1, ensure_ascii=False)
        write_text(folder / f"{name}.report.json", text + "\n")
        write_text(folder / f"{name}.report.md", self.markdown())


def too_few(held_out: int) -> str | None:
    """What to say where too few questions are held out; None: they are enough."""
    if held_out >= _ENOUGH:
        return None
    told = f"{held_out} held-out questions are too few to tell whether it helps"
    return f"{told}: compare on others, with `triplecheck eval`"


def interval(scores: Sequence[float]) -> tuple[float, float]:
    """The 95% bootstrap interval of the mean of some scores."""
    low, high = bootstrap_interval(scores)
    return round(low, 4), round(high, 4)


def _ends(interval: tuple[float, float]) -> str:
    return "{:.2f}-{:.2f}".format(*interval)
