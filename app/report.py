"""`triplecheck report`: an experiment with its tables and figures, by one command."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from triplecheck.app.console import printable, stderr, stdout
from triplecheck.app.progress import reporting, waiting


def report(
    experiment: Annotated[
        str | None, typer.Argument(metavar="[EXPERIMENT]", help="Its name, or a TOML file. Without one: a list.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of benchmarks: folders with triples.* and questions*.jsonl."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the report goes. Default: reports/NAME.")
    ] = None,
    runs: Annotated[Path, typer.Option(metavar="DIR", help="Where the evaluations go, to be taken up again.")] = Path(
        "runs"
    ),
    kbs: Annotated[Path, typer.Option(metavar="DIR", help="Where knowledge bases are built, once.")] = Path("kbs"),
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="Only cells with this in TABLE/DATA/PROGRAM/MODEL. Repeatable: all of them."),
    ] = None,
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="At most so many questions a set.")] = None,
    lm: Annotated[
        str | None, typer.Option("--lm", metavar="MODEL", help="This model in place of the pinned ones.")
    ] = None,
    workers: Annotated[int, typer.Option(metavar="N", min=1, help="Questions under way at once.")] = 1,
) -> None:
    """Run an experiment and write its report: tables beside the paper's, figures, errors by stage.

    Every program, switch, model, seed and sample size is pinned in the experiment's TOML file. Data sets
    and models that are not at hand are left out, and the report says so. What was run before is not run again.

    Examples:

        triplecheck report

        triplecheck report kerag

        triplecheck report comparison --data benchmarks --only metaqa --limit 50
    """
    err, console = stderr(), stdout()
    with waiting(err, "loading"):
        import dspy

        from triplecheck.evals.experiments import (
            Selection,
            SetOpener,
            experiment_names,
            read_experiment,
            run_experiment,
            write_report,
        )
        from triplecheck.kg import UserError
        from triplecheck.optimize import load_bundle
    if experiment is None:
        for name in experiment_names():
            console.print(f"{name:16} {read_experiment(name).title}", soft_wrap=True, markup=False)
        return
    chosen = read_experiment(experiment)
    left_out: list[str] = []
    # A reply from a cache takes no time: seconds would not mean anything.
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
    with reporting(err, "opening") as tell:
        cells = run_experiment(
            chosen,
            SetOpener(data, kbs, left_out.append),
            runs / chosen.name,
            Selection(tuple(only or ()), limit, lm, workers),
            lambda cell, progress: tell(f"{cell}:", progress.done, progress.total),
            load_bundle,
        )
    for line in left_out:
        err.print(f"left out: {printable(line)}", soft_wrap=True)
    if not cells:
        raise UserError("nothing was run: no cell fits --only, or none of the data (--data DIR) and models is at hand")
    command = ["triplecheck", "report", experiment, *(("--data", "DIR") if data else ())]
    command += [part for text in only or () for part in ("--only", text)]
    command += [*(("--limit", str(limit)) if limit else ()), *(("--lm", lm) if lm else ())]
    place = write_report(chosen, cells, out or Path("reports") / chosen.name, command=shlex.join(command))
    console.print(place.read_text("utf-8"), markup=False, highlight=False, soft_wrap=True)
    err.print(f"written: {printable(str(place.parent))}", soft_wrap=True)
