"""The table of directions: whether the first row is better than each other row, in the paper and as measured here.

The first row is the paper's program. Each other row lacks one of its mechanisms, or is a baseline. "+": the first row
is better; "-": it is worse; "0": no difference was shown, because the interval of the paired difference has both signs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from triplecheck.evals.experiments.config import RowSpec, Sign, TableSpec
from triplecheck.evals.experiments.markdown import figures, markdown_table, title
from triplecheck.evals.experiments.run import Cell
from triplecheck.evals.metrics.statistics import bootstrap_interval, paired_bootstrap

_CRAG: Mapping[str, Mapping[str, float]] = {
    "accuracy": {"accurate": 1.0, "hallucinated": 0.0, "missing": 0.0},
    "truthfulness": {"accurate": 1.0, "hallucinated": -1.0, "missing": 0.0},
}
_COMPARED = ("first row better by", "in the paper", "here")
_COST = frozenset({"seconds", "usage"})  # of a step of a trace; they differ between equal runs


@dataclass(frozen=True)
class Direction:
    """A row against the first row, on the questions that both have a score of.

    Attributes:
        n: number of these questions.
        mean, interval: its score, with the 95% interval.
        difference, low, high: score of the first row minus that of this row, with the 95% interval.
        won, lost: questions at which the first row is better, and worse.
        acted: questions with another trace than the first row's, or another answer.
        changed: questions with another answer or ranking.
    """

    row: RowSpec
    n: int
    mean: float
    interval: tuple[float, float]
    difference: float
    low: float
    high: float
    won: int
    lost: int
    acted: int
    changed: int

    @property
    def sign(self) -> Sign:
        """What was measured."""
        return "+" if self.low > 0 else "-" if self.high < 0 else "0"

    def why(self) -> str:
        """Why a difference that the paper has was not found; empty if it was, or if the paper has none."""
        if self.row.paper in (None, self.sign):
            return ""
        if not self.acted:
            found = "every step of every question is the same in both rows"
        elif not self.changed:
            found = f"the steps of {self.acted} of {self.n} questions differ, and none of the answers"
        else:
            found = (
                f"the steps of {self.acted} and the answers to {self.changed} of {self.n} questions differ; "
                f"the first row is better at {self.won} and worse at {self.lost}"
            )
            if self.sign == "0" and self.high > self.low:
                found += f", and {self.n} questions show no difference below {(self.high - self.low) / 2:.3f}"
        return f"{found}. {self.row.why}".strip() if self.row.why else f"{found}."


def score(row: Mapping[str, Any], metric: str) -> float | None:
    """The score of one question; None if it has none, as after an error.

    Args:
        metric: of `Scores`, one that is a mean over questions.
    """
    if row["status"] == "error":
        return None
    if metric in _CRAG:
        return _CRAG[metric].get(row["crag"])
    value = row.get(metric)
    return None if value is None else float(value)


def direction(
    row: RowSpec, first: Iterable[Mapping[str, Any]], others: Iterable[Mapping[str, Any]], metric: str
) -> Direction | None:
    """A row against the first row; None if no question has a score in both.

    Args:
        first: rows of the first row's evaluation (`evals.rows`).
    """
    known = {one["id"]: one for one in first}
    pairs = [(known[other["id"]], other) for other in others if other["id"] in known]
    scored = [(a, b, score(a, metric), score(b, metric)) for a, b in pairs]
    both = [(a, b, one, other) for a, b, one, other in scored if one is not None and other is not None]
    if not both:
        return None
    of_first, of_row = [one for _, _, one, _ in both], [other for _, _, _, other in both]
    difference = paired_bootstrap(of_row, of_first)
    return Direction(
        row,
        len(both),
        math.fsum(of_row) / len(both),
        bootstrap_interval(of_row),
        difference.difference,
        difference.low,
        difference.high,
        won=sum(one > other for one, other in zip(of_first, of_row, strict=True)),
        lost=sum(one < other for one, other in zip(of_first, of_row, strict=True)),
        acted=sum(_trace(a) != _trace(b) or _given(a) != _given(b) for a, b, _, _ in both),
        changed=sum(_given(a) != _given(b) for a, b, _, _ in both),
    )


def _trace(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{name: value for name, value in step.items() if name not in _COST} for step in row["steps"]]


def _given(row: Mapping[str, Any]) -> tuple[Any, Any]:
    return row["answer"], row.get("ranking")


def direction_tables(table: TableSpec, groups: Mapping[str, Sequence[Cell]]) -> list[str]:
    """A table for each data set and choice of models, by title, and a sentence for each row whose direction is not that
    of the paper. Rows are compared by the first metric."""
    metric, *others = table.metrics
    parts = []
    for place, cells in groups.items():
        if cells[0].row != table.rows[0]:
            parts.append(f"{place}: run {table.rows[0].label!r}, which the other rows are compared with.\n")
            continue
        first = [value for row in cells[0].rows() if (value := score(row, metric)) is not None]
        compared = (direction(cell.row, cells[0].rows(), cell.rows(), metric) for cell in cells[1:])
        found = {one.row.label: one for one in compared if one is not None}
        rows = []
        for cell in cells:
            one = found.get(cell.row.label)
            if one is not None:
                own = [str(one.n), _with_interval(one.mean, *one.interval)]
                own += [_with_interval(one.difference, one.low, one.high, "+"), one.row.paper or "", one.sign]
            elif cell is cells[0] and first:
                own = [str(len(first)), _with_interval(math.fsum(first) / len(first), *bootstrap_interval(first))]
                own += ["", "", ""]
            else:
                own = ["0", "-", "-", cell.row.paper or "", "-"]
            rows.append([cell.row.label, *own, *figures(cell.summary.scores, others)])
        parts.append(markdown_table([place, "n", title(metric), *_COMPARED, *map(title, others)], rows))
        sentences = [(label, one.why()) for label, one in found.items()]
        parts += [f"- {label}: {sentence}" for label, sentence in sentences if sentence]
        parts.append("")
    return parts


def _with_interval(value: float, low: float, high: float, sign: str = "") -> str:
    return f"{value:{sign}.3f} [{low:{sign}.3f}, {high:{sign}.3f}]"
