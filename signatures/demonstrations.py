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

from triplecheck.signatures.step import Step


def demonstrations(step: type[Step]) -> list[dspy.Example]:
    """The worked examples of a step, in the order in which a prompt shows them; empty if there are none."""
    return [dspy.Example(**row).with_inputs(*step.input_fields) for row in _rows(step.__name__)]


@functools.cache
def _rows(step: str) -> list[dict[str, Any]]:
    file = resources.files("triplecheck.signatures") / "demos" / f"{step}.json"
    rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
    return rows
