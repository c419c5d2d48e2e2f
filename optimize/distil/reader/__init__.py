"""The reader distilled: a small model that reads answers from facts learns from right replies of the answering step.

made = distil_reader(tasks, "readers/films")
session(Roles(answer=made.model))
"""

from triplecheck.optimize.distil.reader.recorded import record_answers
from triplecheck.optimize.distil.reader.student import (
    MADE_WITH,
    DistilledReader,
    ReaderOptions,
    distil_reader,
    train_reader,
)
from triplecheck.optimize.distil.reader.tasks import ReaderTask, read_tasks

__all__ = [
    "MADE_WITH",
    "DistilledReader",
    "ReaderOptions",
    "ReaderTask",
    "distil_reader",
    "read_tasks",
    "record_answers",
    "train_reader",
]
