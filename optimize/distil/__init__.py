"""Distilling: a small model learns the steps of programs from verified traces.

made = distil(["traces"], "adapters", name="kerag")
session(made.model)
"""

from optimize.distil.options import DistilOptions
from optimize.distil.run import Distilled, distil, distil_rows

__all__ = ["DistilOptions", "Distilled", "distil", "distil_rows"]
