"""The students that traces of the answering step are distilled into."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from triplecheck.kg import UserError
from triplecheck.optimize.distil.lesson import Lesson
from triplecheck.optimize.distil.lora import distil_lora
from triplecheck.optimize.distil.reader import distil_reader
from triplecheck.optimize.distil.report import StudentReport, counted
from triplecheck.optimize.distil.tasks import read_tasks
from triplecheck.optimize.distil.trace_ranker import distil_ranker
from triplecheck.optimize.traces import TraceRow, read_traces
from triplecheck.optimize.traces.reading import read_manifest
from triplecheck.signatures import AnswerFromFacts


def _ranker(lesson: Lesson) -> StudentReport:
    rows = [row for own in lesson.rows.values() for row in own]
    file = lesson.out / f"{lesson.name or 'ranker'}.safetensors"
    return distil_ranker(rows, file, lesson.training.seed, lesson.progress, lesson.traces)


def _reader(lesson: Lesson) -> StudentReport:
    name, seed = lesson.name or "reader", lesson.training.seed
    report = distil_reader(read_tasks(lesson.traces), lesson.out / name, seed, lesson.progress, lesson.traces)
    report.write(lesson.out, name)
    return report


STUDENTS: Mapping[str, Callable[[Lesson], StudentReport]] = {
    "ranker": _ranker,
    "reader": _reader,
    "lora": distil_lora,
}
"""Trains each: a ranker of paths, a reader of answers, or a language model on its own verified chains of thought."""


def rows_for(name: str, traces: Sequence[Path], graph: str | None = None) -> dict[str, list[TraceRow]]:
    """The rows of the answering step, by the name of their directory.

    Args:
        name: of the student, for messages.
        traces: directories that `collect` wrote.
        graph: content hash of the graph that they must be of; None: any.

    Raises:
        UserError: no traces are named; they are of another version or graph; no step of them was verified; or no
            answering step is there.
        ReadError: a directory is damaged.
    """
    if not traces:
        raise UserError("no traces are named; `triplecheck collect` writes them, or --kb and --questions record them")
    found: dict[str, list[TraceRow]] = {}
    for folder in traces:
        found.setdefault(folder.name, []).extend(read_traces(folder, graph))
    rows, step = [row for own in found.values() for row in own], AnswerFromFacts.__name__
    places = ", ".join(map(str, traces))
    if not any(row.source != "base" for row in rows):
        raise UserError(
            f"{places}: no step was verified ({_why(traces)}); `triplecheck collect --rejected FILE` lists the steps "
            "with the reasons, and `--pass gold` needs no model"
        )
    if not any(row.signature == step for row in rows):
        there = ", ".join(sorted({row.signature for row in rows}))
        raise UserError(
            f"{places}: has rows of {there}, and the student {name} learns {step}; "
            f"`triplecheck collect kerag --step {step}` writes them"
        )
    return {folder: [row for row in own if row.signature == step] for folder, own in found.items()}


def _why(traces: Sequence[Path]) -> str:
    reasons = Counter[str]()
    for folder in traces:
        reasons.update(read_manifest(folder).get("left_out", {}))
    return counted(reasons) or "no question was asked"
