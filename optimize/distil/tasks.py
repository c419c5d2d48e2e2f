"""What students of the answering step learn from and are measured on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from triplecheck.kg import UserError
from triplecheck.optimize.traces import TraceRow
from triplecheck.optimize.traces.reading import MANIFEST, read_manifest
from triplecheck.optimize.traces.records import with_held_out
from triplecheck.signatures import AnswerFromFacts

LEAST_ROWS = 50
"""Fewer rows to learn from are refused: a student trained on them is not measurable."""
HELD_OUT = 0.2
"""Share of the questions to measure on, where no rows are held out."""


@dataclass(frozen=True)
class Task:
    """Answering steps with right replies.

    Attributes:
        name: in reports.
        graph: that the questions are about.
        train: rows to learn.
        test: rows of other questions, to measure on.
    """

    name: str
    graph: str
    train: tuple[TraceRow, ...]
    test: tuple[TraceRow, ...]

    @classmethod
    def of(cls, name: str, graph: str, rows: Sequence[TraceRow]) -> Task:
        """Rows, split as they are marked."""
        train, test = (tuple(row for row in rows if row.split == split) for split in ("train", "dev"))
        return cls(name, graph, train, test)


def answering(rows: Sequence[TraceRow]) -> list[TraceRow]:
    """The rows of the answering step."""
    return [row for row in rows if row.signature == AnswerFromFacts.__name__ and row.outputs]


def graph_names(folders: Iterable[Path]) -> dict[Path, str]:
    """A name for the graph of each folder of traces: the name of the first folder of this graph.

    Folders are of one graph if their manifests say so; those of a graph on a server, which no manifest tells, if they
    have the same name. Where folders of several graphs have the same name, the folders above are named too.
    """
    graphs = {folder: _graph(folder) for folder in folders}
    first = {graph: folder.resolve() for folder, graph in reversed(graphs.items())}
    names: dict[str, str] = {}
    for write in (_name, _long_name, str):
        names = {graph: write(folder) for graph, folder in first.items()}
        if len(set(names.values())) == len(names):
            break
    return {folder: names[graph] for folder, graph in graphs.items()}


def _graph(folder: Path) -> str:
    told = read_manifest(folder).get("graph") if (folder / MANIFEST).is_file() else None
    return str(told or _name(folder.resolve()))


def _name(folder: Path) -> str:
    return folder.name


def _long_name(folder: Path) -> str:
    return f"{folder.parent.name}/{folder.name}"


def tasks_of(rows: Mapping[Path, Sequence[TraceRow]]) -> list[Task]:
    """The answering steps of folders that `triplecheck collect` wrote; see `graph_names`.

    A question is held out by a hash of its id, the same in each folder; where `collect` held some out, these.

    Raises:
        UserError: a folder has no answering step, or all together have too few to learn from.
    """
    graphs = graph_names(rows)
    tasks = [_task(folder, graphs[folder], own) for folder, own in rows.items()]
    check_enough(tasks, "reader")
    return tasks


def check_enough(tasks: Sequence[Task], student: str) -> None:
    """Check that there are enough rows to train a student.

    Raises:
        UserError: there are too few.
    """
    found, step = sum(len(task.train) for task in tasks), AnswerFromFacts.__name__
    if found < LEAST_ROWS:
        raise UserError(
            f"{found} right replies of the step {step} are too few to train a {student}: collect at least {LEAST_ROWS} "
            f"with `triplecheck collect kerag --pass gold --step {step}`; 300 are better"
        )


def _task(folder: Path, graph: str, rows: Sequence[TraceRow]) -> Task:
    own, step = answering(rows), AnswerFromFacts.__name__
    if not own:
        there = ", ".join(sorted({row.signature for row in rows})) or "none"
        raise UserError(
            f"{folder}: has no right reply of the step {step}, which is all that a reader does (steps there: {there}); "
            f"collect it with `triplecheck collect kerag --step {step}`"
        )
    return Task.of(str(folder), graph, with_held_out(own, HELD_OUT))
