"""Where output goes: results to standard output, everything else to standard error; progress; how much is shown."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from rich.console import Console

if TYPE_CHECKING:
    from rich.table import Table

    from triplecheck.evals import Progress
    from triplecheck.kg.progress import ProgressCallback
    from triplecheck.lms import Usage

_PIPE_WIDTH = 160  # columns, if the output is not a terminal


_QUIET, _NORMAL, _VERBOSE, _FULL = range(4)
"""How much a command shows: the result alone; the usual; the steps, and logs; every detail of each step."""
_verbosity: ContextVar[int] = ContextVar("verbosity", default=_NORMAL)


@contextmanager
def shown(*, quiet: bool, verbose: int) -> Iterator[None]:
    """Show less or more inside the block. Without either flag nothing changes; `quiet` wins over `verbose`.

    Args:
        quiet: show the result alone.
        verbose: how often `-v` was given.
    """
    level = _QUIET if quiet else min(_NORMAL + verbose, _FULL) if verbose else _verbosity.get()
    if level >= _VERBOSE:
        from triplecheck.kg.redaction import RedactingFormatter

        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(RedactingFormatter("%(name)s: %(message)s"))
        logging.basicConfig(handlers=[handler], level=logging.INFO)
    token = _verbosity.set(level)
    try:
        yield
    finally:
        _verbosity.reset(token)


def columns(*texts: str, numbers: Sequence[str] = (), title: str | None = None) -> Table:
    """An empty table: columns of texts, then columns of numbers."""
    from rich.table import Column, Table

    headers = [*(Column(name, overflow="fold") for name in texts), *(Column(name, justify="right") for name in numbers)]
    return Table(*headers, title=title, title_justify="left", box=None, pad_edge=False)


def rows_of(values: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> Table:
    """Names and values as a table of two columns."""
    from rich.table import Column, Table
    from rich.text import Text

    rows = Table(
        Column(style="bold", no_wrap=True), Column(overflow="fold"), show_header=False, box=None, pad_edge=False
    )
    for name, value in values.items() if isinstance(values, Mapping) else values:
        rows.add_row(name, value if isinstance(value, Text) else Text(printable(str(value))))
    return rows


def is_quiet() -> bool:
    """Whether only the result should be shown."""
    return _verbosity.get() == _QUIET


def is_verbose() -> bool:
    """Whether steps should be shown."""
    return _verbosity.get() >= _VERBOSE


def is_full() -> bool:
    """Whether every detail of each step should be shown."""
    return _verbosity.get() == _FULL


def stdout() -> Console:
    """A console for the result of a command; without colours if it is not a terminal or NO_COLOR is set."""
    return _console(stderr=False)


def stderr(*, quiet: bool = False) -> Console:
    """A console for progress, notes and errors.

    Args:
        quiet: print nothing; `-q` does the same.
    """
    console = _console(stderr=True)
    console.quiet = quiet or is_quiet()
    return console


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False, emoji=False, markup=False)
    if not console.is_terminal:
        console.width = _PIPE_WIDTH
    return console


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON object on one line of standard output, whatever its strings hold."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def printable(text: str) -> str:
    """The text on one line, without control characters."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in " ".join(text.split()))


def say(line: object, *, to: Console | None = None) -> None:
    """Print a line whole, without control characters: to standard output, or to another console."""
    shown = "".join(" " if c.isspace() else c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(line))
    (stdout() if to is None else to).print(shown, soft_wrap=True)


def remark(line: object) -> None:
    """Print a line to standard error, as `say` does."""
    say(line, to=stderr())


def at_price(dollars: float | None) -> str:
    """The price at the end of a line, such as `, $1.20`; empty if it is free.

    Args:
        dollars: None: the price is not known.
    """
    return " at an unknown price" if dollars is None else f", ${dollars:.2f}" if dollars else ""


def total_of(usage: Usage) -> str:
    """Calls and tokens of a run on one line."""
    return f"total: {usage.calls:,} calls, {usage.cached_calls:,} of them cached, {usage.tokens:,} tokens"


@contextmanager
def reporting(console: Console, first: str = "") -> Iterator[ProgressCallback]:
    """Hand out a progress callback that draws a bar; the bar vanishes at the end.

    Args:
        console: where to draw; nothing is drawn if it is not a terminal.
        first: what to show until the callback is first called.
    """
    if not console.is_terminal or console.quiet:
        from triplecheck.kg.progress import no_progress

        yield no_progress
        return
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    with Bars(
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
    """Show a spinner during work of unknown length."""
    if not console.is_terminal or console.quiet:
        yield
        return
    with console.status(what):
        yield


def show_scores(tell: ProgressCallback) -> Callable[[Progress], None]:
    """A listener of an evaluation that shows the running score, errors and the time left."""

    def show(progress: Progress) -> None:
        hits = "" if progress.hits_at_1 is None else f" hits@1 {progress.hits_at_1:.3f}"
        errors = f" errors {progress.errors}" if progress.errors else ""
        left = "" if progress.eta is None else f" {duration(progress.eta)} left"
        tell(f"asking:{hits}{errors}{left}", progress.done, progress.total)

    return show


def duration(seconds: float) -> str:
    """A time at a glance: `40 s`, `3 min`, `2 h 05 min`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02} min"
