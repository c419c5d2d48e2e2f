"""`triplecheck report`: an experiment with its tables and figures, or the linking report."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from triplecheck.app.console import printable, reporting, stderr, stdout, waiting
from triplecheck.app.options import DATA, LIMITS, MODEL, OUTPUT, flag

if TYPE_CHECKING:
    from triplecheck.evals.questions import Question
    from triplecheck.kg import KnowledgeBase
    from triplecheck.kg.progress import ProgressCallback

_LINKING = "linking"


def report(
    experiment: Annotated[
        str | None,
        typer.Argument(metavar="[EXPERIMENT]", help="Name of an experiment, or a TOML file. Default: list them."),
    ] = None,
    data: Annotated[
        Path | None, flag("--data DIR", "Folder of benchmarks: folders with triples.* and questions*.jsonl.", DATA)
    ] = None,
    out: Annotated[Path | None, flag("--out DIR", "Directory of the report. Default: reports/NAME.", OUTPUT)] = None,
    runs: Annotated[Path, flag("--runs DIR", "Directory of the runs; unfinished ones are resumed.", OUTPUT)] = Path(
        "runs"
    ),
    kbs: Annotated[Path, flag("--kbs DIR", "Directory of knowledge bases; missing ones are built.", OUTPUT)] = Path(
        "kbs"
    ),
    only: Annotated[
        list[str] | None,
        flag(
            "--only TEXT",
            "Only cells with this text in TABLE/DATA/PROGRAM/MODEL. Repeatable: cells with all of them.",
            DATA,
        ),
    ] = None,
    limit: Annotated[
        int | None, flag("--limit N", "Use a random sample of N questions per data set.", DATA, min=1)
    ] = None,
    lm: Annotated[str | None, flag("--lm MODEL", "Use this model instead of those of the experiment.", MODEL)] = None,
    workers: Annotated[int, flag("--workers N", "Questions to run in parallel.", LIMITS, min=1)] = 1,
) -> None:
    """Run an experiment and write its report: tables with the paper's figures, plots, errors by stage.

    The experiment's TOML file sets every program, option, model, seed and sample size. Data sets and models
    that are not available are left out, and the report says so. Finished runs are not repeated.

    The experiment `linking` measures entity linking without a model: recall on names as written and misspelt, and
    accuracy on names that several nodes share. It uses --data, --only (data sets with this text), --limit, --kbs
    and --out.

    Examples:

        triplecheck report

        triplecheck report kerag

        triplecheck report comparison --data benchmarks --only metaqa --limit 50

        triplecheck report linking --data benchmarks
    """
    err, console = stderr(), stdout()
    with waiting(err, "loading"):
        from functools import partial

        import dspy

        from triplecheck.evals.datasets import bundled_case, find_cases
        from triplecheck.evals.experiments import (
            Selection,
            SetOpener,
            experiment_names,
            read_experiment,
            run_experiment,
            write_report,
        )
        from triplecheck.evals.linking import LIMIT, TITLE, write_linking_report
        from triplecheck.kg import UserError
        from triplecheck.optimize import load_bundle
    if experiment is None:
        titles = {name: read_experiment(name).title for name in experiment_names()} | {_LINKING: TITLE}
        for name, title in sorted(titles.items()):
            console.print(f"{name:16} {title}", soft_wrap=True, markup=False)
        return
    command = ["triplecheck", "report", experiment, *(("--data", "DIR") if data else ())]
    command += [part for text in only or () for part in ("--only", text)]
    command += [*(("--limit", str(limit)) if limit else ()), *(("--lm", lm) if lm else ())]
    if experiment == _LINKING:
        if lm is not None:
            raise UserError("the linking report uses no model; leave out --lm")
        cases = [case for case in (bundled_case(), *(find_cases(data) if data else ())) if case.triples]
        cases = [case for case in cases if all(text in case.name for text in only or ())]
        if not cases:
            raise UserError(f"no data set with triples matches --only {' '.join(only or ())}")
        place = out or Path("reports") / _LINKING
        for line in write_linking_report(cases, kbs, place, limit=limit or LIMIT, command=shlex.join(command)):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        err.print(f"written: {printable(str(place))}", soft_wrap=True)
        return
    chosen = read_experiment(experiment)
    left_out: list[str] = []
    # Replies from a cache take no time: the measured seconds would be wrong.
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
    with reporting(err, "opening") as tell:
        cells = run_experiment(
            chosen,
            SetOpener(data, kbs, left_out.append),
            runs / chosen.name,
            Selection(tuple(only or ()), limit, lm, workers),
            lambda cell, progress: tell(f"{cell}:", progress.done, progress.total),
            load_bundle,
            partial(_train, tell),
        )
    for line in left_out:
        err.print(f"left out: {printable(line)}", soft_wrap=True)
    if not cells:
        raise UserError("nothing was run: no cell matches --only, or its data (--data DIR) or model is not available")
    written = write_report(chosen, cells, out or Path("reports") / chosen.name, command=shlex.join(command))
    console.print(written.read_text("utf-8"), markup=False, highlight=False, soft_wrap=True)
    err.print(f"written: {printable(str(written.parent))}", soft_wrap=True)


def _train(tell: ProgressCallback, kb: KnowledgeBase, questions: Sequence[Question], seed: int, place: Path) -> Path:
    """The ranker of paths that an earlier run has trained, else a new one."""
    from triplecheck.optimize.distil.graph_ranker import RankerOptions, train_ranker

    found = sorted(place.glob("*.safetensors"))
    if found:
        return found[0]
    return train_ranker(kb, questions, place, RankerOptions(limit=len(questions), seed=seed), tell).path
