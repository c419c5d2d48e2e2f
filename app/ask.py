"""`triplecheck ask` and `triplecheck demo`: questions, their answers, and the triples that prove them."""

from __future__ import annotations

import contextlib
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from triplecheck.app.catalog import EXAMPLES
from triplecheck.app.console import is_full, is_quiet, is_verbose, print_json, stderr, stdout, waiting
from triplecheck.app.opening import open_setup
from triplecheck.app.options import (
    LIMITS,
    LmOption,
    ModelOptions,
    ProgramOption,
    RoleOption,
    RunOptions,
    argument,
    flag,
    flattened,
)
from triplecheck.app.proof_files import ProofOptions

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from triplecheck.app.config import Settings
    from triplecheck.programs.steps import TraceEvent


@flattened()
def ask(
    question: Annotated[str, argument("QUESTION", "The question, in quotes.")],
    run: RunOptions,
    files: ProofOptions,
    program: ProgramOption = None,
    timeout: Annotated[float | None, flag("--timeout S", "Give up after S seconds.", LIMITS, min=0)] = None,
) -> None:
    """Ask a question about a knowledge graph.

    Prints the answer, its verdict and confidence, its triples, the model and the cost.
    An answer is proved (its triples say what the question asks), supported (its triples are in the graph, but may
    not answer the question), or unsupported (from the model alone). An answer below `--verdict` is not given; the
    facts nearest to the question are printed instead. The exit code is 0 also where the answer is withheld.
    With -q it prints the answer and its proof alone, with -v also each step as it happens, with -vv every step in full,
    with all that models wrote.

    Examples:

        triplecheck ask "What was the nationality of Bernhard Heiden's teacher?"
        triplecheck ask "Who directed Alien?" --kb kbs/films --lm openai/gpt-4o-mini
        triplecheck ask "Who directed Alien?" --kb kbs/films --lm openai/gpt-4o-mini --cascade none
        triplecheck ask "Who directed Alien?" --kb kbs/films --html proof.html
        triplecheck ask "Who directed Alien?" --role answer=openai/gpt-4o --role prune=extractive --json
    """
    settings = run.settings(program=program)
    files.check()
    if run.json:
        # What libraries print must not mix with the JSON object.
        with contextlib.redirect_stdout(sys.stderr):
            result = answer(question, settings, None, timeout, files)
        from triplecheck.programs import to_json

        plain = to_json(result)
        plain["usage"].setdefault("by_role", {})  # a program may answer without any call
        print_json(plain)
        return
    started = time.perf_counter()
    out = stdout()
    result = answer(question, settings, out if is_verbose() else None, timeout, files)
    show_answer(result, out, time.perf_counter() - started)


def answer(
    question: str,
    settings: Settings,
    steps_to: Console | None,
    timeout: float | None,
    files: ProofOptions,
) -> Any:
    """Answer a question as configured.

    Args:
        steps_to: where steps are printed as they happen; None: nowhere.
        timeout: seconds for the program, without opening the knowledge base; None: no limit.
        files: what to write the proof to.

    Returns:
        The program's prediction.
    """
    err = stderr()
    setup = open_setup(settings, err)
    from triplecheck.lms import session

    steps = files.steps()
    with session(setup.roles, budget=setup.budget), thinking(err, steps_to) as show:

        def on_step(event: TraceEvent) -> None:
            show(event)
            if steps is not None:
                steps.note(event)

        if timeout is None:
            result = setup.program(question=question, on_step=on_step)
        else:
            from triplecheck.evals.asking import ask_within  # slow to import

            result = ask_within(timeout, setup.program, question, on_step)
    if steps is not None:
        from triplecheck.app.serve.service import name_of

        files.write(steps.answer(name_of(settings.kb), setup.program.sources, result, picture=True))
    return result


