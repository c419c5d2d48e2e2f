"""Writes `docs/cli.md` from the help texts: `python -m triplecheck.app.cli_docs`; `--check` only compares."""

from __future__ import annotations

import ast
import inspect
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import typer
from pydantic import BaseModel

from triplecheck.app import config
from triplecheck.app.command import COMMON, FLAGS_FOR_ARGUMENTS
from triplecheck.app.main import app
from triplecheck.app.options import DATA, LIMITS, MODEL, OUTPUT

TARGET = Path(__file__).resolve().parent.parent / "docs" / "cli.md"
_NOTE = "<!-- Written by `python -m triplecheck.app.cli_docs` from the help texts. Change those. -->"


def document() -> str:
    """The reference of all commands, in Markdown."""
    commands = list(_commands(typer.main.get_command(app), ("triplecheck",)))
    told = Counter(item for command, path in commands for item in _options(command, path).items())
    # The most frequent meaning of a flag is told once, others where they are.
    often = dict(item for item, count in reversed(told.most_common()) if count >= _SEVERAL)
    shared = {names: often[names] for names, row in told if often.get(names) == row}
    lines = ["# Command line", "", _NOTE, ""]
    for command, path in commands:
        lines += _section(command, path, shared)
    lines += [f"## {_SHARED}", "", *_table("option", shared.values()), "## Configuration", ""]
    return "\n".join([*lines, inspect.cleandoc(config.__doc__ or ""), "", *_keys()])


def _commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """A command and those below it."""
    yield command, path
    for name, child in sorted(getattr(command, "commands", {}).items()):
        if not child.hidden:
            yield from _commands(child, (*path, name))


def _options(command: Any, path: tuple[str, ...]) -> dict[str, str]:
    """The row of each option, by its flags."""
    hidden = {*_COMPLETION, *(COMMON if len(path) > 1 else ()), *(f"{name}_flag" for name in FLAGS_FOR_ARGUMENTS)}
    options = [p for p in command.params if p.param_type_name == "option" and p.name not in hidden]
    options.sort(key=lambda option: _PANELS.index(getattr(option, "rich_help_panel", None) or ""))
    return {
        _names(o): f"| {_flag(o)} | {_cell(o.help)}{' Required.' if o.required else ''}{_default(o)} |" for o in options
    }


def _section(command: Any, path: tuple[str, ...], shared: Mapping[str, str]) -> Iterator[str]:
    """One command."""
    children = getattr(command, "commands", {})
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    usage = " ".join([*path, *(a.metavar for a in arguments), *(["COMMAND"] if children else ["[OPTIONS]"])])
    yield from (f"{'#' * (len(path) + 1)} `{' '.join(path)}`", "", f"`{usage}`", "", *_help(command.help), "")
    yield from _table("argument", [f"| {_argument(a)} | {_cell(a.help)} |" for a in arguments])
    options = _options(command, path)
    yield from _table("option", [row for names, row in options.items() if shared.get(names) != row])
    others = [names for names, row in options.items() if shared.get(names) == row]
    if others:
        yield from (f"Also [{_SHARED.lower()}](#{_SHARED.lower().replace(' ', '-')}): {', '.join(others)}.", "")


def _table(title: str, rows: Collection[str]) -> list[str]:
    return [f"| {title} | |", "|---|---|", *rows, ""] if rows else []


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


_SHARED, _SEVERAL = "Options of several commands", 3
_COMPLETION = ("install_completion", "show_completion")
_PANELS = ("", DATA, MODEL, LIMITS, OUTPUT)


def _help(text: str | None) -> Iterator[str]:
    """The help text; what follows "Examples:" becomes one block of code."""
    prose, _, examples = inspect.cleandoc(text or "").partition("\n\nExamples:\n\n")
    yield from prose.splitlines()
    if examples:
        yield from ("", "```sh", *(line.strip() for line in examples.splitlines() if line.strip()), "```")


def _argument(argument: Any) -> str:
    also = f" or `--{argument.name} {argument.metavar}`" if argument.name in FLAGS_FOR_ARGUMENTS else ""
    return f"`{argument.metavar}`{also}"


def _names(option: Any) -> str:
    return ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))


def _flag(option: Any) -> str:
    return f"{_names(option)} `{option.metavar}`" if option.metavar else _names(option)


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
