"""The reader distilled: a small model that reads answers from facts learns from right replies of the answering step.

made = distil_reader({Path("films"): read_traces("films")}, Path("readers/films"))
session(Roles(answer=made.model))
"""

from triplecheck.optimize.distil.reader.measure import HITS
from triplecheck.optimize.distil.reader.student import distil_reader, train_reader

__all__ = ["HITS", "distil_reader", "train_reader"]
