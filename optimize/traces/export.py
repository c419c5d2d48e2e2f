"""Exports collected rows in formats of trainers, one file per split.

Chats are written as the student will be asked (`rendering`).

- `chat`: OpenAI's `{"messages": [...]}`, as JSON lines;
- `trl`: `{"prompt": [...], "completion": [...]}`, both lists of messages, as JSON lines. TRL's SFTTrainer then
  computes the loss only on the completion;
- `examples`: the fields of each step, one JSON list per split and step, as in `signatures/demos`: what `dspy.Example`
  is made of (`examples`);
- `datasets`: a directory for `datasets.load_from_disk`, with `prompt`, `completion` and the source of each row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import dspy

from triplecheck.evals.run_directory import encoded
from triplecheck.kg import UserError
from triplecheck.kg._atomic import replaced_directory, write_bytes
from triplecheck.kg.errors import extra
from triplecheck.optimize.traces.records import SplitName, TraceRow
from triplecheck.optimize.traces.rendering import StudentKind, rendered

_SPLITS: tuple[SplitName, ...] = get_args(SplitName)
_ABOUT = ("key", "id", "program", "signature", "role", "source", "model")


def export(rows: Sequence[TraceRow], form: str, out: Path, student: StudentKind = "general") -> list[Path]:
    """Write rows in one of the formats into a directory. Chats of rare kinds are repeated (`TraceRow.times`).

    Args:
        student: the kind of model that will be trained.

    Returns:
        The written files, one per split with rows, or the directory.

    Raises:
        UserError: unknown format or student, or no rows.
    """
    if form not in FORMS:
        raise UserError(f"no format {form!r}; there are: {', '.join(FORMS)}")
    if not rows:
        raise UserError("there are no rows to export: no step was verified; `collect --rejected FILE` says why")
    return FORMS[form](rows, out, student)


def examples(rows: Sequence[TraceRow], step: str) -> list[dspy.Example]:
    """The rows of a step as `dspy.Example`s with its inputs: demonstrations, or a training set of the step.

    Args:
        step: name of its signature; base rows have no reasoning.
    """
    own = [row for row in rows if row.signature == step]
    return [dspy.Example({**row.inputs, **row.outputs}).with_inputs(*row.inputs) for row in own]


def _examples(rows: Sequence[TraceRow], out: Path, _: StudentKind) -> list[Path]:
    written = []
    for split, of in _by_split(rows):
        for step in sorted({row.signature for row in of}):
            path = out / split / f"{step}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            fields = [example.toDict() for example in examples(of, step)]
            write_bytes(path, encoded(json.dumps(fields, indent=2, ensure_ascii=False)))
            written.append(path)
    return written


def _datasets(rows: Sequence[TraceRow], out: Path, student: StudentKind) -> list[Path]:
    with extra("data", "The format datasets"):
        from datasets import Dataset, DatasetDict
        from datasets.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    def line(row: TraceRow) -> dict[str, Any]:
        return _halves(row, student) | {name: getattr(row, name) for name in _ABOUT}

    parts = {split: Dataset.from_list(list(map(line, _repeated(of)))) for split, of in _by_split(rows)}
    were_shown = not are_progress_bars_disabled()
    disable_progress_bars()
    try:
        with replaced_directory(out) as folder:
            DatasetDict(parts).save_to_disk(str(folder))
    finally:
        if were_shown:
            enable_progress_bars()
    return [out]


FORMS: dict[str, Callable[[Sequence[TraceRow], Path, StudentKind], list[Path]]] = {
    "chat": lambda rows, out, student: _lines(rows, out, lambda row: {"messages": rendered(row, student)}),
    "trl": lambda rows, out, student: _lines(rows, out, lambda row: _halves(row, student)),
    "examples": _examples,
    "datasets": _datasets,
}


def _lines(rows: Sequence[TraceRow], out: Path, form: Callable[[TraceRow], dict[str, Any]]) -> list[Path]:
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for split, of in _by_split(rows):
        path = out / f"{split}.jsonl"
        write_bytes(path, b"".join(encoded(json.dumps(form(row), ensure_ascii=False)) for row in _repeated(of)))
        written.append(path)
    return written


def _by_split(rows: Sequence[TraceRow]) -> Iterator[tuple[SplitName, list[TraceRow]]]:
    for split in _SPLITS:
        of = [row for row in rows if row.split == split]
        if of:
            yield split, of


def _repeated(rows: Sequence[TraceRow]) -> list[TraceRow]:
    return [row for row in rows for _ in range(row.times)]


def _halves(row: TraceRow, student: StudentKind) -> dict[str, Any]:
    *prompt, completion = rendered(row, student)
    return {"prompt": prompt, "completion": [completion]}
