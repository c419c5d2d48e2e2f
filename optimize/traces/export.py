"""Exports collected rows in formats of trainers, one file per split.

Chats are written as the student will be asked: with the adapter that `RolePredict` uses for a model of its kind.

- `chat`: OpenAI's `{"messages": [...]}`, as JSON lines;
- `trl`: `{"prompt": [...], "completion": [...]}`, both lists of messages, as JSON lines. TRL's SFTTrainer then
  computes the loss only on the completion;
- `examples`: the fields of each step, one JSON list per split and step, as in `signatures/demos`: what `dspy.Example`
  is made of (`examples`);
- `datasets`: a directory for `datasets.load_from_disk`, with `prompt`, `completion` and the source of each row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import dspy

from triplecheck.evals.run_directory import encoded
from triplecheck.kg import UserError
from triplecheck.kg._atomic import replaced_directory, write_bytes
from triplecheck.kg.errors import extra
from triplecheck.lms import LabelAdapter
from triplecheck.lms.local.form import shown, written
from triplecheck.optimize.traces.records import SplitName, TraceRow
from triplecheck.signatures import STEPS, AnswerFromFacts, Step, without_reasoning
from triplecheck.signatures.demonstrations import restored

StudentKind = Literal["general", "embedded"]
"""`general`: a model on a server, or a GGUF file, asked with labels and without worked examples (`demos="none"`).
`embedded`: `local/DIRECTORY`, asked with headers in the form of its guide."""
_STEPS: Mapping[str, type[Step]] = {step.__name__: step for step in STEPS}
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
    files = []
    for split, of in _by_split(rows):
        for step in sorted({row.signature for row in of}):
            path = out / split / f"{step}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            fields = [example.toDict() for example in examples(of, step)]
            write_bytes(path, encoded(json.dumps(fields, indent=2, ensure_ascii=False)))
            files.append(path)
    return files


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
    files = []
    for split, of in _by_split(rows):
        path = out / f"{split}.jsonl"
        write_bytes(path, b"".join(encoded(json.dumps(form(row), ensure_ascii=False)) for row in _repeated(of)))
        files.append(path)
    return files


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


def rendered(row: TraceRow, student: StudentKind) -> list[dict[str, str]]:
    """The chat of a row as a student reads and writes it.

    Raises:
        UserError: no such kind; or the step is none of this project, so that its prompt with labels is not known.
    """
    if student not in get_args(StudentKind):
        raise UserError(f"no student {student!r}; there are: {', '.join(get_args(StudentKind))}")
    if student == "embedded":
        asked = tuple((message["role"], message["content"]) for message in row.messages[:-1])
        chat = (*shown(asked), ("assistant", written(asked, row.messages[-1]["content"])))
        return [{"role": role, "content": content} for role, content in chat]
    step = step_of_row(row)
    (values,) = restored(step, [{**row.inputs, **row.outputs}])
    inputs, outputs = ({name: values[name] for name in part} for part in (row.inputs, row.outputs))
    data = LabelAdapter().format_finetune_data(step, [], inputs, outputs)
    return [{name: str(message[name]) for name in ("role", "content")} for message in data["messages"]]


def step_of_row(row: TraceRow) -> type[Step]:
    """The signature of a row.

    Raises:
        UserError: it is none of this project, or the row has no fields.
    """
    step = _STEPS.get(row.signature)
    if step is None or not row.inputs:
        raise UserError(
            f"the step {row.signature} of question {row.id} is none of this project: export for an embedded student"
        )
    return without_reasoning(step) if step is AnswerFromFacts and "reasoning" not in row.outputs else step
