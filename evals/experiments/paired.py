"""The table of paired rows: each row against the first row of its program, on the questions that both answered.

An assist is worth keeping if the first row, which has it, wins more questions than it loses, over all graphs and with
each graph left out in turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from triplecheck.evals.experiments.config import Experiment, RowSpec
from triplecheck.evals.experiments.run import Cell
from triplecheck.evals.metrics.statistics import mcnemar, write_p

Pair = tuple[float, float]
"""Hits@1 of a row and of the first row on one question."""


@dataclass(frozen=True)
class Pairs:
    """A row against the first row of its program, with one choice of models.

    Attributes:
        of_graphs: by graph the scores on every question that both answered.
    """

    row: RowSpec
    of_graphs: Mapping[str, Sequence[Pair]]

    def but(self, left_out: str | None = None) -> list[Pair]:
        """The pairs of all graphs but one."""
        return [pair for graph, pairs in self.of_graphs.items() if graph != left_out for pair in pairs]


def won_and_lost(pairs: Sequence[Pair]) -> tuple[int, int, float]:
    """Questions that only the first row gets right, those that only the other one does, and McNemar's exact p."""
    won, lost = sum(first > other for other, first in pairs), sum(first < other for other, first in pairs)
    return won, lost, mcnemar(*zip(*pairs, strict=True)) if pairs else 1.0


def paired(experiment: Experiment, cells: Sequence[Cell]) -> list[tuple[Cell, list[Pairs]]]:
    """The first row of each program and choice of models, with the rows that are compared with it.

    A question that ended in an error in either row is left out.
    """
    found = []
    for program, model in dict.fromkeys((cell.row.program, cell.model.title) for cell in cells):
        own = [cell for cell in cells if (cell.row.program, cell.model.title) == (program, model)]
        first = {cell.data: _hits(cell) for cell in own if cell.row == own[0].row}
        of_rows: dict[str, dict[str, list[Pair]]] = {}
        rows = {cell.row.label: cell.row for cell in own if cell.row != own[0].row}
        for cell in own:
            if cell.row.label in rows and cell.data in first:
                hits, known = _hits(cell), first[cell.data]
                pairs = [(hits[id], known[id]) for id in hits if id in known]
                graphs = of_rows.setdefault(cell.row.label, {})
                graphs.setdefault(experiment.graph_of(cell.data), []).extend(pairs)
        others = [Pairs(rows[label], graphs) for label, graphs in of_rows.items()]
        found.append((own[0], others))
    return found


def _hits(cell: Cell) -> dict[str, float]:
    scored = (row for row in cell.rows() if row["status"] != "error" and row["hits_at_1"] is not None)
    return {row["id"]: float(row["hits_at_1"]) for row in scored}


def paired_rows(found: Sequence[Pairs], graphs: Sequence[str]) -> list[list[str]]:
    """A line for each row: won, lost and p over all graphs; for each graph won and lost on it, and p without it."""
    lines = []
    for one in found:
        won, lost, p = won_and_lost(one.but())
        cells = [one.row.label, str(len(one.but())), str(won), str(lost), write_p(p)]
        for graph in graphs:
            here = won_and_lost(one.of_graphs.get(graph, ()))
            cells.append(f"{here[0]}:{here[1]} ({write_p(won_and_lost(one.but(graph))[2])})")
        lines.append(cells)
    return lines
