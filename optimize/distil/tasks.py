"""What students of the answering step learn from and are measured on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from triplecheck.kg import UserError
from triplecheck.optimize.traces import TraceRow
from triplecheck.optimize.traces.records import with_held_out
from triplecheck.signatures import AnswerFromFacts

LEAST_ROWS = 50
"""Fewer rows to learn from are refused: a reader trained on them is not measurable."""
HELD_OUT = 0.2
"""Share of the questions to measure on, where no rows are held out."""


@dataclass(frozen=True)
class Task:
    """Answering steps with right replies.

    Attributes:
        name: in reports.
        graph: that the questions are about.
        train: rows to learn.
        test: rows of other questions, to measure on.
    """

    name: str
    graph: str
    train: tuple[TraceRow, ...]
    test: tuple[TraceRow, ...]

    @classmethod
    def of(cls, name: str, graph: str, rows: Sequence[TraceRow]) -> Task:
        """Rows, split as they are marked."""
        train, test = (tuple(row for row in rows if row.split == split) for split in ("train", "dev"))
        return cls(name, graph, train, test)


def answering(rows: Sequence[TraceRow]) -> list[TraceRow]:
    """The rows of the answering step."""
    return [row for row in rows if row.signature == AnswerFromFacts.__name__ and row.outputs]


def tasks_of(rows: Mapping[Path, Sequence[TraceRow]]) -> list[Task]:
    """The answering steps of folders that `triplecheck collect` wrote; folders of the same name are of one graph.

    A question is held out by a hash of its id, the same in each folder; where `collect` held some out, these.

    Raises:
        UserError: a folder has no answering step, or all together have too few to learn from.
    """
    tasks = [_task(folder.resolve(), own) for folder, own in rows.items()]
    found = sum(len(task.train) for task in tasks)
    if found < LEAST_ROWS:
        raise UserError(
            f"{found} right replies of the step {AnswerFromFacts.__name__} are too few to train a reader: collect at "
            f"least {LEAST_ROWS} with `triplecheck collect kerag --pass gold --step {AnswerFromFacts.__name__}`; 300 "
            "are better"
        )
    return tasks


def _task(folder: Path, rows: Sequence[TraceRow]) -> Task:
    own, step = answering(rows), AnswerFromFacts.__name__
    if not own:
        there = ", ".join(sorted({row.signature for row in rows})) or "none"
        raise UserError(
            f"{folder}: has no right reply of the step {step}, which is all that a reader does (steps there: {there}); "
            f"collect it with `triplecheck collect kerag --step {step}`"
        )
    return Task.of(f"{folder.parent.name}/{folder.name}", folder.name, with_held_out(own, HELD_OUT))
