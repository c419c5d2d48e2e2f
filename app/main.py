"""`triplecheck`: the root of the command line, and what becomes of errors.

Exit codes: 0 done (an abstention is an answer), 1 another failure, 2 a mistake in the request,
3 a model or a graph is out of reach, 4 the budget is spent, 130 interrupted.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from triplecheck.app import (
    ask,
    collect,
    compiling,
    data,
    demo,
    distil,
    evaluate,
    fitting,
    kb,
    kb_sources,
    models,
    queries,
    report,
    rescore,
    running,
    runs,
    synth,
    variants,
    verify,
)
from triplecheck.app.console import stderr

if TYPE_CHECKING:
    from triplecheck.kg.errors import TriplecheckError

OTHER, USER, UNAVAILABLE, BUDGET, INTERRUPTED = 1, 2, 3, 4, 130


class _Root(TyperGroup):
    """The group of all commands: turns errors that Triplecheck raises on purpose into a message and a code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except OSError as error:
            if error.filename is None:
                raise
            _complain(f"{error.filename}: {error.strerror}")
            raise typer.Exit(USER) from error
        except Exception as error:
            # Imported here, so that `--help` does not wait for it.
            from triplecheck.kg.errors import TriplecheckError

            if not isinstance(error, TriplecheckError):
                raise
            raise typer.Exit(complain(error)) from error


app = typer.Typer(
    name="triplecheck",
    cls=_Root,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("ask")(ask.ask)
app.command("compile")(compiling.compile_program)
app.command("demo")(demo.demo)
app.command("eval", cls=running.EvaluateCommand)(evaluate.evaluate)
app.command("fit")(fitting.fit)
app.command("verify")(verify.verify)
app.command("optimizers")(compiling.list_optimizers)
app.command("report")(report.report)
app.command("rescore")(rescore.rescore)
app.command("collect")(collect.collect)
app.command("synth")(synth.synth)
app.command("distil")(distil.distil)
data.commands.command("generate")(queries.generate)
data.commands.command("answer")(queries.answer)
data.commands.command("vary")(variants.vary)
app.add_typer(data.commands, name="data")
kb.commands.command("build-debian")(kb_sources.build_debian)
kb.commands.command("build-stark")(kb_sources.build_stark)
app.add_typer(kb.commands, name="kb")
app.add_typer(models.commands, name="lm")
app.add_typer(runs.commands, name="runs")


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"triplecheck {version('triplecheck')}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Answer questions over knowledge graphs, every answer checked against the graph.

    What is not given as a flag is read from the environment (`TRIPLECHECK_...`), then from
    `triplecheck.toml` in the working directory.

    Exit codes: 0 done (an abstention is an answer), 1 another failure, 2 a mistake in the request,
    3 a model or a graph is out of reach, 4 the budget is spent, 130 interrupted.

    Examples:

        triplecheck demo

        triplecheck kb build kbs/films --triples films.tsv

        triplecheck ask "Who directed Alien?" --kb kbs/films
    """


def complain(error: TriplecheckError) -> int:
    """Print an error, and what had been done before it, to standard error; the exit code it means."""
    from triplecheck.kg.errors import UnavailableError, UserError

    _complain(str(error))
    done = error.progress
    if isinstance(done, dict) and "usage" in done:
        from triplecheck.app import render

        usage = done["usage"]
        count = len(done.get("steps", ()))
        stderr().print(f"until then: {count} step{'' if count == 1 else 's'}", end=", ")
        stderr().print(render.usage_line(usage), soft_wrap=True)
    if isinstance(error, UserError):
        return USER
    if isinstance(error, UnavailableError):
        return UNAVAILABLE
    # lms stands on DSPy; where it was not needed, its error was not raised.
    budget = getattr(sys.modules.get("triplecheck.lms.errors"), "BudgetExceededError", None)
    return BUDGET if budget is not None and isinstance(error, budget) else OTHER


def _complain(message: str) -> None:
    from rich.text import Text

    text = "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in message)
    stderr().print(Text.assemble(("error: ", "bold red"), text), soft_wrap=True)


def run() -> None:
    """Entry point of the console script."""
    # Libraries are to keep quiet: no bars of their own, no look for new prices on the network.
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    with contextlib.suppress(KeyboardInterrupt):
        app()
    raise SystemExit(INTERRUPTED)


if __name__ == "__main__":
    run()
