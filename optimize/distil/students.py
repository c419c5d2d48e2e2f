"""The students that traces of the answering step are distilled into."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from triplecheck.kg import UserError
from triplecheck.kg.readable import counted
from triplecheck.optimize.distil.lesson import Lesson
from triplecheck.optimize.distil.lora import distil_lora
from triplecheck.optimize.distil.reader import distil_reader
from triplecheck.optimize.distil.report import StudentReport
from triplecheck.optimize.distil.trace_ranker import distil_ranker
from triplecheck.optimize.traces import TraceRow, read_traces
from triplecheck.optimize.traces.collector import GOLD
from triplecheck.optimize.traces.reading import read_manifest
from triplecheck.signatures import AnswerFromFacts


def _ranker(lesson: Lesson) -> StudentReport:
    rows = [row for own in lesson.rows.values() for row in own]
    file = lesson.out / f"{lesson.name or 'ranker'}.safetensors"
    return distil_ranker(rows, file, lesson.training.seed, lesson.progress, list(lesson.rows))


def _reader(lesson: Lesson) -> StudentReport:
    name = lesson.name or "reader"
    report = distil_reader(lesson.rows, lesson.out / name, lesson.training.seed, lesson.progress)
    report.write(lesson.out, name)
    return report


STUDENTS: Mapping[str, Callable[[Lesson], StudentReport]] = {
    "ranker": _ranker,
    "reader": _reader,
    "lora": distil_lora,
}
"""Trains each: a ranker of paths, a reader of answers, or a language model on its own verified chains of thought."""


def rows_for(name: str, traces: Sequence[Path], graph: str | None = None) -> dict[Path, list[TraceRow]]:
    """The rows of traces by their directory.

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
    found = {folder: read_traces(folder, graph) for folder in traces}
    rows, step = [row for own in found.values() for row in own], AnswerFromFacts.__name__
    places = ", ".join(map(str, traces))
    if not any(row.source != "base" for row in rows):
        told = f"{places}: no step was verified ({_why(traces)}); `triplecheck collect --rejected FILE` lists the steps"
        gold = all(GOLD in read_manifest(folder).get("passes", {}) for folder in traces)
        raise UserError(f"{told} with the reasons" + ("" if gold else ", and `--pass gold` needs no model"))
    if not any(row.signature == step for row in rows):
        there = ", ".join(sorted({row.signature for row in rows}))
        raise UserError(
            f"{places}: has rows of {there}, and the student {name} learns {step}; "
            f"`triplecheck collect kerag --step {step}` writes them"
        )
    return found


def _why(traces: Sequence[Path]) -> str:
    reasons = Counter[str]()
    for folder in traces:
        reasons.update(read_manifest(folder).get("left_out", {}))
    return counted(reasons) or "no question was asked"
