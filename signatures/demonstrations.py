"""Worked examples of the steps, one JSON file per step in `demos/`: a language model reads them before its task.

All are about one invented graph of islands, lighthouses and ships, so they hold no answer to any question of a data
set. Steps that answer from a model's own knowledge also have everyday questions.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import json
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any

import dspy
from pydantic import TypeAdapter, ValidationError

from triplecheck.signatures.step import Step

WORKED = "worked"
"""A field that marks a demonstration as a worked example. It is saved, and not shown in prompts."""


def demonstrations(step: type[Step]) -> list[dspy.Example]:
    """The worked examples of a step, in the order in which a prompt shows them; empty if there are none."""
    return [dspy.Example(**row).with_inputs(*step.input_fields) for row in copy.deepcopy(_rows(step))]  # type: ignore[arg-type]


def restored(signature: type[dspy.Signature], rows: Iterable[Mapping[str, Any]]) -> list[dspy.Example]:
    """Demonstrations that were saved as JSON, with the types of their fields where the values are of these types."""
    types = {name: TypeAdapter(field.annotation) for name, field in signature.fields.items()}
    found = []
    for row in rows:
        typed = dict(row)
        for name in types.keys() & row.keys():
            with contextlib.suppress(ValidationError):
                typed[name] = types[name].validate_python(row[name])
        found.append(dspy.Example(**typed).with_inputs(*(name for name in row if name in signature.input_fields)))
    return found


def is_worked(demo: Mapping[str, Any] | dspy.Example) -> bool:
    """Whether a demonstration of a predictor is a worked example, not one of its own."""
    return bool(demo.get(WORKED))


@functools.cache
def _rows(step: type[Step]) -> list[dict[str, Any]]:
    """The rows with the types of their fields: JSON has no keys that are numbers."""
    file = resources.files("triplecheck.signatures") / "demos" / f"{step.__name__}.json"
    rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
    types = {name: TypeAdapter(field.annotation) for name, field in step.fields.items()} if rows else {}
    return [{name: types[name].validate_python(value) for name, value in row.items()} for row in rows]
