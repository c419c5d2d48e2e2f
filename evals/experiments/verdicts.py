"""The tables and pictures of verdicts (`evals.truth`): each graph judged by confidence models of the other graphs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from triplecheck.evals.experiments.config import Experiment, ModelSpec
from triplecheck.evals.experiments.markdown import markdown_table, number
from triplecheck.evals.experiments.pictures import picture
from triplecheck.evals.experiments.run import Cell
from triplecheck.evals.metrics.statistics import risk_coverage
from triplecheck.evals.truth import Judged, Worth, curve, fit, left_out, read_judged, worth
from triplecheck.lms.kinds import LANGUAGE_MODEL
from triplecheck.programs.judge.confidence import ConfidenceModels
from triplecheck.programs.judge.features import QUERY

_BINS = 10
_INCHES = (6.0, 4.5)
_LEAST = 100  # answers of a graph that has a line of its own
_HEADER = (
    *("n", "proved", "of these right", "supported", "of these right", "unsupported", "abstained"),
    *("given: right", "given: wrong", "not given"),
)
_WORTH = ("n", "answers", "of these right", "proved", "of these right", "AUROC", "ECE", "AURC")


@dataclass(frozen=True)
class VerdictReport:
    """What a report says of verdicts.

    Attributes:
        rows: every question, with the confidence and verdict of models of the other graphs.
    """

    rows: Sequence[Judged]
    models: ConfidenceModels

    def of(self, cells: Sequence[Cell]) -> VerdictReport:
        """The rows of some of the cells."""
        named = {(cell.data, _program(cell)) for cell in cells}
        return VerdictReport([row for row in self.rows if (row.data, row.program) in named], self.models)


def verdict_report(experiment: Experiment, cells: Sequence[Cell]) -> VerdictReport:
    """Judge the answers of some cells.

    Raises:
        UserError: they are of one graph, or all answers are right, or all are wrong.
    """
    rows: list[Judged] = []
    for cell in cells:
        graph = experiment.graph_of(cell.data)
        rows += read_judged(graph, cell.data, _program(cell), cell.rows())
    return VerdictReport(left_out(rows), fit(rows))


def _program(cell: Cell) -> str:
    """The label of a cell's row, with its models unless they are the default."""
    return (
        cell.row.label if cell.model == ModelSpec(limit=cell.model.limit) else f"{cell.row.label}, {cell.model.title}"
    )


def verdict_tables(experiment: Experiment, report: VerdictReport) -> list[str]:
    """Markdown: verdicts in all, and by program and data set."""
    rows = report.rows
    able = [row for row in rows if row.answerable]
    groups = {"all": rows, "questions with an answer": able, "questions without an answer": _without(rows, able)}
    parts = [markdown_table(["", *_HEADER], [[name, *_figures(worth(own))] for name, own in groups.items() if own])]
    for program in dict.fromkeys(row.program for row in rows):
        lines = []
        for data in dict.fromkeys(row.data for row in rows if row.program == program):
            own = [row for row in rows if (row.program, row.data) == (program, data)]
            lines.append([experiment.title_of(data), *_figures(worth(own))])
        parts.append(markdown_table([program, *_HEADER], lines))
    return parts


def confidence_tables(report: VerdictReport) -> list[str]:
    """Markdown: what confidence is worth on left-out graphs, by kind of model and way to the answer, and by graph."""
    able = [row for row in report.rows if row.answerable]
    groups = {_group(*group): [r for r in able if r.features and r.group == group] for group in _groups(able)}
    graphs = {graph: [row for row in able if row.graph == graph] for graph in dict.fromkeys(row.graph for row in able)}
    tables = {"confidence of left-out graphs, questions with an answer": groups, "left-out graph": graphs}
    parts = [
        markdown_table([first, *_WORTH], [_line(*one) for one in found.items()]) for first, found in tables.items()
    ]
    levels = [
        f"{_group(kind, way)}: {model.proved:.3f}"
        for kind, ways in report.models.models.items()
        for way, model in ways.items()
    ]
    parts.append(
        "By default an answer is given if it is proved, or if it is supported with a confidence of at least "
        f"{report.models.bar:.2f}. This bound was chosen with one graph left out at a time. The models that were "
        f"fitted on all graphs call an answer proved if its confidence is at least the bound of its kind "
        f"({'; '.join(levels)}).\n"
    )
    if LANGUAGE_MODEL not in report.models.models:
        parts.append(
            "No language model was asked here, so answers of language models use the baseline's confidence models; "
            "`--lm MODEL` adds its answers and fits models for them.\n"
        )
    return parts


