"""Tables of an experiment: markdown to read, CSV to reckon with."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence

from triplecheck.evals.configuration import plain
from triplecheck.evals.experiments import misled
from triplecheck.evals.experiments.breakdowns import breakdown, names
from triplecheck.evals.experiments.config import DataSpec, Experiment, Published, TableSpec
from triplecheck.evals.experiments.run import Cell
from triplecheck.evals.metrics.trace import BREAKDOWNS
from triplecheck.evals.scores import Scores

TITLES = {
    "hits_at_1": "Hits@1",
    "hit": "Hit",
    "f1": "F1",
    "exact_match": "EM",
    "token_f1": "token F1",
    "accuracy": "accurate",
    "hallucination": "hallucinated",
    "retrieval_recall": "retrieval recall",
    "link_recall": "link recall",
    "hits_at_1_grounded": "Hits@1 where grounded",
    "hits_at_1_ungrounded": "Hits@1 where not",
    "lenient_match": "lenient",
    "hit_at_1_ranked": "Hit@1",
    "hit_at_5": "Hit@5",
    "recall_at_20": "Recall@20",
    "mrr": "MRR",
    "ece": "ECE",
    "aurc": "AURC",
    "seconds": "s",
    "seconds_outside_lm": "s outside LM",
}
"""How a metric is headed, where not by its name."""

_DIGITS = {"calls": 1, "tokens": 0, "n": 0, "seconds": 3}
_KEYS = ("table", "label", "program", "options", "withheld", "model", "roles", "data")


def title(metric: str) -> str:
    """The heading of a metric."""
    return TITLES.get(metric, metric.replace("_", " "))


def data_title(name: str, spec: DataSpec) -> str:
    """The heading of a data set."""
    return spec.title or name


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in GitHub's markdown, the first column to the left and the others to the right."""
    lines = [_line(header), _line(["---", *["---:"] * (len(header) - 1)]), *map(_line, rows)]
    return "\n".join(lines) + "\n"


def markdown(experiment: Experiment, table: TableSpec, cells: Sequence[Cell]) -> str:
    """A table with what the paper published, as far as there are cells of it."""
    own = [cell for cell in cells if cell.table == table.name]
    parts = [f"## {table.title}\n"]
    if not own:
        parts.append("None of its cells was run.\n")
    elif table.layout == "matrix":
        parts.append(_matrix(experiment, table, own))
    elif table.layout == "drop":
        parts.append(_drops(experiment, table, own))
    elif table.layout == "misled":
        parts += _misled(experiment, table, own)
    elif table.layout in BREAKDOWNS:
        parts += _breakdowns(experiment, table.layout, own)
    else:
        parts += _blocks(experiment, table, own)
    if table.note:
        parts.append(f"{table.note.strip()}\n")
    if table.published:
        parts += [f"As published ({experiment.paper}):\n", _published(table.published)]
    return "\n".join(parts)


def to_csv(experiment: Experiment, cells: Sequence[Cell]) -> str:
    """One line a cell, with every number of its summary."""
    metrics = [name for name in Scores.__dataclass_fields__ if _is_number(name, cells)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*_KEYS, *metrics])
    for cell in cells:
        options, roles = (json.dumps(plain(dict(v)), sort_keys=True) for v in (cell.row.options, cell.model.roles))
        keys = [cell.table, cell.row.label, cell.row.program, options, cell.row.withheld, cell.model.lm, roles]
        values = [getattr(cell.summary.scores, name) for name in metrics]
        writer.writerow([*keys, cell.data, *("" if value is None else value for value in values)])
    return out.getvalue()


def number(value: float | None, metric: str) -> str:
    """A figure as it stands in a table; what could not be told is a dash."""
    return "-" if value is None else f"{value:,.{_DIGITS.get(metric, 3)}f}"


