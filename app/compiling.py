"""`triplecheck compile`: an optimizer improves the prompts of a program and writes the result as a bundle."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from triplecheck.app.console import (
    at_price,
    columns,
    duration,
    is_quiet,
    is_verbose,
    print_json,
    reporting,
    say,
    stderr,
    stdout,
    total_of,
    waiting,
)
from triplecheck.app.opening import Batch, open_batch
from triplecheck.app.options import (
    DATA,
    LIMITS,
    MODEL,
    OUTPUT,
    RUNS,
    BatchOptions,
    ProgramArgument,
    flagged,
    flattened,
    written_options,
)

if TYPE_CHECKING:
    from rich.console import Console

    from triplecheck.evals import Scores
    from triplecheck.evals.questions import Question
    from triplecheck.optimize.compile import Compiled
    from triplecheck.optimize.preflight import CompilePlan, Estimate

_TABLE = (
    ("hits@1", "hits_at_1"),
    ("F1", "f1"),
    ("right", "accuracy"),
    ("wrong", "hallucination"),
    ("missing", "missing"),
    ("grounded", "grounded"),
    ("calls", "calls"),
)


@dataclass(frozen=True, kw_only=True)
class CompileOptions:
    """How a program is compiled."""

    optimizer: str | None = flagged(
        "--optimizer NAME", "Optimizer; see `triplecheck optimizers`. Default: none, whatever pays is tried."
    )
    held_out: Path | None = flagged(
        "--held-out FILE", "Measure on these questions, and compile with all the others.", DATA
    )
    step: str | None = flagged("--step NAME", "Compile this step alone, by its own metric.")
    setting: list[str] | None = flagged("--set NAME=VALUE", "A setting of the optimizer. Repeatable.")
    teacher: str | None = flagged(
        "--teacher MODEL",
        "Model that generates demonstrations; `gold` uses correct replies where they can be computed. "
        "Default: the models of --lm and --role.",
        MODEL,
    )
    prompt_model: str | None = flagged(
        "--prompt-model MODEL",
        "Model that writes instructions. Default: with --optimizer that of --lm; else none are written.",
        MODEL,
    )
    student: list[str] | None = flagged(
        "--student NAME",
        "Without --optimizer: train and try this student alone, `ranker` (of paths) or `reader` (of answers). "
        "Repeatable; `none`: no student. Default: all.",
    )
    each: bool = flagged(
        "--each",
        "Without --optimizer: measure each kind of choice alone on the test questions too, beside plain signatures "
        "without demonstrations.",
        default=False,
    )
    calls: Path | None = flagged(
        "--calls DIR",
        "Directory of the models' replies. Runs that share it ask for none twice. Default: one of each run.",
        OUTPUT,
    )
    estimate: bool = flagged("--estimate", "Print the estimated cost and time, and stop.", LIMITS, default=False)

    def check(self) -> None:
        """Check that what belongs to an optimizer comes with one, and the names of students.

        Raises:
            UserError: the message names the option, or the students that there are.
        """
        from triplecheck.kg import UserError
        from triplecheck.optimize.students import resolve_students

        resolve_students(self.student)

        given = {"--step": self.step, "--set": self.setting, "--teacher": self.teacher}
        alone = next((name for name, value in given.items() if value), None)
        if self.optimizer is None and alone is not None:
            raise UserError(f"{alone} belongs to an optimizer: name one with --optimizer, or leave it out")
        for name, value in (("--student", self.student), ("--each", self.each)):
            if self.optimizer is not None and value:
                raise UserError(f"{name} has no effect with an optimizer: leave out one of {name} and --optimizer")


@flattened(
    "cascade",
    "bundle",
    "part",
    "timeout",
    questions="Some of them, by a hash of their ids, are held out to measure on: half with --optimizer, else a third, "
    "300 at most. Default: the bundled training questions, measured on the bundled dev questions.",
)
def compile_program(
    program: ProgramArgument,
    run: BatchOptions,
    how: CompileOptions,
) -> None:
    """Compile a program for your model: choose demonstrations, rewrite instructions, or train the model.

    Without --optimizer it does what pays. It shows what each step is worth (`triplecheck lm bracket`), trains students
    such as a ranker of paths, asks the model only where the baseline or a student is not sure (a cascade), gives each
    step the demonstrations, and with --prompt-model the instruction, that its own metric likes best on recorded calls,
    and gives roles to the rule-based baseline. What makes the whole program win clearly more validation questions than
    it loses is kept, and what saves calls if it loses no more than it wins. One table has all choices; a bundle is
    written if the result beats the program as written by more than chance (McNemar's exact test, p < .05), or saves
    half of its calls and loses 5% of the questions at most (with 95% confidence). It needs 60 questions, and 300 are
    better.

    With --optimizer it runs one of DSPy's optimizers, prints an estimate of the cost and the time first, and writes all
    candidates with their scores, the program's scores before and after on held-out questions, and a bundle for --bundle
    of `ask` and `eval`.

    Both keep to the budget, and the same command resumes a run that was interrupted or that its budget stopped. With
    -v they print the optimizer's own log.

    Examples:

        triplecheck compile kerag --kb kbs/films --questions films.jsonl --lm openai/gpt-4o-mini
        triplecheck compile kerag --kb kbs/films --questions films.jsonl --lm openai/gpt-4o-mini --each --out runs/films
        triplecheck compile kerag --optimizer LabeledFewShot --lm openai/gpt-4o-mini
        triplecheck compile kerag --kb kbs/films --questions films.jsonl --optimizer GEPA --prompt-model openai/gpt-4o
        triplecheck compile kerag --optimizer COPRO --step select_paths --lm openai/gpt-4o-mini --budget-calls 500
    """
    settings = run.settings(program=program)
    err = stderr(quiet=run.json)
    with waiting(err, "loading"):
        from triplecheck.optimize.registry import resolve_optimizer

        optimizer = None if how.optimizer is None else resolve_optimizer(how.optimizer).name
        held_out = _held_out(how, run)
        how.check()
    batch = open_batch(settings, run, ("train",), err)
    step = f"-{how.step}" if how.step else ""
    place = run.out or RUNS / f"{batch.program.name}-{batch.source}-{optimizer or 'compiled'}{step}"
    if optimizer is None:
        _tune(batch, run, how, held_out, place, err)
        return
    result = _compiled(_plan(batch, run, how, optimizer, held_out), batch, place, how, err)
    if run.json:
        print_json(result.to_json() | {"out": str(place)})
    elif not how.estimate:
        show(result, place)


def _tune(
    batch: Batch,
    run: BatchOptions,
    how: CompileOptions,
    held_out: list[Question] | None,
    place: Path,
    err: Console,
) -> None:
    from triplecheck.app import tuning
    from triplecheck.optimize.examples import three_parts
    from triplecheck.optimize.students import resolve_students
    from triplecheck.optimize.tuning.tries import TunePlan

    plan = TunePlan(
        program=batch.program,
        questions=three_parts(batch.questions, held_out),
        roles=batch.roles,
        prompt_model=how.prompt_model,
        seed=run.seed,
        workers=batch.settings.workers,
        budget=batch.budget,
        students=resolve_students(how.student),
        each=how.each,
    )
    command = " ".join(["triplecheck compile", batch.program.name, *written_options(run), *written_options(how)])
    result = tuning.tuned(plan, batch.kb, place, err, calls=how.calls, estimate_only=how.estimate, command=command)
    if result is None:
        return
    if run.json:
        print_json(result.to_json() | {"out": str(place)})
    else:
        tuning.show(result, place)


def _held_out(how: CompileOptions, run: BatchOptions) -> list[Question] | None:
    """The questions to measure on; None: a part of those to compile with."""
    from triplecheck.evals import bundled_questions, read_questions

    if how.held_out is not None:
        return read_questions(how.held_out)
    return read_questions(bundled_questions("dev")) if run.questions is None and run.data is None else None


def _plan(
    batch: Batch,
    run: BatchOptions,
    how: CompileOptions,
    optimizer: str,
    held_out: list[Question] | None,
) -> CompilePlan:
    from triplecheck.app.config import parse_options
    from triplecheck.optimize.examples import split
    from triplecheck.optimize.preflight import CompilePlan

    return CompilePlan(
        program=batch.program,
        questions=split(batch.questions, held_out),
        optimizer=optimizer,
        roles=batch.roles,
        settings=parse_options(how.setting or (), "--set"),
        step=how.step,
        teacher=how.teacher,
        prompt_model=how.prompt_model,
        seed=run.seed,
        workers=batch.settings.workers,
        budget=batch.budget,
    )


def _compiled(plan: CompilePlan, batch: Batch, place: Path, how: CompileOptions, err: Console) -> Compiled:
    """Run the optimizer, and show the estimate and the progress."""
    from triplecheck.optimize.compile import compile_program as run_optimizer
    from triplecheck.optimize.dspy_patches import quiet

    with reporting(err, "preparing") as tell, contextlib.nullcontext() if is_verbose() else quiet():
        return run_optimizer(
            plan,
            place,
            knowledge_base=batch.kb,
            announce=lambda estimate: show_estimate(plan.optimizer, estimate, err),
            estimate_only=how.estimate,
            calls=how.calls,
            progress=tell,
        )


def show_estimate(name: str, estimate: Estimate, to: Console) -> None:
    """Print the estimated cost of a run."""
    say(
        f"{name} may take {estimate.runs:,} runs, {estimate.calls:,} calls, {estimate.tokens:,} tokens"
        f"{at_price(estimate.dollars)}, {duration(estimate.seconds)} one question at a time",
        to=to,
    )
    for note in estimate.notes:
        say(f"note: {note}", to=to)


def show(result: Compiled, place: Path) -> None:
    """Print the candidates on the Pareto front, and the scores of the program before and after."""
    from triplecheck.evals.metrics.statistics import say_p
    from triplecheck.kg.readable import counted

    out = stdout()
    assert result.before is not None and result.after is not None and result.chosen is not None
    if not is_quiet():
        _show_front(result)
    table = columns("held out", numbers=[name for name, _ in _TABLE])
    for name, scores in (("before", result.before.scores), ("after", result.after.scores)):
        table.add_row(name, *(_number(scores, field) for _, field in _TABLE))
    out.print(table)
    if result.held_out is not None:
        gain = result.held_out
        say(f"on {gain.scored} held-out questions {gain.won} won, {gain.lost} lost ({say_p(gain.p)}, McNemar)")
    if not is_quiet():
        if result.failures:
            say(f"failed runs, counted as wrong: {counted(result.failures)}")
        say(total_of(result.usage))
    say(f"bundle: {result.bundle} (report and candidates in {place})")


def _show_front(result: Compiled) -> None:
    from triplecheck.evals.metrics.statistics import say_p

    out = stdout()
    assert result.chosen is not None
    front = columns("candidate", numbers=("score", "calls", "size"))
    # The program as written is chosen before one that is as accurate with shorter prompts.
    for one in result.front if result.chosen in result.front else (result.chosen, *result.front):
        mark = " (chosen)" if one.key == result.chosen.key else ""
        front.add_row(f"{one.key}{mark}", f"{one.score:.3f}", f"{one.calls:.1f}", f"{one.size:,}")
    out.print(front)
    say(f"of {len(result.candidates)} candidates on the whole validation set")
    if result.gain is not None:
        gain = result.gain
        unclear = "; the difference is not significant, so measure both on more questions before you use the bundle"
        told = "" if gain.is_clear else unclear
        say(
            f"against the program as written {gain.won} questions won, {gain.lost} lost of {gain.scored} "
            f"({say_p(gain.p)}){told}"
        )


def _number(scores: Scores, field: str) -> str:
    value = getattr(scores, field)
    return "-" if value is None else f"{value:.3f}"
