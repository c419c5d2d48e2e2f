"""`triplecheck runs`: finished evaluations, shown again or compared with each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from triplecheck.app import options
from triplecheck.app.console import print_json, printable, stderr, stdout

if TYPE_CHECKING:
    from triplecheck.evals.compare import Compared, Comparison

commands = typer.Typer(help="Evaluations that were made: show one, compare two.", no_args_is_help=True)
_NAMES = {"hits_at_1": "hits@1", "f1": "F1", "accuracy": "right"}


@commands.command()
def show(
    run: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of an evaluation.")],
    json: options.JsonOption = False,
) -> None:
    """Show an evaluation again: the scores of all rows that it has.

    Examples:

        triplecheck runs show runs/films
    """
    from triplecheck.app.evaluate import show_summary
    from triplecheck.evals import summarize
    from triplecheck.evals.compare import read_run

    read = read_run(run)
    summary = summarize(read.rows, read.configuration)
    if json:
        print_json(summary.to_json() | {"out": str(run)})
    else:
        show_summary(summary, run)


@commands.command()
def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="Directory of an evaluation, the baseline.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Directory of another one, over the same questions.")],
    seed: Annotated[int, typer.Option(metavar="S", help="Of the resampling.")] = 0,
    json: options.JsonOption = False,
) -> None:
    """Compare two evaluations on the questions that both scored, and say whether chance could make the difference.

    The interval of the difference is a paired bootstrap's, of 95%. The p-values are two-sided: of the
    paired bootstrap, of the paired randomisation test, and of McNemar's exact test where scores are 0 or 1.

    Examples:

        triplecheck runs compare runs/films-one-hop runs/films
    """
    from triplecheck.app.progress import waiting
    from triplecheck.evals.compare import compare as compared

    with waiting(stderr(), "comparing"):
        found = compared(a, b, seed=seed)
    if json:
        print_json(found.to_json())
    else:
        _show(found)


def _show(found: Comparison) -> None:
    from rich.table import Table

    out = stdout()
    table = Table(box=None, pad_edge=False)
    columns = ("questions", "A", "B", "B - A", "95%", "B better", "worse", "p bootstrap", "randomisation", "McNemar")
    table.add_column("")
    for name in columns:
        table.add_column(name, justify="right")
    for metric in found.metrics:
        table.add_row(_NAMES[metric.name], *_cells(metric))
    out.print(table)
    out.print()
    out.print(f"A: {printable(found.a)}", soft_wrap=True)
    out.print(f"B: {printable(found.b)}", soft_wrap=True)
    left_out = {
        "only in A": found.only_a,
        "only in B": found.only_b,
        "another question or other answers": found.changed,
        "an error in place of a score": found.errors,
    }
    told = ", ".join(f"{what} {count}" for what, count in left_out.items() if count)
    out.print(f"left out: {told or 'none'}", soft_wrap=True)
    for line in found.configuration:
        out.print(f"configuration: {printable(line)}", soft_wrap=True)


def _cells(metric: Compared) -> list[str]:
    return [
        str(metric.n),
        f"{metric.a:.3f}",
        f"{metric.b:.3f}",
        f"{metric.difference:+.3f}",
        f"{metric.low:+.3f} to {metric.high:+.3f}",
        str(metric.better),
        str(metric.worse),
        f"{metric.p_bootstrap:.4f}",
        f"{metric.p_randomisation:.4f}",
        "-" if metric.p_mcnemar is None else f"{metric.p_mcnemar:.4f}",
    ]
