"""`triplecheck ask`: one question, its answer, and the triples that prove it."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from triplecheck.app import options
from triplecheck.app.console import print_json, stderr, stdout

if TYPE_CHECKING:
    from rich.console import Console

    from triplecheck.programs.steps import Step


def ask(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="In natural language, in quotes.")],
    kb: options.KbOption = None,
    program: Annotated[
        str | None, typer.Option("--program", metavar="NAME", help="Program that answers. Default: kerag.")
    ] = None,
    bundle: options.BundleOption = None,
    lm: options.LmOption = None,
    role: options.RoleOption = None,
    grounded_only: options.GroundedOption = None,
    hops: options.HopsOption = None,
    option: options.ProgramOptions = None,
    budget_calls: options.CallsOption = None,
    budget_tokens: options.TokensOption = None,
    budget_seconds: options.SecondsOption = None,
    budget_dollars: options.DollarsOption = None,
    json: options.JsonOption = False,
) -> None:
    """Ask a question of a knowledge graph.

    The steps are shown as they happen, then the answer and the triples that prove it, then what it
    took and which model played. An abstention is an answer, too: the exit code is 0.

    Examples:

        triplecheck ask "What was the nationality of Bernhard Heiden's teacher?"

        triplecheck ask "Who directed Alien?" --kb kbs/films --lm openai/gpt-4o-mini

        triplecheck ask "Who directed Alien?" --role answer=openai/gpt-4o --role prune=extractive --json
    """
    from triplecheck.app import config

    settings = config.load_settings(
        kb=kb,
        program=program,
        bundle=bundle,
        lm=lm,
        roles=config.parse_pairs(role or (), "--role"),
        grounded_only=grounded_only,
        hops=hops,
        options=config.parse_options(option or ()),
        budget=options.budget_flags(
            calls=budget_calls, tokens=budget_tokens, seconds=budget_seconds, dollars=budget_dollars
        ),
    )
    if json:
        # What a library prints on its way must not come between a script and its object.
        with contextlib.redirect_stdout(sys.stderr):
            result = answer(question, settings, None)
        from triplecheck.programs import to_json

        plain = to_json(result)
        plain["usage"].setdefault("by_role", {})  # a program may have answered without any call
        print_json(plain)
        return
    started = time.perf_counter()
    out = stdout()
    result = answer(question, settings, out)
    from triplecheck.app import render

    for line in render.answer_lines(result):
        out.print(line, soft_wrap=True)
    out.print()
    out.print(render.usage_line(result.usage, result.program, time.perf_counter() - started), soft_wrap=True)


def answer(question: str, settings: Any, steps_to: Console | None) -> Any:
    """Answer a question as configured.

    Args:
        question: in natural language.
        settings: `app.config.Settings`.
        steps_to: where steps are printed as they happen; None: nowhere.

    Returns:
        The program's prediction.
    """
    err = stderr()
    from triplecheck.app.progress import reporting, waiting

    with waiting(err, "loading"):
        from triplecheck.app import opening
        from triplecheck.app.knowledge import open_knowledge_base
        from triplecheck.lms import session

        roles, budget = opening.roles(settings), opening.budget(settings)
    with reporting(err, "opening the knowledge base") as tell:
        kb = open_knowledge_base(settings, tell)
        program = opening.open_program(settings, kb)
    with session(roles, budget=budget), thinking(err, steps_to) as on_step:
        return program(question=question, on_step=on_step)


@contextlib.contextmanager
def thinking(err: Console, steps_to: Console | None) -> Iterator[Any]:
    """A listener that prints steps, with a sign of life between them where somebody watches."""
    status = err.status("thinking") if err.is_terminal else None

    def on_step(step: Step) -> None:
        if steps_to is None:
            return
        from triplecheck.app import render

        if status is not None:
            status.stop()
        steps_to.print(render.step_line(step), soft_wrap=True)
        if status is not None:
            status.start()

    with status or contextlib.nullcontext():
        yield on_step
