"""What a student learns from, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from triplecheck.kg import UserError
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.lms.local.weights import SMOLLM2
from triplecheck.optimize.distil.data import DistilOptions
from triplecheck.optimize.traces import TraceRow


@dataclass(frozen=True)
class LoraOptions:
    """Settings: how a language model writes chains of thought, and how it is measured.

    Raises:
        UserError: a setting is out of range.
    """

    samples: int = 4
    """Samples of a training question whose greedy chain is rejected."""
    left_out: tuple[str, ...] = ()
    """Graphs: for each, another adapter is trained without its rows, and measured on it."""
    bare: bool = False
    """Whether the untrained forms are measured without worked examples too."""
    seconds: float | None = None
    """After this time no further batch of replies starts, and no further adapter; None: no limit."""

    def __post_init__(self) -> None:
        if self.samples < 0:
            raise UserError(f"{self.samples} samples: give 0 or more")


@dataclass(frozen=True)
class Lesson:
    """What a student learns from, and how.

    Attributes:
        rows: by the directory that `collect` wrote; its manifest tells which are of one graph (`tasks.graph_names`).
        out: directory of students.
        name: of the student in `out`; None: its kind, or a hash.
        base: model to train, of students that are language models: `local/smollm2`, or a directory with a transformers
            model or one GGUF file.
        training: settings of the training.
        how: chains are written and measured, of `lora`.
        device: `cpu`, `cuda` ...; `auto` uses a GPU if there is one.
        progress: called with what is done, steps done and in all.

    Raises:
        UserError: the name is invalid.
    """

    rows: Mapping[Path, Sequence[TraceRow]]
    out: Path
    name: str | None = None
    base: str = SMOLLM2
    training: DistilOptions = field(default_factory=DistilOptions)
    how: LoraOptions = field(default_factory=LoraOptions)
    device: str = "auto"
    progress: ProgressCallback = no_progress

    def __post_init__(self) -> None:
        if self.name is not None:
            check_name(self.name)


def check_name(name: str) -> None:
    """Check the name of a student.

    Raises:
        UserError: it is not one word, which could be written as a model string.
    """
    if not name or name.startswith(".") or {"/", "\\", "@"} & set(name):
        raise UserError(f"{name!r} is not a valid name of a student: use one word without / and @")