def _blocks(experiment: Experiment, table: TableSpec, cells: Sequence[Cell]) -> list[str]:
    """A table per data set and choice of models, a row per program.

    Of one program alone a row per data set, or, where there are several, per choice of models.
    """
    alone, several_models = len(table.rows) == 1, len(table.models) > 1
    groups: dict[str, list[tuple[str, Cell]]] = {}
    for cell in cells:
        data = data_title(cell.data, experiment.data[cell.data])
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
            [[name, str(cell.summary.scores.n), *_figures(cell, table.metrics)] for name, cell in group],
        )
        for place, group in groups.items()
    ]


def _figures(cell: Cell, metrics: Sequence[str]) -> list[str]:
    return [number(getattr(cell.summary.scores, metric), metric) for metric in metrics]


def _matrix(experiment: Experiment, table: TableSpec, cells: Sequence[Cell]) -> str:
    """One table: a row per program and choice of models, a column per data set with its sample size."""
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
    heads = [data_title(name, experiment.data[name]) for name in columns]
    return markdown_table([f"{title(metric)} (n)", "model", *heads], rows)


def _with_size(cell: Cell, metric: str) -> str:
    scores = cell.summary.scores
    return f"{number(getattr(scores, metric), metric)} ({scores.n})"


def _drops(experiment: Experiment, table: TableSpec, cells: Sequence[Cell]) -> str:
    """A row per program and choice of models, a column per variant: accuracy, and what it lost, item by item."""
    columns = [name for name in table.data if any(cell.data == name for cell in cells)]
    rows = []
    for label, lm in dict.fromkeys((cell.row.label, cell.model.lm) for cell in cells):
        own = {cell.data: _accurate(cell) for cell in cells if (cell.row.label, cell.model.lm) == (label, lm)}
        first = own.get(table.data[0], {})
        rows.append([label, lm, *(_drop(own.get(name, {}), first, name == table.data[0]) for name in columns)])
    heads = [data_title(name, experiment.data[name]) for name in columns]
    return markdown_table(["accurate (change, n)", "model", *heads], rows)


def _accurate(cell: Cell) -> dict[str, bool]:
    """By question id, whether the answer was right."""
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
    """Of one measure a table with a column per cell; of several a table per cell with a column per measure."""
    kind = BREAKDOWNS[layout]
    sizes = [cell.summary.scores.n for cell in cells]
    found = dict(zip(names(experiment, cells), (breakdown(layout, cell) for cell in cells), strict=True))
    if len(kind.measures) == 1:
        (measure,) = kind.measures
        groups = max((list(groups) for groups in found.values()), key=len)
        heads = [f"{name} ({size})" for name, size in zip(found, sizes, strict=True)]
        # What one cell never came to, another may have.
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
    """A table per data set and choice of models: each row against the first; then what is at fault in the last."""
    parts = []
    for data, lm in dict.fromkeys((cell.data, cell.model.lm) for cell in cells):
        group = [cell for cell in cells if (cell.data, cell.model.lm) == (data, lm)]
        place = f"{data_title(data, experiment.data[data])}, {lm}"
        if group[0].row != table.rows[0] or len(group) == 1:
            parts.append(f"{place}: run {table.rows[0].label!r} and another row to compare them.\n")
            continue
        found = misled.compared(group)
        head = [f"{place}, against {group[0].row.label}", *misled.HEADER]
        parts.append(markdown_table(head, [[cell.row.label, *misled.figures(one)] for cell, one in found]))
        cell, last = found[-1]
        if shown := misled.examples(last):
            parts += [f"{cell.row.label}, {place}:\n", shown]
    return parts


def _published(rows: Sequence[Published]) -> str:
    columns = list(dict.fromkeys(name for row in rows for name in row.values))
    return markdown_table(
        ["", *columns], [[row.label, *(str(row.values.get(c, "-")) for c in columns)] for row in rows]
    )


def _is_number(name: str, cells: Sequence[Cell]) -> bool:
    return all(isinstance(getattr(cell.summary.scores, name), int | float | None) for cell in cells)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
