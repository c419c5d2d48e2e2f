"""The table of directions: whether the first row is better than each other row, in the paper and as measured here.

The first row is the paper's program. Each other row lacks one of its mechanisms, or is a baseline. A row may name a
metric of its own, and another row that takes the place of the first. "+": the first row is better; "-": it is worse;
"0": no difference was shown, because the interval of the paired difference has both signs.

In a table of changes the score of a question is how much it changed from the first data set to a variant of it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from triplecheck.evals.experiments.config import Experiment, RowSpec, Sign, TableSpec
from triplecheck.evals.experiments.markdown import figures, markdown_table, title
from triplecheck.evals.experiments.run import Cell
from triplecheck.evals.metrics.statistics import bootstrap_interval, paired_bootstrap
from triplecheck.evals.metrics.trace import Row, cut_off, supervision
from triplecheck.evals.rows import MEANING, ON_RANKING, UNPLACED

_CRAG: Mapping[str, Mapping[str, float]] = {
    "accuracy": {"accurate": 1.0},
    "truthfulness": {"accurate": 1.0, "hallucinated": -1.0},
    "hallucination": {"hallucinated": 1.0},
    "missing": {"missing": 1.0},
}
_LOWER_IS_BETTER = frozenset({"hallucination", "missing"})
_COMPARED = ("first row better by", "in the paper", "here")
_COST = frozenset({"seconds", "usage"})  # of a step of a trace; they differ between equal runs


@dataclass(frozen=True)
class Measured:
    """One row of a table on one data set.

    Attributes:
        rows: of its questions (`evals.rows`), by id.
        before: the same on the first data set, in a table of changes; else None.
    """

    row: RowSpec
    rows: Mapping[str, Row]
    before: Mapping[str, Row] | None = None

    def scores(self, metric: str) -> dict[str, float]:
        """The score of each question that has one, by id.

        Args:
            metric: of `Scores`, one that is a mean over questions.
        """
        found = _scores(self.rows, metric)
        if self.before is None:
            return found
        earlier = _scores(self.before, metric)
        return {id: value - earlier[id] for id, value in found.items() if id in earlier}


@dataclass(frozen=True)
class Direction:
    """A row against the first row, or the row in its place, on the questions that both have a score of.

    Attributes:
        n: number of these questions.
        difference, low, high: by how much the first row is better, with the 95% interval.
        won, lost: questions at which the first row is better, and worse.
        acted: questions with another trace than the first row's, or another answer.
        changed: questions with another answer or ranking.
        notes: what the traces say of the difference, in sentences without full stops.
    """

    row: RowSpec
    n: int
    difference: float
    low: float
    high: float
    won: int
    lost: int
    acted: int
    changed: int
    notes: tuple[str, ...] = ()

    @property
    def sign(self) -> Sign:
        """What was measured."""
        return "+" if self.low > 0 else "-" if self.high < 0 else "0"

    def why(self) -> str:
        """Why another direction than that of the paper was found, by what was measured; empty if none was."""
        if self.row.paper in (None, self.sign):
            return ""
        if not self.acted:
            found = f"all steps of all {self.n} questions are the same in both rows"
        elif not self.changed:
            found = f"the steps of {self.acted} of {self.n} questions differ, and none of the answers"
        else:
            found = "" if self.acted == self.n else f"the steps of {self.acted} of {self.n} questions differ; "
            found += f"{self.changed} of {self.n} answers differ"
            if self.won + self.lost == 0:
                found += ", and none of their scores"
            else:
                found += f"; {_first(self.row)} is better at {self.won} and worse at {self.lost}"
            if self.sign == "0" and self.high > self.low:
                least = f"{(self.high - self.low) / 2:.2f}".removeprefix("0")
                found += f"; with {self.n} questions a difference below about {least} cannot be told from chance"
        return ". ".join((found, *self.notes)) + "."


def _first(row: RowSpec) -> str:
    """What a row is compared with, in words."""
    return "the first row" if row.against is None else repr(row.against)


def score(row: Row, metric: str) -> float | None:
    """The score of one question; None if it has none, as after an error."""
    if row["status"] == "error":
        return None
    if metric in _CRAG:
        return None if row["crag"] is None else _CRAG[metric].get(row["crag"], 0.0)
    value = row.get(metric)
    return None if value is None else float(value)


def _scores(rows: Mapping[str, Row], metric: str) -> dict[str, float]:
    return {id: value for id, row in rows.items() if (value := score(row, metric)) is not None}


def direction(of: Measured, first: Measured, metric: str) -> Direction | None:
    """A row against the first row, or the row in its place; None if no question has a score in both."""
    of_row, of_first = of.scores(metric), first.scores(metric)
    both = [id for id in of_row if id in of_first]
    if not both:
        return None
    worse, better = (of_first, of_row) if metric in _LOWER_IS_BETTER else (of_row, of_first)
    difference = paired_bootstrap([worse[id] for id in both], [better[id] for id in both])
    pairs = [(first.rows[id], of.rows[id]) for id in both]
    lost = [id for id in both if better[id] < worse[id]]
    return Direction(
        of.row,
        len(both),
        difference.difference,
        difference.low,
        difference.high,
        won=sum(better[id] > worse[id] for id in both),
        lost=len(lost),
        acted=sum(_trace(a) != _trace(b) or _given(a) != _given(b) for a, b in pairs),
        changed=sum(_given(a) != _given(b) for a, b in pairs),
        notes=tuple(_notes(of, first, both, [] if metric in ON_RANKING else lost)),
    )


def _trace(row: Row) -> list[dict[str, Any]]:
    return [{name: value for name, value in step.items() if name not in _COST} for step in row["steps"]]


def _given(row: Row) -> tuple[Any, Any]:
    return row["answer"], row.get("ranking")


def _notes(of: Measured, first: Measured, both: Sequence[str], lost: Sequence[str]) -> Iterable[str]:
    """What the traces say of the difference.

    Args:
        both: ids of the questions that are compared.
        lost: ids of those at which the first row is worse.
    """
    name = _first(of.row)
    stages = Counter(stage for id in lost if (stage := first.rows[id].get("lost")) not in (None, UNPLACED))
    if stages:
        ((stage, count),) = stages.most_common(1)
        yield f"Where {name} is worse, in {count} of {len(lost)} cases {MEANING[stage]}"
    supervised = supervision(first.rows[id] for id in both)
    if supervised is not None and not supervised.scores:
        missing = supervised.missing
        yield missing[:1].upper() + missing[1:] if missing else f"No answer and no passage has a score in {name}"
    if of.row.program == first.row.program:
        here, there = (sum(cut_off(one.rows[id]) for id in both) for one in (of, first))
        if here != there:
            yield f"Limits cut something off at {here} of {len(both)} questions in this row, and at {there} in {name}"


def direction_tables(experiment: Experiment, table: TableSpec, cells: Sequence[Cell]) -> list[str]:
    """A table for each data set and choice of models, and a sentence for each row whose direction is not the paper's.

    Rows are compared by the first metric, or by their own. A table of changes has none for the first data set.
    """
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.data, cell.model.title), []).append(cell)
    changes = table.layout == "changes"
    parts = []
    for (data, model), own in groups.items():
        if changes and data == table.data[0]:
            continue
        place = f"{experiment.title_of(data)}, {model}"
        earlier = groups.get((table.data[0], model), [])
        before = {cell.row.label: _by_id(cell) for cell in earlier} if changes else {}
        rows = [Measured(c.row, _by_id(c), before.get(c.row.label, {}) if changes else None) for c in own]
        if rows[0].row != table.rows[0]:
            parts.append(f"{place}: run {table.rows[0].label!r}, which the other rows are compared with.\n")
            continue
        metric = table.metrics[0]
        others = table.metrics if changes else table.metrics[1:]
        by_label = {one.row.label: one for one in rows}
        lines, sentences = [], []
        for one, cell in zip(rows, own, strict=True):
            first = by_label.get(one.row.against or table.rows[0].label)
            found = None if first in (None, one) else direction(one, first, one.row.metric or metric)
            lines.append(
                [
                    one.row.label,
                    *_mean(one.scores(metric).values()),
                    *(("", one.row.paper or "", "") if found is None else _compared(found)),
                    *figures(cell.summary.scores, others),
                ]
            )
            if found is not None and (why := found.why()):
                sentences.append(f"- {one.row.label}: {why}")
        head = f"change of {title(metric)}" if changes else title(metric)
        parts.append(markdown_table([place, "n", head, *_COMPARED, *map(title, others)], lines))
        if supervised := supervision(rows[0].rows.values()):
            parts.append(f"{rows[0].row.label}: {supervised}.\n")
        parts += [*sentences, ""]
    return parts


def _by_id(cell: Cell) -> dict[str, Row]:
    return {row["id"]: row for row in cell.rows()}


def _mean(scores: Iterable[float]) -> tuple[str, str]:
    """Their number, and their mean with its interval."""
    values = list(scores)
    if not values:
        return "0", "no scores"
    return str(len(values)), _with_interval(math.fsum(values) / len(values), *bootstrap_interval(values))


def _compared(found: Direction) -> tuple[str, str, str]:
    """The columns of `_COMPARED`, with what is not compared as the others are."""
    row = found.row
    better = _with_interval(found.difference, found.low, found.high, "+")
    named = f"{row.against}: " if row.against else ""
    by = f" {title(row.metric)}" if row.metric else ""
    return f"{named}{better}{by}", row.paper or "", found.sign


def _with_interval(value: float, low: float, high: float, sign: str = "") -> str:
    return f"{value:{sign}.3f} [{low:{sign}.3f}, {high:{sign}.3f}]"
