"""`triplecheck report`: an experiment with its tables and figures, or the linking report."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from triplecheck.app.console import remark, reporting, say, stderr, stdout, waiting
from triplecheck.app.options import DATA, LIMITS, MODEL, OUTPUT, RUNS, argument, flagged, flattened

if TYPE_CHECKING:
    from triplecheck.evals.experiments.config import Experiment
    from triplecheck.evals.experiments.run import Cell, SetOpener, Trained
    from triplecheck.evals.questions import Question
    from triplecheck.kg import KnowledgeBase
    from triplecheck.kg.progress import ProgressCallback
    from triplecheck.programs import Program

_LINKING = "linking"
_RESULTS = "results"
_RESULTS_TITLE = "The page of results: its tables and pictures from the published reports"
_REPORTS = Path("reports")


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """What of an experiment is run, and where it is written."""

    data: Path | None = flagged(
        "--data DIR", "Folder of benchmarks: folders with triples.* and questions*.jsonl.", DATA
    )
    out: Path | None = flagged("--out DIR", "Directory of the report. Default: reports/NAME.", OUTPUT)
    runs: Path = flagged("--runs DIR", "Directory of the runs; unfinished ones are resumed.", OUTPUT, default=RUNS)
    kbs: Path = flagged(
        "--kbs DIR", "Directory of knowledge bases; missing ones are built.", OUTPUT, default=Path("kbs")
    )
    only: list[str] | None = flagged(
        "--only TEXT",
        "Only cells with this text in TABLE/DATA/ROW/MODEL. Repeatable: cells with all of them.",
        DATA,
    )
    limit: int | None = flagged("--limit N", "Use a random sample of N questions per data set.", DATA, min=1)
    lm: str | None = flagged("--lm MODEL", "Use this model instead of those of the experiment.", MODEL)
    workers: int = flagged("--workers N", "Questions to run in parallel.", LIMITS, min=1, default=1)

    def command(self, experiment: str) -> str:
        """The command that writes this report again; without the places of this machine."""
        parts = ["triplecheck", "report", experiment, *(("--data", "DIR") if self.data else ())]
        parts += [part for text in self.only or () for part in ("--only", text)]
        parts += [*(("--limit", str(self.limit)) if self.limit else ()), *(("--lm", self.lm) if self.lm else ())]
        return shlex.join(parts)


@flattened()
def report(
    experiment: Annotated[
        str | None, argument("[EXPERIMENT]", "Name of an experiment, or a TOML file. Default: list them.")
    ] = None,
    *,
    run: ReportOptions,
) -> None:
    """Run an experiment and write its report: tables, plots, and errors by stage.

    The experiment's TOML file sets every program, option, model, seed and sample size. Data sets and models
    that are not available are left out, and the report says so. Finished runs are not repeated.

    The experiment `linking` measures entity linking without a model: recall on names as written and misspelt, and
    accuracy on names that several nodes share. It uses --data, --only (data sets with this text), --limit, --kbs
    and --out.

    `results` runs nothing: it makes the tables and pictures of docs/results.md from docs/reports. --out DIR is a
    directory other than docs.

    Examples:

        triplecheck report
        triplecheck report kerag
        triplecheck report comparison --data benchmarks --only metaqa --limit 50
        triplecheck report faithful --data benchmarks --lm openai/gpt-4o-mini
        triplecheck report linking --data benchmarks
        triplecheck report results
    """
    if experiment is None:
        _list_experiments()
    elif experiment == _LINKING:
        _report_linking(run)
    elif experiment == _RESULTS:
        _report_results(run)
    else:
        _report_experiment(experiment, run)


def _list_experiments() -> None:
    with waiting(stderr(), "loading"):
        from triplecheck.evals.experiments.config import experiment_names, read_experiment
        from triplecheck.evals.linking import TITLE
    titles = {name: read_experiment(name).title for name in experiment_names()} | {
        _LINKING: TITLE,
        _RESULTS: _RESULTS_TITLE,
    }
    for name, title in sorted(titles.items()):
        say(f"{name:16} {title}")


def _report_linking(run: ReportOptions) -> None:
    with waiting(stderr(), "loading"):
        from triplecheck.evals.datasets.folder import bundled_case, find_cases
        from triplecheck.evals.linking import LIMIT, write_linking_report
        from triplecheck.kg import UserError
    if run.lm is not None:
        raise UserError("the linking report uses no model; leave out --lm")
    cases = [case for case in (bundled_case(), *(find_cases(run.data) if run.data else ())) if case.triples]
    cases = [case for case in cases if all(text in case.name for text in run.only or ())]
    if not cases:
        raise UserError(f"no data set with triples matches --only {' '.join(run.only or ())}")
    place = run.out or _REPORTS / _LINKING
    lines = write_linking_report(cases, run.kbs, place, limit=run.limit or LIMIT, command=run.command(_LINKING))
    _print_report(lines, place)


def _report_results(run: ReportOptions) -> None:
    with waiting(stderr(), "loading"):
        from triplecheck.evals.results import Results
    written = Results.read(run.out or Path("docs")).write()
    remark(f"written: {written}")


def _report_experiment(name: str, run: ReportOptions) -> None:
    with waiting(stderr(), "loading"):
        from triplecheck.evals.experiments.config import read_experiment
        from triplecheck.evals.experiments.report import write_report
        from triplecheck.evals.experiments.run import SetOpener
        from triplecheck.kg import UserError
    left_out: list[str] = []
    opener = SetOpener(run.data, run.kbs, left_out.append)
    chosen = opener.each_case(read_experiment(name))
    cells = _run_cells(chosen, opener, run)
    for line in left_out:
        remark(f"left out: {line}")
    if not cells and run.lm is None and all(table.wants_given for table in chosen.tables):
        raise UserError(
            "this report is about a language model: give one with --lm MODEL; `--lm extractive` takes the rule-based "
            "baseline, which ignores most of what the rows differ in"
        )
    if not cells:
        raise UserError("nothing was run: no cell matches --only, or its data (--data DIR) or model is not available")
    written = write_report(chosen, cells, run.out or _REPORTS / chosen.name, command=run.command(name))
    _print_report([written.read_text("utf-8")], written.parent)


def _run_cells(chosen: Experiment, opener: SetOpener, run: ReportOptions) -> list[Cell]:
    """The finished cells of an experiment. Similar rows share most calls of models, so these are kept."""
    from triplecheck.evals.experiments.run import Selection, run_experiment
    from triplecheck.optimize.dspy_patches import calls_kept_in

    with calls_kept_in(run.runs / chosen.name / "calls"), reporting(stderr(), "opening") as tell:
        return run_experiment(
            chosen,
            opener,
            run.runs / chosen.name,
            Selection(tuple(run.only or ()), run.limit, run.lm, run.workers),
            lambda cell, progress: tell(f"{cell}:", progress.done, progress.total),
            functools.partial(_train, tell),
            tell,
        )


def _print_report(lines: Iterable[str], place: Path) -> None:
    for line in lines:
        stdout().print(line, soft_wrap=True)
    remark(f"written: {place}")


def _train(
    tell: ProgressCallback, name: str, kb: KnowledgeBase, questions: Sequence[Question], seed: int, place: Path
) -> Trained:
    """The student that an earlier run has trained, or a new one."""
    from triplecheck.evals.experiments.config import KEPT
    from triplecheck.evals.experiments.run import Trained
    from triplecheck.optimize.students import resolve_students, taught

    if name == KEPT:
        return Trained(program=_kept(tell, kb, questions, seed, place))
    (student,) = resolve_students([name])
    made = taught(student, kb, questions, place, seed, tell)
    roles = {} if student.role is None or made.model is None else {student.role: made.model}
    return Trained(made.ranker, roles)


def _kept(tell: ProgressCallback, kb: KnowledgeBase, questions: Sequence[Question], seed: int, place: Path) -> Program:
    """KERAG with the students that help the baseline on questions that they did not learn from."""
    from triplecheck.lms.kinds import EXTRACTIVE
    from triplecheck.optimize.examples import LEAST_PART, distinct
    from triplecheck.optimize.tuning.compiled import compile as compiled
    from triplecheck.programs import KERAG

    # The report measures the result, so compile tests on the fewest questions that it accepts.
    usable = distinct(questions)
    rest, tested = usable[LEAST_PART:], usable[:LEAST_PART]
    found = compiled(KERAG(kb), rest, testset=tested, roles=EXTRACTIVE, out=place, seed=seed, progress=tell)
    found.abstain_below = None  # the other rows have no threshold
    return found
