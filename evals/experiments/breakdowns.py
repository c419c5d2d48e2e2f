"""Tables of what the traces tell (`evals.metrics.trace`) rather than of scores; their layout names the breakdown."""

from __future__ import annotations

from collections.abc import Sequence

from triplecheck.evals.experiments.config import Experiment, ModelSpec
from triplecheck.evals.experiments.run import Cell
from triplecheck.evals.metrics.trace import BREAKDOWNS, Breakdown
from triplecheck.lms import Roles

_KNOWLEDGE = "knowledge."


def breakdown(layout: str, cell: Cell) -> Breakdown:
    """What the traces of a cell tell; a knowledge model is named with the model that played it."""
    found = BREAKDOWNS[layout].of(cell.rows())
    return {_played(group, cell.model): measures for group, measures in found.items()}


def names(experiment: Experiment, cells: Sequence[Cell]) -> list[str]:
    """What tells cells apart: the data set, and program and models where there are several."""
    several_programs = len({cell.row.label for cell in cells}) > 1
    several_models = len({cell.model.title for cell in cells}) > 1
    return [
        ", ".join(
            [experiment.data[cell.data].title or cell.data]
            + [cell.row.label] * several_programs
            + [cell.model.title] * several_models
        )
        for cell in cells
    ]


def _played(group: str, model: ModelSpec) -> str:
    """A role with its model: "knowledge.1 (extractive) + entities"."""
    role, plus, more = group.partition(" + ")
    if not role.startswith(_KNOWLEDGE):
        return group
    return f"{role} ({Roles(model.lm, model.roles).model(role)}){plus}{more}"
