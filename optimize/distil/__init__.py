"""Distilling: small students learn from verified steps of programs.

`students` lists them; each is a model that a role or a bundle names, and has a `StudentReport`.
"""

from triplecheck.optimize.distil.data import DistilOptions
from triplecheck.optimize.distil.report import Learnt, Score, StudentReport
from triplecheck.optimize.distil.run import Distilled, distil_rows

__all__ = ["DistilOptions", "Distilled", "Learnt", "Score", "StudentReport", "distil_rows"]
