"""What a model learns from and is measured on, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from triplecheck.kg import UserError
from triplecheck.optimize.traces import TraceRow
from triplecheck.signatures import AnswerFromFacts


@dataclass(frozen=True)
class LoraOptions:
    """How chains are written and measured.

    Raises:
        UserError: a setting is out of range.
    """

    samples: int = 4
    """Samples of a training question whose greedy chain is rejected."""
    temperature: float = 0.7
    """Of the samples."""
    at_once: int | None = None
    """Prompts that are answered at a time; None: 128 on a GPU, else 8."""
    left_out: tuple[str, ...] = ()
    """Graphs: for each, another adapter is trained without its rows, and measured on it."""
    bare: bool = False
    """Whether the untrained forms are measured without worked examples too."""
    seconds: float | None = None
    """After this time no further batch of replies starts, and no further adapter; None: no limit."""

    def __post_init__(self) -> None:
        if self.samples < 0:
            raise UserError(f"{self.samples} samples: give 0 or more")
        if not 0 < self.temperature <= 2:
            raise UserError(f"the temperature is {self.temperature}: give a number above 0, at most 2")
        if self.at_once is not None and self.at_once < 1:
            raise UserError(f"{self.at_once} prompts at a time: give 1 or more")


@dataclass(frozen=True)
class LoraTask:
    """The rows of one graph: recorded inputs of the answering step, with the right replies.

    Attributes:
        graph: its name.
        train: rows to learn.
        test: rows of other questions, to measure on.
    """

    graph: str
    train: tuple[TraceRow, ...]
    test: tuple[TraceRow, ...]

    @classmethod
    def of(cls, graph: str, rows: Sequence[TraceRow]) -> LoraTask:
        """The rows of the answering step, with their right replies, split as they are marked."""
        own = [row for row in rows if row.signature == AnswerFromFacts.__name__ and row.source == "gold"]
        return cls(
            graph,
            tuple(row for row in own if row.split == "train"),
            tuple(row for row in own if row.split == "dev"),
        )


def check_tasks(tasks: Sequence[LoraTask], how: LoraOptions) -> None:
    """Refuse tasks without a row to learn, and unknown graphs to leave out.

    Raises:
        UserError: so it is; the message says what would do.
    """
    if not any(task.train for task in tasks):
        raise UserError(
            f"no right replies of the step {AnswerFromFacts.__name__} to learn from; "
            "`triplecheck collect kerag --pass gold --step AnswerFromFacts` writes them"
        )
    graphs = sorted({task.graph for task in tasks if task.test})
    unknown = sorted(set(how.left_out) - set(graphs))
    if unknown:
        raise UserError(f"no test rows of {', '.join(unknown)} to leave out; there are: {', '.join(graphs) or 'none'}")
