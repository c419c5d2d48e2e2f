"""The tables and pictures of verdicts (`evals.truth`): each graph judged by a confidence model of the other graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from triplecheck.evals.experiments.config import Experiment
from triplecheck.evals.experiments.run import Cell
from triplecheck.evals.metrics.statistics import risk_coverage
from triplecheck.evals.truth import Judged, Worth, curve, fit, left_out, read_judged, worth
from triplecheck.kg.errors import extra
from triplecheck.programs.judge.confidence import ConfidenceModel

_BINS = 10
_INCHES, _DOTS_PER_INCH = (7.0, 4.5), 120
_HEADER = (
    *("n", "proved", "of these right", "supported", "of these right", "unsupported", "abstained"),
    *("given: right", "given: wrong", "not given"),
)


@dataclass(frozen=True)
class VerdictReport:
    """What a report says of verdicts.

    Attributes:
        rows: every question, with the confidence and verdict of a model of the other graphs.
        model: the confidence model of all graphs.
    """

    rows: Sequence[Judged]
    model: ConfidenceModel


def verdict_report(experiment: Experiment, cells: Sequence[Cell]) -> VerdictReport:
    """Judge the answers of some cells.

    Raises:
        UserError: they are of one graph, or all answers are right, or all are wrong.
    """
    rows: list[Judged] = []
    for cell in cells:
        graph = experiment.graph_of(cell.data)
        rows += read_judged(graph, cell.data, cell.row.label, cell.rows())
    return VerdictReport(left_out(rows), fit(rows))


def verdict_tables(
    experiment: Experiment, report: VerdictReport, table: Callable[[Sequence[str], Sequence[Sequence[str]]], str]
) -> list[str]:
    """Markdown: verdicts by program, by data set, and the confidence of each left-out graph.

    Args:
        experiment: names the data sets.
        report: the judged rows.
        table: writes a table.
    """
    rows = report.rows
    able = [row for row in rows if row.answerable]
    groups = {"all": rows, "questions with an answer": able, "questions without an answer": _without(rows, able)}
    parts = [table(["", *_HEADER], [[name, *_figures(worth(own))] for name, own in groups.items() if own])]
    for program in dict.fromkeys(row.program for row in rows):
        lines = []
        for data in dict.fromkeys(row.data for row in rows if row.program == program):
            own = [row for row in rows if (row.program, row.data) == (program, data)]
            lines.append([experiment.data[data].title or data, *_figures(worth(own))])
        parts.append(table([program, *_HEADER], lines))
    lines = []
    for graph in dict.fromkeys(row.graph for row in rows):
        found = worth([row for row in able if row.graph == graph])
        proved = sum(found.shares["proved"])
        figures = [_share(proved), _share(found.proved_right), *map(_number, (found.auroc, found.ece, found.aurc))]
        lines.append([graph, str(found.n), *figures])
    header = ["left-out graph, questions with an answer", "n", "proved", "of these right", "AUROC", "ECE", "AURC"]
    parts.append(table(header, lines))
    parts.append(
        f"An answer is given by default if it is proved, or supported with a confidence of at least "
        f"{report.model.floor:.2f}. The model of all graphs calls an answer proved from {report.model.proved:.3f}.\n"
    )
    return parts


def _without(rows: Sequence[Judged], able: Sequence[Judged]) -> list[Judged]:
    known = set(map(id, able))
    return [row for row in rows if id(row) not in known]


def _figures(found: Worth) -> list[str]:
    shares = {verdict: (right, right + wrong) for verdict, (right, wrong) in found.shares.items()}
    cells = [str(found.n)]
    for verdict in ("proved", "supported"):
        right, total = shares[verdict]
        cells += [_share(total), _share(right / total if total else None)]
    cells += [_share(shares["unsupported"][1]), _share(shares["unknown"][1])]
    return [*cells, _share(found.given_right), _share(found.given_wrong), _share(found.withheld)]


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def draw_verdicts(report: VerdictReport, out: Path) -> list[tuple[str, Path]]:
    """Draw risk against coverage and accuracy against confidence, a line for each left-out graph: titles and files."""
    return [
        _draw("Risk and coverage on each left-out graph", out / "risk-coverage.png", report, _risk),
        _draw("Calibration on each left-out graph", out / "calibration.png", report, _calibration),
    ]


def _draw(
    title: str, path: Path, report: VerdictReport, plot: Callable[[Any, str, list[float], list[bool]], None]
) -> tuple[str, Path]:
    with extra("plots", "A figure"):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

    picture = Figure(figsize=_INCHES, layout="constrained")
    FigureCanvasAgg(picture)
    axes = picture.add_subplot()
    for graph in dict.fromkeys(row.graph for row in report.rows):
        confidences, correct = curve(row for row in report.rows if row.graph == graph and row.answerable)
        if correct:
            plot(axes, graph, confidences, correct)
    axes.set_title(title)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.savefig(path, dpi=_DOTS_PER_INCH, format="png", metadata={"Software": None})
    return title, path


def _risk(axes: Any, graph: str, confidences: list[float], correct: list[bool]) -> None:
    found = risk_coverage(confidences, correct)
    axes.plot(found.coverage, found.risk, label=graph)
    axes.set_xlabel("share of answers, the surest first")
    axes.set_ylabel("share of wrong answers among them")


def _calibration(axes: Any, graph: str, confidences: list[float], correct: list[bool]) -> None:
    order = np.argsort(confidences)
    parts = [part for part in np.array_split(order, min(_BINS, len(order))) if len(part)]
    sure, right = np.array(confidences), np.array(correct, float)
    axes.plot([sure[p].mean() for p in parts], [right[p].mean() for p in parts], marker="o", label=graph)
    axes.plot([0, 1], [0, 1], color="grey", linewidth=0.5)
    axes.set_xlabel("confidence")
    axes.set_ylabel("share of right answers")
