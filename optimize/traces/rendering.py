"""Rows as the student will be asked: with the adapter that `RolePredict` uses for a model of its kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from triplecheck.kg import UserError
from triplecheck.lms import LabelAdapter
from triplecheck.lms.local.form import shown, written
from triplecheck.optimize.traces.records import TraceRow
from triplecheck.signatures import STEPS, AnswerFromFacts, Step, without_reasoning
from triplecheck.signatures.demonstrations import restored

StudentKind = Literal["general", "embedded"]
"""`general`: a model on a server, or a GGUF file, asked with labels and without worked examples (`demos="none"`).
`embedded`: `local/DIRECTORY`, asked with headers in the form of its guide."""
_STEPS: Mapping[str, type[Step]] = {step.__name__: step for step in STEPS}


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
        return [_message(role, content) for role, content in chat]
    step = step_of_row(row)
    (values,) = restored(step, [{**row.inputs, **row.outputs}])
    inputs, outputs = ({name: values[name] for name in part} for part in (row.inputs, row.outputs))
    data = LabelAdapter().format_finetune_data(step, [], inputs, outputs)
    return [_message(str(message["role"]), str(message["content"])) for message in data["messages"]]


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


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}
