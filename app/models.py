"""`triplecheck lm`: language models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from triplecheck.app import options
from triplecheck.app.console import print_json, printable, stderr, stdout
from triplecheck.app.progress import waiting

if TYPE_CHECKING:
    from rich.table import Table

    from triplecheck.lms.check import CheckReport

commands = typer.Typer(help="Language models: what plays the roles of a program.", no_args_is_help=True)


@commands.command()
def check(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="`extractive`, `local/smollm2`, `local/DIRECTORY`, or any DSPy/LiteLLM string."
        ),
    ],
    json: options.JsonOption = False,
) -> None:
    """Try a model: is it reachable, how fast and how dear is it, does it keep to the format?

    The model is given three tiny tasks, each once. A server of your own is named by the environment:
    OPENAI_API_BASE and OPENAI_API_KEY for openai/..., and so on. The exit code is 3 where the model
    cannot be reached.

    Examples:

        triplecheck lm check extractive

        OPENAI_API_BASE=http://127.0.0.1:8080/v1 OPENAI_API_KEY=none triplecheck lm check openai/my-model
    """
    with waiting(stderr(), f"asking {printable(model)}"):
        from triplecheck.app.extractive_check import check_extractive
        from triplecheck.kg.errors import UnavailableError
        from triplecheck.lms.check import check as check_model
        from triplecheck.lms.resolve import EXTRACTIVE

        report = check_extractive() if model.strip() == EXTRACTIVE else check_model(model)
    if json:
        print_json(report.to_json())
    else:
        stdout().print(_table(report))
    if not report.reachable:
        raise UnavailableError(report.error)


def _table(report: CheckReport) -> Table:
    from rich.table import Table
    from rich.text import Text

    from triplecheck.lms.resolve import EXTRACTIVE

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    note = " (not a language model: it knows the project's own steps)" if report.model == EXTRACTIVE else ""
    table.add_row("model", Text(printable(report.model) + note))
    table.add_row("reachable", Text("yes", style="green") if report.reachable else Text("no", style="red"))
    if report.reachable:
        cost = report.dollars_per_call
        table.add_row("cost per call", "unknown" if cost is None else f"${cost:.6f}" if cost else "nothing")
        table.add_row("tokens per call", f"{report.prompt_tokens:.0f} in, {report.completion_tokens:.0f} out")
        table.add_row("latency", f"{report.seconds:.3f} s (median)")
        table.add_row("keeps the format", f"{report.kept_format} of {len(report.trials)}")
    for trial in report.trials:
        outputs = ", ".join(f"{name}={value}" for name, value in trial.outputs.items())
        said = outputs if trial.kept_format else f"{trial.problem}; it replied {trial.reply[:200]!r}"
        sign = ("✓ ", "green") if trial.kept_format else ("✗ ", "red")
        table.add_row(f"  {trial.name}", Text.assemble(sign, f"{printable(said)} ({trial.seconds:.3f} s)"))
    return table
