"""Assists: help that the papers do not have. Each has a name and a module; `table` lists them all.

One option of every program turns them on and off: `assist="all"` (the default), `"none"`, or names. Each time one
changes something, the trace has an `Assisted` step.
"""

from triplecheck.programs.assists.table import ASSISTS, Assist, Assists

__all__ = ["ASSISTS", "Assist", "Assists"]
