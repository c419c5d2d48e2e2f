"""`triplecheck compile`: have an optimizer improve the prompts of a program, and write what comes of it as a bundle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from triplecheck.app import options
from triplecheck.app.asked import DataOption, LimitOption, PathOption, SeedOption, SplitOption, asked_questions
from triplecheck.app.console import print_json, printable, stderr, stdout

if TYPE_CHECKING:
    from triplecheck.evals import Scores
    from triplecheck.optimize import Compiled, Estimate

RUNS = Path("runs")
_TABLE = (
    ("hits@1", "hits_at_1"),
    ("F1", "f1"),
    ("right", "accuracy"),
    ("wrong", "hallucination"),
    ("missing", "missing"),
    ("grounded", "grounded"),
    ("calls", "calls"),
)


def compile_program(
    program: Annotated[str, typer.Argument(metavar="PROGRAM", help="Program to compile, such as kerag.")],
    optimizer: Annotated[
        str, typer.Option("--optimizer", metavar="NAME", help="One of `triplecheck optimizers`.")
    ] = "BootstrapFewShotWithRandomSearch",
    kb: options.KbOption = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="JSON lines, also .gz, as for `triplecheck eval`. Half of them are held out to measure on, by a hash "
            "of their ids. Default: the bundled training questions, measured on the bundled dev questions.",
        ),
    ] = None,
    held_out: Annotated[
        Path | None,
        typer.Option("--held-out", metavar="FILE", help="Measure on these questions; then all others are fitted to."),
    ] = None,
    data: DataOption = None,
    split: SplitOption = None,
    path: PathOption = None,
    limit: LimitOption = None,
    seed: SeedOption = 0,
    step: Annotated[
        str | None, typer.Option(metavar="NAME", help="Compile this step alone, by a metric of its own.")
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting of the optimizer. Repeatable."),
    ] = None,
    teacher: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Model that plays while demonstrations are collected; `gold` for the right replies, where they can "
            "be computed. Default: as ever.",
        ),
    ] = None,
    writer: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Model that writes instructions. Default: that of --lm.")
    ] = None,
    part: Annotated[
        list[Path] | None, typer.Option("--part", metavar="DIR", help="A bundle to combine (Ensemble). Repeatable.")
    ] = None,
    objective: Annotated[
        str, typer.Option(metavar="NAME", help="Choose by accuracy, cost, or balanced between the two.")
    ] = "accuracy",
    lm: options.LmOption = None,
    role: options.RoleOption = None,
    grounded_only: options.GroundedOption = None,
    hops: options.HopsOption = None,
    option: options.ProgramOptions = None,
    out: options.RunOption = None,
    workers: options.WorkersOption = None,
    estimate: Annotated[bool, typer.Option("--estimate", help="Only say what it may take.")] = False,
    budget_calls: options.CallsOption = None,
    budget_tokens: options.TokensOption = None,
    budget_seconds: options.SecondsOption = None,
    budget_dollars: options.DollarsOption = None,
    json: options.JsonOption = False,
) -> None:
    """Compile a program: choose demonstrations for it, rewrite its instructions, or train what plays it.

    Says what it may take first, and holds to its budget. Writes every candidate with its scores, the
    program before and after on held-out questions, and a bundle for --bundle of `ask` and `eval`.
    Interrupted, or stopped by its budget, a run is taken up again by the same command.

    Examples:

        triplecheck compile kerag --optimizer LabeledFewShot --teacher gold --lm openai/gpt-4o-mini

        triplecheck compile kerag --kb kbs/films --questions films.jsonl --optimizer GEPA --writer openai/gpt-4o

        triplecheck compile kerag --optimizer COPRO --step select_paths --lm openai/gpt-4o-mini --budget-calls 500
    """
    from triplecheck.app import config
    from triplecheck.app.progress import reporting, waiting

    settings = config.load_settings(
        kb=kb,
        program=program,
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
        from triplecheck import optimize
        from triplecheck.app import opening
        from triplecheck.app.knowledge import open_knowledge_base
        from triplecheck.evals import bundled_questions, read_questions
        from triplecheck.lms import Budget
        from triplecheck.optimize.candidates import check_objective
        from triplecheck.optimize.dspy_patches import quiet

        spec = optimize.resolve_optimizer(optimizer)
        aim = check_objective(objective)
        found, source = asked_questions(
            settings, questions, ("train",), data=data, split=split, path=path, limit=limit, seed=seed
        )
        if held_out is None and questions is None and data is None:
            held_out = bundled_questions("dev")
        asked = optimize.split(found, None if held_out is None else read_questions(held_out))
        bundles = [optimize.load_bundle(place) for place in part or ()]
    with reporting(err, "opening the knowledge base") as tell:
        opened = open_knowledge_base(settings, tell)
        student = opening.open_program(settings, opened)
    plan = optimize.Plan(
        program=student,
        questions=asked,
        optimizer=spec.name,
        roles=opening.roles(settings),
        settings=config.parse_options(setting or (), "--set"),
        step=step,
        teacher=teacher,
        prompt_model=writer,
        parts=tuple(bundle.program(student.sources) for bundle in bundles),
        objective=aim,
        seed=seed,
        workers=settings.workers,
        budget=Budget(**limits),  # type: ignore[arg-type]
    )
    place = out or RUNS / f"{student.name}-{source}-{spec.name}{f'-{step}' if step else ''}"
    with reporting(err, "preparing") as tell, quiet():
        result = optimize.compile_program(
            plan,
            place,
            knowledge_base=opened,
            announce=lambda estimate: show_estimate(spec.name, estimate, err),
            estimate_only=estimate,
            progress=tell,
        )
    if json:
        print_json(result.to_json() | {"out": str(place)})
    elif not estimate:
        show(result, place)


def list_optimizers(json: options.JsonOption = False) -> None:
    """List the optimizers that `triplecheck compile` knows."""
    from triplecheck.optimize import optimizer_specs

    if json:
        rows = {
            spec.name: {
                "summary": spec.summary,
                "writes": list(spec.writes),
                "needs": sorted(spec.needs),
                "settings": dict(spec.settings),
                "one_model": spec.one_model,
                "resumes": spec.resumes,
                "deterministic": spec.deterministic,
            }
            for spec in optimizer_specs()
        }
        print_json(rows)
        return
    for spec in optimizer_specs():
        given = ", ".join(f"{name}={value}" for name, value in spec.settings.items())
        stdout().print(f"{spec.name}: {spec.summary}{f' ({given})' if given else ''}", soft_wrap=True)


def show_estimate(name: str, estimate: Estimate, to: Any) -> None:
    """Print what a run may take."""
    money = (
        ""
        if estimate.dollars == 0
        else " at an unknown price"
        if estimate.dollars is None
        else f", ${estimate.dollars:.2f}"
    )
    to.print(
        f"{name} may take {estimate.runs:,} runs, {estimate.calls:,} calls, {estimate.tokens:,} tokens{money}",
        soft_wrap=True,
    )
    for note in estimate.notes:
        to.print(f"note: {printable(note)}", soft_wrap=True)


def show(result: Compiled, place: Path) -> None:
    """Print what came of it: the candidates on the Pareto front, and the program before and after."""
    from rich.table import Table

    out = stdout()
    assert result.before is not None and result.after is not None and result.chosen is not None
    front = Table(box=None, pad_edge=False)
    for name in ("candidate", "score", "calls", "size"):
        front.add_column(name, justify="left" if name == "candidate" else "right")
    for one in result.front:
        mark = " (chosen)" if one.key == result.chosen.key else ""
        front.add_row(f"{one.key}{mark}", f"{one.score:.3f}", f"{one.calls:.1f}", f"{one.size:,}")
    out.print(front)
    out.print(f"of {len(result.candidates)} candidates on the whole validation set")
    table = Table(box=None, pad_edge=False)
    table.add_column("held out")
    for name, _ in _TABLE:
        table.add_column(name, justify="right")
    for name, scores in (("before", result.before.scores), ("after", result.after.scores)):
        table.add_row(name, *(_number(scores, field) for _, field in _TABLE))
    out.print(table)
    if result.failures:
        failed = ", ".join(f"{name} {count}" for name, count in result.failures.items())
        out.print(f"runs that failed, and counted as wrong: {failed}", soft_wrap=True)
    usage = result.usage
    out.print(f"in all: {usage.calls:,} calls, {usage.cached_calls:,} of them cached, {usage.tokens:,} tokens")
    out.print(
        f"bundle: {printable(str(result.bundle))} (report and candidates in {printable(str(place))})", soft_wrap=True
    )


def _number(scores: Scores, field: str) -> str:
    value = getattr(scores, field)
    return "-" if value is None else f"{value:.3f}"
