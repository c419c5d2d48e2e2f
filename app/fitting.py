"""`triplecheck fit`: fit the thresholds and options of a program, so that it answers correctly or abstains."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triplecheck.app.console import (
    columns,
    is_quiet,
    print_json,
    printable,
    reporting,
    say,
    show_scores,
    stderr,
    stdout,
    total_of,
    waiting,
)
from triplecheck.app.opening import Batch, arguments, open_batch
from triplecheck.app.options import RUNS, BatchOptions, ProgramArgument, flagged, flattened

if TYPE_CHECKING:
    from rich.console import Console

    from triplecheck.app.config import Settings
    from triplecheck.optimize.fit import Fitted


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """What is fitted, and to which guarantee."""

    tried: list[str] | None = flagged(
        "--try NAME=VALUES",
        "Set this option to the best of these values (separated by commas), and leave options that are not named "
        "as they are. Repeatable. Default: the thresholds, floors and margins of the program.",
    )
    threshold_only: bool = flagged(
        "--threshold-only", "Fit only the threshold to abstain below, and no options.", default=False
    )
    guarantee: str = flagged(
        "--guarantee NAME",
        "Guarantee to fit the threshold to. `answered`: at most alpha of the answers are wrong, with "
        "probability 1 - delta. `asked`: at most alpha of all questions get a wrong answer, on average.",
        default="answered",
    )
    alpha: float = flagged("--alpha X", "Maximum share of wrong answers.", default=0.1)
    delta: float = flagged("--delta X", "Maximum probability that the guarantee `answered` fails.", default=0.05)

    def checked(self, settings: Settings) -> dict[str, Any]:
        """The fields of a `FitPlan` that these options and the configuration set.

        Raises:
            UserError: an option is wrong, or there is no such program or bundle.
        """
        from triplecheck.kg import UserError
        from triplecheck.optimize import fit
        from triplecheck.optimize.bundle import load_bundle
        from triplecheck.programs import resolve_program

        if self.tried and self.threshold_only:
            raise UserError("--try names options to fit, and --threshold-only fits none; keep one")
        kind = resolve_program(settings.program)
        space = {} if self.threshold_only else fit.read_space(self.tried) if self.tried else fit.space_of(kind.name)
        return {
            "kind": kind,
            "space": space,
            "guarantee": fit.check_guarantee(self.guarantee, self.alpha, self.delta),
            "alpha": self.alpha,
            "delta": self.delta,
            "compiled": None if settings.bundle is None else load_bundle(settings.bundle),
        }


@flattened(
    "cascade",
    "timeout",
    questions="Measure on others than these. Default: the bundled training and dev questions; with --bundle, which "
    "may have been compiled with the training questions, the dev questions.",
)
def fit(
    program: ProgramArgument,
    run: BatchOptions,
    how: FitOptions,
) -> None:
    """Fit the options of a program, and the confidence below which it withholds its answer.

    Options are chosen one after the other, by accuracy on one half of the questions. The program then abstains if
    its confidence is below a threshold: the lowest one that meets the guarantee on the other half. By default,
    at least 90% of the answers are correct, with a probability of 95%. If no threshold meets the guarantee,
    the best guarantee that can be met is printed.

    Writes fit.json, calibration.png (the calibration curve) and a bundle for --bundle of `ask` and `eval`. The budget
    is for the whole run; settings that it does not cover are skipped, and listed. The same command resumes a run that
    was interrupted or that its budget stopped.

    Examples:

        triplecheck fit kerag
        triplecheck fit know3rag --kb kbs/films --questions dev.jsonl --lm openai/gpt-4o-mini --budget-calls 2000
        triplecheck fit anchorrag --try prefilter=0.2,0.3,none --guarantee asked --alpha 0.05
        triplecheck ask "Who directed Alien?" --bundle runs/fit-kerag-bundled/bundle
    """
    settings = run.settings(program=program)
    err = stderr(quiet=run.json)
    with waiting(err, "loading"):
        checked = how.checked(settings)
    batch = open_batch(settings, run, ("train", "dev") if settings.bundle is None else ("dev",), err)
    place = run.out or RUNS / f"fit-{checked['kind'].name}-{batch.source}"
    fitted = _fitted(batch, checked, place, err)
    if run.json:
        print_json(fitted.to_json())
    else:
        show_fitted(fitted, place)


def _fitted(batch: Batch, checked: dict[str, Any], place: Path, err: Console) -> Fitted:
    """Fit, and show the running score."""
    from triplecheck.optimize.fit import FitPlan, fit_program

    plan = FitPlan(
        sources=batch.program.sources,
        questions=batch.questions,
        roles=batch.roles,
        options=arguments(batch.settings),
        workers=batch.settings.workers,
        budget=batch.budget,
        **checked,
    )
    with reporting(err, "asking") as tell:
        show = show_scores(tell)
        return fit_program(plan, place, knowledge_base=batch.kb, progress=lambda _part, progress: show(progress))


def show_fitted(fitted: Fitted, place: Path) -> None:
    """Print the candidates, the guarantee, and the files."""
    out = stdout()
    if is_quiet():
        say(fitted.sentence)
        say(f"bundle: {fitted.bundle}")
        return
    _show_candidates(fitted)
    out.print()
    say(fitted.sentence)
    if fitted.choice.kept:
        say(f"abstains below a confidence of {fitted.choice.abstain_below:.4g}")
    for note in fitted.notes:
        say(f"note: {note}")
    say(total_of(fitted.usage))
    say(f"bundle: {fitted.bundle} (fit.json and calibration.png in {place})")


def _show_candidates(fitted: Fitted) -> None:
    from triplecheck.optimize.fit.search import label

    out = stdout()
    table = columns("setting", numbers=("right", "calls"))
    for one in fitted.searched.tried:
        mark = " (chosen)" if one is fitted.searched.chosen else ""
        table.add_row(f"{printable(label(one.setting))}{mark}", f"{one.scored.score:.3f}", f"{one.scored.calls:.1f}")
    out.print(table)
    for setting, reason in fitted.searched.left_out.items():
        say(f"not evaluated: {setting}: {reason}")
