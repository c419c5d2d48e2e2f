"""`triplecheck fit`: fit thresholds and options of a program, so that it answers rightly or abstains."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from triplecheck.app import options
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
    from triplecheck.optimize.fit import Fitted

RUNS = Path("runs")


def fit(
    program: Annotated[str, typer.Argument(metavar="PROGRAM", help="Program to fit, such as know3rag.")],
    kb: options.KbOption = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Dev questions as for `triplecheck eval`; keep others to measure on. Default: the bundled training "
            "and dev questions; of a --bundle, which may have seen the former, the dev questions.",
        ),
    ] = None,
    data: DataOption = None,
    split: SplitOption = None,
    path: PathOption = None,
    half: HalfOption = None,
    limit: LimitOption = None,
    seed: SeedOption = 0,
    tried: Annotated[
        list[str] | None,
        typer.Option(
            "--try",
            metavar="NAME=VALUE,...",
            help="Fit this option to the best of these values, and only those named so. Repeatable. Default: the "
            "thresholds, floors and margins of the program.",
        ),
    ] = None,
    threshold_only: Annotated[
        bool, typer.Option("--threshold-only", help="Leave all options as they are; only fit when to abstain.")
    ] = False,
    objective: Annotated[
        str, typer.Option(metavar="NAME", help="Choose options by accuracy, cost, or balanced between the two.")
    ] = "accuracy",
    promise: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="`answered`: at most alpha of the answers are wrong, with probability 1 - delta. `asked`: at most "
            "alpha of all questions are answered wrongly, on average.",
        ),
    ] = "answered",
    alpha: Annotated[float, typer.Option(metavar="X", help="Share of wrong ones that is allowed.")] = 0.1,
    delta: Annotated[float, typer.Option(metavar="X", help="Probability with which `answered` may fail.")] = 0.05,
    bundle: options.BundleOption = None,
    lm: options.LmOption = None,
    role: options.RoleOption = None,
    grounded_only: options.GroundedOption = None,
    hops: options.HopsOption = None,
    option: options.ProgramOptions = None,
    out: options.RunOption = None,
    workers: options.WorkersOption = None,
    budget_calls: options.CallsOption = None,
    budget_tokens: options.TokensOption = None,
    budget_seconds: options.SecondsOption = None,
    budget_dollars: options.DollarsOption = None,
    json: options.JsonOption = False,
) -> None:
    """Fit a program on dev questions: its thresholds on one half of them, when to abstain on the other.

    Options are chosen by accuracy on the first half, one after the other. Then the program abstains where it is less
    sure than a threshold, the lowest one that keeps a promise on the second half: by default that at least 90% of its
    answers are right, with a probability of 95%. Where none keeps it, that is said, with the best that can be promised.

    Writes fit.json, calibration.png (the calibration curve) and a bundle for --bundle of `ask` and `eval`. The budget
    is for everything; settings that it does not allow are left out by name. Interrupted, or stopped by its budget, a
    run is taken up again by the same command.

    Examples:

        triplecheck fit kerag

        triplecheck fit know3rag --kb kbs/films --questions dev.jsonl --lm openai/gpt-4o-mini --budget-calls 2000

        triplecheck fit anchorrag --try prefilter=0.2,0.3,none --promise asked --alpha 0.05

        triplecheck ask "Who directed Alien?" --bundle runs/fit-kerag-bundled/bundle
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
    with waiting(err, "loading"):
        from triplecheck.app import opening, running
        from triplecheck.app.knowledge import open_knowledge_base
        from triplecheck.kg import UserError
        from triplecheck.lms import Budget
        from triplecheck.optimize import fit as fitting
        from triplecheck.optimize import load_bundle
        from triplecheck.optimize.candidates import check_objective
        from triplecheck.programs import Sources, resolve_program

        if tried and threshold_only:
            raise UserError("--try names options to fit, and --threshold-only leaves all as they are; keep one")
        kind = resolve_program(settings.program)
        space = () if threshold_only else fitting.read_space(tried) if tried else fitting.space_of(kind.name)
        aim, kept = check_objective(objective), fitting.check_promise(promise, alpha, delta)
        splits = ("train", "dev") if settings.bundle is None else ("dev",)
        asked, source = asked_questions(
            settings, questions, splits, data=data, split=split, path=path, half=half, limit=limit, seed=seed
        )
        compiled = None if settings.bundle is None else load_bundle(settings.bundle)
    with reporting(err, "opening the knowledge base") as tell:
        opened = open_knowledge_base(settings, tell)
        opening.open_program(settings, opened)  # refuses what does not fit, and says what has changed
    plan = fitting.FitPlan(
        kind=kind,
        sources=Sources.of(opened),
        questions=asked,
        roles=opening.roles(settings),
        options=opening.arguments(settings),
        compiled=compiled,
        space=space,
        objective=aim,
        promise=kept,
        alpha=alpha,
        delta=delta,
        workers=settings.workers,
        budget=Budget(**limits),  # type: ignore[arg-type]
    )
    place = out or RUNS / f"fit-{kind.name}-{source}"
    with reporting(err, "asking") as tell:
        show = running.teller(tell)
        fitted = fitting.fit_program(
            plan, place, knowledge_base=opened, progress=lambda _part, progress: show(progress)
        )
    if json:
        print_json(fitted.to_json())
    else:
        show_fitted(fitted, place)


def show_fitted(fitted: Fitted, place: Path) -> None:
    """Print the candidates, the promise, and where everything lies."""
    from rich.table import Table

    from triplecheck.optimize.fit.search import label

    out = stdout()
    table = Table(box=None, pad_edge=False)
    table.add_column("setting", overflow="fold")
    for name in ("right", "calls"):
        table.add_column(name, justify="right")
    for one in fitted.searched.tried:
        mark = " (chosen)" if one is fitted.searched.chosen else ""
        table.add_row(f"{printable(label(one.setting))}{mark}", f"{one.scored.score:.3f}", f"{one.scored.calls:.1f}")
    out.print(table)
    for setting, reason in fitted.searched.left_out.items():
        out.print(f"not evaluated: {printable(setting)}: {printable(reason)}", soft_wrap=True)
    out.print()
    out.print(printable(fitted.sentence), soft_wrap=True)
    if fitted.choice.kept:
        out.print(f"abstains below a confidence of {fitted.choice.abstain_below:.4g}")
    for note in fitted.notes:
        out.print(f"note: {printable(note)}", soft_wrap=True)
    usage = fitted.usage
    out.print(f"in all: {usage.calls:,} calls, {usage.cached_calls:,} of them cached, {usage.tokens:,} tokens")
    out.print(
        f"bundle: {printable(str(fitted.bundle))} (fit.json and calibration.png in {printable(str(place))})",
        soft_wrap=True,
    )
