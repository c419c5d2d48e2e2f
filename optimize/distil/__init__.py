"""Distilling: fine-tune a small model on verified steps of programs.

made = distil(["traces"], "adapters", name="kerag")
session(made.model)
"""

from triplecheck.optimize.distil.data import DistilOptions
from triplecheck.optimize.distil.run import Distilled, distil, distil_rows

__all__ = ["DistilOptions", "Distilled", "distil", "distil_rows"]
