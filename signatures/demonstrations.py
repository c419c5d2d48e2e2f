"""Worked examples of the steps, one JSON file per step in `demos/`: a language model reads them before its task.

All are about one invented graph of islands, lighthouses and ships, so they hold no answer to any question of a data
set. Steps that answer from a model's own knowledge also have everyday questions.
"""

from __future__ import annotations

import functools
import json
from importlib import resources
from typing import Any

import dspy
from pydantic import TypeAdapter

from triplecheck.signatures.step import Step


def demonstrations(step: type[Step]) -> list[dspy.Example]:
    """The worked examples of a step, in the order in which a prompt shows them; empty if there are none."""
    return [dspy.Example(**row).with_inputs(*step.input_fields) for row in _rows(step)]  # type: ignore[arg-type]


@functools.cache
def _rows(step: type[Step]) -> list[dict[str, Any]]:
    """The rows with the types of their fields: JSON has no keys that are numbers."""
    file = resources.files("triplecheck.signatures") / "demos" / f"{step.__name__}.json"
    rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
    types = {name: TypeAdapter(field.annotation) for name, field in step.fields.items()} if rows else {}
    return [{name: types[name].validate_python(value) for name, value in row.items()} for row in rows]