@contextlib.contextmanager
def thinking(err: Console, steps_to: Console | None) -> Iterator[Any]:
    """A listener that prints steps; if a person watches, a spinner shows the latest one."""
    status = err.status("thinking") if err.is_terminal and not err.quiet else None

    def on_step(step: TraceEvent) -> None:
        from triplecheck.app import render

        if status is not None:
            status.update(render.step_lines(step, width=max(20, err.width - 4))[0])
        if steps_to is None:
            return
        if status is not None:
            status.stop()
        for line in render.step_lines(step, full=is_full()):
            print_line(line, steps_to)
        if status is not None:
            status.start()

    with status or contextlib.nullcontext():
        yield on_step


def print_line(line: Text, out: Console) -> None:
    """Print a line: wrapped on a terminal, whole into a pipe."""
    out.print(line, soft_wrap=not out.is_terminal)


def show_answer(result: Any, out: Console, seconds: float) -> None:
    """Print an answer, its proof, and what it cost."""
    from triplecheck.app import render

    if is_verbose():
        out.print()  # below the steps
    for line in render.answer_lines(result, ids=is_verbose()):
        print_line(line, out)
    if not is_quiet():
        out.print()
        print_line(render.usage_line(result.usage, result.program, seconds), out)
    if is_verbose():
        for line in render.role_lines(result.usage):
            print_line(line, out)


def demo(lm: LmOption = None, role: RoleOption = None) -> None:
    """Answer six questions from the bundled knowledge base, which has no answer to the last one.

    Prints for each question the answer and the triples that prove it. With -v it also prints the steps and the cost.

    Examples:

        triplecheck demo
        triplecheck demo --lm openai/gpt-4o-mini
    """
    started = time.perf_counter()
    settings = ModelOptions(lm=lm, role=role).settings()
    out, err = stdout(), stderr()
    with waiting(err, "loading"):
        from rich.text import Text

        from triplecheck.app import render
        from triplecheck.app.config import Settings
        from triplecheck.lms import session
    # The questions are about the bundled graph: only the models, the budget and the cache of the settings count.
    mine = Settings.model_construct(**{name: getattr(settings, name) for name in ("lm", "roles", "budget", "cache")})
    setup = open_setup(mine, err)
    counts = setup.kb.manifest.counts
    out.print(
        f"The bundled knowledge base: {counts['entities']:,} entities, {counts['relations']:,} relations, "
        f"{counts['triples']:,} triples."
    )
    with session(setup.roles) as ledger:
        for number, (shows, question) in enumerate(EXAMPLES, 1):
            out.print()
            out.print(Text.assemble((f"{number}. {question}", "bold"), (f"  ({shows})", "dim")))
            begun = time.perf_counter()
            with session(budget=setup.budget), thinking(err, out if is_verbose() else None) as on_step:
                result = setup.program(question=question, on_step=on_step)
            for line in render.answer_lines(result) if is_verbose() else render.short_answer(result):
                print_line(line, out)
            if is_verbose():
                print_line(render.usage_line(result.usage, setup.program.name, time.perf_counter() - begun), out)
    if not is_quiet():
        out.print()
        print_line(render.usage_line(ledger.usage(), setup.program.name, time.perf_counter() - started), out)
        out.print()
        out.print("Next:")
        for command in (*_activation(), *NEXT):
            out.print(f"  {command}", soft_wrap=True, highlight=False)


NEXT = (
    'triplecheck ask "Who taught Paul Hindemith?" -v',
    "triplecheck kb build kbs/mine --triples FILE    # then: triplecheck ask ... --kb kbs/mine",
    "triplecheck lm list                             # then: triplecheck ask ... --lm MODEL",
)
"""Commands that the demonstration ends with."""


def _activation() -> list[str]:
    """The command that puts `triplecheck` on the path, if it is not there."""
    script = Path(sys.prefix) / "bin" / "activate"
    if shutil.which("triplecheck") is not None or not script.is_file():
        return []
    here = Path.cwd()
    return [f"source {script.relative_to(here) if script.is_relative_to(here) else script}"]
