"""The report of an experiment: tables beside the paper's, figures, and what was lost where."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from triplecheck.evals.errors import error_analysis
from triplecheck.evals.experiments.config import Experiment
from triplecheck.evals.experiments.figures import draw
from triplecheck.evals.experiments.run import Cell
from triplecheck.evals.experiments.tables import data_title, markdown, to_csv
from triplecheck.kg._atomic import write_text


def write_report(experiment: Experiment, cells: Sequence[Cell], out: Path, *, command: str = "") -> Path:
    """Write `report.md`, `cells.csv`, `errors.md` and the figures; the path of the report.

    Args:
        experiment: what was run.
        cells: what came of it; tables of which none was run say so.
        out: directory, made if it is not there.
        command: with which it was run, to be run again.
    """
    out.mkdir(parents=True, exist_ok=True)
    parts = [f"# {experiment.title}\n"]
    if experiment.paper:
        parts.append(f"After {experiment.paper}.\n")
    if experiment.differs:
        parts.append(f"What differs: {' '.join(experiment.differs.split())}\n")
    parts.append(
        f"Seed {experiment.seed}, at most {experiment.limit} questions a set unless a column `n` says otherwise. "
        "Scores are strict (normalised exact match); 95% intervals and every other figure stand in `cells.csv`."
        + (f" Made by `{command}`." if command else "")
        + "\n"
    )
    parts += [markdown(experiment, table, cells) for table in experiment.tables]
    for figure in experiment.figures:
        if draw(experiment, figure, cells, out / f"{figure.name}.png"):
            parts.append(f"![{figure.title}]({figure.name}.png)\n")
    write_text(out / "cells.csv", to_csv(experiment, cells))
    write_text(out / "errors.md", _errors(experiment, cells))
    parts.append("What was lost where, with examples: [errors.md](errors.md).\n")
    report = out / "report.md"
    write_text(report, "\n".join(parts))
    return report


def _errors(experiment: Experiment, cells: Sequence[Cell]) -> str:
    """The error analysis of every evaluation with facts and with questions as they are, each once."""
    parts = [f"# {experiment.title}: what was lost where\n"]
    plain = [cell for cell in cells if not cell.row.withheld and experiment.data[cell.data].variant is None]
    for cell in {cell.out: cell for cell in plain}.values():
        data = data_title(cell.data, experiment.data[cell.data])
        parts.append(f"## {cell.row.label}, {data}, {cell.model.title}\n\n{error_analysis(cell.out)}")
    return "\n".join(parts)