def _groups(rows: Sequence[Judged]) -> list[tuple[str, str]]:
    return sorted({row.group for row in rows if row.features})


def _group(kind: str, way: str) -> str:
    return f"{kind}, {'computed by a query' if way == QUERY else 'read from facts'}"


def _line(name: str, rows: Sequence[Judged]) -> list[str]:
    found, (_, correct) = worth(rows), curve(rows)
    right = sum(correct) / len(correct) if correct else None
    shares = [_share(right), _share(sum(found.shares["proved"])), _share(found.proved_right)]
    worth_of = [number(value, "ece") for value in (found.auroc, found.ece, found.aurc)]
    return [name, str(found.n), str(len(correct)), *shares, *worth_of]


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


def draw_verdicts(report: VerdictReport, out: Path) -> list[tuple[str, Path]]:
    """Draw reliability diagrams and risk against coverage, with a line for each left-out graph: titles and files.

    A diagram shows answers of one kind of model, found in one way. Graphs with few answers share a line.
    """
    rows = [row for row in report.rows if row.answerable and row.confidence is not None]
    groups = {_group(*group): [row for row in rows if row.group == group] for group in _groups(rows)}
    return [
        _draw("Reliability of the confidence of left-out graphs", out / "reliability.png", groups, _reliability),
        _draw("Risk and coverage of left-out graphs", out / "risk-coverage.png", groups, _risk),
    ]


def _draw(
    title: str,
    path: Path,
    groups: Mapping[str, Sequence[Judged]],
    plot: Callable[[Any, str, Sequence[Judged], bool], None],
) -> tuple[str, Path]:
    width, height = _INCHES
    with picture(path, (width * len(groups), height)) as drawn:
        panels = drawn.subplots(1, len(groups), squeeze=False)[0]
        for axes, (name, rows) in zip(panels, groups.items(), strict=True):
            sizes = Counter(row.graph for row in rows)
            lines = {graph: [row for row in rows if row.graph == graph] for graph, n in sizes.items() if n >= _LEAST}
            if few := [row for row in rows if sizes[row.graph] < _LEAST]:
                lines[f"{len({row.graph for row in few})} smaller graphs"] = few
            for graph, own in lines.items():
                plot(axes, graph, own, False)
            plot(axes, "all", rows, True)
            axes.set_title(f"{name} ({len(rows)} answers)", fontsize="medium")
            axes.grid(alpha=0.3)
            axes.legend(frameon=False, fontsize="small")
        drawn.suptitle(title)
    return title, path


def _risk(axes: Any, name: str, rows: Sequence[Judged], is_all: bool) -> None:
    found = risk_coverage(*curve(rows))
    axes.plot(found.coverage, found.risk, label=name, **_style(is_all))
    axes.set_xlabel("share of answers, the surest first")
    axes.set_ylabel("share of wrong answers among them")


def _reliability(axes: Any, name: str, rows: Sequence[Judged], is_all: bool) -> None:
    confidences, correct = curve(rows)
    sure, right = np.array(confidences), np.array(correct, float)
    parts = [part for part in np.array_split(np.argsort(sure), min(_BINS, len(sure))) if len(part)]
    axes.plot([sure[p].mean() for p in parts], [right[p].mean() for p in parts], label=name, **_style(is_all))
    if is_all:
        axes.plot([0, 1], [0, 1], color="grey", linewidth=0.5)
        axes.hist(
            sure, bins=np.linspace(0, 1, 2 * _BINS + 1), weights=np.full(len(sure), 1 / len(sure)), color="lightgrey"
        )
    axes.set(xlabel="confidence; grey: share of answers", ylabel="share of right answers", xlim=(0, 1), ylim=(0, 1.02))


def _style(is_all: bool) -> dict[str, Any]:
    """Of a line: that of all graphs stands out."""
    return {"color": "black", "linewidth": 2.0, "marker": "."} if is_all else {"linewidth": 1.0}
