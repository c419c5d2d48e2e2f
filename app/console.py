"""Where output goes: answers to standard output, everything else to standard error."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.console import Console

_PIPE_WIDTH = 160  # columns where there is no terminal to ask


def stdout() -> Console:
    """A console for what a command was asked for; colourless where that is no terminal or NO_COLOR is set."""
    return _console(stderr=False)


def stderr() -> Console:
    """A console for progress, notes and errors."""
    return _console(stderr=True)


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
    """The text on one line, without characters that would steer the terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in " ".join(text.split()))
