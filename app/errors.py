"""Errors as people see them: a message on standard error, and an exit code."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from triplecheck.app.console import stderr

if TYPE_CHECKING:
    from triplecheck.kg.errors import TriplecheckError

OTHER, USER, UNAVAILABLE, BUDGET, INTERRUPTED = 1, 2, 3, 4, 130


def complain(error: TriplecheckError) -> int:
    """Print an error, and the steps and cost up to it, to standard error; return the exit code."""
    from triplecheck.kg.errors import UnavailableError, UserError

    print_error(str(error))
    done = error.progress
    if isinstance(done, dict) and "usage" in done:
        from triplecheck.app import render

        usage = done["usage"]
        count = len(done.get("steps", ()))
        stderr().print(f"before that: {count} step{'' if count == 1 else 's'}", end=", ")
        stderr().print(render.usage_line(usage), soft_wrap=True)
    if isinstance(error, UserError):
        return USER
    if isinstance(error, UnavailableError):
        return UNAVAILABLE
    # If lms was never imported, its error was not raised; importing it takes long.
    budget = getattr(sys.modules.get("triplecheck.lms.errors"), "BudgetExceededError", None)
    return BUDGET if budget is not None and isinstance(error, budget) else OTHER


def print_error(message: str) -> None:
    """Print a message as an error, without control characters."""
    from rich.text import Text

    text = "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in message)
    stderr().print(Text.assemble(("error: ", "bold red"), text), soft_wrap=True)
