"""`triplecheck eval`: a program over many questions with known answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from triplecheck.app.console import (
    columns,
    is_quiet,
    is_verbose,
    print_json,
    printable,
    remark,
    reporting,
    say,
    show_scores,
    stderr,
    stdout,
)
from triplecheck.app.opening import open_batch
from triplecheck.app.options import RUNS, BatchOptions, ProgramArgument, flag, flattened

if TYPE_CHECKING:
    from rich.table import Table

    from triplecheck.evals import Scores, Summary
    from triplecheck.evals.executors.threads import Executor

_EXECUTORS = ("threads", "ray")
_MEANS = (
    ("hits@1", "hits_at_1"),
    ("F1", "f1"),
    ("exact", "exact_match"),
    ("right", "accuracy"),
    ("wrong", "hallucination"),
    ("missing", "missing"),
    ("grounded", "grounded"),
)
_OTHERS = (
    ("hit@1 of the ranking", "hit_at_1_ranked"),
    ("hit@5", "hit_at_5"),
    ("recall@20", "recall_at_20"),
    ("MRR", "mrr"),
    ("retrieval recall", "retrieval_recall"),
    ("link recall", "link_recall"),
    ("anchor accuracy", "anchor_accuracy"),
    ("citation precision", "citation_precision"),
    ("ECE", "ece"),
    ("AURC", "aurc"),
    ("lenient match", "lenient_match"),
)


@flattened(questions="Default: the bundled test questions.")
def evaluate(
    program: ProgramArgument,
    run: BatchOptions,
    executor: Annotated[
        str | None,
        flag(
            "--executor NAME",
            "Where questions run: in `threads` of this process (default), or in processes of a `ray` cluster.",
        ),
    ] = None,
    ray_address: Annotated[
        str | None,
        flag(
            "--ray-address ADDRESS",
            "Cluster for --executor ray: `auto` or `ray://HOST:PORT`. Default: processes on this machine.",
        ),
    ] = None,
) -> None:
    """Evaluate a program on questions with known answers.

    Writes rows.jsonl (one row per question, with its trace) and summary.json, and prints a table.
    With -q it prints the table alone, with -v also every question and its answer. The same command resumes a run
    that was interrupted or that its budget stopped. The budget is for the whole run. `exact` is SQuAD's
    exact match; `right`, `wrong` and `missing` are CRAG's accuracy, hallucination and missing rate over all
    questions; `grounded` is the share of answers that the graph supports.

    Examples:

        triplecheck eval kerag
        triplecheck eval kerag --kb kbs/metaqa --data metaqa-2hop --path MetaQA --limit 200
        triplecheck eval kerag --kb kbs/films --questions films.jsonl --limit 200 --lm openai/gpt-4o-mini --workers 8
        triplecheck eval kerag --kb kbs/films --questions films.jsonl --cascade none --lm openai/gpt-4o-mini
        triplecheck eval kerag --kb kbs/films --questions films.jsonl --workers 32 --executor ray
    """
    settings = run.settings(program=program)
    err = stderr(quiet=run.json)
    executing = _executor(executor, ray_address)
    batch = open_batch(settings, run, ("test",), err, cascades=True)
    models = "+".join(dict.fromkeys(batch.roles.models())).replace("/", "-")
    place = run.out or RUNS / f"{batch.program.title}-{batch.source}-{models}"
    with reporting(err, "asking") as tell:
        from triplecheck import evals

        summary = evals.evaluate(
            batch.program,
            batch.questions,
            place,
            roles=batch.roles,
            knowledge_base=batch.kb,
            workers=settings.workers,
            timeout=run.timeout,
            budget=batch.budget,
            progress=show_scores(tell),
            executor=executing,
            each=_print_row if is_verbose() else None,
        )
    if run.json:
        print_json(summary.to_json() | {"out": str(place)})
    else:
        show_summary(summary, place)
    _complain_if_stopped(summary, place)


def _print_row(row: Mapping[str, Any]) -> None:
    score = "" if row.get("hits_at_1") is None else f" hits@1 {row['hits_at_1']:.0f}"
    line = f"{row['id']}: {row['status']}{score}: {row.get('question')} -> {row.get('answer')}"
    remark(line)


def _executor(name: str | None, ray_address: str | None) -> Executor:
    """The executor of this name.

    Raises:
        UserError: there is none of this name, or it takes no address.
    """
    from triplecheck.evals.executors.ray_processes import RayProcesses
    from triplecheck.evals.executors.threads import Threads
    from triplecheck.kg import UserError

    if name not in (None, *_EXECUTORS):
        raise UserError(f"no executor {name!r}; there are: {', '.join(_EXECUTORS)}")
    if name == "ray":
        return RayProcesses(ray_address)
    if ray_address is not None:
        raise UserError("--ray-address names a cluster for --executor ray; give both")
    return Threads()


def show_summary(summary: Summary, place: Path) -> None:
    """Print the table of an evaluation and, unless -q is given, everything else about it."""
    from triplecheck.kg.readable import counted

    out, scores = stdout(), summary.scores
    out.print(_table(summary))
    if is_quiet():
        return
    out.print()
    groups = (
        ("status", scores.status),
        ("lost at", scores.lost),
        ("errors", scores.errors),
    )
    for name, counts in groups:
        if counts:
            say(f"{name}: {counted(counts)}")
    _show_intervals(scores)
    roles = summary.configuration.get("roles", {})
    models = ", ".join(f"{role}={model}" for role, model in roles.items())
    say(f"models: {models}")
    thresholds = summary.configuration.get("thresholds") or {}
    if thresholds:
        say(f"thresholds: {', '.join(f'{name} = {value:.3g}' for name, value in thresholds.items())}")
    totals = scores.totals
    tokens = f"{totals['prompt_tokens']:,} + {totals['completion_tokens']:,} tokens"
    money = f", ${totals['dollars']:.4f}" if totals["dollars"] else ""
    clock = f"; this run {summary.wall_seconds:.1f} s" if summary.wall_seconds else ""
    say(f"total: {totals['calls']:,} calls, {tokens}{money}{clock}")
    say(f"rows and summary: {place}")


def _show_intervals(scores: Scores) -> None:
    names = {field: name for name, field in _MEANS}
    ends = [f"{names[field]} {low:.3f} to {high:.3f}" for field, (low, high) in scores.intervals.items()]
    if ends:
        say(f"95% intervals: {', '.join(ends)}")
    others = {name: getattr(scores, field) for name, field in _OTHERS}
    known = [f"{name} {value:.3f}" for name, value in others.items() if value is not None]
    if known:
        say(f"other: {', '.join(known)}")


def _table(summary: Summary) -> Table:
    numbers = ("asked", "covered", *(name for name, _ in _MEANS), "calls", "tokens", "seconds")
    table = columns("", numbers=numbers)
    groups: list[tuple[str, Scores]] = [("all", summary.scores)]
    groups += [(f"{hops} hops" if hops.isdigit() else hops, scores) for hops, scores in summary.by_hops.items()]
    groups += [*summary.by_kind.items(), *summary.by_popularity.items()]
    for name, scores in groups:
        means = [_number(getattr(scores, field), 3) for _, field in _MEANS]
        costs = [_number(scores.calls, 1), _number(scores.tokens, 0), _number(scores.seconds, 2)]
        cells = [printable(name), str(scores.n), _number(scores.coverage, 2), *means, *costs]
        table.add_row(*cells, style="bold" if name == "all" else None)
    return table


def _number(value: Any, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def _complain_if_stopped(summary: Summary, place: Path) -> None:
    """Raise an error if the run stopped before its end, or no model could be reached."""
    from triplecheck.kg import UnavailableError
    from triplecheck.lms import BudgetExceededError

    scores = summary.scores
    out_of_reach = sum(count for kind, count in scores.errors.items() if kind.endswith("UnavailableError"))
    if summary.stopped is not None:
        message = f"{summary.stopped}; run the same command again to resume the run in {place}"
        raise UnavailableError(message) if out_of_reach else BudgetExceededError(message)
    if out_of_reach and out_of_reach == scores.n:
        raise UnavailableError(f"no question could be asked; see {place / 'rows.jsonl'}")
