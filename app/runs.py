"""`triplecheck runs`: runs listed, shown and compared."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from triplecheck.app.command import Commands
from triplecheck.app.console import columns, print_json, printable, say, stderr, stdout, waiting
from triplecheck.app.options import RUNS, JsonOption, argument, flag

if TYPE_CHECKING:
    from triplecheck.evals.compare import Compared, Comparison

commands = Commands(help="List evaluations, show one, and compare two.", no_args_is_help=True)
_NAMES = {"hits_at_1": "hits@1", "f1": "F1", "accuracy": "right"}
_COMPARED = ("questions", "A", "B", "B - A", "95%", "B better", "worse", "p bootstrap", "randomisation", "McNemar")
_KINDS = {
    "triplecheck-evaluation": "eval",
    "triplecheck-compile": "compile",
    "triplecheck-tune": "compile",
    "triplecheck-fit": "fit",
}


@commands.command("list")
def list_(
    folder: Annotated[Path, argument("[DIR]", "Directory with runs. Default: runs.")] = RUNS,
    json: JsonOption = False,
) -> None:
    """List the runs in a directory: program, number of questions, hits@1 and state.

    A compiled program has the score on its held-out questions.

    Examples:

        triplecheck runs list
        triplecheck runs list runs/comparison
    """
    from rich.text import Text

    from triplecheck.kg.errors import UserError

    if not folder.is_dir():
        raise UserError(f"{folder}: no such directory; give the directory of the runs")
    rows = list(_runs(folder))
    if json:
        print_json({"runs": rows})
        return
    if not rows:
        say(f"no runs in {folder}")
        return
    table = columns(*(_NAMES.get(name, name) for name in rows[0]))
    for row in rows:
        cells = [
            f"{value:.3f}" if isinstance(value, float) else "-" if value is None else value for value in row.values()
        ]
        table.add_row(*(Text(printable(str(cell))) for cell in cells))
    stdout().print(table)


def _runs(folder: Path) -> Iterator[dict[str, Any]]:
    """The runs below a directory, without those that are parts of another run."""
    for place, inner, files in os.walk(folder):
        inner.sort()
        path = Path(place)
        about = _read(path / "run.json") if "run.json" in files else _read(path / "fit.json")
        kind = _KINDS.get(str(about.get("format", "")))
        if kind is not None or ("records.jsonl" in files and path != folder):  # the latter is of a pass of `collect`
            inner.clear()
        elif "fitting" in inner and not any((path / "fitting").glob("*/run.json")):  # of a `fit` that is not finished
            inner.remove("fitting")
        if kind is not None:
            yield _described(path, kind, about)


def _described(path: Path, kind: str, about: dict[str, Any]) -> dict[str, Any]:
    done = _read(path / {"eval": "summary.json", "compile": "report.json", "fit": "fit.json"}[kind])
    scores = done if kind == "eval" else _object(done.get("after"))
    if done.get("rows"):  # of `compile` without an optimizer: the last one is the result
        scores = _object(_object(done["rows"][-1]).get("scores"))
    state = f"stopped: {done['stopped']}" if done.get("stopped") else "finished" if done else "unfinished"
    questions = scores.get("n")
    if kind == "eval" and not done and (path / "rows.jsonl").is_file():
        with (path / "rows.jsonl").open("rb") as rows:
            questions = sum(1 for _ in rows)
    program = _object(about.get("configuration", about)).get("program")
    row = {"run": str(path), "command": kind, "program": program, "questions": questions}
    return row | {"hits_at_1": scores.get("hits_at_1"), "state": state}


def _read(path: Path) -> dict[str, Any]:
    """A file of JSON; empty if it is missing or damaged."""
    from triplecheck.kg.values import parse_json

    try:
        found = parse_json(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return _object(found)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


@commands.command()
def show(run: Annotated[Path, argument("DIR", "Directory of an evaluation.")], json: JsonOption = False) -> None:
    """Show the scores of an evaluation, computed from its rows.

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
    a: Annotated[Path, argument("A", "Directory of an evaluation, the baseline.")],
    b: Annotated[Path, argument("B", "Directory of another evaluation, on the same questions.")],
    seed: Annotated[int, flag("--seed S", "Seed of the resampling.")] = 0,
    json: JsonOption = False,
) -> None:
    """Compare two evaluations on the questions that both scored, with significance tests.

    The 95% interval of the difference comes from a paired bootstrap. The p-values are two-sided: paired
    bootstrap, paired randomisation test, and McNemar's exact test for scores of 0 or 1.

    Examples:

        triplecheck runs compare runs/films-one-hop runs/films
    """
    from triplecheck.evals.compare import compare as compared

    with waiting(stderr(), "comparing"):
        found = compared(a, b, seed=seed)
    if json:
        print_json(found.to_json())
    else:
        _show(found)


def _show(found: Comparison) -> None:
    out = stdout()
    table = columns("", numbers=_COMPARED)
    for metric in found.metrics:
        table.add_row(_NAMES[metric.name], *_cells(metric))
    out.print(table)
    out.print()
    say(f"A: {found.a}")
    say(f"B: {found.b}")
    left_out = {
        "only in A": found.only_a,
        "only in B": found.only_b,
        "different question or answers": found.changed,
        "error": found.errors,
    }
    reasons = ", ".join(f"{what} {count}" for what, count in left_out.items() if count)
    say(f"left out: {reasons or 'none'}")
    for line in found.configuration:
        say(f"configuration: {line}")


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
