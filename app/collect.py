"""`triplecheck collect`: fine-tuning data from the steps of a program whose answers come out right."""

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
from triplecheck.app.progress import reporting, waiting

if TYPE_CHECKING:
    from triplecheck.optimize.traces import Manifest


def collect(
    program: Annotated[
        str, typer.Argument(metavar="PROGRAM", help="Program whose steps are collected, such as kerag.")
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Directory to write; one that is there is taken up again.")
    ],
    kb: options.KbOption = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="JSON lines, as for `triplecheck eval`. Default: the bundled training questions.",
        ),
    ] = None,
    data: DataOption = None,
    split: SplitOption = None,
    path: PathOption = None,
    half: HalfOption = None,
    limit: LimitOption = None,
    seed: SeedOption = 0,
    lm: options.LmOption = None,
    role: options.RoleOption = None,
    hops: options.HopsOption = None,
    option: options.ProgramOptions = None,
    passes: Annotated[
        list[str] | None,
        typer.Option(
            "--pass",
            metavar="NAME",
            help="`verified`: the models answer, and what comes out right is kept; `gold`: right replies are computed "
            "from the graph and the answers, and verified in the same way. Repeatable; default: both, or the first "
            "where the right steps of a program cannot be computed.",
        ),
    ] = None,
    cap: Annotated[int, typer.Option(metavar="N", min=1, help="Rows kept per question.")] = 12,
    dev_share: Annotated[
        float, typer.Option("--dev-share", metavar="X", min=0, max=1, help="Share of the questions held out.")
    ] = 0.1,
    detours: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="Paths and facts that the pass `gold` keeps beside the right ones, so that later steps see what they "
            "do not need. The rows hold the right replies.",
        ),
    ] = 2,
    export: Annotated[
        list[str] | None,
        typer.Option(
            "--export",
            metavar="FORM",
            help="Also write the rows as `chat` (OpenAI's messages), `trl` (prompt and completion) or `datasets` "
            "(Hugging Face), into DIR/FORM. Repeatable.",
        ),
    ] = None,
    workers: options.WorkersOption = None,
    timeout: options.TimeoutOption = None,
    budget_calls: options.CallsOption = None,
    budget_tokens: options.TokensOption = None,
    budget_seconds: options.SecondsOption = None,
    budget_dollars: options.DollarsOption = None,
    json: options.JsonOption = False,
) -> None:
    """Collect fine-tuning data: the steps of a program, from questions whose answers come out right and are proved.

    A question's steps are kept where the answer is right and whole, every triple that it cites was
    retrieved and is in the graph, and no reply was cut. What came out wrong falls back to the right
    answer, computed, where the facts in the prompt hold it. Writes traces.jsonl and manifest.json, which
    counts what was rejected and why. Interrupted, it is taken up again by the same command.

    Examples:

        triplecheck collect kerag --out traces

        triplecheck collect kerag --kb kbs/films --questions films.jsonl --half train --out traces --export trl
    """
    from triplecheck.app import config

    settings = config.load_settings(
        kb=kb,
        program=program,
        lm=lm,
        roles=config.parse_pairs(role or (), "--role"),
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
        from triplecheck.optimize import traces

        unknown = sorted(set(export or ()) - set(traces.FORMS))
        if unknown:
            raise UserError(f"--export {unknown[0]}: no such form; there are: {', '.join(traces.FORMS)}")
        asked, _ = asked_questions(
            settings, questions, ("train",), data=data, split=split, path=path, half=half, limit=limit, seed=seed
        )
    with reporting(err, "opening the knowledge base") as tell:
        opened = open_knowledge_base(settings, tell)
        runner = opening.open_program(settings, opened)
    with reporting(err, "asking") as tell:
        show = running.teller(tell)
        manifest = traces.collect(
            runner,
            asked,
            out,
            roles=opening.roles(settings),
            knowledge_base=opened,
            passes=passes or None,
            workers=settings.workers,
            timeout=timeout,
            budget=Budget(**limits),  # type: ignore[arg-type]
            cap=cap,
            dev_share=dev_share,
            detours=detours,
            progress=lambda _name, so_far: show(so_far),
        )
    rows = traces.read_traces(out)
    written = [path for form in export or () for path in traces.export(rows, form, out / form)]
    if json:
        print_json(manifest.to_json() | {"out": str(out), "exported": [str(path) for path in written]})
        return
    _show(manifest, out, written)


def _show(manifest: Manifest, out: Path, written: list[Path]) -> None:
    to = stdout()
    for name, about in manifest.passes.items():
        rejected = ", ".join(f"{reason} {count}" for reason, count in about["rejected"].items())
        tail = f"; rejected: {rejected}" if rejected else ""
        to.print(f"{name}: {about['kept']} of {about['asked']} questions kept{tail}", soft_wrap=True)
        if about["stopped"]:
            to.print(f"{name} stopped: {printable(about['stopped'])}", soft_wrap=True)
    for title, counts in (
        ("source", manifest.by_source),
        ("step", manifest.by_signature),
        ("split", manifest.by_split),
    ):
        to.print(f"rows by {title}: " + ", ".join(f"{name} {count}" for name, count in counts.items()), soft_wrap=True)
    left_out = ", ".join(f"{reason} {count}" for reason, count in manifest.left_out.items())
    to.print(f"{manifest.rows} rows in {printable(str(out))}" + (f"; left out: {left_out}" if left_out else ""))
    for path in written:
        to.print(printable(str(path)), soft_wrap=True)
