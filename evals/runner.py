"""The runner: a program over many questions, one row each, that can be interrupted and resumed at any time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dspy

from triplecheck.evals.asking import Finished, OutOfBudget
from triplecheck.evals.configuration import configuration_digest, describe, row_key
from triplecheck.evals.executors import Executor, QuestionJob, Threads
from triplecheck.evals.judge import checked_judge
from triplecheck.evals.questions import Question
from triplecheck.evals.rows import not_run
from triplecheck.evals.run_directory import BULKY, EvaluationDirectory
from triplecheck.evals.summary import Summary, summarize
from triplecheck.evals.trackers import Progress, Tally, Tracker, Trackers
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.lms import Budget, Roles, session
from triplecheck.programs import Program

UNAVAILABLE_IN_A_ROW = 10
"""Rows one after the other that found a model or the graph out of reach, after which a run stops."""


def evaluate(
    program: Program,
    questions: Iterable[Question],
    out: Path | str,
    *,
    roles: Roles | str | None = None,
    knowledge_base: KnowledgeBase | None = None,
    workers: int = 1,
    timeout: float | None = None,
    budget: Budget | None = None,
    progress: Callable[[Progress], None] | None = None,
    settings: Mapping[str, Any] | None = None,
    judge: bool = False,
    executor: Executor | None = None,
    trackers: Sequence[Tracker] = (),
) -> Summary:
    """Ask a program questions, score its answers, and write `rows.jsonl` and `summary.json` into `out`.

    Where `out` holds rows of the same configuration already, those are kept and only the questions
    without one are asked; rows that ended in an error are tried again. A question's failure is its own:
    it becomes a row of status `error`, which is in no score.

    Args:
        program: asked from several threads at once where `workers` is above 1.
        questions: with their answers.
        out: directory of the evaluation.
        roles: which models play which roles; None as in `lms.session`.
        knowledge_base: where the program's graph is from one: its content becomes part of the
            configuration, and gold names are looked up in its index.
        workers: questions under way at once.
        timeout: seconds for one question. A program that is over time is stopped at its next step, and
            left behind until then.
        budget: on the whole run. When it is used up the run stops and says so in the summary; take it
            up again with a new one.
        progress: called after each row, from the calling thread.
        settings: other things that the results depend on (the name of the data set, a seed), to be
            noted and compared like the rest of the configuration.
        judge: have the model of the role `judge` decide where an answer is not right by exact comparison;
            its calls count in the budget.
        executor: where questions are asked; None: on threads of this process. The rows are the same.
        trackers: told of the run, each row and the summary (`evals.trackers`); one that fails costs no row.

    Returns:
        The summary, as it was written.

    Raises:
        UserError: a bad argument, or `out` holds something else or rows of another configuration; the
            message names what differs.
        ModelUnavailableError: a model cannot be had at all.
    """
    asked = _checked(questions, workers, timeout)
    began = time.perf_counter()
    with session(roles, budget), dspy.context(trace=None, disable_history=True):
        configuration = describe(program, dspy.settings.lm_roles, knowledge_base, settings)
        judging = checked_judge(dspy.settings.lm_roles) if judge else None
        if judging is not None:
            configuration["judge"] = judging.prompts
        of_configuration = configuration_digest(configuration)
        keys = {question.id: row_key(question, of_configuration) for question in asked}
        job = QuestionJob(program, knowledge_base, configuration, keys, timeout, judging)
        with EvaluationDirectory(Path(out), configuration, keys) as directory, Trackers(trackers) as told:
            told.begin(directory.path, configuration)
            rows = {row["id"]: row for row in directory.kept.values()}
            run = _Run(directory, rows, Tally(len(asked)), told, progress)
            stopped = run.through(executor or Threads(), job, [q for q in asked if q.id not in rows], workers)
            summary = summarize(
                [rows.get(question.id) or not_run(question) for question in asked],
                configuration,
                stopped=stopped,
                wall_seconds=time.perf_counter() - began,
            )
            directory.write("summary.json", summary.to_json())
            told.end(summary)
    return summary


@dataclass(frozen=True)
class _Run:
    """What becomes of each finished row."""

    directory: EvaluationDirectory
    rows: dict[str, dict[str, Any]]
    """By id; those of an earlier run at first."""
    tally: Tally
    trackers: Trackers
    progress: Callable[[Progress], None] | None

    def through(self, executor: Executor, job: QuestionJob, questions: Sequence[Question], workers: int) -> str | None:
        """Ask the questions, adding to `rows`; why it stopped early, if it did."""
        for row in self.rows.values():
            self.tally.add(row, kept=True)
        stop, stopped = threading.Event(), None
        unavailable = 0
        for result in executor.run(job, questions, workers, stop):
            if isinstance(result, OutOfBudget):
                stopped = stopped or result.message
                stop.set()
                continue
            self._keep(result)
            unavailable = 0 if result.unavailable is None else unavailable + 1
            if unavailable == UNAVAILABLE_IN_A_ROW:
                stopped = stopped or f"{unavailable} questions in a row failed: {result.unavailable}"
                stop.set()
        return stopped

    def _keep(self, result: Finished) -> None:
        row = result.row
        self.directory.append(row)
        self.rows[row["id"]] = {name: value for name, value in row.items() if name not in BULKY}
        self.tally.add(row)
        progress = self.tally.progress()
        self.trackers.row(result, progress)
        if self.progress is not None:
            self.progress(progress)


def _checked(questions: Iterable[Question], workers: int, timeout: float | None) -> list[Question]:
    if workers < 1:
        raise UserError(f"{workers} workers cannot work: give 1 or more")
    if timeout is not None and not timeout > 0:
        raise UserError(f"a timeout of {timeout!r} seconds makes no sense: give more than 0, or leave it out")
    asked = list(questions)
    ids: set[str] = set()
    for question in asked:
        if question.id in ids:
            raise UserError(f"two questions have the id {question.id!r}; give each its own")
        ids.add(question.id)
    return asked
