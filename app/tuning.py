"""`triplecheck compile` without an optimizer: what pays is tried, and one table says what it brought."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triplecheck.app.bracketing import BRACKET, bracket_cells, brackets_table
from triplecheck.app.console import (
    at_price,
    columns,
    is_quiet,
    is_verbose,
    printable,
    remark,
    reporting,
    say,
    stdout,
    total_of,
)

if TYPE_CHECKING:
    from rich.console import Console

    from triplecheck.kg import KnowledgeBase
    from triplecheck.optimize.tuning.cost import Cost
    from triplecheck.optimize.tuning.result import Choice, Tuned
    from triplecheck.optimize.tuning.tries import TunePlan

REPORT = "report.md"
"""The tables of a run, in its directory."""
_NUMBERS = ("right (validation)", "right (test)", "95%", "won:lost", "p", "calls", "tokens", "seconds", "dollars")


def tuned(
    plan: TunePlan,
    kb: KnowledgeBase,
    place: Path,
    err: Console,
    *,
    calls: Path | None,
    estimate_only: bool,
    command: str,
) -> Tuned | None:
    """Compile a program, and show what it may take and the progress.

    Args:
        place: directory of the run.
        err: where progress is shown.
        calls: see `optimize.tuning.run.tune`.
        estimate_only: stop after the estimate; the result is None.
        command: that was given, for the report.
    """
    from triplecheck.lms.kinds import is_no_language_model
    from triplecheck.optimize.dspy_patches import quiet
    from triplecheck.optimize.examples import TRAINED
    from triplecheck.optimize.tuning.run import estimated, tune

    sizes = [len(part) for part in (plan.questions.train, plan.questions.validation, plan.questions.held_out)]
    few = f"; a ranker of paths needs {TRAINED} to train, so give 150 or more in all" if sizes[0] < TRAINED else ""
    say("questions: {} to train, {} to choose by, {} to test on{}".format(*sizes, few), to=err)

    if all(map(is_no_language_model, plan.roles.models())):
        say("no language model is named with --lm, so no prompt is tuned: students and a threshold are tried", to=err)

    def announce(cost: Cost) -> None:
        whole, least = (taken(cost, calls) for calls in (cost.whole, cost.least))
        say(f"may take {whole}; at least {least}", to=err)

    with reporting(err, "preparing") as tell, contextlib.nullcontext() if is_verbose() else quiet():
        given: dict[str, Any] = {"knowledge_base": kb, "calls": calls, "progress": tell}
        if estimate_only:
            announce(estimated(plan, place, **given))
            return None
        made = tune(plan, place, announce=announce, **given)
    _write(made, plan, kb, place / REPORT, command)
    return made


def taken(cost: Cost, calls: int) -> str:
    """What so many calls take: tokens, and dollars where the price is known."""
    takes = cost.takes(calls)
    return f"{calls:,} calls, {takes['tokens']:,.0f} tokens{at_price(takes.get('dollars'))}"


def _write(made: Tuned, plan: TunePlan, kb: KnowledgeBase, path: Path, command: str) -> None:
    from triplecheck.evals.experiments.markdown import markdown_table
    from triplecheck.kg._atomic import write_text
    from triplecheck.optimize.tuning.result import HEADER

    choices = [[f"{line.name}{' (kept)' if line.kept else ''}", *_numbers(line), line.note] for line in made.choices]
    parts = [
        f"# {plan.program.name}, compiled\n",
        f"Made on {datetime.now(UTC).date()} by `{command}`. Models: {plan.roles.to_json()}. Graph: {kb.identity}. "
        f"{total_of(made.usage).capitalize()}.\n",
        "## On the test questions\n",
        markdown_table(HEADER, [row.cells() for row in made.rows]),
        "## What each step is worth\n",
        markdown_table(BRACKET, [bracket_cells(one) for one in made.brackets]),
        "## What was tried\n",
        "A question is right if its first answer is, or if none is given where there is none. Each choice is tried on "
        "top of those that were kept, and won and lost are against the program as written.\n",
        markdown_table(("choice", *_NUMBERS, "note"), choices),
    ]
    write_text(path, "\n".join(parts))


def show(result: Tuned, place: Path) -> None:
    """Print what each step is worth, the table of choices, and where the bundle is or where there is room."""
    from triplecheck.optimize.tuning.result import HEADER

    out = stdout()
    if not is_quiet():
        out.print(brackets_table(result.brackets))
    table = columns("choice", numbers=_NUMBERS)
    for line in result.choices:
        table.add_row(f"{printable(line.name)}{' (kept)' if line.kept else ''}", *_numbers(line))
    out.print(table)
    if not is_quiet():
        for line in result.choices:
            if line.note:
                say(f"{line.name}: {line.note}")
        say(total_of(result.usage))
    rows = columns(HEADER[0], numbers=HEADER[1:])
    for row in result.rows:
        rows.add_row(*map(printable, row.cells()))
    out.print(rows)
    say(said(result, place))
    if result.stopped is not None:
        remark(f"{result.stopped}; with a larger budget, the same command goes on")


def _numbers(line: Choice) -> list[str]:
    from triplecheck.evals.metrics.statistics import write_p

    measured, test, gain = line.validation, line.test, line.gain
    if measured is None:
        return ["-"] * len(_NUMBERS)
    low, high = (0.0, 0.0) if test is None else test.interval
    return [
        f"{measured.share:.3f}",
        "" if test is None else f"{test.share:.3f}",
        "" if test is None else f"{low:.2f}-{high:.2f}",
        "" if gain is None else f"{gain.won}:{gain.lost}",
        "" if gain is None else write_p(gain.p),
        f"{measured.calls:.1f}",
        f"{measured.tokens:,.0f}",
        f"{measured.seconds:.2f}",
        "" if measured.dollars is None else f"{measured.dollars:.5f}",
    ]


def said(result: Tuned, place: Path) -> str:
    """What came of compiling, in a line."""
    from triplecheck.evals.metrics.statistics import say_p
    from triplecheck.optimize.tuning.run import is_saving
    from triplecheck.optimize.tuning.tries import TOO_DEAR

    where = f"report in {printable(str(place))}"
    if result.bundle is not None and result.gain is None:
        return f"not measured on the test questions; bundle: {printable(str(result.bundle))} ({where})"
    if result.bundle is not None and result.gain is not None:
        gain, calls = result.gain, [line.test.calls for line in (result.choices[0], result.choices[-1]) if line.test]
        saves = len(calls) == 2 and is_saving(*calls)
        fewer = f", at {calls[1]:.1f} calls in place of {calls[0]:.1f}" if saves else ""
        doubt = gain.lost > gain.won or (gain.lost == gain.won and not saves)
        warning = "; WARNING: no gain there, so measure more before you use it" if doubt else ""
        return (
            f"on {gain.scored} test questions {gain.won} won, {gain.lost} lost ({say_p(gain.p)}){fewer}; "
            f"bundle: {printable(str(result.bundle))} ({where}){warning}"
        )
    untried = [one for one in result.choices[1:] if one.validation is None]
    if len(untried) == len(result.choices) - 1 and any(TOO_DEAR in one.note for one in untried):
        return f"the budget allows no choice, so nothing was tried; give more, and the same command goes on ({where})"
    left = "right replies at a single step would gain nothing" if result.brackets else "no step was bracketed"
    if room := ", ".join(f"{one.step} {one.room:.3f}" for one in result.brackets if one.room > 0):
        left = f"there is room at {room}"
    return f"nothing won more than chance does, so there is no bundle; {left} ({where})"
