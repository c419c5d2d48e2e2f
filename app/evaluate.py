"""`triplecheck eval`: a program over many questions with known answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from triplecheck.app import options, running
from triplecheck.app.asked import (
    DataOption,
    HalfOption,
    LimitOption,
    PathOption,
    SeedOption,
    SplitOption,
    asked_questions,
)
from triplecheck.app.console import print_json, printable, stderr, stdout

if TYPE_CHECKING:
    from rich.table import Table

    from triplecheck.evals import Scores, Summary
    from triplecheck.lms import Roles

RUNS = Path("runs")
_MEANS = (
    ("hits@1", "hits_at_1"),
    ("F1", "f1"),
    ("exact", "exact_match"),
    ("right", "accuracy"),
    ("wrong", "hallucination"),
    ("missing", "missing"),
    ("grounded", "grounded"),
)
_BESIDES = (
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


def evaluate(
    program: Annotated[str, typer.Argument(metavar="PROGRAM", help="Program to evaluate, such as kerag.")],
    kb: options.KbOption = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="JSON lines, also .gz, with id, question, answers, and if you like topic, answer_labels, hops, kind. "
            "Default: the test questions of the bundled knowledge base.",
        ),
    ] = None,
    data: DataOption = None,
    split: SplitOption = None,
    path: PathOption = None,
    half: HalfOption = None,
    limit: LimitOption = None,
    seed: SeedOption = 0,
    bundle: options.BundleOption = None,
    lm: options.LmOption = None,
    role: options.RoleOption = None,
    grounded_only: options.GroundedOption = None,
    hops: options.HopsOption = None,
    option: options.ProgramOptions = None,
    out: options.RunOption = None,
    workers: options.WorkersOption = None,
    timeout: options.TimeoutOption = None,
    judge: Annotated[
        bool,
        typer.Option(
            "--judge", help="Have the model of the role judge decide where an answer is not right as written."
        ),
    ] = False,
    executor: running.ExecutorOption = None,
    ray_address: running.RayAddressOption = None,
    mlflow: running.MlflowOption = None,
    budget_calls: options.CallsOption = None,
    budget_tokens: options.TokensOption = None,
    budget_seconds: options.SecondsOption = None,
    budget_dollars: options.DollarsOption = None,
    json: options.JsonOption = False,
) -> None:
    """Evaluate a program over questions with known answers.

    Writes rows.jsonl (one row per question, with its trace) and summary.json, and prints a table.
    Interrupted, or stopped by its budget, a run is taken up again by the same command. The budget is
    for the whole run. Exact is SQuAD's exact match; right, wrong and missing are CRAG's, over all
    questions that could be asked; grounded is the share of answers that rest on the graph.

    Examples:

        triplecheck eval kerag

        triplecheck eval kerag --kb kbs/metaqa --data metaqa-2hop --path MetaQA --limit 200

        triplecheck eval kerag --kb kbs/films --questions films.jsonl --limit 200 --lm openai/gpt-4o-mini --workers 8

        triplecheck eval kerag --kb kbs/films --questions films.jsonl --workers 32 --executor ray --mlflow
    """
    from triplecheck.app import config
    from triplecheck.app.progress import reporting, waiting

    settings = config.load_settings(
        kb=kb,
        program=program,
        bundle=bundle,
        lm=lm,
        roles=config.parse_pairs(role or (), "--role"),
        grounded_only=grounded_only,
        hops=hops,
        options=config.parse_options(option or ()),
        workers=workers,
    )
    limits = options.budget_flags(
        calls=budget_calls, tokens=budget_tokens, seconds=budget_seconds, dollars=budget_dollars
    )
    err = stderr()
    err.quiet = json
    executing, told = running.executor(executor, ray_address), running.trackers(mlflow)
    with waiting(err, "loading"):
        from triplecheck import evals
        from triplecheck.app import opening
        from triplecheck.app.knowledge import open_knowledge_base
        from triplecheck.lms import Budget

        roles = opening.roles(settings)
        asked, source = asked_questions(
            settings, questions, ("test",), data=data, split=split, path=path, half=half, limit=limit, seed=seed
        )
    with reporting(err, "opening the knowledge base") as tell:
        opened = open_knowledge_base(settings, tell)
        runner = opening.open_program(settings, opened)
    place = out or RUNS / _run_name(runner.name, source, roles)
    with reporting(err, "asking") as tell:
        summary = evals.evaluate(
            runner,
            asked,
            place,
            roles=roles,
            knowledge_base=opened,
            workers=settings.workers,
            timeout=timeout,
            budget=Budget(**limits),  # type: ignore[arg-type]
            progress=running.teller(tell),
            executor=executing,
            trackers=told,
            judge=judge,
        )
    if json:
        print_json(summary.to_json() | {"out": str(place)})
    else:
        show_summary(summary, place)
    _complain_if_stopped(summary, place)


def _run_name(program: str, questions: str, roles: Roles) -> str:
    """A directory name that tells one run from another, at a glance."""
    models = "+".join(dict.fromkeys(roles.models())).replace("/", "-")
    return f"{program}-{questions}-{models}"


def show_summary(summary: Summary, place: Path) -> None:
    """Print the table of an evaluation, and what else there is to say about it."""
    out, scores = stdout(), summary.scores
    out.print(_table(summary))
    out.print()
    said = (("status", scores.status), ("lost at", scores.lost), ("errors", scores.errors), ("judged", scores.judged))
    for name, counts in said:
        if counts:
            out.print(f"{name}: " + ", ".join(f"{key} {count}" for key, count in counts.items()), soft_wrap=True)
    _show_intervals(scores)
    roles = summary.configuration.get("roles", {})
    played = ", ".join(f"{role}={model}" for role, model in roles.items())
    out.print(f"models: {printable(played)}", soft_wrap=True)
    totals = scores.totals
    tokens = f"{totals['prompt_tokens']:,} + {totals['completion_tokens']:,} tokens"
    money = f", ${totals['dollars']:.4f}" if totals["dollars"] else ""
    clock = f"; this run {summary.wall_seconds:.1f} s" if summary.wall_seconds else ""
    out.print(f"in all: {totals['calls']:,} calls, {tokens}{money}{clock}")
    out.print(f"rows and summary: {printable(str(place))}", soft_wrap=True)


def _show_intervals(scores: Scores) -> None:
    names = {field: name for name, field in _MEANS}
    ends = [f"{names[field]} {low:.3f} to {high:.3f}" for field, (low, high) in scores.intervals.items()]
    if ends:
        stdout().print(f"95% intervals: {', '.join(ends)}", soft_wrap=True)
    besides = {name: getattr(scores, field) for name, field in _BESIDES}
    told = [f"{name} {value:.3f}" for name, value in besides.items() if value is not None]
    if told:
        stdout().print(f"besides: {', '.join(told)}", soft_wrap=True)


def _table(summary: Summary) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for name in ("asked", "covered", *(name for name, _ in _MEANS), "calls", "tokens", "seconds"):
        table.add_column(name, justify="right")
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
    """Raise what tells a run that did not come to its end from one that did."""
    from triplecheck.kg import UnavailableError
    from triplecheck.lms import BudgetExceededError

    scores = summary.scores
    out_of_reach = sum(count for kind, count in scores.errors.items() if kind.endswith("UnavailableError"))
    if summary.stopped is not None:
        message = f"{summary.stopped}; the same command takes the run in {place} up again"
        raise UnavailableError(message) if out_of_reach else BudgetExceededError(message)
    if out_of_reach and out_of_reach == scores.n:
        raise UnavailableError(f"no question could be asked; {place / 'rows.jsonl'} says why")
