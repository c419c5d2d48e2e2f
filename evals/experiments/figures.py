"""Pictures of an experiment, as PNG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from triplecheck.evals.experiments.breakdowns import breakdown, names
from triplecheck.evals.experiments.config import Experiment, FigureSpec
from triplecheck.evals.experiments.run import Cell
from triplecheck.evals.experiments.tables import data_title, title
from triplecheck.evals.metrics.trace import BREAKDOWNS

_INCHES = (7.0, 4.0)
_DOTS_PER_INCH = 150
_LIGHTER = 0.4


def draw(experiment: Experiment, figure: FigureSpec, cells: Sequence[Cell], path: Path) -> bool:
    """Draw a figure; False where none of its cells was run."""
    own = [cell for cell in cells if cell.table == figure.table]
    layout = next(table.layout for table in experiment.tables if table.name == figure.table)
    if layout not in BREAKDOWNS:
        own = [cell for cell in own if getattr(cell.summary.scores, figure.metric) is not None]
    if not own:
        return False
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    picture = Figure(figsize=_INCHES, layout="constrained")
    FigureCanvasAgg(picture)
    axes = picture.add_subplot()
    if layout in BREAKDOWNS:
        _groups(experiment, figure, layout, own, axes)
    else:
        (_lines if figure.kind == "lines" else _bars)(experiment, figure, own, axes)
    axes.set_title(figure.title)
    axes.set_ylabel(title(figure.metric) + (f"; above it {title(figure.above)}" if figure.above else ""))
    axes.grid(axis="y", alpha=0.3)
    if len(axes.get_legend_handles_labels()[1]) > 1:
        axes.legend(frameon=False, fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.savefig(path, dpi=_DOTS_PER_INCH, format="png", metadata={"Software": None})
    return True


def _series(cells: Sequence[Cell]) -> list[tuple[str, str]]:
    """What is told apart by colour: the data set, and the models where there are several."""
    return list(dict.fromkeys((cell.data, cell.model.title) for cell in cells))


def _name(experiment: Experiment, data: str, models: str, cells: Sequence[Cell]) -> str:
    name = data_title(data, experiment.data[data])
    return name if len({cell.model.title for cell in cells}) == 1 else f"{name}, {models}"


def _lines(experiment: Experiment, figure: FigureSpec, cells: Sequence[Cell], axes: Any) -> None:
    for data, models in _series(cells):
        points = sorted(
            (cell.row.x, getattr(cell.summary.scores, figure.metric))
            for cell in cells
            if (cell.data, cell.model.title) == (data, models) and cell.row.x is not None
        )
        if points:
            axes.plot(*zip(*points, strict=True), marker="o", label=_name(experiment, data, models, cells))
    axes.set_xlabel(figure.x_label)


def _bars(experiment: Experiment, figure: FigureSpec, cells: Sequence[Cell], axes: Any) -> None:
    series = _series(cells)
    labels = list(dict.fromkeys(cell.row.label for cell in cells))
    width = 0.8 / len(series)
    for number, (data, models) in enumerate(series):
        own = {c.row.label: c.summary.scores for c in cells if (c.data, c.model.title) == (data, models)}
        named = [label for label in labels if label in own]
        places = [labels.index(label) + (number - (len(series) - 1) / 2) * width for label in named]
        heights = [getattr(own[label], figure.metric) for label in named]
        bars = axes.bar(places, heights, width, label=_name(experiment, data, models, cells))
        if figure.above is not None:
            more = [getattr(own[label], figure.above) or 0.0 for label in named]
            colour = bars.patches[0].get_facecolor()
            axes.bar(places, more, width, bottom=heights, color=colour, alpha=_LIGHTER)
    if figure.above is not None:  # where nothing is stacked upon the highest bar, the picture must not end there
        axes.use_sticky_edges = False
        axes.set_ylim(bottom=0)
    axes.set_xticks(range(len(labels)), labels, rotation=20, ha="right")
    axes.set_xlabel(figure.x_label)


def _groups(experiment: Experiment, figure: FigureSpec, layout: str, cells: Sequence[Cell], axes: Any) -> None:
    """Bars by group of a breakdown, one of each cell."""
    found = [breakdown(layout, cell) for cell in cells]
    groups = list(dict.fromkeys(group for of in found for group in of))
    width = 0.8 / len(cells)
    for number, (name, of) in enumerate(zip(names(experiment, cells), found, strict=True)):
        known = {group: share for group in groups if (share := of.get(group, {}).get(figure.metric)) is not None}
        places = [groups.index(group) + (number - (len(cells) - 1) / 2) * width for group in known]
        axes.bar(places, list(known.values()), width, label=name)
    axes.set_xticks(range(len(groups)), groups, rotation=20, ha="right")
    axes.set_xlabel(figure.x_label)
