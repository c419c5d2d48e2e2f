"""`triplecheck`: the root of the command line, its commands, and exit codes."""

from __future__ import annotations

import contextlib
import functools
import gc
import io
import os
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from triplecheck.app import (
    ask,
    bracketing,
    catalog,
    chat,
    collect,
    compiling,
    data,
    distill,
    evaluate,
    fitting,
    kb,
    models,
    report,
    runs,
    training,
)
from triplecheck.app.command import COMMON, Commands, common_options
from triplecheck.app.console import remark, shown
from triplecheck.app.errors import INTERRUPTED, OTHER, USER, complain, print_error
from triplecheck.app.questions import synthesize
from triplecheck.app.serve import mcp, serve
from triplecheck.app.verify import verify


class _Root(TyperGroup):
    """The group of all commands: turns the errors that Triplecheck raises into a message and an exit code."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.params += [common_options()[name] for name in COMMON]

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            with shown(quiet=ctx.params.pop("quiet"), verbose=ctx.params.pop("verbose")):
                return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except OSError as error:
            from triplecheck.kg._atomic import out_of_storage

            if error.filename is None and out_of_storage(error) is None:
                raise
            print_error(f"{error.filename or 'a file cannot be written'}: {error.strerror}")
            raise typer.Exit(USER if error.filename else OTHER) from error
        except Exception as error:
            # Imported here, so that `--help` does not wait for it.
            from triplecheck.kg.errors import TriplecheckError

            if not isinstance(error, TriplecheckError):
                raise
            raise typer.Exit(complain(error)) from error


app = Commands(
    name="triplecheck",
    cls=_Root,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
_ASK, _LEARN, _BASES = "Ask and check", "Evaluate and train", "Knowledge bases, data and models"
app.command("ask", rich_help_panel=_ASK)(ask.ask)
app.command("chat", rich_help_panel=_ASK)(chat.chat)
app.command("demo", rich_help_panel=_ASK)(ask.demo)
app.command("verify", rich_help_panel=_ASK)(verify)
app.command("serve", rich_help_panel=_ASK)(serve)
app.command("mcp", rich_help_panel=_ASK)(mcp)
app.command("programs", rich_help_panel=_ASK)(catalog.list_programs)
app.command("eval", rich_help_panel=_LEARN)(evaluate.evaluate)
app.command("compile", rich_help_panel=_LEARN)(compiling.compile_program)
app.command("optimizers", rich_help_panel=_LEARN)(catalog.list_optimizers)
app.command("fit", rich_help_panel=_LEARN)(fitting.fit)
app.command("synthesize", rich_help_panel=_LEARN)(synthesize)
app.command("collect", rich_help_panel=_LEARN)(collect.collect)
app.command("distill", rich_help_panel=_LEARN)(distill.distill)
app.command("train-ranker", hidden=True)(training.train_general)
app.command("report", rich_help_panel=_LEARN)(report.report)
app.add_typer(runs.commands, name="runs", rich_help_panel=_LEARN)
app.add_typer(data.commands, name="data", rich_help_panel=_BASES)
app.add_typer(kb.commands, name="kb", rich_help_panel=_BASES)
models.commands.command("bracket")(bracketing.bracket)
app.add_typer(models.commands, name="lm", rich_help_panel=_BASES)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"triplecheck {version('triplecheck')}")
        raise typer.Exit


FIRST = """\
Triplecheck answers questions from a knowledge graph; triples prove each answer.
  triplecheck demo                              answers six questions of a graph
  triplecheck kb build kbs/mine --triples FILE  makes a base of your own tables
  triplecheck ask "QUESTION" --kb kbs/mine      asks it; --lm MODEL: by a model
  triplecheck --help                            lists all commands"""
"""What `triplecheck` prints without a command."""


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Answer questions from a knowledge graph. Each answer has its triples, a verdict and a confidence.

    A command takes an option from its flag, else from the environment (`TRIPLECHECK_...`), else from
    `triplecheck.toml` in the working directory. With `-q` it prints the result alone, with `-v` the steps and logs.

    Exit codes: 0 success (also where an answer is withheld), 1 another failure, 2 a mistake in the request,
    3 a model or a graph cannot be reached, 4 the budget is spent, 130 interrupted.

    Examples:

        triplecheck demo
        triplecheck kb build kbs/films --triples films.tsv
        triplecheck ask "Who directed Alien?" --kb kbs/films
    """
    if context.invoked_subcommand is None:
        typer.echo(FIRST)


def _warn(others: Callable[..., None], message: Warning | str, category: type[Warning], *more: Any) -> None:
    """Print our own warnings as a line, without the place in the code; those of readers are in the result, as notes."""
    if category.__name__ == "ReadWarning":
        return
    if category.__module__.startswith("triplecheck."):
        remark(f"warning: {message}")
    else:
        others(message, category, *more)


def run() -> None:
    """Entry point of the console script."""
    # No progress bars of libraries, and no download of LiteLLM's price table.
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    # The many objects that imports make are garbage only in part: Python's own limit of 700 costs a tenth of a start.
    gc.set_threshold(50_000, 20, 20)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    warnings.showwarning = functools.partial(_warn, warnings.showwarning)
    with contextlib.suppress(KeyboardInterrupt):
        app()
    raise SystemExit(INTERRUPTED)


if __name__ == "__main__":
    run()
