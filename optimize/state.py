"""The state of a program as plain data: everything that an optimizer may change.

DSPy's own state leaves out modules that were compiled before, loses the settings of a step, and silently accepts
a signature that has changed. Here every step is saved under its name in the program, with its instruction,
demonstrations and settings. Its fields are saved separately, so that they can be compared.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NotRequired

import dspy
from pydantic import TypeAdapter
from typing_extensions import TypedDict

from triplecheck.evals.configuration import digest
from triplecheck.kg import UserError
from triplecheck.lms.metering import model_name
from triplecheck.lms.resolve import language_model
from triplecheck.signatures.demonstrations import is_worked, restored

State = dict[str, dict[str, Any]]

_LOGS = ("candidate_programs", "mb_candidate_programs", "trial_logs", "detailed_results")
"""Attributes in which optimizers attach other programs to the one that they return."""


def steps_of(program: dspy.Module) -> dict[str, dspy.Predict]:
    """All steps of a program by name, including those of compiled modules."""
    found = ((name.removeprefix("self."), step) for name, step in program.named_sub_modules(dspy.Predict))
    return {name: step for name, step in found if not name.startswith(_LOGS)}


def state_of(program: dspy.Module) -> State:
    """The state of a program, by step.

    Raises:
        UserError: a demonstration or a setting is not plain data.
    """
    return {name: _step_state(name, step) for name, step in steps_of(program).items()}


def state_key(state: Mapping[str, Any]) -> str:
    """A short hash of a state."""
    return digest(state)[:12]


def with_state(program: Any, state: Mapping[str, Any]) -> Any:
    """A copy of a program with this state. A program without worked examples gets none.

    Raises:
        UserError: the program has other steps, or a step has other fields.
    """
    other = program.deepcopy()
    steps = steps_of(other)
    if steps.keys() != state.keys():
        missing, unknown = sorted(state.keys() - steps.keys()), sorted(steps.keys() - state.keys())
        raise UserError(f"the program has other steps: missing {missing}, not in the state {unknown}")
    for name, step in steps.items():
        try:
            row = checker(_StepState).validate_python(state[name])
        except ValueError as error:
            raise UserError(f"the state of step {name!r} is damaged ({error}); compile again") from error
        names = list(step.signature.fields)
        if list(row["fields"]) != names:
            raise UserError(f"step {name!r} has the fields {names} and the state {list(row['fields'])}")
        try:
            step.signature = _signature(step.signature, row)
        except UnicodeError as error:
            raise UserError(f"the words of step {name!r} are not Unicode ({error}); compile again") from error
        found, has_examples = restored(step.signature, row["demos"]), getattr(step, "has_examples", True)
        step.demos = [demo for demo in found if has_examples or not is_worked(demo)]
        step.config = row["config"]
        step.lm = language_model(row["model"]) if "model" in row else None
    return other


class _FieldText(TypedDict):
    prefix: str
    desc: str


class _StepState(TypedDict):
    instructions: str
    fields: dict[str, _FieldText]
    demos: list[dict[str, Any]]
    config: dict[str, Any]
    model: NotRequired[str]


@functools.cache
def checker(kind: Any) -> TypeAdapter[Any]:
    """Checks plain data against a type; made when it is first needed."""
    return TypeAdapter(kind)


def asked_for(signature: type[dspy.Signature]) -> dict[str, str]:
    """The fields of a signature in order, each with its side (input or output) and type."""
    inputs = {name: f"input {_type(field)}" for name, field in signature.input_fields.items()}
    return inputs | {name: f"output {_type(field)}" for name, field in signature.output_fields.items()}


def text_of(signature: type[dspy.Signature]) -> str:
    """A hash of the text of a signature: its instruction and the descriptions of its fields."""
    words = {name: field.json_schema_extra["desc"] for name, field in signature.fields.items()}
    return digest([signature.instructions, words])[:12]


def _type(field: Any) -> str:
    annotation = field.annotation
    plain = annotation.__name__ if isinstance(annotation, type) and not hasattr(annotation, "__args__") else annotation
    return str(plain).replace("typing.", "")


def _step_state(name: str, step: dspy.Predict) -> dict[str, Any]:
    signature = step.signature
    state: dict[str, Any] = {
        "instructions": signature.instructions,
        "fields": {
            field: {"prefix": about.json_schema_extra.get("prefix", ""), "desc": about.json_schema_extra["desc"]}
            for field, about in signature.fields.items()
        },
        "demos": [_row(demo, name) for demo in step.demos],
        "config": _row(step.config, name),
    }
    # Optimizers set the default model on steps temporarily; only a different one, such as a trained one, is saved.
    if step.lm is not None and (dspy.settings.lm is None or model_name(step.lm) != model_name(dspy.settings.lm)):
        state["model"] = model_name(step.lm)
    return state


def _row(values: Mapping[str, Any], place: str) -> dict[str, Any]:
    return {key: _plain(value, f"{place}.{key}") for key, value in dict(values).items()}


def _plain(value: Any, place: str) -> Any:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item, place) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item, place) for key, item in value.items()}
    raise UserError(f"{place} is a {type(value).__name__}, which cannot be saved as JSON")


def _signature(signature: type[dspy.Signature], row: Mapping[str, Any]) -> type[dspy.Signature]:
    # A copy: optimizers and programs share the class.
    saved = [row["fields"][name] for name in signature.fields]
    words = [{"prefix": field["prefix"], "description": field["desc"]} for field in saved]
    new: type[dspy.Signature] = signature.load_state({"instructions": row["instructions"], "fields": words})
    new.__name__ = signature.__name__  # traces name the step by it
    return new
