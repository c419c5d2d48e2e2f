"""Progress on standard error, shown only to somebody who watches a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from triplecheck.kg.progress import ProgressCallback


@contextmanager
def reporting(console: Console, first: str = "") -> Iterator[ProgressCallback]:
    """A function that long work tells how far it is; the bar vanishes at the end.

    Args:
        console: where to draw; nothing is drawn where it is no terminal.
        first: what is being done until the work says something itself.
    """
    if not console.is_terminal:
        from triplecheck.kg.progress import no_progress

        yield no_progress
        return
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    ) as bars:
        current: tuple[str, TaskID] | None = None

        def tell(what: str, done: int, total: int | None) -> None:
            nonlocal current
            work = what.partition(":")[0]
            if current is None or current[0] != work:
                if current is not None:
                    bars.update(current[1], visible=False)
                current = (work, bars.add_task(what, total=total))
            bars.update(current[1], description=what, completed=done, total=total)

        if first:
            tell(first, 0, None)
        yield tell


@contextmanager
def waiting(console: Console, what: str) -> Iterator[None]:
    """Show that something of unknown length is going on."""
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield
