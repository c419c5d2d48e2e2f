"""The report of an experiment: tables with the published figures, charts, and an error analysis."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from triplecheck.evals.configuration import plain
from triplecheck.evals.experiments.config import Experiment, FigureSpec, ModelSpec, Published, TableSpec
from triplecheck.evals.experiments.directions import direction_tables
from triplecheck.evals.experiments.markdown import escaped, figures, markdown_table, number, title
from triplecheck.evals.experiments.paired import paired, paired_rows
from triplecheck.evals.experiments.pictures import draw_series, picture
from triplecheck.evals.experiments.run import Cell
from triplecheck.evals.experiments.verdicts import (
    VerdictReport,
    confidence_tables,
    draw_verdicts,
    verdict_report,
    verdict_tables,
)
from triplecheck.evals.metrics.trace import BREAKDOWNS, Breakdown, theta_0
from triplecheck.evals.prefilter import Prefiltered, prefiltered, relations_at_fault
from triplecheck.evals.rows import MEANING
from triplecheck.evals.run_directory import read_rows
from triplecheck.evals.summary import Scores
from triplecheck.kg._atomic import write_text
from triplecheck.lms import Roles

# Error analysis: the stage at which each wrong answer was lost, with examples.

_LOST_EXAMPLES = 2
_GOLD_SHOWN = 3


def error_analysis(run: Path) -> str:
    """Markdown with the number of questions lost at each stage, and the first examples by id.

    Raises:
        ReadError: the directory has no rows.
    """
    stages: dict[str, list[Mapping[str, Any]]] = {}
    count = right = 0
    for row in read_rows(run):
        count += 1
        right += row.get("crag") == "accurate"
        stage = "error" if row["status"] == "error" else row.get("lost")
        if stage:
            stages.setdefault(stage, []).append(row)
    lines = [f"{right} of {count} correct.\n"]
    for stage, rows in sorted(stages.items(), key=lambda item: -len(item[1])):
        meaning = MEANING.get(stage, "the program did not finish")
        lines.append(f"**{stage}** {len(rows)} ({len(rows) / count:.0%}): {meaning}\n")
        lines += [_lost_example(row) for row in sorted(rows, key=lambda row: str(row["id"]))[:_LOST_EXAMPLES]]
        lines.append("")
    return "\n".join(lines)


def _lost_example(row: Mapping[str, Any]) -> str:
    gold = ", ".join(map(str, row["gold"][:_GOLD_SHOWN])) + (" ..." if len(row["gold"]) > _GOLD_SHOWN else "")
    if row["status"] == "error":
        outcome = f"{row['error']['kind']}: {row['error']['message']}"
    else:
        outcome = row["answer"] or f"abstained ({row['reason']})"
    return f"- `{row['id']}` {escaped(row['question'])} Gold: {escaped(gold) or 'none'}. Answer: {escaped(outcome)}"


# Breakdowns computed from traces, and names of cells.

_KNOWLEDGE = "knowledge."


def breakdown(layout: str, cell: Cell) -> Breakdown:
    """A breakdown computed from the traces of a cell. The name of a knowledge role includes its model."""
    found = BREAKDOWNS[layout].of(cell.rows())
    return {_with_model(group, cell.model): measures for group, measures in found.items()}


def names(experiment: Experiment, cells: Sequence[Cell]) -> list[str]:
    """Distinct names of cells: the data set, with the program and models if there are several."""
    several_programs = len({cell.row.label for cell in cells}) > 1
    several_models = len({cell.model.title for cell in cells}) > 1
    return [
        ", ".join(
            [experiment.title_of(cell.data)] + [cell.row.label] * several_programs + [cell.model.title] * several_models
        )
        for cell in cells
    ]


def _with_model(group: str, model: ModelSpec) -> str:
    """A role with its model: "knowledge.1 (extractive) + entities"."""
    role, plus, more = group.partition(" + ")
    if not role.startswith(_KNOWLEDGE):
        return group
    return f"{role} ({Roles(model.lm, model.roles).model(role)}){plus}{more}"


# The table of misleading triplets: each program with patterns compared with plain search (`evals.prefilter`).

EXAMPLES = 3
_MISLED_HEADER = ("n", "helped", "same", "hurt", "patterns matched nodes", "of these none correct")
_LISTED = 3
_RELATIONS = 5


def _misled_pairs(cells: Sequence[Cell]) -> list[tuple[Cell, list[Prefiltered]]]:
    """Compare each cell with the first one, which is plain search. All cells have the same data set and models."""
    alone, *others = cells
    return [(cell, prefiltered(alone.rows(), cell.rows(), cell.knowledge_base)) for cell in others]


def _misled_figures(found: Sequence[Prefiltered]) -> list[str]:
    """One row of the table, in the order of `_MISLED_HEADER`."""
    effects = [one.effect for one in found]
    led = [one for one in found if one.left is not None]
    shares = [_share(effects.count(effect), len(found)) for effect in ("helped", "same", "hurt")]
    return [str(len(found)), *shares, _share(len(led), len(found)), _share(sum(one.misled for one in led), len(led))]


def _misled_examples(found: Sequence[Prefiltered]) -> str:
    """The relations at fault with counts, and the first questions that they hurt; empty if there are none."""
    misled = [one for one in found if one.misled]
    if not misled:
        return ""
    counts = relations_at_fault(misled).most_common(_RELATIONS)
    lines = [f"At fault: {', '.join(f'{escaped(relation)} ({count})' for relation, count in counts)}.\n"]
    hurt = [one for one in misled if one.effect == "hurt"]
    lines += [_example(one) for one in (hurt or misled)[:EXAMPLES]]
    return "\n".join(lines) + "\n"


def _example(one: Prefiltered) -> str:
    right = ", ".join(map(plain, one.right[:_LISTED])) + (" ..." if len(one.right) > _LISTED else "")
    patterns = " and ".join(f"`{text.replace('`', chr(39))}`" for text in one.at_fault)
    ranks = f"{_written(one.alone)} by plain search, {_written(one.place)} with patterns"
    found = f"At fault: {patterns}; nodes that satisfy all patterns: {one.left:,}."
    return f"- `{one.id}` {escaped(one.question)} Correct: {right}; {ranks}. {found}"


def _written(place: int | None) -> str:
    return "not found" if place is None else f"rank {place}"


def _share(count: int, total: int) -> str:
    return f"{count / total:.1%}" if total else "-"


# Tables of an experiment, as markdown and CSV.

_KEYS = ("table", "label", "program", "options", "withheld", "model", "roles", "data")


def markdown(
    experiment: Experiment, table: TableSpec, cells: Sequence[Cell], judged: VerdictReport | None = None
) -> str:
    """A table with its published figures, for the cells that were run; `judged` has the verdicts of all tables."""
    own = [cell for cell in cells if cell.table == table.name]
    parts = [f"## {table.title}\n"]
    if not own:
        parts.append("Not run.\n")
    elif table.layout == "matrix":
        parts.append(_matrix(experiment, table, own))
    elif table.layout == "drop":
        parts.append(_drops(experiment, table, own))
    elif table.layout == "misled":
        parts += _misled(experiment, table, own)
    elif table.layout in BREAKDOWNS:
        parts += _breakdowns(experiment, table.layout, own)
    elif table.layout == "paired":
        parts += _paired(experiment, own)
    elif table.layout == "directions":
        parts += direction_tables(experiment, table, own)
    elif table.layout == "changes":
        parts += [_drops(experiment, table, own), *direction_tables(experiment, table, own)]
    elif table.layout == "verdicts":
        judged = judged or verdict_report(experiment, own)
        parts += verdict_tables(experiment, judged.of(own))
    else:
        parts += _blocks(experiment, table, own)
    if found := _thetas(experiment, own):
        parts.append(f"{found}\n")
    if table.note:
        parts.append(f"{table.note.strip()}\n")
    if table.published:
        parts += [f"As published ({experiment.paper}):\n", _published(table.published)]
    return "\n".join(parts)


def _thetas(experiment: Experiment, cells: Sequence[Cell]) -> str:
    """theta_0 of Know³-RAG on each data set; empty if it has no row."""
    found: dict[str, dict[str, None]] = {}
    for cell in cells:
        value = theta_0(cell.rows(), float(cell.row.options.get("c", 128.0)))
        if value is not None:
            used = "no embeddings, no scores" if cell.knowledge_base.embeddings is None else f"{value:.3g}"
            found.setdefault(experiment.title_of(cell.data), {})[used] = None
    return (
        "theta_0: " + "; ".join(f"{data}: {' and '.join(used)}" for data, used in found.items()) + "." if found else ""
    )


def to_csv(experiment: Experiment, cells: Sequence[Cell]) -> str:
    """One line per cell, with every number of its summary."""
    metrics = [name for name in Scores.__dataclass_fields__ if _is_number(name, cells)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*_KEYS, *metrics])
    for cell in cells:
        options, roles = (json.dumps(plain(dict(v)), sort_keys=True) for v in (cell.row.options, cell.models.roles))
        keys = [cell.table, cell.row.label, cell.row.program, options, cell.row.withheld, cell.models.lm, roles]
        values = [getattr(cell.summary.scores, name) for name in metrics]
        writer.writerow([*keys, cell.data, *("" if value is None else value for value in values)])
    return out.getvalue()


def _blocks(experiment: Experiment, table: TableSpec, cells: Sequence[Cell]) -> list[str]:
    """A table per data set and choice of models, with a row per program.

    With a single program: a row per choice of models if there are several, else a row per data set.
    """
    alone, several_models = len(table.rows) == 1, len(table.models) > 1
    groups: dict[str, list[tuple[str, Cell]]] = {}
    for cell in cells:
        data = experiment.title_of(cell.data)
        if alone and several_models:
            place, name = f"{cell.row.label}, {data}", cell.model.title
        elif alone:
            place, name = f"{cell.row.label}, {cell.model.title}", data
        else:
            place, name = f"{data}, {cell.model.title}", cell.row.label
        groups.setdefault(place, []).append((name, cell))
    return [
        markdown_table(
            [place, "n", *map(title, table.metrics)],
            [[name, _size(cell.summary.scores), *figures(cell.summary.scores, table.metrics)] for name, cell in group],
        )
        for place, group in groups.items()
    ]


def _matrix(experiment: Experiment, table: TableSpec, cells: Sequence[Cell]) -> str:
    """One table with a row per program and choice of models, and a column per data set with its sample size."""
    metric = table.metrics[0]
    columns = [name for name in table.data if any(cell.data == name for cell in cells)]
    models = list(dict.fromkeys(cell.model.lm for cell in cells))
    by_place = {(cell.row.label, cell.model.lm, cell.data): cell for cell in cells}
    rows = []
    for lm in models:
        for label in dict.fromkeys(cell.row.label for cell in cells if cell.model.lm == lm):
            found = [by_place.get((label, lm, name)) for name in columns]
            figures = ["-" if cell is None else _with_size(cell, metric) for cell in found]
            rows.append([label, lm, *figures])
    heads = [experiment.title_of(name) for name in columns]
    return markdown_table([f"{title(metric)} (n)", "model", *heads], rows)


def _size(scores: Scores) -> str:
    """The number of questions, and how many of them have a score if a run was stopped or met errors: "198 of 200"."""
    return str(scores.n) if scores.scored == scores.n else f"{scores.scored} of {scores.n}"


def _with_size(cell: Cell, metric: str) -> str:
    scores = cell.summary.scores
    return f"{number(getattr(scores, metric), metric)} ({_size(scores)})"


def _drops(experiment: Experiment, table: TableSpec, cells: Sequence[Cell]) -> str:
    """A row per program and choice of models, a column per variant: accuracy, and its change on the same questions."""
    columns = [name for name in table.data if any(cell.data == name for cell in cells)]
    rows = []
    for label, lm in dict.fromkeys((cell.row.label, cell.model.lm) for cell in cells):
        own = {cell.data: _accurate(cell) for cell in cells if (cell.row.label, cell.model.lm) == (label, lm)}
        first = own.get(table.data[0], {})
        rows.append([label, lm, *(_drop(own.get(name, {}), first, name == table.data[0]) for name in columns)])
    heads = [experiment.title_of(name) for name in columns]
    return markdown_table(["accurate (change, n)", "model", *heads], rows)


def _accurate(cell: Cell) -> dict[str, bool]:
    """Whether the answer was correct, by question id."""
    return {row["id"]: row["crag"] == "accurate" for row in cell.rows() if row.get("crag") is not None}


def _drop(own: Mapping[str, bool], first: Mapping[str, bool], is_first: bool) -> str:
    if not own:
        return "-"
    share = sum(own.values()) / len(own)
    both = [id for id in own if id in first]
    if is_first or not both:
        return f"{share:.3f} ({len(own)})"
    return f"{share:.3f} ({sum(own[id] - first[id] for id in both) / len(both):+.3f}, {len(both)})"


def _breakdowns(experiment: Experiment, layout: str, cells: Sequence[Cell]) -> list[str]:
    """With one measure a table with a column per cell; else a table per cell with a column per measure."""
    kind = BREAKDOWNS[layout]
    sizes = [_size(cell.summary.scores) for cell in cells]
    found = dict(zip(names(experiment, cells), (breakdown(layout, cell) for cell in cells), strict=True))
    if len(kind.measures) == 1:
        (measure,) = kind.measures
        groups = max((list(groups) for groups in found.values()), key=len)
        heads = [f"{name} ({size})" for name, size in zip(found, sizes, strict=True)]
        # A group that is missing in one cell may be in another.
        shares = [{g: of[g][measure] if g in of else 0.0 if of else None for g in groups} for of in found.values()]
        rows = [[group, *(number(share[group], measure) for share in shares)] for group in groups]
        return [markdown_table([kind.groups, *heads], rows)]
    return [
        markdown_table(
            [f"{name} ({size})", *map(title, kind.measures)],
            [[group, *(number(of[measure], measure) for measure in kind.measures)] for group, of in groups.items()],
        )
        for (name, groups), size in zip(found.items(), sizes, strict=True)
    ]


def _misled(experiment: Experiment, table: TableSpec, cells: Sequence[Cell]) -> list[str]:
    """A table per data set and choice of models: each row compared with the first; then the faults of the last row."""
    parts = []
    for data, lm in dict.fromkeys((cell.data, cell.model.lm) for cell in cells):
        group = [cell for cell in cells if (cell.data, cell.model.lm) == (data, lm)]
        place = f"{experiment.title_of(data)}, {lm}"
        if group[0].row != table.rows[0] or len(group) == 1:
            parts.append(f"{place}: run {table.rows[0].label!r} and another row to compare them.\n")
            continue
        found = _misled_pairs(group)
        head = [f"{place}, against {group[0].row.label}", *_MISLED_HEADER]
        parts.append(markdown_table(head, [[cell.row.label, *_misled_figures(one)] for cell, one in found]))
        cell, last = found[-1]
        if shown := _misled_examples(last):
            parts += [f"{cell.row.label}, {place}:\n", shown]
    return parts


def _paired(experiment: Experiment, cells: Sequence[Cell]) -> list[str]:
    """A table per program and choice of models: each row compared with the first, which has what the row lacks."""
    parts = []
    graphs = list(dict.fromkeys(experiment.graph_of(cell.data) for cell in cells))
    for first, others in paired(experiment, cells):
        head = [f"{first.row.label}, {first.model.title}, against", "n", "won", "lost", "p"]
        heads = [*head, *(f"{graph}: won:lost (p without it)" for graph in graphs)]
        parts.append(markdown_table(heads, paired_rows(others, graphs)))
    return parts


def _published(rows: Sequence[Published]) -> str:
    columns = list(dict.fromkeys(name for row in rows for name in row.values))
    return markdown_table(
        ["", *columns], [[row.label, *(str(row.values.get(c, "-")) for c in columns)] for row in rows]
    )


def _is_number(name: str, cells: Sequence[Cell]) -> bool:
    return all(isinstance(getattr(cell.summary.scores, name), int | float | None) for cell in cells)


# Charts of an experiment, as PNG.

_INCHES = (7.0, 4.0)
_LIGHTER = 0.4


def draw(experiment: Experiment, figure: FigureSpec, cells: Sequence[Cell], path: Path) -> bool:
    """Draw a figure; False if none of its cells was run."""
    own = [cell for cell in cells if cell.table == figure.table]
    layout = next(table.layout for table in experiment.tables if table.name == figure.table)
    if layout not in BREAKDOWNS:
        own = [cell for cell in own if getattr(cell.summary.scores, figure.metric) is not None]
    if not own:
        return False
    if figure.kind == "points":
        assert figure.over is not None
        x, y = figure.x_label or title(figure.over), title(figure.metric)
        draw_series(path, figure.title, x, y, _points(experiment, figure, figure.over, own))
        return True
    with picture(path, _INCHES) as drawn:
        axes = drawn.add_subplot()
        if layout in BREAKDOWNS:
            _groups(experiment, figure, layout, own, axes)
        else:
            (_lines if figure.kind == "lines" else _bars)(experiment, figure, own, axes)
        axes.set_title(figure.title)
        axes.set_ylabel(title(figure.metric) + (f"; above it {title(figure.above)}" if figure.above else ""))
        axes.grid(axis="y", alpha=0.3)
        if len(axes.get_legend_handles_labels()[1]) > 1:
            axes.legend(frameon=False, fontsize="small")
    return True


def _points(
    experiment: Experiment, figure: FigureSpec, over: str, cells: Sequence[Cell]
) -> dict[str, dict[str, Sequence[float]]]:
    """The points of each data set by row, for `draw_series`."""
    found: dict[str, dict[str, Sequence[float]]] = {}
    for cell in cells:
        point = [getattr(cell.summary.scores, metric) for metric in (over, figure.metric)]
        if point[0] is not None:
            found.setdefault(experiment.title_of(cell.data), {})[cell.row.label] = point
    return found


def _series(cells: Sequence[Cell]) -> list[tuple[str, str]]:
    """The data sets and models, each drawn in its own colour."""
    return list(dict.fromkeys((cell.data, cell.model.title) for cell in cells))


def _name(experiment: Experiment, data: str, models: str, cells: Sequence[Cell]) -> str:
    name = experiment.title_of(data)
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
    for at, (data, models) in enumerate(series):
        own = {c.row.label: c.summary.scores for c in cells if (c.data, c.model.title) == (data, models)}
        named = [label for label in labels if label in own]
        places = [labels.index(label) + (at - (len(series) - 1) / 2) * width for label in named]
        heights = [getattr(own[label], figure.metric) for label in named]
        bars = axes.bar(places, heights, width, label=_name(experiment, data, models, cells))
        if figure.above is not None:
            more = [getattr(own[label], figure.above) or 0.0 for label in named]
            colour = bars.patches[0].get_facecolor()
            axes.bar(places, more, width, bottom=heights, color=colour, alpha=_LIGHTER)
    if figure.above is not None:  # without this the plot ends at the top of the highest bar if nothing is stacked on it
        axes.use_sticky_edges = False
        axes.set_ylim(bottom=0)
    axes.set_xticks(range(len(labels)), labels, rotation=20, ha="right")
    axes.set_xlabel(figure.x_label)


def _groups(experiment: Experiment, figure: FigureSpec, layout: str, cells: Sequence[Cell], axes: Any) -> None:
    """Bars by group of a breakdown, one bar per cell."""
    found = [breakdown(layout, cell) for cell in cells]
    groups = list(dict.fromkeys(group for of in found for group in of))
    width = 0.8 / len(cells)
    for at, (name, of) in enumerate(zip(names(experiment, cells), found, strict=True)):
        known = {group: share for group in groups if (share := of.get(group, {}).get(figure.metric)) is not None}
        places = [groups.index(group) + (at - (len(cells) - 1) / 2) * width for group in known]
        axes.bar(places, list(known.values()), width, label=name)
    axes.set_xticks(range(len(groups)), groups, rotation=20, ha="right")
    axes.set_xlabel(figure.x_label)


# The whole report.


def write_report(experiment: Experiment, cells: Sequence[Cell], out: Path, *, command: str = "") -> Path:
    """Write `report.md`, `cells.csv`, `errors.md` and the charts; return the path of the report.

    A table without results says so.
    """
    out.mkdir(parents=True, exist_ok=True)
    parts = [f"# {experiment.title}\n"]
    if experiment.paper:
        parts.append(f"After {experiment.paper}.\n")
    if experiment.differs:
        parts.append(f"What differs: {' '.join(experiment.differs.split())}\n")
    largest = max((len(cell.asked) for cell in cells), default=experiment.limit)
    parts.append(
        f"Seed {experiment.seed}, at most {largest} questions per data set unless column `n` differs. "
        "Scores are strict (normalised exact match); 95% intervals and all other figures are in `cells.csv`."
        + (f" Made on {datetime.now(UTC).date()} by `{command}`." if command else "")
        + "\n"
    )
    with_verdicts = {table.name for table in experiment.tables if table.layout == "verdicts"}
    own = [cell for cell in cells if cell.table in with_verdicts]
    judged = verdict_report(experiment, own) if own else None
    parts += [markdown(experiment, table, cells, judged) for table in experiment.tables]
    for figure in experiment.figures:
        if draw(experiment, figure, cells, out / f"{figure.name}.png"):
            parts.append(f"![{figure.title}]({figure.name}.png)\n")
    if judged is not None:
        parts += ["## Confidence\n", *confidence_tables(judged)]
        parts += [f"![{name}]({path.name})\n" for name, path in draw_verdicts(judged, out)]
        write_text(out / "confidence.json", judged.models.to_json())
        parts.append("The coefficients of the confidence models of all graphs: [confidence.json](confidence.json).\n")
    write_text(out / "cells.csv", to_csv(experiment, cells))
    write_text(out / "errors.md", _errors(experiment, cells))
    parts.append("Error analysis with examples: [errors.md](errors.md).\n")
    report = out / "report.md"
    write_text(report, "\n".join(parts))
    return report


def _errors(experiment: Experiment, cells: Sequence[Cell]) -> str:
    """The error analysis of each evaluation with facts and unchanged questions."""
    parts = [f"# {experiment.title}: error analysis\n"]
    plain = [cell for cell in cells if not cell.row.withheld and experiment.data[cell.data].variant is None]
    for cell in {cell.out: cell for cell in plain}.values():
        data = experiment.title_of(cell.data)
        parts.append(f"## {cell.row.label}, {data}, {cell.models.title}\n\n{error_analysis(cell.out)}")
    return "\n".join(parts)
