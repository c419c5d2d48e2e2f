"""The students that traces are distilled into: which steps each does, and how it learns them."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from triplecheck.kg import UserError
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.lms.local.weights import SMOLLM2
from triplecheck.optimize.distil.data import DistilOptions
from triplecheck.optimize.distil.lora import LoraOptions, LoraTask, distil_lora
from triplecheck.optimize.distil.path_ranker import FURTHER
from triplecheck.optimize.distil.reader import MADE_WITH, ReaderOptions, distil_reader, read_tasks
from triplecheck.optimize.distil.report import OF_TRACES, Learnt, StudentReport, counted
from triplecheck.optimize.distil.trace_ranker import distil_ranker
from triplecheck.optimize.traces import TraceRow, read_traces
from triplecheck.optimize.traces.reading import read_manifest
from triplecheck.signatures import AnswerFromFacts


@dataclass(frozen=True)
class Lesson:
    """What a student learns from, and how.

    Attributes:
        traces: directories that `collect` wrote.
        rows: of the steps that the student does, by the name of their directory.
        out: directory of students.
        name: of the student in `out`; None: its kind, or a hash.
        base: model to train, of students that are language models.
        training: settings of the training.
        how: chains are written and measured, of `lora`.
        device: `cpu`, `cuda` ...; `auto` uses a GPU if there is one.
        progress: called with the progress.
    """

    traces: tuple[Path, ...]
    rows: Mapping[str, Sequence[TraceRow]]
    out: Path
    name: str | None = None
    base: str = SMOLLM2
    training: DistilOptions = field(default_factory=DistilOptions)
    how: LoraOptions = field(default_factory=LoraOptions)
    device: str = "auto"
    progress: ProgressCallback = no_progress


def _ranker(lesson: Lesson) -> StudentReport:
    rows = [row for own in lesson.rows.values() for row in own]
    file = lesson.out / f"{lesson.name or 'ranker'}.safetensors"
    training = dataclasses.replace(FURTHER, seed=lesson.training.seed)
    return distil_ranker(rows, file, training, lesson.progress, lesson.traces)


def _reader(lesson: Lesson) -> StudentReport:
    name, tasks = lesson.name or "reader", read_tasks(lesson.traces)
    made = distil_reader(tasks, lesson.out / name, ReaderOptions(seed=lesson.training.seed), lesson.progress)
    report = StudentReport(
        "reader",
        made.model,
        made.path,
        Learnt.of(lesson.traces, [row for task in tasks for row in task.train]),
        made.scores,
        made.about["seconds"],
        f"{MADE_WITH}; {OF_TRACES}",
        made.about,
    )
    report.write(lesson.out, name)
    return report


def _lora(lesson: Lesson) -> StudentReport:
    return distil_lora(
        [LoraTask.of(graph, own) for graph, own in lesson.rows.items()],
        lesson.out,
        base=lesson.base,
        options=lesson.training,
        how=lesson.how,
        name=lesson.name,
        device=lesson.device,
        progress=lesson.progress,
        traces=lesson.traces,
    )


@dataclass(frozen=True)
class Student:
    """A kind of student.

    Attributes:
        about: what it is.
        steps: names of the signatures that it learns.
        distil: trains it.
        distracted: whether it learns from questions once more with facts of other paths among the right ones.
    """

    about: str
    steps: tuple[str, ...]
    distil: Callable[[Lesson], StudentReport]
    distracted: bool = False


STUDENTS: Mapping[str, Student] = {
    "ranker": Student("a ranker of paths for `extractive`", (AnswerFromFacts.__name__,), _ranker),
    "reader": Student(
        "a reader of answers: facts and operation", (AnswerFromFacts.__name__,), _reader, distracted=True
    ),
    "lora": Student("a language model, on its own verified chains of thought", (AnswerFromFacts.__name__,), _lora),
}


def rows_for(name: str, traces: Sequence[Path], graph: str | None = None) -> dict[str, list[TraceRow]]:
    """The rows that a student learns, by the name of their directory.

    Args:
        name: of the student.
        traces: directories that `collect` wrote.
        graph: content hash of the graph that they must be of; None: any.

    Raises:
        UserError: no traces are named; they are of another version or graph; no step of them was verified; or they have
            none of the steps that the student learns.
        ReadError: a directory is damaged.
    """
    if not traces:
        raise UserError("no traces are named; `triplecheck collect` writes them, or --kb and --questions record them")
    found: dict[str, list[TraceRow]] = {}
    for folder in traces:
        found.setdefault(folder.name, []).extend(read_traces(folder, graph))
    rows, steps = [row for own in found.values() for row in own], STUDENTS[name].steps
    places = ", ".join(map(str, traces))
    if not any(row.source != "base" for row in rows):
        raise UserError(
            f"{places}: no step was verified ({_why(traces)}); `triplecheck collect --rejected FILE` lists the steps "
            "with the reasons, and `--pass gold` needs no model"
        )
    if not any(row.signature in steps for row in rows):
        there = ", ".join(sorted({row.signature for row in rows}))
        raise UserError(
            f"{places}: has rows of {there}, and the student {name} learns {', '.join(steps)}; "
            f"`triplecheck collect kerag {' '.join(f'--step {step}' for step in steps)}` writes them"
        )
    return {folder: [row for row in own if row.signature in steps] for folder, own in found.items()}


def _why(traces: Sequence[Path]) -> str:
    reasons = Counter[str]()
    for folder in traces:
        reasons.update(read_manifest(folder).get("left_out", {}))
    return counted(reasons) or "no question was asked"
