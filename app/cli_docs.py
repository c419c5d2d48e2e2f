"""Writes `docs/cli.md` from the help texts: `python -m triplecheck.app.cli_docs`; `--check` only compares."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import typer
from pydantic import BaseModel

from triplecheck.app import config
from triplecheck.app.command import COMMON
from triplecheck.app.main import app
from triplecheck.app.options import DATA, LIMITS, MODEL, OUTPUT

TARGET = Path(__file__).resolve().parent.parent / "docs" / "cli.md"
_NOTE = "<!-- Written by `python -m triplecheck.app.cli_docs` from the help texts. Change those. -->"


def document() -> str:
    """The reference of all commands, in Markdown."""
    commands = _section(typer.main.get_command(app), ("triplecheck",))
    settings = inspect.cleandoc(config.__doc__ or "")
    return "\n".join(["# Command line", "", _NOTE, "", *commands, "## Configuration", "", settings, "", *_keys()])


def _section(command: Any, path: tuple[str, ...]) -> Iterator[str]:
    """One command and those below it."""
    children: dict[str, Any] = getattr(command, "commands", {})
    hidden = _COMPLETION if len(path) == 1 else (*_COMPLETION, *COMMON)
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    flags = [p for p in command.params if p.param_type_name == "option" and p.name not in hidden]
    flags.sort(key=lambda flag: _PANELS.index(getattr(flag, "rich_help_panel", None) or ""))
    usage = " ".join([*path, *(a.metavar for a in arguments), *(["COMMAND"] if children else ["[OPTIONS]"])])
    yield from (f"{'#' * (len(path) + 1)} `{' '.join(path)}`", "", "```", usage, "```", "", *_help(command.help), "")
    if arguments:
        yield from ("| argument | |", "|---|---|")
        yield from (f"| `{a.metavar}` | {_cell(a.help)} |" for a in arguments)
        yield ""
    if flags:
        yield from ("| option | |", "|---|---|")
        yield from (f"| {_flag(o)} | {_cell(o.help)}{' Required.' if o.required else ''}{_default(o)} |" for o in flags)
        yield ""
    for name in sorted(name for name, child in children.items() if not child.hidden):
        yield from _section(children[name], (*path, name))


def _keys() -> Iterator[str]:
    """The keys of the configuration file."""
    yield from ("| key | |", "|---|---|")
    tables: dict[str, type[BaseModel]] = {"budget": config.BudgetSettings, "serve": config.ServeSettings}
    for name, sentence in _fields(config.Settings):
        if name in tables:
            yield from (f"| `{name}.{key}` | {_cell(one)} |" for key, one in _fields(tables[name]))
        else:
            yield f"| `{name}` | {_cell(sentence)} |"


def _fields(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """The fields of a model, each with the sentence below it; Pydantic would read these whenever a command starts."""
    (made,) = ast.parse(inspect.getsource(model)).body
    for field, below in pairwise(cast(ast.ClassDef, made).body):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(sentence))):
                yield name, inspect.cleandoc(sentence)


_COMPLETION = ("install_completion", "show_completion")
_PANELS = ("", DATA, MODEL, LIMITS, OUTPUT)


def _help(text: str | None) -> Iterator[str]:
    """The help text; what follows "Examples:" becomes one block of code."""
    prose, _, examples = inspect.cleandoc(text or "").partition("\n\nExamples:\n\n")
    yield from prose.splitlines()
    if examples:
        yield from ("", "```sh", *(line.strip() for line in examples.splitlines() if line.strip()), "```")


def _flag(option: Any) -> str:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    return f"{names} `{option.metavar}`" if option.metavar else names


def _default(option: Any) -> str:
    value = option.default
    return f" Default: {value}." if isinstance(value, int) and not isinstance(value, bool) else ""


def _cell(text: str | None) -> str:
    return " ".join((text or "").replace("|", "\\|").split())


def main(arguments: list[str]) -> int:
    """Write the file; with `--check`, compare it and return 1 if it is out of date."""
    text = document().rstrip("\n") + "\n"
    if arguments == ["--check"]:
        if TARGET.is_file() and TARGET.read_text("utf-8") == text:
            return 0
        sys.stderr.write(f"{TARGET.name} is out of date: run `python -m triplecheck.app.cli_docs`\n")
        return 1
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
